//! What a build sees of the repository: its files without those that .dockerignore leaves out.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// One line of .dockerignore.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    parts: Vec<String>,
    /// It begins with an exclamation mark: what fits is there after all.
    except: bool,
}

/// Paths below `root` of all files that the text of its .dockerignore leaves in, in order.
///
/// # Errors
/// When a folder cannot be read.
pub fn files(root: &Path, ignore: &str) -> Result<Vec<String>> {
    let patterns: Vec<Pattern> = ignore.lines().filter_map(pattern).collect();
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let reading = || format!("reading {}", root.join(&folder).display());
        for entry in fs::read_dir(root.join(&folder)).with_context(reading)? {
            let entry = entry.with_context(reading)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let left_in = left_in(&patterns, &path);
            if !entry.file_type().with_context(reading)?.is_dir() {
                found.extend(left_in.then_some(path));
            } else if left_in || patterns.iter().any(|pattern| pattern.except && reaches_below(pattern, &path)) {
                folders.push(path);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn pattern(line: &str) -> Option<Pattern> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (line, except) = line.strip_prefix('!').map_or((line, false), |rest| (rest, true));
    let parts = line.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    Some(Pattern { parts, except })
}

/// The last pattern that fits the path or a folder above it has the word.
fn left_in(patterns: &[Pattern], path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    patterns.iter().rfind(|pattern| fits(&pattern.parts, &parts)).is_none_or(|pattern| pattern.except)
}

/// Whether the pattern fits the path or a folder above it.
fn fits(pattern: &[String], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, _) => true,
        (Some((first, rest)), _) if first == "**" => (0..=path.len()).any(|skipped| fits(rest, path.get(skipped..).unwrap_or_default())),
        (Some((first, rest)), Some((name, below))) => names(first, name) && fits(rest, below),
        (Some(_), None) => false,
    }
}

/// Whether the pattern could fit something in the folder.
fn reaches_below(pattern: &Pattern, folder: &str) -> bool {
    let wild = pattern.parts.iter().position(|part| part == "**").unwrap_or(pattern.parts.len());
    pattern.parts.iter().take(wild).zip(folder.split('/')).all(|(part, name)| names(part, name))
}

/// Whether a part with stars fits a name.
fn names(part: &str, name: &str) -> bool {
    match part.split_once('*') {
        None => part == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            let ends = rest.char_indices().map(|(end, _)| end).chain([rest.len()]);
            ends.filter_map(|end| rest.get(end..)).any(|rest| names(after, rest))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;

    #[test]
    fn the_last_pattern_that_fits_has_the_word() {
        let patterns: Vec<Pattern> =
            ["# all", "*", "!src", "src/*.md", "!a/b/c.toml", "**/*.log", "!keep.log"].into_iter().filter_map(pattern).collect();
        for (path, expected) in [
            ("README.md", false),
            ("src/main.rs", true),
            ("src/deep/main.rs", true),
            ("src/notes.md", false),
            ("src/deep/notes.md", true),
            ("src/deep/a.log", false),
            ("a/b/c.toml", true),
            ("a/b/d.toml", false),
            ("keep.log", true),
        ] {
            assert_eq!(left_in(&patterns, path), expected, "{path}");
        }
        assert!(left_in(&[], "anything"));
    }

    #[test]
    fn stars_stay_within_a_name() {
        for (part, name, expected) in
            [("*", "x", true), ("*.rs", "a.rs", true), ("a*c*", "abcd", true), ("a*c", "abcd", false), ("", "", true), ("é*", "éa", true)]
        {
            assert_eq!(names(part, name), expected, "{part} {name}");
        }
    }

    #[test]
    fn files_are_found_in_folders_that_are_left_out_for_the_rest() {
        let mut folder = Folder::create().unwrap();
        folder.discard_logs();
        let root = folder.data();
        for path in ["a/b/c.toml", "a/b/d.toml", "src/x/y.rs", "target/z"] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), "").unwrap();
        }
        assert_eq!(files(&root, "*\n!src\n!a/b/c.toml\n").unwrap(), ["a/b/c.toml", "src/x/y.rs"]);
        assert_eq!(files(&root, "target\n").unwrap(), ["a/b/c.toml", "a/b/d.toml", "src/x/y.rs"]);
    }
}
