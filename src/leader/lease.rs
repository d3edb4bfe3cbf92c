//! The Lease object: as we write it, and as the machine sees it.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

use super::machine::Seen;

/// Name of the Lease; the same as the Go controller's, so that the two cannot lead at once.
pub(crate) const LEASE: &str = "node-rotation-controller.noderotation.io";

/// The lease as held by `identity`, on top of what was read.
pub(super) fn held(read: Option<Lease>, identity: &str, lasts: Duration, now: Timestamp) -> Lease {
    let now = MicroTime(now);
    let mut lease = read
        .unwrap_or_else(|| Lease { metadata: ObjectMeta { name: Some(LEASE.to_owned()), ..ObjectMeta::default() }, ..Lease::default() });
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    if spec.holder_identity.as_deref() != Some(identity) {
        spec.acquire_time = Some(now.clone());
        spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0).saturating_add(1));
    }
    spec.holder_identity = Some(identity.to_owned());
    spec.lease_duration_seconds = Some(whole_seconds(lasts));
    spec.renew_time = Some(now);
    lease
}

/// The lease given back, if it is `identity`'s.
pub(super) fn released(mut lease: Lease, identity: &str, now: Timestamp) -> Option<Lease> {
    let spec = lease.spec.as_mut().filter(|spec| spec.holder_identity.as_deref() == Some(identity))?;
    spec.holder_identity = Some(String::new());
    // Not zero, which the API server refuses.
    spec.lease_duration_seconds = Some(1);
    spec.renew_time = Some(MicroTime(now));
    Some(lease)
}

/// What a lease can say of a duration: never less than it is, since others take over after it.
fn whole_seconds(duration: Duration) -> i32 {
    let seconds = duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0));
    i32::try_from(seconds).unwrap_or(i32::MAX)
}

/// The lease as the machine sees it.
pub(super) fn seen(lease: &Lease) -> Seen {
    let spec = lease.spec.clone().unwrap_or_default();
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Seen {
        holder: spec.holder_identity.unwrap_or_default(),
        version: lease.metadata.resource_version.clone().unwrap_or_default(),
        duration: Duration::from_secs(seconds.unwrap_or(0)),
    }
}

/// Who holds the lease, if it is not over at `now` by its own stamps; they are another machine's clock's.
pub(crate) fn holder(lease: &Lease, now: Timestamp) -> Option<String> {
    let Seen { holder, duration, .. } = seen(lease);
    let over = lease.spec.as_ref()?.renew_time.as_ref()?.0.checked_add(duration).ok()?;
    (!holder.is_empty() && now < over).then_some(holder)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LASTS: Duration = Duration::from_secs(15);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn spec(lease: &Lease) -> (&str, i32, i32, i64, i64) {
        let spec = lease.spec.as_ref().unwrap();
        let second = |time: &Option<MicroTime>| time.as_ref().unwrap().0.as_second();
        let (acquired, renewed) = (second(&spec.acquire_time), second(&spec.renew_time));
        let transitions = spec.lease_transitions.unwrap();
        (spec.holder_identity.as_deref().unwrap(), spec.lease_duration_seconds.unwrap(), transitions, acquired, renewed)
    }

    #[test]
    fn taking_counts_a_transition_and_renewing_does_not() {
        let first = held(None, "a", LASTS, at(1));
        assert_eq!(spec(&first), ("a", 15, 1, 1, 1));
        let renewed = held(Some(first), "a", LASTS, at(2));
        assert_eq!(spec(&renewed), ("a", 15, 1, 1, 2));
        let released = released(renewed, "a", at(3)).unwrap();
        assert_eq!(spec(&released), ("", 1, 1, 1, 3));
        assert_eq!(spec(&held(Some(released), "b", LASTS, at(4))), ("b", 15, 2, 4, 4));
    }

    #[test]
    fn only_our_own_lease_is_given_back() {
        assert_eq!(released(held(None, "a", LASTS, at(1)), "b", at(2)), None);
        assert_eq!(released(Lease::default(), "b", at(2)), None);
    }

    #[test]
    fn a_lease_never_says_less_than_the_duration() {
        for (duration, seconds) in [(Duration::from_millis(1500), 2), (LASTS, 15), (Duration::from_nanos(1), 1), (Duration::MAX, i32::MAX)]
        {
            assert_eq!(whole_seconds(duration), seconds, "{duration:?}");
        }
    }
}
