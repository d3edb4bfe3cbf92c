//! Replicas against one Lease: on a server in memory, and as a model whose clocks drift.

mod model;
mod server;

use server::{Fault, Server};

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const TIMING: Timing = Timing { lease_duration: Duration::from_secs(15), renew_deadline: Duration::from_secs(10), retry_period: SECOND };

/// A replica that campaigns.
struct Replica {
    lead: Lead,
    leads: watch::Receiver<bool>,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

fn replica(server: &Server, name: &'static str) -> Replica {
    let metrics = Metrics::new("0", "0").unwrap();
    let election = Election::new(server.client(name), "system", name.to_owned(), TIMING, metrics);
    let (lead, leads, stop) = (election.lead(), election.leads(), CancellationToken::new());
    Replica { lead, leads, task: tokio::spawn(election.run(stop.clone())), stop }
}

impl Replica {
    async fn leads(&mut self) {
        self.leads.wait_for(|leads| *leads).await.unwrap();
    }

    async fn leads_no_more(&mut self) {
        self.leads.wait_for(|leads| !*leads).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn in_quiet_times_a_renewal_is_one_write_under_the_last_version() {
    let server = Server::default();
    let mut a = replica(&server, "a");
    a.leads().await;
    tokio::time::sleep(2 * SECOND + SECOND / 2).await;
    assert_eq!(server.requests(), ["a GET", "a POST -", "a PUT 1", "a PUT 2"]);
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_given_back_at_the_end_and_the_next_replica_need_not_wait_for_its_expiry() {
    let server = Server::default();
    let (mut a, start) = (replica(&server, "a"), Instant::now());
    a.leads().await;
    let mut b = replica(&server, "b");
    a.stop.cancel();
    a.task.await.unwrap();
    assert_eq!(server.holder().as_deref(), Some(""));
    b.leads().await;
    assert!(start.elapsed() <= 2 * TIMING.retry_period, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_is_cut_off_stops_before_another_takes_over() {
    for fault in [Fault::Silence, Fault::Refusal, Fault::LostAnswer] {
        let server = Server::default();
        let mut a = replica(&server, "a");
        a.leads().await;
        let mut b = replica(&server, "b");
        tokio::time::sleep(5 * SECOND).await;
        server.inflict("a", fault);
        let cut = Instant::now();
        tokio::select! {
            () = a.leads_no_more() => {}
            () = b.leads() => panic!("{fault:?}: the second leads before the first has stopped"),
        }
        assert!(cut.elapsed() <= TIMING.renew_deadline, "{fault:?}");
        if fault == Fault::LostAnswer {
            // Its writes land, so the lease never ends: nobody may lead until an answer comes through.
            server.heal("a");
            a.leads().await;
        } else {
            b.leads().await;
            server.heal("a");
            tokio::time::sleep(20 * SECOND).await;
            assert!(!a.lead.holds() && b.lead.holds(), "{fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_takes_four_seconds_is_in_time_and_one_of_six_is_not() {
    for (delay, keeps) in [(4, true), (6, false)] {
        let server = Server::default();
        let mut a = replica(&server, "a");
        a.leads().await;
        server.inflict("a", Fault::Delay(delay * SECOND));
        let lost = tokio::time::timeout(60 * SECOND, a.leads_no_more()).await.is_ok();
        assert_eq!(lost, !keeps, "{delay} s");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_renewal_gives_counts_from_its_sending() {
    let server = Server::default();
    server.inflict("a", Fault::Delay(4 * SECOND));
    let mut a = replica(&server, "a");
    a.leads().await;
    let answered = Instant::now();
    server.inflict("a", Fault::Silence);
    a.leads_no_more().await;
    assert!(answered.elapsed() <= 6 * SECOND, "{:?}", answered.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_others_do_to_the_lease_is_noticed_with_the_next_renewal() {
    let server = Server::default();
    let mut a = replica(&server, "a");
    a.leads().await;
    // Deleted or emptied, it is ours again.
    for edit in [|server: &Server| server.delete(), |server: &Server| server.write("", 1)] {
        edit(&server);
        tokio::time::sleep(2 * SECOND).await;
        assert!(a.lead.holds() && server.holder().as_deref() == Some("a"));
    }
    // Taken, it is not.
    server.write("somebody", 15);
    a.leads_no_more().await;
    assert!(!a.lead.holds());
}

#[tokio::test(start_paused = true)]
async fn under_random_faults_never_two_lead_and_in_the_end_one_does() {
    for seed in 0..12_u64 {
        let server = Server::default();
        let replicas = ["a", "b", "c"].map(|name| replica(&server, name));
        let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        for step in 0..600 {
            if step % 20 == 0 {
                let name = ["a", "b", "c"][usize::try_from(next(3)).unwrap()];
                match next(6) {
                    0 => server.inflict(name, Fault::Silence),
                    1 => server.inflict(name, Fault::Refusal),
                    2 => server.inflict(name, Fault::LostAnswer),
                    3 => server.inflict(name, Fault::Delay(Duration::from_millis(next(9_000)))),
                    _ => server.heal(name),
                }
            }
            tokio::time::sleep(Duration::from_millis(50 + next(200))).await;
            let leaders = replicas.iter().filter(|replica| replica.lead.holds()).count();
            assert!(leaders <= 1, "seed {seed}, step {step}");
        }
        ["a", "b", "c"].iter().for_each(|name| server.heal(name));
        tokio::time::sleep(30 * SECOND).await;
        assert_eq!(replicas.iter().filter(|replica| replica.lead.holds()).count(), 1, "seed {seed}");
        for replica in replicas {
            replica.stop.cancel();
            replica.task.await.unwrap();
        }
    }
}
