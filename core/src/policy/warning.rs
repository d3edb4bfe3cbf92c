//! What is allowed but probably not meant: told at admission, never refused (D11).

use super::governing::Governing;
use super::validate::validate;
use crate::duration::human;
use crate::window::Entry;
use crate::window::zone::is_fixed_offset;
use serde_json::Value;

/// One sentence for each doubt about a policy that is valid; none for one that is not. Each is short enough for an
/// admission warning (256 bytes).
#[must_use]
pub fn warnings(policy: &Value) -> Vec<String> {
    let Ok(governing) = validate(policy) else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    for (index, entry) in governing.windows.entries().iter().enumerate() {
        warnings.extend(window(index, entry));
    }
    if governing.min_rotation_chances == 1 {
        warnings.push("spec.minRotationChances: 1 leaves no second window when a rotation fails; 2 is the default".to_owned());
    }
    warnings.extend(backoff(&governing));
    warnings
}

fn window(index: usize, entry: &Entry) -> Vec<String> {
    let field = format!("spec.maintenanceWindows[{index}]");
    let time = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
    let mut warnings = Vec::new();
    if entry.crosses_midnight() {
        warnings.push(format!(
            "{field}: the window crosses midnight: from {} on each named day to {} on the next day, {} time",
            time(entry.start),
            time(entry.end),
            entry.zone_name
        ));
    }
    if entry.end == 23 * 60 + 59 {
        warnings.push(format!("{field}.end: 23:59 leaves the last minute of the day closed; write 24:00 for the end of the day"));
    }
    if is_fixed_offset(&entry.zone_name) {
        warnings.push(format!("{field}.timezone: {} never follows daylight saving time", entry.zone_name));
    }
    warnings
}

fn backoff(governing: &Governing) -> Option<String> {
    (governing.retry_backoff < governing.ready_timeout).then(|| {
        format!(
            "spec.surge.retryBackoff: {} is shorter than readyTimeout ({}), so a failed claim is tried again almost at once",
            human(governing.retry_backoff),
            human(governing.ready_timeout)
        )
    })
}
