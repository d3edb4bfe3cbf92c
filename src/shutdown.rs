//! Who owns the tasks of this process, and what the end of each means (D13).
//!
//! A duty ends only when it is told to; one that ends before that is a fault, and the process must not go on as half of
//! itself: the others are told to stop in their own good order, and the fault is what the process ends with. Services
//! outlive the duties, so that a probe is still answered and an event still written while the duties end. No task is
//! started anywhere else in the shell without being awaited there.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::probe::Readiness;

/// Duties may take this long to end; with the services' time it stays within a Pod's usual 30 s.
const DUTIES_TIMEOUT: Duration = Duration::from_secs(24);
/// Services may then take this long.
const SERVICES_TIMEOUT: Duration = Duration::from_secs(4);

/// Why the process ends without having been told to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A task ended as if its work were done.
    #[error("{0} has ended unbidden")]
    Ended(&'static str),
    /// A task gave up.
    #[error("{0} has failed")]
    Failed(&'static str, #[source] Box<dyn StdError + Send + Sync>),
    /// A task panicked.
    #[error("{0} has panicked")]
    Panicked(&'static str, #[source] JoinError),
}

type Outcome = Result<(), Box<dyn StdError + Send + Sync>>;

/// Tasks with their names.
#[derive(Default)]
struct Named {
    set: JoinSet<Outcome>,
    names: HashMap<Id, &'static str>,
}

impl Named {
    fn start<E: StdError + Send + Sync + 'static>(
        &mut self,
        name: &'static str,
        task: impl Future<Output = Result<(), E>> + Send + 'static,
    ) {
        let handle = self.set.spawn(async { task.await.map_err(|error| error.into()) });
        self.names.insert(handle.id(), name);
    }

    /// The next task that ends, and how; `None` when none is left.
    async fn next(&mut self) -> Option<(&'static str, Result<Outcome, JoinError>)> {
        let ended = self.set.join_next_with_id().await?;
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let name = self.names.remove(&id).unwrap_or("a task");
        Some((name, ended.map(|(_, outcome)| outcome)))
    }

    /// Waits for all that is left, and gives up those that take longer than `timeout`.
    async fn finish(&mut self, timeout: Duration) -> Option<Error> {
        let mut fault = None;
        let all = async {
            while let Some((name, ended)) = self.next().await {
                fault = fault.take().or_else(|| judge(name, ended, true));
            }
        };
        if tokio::time::timeout(timeout, all).await.is_err() {
            self.names.values().for_each(|name| warn!(task = name, "did not end in time and is given up"));
            self.set.shutdown().await;
        }
        fault
    }
}

/// What keeps the process from ending well, if the end of a task does.
fn judge(name: &'static str, ended: Result<Outcome, JoinError>, bidden: bool) -> Option<Error> {
    match ended {
        Ok(Ok(())) => (!bidden).then_some(Error::Ended(name)),
        Ok(Err(error)) => Some(Error::Failed(name, error)),
        Err(error) => Some(Error::Panicked(name, error)),
    }
}

/// All tasks of the process.
#[derive(Default)]
pub(crate) struct Tasks {
    duties: Named,
    services: Named,
    stop: CancellationToken,
    last: CancellationToken,
}

impl Tasks {
    /// Cancelled first: begin nothing new, end what has begun.
    pub(crate) fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Cancelled when the duties have ended.
    pub(crate) fn last(&self) -> CancellationToken {
        self.last.clone()
    }

    /// Starts what the process exists for; it ends when [`Tasks::stop`] is cancelled.
    pub(crate) fn duty<E: StdError + Send + Sync + 'static>(
        &mut self,
        name: &'static str,
        task: impl Future<Output = Result<(), E>> + Send + 'static,
    ) {
        self.duties.start(name, task);
    }

    /// Starts what the duties need; it ends when [`Tasks::last`] is cancelled.
    pub(crate) fn service<E: StdError + Send + Sync + 'static>(
        &mut self,
        name: &'static str,
        task: impl Future<Output = Result<(), E>> + Send + 'static,
    ) {
        self.services.start(name, task);
    }

    /// Waits for the stop and the end of every task, in order.
    ///
    /// # Errors
    /// The first fault: a task that ended unbidden, failed or panicked.
    pub(crate) async fn run(mut self) -> Result<(), Error> {
        let fault = tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            ended = self.duties.next() => ended.and_then(|(name, ended)| judge(name, ended, self.stop.is_cancelled())),
            ended = self.services.next() => ended.and_then(|(name, ended)| judge(name, ended, false)),
        };
        if let Some(fault) = &fault {
            error!(error = %fault, "stopping, since one part of the process is gone");
        }
        self.stop.cancel();
        let late = self.duties.finish(DUTIES_TIMEOUT).await;
        self.last.cancel();
        let later = self.services.finish(SERVICES_TIMEOUT).await;
        fault.or(late).or(later).map_or(Ok(()), Err)
    }
}

/// SIGTERM and SIGINT, caught from the time of its creation on.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// # Errors
    /// When the system does not let signals be caught.
    pub(crate) fn catch() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Takes readiness away and cancels `stop` at the first signal; the second one ends the process at once.
    pub(crate) async fn obey(mut self, readiness: Readiness, stop: CancellationToken) {
        let signal = self.next().await;
        info!(signal, "stopping");
        readiness.require("running", false, "stopping");
        stop.cancel();
        let signal = self.next().await;
        warn!(signal, "ending at once");
        exit_now();
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

#[expect(clippy::exit, reason = "a person who signals twice wants no clean-up")]
fn exit_now() -> ! {
    std::process::exit(130)
}

#[cfg(test)]
mod tests;
