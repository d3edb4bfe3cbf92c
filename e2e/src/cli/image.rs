//! `image`: the Dockerfile carried out without Docker, and the facts of what comes out.

mod start;

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use clap::Args;

use e2e::cluster::Cluster;
use e2e::folder::Folder;
use e2e::image::elf::Program;
use e2e::image::pod::Runtime;
use e2e::image::{self, Architecture, Built};
use e2e::namespace;
use e2e::repository;
use e2e::terminal::{indented, say};

/// The program must be smaller.
const LARGEST: u64 = 15 << 20;

/// Options of `image`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Processor to build for; else this machine's, on which the program is then started too.
    #[arg(long, value_enum)]
    architecture: Option<Architecture>,
}

/// Builds, looks at what came out, and starts it without a cluster. False when nothing is left to do.
pub(crate) fn before(options: &Options) -> Result<bool> {
    if namespace::is_inside() {
        return Ok(true);
    }
    let here = Architecture::here()?;
    let architecture = options.architecture.unwrap_or(here);
    let built = image::build(architecture, &revision())?;
    say(&format!("The image for linux/{}", architecture.name()));
    look(&built, architecture)?;
    if architecture == here {
        start_alone(&built)?;
        return Ok(true);
    }
    say(&format!("  starts   not here: this machine is {}", here.name()));
    Ok(false)
}

/// Starts it on a cluster.
pub(crate) async fn run(cluster: &Cluster) -> Result<()> {
    let built = image::built(Architecture::here()?, &revision())?;
    start::run(cluster, &built).await
}

fn look(built: &Built, architecture: Architecture) -> Result<()> {
    let (files, program) = (built.files()?, built.program()?);
    let entrypoint = built.image.entrypoint.join(" ");
    let [(path, bytes)] = files.as_slice() else { anyhow::bail!("in the image is more than one program: {files:?}") };
    ensure!(*path == entrypoint, "the image starts {entrypoint}, and holds {path}");
    say(&format!("  files    {path}, nothing else"));
    let hundredths = bytes * 100 / (1 << 20);
    say(&format!(
        "  size     {}.{:02} MiB ({bytes} bytes; it must be less than {} MiB)",
        hundredths / 100,
        hundredths % 100,
        LARGEST >> 20
    ));
    ensure!(*bytes < LARGEST, "the program has grown too large");
    let told = Program::of(&program)?;
    ensure!(told.is_static(), "the program needs what the image lacks: {told:?}");
    ensure!(told.machine == architecture.machine(), "the program is for {}", told.machine);
    say(&format!("  linked   statically, for {}", told.machine));
    let labels: Vec<String> = built.image.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    say(&format!("  labels\n{}", indented(&labels.join("\n"))));
    Ok(())
}

/// With nothing in its environment: what needs no cluster works, and without one `run` ends with a sentence.
fn start_alone(built: &Built) -> Result<()> {
    let mut folder = Folder::create()?;
    folder.discard_logs();
    let runtime = Runtime::new(built, &folder.data())?;
    let nothing = Path::new("/dev/null");
    let version = runtime.answer(&["version"], nothing)?.accepted()?;
    // Its window is in a time zone, of which the image has no database.
    let checked = runtime.answer(&["check", "-f", "-"], &repository::path("examples/weekly.yaml"))?.accepted()?;
    ensure!(checked.contains("1 accepted"), "check says: {checked}");
    let command: Vec<&str> = built.image.command.iter().map(String::as_str).collect();
    let refusal = runtime.answer(&command, nothing)?.refused()?;
    ensure!(refusal.contains("no cluster is configured"), "{command:?} says without a cluster: {refusal}");
    say(&format!(
        "  starts   as uid {}, read-only, with an empty environment: {}",
        built.image.user.as_deref().unwrap_or_default(),
        version.trim()
    ));
    Ok(())
}

/// The commit at hand, for the label.
fn revision() -> String {
    let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(repository::path("")).output();
    let output = output.ok().filter(|output| output.status.success());
    output.map_or_else(|| "unknown".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
