//! The operator.

fn main() {}
