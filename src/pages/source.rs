//! The text of the program's own files, as far as the tests of the pages have to read it: words, signs and texts, without
//! comments and without tests.

use super::{Names, files, names, read};

/// A piece of Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a number.
    Word(String),
    /// What stands between quotes.
    Text(String),
    /// Anything else.
    Sign(char),
}

impl Token {
    pub(super) fn word(&self) -> Option<&str> {
        if let Self::Word(word) = self { Some(word) } else { None }
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn is(&self, sign: char) -> bool {
        *self == Self::Sign(sign)
    }
}

/// The product's part of a file.
pub(super) fn product(file: &str) -> String {
    let text = read(file);
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()
}

/// Path and product's part of every file that is compiled into the program.
pub(super) fn products() -> Vec<(String, String)> {
    let folders = ["src", "core/src", "cert/src", "manifest/src", "webhook/src"];
    let all = folders.into_iter().flat_map(|folder| files(folder, ".rs"));
    let tests = |file: &String| file.ends_with("/tests.rs") || file.contains("/tests/") || file.starts_with("src/pages");
    let products: Vec<_> = all.filter(|file| !tests(file)).map(|file| (file.clone(), product(&file))).collect();
    assert!(products.len() > 100, "only {} files were found", products.len());
    products
}

/// The pieces of a text, in order.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut rest = text.chars().peekable();
    let mut tokens = Vec::new();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        if c == '/' && next == Some('/') {
            rest.by_ref().take_while(|c| *c != '\n').for_each(drop);
        } else if c == '"' {
            tokens.push(Token::Text(quoted(&mut rest)));
        } else if c == '\'' {
            character(&mut rest);
        } else if c.is_alphanumeric() || c == '_' {
            let mut word = c.to_string();
            while let Some(c) = rest.next_if(|c| c.is_alphanumeric() || *c == '_') {
                word.push(c);
            }
            let is_raw = matches!(word.as_str(), "r" | "br") && matches!(rest.peek(), Some('"' | '#'));
            tokens.push(if is_raw { Token::Text(raw(&mut rest)) } else { Token::Word(word) });
        } else if !c.is_whitespace() {
            tokens.push(Token::Sign(c));
        }
    }
    tokens
}

/// Up to the closing quote; a line that goes on after a backslash is one line.
fn quoted(rest: &mut std::iter::Peekable<impl Iterator<Item = char>>) -> String {
    let mut text = String::new();
    while let Some(c) = rest.next() {
        match c {
            '"' => break,
            '\\' if rest.peek() == Some(&'\n') => while rest.next_if(|c| c.is_whitespace()).is_some() {},
            '\\' => text.extend(rest.next()),
            c => text.push(c),
        }
    }
    text
}

/// `"…"` or `#"…"#`, with any number of hashes.
fn raw(rest: &mut impl Iterator<Item = char>) -> String {
    let hashes = rest.by_ref().take_while(|c| *c == '#').count();
    let (end, mut text) = (format!("\"{}", "#".repeat(hashes)), String::new());
    for c in rest {
        text.push(c);
        if let Some(inside) = text.strip_suffix(&end) {
            return inside.to_owned();
        }
    }
    text
}

/// A character, or a lifetime, of which the word that follows is all that there is.
fn character(rest: &mut std::iter::Peekable<impl Iterator<Item = char> + Clone>) {
    let mut ahead = rest.clone();
    let (first, second) = (ahead.next(), ahead.next());
    if first == Some('\\') {
        rest.nth(1);
        rest.by_ref().take_while(|c| *c != '\'').for_each(drop);
    } else if second == Some('\'') {
        rest.nth(1);
    }
}

/// The arguments of each `name!(…)`, or of each `name(…)`, in order.
pub(super) fn calls(tokens: &[Token], name: &str, is_macro: bool) -> Vec<Vec<Vec<Token>>> {
    let words = name.split("::").flat_map(|word| [Token::Sign(':'), Token::Sign(':'), Token::Word(word.to_owned())]).skip(2);
    let head: Vec<Token> = words.chain(is_macro.then_some(Token::Sign('!'))).chain([Token::Sign('(')]).collect();
    let places = (0..tokens.len()).filter(|place| tokens[*place..].starts_with(&head));
    places.map(|place| arguments(&tokens[place + head.len()..])).collect()
}

/// Up to the parenthesis that closes what is open, divided at the commas that are in no other.
fn arguments(tokens: &[Token]) -> Vec<Vec<Token>> {
    let (mut depth, mut arguments) = (0_usize, vec![Vec::new()]);
    for token in tokens {
        if token.is(')') && depth == 0 {
            break;
        }
        if "([{".chars().any(|sign| token.is(sign)) {
            depth += 1;
        } else if ")]}".chars().any(|sign| token.is(sign)) {
            depth -= 1;
        }
        if token.is(',') && depth == 0 {
            arguments.push(Vec::new());
        } else {
            arguments.last_mut().unwrap().push(token.clone());
        }
    }
    arguments.retain(|argument| !argument.is_empty());
    arguments
}

/// The variants of an enumeration.
pub(super) fn variants(file: &str, name: &str) -> Names {
    let text = product(file);
    let body = text.split(&format!("pub enum {name} {{\n")).nth(1).and_then(|rest| rest.split("\n}").next()).unwrap_or_default();
    let lines = body.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| line.starts_with(char::is_uppercase));
    let found = names(lines.map(|line| line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()));
    assert!(!found.is_empty(), "{file} has no enumeration {name}");
    found
}

/// What stands between quotes in a file.
pub(super) fn texts(file: &str) -> Names {
    names(tokens(&product(file)).iter().filter_map(Token::text))
}

#[test]
fn rust_is_read_as_it_is_meant() {
    let text = r##"
        // info!("in a comment")
        fn f<'a>(c: char) -> &'a str { if c == '"' || c == '\'' { "a \"quoted\" \
            line" } else { r#"raw "text""# } }
        info!(nodepool = %name(1, 2), [a, b], "one, {}", x); tracing::warn!("two"); not_info!("three"); Aspect::new(T::A, "four")
    "##;
    let tokens = tokens(text);
    let told: Vec<&str> = tokens.iter().filter_map(Token::text).collect();
    assert_eq!(told, ["a \"quoted\" line", "raw \"text\"", "one, {}", "two", "three", "four"]);
    let infos = calls(&tokens, "info", true);
    assert_eq!((infos.len(), infos[0].len()), (1, 4), "{infos:?}");
    assert_eq!(calls(&tokens, "warn", true), [[[Token::Text("two".to_owned())]]]);
    assert_eq!(calls(&tokens, "Aspect::new", false)[0][1], [Token::Text("four".to_owned())]);
}
