//! The pages for people name all that the program has, and nothing that it has not.
//!
//! What there is comes from the program: from its tables where it has some, else from the text of its files. Each page is
//! compared in both directions: what it leaves out fails, and so does a name that nothing in the program bears.

mod command_line;
mod exit;
mod fields;
mod flags;
mod fleet;
mod help;
mod log;
mod manual;
mod markdown;
mod names;
mod others;
mod queries;
mod source;
mod words;

use std::collections::BTreeSet;
use std::path::Path;

/// Names of one kind.
type Names = BTreeSet<String>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A file of the repository, by its path from the root.
fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The files below a folder whose names end so, by their paths from the root, in order.
fn files(folder: &str, end: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}")) {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&path, end));
        } else if path.ends_with(end) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn names<T: ToString>(all: impl IntoIterator<Item = T>) -> Names {
    all.into_iter().map(|name| name.to_string()).collect()
}

/// The page has what the source has.
fn assert_same(page: &str, of_page: &Names, of_source: &Names) {
    let beyond = |left: &Names, right: &Names| left.difference(right).cloned().collect::<Vec<_>>();
    assert!(!of_source.is_empty(), "nothing was found in the source for {page}");
    let (missing, unknown) = (beyond(of_source, of_page), beyond(of_page, of_source));
    assert!(missing.is_empty(), "{page} does not name {missing:?}");
    assert!(unknown.is_empty(), "{page} names {unknown:?}, which there is not");
}
