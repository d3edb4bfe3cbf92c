//! What everybody suffers from at once, or one replica for long: the API server is away, or its database; a watch says nothing and
//! does not end; clocks are wrong; a token is no longer valid. What was under way goes on, and what is asked for then happens.
//!
//! `AWAY=60` lets an outage last for so many seconds more than it takes until the operator has lost its lead.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use e2e::chart;
use e2e::clock::Skew;
use e2e::cluster::Cluster;
use e2e::door::{Cut, Door, Failing, Journal, Part};
use e2e::fleet::Fleet;
use e2e::operator::Operator;
use e2e::sight::Sight;
use e2e::terminal::progress;
use e2e::wait::{Look, until};
use jiff::{SignedDuration, Timestamp};
use libtest_mimic::Trial;

use crate::bed::{self, BRISK, Bed, SOON, counted, finish, operator, operator_with, see};
use crate::scene::{Old, begun_and_completed, delete, grant_nodes, held_in_draining, held_in_pending, release, replaced};

/// How far clocks are off.
const OFF: i64 = 600;
/// A dead connection is noticed within a minute.
const LONG: Duration = Duration::from_secs(180);

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("fault_outage::of_the_api_server", async |cluster: &Cluster| without(cluster, "kube-apiserver").await),
        bed.trial("fault_outage::of_its_database", async |cluster: &Cluster| without(cluster, "etcd").await),
        bed.trial("fault_outage::of_the_time_of_day", of_the_time_of_day),
        // Each takes a minute in which nothing happens; `make chaos` runs them.
        bed.trial("fault_outage::of_watches_that_do_not_end", of_watches_that_do_not_end).with_ignored_flag(true),
        bed.trial("fault_outage::of_a_token", of_a_token).with_ignored_flag(true),
    ]
}

/// One that can be held for as long as an outage lasts.
fn patient(name: &str) -> Fleet {
    Fleet { size: 1, ready_timeout: "30m".to_owned(), ..Fleet::new(name) }
}

/// One program is lost and comes again while one rotation waits for its surge and another one drains.
async fn without(cluster: &Cluster, program: &str) -> Result<()> {
    let mut operator = operator(cluster).await?;
    let [pending, draining] = ["pending", "draining"].map(|state| patient(&format!("{state}-without-{program}")));
    let waiting = held_in_pending(cluster, &pending).await?;
    let (drained, pod) = held_in_draining(cluster, &draining).await?;
    let away = bed::asked_for("AWAY", 0)?;
    cluster
        .without(program, async {
            loses_its_lead(&operator).await?;
            // This is the fault, and nothing is waited for.
            tokio::time::sleep(Duration::from_secs(away)).await;
            Ok(())
        })
        .await?;
    let back = Timestamp::now();
    operator.wait_ready().await?;
    progress(&format!("{program} was away; {:.1} s after its return the operator leads.", since(back)));
    grant_nodes(cluster, &pending).await?;
    release(cluster, &pod).await?;
    for (fleet, old) in [(&pending, &waiting), (&draining, &drained)] {
        ends_once(cluster, &operator, fleet, old).await?;
    }
    bed::forget(cluster, &pending).await?;
    finish(cluster, &draining, operator).await
}

async fn loses_its_lead(operator: &Operator) -> Result<()> {
    until("the operator to lose its lead", SOON, async || {
        Ok(if operator.leads().await? { Look::NotYet("it leads".to_owned()) } else { Look::Done(()) })
    })
    .await
}

fn since(then: Timestamp) -> f64 {
    Timestamp::now().duration_since(then).as_secs_f64()
}

/// The rotation comes to its end, and was one.
async fn ends_once(cluster: &Cluster, operator: &Operator, fleet: &Fleet, old: &Old) -> Result<()> {
    replaced(cluster, fleet, old, &[]).await?;
    counted(operator, fleet, "success", 1.0).await?;
    until("the rotation to be told once", SOON, async || {
        let told = begun_and_completed(cluster, fleet).await?;
        ensure!(told.0 <= 1 && told.1 <= 1, "{} starts and {} ends were told", told.0, told.1);
        Ok(if told == (1, 1) { Look::Done(()) } else { Look::NotYet(format!("{told:?}")) })
    })
    .await
}

