//! `run`: the controller and the admission endpoint in one process.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::{ArgAction, Args};
use noderotation_core::rotation::observation::Settings;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::address::Address;
use crate::cli::{duration, version};
use crate::controller::{self, Context};
use crate::event::Recorder;
use crate::leader::{Election, Lead, Timing};
use crate::metrics::Metrics;
use crate::probe::{self, Readiness};
use crate::telemetry::{self, Format};
use crate::{admission, client, preflight};

/// Time between two looks at a cluster that is not ready for us.
const PREFLIGHT_PERIOD: Duration = Duration::from_secs(10);
/// The controller may take this long to finish the pass that it has begun.
const FINISH_TIMEOUT: Duration = Duration::from_secs(20);

/// Flags of `run`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Address of /metrics.
    #[arg(long, value_name = "ADDRESS", default_value = ":8080", env = "NODE_ROTATION_METRICS_BIND_ADDRESS")]
    metrics_bind_address: Address,
    /// Address of /healthz and /readyz.
    #[arg(long, value_name = "ADDRESS", default_value = ":8081", env = "NODE_ROTATION_HEALTH_PROBE_BIND_ADDRESS")]
    health_probe_bind_address: Address,
    /// Rotate only while holding the Lease; false is for a single replica only.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", env = "NODE_ROTATION_LEADER_ELECT")]
    leader_elect: bool,
    /// Namespace of the placeholders, the Lease and the certificate.
    #[arg(long, value_name = "NAME", default_value = "node-rotation-system", env = "NODE_ROTATION_NAMESPACE")]
    namespace: String,
    /// Image of the placeholder's container.
    #[arg(long, value_name = "IMAGE", default_value = "registry.k8s.io/pause:3.10", env = "NODE_ROTATION_PLACEHOLDER_IMAGE")]
    placeholder_image: String,
    /// PriorityClass of the placeholders.
    #[arg(long, value_name = "NAME", default_value = "noderotation-placeholder", env = "NODE_ROTATION_PRIORITY_CLASS")]
    priority_class: String,
    /// Others take the Lease over after this long without a renewal.
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration)]
    lease_duration: Duration,
    /// This replica stops writing after this long without a confirmed renewal.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    renew_deadline: Duration,
    /// Time between two tries to get or renew the Lease.
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration)]
    retry_period: Duration,
    /// After SIGTERM, keep answering admission reviews this long while the Service forgets this replica.
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration)]
    shutdown_delay: Duration,
    #[command(flatten)]
    admission: admission::AdmissionOptions,
    /// How a log line looks.
    #[arg(long, value_enum, default_value_t = Format::Json, env = "NODE_ROTATION_LOG_FORMAT")]
    log_format: Format,
    /// Least severe level to log; RUST_LOG has precedence.
    #[arg(long, value_name = "LEVEL", default_value = "info", env = "NODE_ROTATION_LOG_LEVEL")]
    log_level: String,
    /// Kubeconfig to use; else KUBECONFIG, else the Pod's own account.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

/// Runs until SIGTERM or SIGINT.
pub(crate) fn run(options: Options) -> anyhow::Result<()> {
    telemetry::start(options.log_format, &options.log_level).map_err(anyhow::Error::msg)?;
    // One provider for the whole process; a second installation is what fails here.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        warn!("a TLS provider was installed before");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting the runtime")?;
    runtime.block_on(Box::pin(operate(options)))
}

/// What every part of the process shares.
struct Process {
    options: Options,
    client: kube::Client,
    metrics: Metrics,
    readiness: Readiness,
    /// Cancelled first: begin nothing new.
    stop: CancellationToken,
}

async fn operate(options: Options) -> anyhow::Result<()> {
    let timing =
        Timing { lease_duration: options.lease_duration, renew_deadline: options.renew_deadline, retry_period: options.retry_period };
    if let Some(fault) = timing.fault() {
        anyhow::bail!("{fault}");
    }
    let tzdb = noderotation_core::window::zone::database_version();
    let metrics = Metrics::new(version::VERSION, tzdb).context("registering the metrics")?;
    let client = client::connect(options.kubeconfig.as_deref(), metrics.clone()).await?;
    info!(version = version::VERSION, tzdb, "starting");
    let stop = CancellationToken::new();
    let process = Process { options, client, metrics, readiness: Readiness::default(), stop: stop.clone() };
    let signals = tokio::spawn(wait_for_signal(stop.clone()));
    let result = process.run(timing).await;
    signals.abort();
    result
}

impl Process {
    async fn run(self, timing: Timing) -> anyhow::Result<()> {
        let probes = CancellationToken::new();
        let health = self.options.health_probe_bind_address.listen().await.context("listening on --health-probe-bind-address")?;
        let exposition = self.options.metrics_bind_address.listen().await.context("listening on --metrics-bind-address")?;
        let health = tokio::spawn(probe::serve_health(health, self.readiness.clone(), probes.clone()));
        let exposition = tokio::spawn(probe::serve_metrics(exposition, self.metrics.clone(), probes.clone()));
        let identity = identity();
        let (recorder, writer) = Recorder::new(self.client.clone(), identity.clone(), self.metrics.clone());
        let writing = CancellationToken::new();
        let writer = tokio::spawn(writer.run(writing.clone()));
        let admission = tokio::spawn(admission::serve(self.admission()));
        let leading = tokio::spawn(self.lead(recorder, identity, timing));

        // A part that ends before it was told to is a fault; the process must not go on without it.
        let duties = async { tokio::try_join!(finished("the controller", leading), finished("the admission endpoint", admission)) };
        let result = tokio::select! {
            ended = duties => ended.map(|_| ()),
            ended = finished("the health endpoint", health) => ended.and(Err(anyhow::anyhow!("the health endpoint has ended"))),
            ended = finished("the metrics endpoint", exposition) => ended.and(Err(anyhow::anyhow!("the metrics endpoint has ended"))),
        };
        writing.cancel();
        if tokio::time::timeout(Duration::from_secs(5), writer).await.is_err() {
            warn!("some events were not written");
        }
        probes.cancel();
        result
    }

