//! Holds rows against the API server and against validation, and the two against each other.

use std::fmt;

use anyhow::{Result, bail};
use noderotation_core::policy::RotationPolicy;
use noderotation_core::policy::fault::Fault;
use noderotation_core::policy::validate::validate;

use super::row::{Row, Verdict, Words};
use super::server::{Answer, Cause, Server, Unknown};

/// How many rows have which verdict.
#[derive(Default)]
pub(crate) struct Verdicts {
    admitted: usize,
    refused: usize,
    endpoint_only: usize,
    server_only: usize,
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { admitted, refused, endpoint_only, server_only } = self;
        let rows = admitted + refused + endpoint_only + server_only;
        write!(f, "{rows} rows, {admitted} admitted, {refused} refused, {endpoint_only} webhook-only, {server_only} server-only")
    }
}

/// Judges all rows, and names every one that is not judged as it says.
pub(crate) async fn all(server: &Server, rows: &[Row]) -> Result<Verdicts> {
    let mut verdicts = Verdicts::default();
    let mut complaints = Vec::new();
    for row in rows {
        let count = match row.verdict {
            Verdict::Admitted => &mut verdicts.admitted,
            Verdict::Refused(_) => &mut verdicts.refused,
            Verdict::EndpointOnly(_) => &mut verdicts.endpoint_only,
            Verdict::ServerOnly(_) => &mut verdicts.server_only,
        };
        *count += 1;
        let policy = row.policy()?;
        let answer = server.post(&policy, Unknown::Strict).await?;
        let faults = validate(&policy).err().unwrap_or_default();
        let complaint = by_server(row, &answer).or_else(|| by_validation(row, &faults)).or_else(|| as_stored(&answer, &faults));
        complaints.extend(complaint.map(|complaint| format!("{}: {complaint}", row.name)));
    }
    if !complaints.is_empty() {
        bail!("{} of {} rows:\n{}", complaints.len(), rows.len(), complaints.join("\n"));
    }
    Ok(verdicts)
}

/// What is wrong with the server's answer.
fn by_server(row: &Row, answer: &Answer) -> Option<String> {
    match (&row.verdict, answer) {
        (Verdict::Admitted | Verdict::EndpointOnly(_), Answer::Admitted(_)) => None,
        (Verdict::Admitted | Verdict::EndpointOnly(_), Answer::Refused(causes)) => Some(format!("the server refuses it: {causes:?}")),
        (Verdict::Refused(_) | Verdict::ServerOnly(_), Answer::Admitted(_)) => Some("the server admits it".to_owned()),
        (Verdict::Refused(words) | Verdict::ServerOnly(words), Answer::Refused(causes)) => {
            let cannot_be_evaluated = causes.iter().any(|cause| cause.message.contains("evaluating rule"));
            if cannot_be_evaluated && matches!(row.verdict, Verdict::Refused(_)) {
                return Some(format!("a rule cannot be evaluated: {causes:?}"));
            }
            let of_it: Vec<&Cause> = causes.iter().filter(|cause| cause.field == words.field).collect();
            let said = of_it.iter().any(|cause| cause.message.contains(&words.fragment));
            let sentences = of_it.iter().filter(|cause| !is_backstop(cause)).count();
            (!said || sentences > 1).then(|| format!("the server says not only {words:?}: {causes:?}"))
        }
    }
}

/// What a type, a bound or a pattern says, which may repeat a rule for readers that know no rules.
fn is_backstop(cause: &Cause) -> bool {
    cause.message.contains(" in body ") || cause.message.starts_with("Unsupported value")
}

/// What is wrong with what validation says.
fn by_validation(row: &Row, faults: &[Fault]) -> Option<String> {
    match &row.verdict {
        Verdict::Admitted | Verdict::ServerOnly(_) if faults.is_empty() => None,
        Verdict::Admitted | Verdict::ServerOnly(_) => Some(format!("validation refuses it: {faults:?}")),
        Verdict::Refused(_) | Verdict::EndpointOnly(_) if faults.is_empty() => Some("validation admits it".to_owned()),
        Verdict::Refused(Words { field, .. }) => {
            // The server writes a map's key in either way.
            let field = field.replace(".team", "[team]");
            let near = |fault: &Fault| fault.field.starts_with(&field) || field.starts_with(&fault.field);
            (!faults.iter().any(near)).then(|| format!("validation does not speak of {field}: {faults:?}"))
        }
        Verdict::EndpointOnly(Words { field, fragment }) => {
            let said = faults.iter().any(|fault| fault.field == *field && fault.words().contains(fragment));
            (!said).then(|| format!("validation does not say {fragment:?} of {field}: {faults:?}"))
        }
    }
}

/// What the server would store is read, and judged as what was posted.
fn as_stored(answer: &Answer, faults: &[Fault]) -> Option<String> {
    let Answer::Admitted(stored) = answer else { return None };
    if let Err(error) = serde_json::from_value::<RotationPolicy>(stored.clone()) {
        return Some(format!("what is admitted cannot be read: {error}: {stored}"));
    }
    let again = validate(stored).err().unwrap_or_default();
    (again != faults).then(|| format!("with the schema's defaults it is judged otherwise: {again:?}, not {faults:?}"))
}
