//! The faults.

use super::{Fault, Kind, Shell};
use crate::annotation::{Key, Value};
use crate::plan::Plan;
use crate::setup::Schedule;
use crate::sight::Sight;
use crate::world::object::{Claim, Node, Phase};
use crate::world::write::{Change, Told, What, Write};

/// All of them.
pub const FAULTS: &[Fault] = &[
    blind("overlooks that a rotation is under way", |sight| set(sight, Key::Anchor)),
    blind("overlooks the mirror", |sight| set(sight, Key::Mirror)),
    blind("overlooks a freeze", |sight| set(sight, Key::Freeze)),
    blind("does not let a rotated pool settle", |sight| set(sight, Key::LastRotationAt)),
    blind("does not pause after a failure", |sight| set(sight, Key::LastFailureAt)),
    blind("retries at once", |sight| {
        claims(sight, |claim| {
            claim.annotations.set(Key::FailedAt, Value::ABSENT);
        });
    }),
    blind("overlooks a person's protection", |sight| nodes(sight, overlook_protection)),
    blind("adopts a person's cordon", |sight| nodes(sight, |node| node.unschedulable &= node.annotations.has(Key::Cordoned))),
    blind("reaps without looking at the Pods", |sight| {
        sight.close_up.iter_mut().for_each(|close_up| drop(close_up.pods_on_surge_node.replace(Vec::new())));
    }),
    blind("takes every host for launched by itself", |sight| {
        let placed = sight.close_up.as_ref().and_then(|close_up| close_up.placeholder).map(|pod| pod.created.plus(1));
        let host = sight.close_up.iter_mut().filter_map(|close_up| close_up.surge_claim.as_mut());
        host.zip(placed).for_each(|(claim, placed)| claim.created = placed);
    }),
    blind("does not wait for the placeholder to run", |sight| {
        sight.close_up.iter_mut().filter_map(|close_up| close_up.placeholder.as_mut()).for_each(|pod| pod.phase = Phase::Running);
    }),
    blind("counts on a placeholder that is going", |sight| {
        sight.close_up.iter_mut().filter_map(|close_up| close_up.placeholder.as_mut()).for_each(|pod| pod.terminating = false);
    }),
    blind("counts on a host that is going", |sight| {
        nodes(sight, |node| (node.tainted, node.deleting) = (false, false));
        claims(sight, |claim| claim.deleted = None);
    }),
    blind("takes a stranger's Pod for its own", |sight| {
        sight.close_up.iter_mut().filter_map(|close_up| close_up.placeholder.as_mut()).for_each(|pod| pod.labelled = true);
    }),
    skips("rolls back without a fence", |write| sets(&write.what, Key::Rollback)),
    distorts("deletes before the mirror", |plan| to_front(plan, |what| matches!(what, What::DeleteClaim { .. }))),
    distorts("deletes without the mirror", |plan| {
        plan.writes.retain(|write| !sets(&write.what, Key::Mirror));
    }),
    distorts("clears the anchor first", |plan| to_front(plan, |what| removes(what, Key::Anchor))),
    distorts("leaves a companion of the anchor", |plan| {
        for change in plan.writes.iter_mut().filter(|write| removes(&write.what, Key::Anchor)).filter_map(change) {
            change.retain(|(key, _)| *key != Key::DrainingAt);
        }
    }),
    distorts("leaves its marks on Nodes", |plan| {
        let ends = plan.writes.iter().any(|write| removes(&write.what, Key::Anchor));
        plan.writes.retain(|write| !ends || !matches!(write.what, What::Node { .. }));
    }),
    distorts("leaves the placeholder", |plan| {
        plan.writes.retain(|write| !matches!(write.what, What::DeletePod { .. }));
        plan.again &= !plan.writes.is_empty();
    }),
    distorts("sweeps nothing", |plan| {
        if plan.activity == "Sweeping" {
            plan.writes.clear();
            plan.again = false;
        }
    }),
    distorts("cordons without saying so", |plan| {
        plan.writes
            .iter_mut()
            .filter_map(change)
            .for_each(|change| change.retain(|(key, value)| *key != Key::Cordoned || !value.is_present()));
    }),
    distorts("uncordons whatever it has marked", |plan| {
        for write in plan.writes.iter_mut().filter(|write| removes(&write.what, Key::SurgeFor)) {
            if let What::Node { unschedulable, .. } = &mut write.what {
                *unschedulable = Some(false);
            }
        }
    }),
    distorts("counts an expiry with the claim and with the anchor", |plan| {
        for write in plan.writes.iter_mut().filter(|write| says(&write.what, "expired")) {
            write.told.push(Told::Expired);
        }
    }),
    distorts("counts an expiry as a success", |plan| {
        plan.writes
            .iter_mut()
            .flat_map(|write| &mut write.told)
            .filter(|told| **told == Told::Expired)
            .for_each(|told| *told = Told::Completed);
    }),
    distorts("reserves half of what is needed", |plan| {
        for write in &mut plan.writes {
            if let What::Create { milli, .. } = &mut write.what {
                *milli /= 2;
            }
        }
    }),
    distorts("sends a delete that was kept back without looking", |plan| {
        let steps_back = steps_back(plan);
        let claim = plan.writes.iter().find_map(|write| match write.what {
            What::Claim { id, .. } if steps_back => Some(Write { what: What::DeleteClaim { id }, ..write.clone() }),
            What::Pool { .. }
            | What::Claim { .. }
            | What::Node { .. }
            | What::Create { .. }
            | What::DeletePod { .. }
            | What::DeleteClaim { .. } => None,
        });
        if let Some(delete) = claim {
            plan.writes = vec![delete];
        }
    }),
    distorts("takes the mirror back without a fence", |plan| {
        if steps_back(plan) {
            plan.writes.retain(|write| !matches!(write.what, What::Claim { .. }));
        }
    }),
    believes("leaves the window half an hour late", |schedule| schedule.closes += 30 * 60),
    believes("drains without a surge unasked", |schedule| schedule.fallback = true),
    believes("takes a schedule for one that cannot work", |schedule| schedule.chances *= 4),
    shell("writes without a version", Shell::Unconditional),
    shell("goes on after a lost race", Shell::GoesOn),
    shell("tells before the write has landed", Shell::TellsFirst),
];

