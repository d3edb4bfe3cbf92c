//! What this replica does to lead: the preflight, then one term of office after the other.
//!
//! A term begins when the lease is won and has ended, with the controller and its last pass, before the lease is given
//! back or campaigned for again (D13). A cluster that is not fit to be led is waited for; admission goes on meanwhile
//! (faults.md 0.9).

use std::time::Duration;

use noderotation_core::rotation::observation::Settings;
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::controller::{self, Board, Clock};
use crate::event::Recorder;
use crate::leader::{Election, Lead, Timing};
use crate::metrics::Metrics;
use crate::preflight::{self, Problem};
use crate::probe::Readiness;

/// Time between two looks at a cluster that is not ready for us.
const PREFLIGHT_PERIOD: Duration = Duration::from_secs(10);
/// The controller may take this long to finish the pass that it has begun.
const FINISH_TIMEOUT: Duration = Duration::from_secs(20);

/// Why this replica can no longer lead.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The controller gave up.
    #[error("the controller has failed")]
    Controller(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The controller or the election panicked.
    #[error("{0} has panicked")]
    Panicked(&'static str, #[source] JoinError),
}

/// What leading takes.
pub(crate) struct Candidate {
    pub(crate) client: kube::Client,
    pub(crate) metrics: Metrics,
    pub(crate) readiness: Readiness,
    pub(crate) events: Recorder,
    pub(crate) board: Board,
    pub(crate) settings: Settings,
    /// Name of this replica in the Lease.
    pub(crate) identity: String,
    /// `None` leads without a lease.
    pub(crate) timing: Option<Timing>,
    pub(crate) stop: CancellationToken,
}

impl Candidate {
    /// Leads whenever the cluster is fit for it and the lease is ours, until told to stop.
    ///
    /// # Errors
    /// When the controller ends although nobody asked for it.
    pub(crate) async fn run(self) -> Result<(), Error> {
        if !self.preflight().await {
            return Ok(());
        }
        let Some(timing) = self.timing else {
            self.metrics.leader(true);
            let ended = controller::run(self.context(Lead::forever()), self.stop.clone()).await;
            return ended.map_err(|error| Error::Controller(error.into()));
        };
        let election = Election::new(self.client.clone(), &self.settings.namespace, self.identity.clone(), timing, self.metrics.clone());
        let (lead, leads) = (election.lead(), election.leads());
        let campaign = CancellationToken::new();
        let election = tokio::spawn(election.run(campaign.clone()));
        let result = self.terms(&lead, leads).await;
        // Only now: nothing of ours is being written any more.
        campaign.cancel();
        election.await.map_err(|panic| Error::Panicked("the election", panic))?;
        result
    }

    async fn terms(&self, lead: &Lead, mut leads: watch::Receiver<bool>) -> Result<(), Error> {
        loop {
            let leading = tokio::select! {
                leading = leads.wait_for(|leads| *leads) => leading.is_ok(),
                () = self.stop.cancelled() => false,
            };
            if !leading {
                return Ok(());
            }
            self.metrics.leader(true);
            let result = Box::pin(self.term(lead.clone(), &mut leads)).await;
            self.resign();
            if result.is_err() || self.stop.is_cancelled() {
                return result;
            }
        }
    }

    /// What was seen as leader is no longer true, and may be told of another replica otherwise.
    fn resign(&self) {
        self.metrics.leader(false);
        self.metrics.drop_gauges();
        self.board.clear();
    }

    /// One term: the controller runs until the lease is lost or the process stops, and has ended on return.
    async fn term(&self, lead: Lead, leads: &mut watch::Receiver<bool>) -> Result<(), Error> {
        let stop = self.stop.child_token();
        let mut controller = tokio::spawn(controller::run(self.context(lead), stop.clone()));
        tokio::select! {
            ended = &mut controller => return judge(ended),
            _ = leads.wait_for(|leads| !*leads) => info!("ending the term: the lease is lost"),
            () = self.stop.cancelled() => {}
        }
        stop.cancel();
        if let Ok(ended) = tokio::time::timeout(FINISH_TIMEOUT, &mut controller).await {
            return judge(ended);
        }
        warn!("a pass did not end in time and is given up");
        controller.abort();
        // Its end, so that nothing is written after it.
        let _cancelled = controller.await;
        Ok(())
    }

    fn context(&self, lead: Lead) -> controller::Context {
        controller::Context {
            client: self.client.clone(),
            metrics: self.metrics.clone(),
            events: self.events.clone(),
            board: self.board.clone(),
            settings: self.settings.clone(),
            owner: None,
            lead,
            clock: Clock::of_the_machine(),
        }
    }

    /// Waits until the cluster serves and permits what leading takes; false when told to stop before.
    async fn preflight(&self) -> bool {
        let mut told = Vec::new();
        loop {
            let problems = tokio::select! {
                problems = preflight::problems(&self.client, &self.settings.namespace) => problems,
                () = self.stop.cancelled() => return false,
            };
            let fit = !problems.iter().any(|problem| problem.vital);
            let sentences: Vec<&str> = problems.iter().map(|problem| problem.sentence.as_str()).collect();
            self.metrics.preflight(fit);
            self.readiness.inform("preflight", fit, sentences.join("; "));
            if problems != told {
                problems.iter().for_each(tell);
                told = problems;
            }
            if fit {
                return true;
            }
            tokio::select! {
                () = tokio::time::sleep(PREFLIGHT_PERIOD) => {}
                () = self.stop.cancelled() => return false,
            }
        }
    }
}

fn tell(problem: &Problem) {
    let sentence = &problem.sentence;
    if problem.vital {
        error!(problem = sentence, "not fit to lead")
    } else {
        warn!(problem = sentence, "not all is as it should be for leading")
    }
}

/// How the controller's task ended.
fn judge<E: std::error::Error + Send + Sync + 'static>(ended: Result<Result<(), E>, JoinError>) -> Result<(), Error> {
    let ended = ended.map_err(|panic| Error::Panicked("the controller", panic))?;
    ended.map_err(|error| Error::Controller(error.into()))
}

#[cfg(test)]
mod tests;
