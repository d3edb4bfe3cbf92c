//! A real cluster without containers.

fn main() {}
