//! The schema of the CRD alone, without the operator: it must hold while the admission endpoint is away.
//!
//! A table of policies that differ from a good one in one place. Each is posted to the API server and judged by
//! validation as well, and what the two say is compared: what the server refuses, validation refuses too, and what
//! validation alone refuses says so in its row.

#![expect(clippy::indexing_slicing, reason = "a field of JSON that is not there is null")]

mod coverage;
mod durations;
mod exhaustive;
mod judge;
mod keys;
mod row;
mod selector;
mod server;
mod shape;
mod spec;
mod surge;
mod unknown;
mod windows;

use std::collections::BTreeSet;

use e2e::cluster::Cluster;
use e2e::terminal::progress;
use libtest_mimic::{Failed, Trial};

use crate::bed::Bed;
use row::Row;
use server::Server;

/// The rows by subject.
fn table() -> Vec<(&'static str, Vec<Row>)> {
    vec![
        ("durations", durations::rows()),
        ("keys", keys::rows()),
        ("selector", selector::rows()),
        ("shape", shape::rows()),
        ("spec", spec::rows()),
        ("surge", surge::rows()),
        ("windows", windows::rows()),
    ]
}

pub(crate) fn trials(bed: &Bed) -> Vec<Trial> {
    let mut trials: Vec<Trial> = table().into_iter().flat_map(|(subject, rows)| by_subject(bed, subject, rows)).collect();
    trials.push(Trial::test("admit_schema::each_rule_and_each_bound_has_a_row", || {
        coverage::judge(&table()).map_err(|error| Failed::from(format!("{error:#}")))
    }));
    trials.extend(durations::trials());
    trials.extend(selector::trials(bed));
    trials.extend(exhaustive::trials(bed));
    trials.extend(unknown::trials(bed));
    trials
}

/// One trial for all rows of the subject, and one for those of each public case, to be picked by its id.
fn by_subject(bed: &Bed, subject: &'static str, rows: Vec<Row>) -> Vec<Trial> {
    let cases: BTreeSet<String> = rows.iter().filter_map(Row::case).collect();
    let mut trials = Vec::new();
    for case in cases {
        let rows: Vec<Row> = rows.iter().filter(|row| row.case().as_ref() == Some(&case)).cloned().collect();
        let name = format!("admit_schema::{subject}::{case}");
        trials.push(bed.trial(&name, async move |cluster: &Cluster| judge::all(&Server::alone(cluster).await?, &rows).await.map(drop)));
    }
    let name = format!("admit_schema::{subject}::each_row_is_judged_as_it_says");
    trials.push(bed.trial(&name, async move |cluster: &Cluster| {
        let verdicts = judge::all(&Server::alone(cluster).await?, &rows).await?;
        progress(&format!("{subject}: {verdicts}"));
        Ok(())
    }));
    trials
}
