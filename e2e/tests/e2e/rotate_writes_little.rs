//! What one rotation costs the API server, by its audit log.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use anyhow::{Result, ensure};
use e2e::audit::{Audit, Request, operator_account};
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use libtest_mimic::Trial;

use crate::bed::{Bed, counted, finish, operator};
use crate::scene::{Old, replaced};

/// Where the state of rotations is; all other writes are events, the Lease and the policy's status.
const RESOURCES: [&str; 4] = ["nodepools", "nodeclaims", "nodes", "pods"];

const CONFLICT: u64 = 409;

/// Verb, resource and name.
type Kind<'a> = (&'a str, &'a str, &'a str);

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial("rotate_writes_little::one_rotation_is_a_dozen_writes", one_rotation_is_a_dozen_writes)]
}

async fn one_rotation_is_a_dozen_writes(cluster: &Cluster) -> Result<()> {
    let (operator, fleet) = (operator(cluster).await?, Fleet { size: 1, ..Fleet::new("thrifty") });
    let old = Old::of(&fleet.raise(cluster).await?)?;
    let audit = Audit::from_now(cluster)?;
    fleet.govern(cluster).await?;
    let after = replaced(cluster, &fleet, &old, &[]).await?;
    counted(&operator, &fleet, "success", 1.0).await?;
    let account = operator_account(cluster).await?;
    let all = audit.requests(cluster)?;
    conflicts_only_with_others(&all, &account)?;
    let own = all.into_iter().filter(|request| request.user == account && request.code != CONFLICT);
    let own: Vec<Request> = own.filter(|request| RESOURCES.contains(&base(request))).collect();
    // Reads as well: where it is the ordinary course that something is not there, no request may fail for it.
    for request in &own {
        ensure!(request.code < 300, "{}", request.summary());
    }
    let writes: Vec<Request> = own.into_iter().filter(Request::writes).collect();
    let mut counts: BTreeMap<Kind<'_>, u64> = BTreeMap::new();
    for request in &writes {
        *counts.entry((&request.verb, &request.resource, &request.name)).or_default() += 1;
    }
    let placeholder = format!("noderotation-surge-{}", old.claim);
    let surge = after.nodes.first().map(|node| node.name.as_str()).unwrap_or_default();
    let budget: [(Kind<'_>, RangeInclusive<u64>); 7] = [
        // Start, mirror, end.
        (("patch", "nodepools", &fleet.name), 3..=3),
        // Begin and drain; the surge claim in between, when the bind is seen before the node is ready.
        (("patch", "nodeclaims", &old.claim), 2..=3),
        (("delete", "nodeclaims", &old.claim), 1..=1),
        (("create", "pods", &placeholder), 1..=1),
        // The Pod that moves in may have taken its place already.
        (("delete", "pods", &placeholder), 0..=1),
        // Its marks go with it.
        (("patch", "nodes", &old.node), 1..=1),
        (("patch", "nodes", surge), 2..=2),
    ];
    for (key, allowed) in &budget {
        let count = counts.remove(key).unwrap_or_default();
        ensure!(allowed.contains(&count), "{key:?}: {count} times, not {allowed:?}; the writes were {}", list(&writes));
    }
    ensure!(counts.is_empty(), "these are in nobody's budget: {counts:?}");
    finish(cluster, &fleet, operator).await
}

/// Karpenter writes to the same objects, so that a lost race is nobody's fault; one against the operator itself is, since
/// then it has written from what it should have known to be old.
fn conflicts_only_with_others(requests: &[Request], account: &str) -> Result<()> {
    let mut last: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for request in requests.iter().filter(|request| request.writes()) {
        let object = (base(request), request.name.as_str());
        if request.code < 300 {
            last.insert(object, &request.user);
        }
        let own = request.user == account && request.code == CONFLICT;
        ensure!(!own || last.get(&object) != Some(&account), "a conflict with itself: {}", request.summary());
    }
    Ok(())
}

fn base(request: &Request) -> &str {
    request.resource.split('/').next().unwrap_or_default()
}

fn list(requests: &[Request]) -> String {
    requests.iter().map(Request::summary).collect::<Vec<_>>().join("; ")
}
