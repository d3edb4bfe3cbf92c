//! Where the files of the repository are that the tests were built from.

use std::path::{Path, PathBuf};

/// A file or folder of the repository; its root for the empty path.
#[must_use]
pub fn path(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or_else(|| Path::new("/")).join(below)
}
