//! The operator's image without Docker: its stages are carried out as the Dockerfile says, and what the last one holds is
//! looked at.
//!
//! Base images cannot be had here; this machine's own files stand in for them, in a layer that is gone afterwards. That the
//! image can be pushed and pulled is therefore not shown; all else about it is.

pub mod context;
pub mod dockerfile;
pub mod elf;
pub mod pod;
mod script;

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};

use crate::{namespace, repository};
use dockerfile::{Stage, Variables};

/// A processor that the image is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Architecture {
    /// x86-64.
    Amd64,
    /// AArch64.
    Arm64,
}

/// An image that was built.
#[derive(Debug)]
pub struct Built {
    /// Folder with the files of its last stage.
    pub root: PathBuf,
    /// What is said of it, with all variables replaced.
    pub image: dockerfile::Image,
}

impl Architecture {
    /// That of this machine.
    ///
    /// # Errors
    /// When the image is built for no such machine.
    pub fn here() -> Result<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Ok(Self::Amd64),
            "aarch64" => Ok(Self::Arm64),
            other => bail!("the image is built for amd64 and arm64, and this machine is {other}"),
        }
    }

    /// Docker's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// readelf's word.
    #[must_use]
    pub fn machine(self) -> &'static str {
        match self {
            Self::Amd64 => "Advanced Micro Devices X86-64",
            Self::Arm64 => "AArch64",
        }
    }
}

impl Built {
    /// Every file and folder of the image, as `path` below its root, and their sizes.
    ///
    /// # Errors
    /// When a folder cannot be read.
    pub fn files(&self) -> Result<Vec<(String, u64)>> {
        let mut found = Vec::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            let reading = || format!("reading {}", folder.display());
            for entry in fs::read_dir(&folder).with_context(reading)? {
                let path = entry.with_context(reading)?.path();
                let about = path.symlink_metadata().with_context(reading)?;
                found.push((format!("/{}", path.strip_prefix(&self.root).unwrap_or(&path).display()), about.len()));
                if about.is_dir() {
                    folders.push(path);
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// The program that it starts.
    ///
    /// # Errors
    /// When it starts none.
    pub fn program(&self) -> Result<PathBuf> {
        let program = self.image.entrypoint.first().context("the image has no ENTRYPOINT")?;
        Ok(self.root.join(program.trim_start_matches('/')))
    }
}

/// The stages of the repository's Dockerfile.
///
/// # Errors
/// When it cannot be read.
pub fn stages() -> Result<Vec<Stage>> {
    dockerfile::read(&text("Dockerfile")?)
}

/// Carries out all stages for a processor. What is compiled is kept below `target/image/`.
///
/// # Errors
/// When a command fails, with what it said before on the terminal; when this user may not mount.
pub fn build(architecture: Architecture, revision: &str) -> Result<Built> {
    let stages = stages()?;
    let work = work(architecture);
    fs::create_dir_all(&work).with_context(|| format!("creating {}", work.display()))?;
    let context = work.join("context");
    let files = context::files(&repository::path(""), &text(".dockerignore")?)?;
    fs::write(&context, files.join("\n") + "\n").with_context(|| format!("writing {}", context.display()))?;
    let site = script::Site {
        repository: repository::path("").display().to_string(),
        context: context.display().to_string(),
        layers: work.join("layers").display().to_string(),
        compiled: work.join("compiled").display().to_string(),
        image: work.join("image").display().to_string(),
        environment: environment(),
        arguments: arguments(architecture, revision)?,
    };
    let file = work.join("stages.sh");
    fs::write(&file, script::of(&stages, &site)?).with_context(|| format!("writing {}", file.display()))?;
    let mut shell = namespace::contained("sh");
    let status = shell.arg(&file).stdin(Stdio::null()).status().context("running the stages")?;
    ensure!(status.success(), "a stage failed; all of them are in {}. Mounting a layer takes root", file.display());
    built(architecture, revision)
}

/// What [`build`] has built.
///
/// # Errors
/// When the Dockerfile cannot be read.
pub fn built(architecture: Architecture, revision: &str) -> Result<Built> {
    let image = finished(stages()?.last().context("there is no stage")?, &arguments(architecture, revision)?)?;
    Ok(Built { root: work(architecture).join("image"), image })
}

/// Where a build works, and what it leaves.
fn work(architecture: Architecture) -> PathBuf {
    repository::path("target/image").join(architecture.name())
}

/// What is said of the image of a stage, with the variables replaced.
fn finished(stage: &Stage, given: &Variables) -> Result<dockerfile::Image> {
    let mut variables = Variables::new();
    for step in &stage.steps {
        if let dockerfile::Step::Arg { name, default } = step {
            let value = given.get(name).or(default.as_ref());
            variables.extend(value.map(|value| (name.clone(), value.clone())));
        }
    }
    let mut image = stage.image.clone();
    for value in image.labels.values_mut() {
        *value = dockerfile::expanded(value, &variables)?;
    }
    Ok(image)
}

fn arguments(architecture: Architecture, revision: &str) -> Result<Variables> {
    let here = Architecture::here()?.name();
    let pairs = [("BUILDARCH", here), ("TARGETARCH", architecture.name()), ("REVISION", revision)];
    Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
}

/// What the base image has in its environment, as this machine has it, and the way to the registries.
fn environment() -> Variables {
    let names =
        ["PATH", "HOME", "RUSTUP_HOME", "CARGO_HOME", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"];
    names.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect()
}

fn text(file: &str) -> Result<String> {
    let path = repository::path(file);
    fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
}

#[cfg(test)]
mod tests;
