//! What a decision writes, written into the cluster that is played.

use noderotation_core::annotation::{Change, Map};
use noderotation_core::rotation::effect::Effect;
use noderotation_core::rotation::observation::Observation;

/// Writes an effect that changes what is there: annotations, cordons, and placeholders that go. What comes into being, and
/// how a claim goes, is for the caller, who knows how long that takes.
pub fn write(observation: &mut Observation, effect: Effect) {
    match effect {
        Effect::AnnotatePool { change, .. } => annotate(&mut observation.pool.metadata.annotations, change),
        Effect::AnnotateClaim { claim, change } => {
            let found = observation.claims.iter_mut().find(|other| other.metadata.name.as_deref() == Some(&claim.name));
            found.into_iter().for_each(|found| annotate(&mut found.metadata.annotations, change.clone()));
        }
        Effect::MarkNode { node, change, unschedulable, .. } => {
            let found = observation.nodes.iter_mut().find(|other| other.metadata.name.as_deref() == Some(&node.name));
            if let Some(found) = found {
                annotate(&mut found.metadata.annotations, change);
                if let Some(unschedulable) = unschedulable {
                    found.spec.get_or_insert_default().unschedulable = Some(unschedulable);
                }
            }
        }
        Effect::DeletePlaceholder { pod, .. } => {
            observation.placeholders.retain(|other| other.metadata.name.as_deref() != Some(&pod.name));
        }
        Effect::CreatePlaceholder { .. } | Effect::DeleteClaim { .. } => {}
    }
}

/// Sets and removes annotations.
pub fn annotate(annotations: &mut Option<Map>, change: Change) {
    let annotations = annotations.get_or_insert_default();
    for (key, value) in change {
        match value {
            Some(value) => drop(annotations.insert(key.to_owned(), value)),
            None => drop(annotations.remove(key)),
        }
    }
}