/// One operator takes over from another one in the middle of a rotation, and their clocks differ by twenty minutes, and by ten the
/// other way.
async fn of_the_time_of_day(cluster: &Cluster) -> Result<()> {
    let skew = Skew::compile(&cluster.site().data).await?;
    // To one that is behind a node is too young that is younger than that.
    for (name, first, second) in [("clock-back", OFF, -OFF), ("clock-forth", 0, OFF)] {
        let fleet = patient(name);
        let before = wrong(cluster, &skew, first).await?;
        let old = held_in_pending(cluster, &fleet).await?;
        let sight = see(cluster, &fleet, "the begin", |sight| sight.written(&old.claim, "started-at").is_some()).await?;
        is_off(first, sight.written(&old.claim, "started-at").context("it has not begun")?)?;
        before.sigkill().await?;
        let after = wrong(cluster, &skew, second).await?;
        grant_nodes(cluster, &fleet).await?;
        ends_once(cluster, &after, &fleet, &old).await?;
        let sight = Sight::of(cluster, &fleet.name).await?;
        is_off(second, sight.last_rotation_at().context("it has not ended")?)?;
        finish(cluster, &fleet, after).await?;
    }
    Ok(())
}

/// A time that was written a moment ago is that of a clock so many seconds ahead.
fn is_off(seconds: i64, written: &str) -> Result<()> {
    let written: Timestamp = written.parse().with_context(|| format!("{written} is no time"))?;
    let right = written.checked_sub(SignedDuration::from_secs(seconds))?;
    let ago = Timestamp::now().duration_since(right);
    ensure!(ago.abs() < LONG.try_into()?, "{written} was not written by a clock that is {seconds} s ahead");
    Ok(())
}

/// An operator that leads, and whose clock is so many seconds ahead.
async fn wrong(cluster: &Cluster, skew: &Skew, seconds: i64) -> Result<Operator> {
    let mut operator = Operator::start_in(cluster, &BRISK, &skew.environment(seconds)).await?;
    operator.wait_ready().await?;
    Ok(operator)
}

/// A connection is dead and no side knows: nothing comes, and nothing says that nothing will.
async fn of_watches_that_do_not_end(cluster: &Cluster) -> Result<()> {
    let door = Door::open(cluster, "dead", &Journal::default()).await?;
    let operator = operator_with(cluster, &[&door.argument()]).await?;
    let fleet = Fleet { size: 1, ..Fleet::new("dead-watch") };
    let old = Old::of(&fleet.raise(cluster).await?)?;
    door.cut(Some(Cut { part: Part::Watches, failing: Failing::Silent }));
    let dead = Timestamp::now();
    fleet.govern(cluster).await?;
    until("the rotation to begin", LONG, async || {
        let (begun, _) = begun_and_completed(cluster, &fleet).await?;
        Ok(if begun > 0 { Look::Done(()) } else { Look::NotYet("it has not".to_owned()) })
    })
    .await?;
    progress(&format!("The rotation began {:.1} s after the connections had died.", since(dead)));
    ends_once(cluster, &operator, &fleet, &old).await?;
    finish(cluster, &fleet, operator).await
}

/// The token is no longer valid, and a minute later there is another one in its file: what a kubelet does that was away.
async fn of_a_token(cluster: &Cluster) -> Result<()> {
    let account = chart::service_account(cluster).await?;
    let secret = ["create", "secret", "generic", "e2e-token", "--namespace", chart::NAMESPACE];
    cluster.kubectl(&secret).await?.accepted()?;
    let (kubeconfig, file) = cluster.kubeconfig_with_token_file("bound")?;
    let write = |token: String| fs::write(&file, token).with_context(|| format!("writing {}", file.display()));
    write(cluster.bound_token(chart::NAMESPACE, &account, "e2e-token").await?)?;
    let operator = operator_with(cluster, &[&format!("--kubeconfig={}", kubeconfig.display())]).await?;
    let fleet = patient("token");
    let old = held_in_pending(cluster, &fleet).await?;
    delete(cluster, "secret", "e2e-token", chart::NAMESPACE).await?;
    loses_its_lead(&operator).await?;
    let renewed = Timestamp::now();
    write(cluster.service_account_token(chart::NAMESPACE, &account).await?)?;
    until("the operator to lead again", LONG, async || {
        Ok(if operator.leads().await? { Look::Done(()) } else { Look::NotYet("it does not".to_owned()) })
    })
    .await?;
    progress(&format!("The operator leads again {:.1} s after its token was renewed.", since(renewed)));
    grant_nodes(cluster, &fleet).await?;
    ends_once(cluster, &operator, &fleet, &old).await?;
    finish(cluster, &fleet, operator).await
}
