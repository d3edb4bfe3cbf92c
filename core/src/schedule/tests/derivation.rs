//! The derivation of any policy and pool, at random and at every boundary, against the exact formulas.

use proptest::prelude::*;

use super::exact::{Input, NANOSECONDS, of_minutes, seconds};
use super::fraction::Fraction;
use super::*;

/// Up to some minutes, now and then not whole ones.
fn up_to(longest: u64) -> impl Strategy<Value = Duration> {
    let odd = prop_oneof![4 => Just(0_u32), 1 => 0..1_000_000_000_u32];
    (0..longest, odd).prop_map(|(minutes, nanoseconds)| Duration::new(minutes * 60, nanoseconds))
}

/// The same, longer than zero.
fn some_time(longest: u64) -> impl Strategy<Value = Duration> {
    up_to(longest).prop_map(|duration| duration.max(Duration::from_nanos(1)))
}

prop_compose! {
    fn any_windows()(
        entries in prop::collection::vec(
            (prop::sample::subsequence((0..7).collect::<Vec<usize>>(), 1..=7), 0..1440_usize, prop_oneof![1..=1440_usize, Just(1440)]),
            1..5,
        ),
    ) -> Vec<(Vec<usize>, usize, usize)> {
        entries.into_iter().map(|(days, start, end)| (days, start, if start == end { end - 1 } else { end })).collect()
    }
}

prop_compose! {
    fn any_input()(
        entries in any_windows(),
        chances in prop_oneof![5 => 1..5_u32, 1 => 1..=2_147_483_647_u32],
        age in prop::option::of(some_time(40 * 24 * 60)),
        ready_timeout in some_time(60),
        cooldown_after in up_to(60),
        retry_backoff in some_time(90),
        provisioning_estimate in prop::option::of(some_time(60)),
        drain_estimate in prop::option::of(some_time(180)),
        expire_after in up_to(45 * 24 * 60),
        grace in prop::option::of(up_to(26 * 60)),
        claims in 0..200_usize,
    ) -> Input {
        Input {
            entries, chances, age, ready_timeout, cooldown_after, retry_backoff, provisioning_estimate, drain_estimate, expire_after, grace,
            claims,
        }
    }
}

/// A positive or no duration of so many seconds.
fn duration(seconds: Fraction) -> Option<Duration> {
    let nanoseconds = seconds.times(Fraction::whole(NANOSECONDS));
    assert!(nanoseconds.is_whole());
    u64::try_from(nanoseconds.floor()).ok().filter(|it| *it > 0 && *it < 300_000_000_000_000_000).map(Duration::from_nanos)
}

/// The boundary at which a finding comes and goes, put into the input, and a nanosecond or a claim to either side.
fn at_boundary(mut input: Input, which: usize, side: i128) -> Input {
    let exact = input.exact();
    let aside = Fraction::new(side, NANOSECONDS);
    let shifted = |at: Fraction| duration(at.plus(aside));
    let claims = |at: i128| usize::try_from(at + side).unwrap_or(0).min(1_000_000);
    match (which, input.age, exact.capacity) {
        (0, None, _) => input.expire_after = shifted(exact.lead).unwrap_or(input.expire_after),
        (1, None, _) => input.expire_after = shifted(exact.lead.plus(exact.period)).unwrap_or(input.expire_after),
        (0 | 1, Some(_), _) => {
            // So many whole windows are left.
            let left = exact.period.times(Fraction::whole(i128::from(input.chances.min(5)) - i128::try_from(which).unwrap()));
            let age = seconds(input.expire_after).minus(exact.t_rot).minus(left);
            input.age = shifted(age).or(input.age);
        }
        (2, _, _) => {
            let grace = input.grace.map_or_else(|| of_minutes(60), seconds);
            input.expire_after = shifted(of_minutes(504 * 60).minus(grace)).unwrap_or(input.expire_after);
        }
        (3, _, _) => input.retry_backoff = shifted(seconds(input.ready_timeout)).unwrap_or(input.retry_backoff),
        (4, _, _) => input.drain_estimate = input.grace.and_then(|grace| shifted(seconds(grace))),
        (5, _, _) => input.provisioning_estimate = shifted(seconds(input.ready_timeout)),
        (6, _, Some(capacity)) => input.claims = claims(capacity * i128::from(input.chances)),
        (7, given, Some(capacity)) => {
            // As many claims come due in some whole windows as can be served in them.
            let windows = i128::from(input.chances.clamp(1, 5));
            let age = exact.period.times(Fraction::whole(windows));
            input.claims = usize::try_from(capacity * windows).unwrap();
            match given {
                Some(_) => input.age = shifted(age).or(given),
                None => input.expire_after = shifted(exact.lead.plus(age)).unwrap_or(input.expire_after),
            }
        }
        (8, _, _) => {
            let gap = exact.gap.unwrap_or(exact.slot);
            input.cooldown_after = shifted(gap.minus(exact.estimate)).unwrap_or(input.cooldown_after);
        }
        (9, _, Some(_)) => {
            // Whole slots fill the shortest occurrence.
            let slots = Fraction::whole(input.chances.clamp(1, 5).into());
            let cooldown = exact.shortest.map(|shortest| shortest.over(slots).minus(exact.estimate));
            input.cooldown_after = cooldown.and_then(shifted).unwrap_or(input.cooldown_after);
        }
        _ => {}
    }
    input
}

fn judge(input: &Input) -> Result<(), TestCaseError> {
    let exact = input.exact();
    let governing = input.governing();
    let derived = derive(&governing, &input.pool(), input.claims, now());
    prop_assert_eq!(seconds(derived.t_rot), exact.t_rot);
    prop_assert_eq!(seconds(derived.t_rot_estimate), exact.estimate);
    prop_assert_eq!(seconds(derived.period.unwrap()), exact.period);
    prop_assert_eq!(seconds(lead_time(&governing, derived.period.unwrap(), input.grace)), exact.lead);
    prop_assert_eq!(Fraction::new(derived.age_threshold.as_nanos(), NANOSECONDS), exact.age);
    prop_assert_eq!(i128::from(derived.chances), exact.chances);
    let throughput = |name: &str| name.starts_with("Throughput");
    let mut told: Vec<&str> = derived.findings.iter().map(|finding| finding.code.name()).collect();
    match exact.capacity {
        Some(capacity) => prop_assert_eq!(i128::from(derived.capacity), capacity),
        None => told.retain(|name| !throughput(name)),
    }
    prop_assert_eq!(told, input.findings(&exact));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_derivation_is_that_of_exact_fractions(input in any_input()) {
        judge(&input)?;
    }

    #[test]
    fn it_is_so_at_every_boundary_and_a_nanosecond_to_either_side(input in any_input(), which in 0..10_usize, side in -1..=1_i128) {
        judge(&at_boundary(input, which, side))?;
    }
}
