//! The rules of the lease as a model: replicas whose clocks drift, that pause anywhere, and whose answers get lost.
//!
//! Only the machine is shared with the program. Time passes in tenths of seconds; a drift of a fifth in opposite
//! directions is just what 10 s against 15 s allow for.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::Timing;
use super::super::machine::{Action, Machine, Seen};

const TIMING: Timing =
    Timing { lease_duration: Duration::from_secs(15), renew_deadline: Duration::from_secs(10), retry_period: Duration::from_secs(2) };

/// What one replica does at one moment.
#[derive(Clone, Debug)]
enum Move {
    /// Reads the lease and judges it.
    Read,
    /// Sends the write that its last judgement asked for, if any.
    Write { answer_lost: bool },
    /// Both, without a pause in between.
    Try { answer_lost: bool },
}

#[derive(Clone, Debug)]
struct Turn {
    /// Tenths of seconds since the turn before.
    after: u64,
    who: usize,
    does: Move,
}

struct Replica {
    name: String,
    /// Its seconds in tenths of true seconds.
    rate: u64,
    machine: Machine,
    intends: Option<Option<String>>,
    /// On its own clock.
    renewed_at: Option<Duration>,
}

impl Replica {
    fn clock(&self, now: u64) -> Duration {
        Duration::from_millis(now.saturating_mul(10).saturating_mul(self.rate))
    }

    fn may_write(&self, now: u64) -> bool {
        self.renewed_at.is_some_and(|at| self.clock(now).saturating_sub(at) < TIMING.renew_deadline)
    }
}

fn take_turn(replica: &mut Replica, lease: &mut Option<Seen>, version: &mut u64, now: u64, does: &Move) {
    match does {
        Move::Read => {
            let clock = replica.clock(now);
            let read = lease.as_ref().map(|lease| lease.version.clone());
            replica.intends = match replica.machine.judge(lease.as_ref(), clock) {
                Action::Wait => None,
                Action::Take | Action::Renew => Some(read),
            };
            if replica.machine.lost() {
                replica.renewed_at = None;
            }
        }
        Move::Try { answer_lost } => {
            take_turn(replica, lease, version, now, &Move::Read);
            take_turn(replica, lease, version, now, &Move::Write { answer_lost: *answer_lost });
        }
        Move::Write { answer_lost } => {
            let Some(read) = replica.intends.take() else { return };
            if read != lease.as_ref().map(|lease| lease.version.clone()) {
                return;
            }
            *version += 1;
            *lease = Some(Seen { holder: replica.name.clone(), version: version.to_string(), duration: TIMING.lease_duration });
            if !answer_lost {
                replica.renewed_at = Some(replica.clock(now));
            }
        }
    }
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let lost = || prop::bool::weighted(0.2);
    let does = prop_oneof![
        4 => lost().prop_map(|answer_lost| Move::Try { answer_lost }),
        1 => Just(Move::Read),
        1 => lost().prop_map(|answer_lost| Move::Write { answer_lost }),
    ];
    let after = prop_oneof![2 => 0..20_u64, 2 => 20..80_u64, 1 => 80..160_u64];
    vec((after, 0..3_usize, does).prop_map(|(after, who, does)| Turn { after, who, does }), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn never_may_two_write(rates in [8..=12_u64, 8..=12, 8..=12], turns in turns()) {
        let mut replicas: Vec<Replica> = rates.iter().enumerate().map(|(number, rate)| Replica {
            name: number.to_string(),
            rate: *rate,
            machine: Machine::new(number.to_string(), TIMING),
            intends: None,
            renewed_at: None,
        }).collect();
        let (mut lease, mut version, mut now) = (None, 0, 1_000);
        for Turn { after, who, does } in turns {
            now += after;
            take_turn(&mut replicas[who], &mut lease, &mut version, now, &does);
            prop_assert!(replicas.iter().filter(|replica| replica.may_write(now)).count() <= 1);
        }
    }
}
