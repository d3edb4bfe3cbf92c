//! One pass for one NodePool: observe → decide → apply → report.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use jiff::Timestamp;
use kube::ResourceExt;
use kube::runtime::controller::{self, Action};
use kube::runtime::reflector::ObjectRef;
use noderotation_core::karpenter::NodePool;
use noderotation_core::rotation::observation::Observation;
use noderotation_core::rotation::{Decision, Next, step};
use noderotation_core::schedule::SHORT_REQUEUE;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, error, info_span, warn};

use crate::controller::apply::{self, Executor};
use crate::controller::caches::{Caches, GuardedPool, NotFilled};
use crate::controller::tell::Teller;
use crate::controller::{Context, observe, sweep};
use crate::event;
use crate::telemetry::words;

/// Looks that one decision may need; more would be a fault of ours.
const LOOKS: usize = 16;
/// Steps in one pass: a whole rotation needs fewer without a wait between them.
const STEPS: usize = 16;
/// Lost races that a pass makes up for at once (faults.md 0.10).
pub(super) const TRIES: u32 = 5;
/// The longest pause before the first of them; each further one may be twice as long.
const PAUSE: Duration = Duration::from_millis(10);
/// A pass that takes longer is given up, and the pool is tried again.
const PASS_TIMEOUT: Duration = Duration::from_secs(60);

/// What all passes share.
pub(crate) struct Shared {
    pub(crate) context: Arc<Context>,
    caches: Caches,
    teller: Teller,
    failures: Mutex<HashMap<String, u32>>,
    /// No pass begins before the sweep of this lead is over.
    swept: OnceCell<()>,
}

/// Why a pass ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A read failed.
    #[error(transparent)]
    Observe(#[from] observe::Error),
    /// A write failed.
    #[error(transparent)]
    Apply(#[from] apply::Error),
    /// A cache is not filled.
    #[error(transparent)]
    Caches(#[from] NotFilled),
    /// The pool cannot be read.
    #[error("NodePool {0} cannot be read: {1}")]
    Unreadable(String, String),
    /// The pass took too long.
    #[error("the pass took longer than {PASS_TIMEOUT:?}")]
    TimedOut,
    /// The step asked for more looks or steps than any rotation needs.
    #[error("the step does not come to an end")]
    Endless,
    /// A fault of ours, contained.
    #[error("the pass panicked")]
    Panicked,
}

impl Shared {
    pub(crate) fn new(context: Arc<Context>, caches: Caches) -> Self {
        let teller = Teller::new(Arc::clone(&context), caches.claims.clone());
        Self { teller, context, caches, failures: Mutex::new(HashMap::new()), swept: OnceCell::new() }
    }

    /// Removes what a pool has left that no longer exists, and forgets it.
    pub(crate) async fn tidy_up_if_gone<E: std::error::Error + 'static, Q: std::error::Error + 'static>(
        &self,
        result: Result<(ObjectRef<GuardedPool>, Action), controller::Error<E, Q>>,
        stop: &CancellationToken,
    ) {
        if let Err(controller::Error::ObjectNotFound(pool)) = result {
            sweep::gone_pool(&self.context, &self.teller, &self.caches, &pool.name, stop).await;
            self.teller.forget(&pool.name);
            self.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(&pool.name);
        }
    }

    /// The sweep of this lead is over; whoever comes first makes it, and all others wait.
    async fn swept(&self) -> Result<(), Error> {
        self.swept.get_or_try_init(|| sweep::cluster(&self.context, &self.teller)).await.map(|&()| ())
    }

    fn failed(&self, pool: &str) -> u32 {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.entry(pool.to_owned()).or_insert(0);
        *count = count.saturating_add(1);
        *count
    }

    fn succeeded(&self, pool: &str) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(pool);
    }
}

/// Called by the runtime for each pool that was woken; never twice at once for the same pool.
pub(crate) async fn reconcile(pool: Arc<GuardedPool>, shared: Arc<Shared>) -> Result<Action, Error> {
    let name = pool.name_any();
    let started = tokio::time::Instant::now();
    let word = event::pass::word();
    let span = info_span!("pass", nodepool = %name, pass = &*word);
    let contained = AssertUnwindSafe(Box::pin(pass(&pool, &shared))).catch_unwind().instrument(span);
    let contained = event::pass::within(word, contained);
    let result = match tokio::time::timeout(PASS_TIMEOUT, contained).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(Error::Panicked),
        Err(_) => Err(Error::TimedOut),
    };
    let label = if result.is_ok() { "success" } else { "error" };
    shared.context.metrics.reconcile(label, started.elapsed().as_secs_f64());
    if result.is_ok() {
        shared.succeeded(&name);
    }
    result
}

