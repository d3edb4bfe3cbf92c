//! Policies put to the API server, or to the admission endpoint itself, at a steady rate, and how each was judged.
//!
//! Open loop: the next one comes when its time has come, whether or not the one before is answered, so that a stall is
//! felt by all that come during it. Nothing is stored: every request is a dry run.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use hyper::Request;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::{Value, json};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::fleet::Fleet;

/// Under way at a time; with more than that the next one waits, or one stall would bring the API server down.
const MOST: usize = 200;

/// Path of the validating endpoint.
const PATH: &str = "/validate-noderotation-io-v1alpha1-rotationpolicy";

/// Whom the policies are put to.
#[derive(Clone)]
pub enum Judge {
    /// The API server, which asks the endpoint.
    Server(Client),
    /// The endpoint itself, at the client's address.
    Endpoint(Client),
}

/// How one policy was judged.
struct Verdict {
    took: Duration,
    /// Why it was not judged as it should have been.
    fault: Option<String>,
}

/// What became of all.
#[derive(Clone, Debug, Default)]
pub struct Report {
    took: Vec<Duration>,
    faults: BTreeMap<String, usize>,
}

impl Report {
    fn add(&mut self, verdict: Verdict) {
        self.took.push(verdict.took);
        if let Some(fault) = verdict.fault {
            *self.faults.entry(fault).or_default() += 1;
        }
    }

    /// How many were asked.
    #[must_use]
    pub fn count(&self) -> usize {
        self.took.len()
    }

    /// How many were not judged as they should have been.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.faults.values().sum()
    }

    /// The longest answer among the fastest `part` of 100.
    #[must_use]
    pub fn percentile(&self, part: usize) -> Duration {
        let mut took = self.took.clone();
        took.sort_unstable();
        took.get((took.len() * part).div_ceil(100).saturating_sub(1)).copied().unwrap_or_default()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |part| self.percentile(part).as_secs_f64() * 1000.0;
        let (count, failures) = (self.count(), self.failures());
        write!(
            f,
            "{count} admissions, {failures} failures, p50 {:.1} ms, p99 {:.1} ms, longest {:.1} ms",
            millis(50),
            millis(99),
            millis(100)
        )?;
        self.faults.iter().try_for_each(|(fault, times)| write!(f, "\n  {times} × {fault}"))
    }
}

/// A load that lasts until it is ended, and at least until there were enough.
pub struct Load {
    asked: Arc<AtomicUsize>,
    least: usize,
    end: CancellationToken,
    work: JoinHandle<Report>,
}

impl Load {
    /// Begins: `rate` policies a second, `least` at least.
    #[must_use]
    pub fn begin(judge: Judge, rate: u32, least: usize) -> Self {
        let (asked, end) = (Arc::new(AtomicUsize::new(0)), CancellationToken::new());
        let work = tokio::spawn(ask_until(judge, rate, least, Arc::clone(&asked), end.clone()));
        Self { asked, least, end, work }
    }

    /// There were enough.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.asked.load(Ordering::Relaxed) >= self.least
    }

    /// Ends as soon as there were enough, and waits for the last answer.
    ///
    /// # Errors
    /// When the load has panicked.
    pub async fn end(self) -> anyhow::Result<Report> {
        self.end.cancel();
        Ok(self.work.await?)
    }
}

async fn ask_until(judge: Judge, rate: u32, least: usize, asked: Arc<AtomicUsize>, end: CancellationToken) -> Report {
    let mut clock = tokio::time::interval(Duration::from_secs(1) / rate);
    let (mut under_way, mut report) = (JoinSet::new(), Report::default());
    loop {
        tokio::select! {
            _due = clock.tick(), if under_way.len() < MOST => {
                let number = asked.fetch_add(1, Ordering::Relaxed) + 1;
                under_way.spawn(ask(judge.clone(), number));
            }
            Some(Ok(verdict)) = under_way.join_next() => report.add(verdict),
            () = end.cancelled(), if asked.load(Ordering::Relaxed) >= least => break,
        }
    }
    while let Some(Ok(verdict)) = under_way.join_next().await {
        report.add(verdict);
    }
    report
}

