//! What does not change while a world is explored: the schedule, the policies, and what the world begins with.

use noderotation_core::resolve::PolicyEntry;
use serde_json::{Value, json};

use crate::fault::{Fault, Kind, Shell};
use crate::instant::{DAY, Instant, MINUTE};

/// The label that the policy selects.
pub const SELECTED: (&str, &str) = ("rotate", "yes");

/// The policy in numbers; windows are in UTC.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Days of the week, Monday is 0.
    pub weekdays: Vec<u32>,
    /// Seconds since midnight.
    pub opens: u32,
    /// Seconds since midnight, later than `opens`.
    pub closes: u32,
    /// Seconds.
    pub ready_timeout: u32,
    /// Seconds.
    pub cooldown_after: u32,
    /// Seconds.
    pub failure_pause: u32,
    /// Seconds.
    pub retry_backoff: u32,
    /// K.
    pub chances: u32,
    /// Without a surge near the deadline.
    pub fallback: bool,
}

impl Schedule {
    /// What the policy says in this state.
    #[must_use]
    pub fn under(&self, policy: Policy) -> Self {
        let mut schedule = self.clone();
        if policy == Policy::Hasty {
            schedule.ready_timeout /= 3;
        }
        schedule
    }
}

/// What has become of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policy {
    /// As in the schedule.
    Valid,
    /// With a `readyTimeout` of a third.
    Hasty,
    /// Deleted.
    Gone,
    /// With a value that nobody can read.
    Invalid,
    /// There is another as specific.
    Tied,
}

/// All of them.
pub const POLICIES: [Policy; 5] = [Policy::Valid, Policy::Hasty, Policy::Gone, Policy::Invalid, Policy::Tied];

/// A claim that is there from the beginning, on a Ready Node.
#[derive(Clone, Copy, Debug)]
pub struct Seed {
    /// Its NodePool.
    pub pool: u8,
    /// `creationTimestamp`.
    pub created: Instant,
    /// `spec.expireAfter` in seconds.
    pub expire_after: u32,
    /// `spec.terminationGracePeriod` in seconds; 0 is unset.
    pub grace: u32,
    /// Pods at work on its Node, each with half of what a node has.
    pub work: u16,
}

/// Which families of perturbations may occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Perturbations {
    /// The process dies between two writes, or an answer is lost.
    pub crashes: bool,
    /// Caches stand still.
    pub lags: bool,
    /// A leader's clock is off.
    pub skews: bool,
    /// Karpenter and the scheduler misbehave.
    pub machines: bool,
    /// People change things.
    pub people: bool,
    /// People take annotations of ours away.
    pub stripping: bool,
    /// People write values that mean nothing.
    pub garbage: bool,
}

impl Perturbations {
    /// None at all.
    pub const NONE: Self =
        Self { crashes: false, lags: false, skews: false, machines: false, people: false, stripping: false, garbage: false };
    /// Every one.
    pub const ALL: Self = Self { crashes: true, lags: true, skews: true, machines: true, people: true, stripping: true, garbage: true };
}

/// What does not change.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its name in reports.
    pub name: String,
    /// When the world begins.
    pub start: Instant,
    /// Exploration looks no further.
    pub horizon: Instant,
    /// A fair run from anywhere must be at rest by then.
    pub rest: Instant,
    /// The policy.
    pub schedule: Schedule,
    /// How many NodePools there are.
    pub pools: u8,
    /// How many leaders write at the same time.
    pub leaders: u8,
    /// Claims at the beginning.
    pub seeds: Vec<Seed>,
    /// Karpenter has no capacity for more claims at the same time.
    pub most_claims: usize,
    /// What a node has of cpu, in thousandths.
    pub node_milli: u32,
    /// Which perturbations may occur.
    pub perturbations: Perturbations,
    /// A fault of the product, put in on purpose.
    pub fault: Option<&'static Fault>,
    entries: Vec<(Policy, Vec<PolicyEntry>)>,
}

impl Setup {
    /// A world with one NodePool, one leader and no claims.
    #[must_use]
    pub fn new(name: &str, schedule: Schedule, start: Instant, horizon: Instant) -> Self {
        let entries = all_entries(&schedule);
        Self {
            name: name.to_owned(),
            start,
            horizon,
            rest: horizon.plus(8 * DAY),
            schedule,
            pools: 1,
            leaders: 1,
            seeds: Vec::new(),
            most_claims: 6,
            node_milli: 2000,
            perturbations: Perturbations::ALL,
            fault: None,
            entries,
        }
    }

    /// The same world with a product that has this fault.
    #[must_use]
    pub fn with(mut self, fault: &'static Fault) -> Self {
        self.fault = Some(fault);
        if let Kind::Believes(what) = fault.kind {
            let mut believed = self.schedule.clone();
            what(&mut believed);
            self.entries = all_entries(&believed);
        }
        self
    }

    /// The shell errs in this way.
    #[must_use]
    pub fn errs(&self, shell: Shell) -> bool {
        self.fault.is_some_and(|fault| fault.is(shell))
    }

    /// The policies as the operator's cache holds them.
    #[must_use]
    pub fn entries(&self, policy: Policy) -> &[PolicyEntry] {
        self.entries.iter().find(|(of, _)| *of == policy).map(|(_, entries)| entries.as_slice()).unwrap_or_default()
    }
}

fn all_entries(schedule: &Schedule) -> Vec<(Policy, Vec<PolicyEntry>)> {
    POLICIES.iter().map(|policy| (*policy, entries(schedule, *policy))).collect()
}

/// The objects of a policy in one of its states.
fn entries(schedule: &Schedule, policy: Policy) -> Vec<PolicyEntry> {
    let object = |name: &str, ready_timeout: &Value| {
        PolicyEntry::from_object(&json!({
            "metadata": {"name": name, "generation": 1},
            "spec": {
                "nodePoolSelector": {"matchLabels": {SELECTED.0: SELECTED.1}},
                "minRotationChances": schedule.chances,
                "maintenanceWindows": [{
                    "timezone": "UTC",
                    "days": schedule.weekdays.iter().map(|day| weekday_name(*day)).collect::<Vec<_>>(),
                    "start": clock(schedule.opens),
                    "end": clock(schedule.closes),
                }],
                "surge": {
                    "readyTimeout": ready_timeout,
                    "cooldownAfter": seconds(schedule.cooldown_after),
                    "failurePause": seconds(schedule.failure_pause),
                    "retryBackoff": seconds(schedule.retry_backoff),
                    "forcefulFallback": {"enabled": schedule.fallback},
                },
            }
        }))
    };
    let normal = seconds(schedule.ready_timeout);
    match policy {
        Policy::Valid => vec![object("policy", &normal)],
        Policy::Hasty => vec![object("policy", &seconds(schedule.under(policy).ready_timeout))],
        Policy::Gone => Vec::new(),
        Policy::Invalid => vec![object("policy", &json!("15 minutes"))],
        Policy::Tied => vec![object("policy", &normal), object("rival", &normal)],
    }
}

fn seconds(count: u32) -> Value {
    json!(format!("{count}s"))
}

fn clock(seconds: u32) -> String {
    let minutes = seconds / MINUTE;
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

fn weekday_name(day: u32) -> &'static str {
    match day {
        0 => "Mon",
        1 => "Tue",
        2 => "Wed",
        3 => "Thu",
        4 => "Fri",
        5 => "Sat",
        _ => "Sun",
    }
}
