//! The lines of the log: messages, levels and keys from the source, beside docs/logs.md.

use std::collections::BTreeMap;

use super::markdown::{Page, code};
use super::source::{self, Token, calls, tokens};
use super::{Names, assert_same, names};

const PAGE: &str = "docs/logs.md";
/// From the gravest on.
const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// Levels and keys of a message.
#[derive(Debug, Default, PartialEq, Eq)]
struct Line {
    levels: Names,
    keys: Names,
}

/// Every message that the program can log.
fn lines() -> BTreeMap<String, Line> {
    let mut lines: BTreeMap<String, Line> = BTreeMap::new();
    for (file, text) in source::products() {
        let tokens = tokens(&text);
        assert!(calls(&tokens, "event", true).is_empty(), "{file} logs in another way, which is not read here");
        for level in LEVELS {
            let calls = calls(&tokens, level, true);
            // Where the text has one more than was read, the reader has lost its way.
            let spelled = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let spelled: usize = spelled.map(|line| line.matches(&format!("{level}!(")).count()).sum();
            assert_eq!(calls.len(), spelled, "{file}: calls of {level}!");
            for arguments in calls {
                let place = arguments.iter().position(|argument| matches!(argument.as_slice(), [Token::Text(_)]));
                let place = place.unwrap_or_else(|| panic!("{file} has a line without a message: {arguments:?}"));
                let message = arguments[place][0].text().unwrap();
                assert!(!message.contains(['{', '`']), "{file}: what varies is in the keys, not in the message {message:?}");
                let line = lines.entry(message.to_owned()).or_default();
                line.levels.insert(level.to_owned());
                line.keys.extend(arguments[..place].iter().map(|argument| key(argument)));
            }
        }
    }
    assert!(lines.len() > 50, "only {} messages were found", lines.len());
    lines
}

/// `name`, `%name`, `name = value`.
fn key(argument: &[Token]) -> String {
    let words = argument.iter().take_while(|token| **token != Token::Sign('=')).filter_map(Token::word);
    words.collect::<Vec<_>>().join(".")
}

/// Every key of every line.
pub(super) fn keys() -> Names {
    lines().into_values().flat_map(|line| line.keys).collect()
}

#[test]
fn the_page_has_every_line_of_the_log_with_its_level_and_its_keys() {
    let told = lines();
    let mut written = BTreeMap::new();
    for row in Page::new(PAGE).rows() {
        let [message]: [String; 1] = row.subjects().try_into().unwrap();
        let line = Line { levels: names(row.cell("level").split(", ")), keys: names(code(row.cell("keys"))) };
        assert!(written.insert(message.clone(), line).is_none(), "{PAGE} has {message:?} twice");
    }
    assert_same(PAGE, &names(written.keys()), &names(told.keys()));
    for (message, line) in &told {
        assert_eq!(written.get(message), Some(line), "left {PAGE}, right the source: {message:?}");
    }
}
