//! Replicas, API servers and a Secret over the months in which everything changes, stepped by made-up accidents.
//!
//! Of any two of them nobody knows how late the other is: replicas look at the Secret when they do, their clocks differ,
//! two of them write at the same time, some are away for weeks, others start anew; somebody deletes or breaks the Secret;
//! an API server hears of a bundle nearly a dwell late. Whatever happens, each of them accepts what each replica serves.

use std::time::Duration;

use jiff::SignedDuration;
use proptest::prelude::*;

use super::*;
use crate::issue::{self, Names};
use crate::trust::Strangers;

const DWELL: Duration = Duration::from_secs(3600);
/// Longer than any look of a replica that is not away.
const SPARSE: u64 = 2 * 24 * 3600;
/// How long the world is busy after a change.
const BUSY: SignedDuration = SignedDuration::from_hours(3);

fn rules() -> Rules {
    let names = Names { service: "webhook".to_owned(), namespace: "system".to_owned(), cluster_domain: "cluster.local".to_owned() };
    Rules { names, dwell: DWELL }
}

fn days(days: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * days)
}

/// The authority was made at this time.
fn origin() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// What differs from one world to the next.
#[derive(Clone, Debug)]
struct Accidents {
    /// Seconds by which the clock of each replica is ahead.
    skews: Vec<i64>,
    /// A replica looks again after at most this many seconds while something changes.
    lag: u64,
    /// Replica, day and hours of an absence, and whether it starts anew after it.
    absences: Vec<(usize, i64, i64, bool)>,
    /// Day on which somebody lays hands on the Secret, and what they do.
    hands: Vec<(i64, usize)>,
    /// What all else follows from.
    seed: u64,
}

fn accidents() -> impl Strategy<Value = Accidents> {
    let skews = prop::collection::vec(-600_i64..=600, 2..=3);
    let absences = prop::collection::vec((0_usize..3, 0_i64..120, 1_i64..24 * 20, any::<bool>()), 0..4);
    let hands = prop::collection::vec((0_i64..120, 0_usize..4), 0..3);
    (skews, 240_u64..1500, absences, hands, any::<u64>()).prop_map(|(skews, lag, absences, hands, seed)| Accidents {
        skews,
        lag,
        absences,
        hands,
        seed,
    })
}

struct Replica {
    serving: Serving,
    strangers: Strangers,
    skew: SignedDuration,
    /// When it looks next and when it looked last, by the true time.
    next: Timestamp,
    looked: Timestamp,
    /// What it has read and judged and is about to write, with the version that it has read.
    intent: Option<(u64, Material)>,
}

struct World {
    now: Timestamp,
    secret: Option<Material>,
    version: u64,
    /// Every bundle that was registered, with the instant.
    live: Vec<(Timestamp, Bundle)>,
    replicas: Vec<Replica>,
    changed: Timestamp,
    lag: u64,
    state: u64,
    reasons: Vec<String>,
    /// What was found to be accepted last: nothing else can be refused before one of these changes.
    accepted: (Vec<Option<Vec<u8>>>, usize, usize),
}

impl World {
    /// An authority in its last days before it is followed, with a certificate that is ten days old.
    fn new(accidents: &Accidents) -> Self {
        let begin = origin() + days(1210);
        let material = issue::leaf(&issue::authority(origin()).unwrap(), &Bundle::default(), &rules().names, begin - days(10)).unwrap();
        let replica = |skew: &i64| Replica {
            serving: Serving::new(rules(), Resolver::default()),
            strangers: Strangers::default(),
            skew: SignedDuration::from_secs(*skew),
            next: begin,
            looked: begin,
            intent: None,
        };
        Self {
            now: begin,
            live: vec![(begin - days(1), material.bundle.clone())],
            secret: Some(material),
            version: 0,
            replicas: accidents.skews.iter().map(replica).collect(),
            changed: begin,
            lag: accidents.lag,
            state: accidents.seed,
            reasons: Vec::new(),
            accepted: (Vec::new(), 0, 0),
        }
    }

