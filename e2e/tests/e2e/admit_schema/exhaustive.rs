//! All short texts of two grammars: the server and validation must take the same ones.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use e2e::cluster::Cluster;
use libtest_mimic::Trial;
use noderotation_core::policy::validate::validate;
use serde_json::{Value, json};

use super::row::good;
use super::server::{Answer, Server, Unknown};
use crate::bed::Bed;

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    vec![
        bed.trial("admit_schema::exhaustive::every_time_of_day_is_judged_alike", every_time_of_day_is_judged_alike),
        bed.trial("admit_schema::exhaustive::every_short_duration_is_judged_alike", every_short_duration_is_judged_alike),
    ]
}

/// As many windows as a policy may have, each with a time of its own.
async fn every_time_of_day_is_judged_alike(cluster: &Cluster) -> Result<()> {
    let server = Server::alone(cluster).await?;
    let times: Vec<String> = (0..=30).flat_map(|hours| (0..=61).map(move |minutes| format!("{hours:02}:{minutes:02}"))).collect();
    let mut admitted = 0;
    for times in times.chunks(64) {
        for (field, other, at) in [("start", "end", "00:01"), ("end", "start", "00:01")] {
            let window = |time: &String| json!({"timezone": "UTC", "days": ["Mon"], other: at, field: time});
            let mut policy = good();
            policy["spec"]["maintenanceWindows"] = times.iter().filter(|time| *time != at).map(window).collect();
            admitted += times.len() - alike(&server, &policy).await?;
        }
    }
    // Each minute as start and as end, and 24:00 as end; the one time that both share is counted without being asked for.
    if admitted != 2 * 1440 + 1 {
        bail!("{admitted} times are admitted");
    }
    Ok(())
}

/// Each field of a policy has another text.
async fn every_short_duration_is_judged_alike(cluster: &Cluster) -> Result<()> {
    let server = Server::alone(cluster).await?;
    let letters = ['0', '1', '9', '.', 'h', 'm', 's', 'n', 'u', '-', ' ', 'd'];
    let mut texts = vec![String::new()];
    let mut done = 0;
    for _ in 0..3 {
        let longer: Vec<String> =
            texts.iter().skip(done).flat_map(|text| letters.iter().map(move |letter| format!("{text}{letter}"))).collect();
        done = texts.len();
        texts.extend(longer);
    }
    let fields = ["readyTimeout", "cooldownAfter", "failurePause", "retryBackoff", "provisioningEstimate", "drainEstimate"];
    for texts in texts.chunks(fields.len()) {
        let mut policy = good();
        policy["spec"]["surge"] = fields.iter().zip(texts).map(|(field, text)| ((*field).to_owned(), json!(text))).collect();
        alike(&server, &policy).await?;
    }
    Ok(())
}

/// Fails unless the server and validation find fault with the same fields; says with how many.
async fn alike(server: &Server, policy: &Value) -> Result<usize> {
    let by_server: BTreeSet<String> = match server.post(policy, Unknown::Strict).await? {
        Answer::Admitted(_) => BTreeSet::new(),
        Answer::Refused(causes) => causes.into_iter().map(|cause| cause.field).collect(),
    };
    let by_us: BTreeSet<String> = validate(policy).err().unwrap_or_default().into_iter().map(|fault| fault.field).collect();
    let differing: Vec<String> = by_server.symmetric_difference(&by_us).map(|field| format!("{field} = {:?}", at(policy, field))).collect();
    if !differing.is_empty() {
        bail!("judged differently by the server and by validation: {}", differing.join(", "));
    }
    Ok(by_us.len())
}

/// The value at a field's path.
fn at<'a>(policy: &'a Value, field: &str) -> Option<&'a Value> {
    policy.pointer(&format!("/{}", field.replace(['.', '['], "/").replace(']', "")))
}
