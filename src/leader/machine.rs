//! Who may lead, as a pure decision: client-go's rules, judged by what this replica saw itself.
//!
//! Another replica's clock is never trusted: a lease is over when it has not changed for its own duration on our
//! clock. `at` is the time since an arbitrary start, on a clock that does not go back.

use std::time::Duration;

use super::Timing;

/// The lease as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Who holds it; empty when it was given back.
    pub(crate) holder: String,
    /// Its `resourceVersion`.
    pub(crate) version: String,
    /// How long it lasts, as its holder wrote it.
    pub(crate) duration: Duration,
}

/// What to do with the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// It is free or over: write ourselves into it.
    Take,
    /// It is ours: renew it.
    Renew,
    /// It is another's.
    Wait,
}

/// What this replica remembers of the lease.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    identity: String,
    timing: Timing,
    /// The version last seen, and when it was seen first.
    observed: Option<(String, Duration)>,
    /// The last reading showed another's name.
    lost: bool,
}

impl Machine {
    pub(crate) fn new(identity: String, timing: Timing) -> Self {
        Self { identity, timing, observed: None, lost: false }
    }

    /// Judges a reading of the lease; `None` when it does not exist.
    pub(crate) fn judge(&mut self, lease: Option<&Seen>, at: Duration) -> Action {
        let Some(lease) = lease else {
            self.observed = None;
            self.lost = false;
            return Action::Take;
        };
        let since = match &self.observed {
            Some((version, since)) if *version == lease.version => *since,
            Some(_) | None => at,
        };
        self.observed = Some((lease.version.clone(), since));
        self.lost = !lease.holder.is_empty() && lease.holder != self.identity;
        if lease.holder.is_empty() {
            return Action::Take;
        }
        if lease.holder == self.identity {
            return Action::Renew;
        }
        // A duration of zero was written by nobody sane; ours is the safer guess.
        let lasts = if lease.duration.is_zero() { self.timing.lease_duration } else { lease.duration };
        if at.saturating_sub(since) >= lasts { Action::Take } else { Action::Wait }
    }

    /// The last reading showed that another replica holds the lease.
    pub(crate) fn lost(&self) -> bool {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing =
        Timing { lease_duration: Duration::from_secs(15), renew_deadline: Duration::from_secs(10), retry_period: Duration::from_secs(2) };

    fn seen(holder: &str, version: &str, seconds: u64) -> Seen {
        Seen { holder: holder.to_owned(), version: version.to_owned(), duration: Duration::from_secs(seconds) }
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_missing_or_released_lease_is_taken_and_our_own_is_renewed() {
        let mut machine = Machine::new("a".to_owned(), TIMING);
        assert_eq!(machine.judge(None, at(0)), Action::Take);
        assert_eq!(machine.judge(Some(&seen("", "1", 1)), at(0)), Action::Take);
        assert_eq!(machine.judge(Some(&seen("a", "2", 15)), at(0)), Action::Renew);
        assert!(!machine.lost());
    }

    #[test]
    fn anothers_lease_is_taken_only_after_it_has_not_changed_for_its_own_duration() {
        let mut machine = Machine::new("a".to_owned(), TIMING);
        // However old the lease may look, the first sight of it begins the wait.
        assert_eq!(machine.judge(Some(&seen("b", "1", 60)), at(1000)), Action::Wait);
        assert!(machine.lost());
        assert_eq!(machine.judge(Some(&seen("b", "1", 60)), at(1059)), Action::Wait);
        assert_eq!(machine.judge(Some(&seen("b", "2", 60)), at(1060)), Action::Wait);
        assert_eq!(machine.judge(Some(&seen("b", "2", 60)), at(1119)), Action::Wait);
        assert_eq!(machine.judge(Some(&seen("b", "2", 60)), at(1120)), Action::Take);
    }

    #[test]
    fn the_three_times_leave_room_between_each_other() {
        assert_eq!(TIMING.fault(), None);
        assert!(Timing { renew_deadline: at(15), ..TIMING }.fault().unwrap().starts_with("--lease-duration"));
        assert!(Timing { retry_period: at(5), ..TIMING }.fault().unwrap().starts_with("--renew-deadline"));
        assert!(Timing { retry_period: at(0), ..TIMING }.fault().unwrap().starts_with("--retry-period"));
    }

    /// Two replicas, each judging and writing at its own pace under a server that refuses stale writes: whenever one
    /// writes itself into the lease, the other's last renewal lies further back than its deadline.
    #[test]
    fn no_schedule_of_two_replicas_lets_both_write() {
        let steps = [0_u64, 2, 5, 11, 16];
        for schedule in 0..5_usize.pow(6) {
            let mut machines = [Machine::new("0".to_owned(), TIMING), Machine::new("1".to_owned(), TIMING)];
            let mut lease: Option<Seen> = None;
            let mut renewed: [Option<Duration>; 2] = [None, None];
            let (mut now, mut rest, mut version) = (0, schedule, 0);
            for turn in 0..12 {
                now += steps[rest % 5];
                if turn % 2 == 1 {
                    rest /= 5;
                }
                let who = (turn + rest) % 2;
                match machines[who].judge(lease.as_ref(), at(now)) {
                    Action::Wait => renewed[who] = None,
                    Action::Take | Action::Renew => {
                        version += 1;
                        lease = Some(seen(&who.to_string(), &version.to_string(), 15));
                        renewed[who] = Some(at(now));
                    }
                }
                let writes = renewed.iter().flatten().filter(|sent| at(now).saturating_sub(**sent) < TIMING.renew_deadline).count();
                assert!(writes <= 1, "schedule {schedule}, turn {turn}");
            }
        }
    }
}
