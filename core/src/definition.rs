//! What becomes of a definition of RotationPolicy that is on the cluster when this program brings its own.
//!
//! It is replaced, whoever wrote it, unless a newer program did: going back to the older schema would drop, with the next
//! write, what stored policies say in its newer fields. The older program reads what it knows.

#[cfg(test)]
mod tests;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry, Time};
use kube::ResourceExt;
use serde_json::{Map, Value};

use crate::annotation::DEFINITION_VERSION;

/// The part of a definition that is replaced as a whole.
const SPEC: &str = "f:spec";

/// What is to be done about the one that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Write ours over it.
    Replace,
    /// It is of this newer version and stays.
    Newer(String),
    /// It is being deleted, and every policy with it.
    Deleting,
    /// Policies may be stored in these versions, which ours does not know.
    Stored(Vec<String>),
}

/// Judges the one that is there beside ours.
#[must_use]
pub fn judge(there: &CustomResourceDefinition, ours: &CustomResourceDefinition) -> Verdict {
    if there.metadata.deletion_timestamp.is_some() {
        return Verdict::Deleting;
    }
    let version = |definition: &CustomResourceDefinition| definition.annotations().get(DEFINITION_VERSION).cloned();
    if let Some(newer) = version(there).filter(|there| numbers(there) > version(ours).and_then(|ours| numbers(&ours))) {
        return Verdict::Newer(newer);
    }
    let stored = there.status.as_ref().and_then(|status| status.stored_versions.clone()).unwrap_or_default();
    let unknown: Vec<String> = stored.into_iter().filter(|stored| !ours.spec.versions.iter().any(|known| known.name == *stored)).collect();
    if unknown.is_empty() { Verdict::Replace } else { Verdict::Stored(unknown) }
}

/// `1.2.3` and what may follow; nothing else is a version, and counts as older than any.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let core = version.trim_start_matches('v').split(['-', '+']).next()?;
    let parts: Vec<u64> = core.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    parts.try_into().ok()
}

/// The API server serves it.
#[must_use]
pub fn established(definition: &CustomResourceDefinition) -> bool {
    let conditions = definition.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let is = |kind: &str| conditions.iter().any(|condition| condition.type_ == kind && condition.status == "True");
    is("Established") && is("NamesAccepted")
}

/// The record of who owns which field, with all of `spec` handed to what `manager` has applied; `None` when nobody else has
/// any of it. Labels and annotations stay with whoever set them, and so does the status.
///
/// Otherwise a field that an older definition had, and ours has not, would stay for as long as somebody owns it.
#[must_use]
pub fn taken_over(owners: &[ManagedFieldsEntry], manager: &str, now: Time) -> Option<Vec<ManagedFieldsEntry>> {
    let ours = |entry: &ManagedFieldsEntry| {
        entry.manager.as_deref() == Some(manager) && entry.operation.as_deref() == Some("Apply") && entry.subresource.is_none()
    };
    let own = owners.iter().find(|entry| ours(entry));
    let mut fields = own.and_then(|entry| entry.fields_v1.clone()).map_or_else(|| Value::Object(Map::new()), |fields| fields.0);
    let (mut rest, mut taken) = (Vec::new(), false);
    for entry in owners.iter().filter(|entry| !ours(entry)) {
        let mut entry = entry.clone();
        let spec = entry.fields_v1.as_mut().and_then(|fields| fields.0.as_object_mut()).and_then(|fields| fields.remove(SPEC));
        if let Some(spec) = spec {
            taken = true;
            unite(&mut fields, &Value::Object([(SPEC.to_owned(), spec)].into_iter().collect()));
        }
        // An entry that owns nothing any more is no entry.
        if entry.fields_v1.as_ref().is_some_and(|fields| !is_empty(&fields.0)) {
            rest.push(entry);
        }
    }
    taken.then(|| {
        let mut own = own.cloned().unwrap_or_else(|| ManagedFieldsEntry {
            api_version: Some("apiextensions.k8s.io/v1".to_owned()),
            fields_type: Some("FieldsV1".to_owned()),
            manager: Some(manager.to_owned()),
            operation: Some("Apply".to_owned()),
            ..ManagedFieldsEntry::default()
        });
        own.fields_v1 = Some(FieldsV1(fields));
        own.time = Some(now);
        rest.push(own);
        rest
    })
}

/// The record of who owns which field, with what was just applied owned by nobody; `None` when nobody owns any of it.
///
/// Helm 4 applies what is in `crds/` with each install, and gives up where another owns a field that differs: as long as we
/// own it, no other version could be installed after a removal.
#[must_use]
pub fn let_go(owners: &[ManagedFieldsEntry]) -> Option<Vec<ManagedFieldsEntry>> {
    let mut rest = owners.to_vec();
    for fields in rest.iter_mut().filter_map(|entry| entry.fields_v1.as_mut()) {
        remove(&mut fields.0, &[SPEC]);
        remove(&mut fields.0, &["f:metadata", "f:annotations", &format!("f:{DEFINITION_VERSION}")]);
    }
    rest.retain(|entry| entry.fields_v1.as_ref().is_some_and(|fields| !is_empty(&fields.0)));
    (rest != owners).then_some(rest)
}

/// Takes a field out, and with it what would then own nothing.
fn remove(fields: &mut Value, path: &[&str]) {
    let (Some((first, rest)), Some(object)) = (path.split_first(), fields.as_object_mut()) else {
        return;
    };
    if let Some(inner) = object.get_mut(*first) {
        remove(inner, rest);
        // `.` says that the object itself is owned, which it need not be without fields.
        let hollow = inner.as_object().is_some_and(|inner| inner.keys().all(|key| key == "."));
        if rest.is_empty() || hollow {
            object.remove(*first);
        }
    }
}

fn is_empty(fields: &Value) -> bool {
    fields.as_object().is_none_or(Map::is_empty)
}

/// All fields of either.
fn unite(into: &mut Value, from: &Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        for (key, value) in from {
            unite(into.entry(key).or_insert_with(|| Value::Object(Map::new())), value);
        }
    }
}
