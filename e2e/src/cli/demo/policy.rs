//! The two policies of the demo.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use e2e::cluster::Cluster;
use e2e::terminal::{indented, say};

const BAD: &str = r#"apiVersion: noderotation.io/v1alpha1
kind: RotationPolicy
metadata:
  name: bad
spec:
  nodePoolSelector:
    matchLabels:
      e2e.noderotation.io/fleet: demo
  maintenanceWindows:
    - timezone: Asia/Tokio
      days: [Wed, Sat]
      start: "02:00"
      end: "06:00"
  surge:
    maxUnavailable: 2
    readyTimeout: 15 min
"#;
/// What the refusal must name, each with its place.
const FAULTS: [&str; 3] = ["spec.maintenanceWindows[0].timezone", "spec.surge.maxUnavailable", "spec.surge.readyTimeout"];

/// The window is always open, and a node is old after 20 seconds: a demo has no week.
const GOOD: &str = r#"apiVersion: noderotation.io/v1alpha1
kind: RotationPolicy
metadata:
  name: demo
spec:
  nodePoolSelector:
    matchLabels:
      e2e.noderotation.io/fleet: demo
  ageThreshold: 20s
  maintenanceWindows:
    - timezone: Asia/Tokyo
      days: [Mon, Tue, Wed, Thu, Fri, Sat, Sun]
      start: "00:00"
      end: "24:00"
  surge:
    readyTimeout: 2m
    cooldownAfter: 1h
"#;
/// Defaults that must be filled in, among others. The second is derived from `cooldownAfter`.
const DEFAULTS: [(&str, &str); 3] =
    [("spec.surge.maxUnavailable", "1"), ("spec.surge.failurePause", "\"1h\""), ("spec.surge.retryBackoff", "\"30m\"")];

/// Applies the bad policy; shows it and what kubectl says.
pub(super) async fn refuse(cluster: &Cluster) -> Result<()> {
    say(&indented(BAD));
    say("\n$ kubectl apply -f bad.yaml");
    let refusal = cluster.apply(BAD).await?.refused()?;
    say(&indented(&refusal));
    for fault in FAULTS {
        ensure!(refusal.contains(fault), "the refusal does not name {fault}");
    }
    Ok(())
}

/// Applies the good policy; shows it and what was added to it.
pub(super) async fn accept(cluster: &Cluster) -> Result<()> {
    say(&indented(GOOD));
    say("\n$ kubectl apply -f demo.yaml");
    say(&indented(&cluster.apply(GOOD).await?.accepted()?));
    let stored = cluster.kubectl(&["get", "rotationpolicy", "demo", "--output", "json"]).await?.accepted()?;
    let stored: Value = serde_json::from_str(&stored).context("reading the stored policy")?;
    let given: Value = serde_yaml_ng::from_str(GOOD).context("reading the given policy")?;
    let added = added(&given, &stored);
    say("\nFilled in:");
    added.iter().for_each(|(field, value)| say(&indented(&format!("{field}: {value}"))));
    for (field, value) in DEFAULTS {
        ensure!(added.get(field).is_some_and(|added| added == value), "{field} was not set to {value}");
    }
    Ok(())
}

/// Fields of the stored spec that were not given, with their values as JSON.
fn added(given: &Value, stored: &Value) -> BTreeMap<String, String> {
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    leaves("spec", given.get("spec").unwrap_or(&Value::Null), &mut before);
    leaves("spec", stored.get("spec").unwrap_or(&Value::Null), &mut after);
    after.retain(|field, _| !before.contains_key(field));
    after
}

fn leaves(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value.as_object() {
        Some(fields) => fields.iter().for_each(|(name, value)| leaves(&format!("{path}.{name}"), value, into)),
        None => {
            into.insert(path.to_owned(), value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_was_not_given_is_added() {
        let given = json!({"spec": {"ageThreshold": "20s", "surge": {"readyTimeout": "2m"}}});
        let stored =
            json!({"spec": {"ageThreshold": "20s", "minRotationChances": 2, "surge": {"readyTimeout": "2m", "maxUnavailable": 1}}});
        let added: Vec<_> = added(&given, &stored).into_iter().map(|(field, value)| format!("{field}={value}")).collect();
        assert_eq!(added, ["spec.minRotationChances=2", "spec.surge.maxUnavailable=1"]);
    }

    #[test]
    fn the_texts_are_objects() {
        for text in [BAD, GOOD] {
            let policy: Value = serde_yaml_ng::from_str(text).unwrap();
            assert_eq!(policy["kind"], "RotationPolicy");
        }
    }
}
