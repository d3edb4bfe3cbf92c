//! YAML (and with it JSON) to values, with the place of every field.
//!
//! The parser is a library's; what is here decides what a word means, follows aliases and merge keys within bounds, and
//! notes where each field is, which no library does for the values that Kubernetes has.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};
use serde_json::{Map, Value};

use super::scalar::plain;

/// Deeper than any object of Kubernetes.
const DEEPEST: usize = 64;
/// Values of a short text, those that aliases repeat included.
const MOST_VALUES: usize = 1_000_000;
/// `kind` and `apiVersion` of an item of a list of lists.
const OBJECTS: usize = 5;

/// Line and column, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub(crate) line: usize,
    column: usize,
}

impl Default for Place {
    fn default() -> Self {
        Self { line: 1, column: 1 }
    }
}

impl Place {
    /// Where a text ends: behind the last thing in it.
    fn end(text: &str) -> Self {
        // YAML ends lines in all these ways.
        let ended = text.replace("\r\n", "\n").replace('\r', "\n");
        let written = ended.trim_end_matches('\n');
        let column = written.lines().last().map_or(0, |line| line.chars().count());
        Self { line: written.lines().count().max(1), column: column + 1 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl From<Span> for Place {
    fn from(span: Span) -> Self {
        Self { line: span.start.line(), column: span.start.col() + 1 }
    }
}

/// One document that has something in it.
#[derive(Debug, PartialEq)]
pub(crate) struct Document {
    pub(crate) value: Value,
    /// By the path of the field, as faults name it; the document itself is the empty path.
    pub(crate) places: BTreeMap<String, Place>,
}

/// Where reading ended before its time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) place: Place,
    pub(crate) message: String,
}

/// The documents of a text up to where it breaks, if it does.
///
/// Every field of every object has its place only where the text breaks or speaks of a policy. Of anything else no more than
/// the place of each object is ever told, and to write down those of a million fields takes longer than to read them.
pub(crate) fn documents(text: &str) -> (Vec<Document>, Option<Broken>) {
    if !text.contains("RotationPolicy")
        && let (documents, None) = load(text, OBJECTS)
    {
        return (documents, None);
    }
    load(text, DEEPEST)
}

/// The same with the place of every field, whatever the text is about.
pub(crate) fn whole_documents(text: &str) -> (Vec<Document>, Option<Broken>) {
    load(text, DEEPEST)
}

/// The documents with the places down to a depth.
fn load(text: &str, placed: usize) -> (Vec<Document>, Option<Broken>) {
    let (anchors, places) = (HashMap::new(), BTreeMap::new());
    // Each value that is written takes a letter at least.
    let most = MOST_VALUES.max(text.len());
    let end = Place::end(text);
    let mut loader = Loader { parser: Parser::new_from_str(text), anchors, values: 0, most, places, placed, end };
    let mut documents = Vec::new();
    let broken = loader.load(&mut documents).err().map(|broken| Broken { place: broken.place.min(end), ..broken });
    (documents, broken)
}

struct Loader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    /// What an alias stands for, and how many values that is.
    anchors: HashMap<usize, (Value, usize)>,
    values: usize,
    /// No text has more, unless by aliases.
    most: usize,
    places: BTreeMap<String, Place>,
    /// Fields further down have no place.
    placed: usize,
    /// The parser tells of what is missing at the end, or empty there, as if it were in a line after it.
    end: Place,
}

impl<'a> Loader<'a> {
    fn load(&mut self, documents: &mut Vec<Document>) -> Result<(), Broken> {
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(()),
                Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
                content @ (Event::Alias(_)
                | Event::Scalar(..)
                | Event::SequenceStart(..)
                | Event::SequenceEnd
                | Event::MappingStart(..)
                | Event::MappingEnd) => {
                    self.anchors.clear();
                    self.places.insert(String::new(), self.end.min(span.into()));
                    let value = self.value(content, span, "", 0)?;
                    let places = std::mem::take(&mut self.places);
                    if !value.is_null() {
                        documents.push(Document { value, places });
                    }
                }
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Broken> {
        match self.parser.next() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                let place = Place { line: error.marker().line(), column: error.marker().col() + 1 };
                Err(Broken { place, message: format!("is not YAML: {}", error.info()) })
            }
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn value(&mut self, event: Event<'a>, span: Span, path: &str, depth: usize) -> Result<Value, Broken> {
        self.values += 1;
        if depth > DEEPEST {
            return Err(broken(span, format!("is nested more than {DEEPEST} levels deep")));
        }
        let before = self.values;
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, tag) => (anchor, scalar(&text, style, tag.as_deref(), span)?),
            Event::SequenceStart(anchor, tag) => (anchor, self.list(tag.as_deref(), span, path, depth)?),
            Event::MappingStart(anchor, tag) => (anchor, self.object(tag.as_deref(), span, path, depth)?),
            Event::Alias(anchor) => (0, self.alias(anchor, span)?),
            // Not at the beginning of a value.
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => (0, Value::Null),
        };
        if self.values > self.most {
            return Err(broken(span, format!("has more than {} values, those that aliases repeat included", self.most)));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, (value.clone(), self.values - before + 1));
        }
        Ok(value)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<Value, Broken> {
        let Some((value, size)) = self.anchors.get(&anchor) else {
            return Err(broken(span, "refers to a value that contains it or that there is none of".to_owned()));
        };
        self.values = self.values.saturating_add(*size);
        // Before it is copied: copies of copies grow without end.
        if self.values > self.most { Ok(Value::Null) } else { Ok(value.clone()) }
    }

