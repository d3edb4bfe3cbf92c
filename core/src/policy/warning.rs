//! What is allowed but probably not meant: told at admission, never refused (D3, D11).
//!
//! Only what the policy alone shows. What it means for a NodePool is a finding of the schedule.

use jiff::Timestamp;
use serde_json::Value;

use super::governing::Governing;
use crate::duration::human;
use crate::schedule::estimate;
use crate::window::Entry;
use crate::window::zone::fixed_offset;

/// The last minute of a day, which nobody means to keep closed.
const LAST_MINUTE: u16 = 23 * 60 + 59;
const ZONE_LABEL: &str = "topology.kubernetes.io/zone";

/// One sentence for each doubt about `policy`, which is `governing` once it is parsed. Each is short enough for an admission
/// warning (256 bytes), and they come in the order of the fields. Windows are measured from `now` on.
#[must_use]
pub fn warnings(policy: &Value, governing: &Governing, now: Timestamp) -> Vec<String> {
    let mut warnings = Vec::new();
    warnings.extend(chances(governing));
    for (index, entry) in governing.windows.entries().iter().enumerate() {
        warnings.extend(window(index, entry));
    }
    warnings.extend(short_window(governing, now));
    warnings.extend(backoff(governing));
    warnings.extend(provisioning(governing));
    warnings.extend(required(governing, policy.pointer("/spec/surge/matchNodeRequirements/required")));
    warnings
}

fn chances(governing: &Governing) -> Option<String> {
    (governing.min_rotation_chances == 1)
        .then(|| "spec.minRotationChances: 1 leaves no second window when a rotation fails; 2 is the default".to_owned())
}

fn window(index: usize, entry: &Entry) -> Vec<String> {
    let field = format!("spec.maintenanceWindows[{index}]");
    let zone = &entry.zone_name;
    let mut warnings = Vec::new();
    if let Some(offset) = fixed_offset(zone) {
        warnings
            .push(format!("{field}.timezone: {zone} is {offset} all year; write the IANA name of a place to follow daylight saving time"));
    }
    if entry.crosses_midnight() {
        let time = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        let (start, end) = (time(entry.start), time(entry.end));
        warnings
            .push(format!("{field}: the window crosses midnight: from {start} on each named day to {end} on the next day, {zone} time"));
    }
    if entry.end == LAST_MINUTE {
        warnings.push(format!("{field}.end: 23:59 leaves the last minute of the day closed; write 24:00 for the end of the day"));
    }
    warnings
}

/// The window gates starts; that a drain may outlast it is no mistake, but surprises (review 26).
fn short_window(governing: &Governing, now: Timestamp) -> Option<String> {
    let shortest = governing.windows.shortest(now)?;
    let rotation = estimate(governing, None);
    (shortest < rotation).then(|| {
        format!(
            "spec.maintenanceWindows: the shortest window ({}) is shorter than a rotation (about {}), which starts inside it and may drain after it closes",
            human(shortest),
            human(rotation)
        )
    })
}

fn backoff(governing: &Governing) -> Option<String> {
    let (backoff, timeout) = (governing.retry_backoff, governing.ready_timeout);
    (backoff < timeout).then(|| {
        format!(
            "spec.surge.retryBackoff: {} is shorter than readyTimeout ({}), so a failed claim is tried again almost at once",
            human(backoff),
            human(timeout)
        )
    })
}

fn provisioning(governing: &Governing) -> Option<String> {
    let (estimate, timeout) = (governing.provisioning_estimate?, governing.ready_timeout);
    (estimate > timeout).then(|| {
        format!(
            "spec.surge.provisioningEstimate: {} is longer than readyTimeout ({}); the forecast uses the latter",
            human(estimate),
            human(timeout)
        )
    })
}

/// `given` is the list as the policy has it, which an empty one does not show any more once it is parsed.
fn required(governing: &Governing, given: Option<&Value>) -> Option<String> {
    let field = "spec.surge.matchNodeRequirements.required";
    if given?.as_array()?.is_empty() {
        return Some(format!("{field}: [] stands for the default keys: {}", governing.required_keys.join(", ")));
    }
    (!governing.required_keys.iter().any(|key| key == ZONE_LABEL))
        .then(|| format!("{field}: without {ZONE_LABEL} the new node may be in another zone, where a zonal volume cannot follow its Pod"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::tests::{good, with};
    use crate::policy::validate::validate;

    fn told(policy: &Value) -> Vec<String> {
        warnings(policy, &validate(policy).unwrap(), now())
    }

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn each_doubt_has_its_sentence() {
        let window = |field: &str| format!("/spec/maintenanceWindows/0/{field}");
        let rows = [
            ("/spec/minRotationChances".to_owned(), json!(1)),
            (window("timezone"), json!("Etc/GMT+5")),
            (window("timezone"), json!("America/Argentina/ComodRivadavia")),
            (window("end"), json!("01:00")),
            (window("end"), json!("00:00")),
            (window("end"), json!("23:59")),
            (window("end"), json!("02:15")),
            (window("end"), json!("02:14")),
            ("/spec/surge/retryBackoff".to_owned(), json!("5m")),
            ("/spec/surge/provisioningEstimate".to_owned(), json!("16m")),
            ("/spec/surge/matchNodeRequirements".to_owned(), json!({"required": []})),
            ("/spec/surge/matchNodeRequirements".to_owned(), json!({"required": ["kubernetes.io/arch"]})),
        ];
        let lines: Vec<String> = rows.iter().flat_map(|(pointer, value)| told(&with(pointer, value.clone()))).collect();
        assert!(lines.iter().all(|warning| warning.len() <= 256));
        insta::assert_snapshot!(lines.join("\n"), @r"
        spec.minRotationChances: 1 leaves no second window when a rotation fails; 2 is the default
        spec.maintenanceWindows[0].timezone: Etc/GMT+5 is UTC-5 all year; write the IANA name of a place to follow daylight saving time
        spec.maintenanceWindows[0]: the window crosses midnight: from 02:00 on each named day to 01:00 on the next day, Asia/Tokyo time
        spec.maintenanceWindows[0]: the window crosses midnight: from 02:00 on each named day to 00:00 on the next day, Asia/Tokyo time
        spec.maintenanceWindows[0].end: 23:59 leaves the last minute of the day closed; write 24:00 for the end of the day
        spec.maintenanceWindows: the shortest window (14m) is shorter than a rotation (about 15m), which starts inside it and may drain after it closes
        spec.surge.retryBackoff: 5m is shorter than readyTimeout (15m), so a failed claim is tried again almost at once
        spec.surge.provisioningEstimate: 16m is longer than readyTimeout (15m); the forecast uses the latter
        spec.surge.matchNodeRequirements.required: [] stands for the default keys: topology.kubernetes.io/zone, kubernetes.io/arch, karpenter.sh/capacity-type
        spec.surge.matchNodeRequirements.required: without topology.kubernetes.io/zone the new node may be in another zone, where a zonal volume cannot follow its Pod
        ");
    }

    #[test]
    fn a_policy_without_doubts_is_told_nothing() {
        assert_eq!(told(&good()), Vec::<String>::new());
        assert_eq!(told(&with("/spec/minRotationChances", json!(1))).len(), 1);
    }
}
