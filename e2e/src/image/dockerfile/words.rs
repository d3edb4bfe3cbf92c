//! The words of an instruction: options, pairs and lists.

use anyhow::{Context as _, Result, ensure};

/// Names and their values, in the order in which they are written.
type Pairs = Vec<(String, String)>;

/// Options as `--name=value`, then words.
pub(super) fn options_and_words(text: &str) -> Result<(Pairs, Vec<String>)> {
    let mut options = Vec::new();
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        match word.strip_prefix("--").filter(|_| words.is_empty()) {
            Some(option) => {
                let (name, value) = option.split_once('=').with_context(|| format!("--{option} has no value"))?;
                options.push((name.to_owned(), value.to_owned()));
            }
            None => words.push(word.to_owned()),
        }
    }
    Ok((options, words))
}

/// The value of the one option that is allowed.
pub(super) fn only(options: &[(String, String)], name: &str) -> Result<Option<String>> {
    let other = options.iter().find(|(given, _)| given != name);
    ensure!(other.is_none(), "of its options only --{name} is known here");
    Ok(options.first().map(|(_, value)| value.clone()))
}

/// Pairs as `name=value` or `name="value with spaces"`.
pub(super) fn pairs(text: &str) -> Result<Pairs> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').with_context(|| format!("{rest:?} is no name=value"))?;
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').with_context(|| format!("the value of {name} has an open quote"))?,
            None => after.split_at(after.find(char::is_whitespace).unwrap_or(after.len())),
        };
        ensure!(!name.contains(char::is_whitespace), "{name:?} is no name");
        pairs.push((name.to_owned(), value.to_owned()));
        rest = after.trim_start();
    }
    Ok(pairs)
}

/// A list as in JSON, which starts a program without a shell.
pub(super) fn list(text: &str) -> Result<Vec<String>> {
    serde_json::from_str(text).with_context(|| format!("{text} is no list; without one a shell is started, which the image lacks"))
}
