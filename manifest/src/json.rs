//! JSON the quick way, for what programs have written: thousands of objects with a place nobody asks for.
//!
//! Whatever is not plainly that is left to the reader of YAML, which knows what to say and where.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::yaml::{Document, Place};

/// The only document of a text in JSON; `None` if it is something else, has a fault, or speaks of a policy, whose fields have
/// places that people want to be told.
pub(crate) fn document(text: &str) -> Option<Document> {
    if text.contains("RotationPolicy") { None } else { without_places(text) }
}

/// The same of what may speak of a policy: JSON has escapes and depths that YAML does not know.
pub(crate) fn without_places(text: &str) -> Option<Document> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let Once(value) = serde_json::from_str(text).ok()?;
    Some(Document { value, places: BTreeMap::from([(String::new(), Place::default())]) })
}

/// A value in which no object has a key twice.
struct Once(Value);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values).map(Self)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Once(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some((key, Once(value))) = object.next_entry::<String, Once>()? {
            if fields.insert(key, value).is_some() {
                return Err(A::Error::custom("a key is there twice"));
            }
        }
        Ok(Value::Object(fields))
    }
}
