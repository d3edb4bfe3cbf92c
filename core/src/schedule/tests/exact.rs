//! The formulas of D5 in exact fractions, written from the text and not from the code.

use super::fraction::Fraction;
use super::*;

pub(super) const NANOSECONDS: i128 = 1_000_000_000;
const WEEK: usize = 7 * 24 * 60;
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Seconds.
pub(super) fn seconds(duration: Duration) -> Fraction {
    Fraction::new(i128::try_from(duration.as_nanos()).unwrap(), NANOSECONDS)
}

pub(super) fn of_minutes(minutes: i128) -> Fraction {
    Fraction::whole(minutes * 60)
}

/// P, D and the closed time between, in minutes, of a week of minutes that repeats; `None` if it is always open.
struct Week {
    period: i128,
    shortest: i128,
    gap: i128,
}

/// Counts along the week, minute by minute. `entries` are days, start and end in minutes.
fn week(entries: &[(Vec<usize>, usize, usize)]) -> Option<Week> {
    let mut open = vec![false; WEEK];
    for (days, start, end) in entries {
        let length = if end > start { end - start } else { end + 24 * 60 - start };
        for day in days {
            for minute in 0..length {
                open[(day * 24 * 60 + start + minute) % WEEK] = true;
            }
        }
    }
    let opens: Vec<usize> = (0..WEEK).filter(|minute| open[*minute] && !open[(minute + WEEK - 1) % WEEK]).collect();
    let run = |from: usize, state: bool| (0..WEEK).take_while(|step| open[(from + step) % WEEK] == state).count();
    let pairs = opens.iter().zip(opens.iter().skip(1).copied().chain(opens.first().map(|first| first + WEEK)));
    let number = |minutes: usize| i128::try_from(minutes).unwrap();
    Some(Week {
        period: pairs.map(|(open, next)| number(next - open)).max()?,
        shortest: opens.iter().map(|open| number(run(*open, true))).min()?,
        gap: opens.iter().map(|open| number(run((open + run(*open, true)) % WEEK, false))).min()?,
    })
}

/// All that the derivation is a function of.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) entries: Vec<(Vec<usize>, usize, usize)>,
    pub(super) chances: u32,
    pub(super) age: Option<Duration>,
    pub(super) ready_timeout: Duration,
    pub(super) cooldown_after: Duration,
    pub(super) retry_backoff: Duration,
    pub(super) provisioning_estimate: Option<Duration>,
    pub(super) drain_estimate: Option<Duration>,
    pub(super) expire_after: Duration,
    pub(super) grace: Option<Duration>,
    pub(super) claims: usize,
}

/// What D5 says, in seconds.
pub(super) struct Exact {
    pub(super) t_rot: Fraction,
    pub(super) estimate: Fraction,
    pub(super) slot: Fraction,
    pub(super) period: Fraction,
    pub(super) lead: Fraction,
    pub(super) age: Fraction,
    pub(super) chances: i128,
    /// Unknown where the window never closes: D is then without bound.
    pub(super) capacity: Option<i128>,
    pub(super) shortest: Option<Fraction>,
    pub(super) gap: Option<Fraction>,
}

impl Input {
    pub(super) fn exact(&self) -> Exact {
        let hour = of_minutes(60);
        let buffer = of_minutes(2);
        let grace = self.grace.map(seconds);
        let t_rot = seconds(self.ready_timeout).plus(grace.unwrap_or(hour)).plus(buffer);
        let provisioning = self.provisioning_estimate.map_or_else(|| of_minutes(5), seconds).min(seconds(self.ready_timeout));
        let drain = match (self.drain_estimate.map(seconds), grace) {
            (Some(estimate), Some(grace)) => estimate.min(grace),
            (Some(estimate), None) => estimate,
            (None, grace) => grace.unwrap_or(hour).min(of_minutes(10)),
        };
        let estimate = provisioning.plus(drain);
        let slot = estimate.plus(seconds(self.cooldown_after));
        let week = week(&self.entries);
        let period = week.as_ref().map_or_else(|| of_minutes(1), |week| of_minutes(week.period));
        let lead = Fraction::whole(self.chances.into()).times(period).plus(t_rot);
        let life = seconds(self.expire_after);
        let age = self.age.map_or_else(|| life.minus(lead), seconds);
        let chances = self.age.map_or_else(|| self.chances.into(), |age| life.minus(t_rot).minus(seconds(age)).over(period).floor());
        let shortest = week.as_ref().map(|week| of_minutes(week.shortest));
        // More than anybody has nodes is as good as any other number.
        let capacity = shortest.map(|shortest| shortest.over(slot).ceiling().min(u32::MAX.into()));
        let gap = week.map(|week| of_minutes(week.gap));
        Exact { t_rot, estimate, slot, period, lead, age, chances, capacity, shortest, gap }
    }

