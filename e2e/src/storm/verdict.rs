//! What the writes of rotations say about them: that each was conditional, that rotations do not run into each other, and how
//! they ended.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::Entry;

/// How rotations ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// NodePools that got an anchor.
    pub begun: usize,
    /// Anchors that were taken away together with a time of the last rotation.
    pub succeeded: usize,
    /// Those among them of which the operator was told.
    pub told: usize,
    /// Anchors that were taken away without.
    pub given_up: usize,
    /// NodeClaims that were deleted.
    pub deleted: usize,
}

/// A rotation of one NodePool.
#[derive(Debug)]
struct Rotation<'a> {
    claim: &'a str,
    draining: bool,
}

/// Reads the journal in its order.
///
/// # Errors
/// When a write is not conditional on what it changes, when a rotation begins while another one of the NodePool is under way,
/// when a NodeClaim is deleted twice or without the durable mark that its drain has begun, or when a rotation does not end.
pub fn judge(journal: &[Entry]) -> Result<Tally> {
    let (mut tally, mut running, mut deleted) = (Tally::default(), BTreeMap::<&str, Rotation<'_>>::new(), BTreeSet::<&str>::new());
    for entry in journal {
        is_conditional(entry)?;
        let name = entry.name.as_str();
        match (entry.verb.as_str(), entry.resource.as_str()) {
            _ if !entry.landed() => {}
            ("PATCH", "nodepools") => annotates(entry, &mut running, &mut tally)?,
            ("DELETE", "nodeclaims") => {
                let marked = running.values().any(|rotation| rotation.claim == name && rotation.draining);
                ensure!(marked, "{name} was deleted, and no NodePool says that it drains");
                ensure!(deleted.insert(name), "{name} was deleted twice");
            }
            _ => {}
        }
    }
    ensure!(running.is_empty(), "these rotations have not ended: {running:?}");
    Ok(Tally { deleted: deleted.len(), ..tally })
}

/// A change is made to what was read, and to nothing that has come since.
fn is_conditional(entry: &Entry) -> Result<()> {
    let place = match entry.verb.as_str() {
        "PATCH" => "/metadata",
        "DELETE" => "/preconditions",
        // Of two Pods of one name the API server keeps the first.
        _ => return Ok(()),
    };
    for key in ["uid", "resourceVersion"] {
        let value = entry.body.pointer(&format!("{place}/{key}")).and_then(Value::as_str).unwrap_or_default();
        ensure!(!value.is_empty(), "{} {} {} is not conditional on the {key}", entry.verb, entry.resource, entry.name);
    }
    Ok(())
}

fn annotates<'a>(entry: &'a Entry, running: &mut BTreeMap<&'a str, Rotation<'a>>, tally: &mut Tally) -> Result<()> {
    let pool = entry.name.as_str();
    let annotations = entry.body.pointer("/metadata/annotations").and_then(Value::as_object).context("it annotates nothing")?;
    let written = |key: &str| annotations.get(&format!("noderotation.io/{key}"));
    match written("active-rotation") {
        Some(Value::String(claim)) => {
            let before = running.insert(pool, Rotation { claim, draining: false });
            ensure!(before.is_none(), "{pool} begins with {claim} while {before:?} is under way");
            tally.begun += 1;
        }
        Some(_) => {
            ensure!(running.remove(pool).is_some(), "{pool} ends a rotation that has not begun");
            let success = written("last-rotation-at").is_some_and(Value::is_string);
            tally.succeeded += usize::from(success);
            tally.told += usize::from(success && entry.answered);
            tally.given_up += usize::from(!success);
        }
        None => {}
    }
    if let Some(state) = written("active-rotation-state").filter(|_| running.contains_key(pool)) {
        let rotation = running.get_mut(pool).context("it runs")?;
        rotation.draining = state == "draining";
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(verb: &str, resource: &str, name: &str, body: Value) -> Entry {
        Entry { verb: verb.to_owned(), resource: resource.to_owned(), name: name.to_owned(), body, status: 200, answered: true }
    }

    fn pool(annotations: &Value) -> Entry {
        entry("PATCH", "nodepools", "p", json!({"metadata": {"uid": "u", "resourceVersion": "1", "annotations": annotations}}))
    }

    fn delete() -> Entry {
        entry("DELETE", "nodeclaims", "c", json!({"preconditions": {"uid": "u", "resourceVersion": "1"}}))
    }

    fn begin() -> Entry {
        pool(&json!({"noderotation.io/active-rotation": "c"}))
    }

    fn mirror() -> Entry {
        pool(&json!({"noderotation.io/active-rotation-state": "draining"}))
    }

    fn end(at: &Value) -> Entry {
        pool(&json!({
            "noderotation.io/active-rotation": null,
            "noderotation.io/active-rotation-state": null,
            "noderotation.io/last-rotation-at": at,
        }))
    }

    #[test]
    fn a_success_and_a_failure_are_told_apart() {
        let lost = Entry { answered: false, ..end(&json!("2026-01-07T02:00:00Z")) };
        let journal = [begin(), mirror(), delete(), lost, begin(), pool(&json!({"noderotation.io/active-rotation": null}))];
        assert_eq!(judge(&journal).unwrap(), Tally { begun: 2, succeeded: 1, told: 0, given_up: 1, deleted: 1 });
    }

    #[test]
    fn what_must_not_be_is_said() {
        let at = json!("2026-01-07T02:00:00Z");
        let blind = Entry { body: json!({"metadata": {"uid": "u"}}), ..begin() };
        let refused = Entry { status: 409, ..mirror() };
        let rows: [(&[Entry], &str); 6] = [
            (&[blind], "PATCH nodepools p is not conditional on the resourceVersion"),
            (&[begin(), begin()], "begins with c while"),
            (&[begin(), delete()], "c was deleted, and no NodePool says that it drains"),
            (&[begin(), refused, delete()], "c was deleted, and no NodePool says that it drains"),
            (&[begin(), mirror(), delete(), delete(), end(&at)], "c was deleted twice"),
            (&[begin(), mirror()], "these rotations have not ended"),
        ];
        for (journal, words) in rows {
            let error = judge(journal).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