    /// The same numbers for the same seed (Steele, Lea and Flood's SplitMix64).
    fn below(&mut self, limit: u64) -> i64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        i64::try_from((mixed ^ (mixed >> 31)) % limit.max(1)).unwrap()
    }

    /// The replica whose turn is next reads and judges, or writes what it has judged.
    fn step(&mut self) {
        let index = (0..self.replicas.len()).min_by_key(|index| self.replicas[*index].next).unwrap();
        self.now = self.now.max(self.replicas[index].next);
        self.replicas[index].looked = self.now;
        let now = self.now + self.replicas[index].skew;
        if let Some((version, material)) = self.replicas[index].intent.take() {
            if version == self.version {
                (self.secret, self.version, self.changed) = (Some(material.clone()), self.version + 1, self.now);
                self.take(index, material, now);
            } else {
                // Another was faster: it reads again at once.
                return self.step_again(index, 0);
            }
        } else {
            match self.replicas[index].serving.judge(self.secret.as_ref(), now).unwrap() {
                Verdict::Serve => self.take(index, self.secret.clone().unwrap(), now),
                Verdict::Write { material, reason } => {
                    self.reasons.push(reason.to_string());
                    self.replicas[index].intent = Some((self.version, *material));
                    let pause = self.below(6);
                    return self.step_again(index, pause);
                }
            }
        }
        let busy = self.now.duration_since(self.changed) < BUSY;
        let pause = 1 + self.below(if busy { self.lag } else { SPARSE });
        self.step_again(index, pause);
    }

    fn step_again(&mut self, index: usize, seconds: i64) {
        self.replicas[index].next = self.now + SignedDuration::from_secs(seconds);
    }

    /// Serves it, and registers what callers are to trust.
    fn take(&mut self, index: usize, material: Material, now: Timestamp) {
        let live = self.live.last().unwrap().1.clone();
        let replica = &mut self.replicas[index];
        let taken = replica.serving.take(material, true, now).unwrap();
        let wanted = replica.strangers.beside(&taken.bundle, &live, DWELL, now);
        replica.serving.trust(&wanted, now);
        if wanted != live {
            self.live.push((self.now, wanted));
            self.changed = self.now;
        }
    }

    /// Whoever has heard of the bundles of the last dwell, of all or only of the first, accepts what each replica serves.
    fn assert_accepted(&mut self) {
        let since = self.now - (DWELL - Duration::from_secs(1));
        let first = self.live.iter().rposition(|(at, _)| *at <= since).unwrap();
        let served = |replica: &Replica| replica.serving.served().map(|(pair, _)| pair.key.cert[0].to_vec());
        let state = (self.replicas.iter().map(served).collect(), first, self.live.len());
        if std::mem::replace(&mut self.accepted, state.clone()) == state {
            return;
        }
        for (index, replica) in self.replicas.iter().enumerate() {
            let Some((pair, _)) = replica.serving.served() else { continue };
            if pair.validity.not_after <= self.now {
                // Who is away for as long cannot have renewed it.
                assert!(self.now.duration_since(replica.looked) > days(20), "replica {index} serves an expired one at {}", self.now);
                continue;
            }
            assert!(pair.validity.not_before + days(1) <= self.now + SignedDuration::from_mins(10), "replica {index} at {}", self.now);
            for (at, bundle) in &self.live[first..] {
                assert!(pair.is_signed_by(bundle), "at {}: replica {index} is refused by who has heard last at {at}", self.now);
            }
        }
    }

    fn hand(&mut self, what: usize) {
        let other = issue::first(&rules().names, self.now).unwrap();
        let Some(secret) = &self.secret else { return };
        self.secret = match what {
            0 => None,
            1 => Some(Material { key: other.key, ..secret.clone() }),
            2 => Some(Material { bundle: other.bundle, ..secret.clone() }),
            // A whole pair that fits, of a root that nobody has heard of.
            _ => Some(Material { retires_at: None, ..other }),
        };
        (self.version, self.changed) = (self.version + 1, self.now);
        self.hurry();
    }

    /// All who are not away look soon, as the watches have them do.
    fn hurry(&mut self) {
        for index in 0..self.replicas.len() {
            let soon = self.now + SignedDuration::from_secs(1 + self.below(10));
            let replica = &mut self.replicas[index];
            replica.next = replica.next.min(soon).max(replica.next.min(self.now + SignedDuration::from_secs(1)));
        }
    }
}

/// Lives through 120 days; the reasons of all writes.
fn live(accidents: &Accidents) -> Vec<String> {
    let mut world = World::new(accidents);
    let begin = world.now;
    // Everybody has looked once before anything happens.
    (0..3 * world.replicas.len()).for_each(|_| world.step());
    let (mut absences, mut hands) = (accidents.absences.clone(), accidents.hands.clone());
    while world.now < begin + days(120) {
        let day = |day: i64| begin + days(day);
        let now = world.now;
        for (index, _, hours, anew) in absences.extract_if(.., |absence| day(absence.1) <= now).collect::<Vec<_>>() {
            if let Some(replica) = world.replicas.get_mut(index) {
                replica.next = now + SignedDuration::from_hours(hours);
                if anew {
                    (replica.serving, replica.intent) = (Serving::new(rules(), Resolver::default()), None);
                }
            }
        }
        // Nobody can put back what none of them has served, or has served and forgotten.
        let all_serve =
            world.replicas.iter().all(|replica| replica.serving.served().is_some_and(|(pair, _)| now < pair.validity.not_after));
        if all_serve {
            hands.extract_if(.., |hand| day(hand.0) <= now).collect::<Vec<_>>().into_iter().for_each(|(_, what)| world.hand(what));
        }
        world.step();
        world.assert_accepted();
    }
    world.reasons
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn c187_no_api_server_refuses_what_any_replica_serves(accidents in accidents()) {
        live(&accidents);
    }
}

#[test]
fn a_world_without_accidents_changes_authority_and_certificate() {
    let reasons = live(&Accidents { skews: vec![0, 0], lag: 600, absences: Vec::new(), hands: Vec::new(), seed: 1 });
    for expected in ["successor is published", "long enough to sign", "the old root has signed", "certificate's life"] {
        assert!(reasons.iter().any(|reason| reason.contains(expected)), "{expected}: {reasons:?}");
    }
}

/// Everything is over when the replicas come back: callers can only be told anew, and are, by whoever looks first.
#[test]
fn c185_after_an_outage_of_years_two_replicas_agree_on_one_new_authority() {
    for years in [1, 2, 6] {
        let mut world = World::new(&Accidents { skews: vec![600, -600], lag: 240, absences: Vec::new(), hands: Vec::new(), seed: years });
        world.now += days(365 * i64::try_from(years).unwrap());
        let now = world.now;
        world.replicas.iter_mut().for_each(|replica| replica.next = now);
        (0..12).for_each(|_| world.step());
        let live = &world.live.last().unwrap().1;
        let served: Vec<Pair> = world.replicas.iter().map(|replica| replica.serving.served().unwrap().0).collect();
        assert_eq!(served[0].key.cert, served[1].key.cert, "after {years} years");
        assert!(served[0].is_signed_by(live) && world.now < served[0].validity.not_after);
    }
}
