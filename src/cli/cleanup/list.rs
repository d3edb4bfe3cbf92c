//! The list for people: one line a write, in the order of the writes, and after that what stays and why.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use noderotation_core::annotation::{Change, short};
use noderotation_core::cleanup::{Left, Plan};
use noderotation_core::rotation::effect::Effect;
use noderotation_core::sweep::Repair;

/// Letters of the name of an object that is filled up.
const NAME: usize = 48;

/// Lines under the name of their NodePool, which stands there once.
#[derive(Default)]
pub(super) struct Lines {
    /// How many have been told.
    pub(super) count: usize,
    pool: Option<String>,
}

impl Lines {
    /// The line of a write, below a title where a new NodePool begins.
    pub(super) fn line(&mut self, pool: &str, effect: &Effect) -> String {
        let (object, what) = words(effect);
        let mut text = String::new();
        if self.pool.as_deref() != Some(pool) {
            let title = if pool.is_empty() { "Without a NodePool".to_owned() } else { format!("NodePool {pool}") };
            // Writing to a String cannot fail.
            let _infallible = writeln!(text, "{title}");
            self.pool = Some(pool.to_owned());
        }
        let _infallible = writeln!(text, "  {object:NAME$}  {what}");
        text
    }
}

/// All writes.
pub(super) fn writes(repairs: &[Repair]) -> String {
    let mut lines = Lines::default();
    let all = repairs.iter().flat_map(|repair| repair.effects.iter().map(move |planned| (&repair.pool, &planned.effect)));
    all.map(|(pool, effect)| lines.line(pool, effect)).collect()
}

/// The object of a write, and what happens to it.
fn words(effect: &Effect) -> (String, String) {
    match effect {
        Effect::AnnotatePool { pool, change } => (format!("NodePool {}", pool.name), changes(change)),
        Effect::AnnotateClaim { claim, change } => (format!("NodeClaim {}", claim.name), changes(change)),
        Effect::MarkNode { node, change, unschedulable, .. } => {
            let cordon = match unschedulable {
                Some(true) => "cordon; ",
                Some(false) => "uncordon; ",
                None => "",
            };
            (format!("Node {}", node.name), format!("{cordon}{}", changes(change)))
        }
        Effect::CreatePlaceholder { pod } => (format!("Pod {}", pod.metadata.name.as_deref().unwrap_or_default()), "create".to_owned()),
        Effect::DeletePlaceholder { namespace, pod } => (format!("Pod {namespace}/{}", pod.name), "delete".to_owned()),
        Effect::DeleteClaim { claim } => (format!("NodeClaim {}", claim.name), "delete".to_owned()),
    }
}

/// `set state=failed; remove started-at, surge-claim`.
fn changes(change: &Change) -> String {
    let set: Vec<String> = change.iter().filter_map(|(key, value)| Some(format!("{}={}", short(key), value.as_ref()?))).collect();
    let removed: Vec<&str> = change.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| short(key)).collect();
    let parts = [("set", set.join(", ")), ("remove", removed.join(", "))];
    let parts: Vec<String> = parts.iter().filter(|(_, what)| !what.is_empty()).map(|(verb, what)| format!("{verb} {what}")).collect();
    parts.join("; ")
}

/// What stays, with the reason.
pub(super) fn stays(left: &BTreeSet<Left>, all: bool) -> String {
    let mut text = String::new();
    for left in left {
        let sentence = match left {
            Left::Rotation { pool, claim } => {
                format!("the rotation of NodeClaim {claim} in NodePool {pool} is in flight; the operator ends it, or --all takes it back")
            }
            Left::Drain { claim } if all => format!("the drain of NodeClaim {claim} has begun; Karpenter ends it"),
            Left::Drain { claim } => {
                format!("the drain of NodeClaim {claim} has begun; Karpenter ends it, and its marks go with it or with --all")
            }
            Left::Launched { claim, instead_of } => format!(
                "NodeClaim {claim} was launched in place of {instead_of}; Karpenter removes it where it consolidates empty nodes, else delete \
                 it if nothing runs there"
            ),
            Left::Placeholder { namespace, name } => {
                format!(
                    "placeholder {name} belongs to an installation in namespace {namespace}; if that is gone, use --namespace {namespace}"
                )
            }
            Left::Foreign { kind, name } => format!("{kind} {name} may be marked by another installation"),
        };
        let _infallible = writeln!(text, "stays: {sentence}");
    }
    text
}

/// The end of a list of writes that were not carried out.
pub(super) fn announced(plan: &Plan) -> String {
    match count(plan) {
        0 => "Nothing is to be removed.\n".to_owned(),
        1 => "1 write is due; nothing has been changed. --apply carries it out.\n".to_owned(),
        more => format!("{more} writes are due; nothing has been changed. --apply carries them out.\n"),
    }
}