/// Every third policy is at fault.
async fn ask(judge: Judge, number: usize) -> Verdict {
    let (begun, bad) = (Instant::now(), number.is_multiple_of(3));
    let fault = match (policy(number, bad), judge) {
        (Ok(policy), Judge::Server(client)) => ask_the_server(client, &policy, bad).await,
        (Ok(policy), Judge::Endpoint(client)) => ask_the_endpoint(client, &policy, bad).await.err().map(|error| format!("{error:#}")),
        (Err(error), _) => Some(error.to_string()),
    };
    Verdict { took: begun.elapsed(), fault }
}

async fn ask_the_server(client: Client, policy: &DynamicObject, bad: bool) -> Option<String> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("noderotation.io", "v1alpha1", "RotationPolicy"));
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    let parameters = PostParams { dry_run: true, ..PostParams::default() };
    judged(api.create(&parameters, policy).await, bad)
}

async fn ask_the_endpoint(client: Client, policy: &DynamicObject, bad: bool) -> anyhow::Result<()> {
    let kind = json!({"group": "noderotation.io", "version": "v1alpha1", "kind": "RotationPolicy"});
    let request = json!({"uid": "load", "operation": "CREATE", "kind": kind, "object": policy});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).to_string();
    let request = Request::post(PATH).header("Content-Type", "application/json").body(review.into_bytes())?;
    let answer: Value = client.request(request).await?;
    ensure!(answer.pointer("/response/allowed") == Some(&json!(!bad)), "the answer is {answer}");
    Ok(())
}

fn policy(number: usize, bad: bool) -> anyhow::Result<DynamicObject> {
    let mut fleet = Fleet::new(&format!("load-{number}"));
    if bad {
        "0s".clone_into(&mut fleet.ready_timeout);
    }
    Ok(serde_json::from_value(fleet.policy())?)
}

/// Why the answer is not the one that is due.
fn judged(answer: kube::Result<DynamicObject>, bad: bool) -> Option<String> {
    match (answer, bad) {
        (Ok(stored), false) => {
            let derived = stored.data.pointer("/spec/surge/failurePause");
            (derived != Some(&json!("1h"))).then(|| format!("the derived default is {}", derived.unwrap_or(&Value::Null)))
        }
        (Ok(_), true) => Some("a bad policy has passed".to_owned()),
        (Err(kube::Error::Api(status)), true) if status.code == 422 && status.message.contains("spec.surge.readyTimeout") => None,
        (Err(error), _) => Some(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slow_and_the_faulty_are_seen() {
        let mut report = Report::default();
        for millis in 1..=200 {
            report.add(Verdict { took: Duration::from_millis(millis), fault: (millis > 198).then(|| "late".to_owned()) });
        }
        assert_eq!(report.to_string(), "200 admissions, 2 failures, p50 100.0 ms, p99 198.0 ms, longest 200.0 ms\n  2 × late");
        assert_eq!(Report::default().percentile(99), Duration::ZERO);
    }

    #[test]
    fn an_answer_is_right_or_its_fault_is_told() {
        let stored = |pause: &str| serde_json::from_value(json!({"metadata": {}, "spec": {"surge": {"failurePause": pause}}})).unwrap();
        let refused = |message: &str| {
            let status = json!({"status": "Failure", "code": 422, "message": message, "reason": "Invalid"});
            Err(kube::Error::Api(Box::new(serde_json::from_value(status).unwrap())))
        };
        assert_eq!(judged(Ok(stored("1h")), false), None);
        assert_eq!(judged(refused("spec.surge.readyTimeout: …"), true), None);
        assert_eq!(judged(Ok(stored("5m")), false).as_deref(), Some("the derived default is \"5m\""));
        assert_eq!(judged(Ok(stored("1h")), true).as_deref(), Some("a bad policy has passed"));
        for (answer, bad) in [(refused("spec.surge.readyTimeout: …"), false), (refused("no endpoints"), true)] {
            assert!(judged(answer, bad).is_some());
        }
    }
}