    /// The names of the findings, in the order of the table.
    pub(super) fn findings(&self, exact: &Exact) -> Vec<&'static str> {
        let (zero, wanted) = (Fraction::whole(0), i128::from(self.chances));
        let given = self.age.is_some();
        let claims = i128::try_from(self.claims).unwrap();
        let whole_life = seconds(self.expire_after).plus(self.grace.map_or_else(|| of_minutes(60), seconds));
        let arrival = exact.capacity.is_some_and(|capacity| {
            exact.age > zero && Fraction::whole(capacity).times(exact.age) < Fraction::whole(claims).times(exact.period)
        });
        let table = [
            ("KBelowTwo", wanted == 1),
            ("ANonPositive", !given && exact.age <= zero),
            ("OverrideGBelowOne", given && exact.chances < 1),
            ("OverrideGBelowK", given && exact.chances >= 1 && exact.chances < wanted),
            ("AVeryAggressive", exact.age > zero && exact.age < exact.period),
            ("TGPUnset", self.grace.is_none()),
            ("HardCapExceeded", whole_life > of_minutes(504 * 60)),
            ("RetryBackoffShort", self.retry_backoff < self.ready_timeout),
            ("DrainEstimateAboveTGP", self.drain_estimate.zip(self.grace).is_some_and(|(estimate, grace)| estimate > grace)),
            ("ProvisioningEstimateAboveReadyTimeout", self.provisioning_estimate.is_some_and(|estimate| estimate > self.ready_timeout)),
            ("ThroughputBelowArrival", claims > 0 && arrival),
            ("ThroughputBurstShortfall", exact.capacity.is_some_and(|capacity| claims > wanted * capacity)),
            ("RotationSpansNextWindow", exact.gap.is_some_and(|gap| exact.slot > gap)),
        ];
        table.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| name).collect()
    }

    /// The same as a policy; an offset without summer time, so that every week is as the last.
    pub(super) fn governing(&self) -> Governing {
        let time = |minute: &usize| format!("{:02}:{:02}", minute / 60, minute % 60);
        let entry = |(days, start, end): &(Vec<usize>, usize, usize)| {
            let days: Vec<&str> = days.iter().map(|day| DAYS[*day]).collect();
            json!({"timezone": "Asia/Tokyo", "days": days, "start": time(start), "end": time(end)})
        };
        let text = |duration: Duration| json!(format!("{}ns", duration.as_nanos()));
        let mut surge = json!({
            "readyTimeout": text(self.ready_timeout), "cooldownAfter": text(self.cooldown_after), "retryBackoff": text(self.retry_backoff)
        });
        for (field, value) in [("provisioningEstimate", self.provisioning_estimate), ("drainEstimate", self.drain_estimate)] {
            if let Some(value) = value {
                surge[field] = text(value);
            }
        }
        let age = self.age.map_or_else(|| json!("auto"), text);
        let windows: Vec<Value> = self.entries.iter().map(entry).collect();
        policy(&json!({"maintenanceWindows": windows, "minRotationChances": self.chances, "ageThreshold": age}), &surge)
    }

    pub(super) fn pool(&self) -> PoolLife {
        PoolLife { expire_after: Some(self.expire_after), termination_grace_period: self.grace }
    }
}