const fn blind(name: &'static str, to: fn(&mut Sight)) -> Fault {
    Fault { name, kind: Kind::Blind(to) }
}

const fn distorts(name: &'static str, how: fn(&mut Plan)) -> Fault {
    Fault { name, kind: Kind::Distorts(how) }
}

const fn skips(name: &'static str, what: fn(&Write) -> bool) -> Fault {
    Fault { name, kind: Kind::Skips(what) }
}

const fn believes(name: &'static str, what: fn(&mut Schedule)) -> Fault {
    Fault { name, kind: Kind::Believes(what) }
}

const fn shell(name: &'static str, how: Shell) -> Fault {
    Fault { name, kind: Kind::Shell(how) }
}

/// Hides an annotation of the pool.
fn set(sight: &mut Sight, key: Key) {
    sight.pool.annotations.set(key, Value::ABSENT);
}

fn claims(sight: &mut Sight, change: impl FnMut(&mut Claim)) {
    let live = sight.close_up.iter_mut().flat_map(|close_up| close_up.claim.iter_mut().chain(&mut close_up.surge_claim));
    sight.claims.iter_mut().chain(live).for_each(change);
}

fn nodes(sight: &mut Sight, change: impl FnMut(&mut Node)) {
    let live = sight.close_up.iter_mut().flat_map(|close_up| close_up.node.iter_mut().chain(&mut close_up.surge_node));
    sight.nodes.iter_mut().chain(live).for_each(change);
}

fn overlook_protection(node: &mut Node) {
    if !node.annotations.has(Key::ProtectionOwned) {
        node.annotations.set(Key::Protection, Value::ABSENT);
    }
}

fn change(write: &mut Write) -> Option<&mut Change> {
    match &mut write.what {
        What::Pool { change, .. } | What::Claim { change, .. } | What::Node { change, .. } => Some(change),
        What::Create { .. } | What::DeletePod { .. } | What::DeleteClaim { .. } => None,
    }
}

fn changed(what: &What, key: Key) -> Option<Value> {
    what.change().iter().find(|(changed, _)| *changed == key).map(|(_, value)| *value)
}

fn sets(what: &What, key: Key) -> bool {
    changed(what, key).is_some_and(Value::is_present)
}

fn removes(what: &What, key: Key) -> bool {
    changed(what, key).is_some_and(|value| !value.is_present())
}

/// The mirror is taken back, and the rotation goes on.
fn steps_back(plan: &Plan) -> bool {
    plan.writes.iter().any(|write| removes(&write.what, Key::Mirror) && !removes(&write.what, Key::Anchor))
}

fn says(what: &What, state: &str) -> bool {
    changed(what, Key::State).is_some_and(|value| value.is(state))
}

fn to_front(plan: &mut Plan, which: impl Fn(&What) -> bool) {
    if let Some(place) = plan.writes.iter().position(|write| which(&write.what)) {
        let write = plan.writes.remove(place);
        plan.writes.insert(0, write);
    }
}