    fn note(&mut self, depth: usize, path: &str, span: Span) {
        if depth < self.placed {
            self.places.insert(path.to_owned(), self.end.min(span.into()));
        }
    }

    fn list(&mut self, tag: Option<&Tag>, span: Span, path: &str, depth: usize) -> Result<Value, Broken> {
        known(tag, "seq", span)?;
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd | Event::StreamEnd) {
                return Ok(Value::Array(items));
            }
            let path = if depth < self.placed { format!("{path}[{}]", items.len()) } else { String::new() };
            self.note(depth, &path, span);
            items.push(self.value(event, span, &path, depth + 1)?);
        }
    }

    fn object(&mut self, tag: Option<&Tag>, span: Span, path: &str, depth: usize) -> Result<Value, Broken> {
        known(tag, "map", span)?;
        let mut object = Map::new();
        let mut merged = Vec::new();
        loop {
            let (event, span) = self.next()?;
            let (key, merges) = match event {
                Event::MappingEnd | Event::StreamEnd => break,
                Event::Scalar(text, style, ..) => (text.into_owned(), style == ScalarStyle::Plain),
                Event::Nothing
                | Event::StreamStart
                | Event::DocumentStart(_)
                | Event::DocumentEnd
                | Event::Alias(_)
                | Event::SequenceStart(..)
                | Event::SequenceEnd
                | Event::MappingStart(..) => return Err(broken(span, "has a key that is not text".to_owned())),
            };
            let (event, value_span) = self.next()?;
            if merges && key == "<<" {
                merged.push((self.value(event, value_span, path, depth + 1)?, value_span));
                continue;
            }
            let path = match path {
                _ if depth >= self.placed => String::new(),
                "" => key.clone(),
                path => format!("{path}.{key}"),
            };
            if object.contains_key(&key) {
                let first = self.places.get(&path).copied().unwrap_or_default();
                return Err(broken(span, format!("{path}: is there twice, first in line {}; write it once", first.line)));
            }
            // A list or an object begins in the next line; its key is what people look for.
            let place = if matches!(event, Event::Scalar(..)) { value_span } else { span };
            self.note(depth, &path, place);
            let value = self.value(event, value_span, &path, depth + 1)?;
            object.insert(key, value);
        }
        for (value, span) in merged {
            merge(&mut object, value, span)?;
        }
        Ok(Value::Object(object))
    }
}

/// Adds what a merge key brings and the object does not have.
fn merge(object: &mut Map<String, Value>, value: Value, span: Span) -> Result<(), Broken> {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                object.entry(key).or_insert(value);
            }
        }
        Value::Array(values) => values.into_iter().try_for_each(|value| merge(object, value, span))?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Err(broken(span, "<<: merges something that is no object".to_owned()));
        }
    }
    Ok(())
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Result<Value, Broken> {
    match tag.map(|tag| (tag.is_yaml_core_schema(), tag.suffix.as_str())) {
        None if style == ScalarStyle::Plain => {}
        None | Some((true, "str")) => return Ok(text.into()),
        Some((true, "bool" | "int" | "float" | "null")) => {}
        Some(_) => return known(tag, "str", span).map(|()| text.into()),
    }
    plain(text).ok_or_else(|| broken(span, format!("{text} is a number that JSON does not have")))
}

/// Objects of Kubernetes are JSON, which has no types of its own making.
fn known(tag: Option<&Tag>, suffix: &str, span: Span) -> Result<(), Broken> {
    match tag {
        Some(tag) if !(tag.is_yaml_core_schema() && tag.suffix == suffix) => {
            Err(broken(span, format!("has the tag {}{}, which Kubernetes does not know; leave it out", tag.handle, tag.suffix)))
        }
        Some(_) | None => Ok(()),
    }
}

fn broken(span: Span, message: String) -> Broken {
    Broken { place: span.into(), message }
}