    fn admission(&self) -> admission::Context {
        admission::Context {
            options: self.options.admission.clone(),
            namespace: self.options.namespace.clone(),
            client: self.client.clone(),
            metrics: self.metrics.clone(),
            readiness: self.readiness.clone(),
            shutdown_delay: self.options.shutdown_delay,
            stop: self.stop.clone(),
        }
    }

    /// Leads whenever the cluster is fit for it and the lease is ours, until told to stop.
    async fn lead(self, recorder: Recorder, identity: String, timing: Timing) -> anyhow::Result<()> {
        if !self.preflight().await {
            return Ok(());
        }
        let context = |lead: Lead| Context {
            client: self.client.clone(),
            metrics: self.metrics.clone(),
            events: recorder.clone(),
            settings: Settings {
                namespace: self.options.namespace.clone(),
                placeholder_image: self.options.placeholder_image.clone(),
                priority_class: self.options.priority_class.clone(),
            },
            lead,
        };
        if !self.options.leader_elect {
            self.metrics.leader(true);
            return controller::run(context(Lead::forever()), self.stop.clone()).await.context("the controller");
        }
        let election = Election::new(self.client.clone(), &self.options.namespace, identity, timing);
        let (lead, mut leads) = (election.lead(), election.leads());
        let campaign = CancellationToken::new();
        let election = tokio::spawn(election.run(campaign.clone()));
        let result = loop {
            let leading = tokio::select! {
                leading = leads.wait_for(|leads| *leads) => leading.is_ok(),
                () = self.stop.cancelled() => false,
            };
            if !leading {
                break Ok(());
            }
            self.metrics.leader(true);
            let result = Box::pin(self.term(context(lead.clone()), &mut leads)).await;
            self.metrics.leader(false);
            if result.is_err() || self.stop.is_cancelled() {
                break result;
            }
        };
        campaign.cancel();
        election.await.context("the election")?;
        result
    }

    /// One term of office: the controller runs until the lease is lost or the process stops, and has ended on return.
    async fn term(&self, context: Context, leads: &mut tokio::sync::watch::Receiver<bool>) -> anyhow::Result<()> {
        let stop = self.stop.child_token();
        let mut controller = tokio::spawn(controller::run(context, stop.clone()));
        tokio::select! {
            ended = &mut controller => return ended.context("the controller")?.context("the controller"),
            _ = leads.wait_for(|leads| !*leads) => info!("ending the term: the lease is lost"),
            () = self.stop.cancelled() => {}
        }
        stop.cancel();
        match tokio::time::timeout(FINISH_TIMEOUT, &mut controller).await {
            Ok(ended) => ended.context("the controller")?.context("the controller"),
            Err(_) => {
                warn!("a pass did not end in time and is given up");
                controller.abort();
                Ok(())
            }
        }
    }

    /// Waits until the cluster serves and permits what leading takes; false when told to stop before.
    async fn preflight(&self) -> bool {
        let mut told = Vec::new();
        loop {
            let problems = preflight::problems(&self.client, &self.options.namespace).await;
            self.metrics.preflight(problems.is_empty());
            self.readiness.inform("preflight", problems.is_empty(), problems.join("; "));
            if problems.is_empty() {
                return true;
            }
            if problems != told {
                problems.iter().for_each(|problem| error!(problem, "not fit to lead"));
                told = problems;
            }
            tokio::select! {
                () = tokio::time::sleep(PREFLIGHT_PERIOD) => {}
                () = self.stop.cancelled() => return false,
            }
        }
    }
}

/// The result of a task, with its name.
async fn finished<E: Into<anyhow::Error>>(name: &str, task: JoinHandle<Result<(), E>>) -> anyhow::Result<()> {
    match task.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(error.into()).with_context(|| format!("{name} has ended")),
        Err(error) => Err(error).with_context(|| format!("{name} has ended")),
    }
}

/// Tells this process from its replicas and from its predecessors.
fn identity() -> String {
    let host = std::env::var("POD_NAME").or_else(|_| std::env::var("HOSTNAME")).unwrap_or_else(|_| "controller".to_owned());
    let since = jiff::Timestamp::now().as_nanosecond();
    format!("{host}_{:x}-{since:x}", std::process::id())
}

/// Cancels `stop` at the first SIGTERM or SIGINT; the second one ends the process at once.
async fn wait_for_signal(stop: CancellationToken) {
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        error!("signals cannot be received; only SIGKILL will end this process");
        return;
    };
    let mut next = async || {
        tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        }
    };
    let name = next().await;
    info!(signal = name, "stopping");
    stop.cancel();
    let name = next().await;
    warn!(signal = name, "ending at once");
    exit_now();
}

#[expect(clippy::exit, reason = "a person who signals twice wants no clean-up")]
fn exit_now() -> ! {
    std::process::exit(130)
}
