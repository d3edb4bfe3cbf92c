//! Where the text comes from: files, the files of a folder, standard input.

use std::fmt::Display;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use noderotation_manifest::Manifest;

/// Reads files, folders (their `.yaml`, `.yml` and `.json` files; with `recursive` also those of folders in them) and
/// `-`, which is standard input. What cannot be read is an error of the manifest.
pub(super) fn read(paths: &[PathBuf], recursive: bool) -> Manifest {
    read_into(Manifest::default(), paths, recursive)
}

/// The same with what runs in a cluster.
pub(super) fn read_cluster(paths: &[PathBuf], recursive: bool) -> Manifest {
    read_into(Manifest::of_a_cluster(), paths, recursive)
}

/// The text of one file, or of `-`, which is standard input.
pub(super) fn one_text(path: &Path) -> Result<String, String> {
    let words = |error: String| format!("{}: {error}", path.display());
    if path != Path::new("-") && std::fs::metadata(path).map_err(unreadable).map_err(words)?.is_dir() {
        return Err(words("is a folder; write the path of one file".to_owned()));
    }
    match texts(path, false).map_err(words)?.pop() {
        Some((_, text)) => text.map_err(words),
        None => Err(words("is empty".to_owned())),
    }
}

/// What is wrong where policies were to be found and there is none.
pub(super) fn without_policy(names: impl IntoIterator<Item = impl Display>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    format!("{}: has no RotationPolicy of noderotation.io/v1alpha1", names.join(", "))
}

/// The texts themselves with their names; what cannot be read goes to `errors`, one line each.
pub(super) fn texts_of(paths: &[PathBuf], recursive: bool, errors: &mut Vec<String>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for path in paths {
        match texts(path, recursive) {
            Ok(texts) => {
                for (name, text) in texts {
                    match text {
                        Ok(text) => found.push((name, text)),
                        Err(error) => errors.push(format!("{name}: {error}")),
                    }
                }
            }
            Err(error) => errors.push(format!("{}: {error}", path.display())),
        }
    }
    found
}

fn read_into(mut manifest: Manifest, paths: &[PathBuf], recursive: bool) -> Manifest {
    let mut errors = Vec::new();
    for (name, text) in texts_of(paths, recursive, &mut errors) {
        manifest.add(&name, &text);
    }
    manifest.errors.extend(errors);
    manifest
}

/// The texts behind one path with their names, or why one cannot be read.
type Texts = Vec<(String, Result<String, String>)>;

fn texts(path: &Path, recursive: bool) -> Result<Texts, String> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        return Ok(vec![("-".to_owned(), read.map_err(unreadable).and_then(|_| text(bytes)))]);
    }
    if !std::fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Ok(vec![file(path)]);
    }
    let mut files = Vec::new();
    walk(path, recursive, &mut files).map_err(unreadable)?;
    files.sort();
    if files.is_empty() {
        let more = if recursive { "" } else { "; add --recursive for the folders in it" };
        return Err(format!("has no file that ends in .yaml, .yml or .json{more}"));
    }
    Ok(files.iter().map(|path| file(path)).collect())
}

fn unreadable(error: std::io::Error) -> String {
    format!("cannot be read: {error}")
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

fn file(path: &Path) -> (String, Result<String, String>) {
    (path.display().to_string(), std::fs::read(path).map_err(unreadable).and_then(text))
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
