//! Another installation that leads at the same time: one in another namespace holds another Lease of the same name.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};

use super::Problem;
use crate::leader::{LEASE, holder, is_taker};

/// Who else leads now. Who may not look finds nobody: the right is among those that are asked for.
pub(crate) async fn rivals(client: &Client, namespace: &str, now: Timestamp) -> Vec<Problem> {
    let named = ListParams::default().fields(&format!("metadata.name={LEASE}"));
    let leases = Api::<Lease>::all(client.clone()).list(&named).await.map(|list| list.items).unwrap_or_default();
    let elsewhere = leases.iter().filter(|lease| lease.namespace().is_some_and(|other| other != namespace));
    // Who has taken a Lease to remove an installation does not lead.
    let leader = |lease| holder(lease, now).filter(|holder| !is_taker(holder));
    elsewhere.filter_map(|lease| Some(problem(lease, &leader(lease)?))).collect()
}

fn problem(lease: &Lease, holder: &str) -> Problem {
    let namespace = lease.namespace().unwrap_or_default();
    let sentence = format!(
        "{holder} leads from namespace {namespace} as well (Lease {LEASE} there): two installations rotate the same NodePools, so \
         uninstall one of them"
    );
    Problem { sentence, vital: false }
}
