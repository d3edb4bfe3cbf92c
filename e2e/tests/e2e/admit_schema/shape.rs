//! A value of another type, and none at all, in each place that the schema has.

use noderotation_core::policy::schema::definition;
use serde_json::{Value, json};

use super::row::{Row, admits, refuses};

/// A place of the schema.
pub(crate) struct Place {
    /// Its schema.
    pub(crate) schema: Value,
    /// As a JSON pointer, to the first item of each list and to a label `team`.
    pub(crate) pointer: String,
    /// As the server writes it.
    pub(crate) field: String,
    /// What holds it.
    pub(crate) holder: Holder,
}

/// What holds a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// An object that must have it.
    Requiring,
    /// An object that may have it.
    Allowing,
    /// A list.
    List,
    /// A map.
    Map,
}

/// Every place of the spec, the spec first.
pub(crate) fn places() -> Vec<Place> {
    let definition = serde_json::to_value(definition()).unwrap_or_default();
    let schema = definition.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").cloned().unwrap_or_default();
    let mut places = Vec::new();
    let spec = Place { schema, pointer: "/spec".to_owned(), field: "spec".to_owned(), holder: Holder::Requiring };
    descend(spec, &mut places);
    places
}

fn descend(place: Place, places: &mut Vec<Place>) {
    let mut parts = Vec::new();
    let required = place.schema["required"].as_array().cloned().unwrap_or_default();
    for (name, schema) in place.schema["properties"].as_object().into_iter().flatten() {
        let holder = if required.contains(&json!(name)) { Holder::Requiring } else { Holder::Allowing };
        parts.push((schema.clone(), format!("/{name}"), format!(".{name}"), holder));
    }
    for (keyword, step, suffix, holder) in [("items", "/0", "[0]", Holder::List), ("additionalProperties", "/team", ".team", Holder::Map)] {
        if place.schema[keyword].is_object() {
            parts.push((place.schema[keyword].clone(), step.to_owned(), suffix.to_owned(), holder));
        }
    }
    let inner: Vec<Place> = parts
        .into_iter()
        .map(|(schema, step, suffix, holder)| Place {
            schema,
            pointer: format!("{}{step}", place.pointer),
            field: format!("{}{suffix}", place.field),
            holder,
        })
        .collect();
    places.push(place);
    for place in inner {
        descend(place, places);
    }
}

pub(crate) fn rows() -> Vec<Row> {
    places().iter().flat_map(|place| [Some(of_another_type(place)), null(place)]).flatten().collect()
}

fn of_another_type(place: &Place) -> Row {
    let own = place.schema["type"].as_str().unwrap_or_default();
    let other = if own == "string" { json!(7) } else { json!("seven") };
    refuses(&format!("{} = {other}", place.field), &place.pointer, other, &place.field, &format!("must be of type {own}"))
}

/// As if it were not there; but an item that is null is one. A label's value is a row of the selector.
fn null(place: &Place) -> Option<Row> {
    let name = format!("{} = null", place.field);
    match place.holder {
        Holder::Requiring => Some(refuses(&name, &place.pointer, json!(null), &place.field, "Required value")),
        Holder::Allowing => Some(admits(&name, &place.pointer, json!(null))),
        Holder::List => Some(refuses(&name, &place.pointer, json!(null), &place.field, "must be of type")),
        Holder::Map => None,
    }
}
