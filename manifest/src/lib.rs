//! Objects that people have written: read as kubectl reads them, with the place of every field.
//!
//! What cannot be read is one line with file, line and column, and does not keep the rest from being read. Nothing here
//! opens a file or knows a rule about policies, and no text is too large, too deep or too odd for an answer.

mod json;
mod kind;
mod scalar;
mod yaml;

use std::collections::BTreeMap;
use std::rc::Rc;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use noderotation_core::karpenter::{NodeClaim, NodePool};
use noderotation_core::policy::fault::one_line;
use serde::de::DeserializeOwned;
use serde_json::Value;

use kind::Kind;
use yaml::Document;
pub use yaml::Place;

/// All that was found in the files.
#[derive(Debug, Default)]
pub struct Manifest {
    /// RotationPolicies, in the order of the files.
    pub policies: Vec<Located>,
    /// NodePools.
    pub pools: Vec<NodePool>,
    /// NodeClaims.
    pub claims: Vec<NodeClaim>,
    /// Nodes; none unless the whole cluster is read.
    pub nodes: Vec<Node>,
    /// Pods, likewise.
    pub pods: Vec<Pod>,
    /// PodDisruptionBudgets, likewise.
    pub budgets: Vec<PodDisruptionBudget>,
    /// What was passed over, one line each.
    pub notes: Vec<String>,
    /// What cannot be read, one line each.
    pub errors: Vec<String>,
    whole_cluster: bool,
}

/// An object and where it is written.
#[derive(Debug)]
pub struct Located {
    /// The object.
    pub value: Value,
    file: Rc<str>,
    /// Path of the object in its document; empty unless it is an item of a list.
    root: String,
    places: Rc<BTreeMap<String, Place>>,
}

impl Located {
    /// Where a field is, or the nearest field around it that is there.
    #[must_use]
    pub fn place(&self, field: &str) -> Place {
        let mut path = match (self.root.as_str(), field) {
            (root, "") => root.to_owned(),
            ("", field) => field.to_owned(),
            (root, field) => format!("{root}.{field}"),
        };
        loop {
            if let Some(place) = self.places.get(&path) {
                return *place;
            }
            if path.is_empty() {
                return Place::default();
            }
            path.truncate(path.rfind(['.', '[']).unwrap_or_default());
        }
    }

    /// `file:line:column` of a field, likewise.
    #[must_use]
    pub fn at(&self, field: &str) -> String {
        format!("{}:{}", self.file, self.place(field))
    }

    /// `file:line` of the object.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{}:{}", self.file, self.place("").line)
    }
}

impl Manifest {
    /// One that reads also what runs in a cluster: Nodes, Pods and PodDisruptionBudgets, which are passed over otherwise.
    #[must_use]
    pub fn of_a_cluster() -> Self {
        Self { whole_cluster: true, ..Self::default() }
    }

    /// Adds the objects of a text; `file` is the name under which its places are told.
    pub fn add(&mut self, file: &str, text: &str) {
        let file: Rc<str> = file.into();
        let (documents, broken) = json::document(text).map_or_else(|| yaml::documents(text), |document| (vec![document], None));
        let (documents, broken) = match broken.as_ref().and_then(|_| json::without_places(text)) {
            Some(document) => (vec![document], None),
            None => (documents, broken),
        };
        for Document { value, places } in documents {
            self.place(Located { value, file: Rc::clone(&file), root: String::new(), places: Rc::new(places) });
        }
        if let Some(broken) = broken {
            let hint = if text.contains("{{") { "; is it a template? render it first, for example with helm template" } else { "" };
            self.errors.push(format!("{file}:{}: {}{hint}", broken.place, one_line(&broken.message)));
        }
    }

    /// Puts an object where it belongs.
    fn place(&mut self, object: Located) {
        match Kind::of(&object.value) {
            Ok(Kind::RotationPolicy) => self.policies.push(object),
            Ok(Kind::NodePool) => decode(object, &mut self.pools, &mut self.errors),
            Ok(Kind::NodeClaim) => decode(object, &mut self.claims, &mut self.errors),
            Ok(Kind::Node) if self.whole_cluster => decode(object, &mut self.nodes, &mut self.errors),
            Ok(Kind::Pod) if self.whole_cluster => decode(object, &mut self.pods, &mut self.errors),
            Ok(Kind::PodDisruptionBudget) if self.whole_cluster => decode(object, &mut self.budgets, &mut self.errors),
            Ok(Kind::List) => self.items(object),
            Ok(kind) => self.pass_over(&object, &kind.words()),
            Err((field, words)) => self.errors.push(format!("{}: {}", object.at(field), one_line(&words))),
        }
    }

    /// One line for all of a kind in a file.
    fn pass_over(&mut self, object: &Located, what: &str) {
        let note = one_line(&format!("{what} is not judged here"));
        if !self.notes.iter().any(|other| other.starts_with(&*object.file) && other.ends_with(&note)) {
            self.notes.push(format!("{}: {note}", object.at("")));
        }
    }

    fn items(&mut self, mut list: Located) {
        let Some(items) = list.value.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take) else {
            return self.errors.push(format!("{}: items: is required in a list; write the objects of the list", list.at("items")));
        };
        for (index, value) in items.into_iter().enumerate() {
            let field = format!("items[{index}]");
            let root = if list.root.is_empty() { field } else { format!("{}.{field}", list.root) };
            self.place(Located { value, file: Rc::clone(&list.file), root, places: Rc::clone(&list.places) });
        }
    }
}

/// The one document of a file that holds no object of Kubernetes, with the place of every field.
///
/// # Errors
/// When the text is not YAML, or has no document or several: one line with file, line and column.
pub fn document(file: &str, text: &str) -> Result<Located, String> {
    let (mut documents, broken) = yaml::whole_documents(text);
    if let Some(broken) = broken {
        return Err(format!("{file}:{}: {}", broken.place, one_line(&broken.message)));
    }
    match (documents.pop(), documents.len()) {
        (Some(Document { value, places }), 0) => Ok(Located { value, file: file.into(), root: String::new(), places: Rc::new(places) }),
        (Some(_), others) => Err(format!("{file}: has {} documents; write one", others + 1)),
        (None, _) => Err(format!("{file}: is empty; write one document")),
    }
}

fn decode<T: DeserializeOwned>(object: Located, into: &mut Vec<T>, errors: &mut Vec<String>) {
    let (kind, at) = (object.value.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned(), object.at(""));
    match serde_json::from_value(object.value) {
        Ok(decoded) => into.push(decoded),
        Err(error) => errors.push(format!("{at}: cannot be read as a {kind}: {}", one_line(&error.to_string()))),
    }
}

#[cfg(test)]
mod tests;
