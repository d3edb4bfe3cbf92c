//! Two operators that both rotate, as when an election has gone wrong: the conditions of the writes alone keep order.

use anyhow::{Result, ensure};
use e2e::audit::Audit;
use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::operator::Operator;
use e2e::wait::{Look, until};
use libtest_mimic::Trial;

use crate::bed::{Bed, SOON, finish};
use crate::scene::{Old, begun_and_completed, count, replaced};

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![bed.trial("rotate_by_two::one_rotation_is_done_once", one_rotation_is_done_once)]
}

async fn one_rotation_is_done_once(cluster: &Cluster) -> Result<()> {
    let fleet = Fleet { size: 1, ..Fleet::new("contested") };
    let alone = ["--leader-elect=false", "--shutdown-delay=0s"];
    let mut one = Operator::start(cluster, &alone).await?;
    one.wait_ready().await?;
    // Only one of them can listen on the Service's address.
    let unasked = [&alone[..], &["--webhook-bind-address=127.0.0.1:0", "--webhook-register=false"]].concat();
    let mut other = Operator::start(cluster, &unasked).await?;
    other.wait_ready().await?;
    let old = Old::of(&fleet.raise(cluster).await?)?;
    let audit = Audit::from_now(cluster)?;
    fleet.govern(cluster).await?;
    let after = replaced(cluster, &fleet, &old, &[]).await?;
    ensure!(after.nodes.len() == 1, "there are {} nodes", after.nodes.len());
    until("one success to be counted by the two", SOON, async || {
        let sum = count(&one, &fleet, "success").await? + count(&other, &fleet, "success").await?;
        Ok(if sum == 1.0 { Look::Done(()) } else { Look::NotYet(sum.to_string()) })
    })
    .await?;
    for operator in [&one, &other] {
        for outcome in ["failure", "expired"] {
            ensure!(count(operator, &fleet, outcome).await? == 0.0, "a rotation ended as {outcome}");
        }
    }
    let asked = audit.of_the_operator(cluster).await?;
    let done = |verb: &str, resource: &str| {
        asked.iter().filter(|request| request.verb == verb && request.resource == resource && request.code < 300).count()
    };
    ensure!((done("delete", "nodeclaims"), done("create", "pods")) == (1, 1), "more was deleted or created than one rotation needs");
    let told = begun_and_completed(cluster, &fleet).await?;
    ensure!(told == (1, 1), "begun and completed were told {told:?} times");
    let status = other.sigterm().await?;
    ensure!(status.success(), "the other operator ended with {status} after SIGTERM");
    finish(cluster, &fleet, one).await
}