/// When to try again after an error: one second, doubling up to a minute.
pub(crate) fn after_error(pool: Arc<GuardedPool>, error: &Error, shared: Arc<Shared>) -> Action {
    let name = pool.name_any();
    let count = shared.failed(&name);
    let source = std::error::Error::source(error).map(words);
    match error {
        Error::Panicked | Error::Endless => error!(nodepool = %name, error = %error, "pass failed"),
        Error::Observe(_) | Error::Apply(_) | Error::Caches(_) | Error::Unreadable(..) | Error::TimedOut => {
            warn!(nodepool = %name, error = %error, source, "pass failed");
        }
    }
    Action::requeue(Duration::from_secs(1 << count.min(6).saturating_sub(1)).min(Duration::from_secs(60)))
}

async fn pass(guard: &GuardedPool, shared: &Shared) -> Result<Action, Error> {
    shared.caches.filled().await?;
    shared.swept().await?;
    let pool = guard.0.as_ref().map_err(|invalid| Error::Unreadable(guard.name_any(), invalid.error.to_string()))?;
    let mut observation = observe::from_caches(&shared.context, &shared.caches, pool.clone());
    let mut tries = 0;
    for _ in 0..STEPS {
        let decision = decide(shared, &mut observation).await?;
        let next = decision.next;
        match apply_and_report(shared, &observation.pool, decision).await {
            Ok(()) => match next {
                Next::Again => {}
                Next::After(wait) => return Ok(Action::requeue(wait)),
                Next::OnChange => return Ok(Action::await_change()),
            },
            Err(apply::Error::Conflict(object)) if tries < TRIES => {
                tries += 1;
                debug!(object, tries, "lost a race, deciding again");
                step_aside(tries).await;
            }
            Err(apply::Error::Conflict(_) | apply::Error::Leaving(_) | apply::Error::Rejected { .. }) => {
                return Ok(Action::requeue(SHORT_REQUEUE));
            }
            Err(error) => return Err(error.into()),
        }
        let Some(pool) = observe::live_pool(&shared.context, &observation.pool.name_any()).await? else {
            return Ok(Action::await_change());
        };
        observation = observe::from_caches(&shared.context, &shared.caches, pool);
    }
    Err(Error::Endless)
}

/// A short pause of random length, so that two who race for an object do not meet again.
pub(super) async fn step_aside(tries: u32) {
    let longest = PAUSE.saturating_mul(1 << tries.min(TRIES));
    tokio::time::sleep(longest.mul_f64(f64::from(Timestamp::now().subsec_nanosecond().unsigned_abs() % 1000) / 1000.0)).await;
}

/// Steps until the step has seen all it needs; the time is taken anew with each, so that a slow read cannot carry a
/// start past the end of its window (I7).
async fn decide(shared: &Shared, observation: &mut Observation) -> Result<Decision, Error> {
    for _ in 0..LOOKS {
        match step(observation, shared.context.clock.now()) {
            std::ops::ControlFlow::Continue(decision) => return Ok(decision),
            std::ops::ControlFlow::Break(look) => observe::look(&shared.context, observation, look).await?,
        }
    }
    Err(Error::Endless)
}

async fn apply_and_report(shared: &Shared, pool: &NodePool, decision: Decision) -> Result<(), apply::Error> {
    let Decision { effects, notices, report, next: _ } = decision;
    let mut executor = Executor::new(&shared.context);
    let applied = executor.carry_out(effects, |announcement| shared.teller.announce(pool, &announcement)).await;
    shared.teller.report(pool, &report, notices, applied.as_ref().err());
    applied
}
