//! Where the text comes from: files, the files of a folder, standard input.

use std::io::Read as _;
use std::path::{Path, PathBuf};

/// A text and the name under which its places are told.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) name: String,
    /// Or why there is none, without the name.
    pub(super) text: Result<String, String>,
}

/// The texts behind one `-f`.
///
/// # Errors
/// When there is no such file or the folder has none; the sentence says what to write.
pub(super) fn collect(path: &Path, recursive: bool) -> Result<Vec<Source>, String> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        let text = read.map_err(|error| format!("cannot be read: {error}")).and_then(|_| text(bytes));
        return Ok(vec![Source { name: "-".to_owned(), text }]);
    }
    let metadata = std::fs::metadata(path).map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
    if !metadata.is_dir() {
        return Ok(vec![file(path)]);
    }
    let mut files = Vec::new();
    walk(path, recursive, &mut files).map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
    files.sort();
    if files.is_empty() {
        let more = if recursive { "" } else { "; add --recursive for the folders in it" };
        return Err(format!("{}: has no file that ends in .yaml, .yml or .json{more}", path.display()));
    }
    Ok(files.iter().map(|path| file(path)).collect())
}

fn walk(folder: &Path, recursive: bool, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            if recursive {
                walk(&path, recursive, files)?;
            }
        } else if path.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json") {
            files.push(path);
        }
    }
    Ok(())
}

fn file(path: &Path) -> Source {
    let read = std::fs::read(path).map_err(|error| format!("cannot be read: {error}"));
    Source { name: path.display().to_string(), text: read.and_then(text) }
}

/// UTF-8, without the mark that some editors put before it.
fn text(bytes: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let lines = error.as_bytes().iter().take(valid).filter(|byte| **byte == b'\n').count();
        format!("is not UTF-8 text: line {} has a byte that no character has", lines + 1)
    })?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}