/// The end of a list of writes that have landed.
pub(super) fn done(landed: usize, rest: &Plan) -> String {
    let done = match landed {
        0 => "Nothing was written".to_owned(),
        1 => "1 write was carried out".to_owned(),
        more => format!("{more} writes were carried out"),
    };
    match count(rest) {
        0 => format!("{done}; nothing is left to be removed.\n"),
        rest => format!("{done}, {rest} still to do; run it again.\n"),
    }
}

fn count(plan: &Plan) -> usize {
    plan.repairs.iter().map(|repair| repair.effects.len()).sum()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use noderotation_core::annotation::{ACTIVE_ROTATION, CORDONED, DO_NOT_DISRUPT, FAILED_AT, STARTED_AT, STATE, SURGE_FOR};
    use noderotation_core::rotation::effect::{Proceed, Target};

    use super::*;

    fn target(name: &str) -> Target {
        Target { name: name.to_owned(), uid: String::new(), version: String::new() }
    }

    fn plan() -> Plan {
        let claim = [(STATE, Some("failed".to_owned())), (FAILED_AT, Some("2026-01-07T02:00:00Z".to_owned())), (STARTED_AT, None)];
        let node = [(SURGE_FOR, None), (CORDONED, None), (DO_NOT_DISRUPT, None)].into();
        let effects = [
            Effect::AnnotateClaim { claim: target("api-x7k2p"), change: claim.into() },
            Effect::DeletePlaceholder { namespace: "system".to_owned(), pod: target("noderotation-surge-api-x7k2p") },
            Effect::MarkNode { node: target("ip-10-0-1-7"), change: node, unschedulable: Some(false), proceed: Proceed::Always },
        ];
        let effects = effects.into_iter().map(Into::into).collect();
        let pool = Effect::AnnotatePool { pool: target("batch"), change: [(ACTIVE_ROTATION, None)].into() };
        let text = |text: &str| text.to_owned();
        let left = [
            Left::Rotation { pool: text("web"), claim: text("web-1") },
            Left::Drain { claim: text("db-1") },
            Left::Launched { claim: text("api-new"), instead_of: text("api-x7k2p") },
            Left::Placeholder { namespace: text("other"), name: text("noderotation-surge-q") },
            Left::Foreign { kind: "Node", name: text("ip-10-0-1-9") },
        ];
        let repairs = vec![Repair { pool: text("api"), effects }, Repair { pool: text("batch"), effects: vec![pool.into()] }];
        Plan { repairs, left: left.into() }
    }

    #[test]
    fn each_write_has_a_line_and_all_that_stays_a_reason() {
        let plan = plan();
        assert_snapshot!(writes(&plan.repairs) + &stays(&plan.left, false) + &announced(&plan), @r"
        NodePool api
          NodeClaim api-x7k2p                               set failed-at=2026-01-07T02:00:00Z, state=failed; remove started-at
          Pod system/noderotation-surge-api-x7k2p           delete
          Node ip-10-0-1-7                                  uncordon; remove karpenter.sh/do-not-disrupt, cordoned, surge-for
        NodePool batch
          NodePool batch                                    remove active-rotation
        stays: the rotation of NodeClaim web-1 in NodePool web is in flight; the operator ends it, or --all takes it back
        stays: the drain of NodeClaim db-1 has begun; Karpenter ends it, and its marks go with it or with --all
        stays: NodeClaim api-new was launched in place of api-x7k2p; Karpenter removes it where it consolidates empty nodes, else delete it if nothing runs there
        stays: placeholder noderotation-surge-q belongs to an installation in namespace other; if that is gone, use --namespace other
        stays: Node ip-10-0-1-9 may be marked by another installation
        4 writes are due; nothing has been changed. --apply carries them out.
        ");
    }

    #[test]
    fn the_end_says_what_was_done_and_what_is_left() {
        let (empty, plan) = (Plan::default(), plan());
        let ends = [done(0, &empty), done(1, &empty), done(4, &empty), done(2, &plan), announced(&empty)];
        assert_snapshot!(ends.concat(), @r"
        Nothing was written; nothing is left to be removed.
        1 write was carried out; nothing is left to be removed.
        4 writes were carried out; nothing is left to be removed.
        2 writes were carried out, 4 still to do; run it again.
        Nothing is to be removed.
        ");
        assert!(stays(&[Left::Drain { claim: "db-1".to_owned() }].into(), true).ends_with("Karpenter ends it\n"));
    }
}
