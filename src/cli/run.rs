//! `run`: the controller and the admission endpoint in one process.

use std::time::Duration;

use anyhow::Context as _;
use clap::{ArgAction, Args};
use noderotation_core::rotation::observation::Settings;
use tracing::{info, warn};

use crate::address::Address;
use crate::cli::{Usage, duration, exit, name, object_name, plan, version};
use crate::client::{self, Cluster};
use crate::controller::Board;
use crate::event::Recorder;
use crate::leader::Timing;
use crate::metrics::Metrics;
use crate::probe::{self, Readiness};
use crate::shutdown::{Signals, Tasks};
use crate::telemetry::{self, Format};
use crate::term::Candidate;
use crate::{admission, ui};

/// Nobody waits longer for the page's plan.
const PAGE_PATIENCE: Duration = Duration::from_secs(10);

/// Flags of `run`.
#[derive(Debug, Args)]
#[command(after_help = exit::help("run", MORE, EXAMPLES))]
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
    /// Namespace of the installation: of its placeholders, Lease and certificate.
    #[arg(short, long, value_name = "NAME", default_value = "node-rotation-system", value_parser = name, env = "NODE_ROTATION_NAMESPACE")]
    namespace: String,
    /// Image of the placeholder's container.
    #[arg(long, value_name = "IMAGE", default_value = "registry.k8s.io/pause:3.10", env = "NODE_ROTATION_PLACEHOLDER_IMAGE")]
    placeholder_image: String,
    /// Secrets in --namespace for pulling that image, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = object_name, env = "NODE_ROTATION_PLACEHOLDER_IMAGE_PULL_SECRETS")]
    placeholder_image_pull_secrets: Vec<String>,
    /// PriorityClass of the placeholders.
    #[arg(long, value_name = "NAME", default_value = "noderotation-placeholder", value_parser = name, env = "NODE_ROTATION_PRIORITY_CLASS")]
    priority_class: String,
    /// Others take the Lease over after this long without a renewal.
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration, env = "NODE_ROTATION_LEASE_DURATION")]
    lease_duration: Duration,
    /// This replica stops writing after this long without a confirmed renewal.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration, env = "NODE_ROTATION_RENEW_DEADLINE")]
    renew_deadline: Duration,
    /// Time between two tries to get or renew the Lease.
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration, env = "NODE_ROTATION_RETRY_PERIOD")]
    retry_period: Duration,
    /// After SIGTERM, keep answering admission reviews this long while the Service forgets this replica.
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration, env = "NODE_ROTATION_SHUTDOWN_DELAY")]
    shutdown_delay: Duration,
    /// Serve /debug/state beside /metrics: what the last pass over each NodePool has seen and decided, as JSON.
    #[arg(long, env = "NODE_ROTATION_DEBUG_STATE")]
    debug_state: bool,
    /// Serve a page at /ui/ beside /metrics that draws which node is rotated when, as `plan` tells it; on the leader only.
    #[arg(long, env = "NODE_ROTATION_UI")]
    ui: bool,
    #[command(flatten)]
    admission: admission::AdmissionOptions,
    /// How a log line looks.
    #[arg(long, value_enum, default_value_t = Format::Json, value_name = "FORMAT", env = "NODE_ROTATION_LOG_FORMAT")]
    log_format: Format,
    /// Least severe level to log; RUST_LOG has precedence.
    #[arg(long, value_name = "LEVEL", default_value = "info", env = "NODE_ROTATION_LOG_LEVEL")]
    log_level: String,
    #[command(flatten)]
    cluster: Cluster,
}

const MORE: &str = "In a cluster the chart runs it, with the rights that it needs and its flags from values.yaml.";

const EXAMPLES: &str = "\
node-rotation-controller run
node-rotation-controller run --kubeconfig ~/.kube/config --leader-elect=false --webhook-register=false --log-format text";

impl Options {
    /// The election's times, unless there is to be none.
    fn timing(&self) -> Result<Option<Timing>, Usage> {
        let timing = Timing { lease_duration: self.lease_duration, renew_deadline: self.renew_deadline, retry_period: self.retry_period };
        match timing.fault().filter(|_| self.leader_elect) {
            Some(fault) => Err(Usage(fault)),
            None => Ok(self.leader_elect.then_some(timing)),
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            namespace: self.namespace.clone(),
            placeholder_image: self.placeholder_image.clone(),
            placeholder_pull_secrets: self.placeholder_image_pull_secrets.clone(),
            priority_class: self.priority_class.clone(),
        }
    }
}

/// Runs until SIGTERM or SIGINT.
pub(crate) fn run(options: Options) -> anyhow::Result<()> {
    let timing = options.timing()?;
    telemetry::start(options.log_format, &options.log_level).map_err(Usage)?;
    // One provider for the whole process; a second installation is what fails here.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        warn!("a TLS provider was installed before");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting the runtime")?;
    runtime.block_on(Box::pin(operate(options, timing)))
}

/// Starts every part of the process, and waits for its end.
async fn operate(options: Options, timing: Option<Timing>) -> anyhow::Result<()> {
    let signals = Signals::catch().context("catching signals")?;
    let tzdb = noderotation_core::window::zone::database_version();
    let identity = identity();
    let metrics = Metrics::new(version::VERSION, tzdb).context("registering the metrics")?;
    let client = client::connect(&options.cluster, &identity, metrics.clone()).await?;
    let health = options.health_probe_bind_address.listen().await.context("listening on --health-probe-bind-address")?;
    let exposition = options.metrics_bind_address.listen().await.context("listening on --metrics-bind-address")?;
    info!(version = version::VERSION, tzdb, identity, "starting");

    let readiness = Readiness::default();
    let (mut tasks, board) = (Tasks::default(), Board::default());
    let (stop, last) = (tasks.stop(), tasks.last());
    let (events, writer) = Recorder::new(client.clone(), identity.clone(), metrics.clone());
    tasks.service("the health endpoint", probe::serve_health(health, readiness.clone(), last.clone()));
    tasks.service(
        "the metrics endpoint",
        probe::serve_metrics(
            exposition,
            probe::Exposed {
                metrics: metrics.clone(),
                board: options.debug_state.then(|| board.clone()),
                page: options.ui.then(|| ui::viewer(plan::look(board.clone()), ui::Desk::new(PAGE_PATIENCE))),
            },
            last.clone(),
        ),
    );
    tasks.service("the event writer", writer.run(last));
    let admission = admission::Context {
        options: options.admission.clone(),
        namespace: options.namespace.clone(),
        client: client.clone(),
        metrics: metrics.clone(),
        events: events.clone(),
        readiness: readiness.clone(),
        shutdown_delay: options.shutdown_delay,
        stop: stop.clone(),
    };
    tasks.duty("the admission endpoint", admission::serve(admission));
    let settings = options.settings();
    let candidate =
        Candidate { client, metrics, readiness: readiness.clone(), events, board, settings, identity, timing, stop: stop.clone() };
    tasks.duty("leading", candidate.run());
    let signals = tokio::spawn(signals.obey(readiness, stop));
    let result = tasks.run().await;
    signals.abort();
    info!("stopped");
    Ok(result?)
}

/// Tells this process from its replicas and from its predecessors.
fn identity() -> String {
    let host = std::env::var("POD_NAME").or_else(|_| std::env::var("HOSTNAME")).unwrap_or_else(|_| "controller".to_owned());
    let since = jiff::Timestamp::now().as_nanosecond();
    format!("{host}_{:x}-{since:x}", std::process::id())
}
