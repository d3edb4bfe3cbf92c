//! Builds the real programs from Go modules, once, into a cache folder.
//!
//! Each recipe has a folder of its own, named by version, platform and a fingerprint of all that goes into it, so that
//! nothing is rebuilt when it is there and nothing stale is used. A folder appears by a rename, when it is complete.
//! A lock file keeps two runs from building the same at once.

pub mod complaint;
pub mod recipe;

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};

use crate::namespace;
use crate::terminal::{elapsed, progress};
use recipe::{GO_RELEASE, RECIPES, Recipe};

/// Environment variable that names the cache folder.
pub const CACHE: &str = "NODE_ROTATION_E2E_CACHE";
/// Time between two signs of life during a long build.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);

/// The built programs.
#[derive(Clone, Debug)]
pub struct Toolchain {
    cache: PathBuf,
}

impl Toolchain {
    /// Builds what is missing and says so; at once when nothing is.
    ///
    /// # Errors
    /// One line: what to install or to set, and where Go's own output is.
    pub fn ready() -> Result<Self> {
        let toolchain = Self { cache: cache_folder(|name| std::env::var_os(name))? };
        if toolchain.missing().is_empty() {
            return Ok(toolchain);
        }
        fs::create_dir_all(&toolchain.cache)
            .with_context(|| format!("creating the cache folder {}; set {CACHE} to another one", toolchain.cache.display()))?;
        let _lock = lock(&toolchain.cache.join("build.lock"))?;
        // Another run may have built them while this one waited.
        let missing = toolchain.missing();
        if !missing.is_empty() {
            toolchain.build_all(&missing)?;
        }
        Ok(toolchain)
    }

    /// Where the programs are.
    #[must_use]
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// Every binary and its path.
    pub fn binaries(&self) -> impl Iterator<Item = (&'static str, PathBuf)> + '_ {
        RECIPES.iter().flat_map(move |recipe| {
            let folder = self.cache.join(recipe.folder());
            recipe.binaries.iter().map(move |(_, binary)| (*binary, folder.join("bin").join(binary)))
        })
    }

    /// The path of a binary.
    ///
    /// # Errors
    /// When no recipe builds it.
    pub fn binary(&self, name: &str) -> Result<PathBuf> {
        self.binaries().find(|(binary, _)| *binary == name).map(|(_, path)| path).ok_or_else(|| anyhow!("no recipe builds {name}"))
    }

    /// The folder of the manifests that came with a module.
    ///
    /// # Errors
    /// When there is no recipe of that name.
    pub fn manifests(&self, name: &str) -> Result<PathBuf> {
        let recipe = RECIPES.iter().find(|recipe| recipe.name == name).ok_or_else(|| anyhow!("there is no recipe for {name}"))?;
        Ok(self.cache.join(recipe.folder()).join("manifests"))
    }

    fn missing(&self) -> Vec<&'static Recipe> {
        RECIPES.iter().filter(|recipe| !self.cache.join(recipe.folder()).is_dir()).collect()
    }

    fn build_all(&self, missing: &[&Recipe]) -> Result<()> {
        check_go()?;
        let begun = Instant::now();
        progress(&format!(
            "The programs of the test bed are built from Go modules into {}. This happens once; with empty caches it takes about 10 minutes on 2 cores.",
            self.cache.display()
        ));
        for (index, recipe) in missing.iter().enumerate() {
            let number = format!("[{}/{}]", index + 1, missing.len());
            progress(&format!("{number} building {} {}: {}", recipe.name, recipe.version, recipe.list()));
            let since = Instant::now();
            self.build(recipe, &number)?;
            progress(&format!("{number} built {} in {}", recipe.name, elapsed(since.elapsed())));
        }
        progress(&format!("All programs are built, in {}.", elapsed(begun.elapsed())));
        Ok(())
    }

    fn build(&self, recipe: &Recipe, number: &str) -> Result<()> {
        let finished = self.cache.join(recipe.folder());
        let unfinished = self.cache.join(format!("{}.unfinished", recipe.folder()));
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).with_context(|| format!("removing {}", unfinished.display()))?;
        }
        let (bin, manifests) = (unfinished.join("bin"), unfinished.join("manifests"));
        fs::create_dir_all(&bin)
            .and_then(|()| fs::create_dir_all(&manifests))
            .with_context(|| format!("creating {}", unfinished.display()))?;
        let go = Go { module: module_folder(recipe), log: self.cache.join(format!("{}.log", recipe.name)) };
        let label = format!("{number} still building {}", recipe.name);
        let link = format!("-s -w {}", recipe.link);
        // Go names several binaries after their packages, and links them side by side.
        let output = match recipe.binaries {
            [(_, binary)] => bin.join(binary),
            _ => bin,
        };
        let mut arguments: Vec<&OsStr> =
            vec!["build".as_ref(), "-trimpath".as_ref(), "-ldflags".as_ref(), link.as_ref(), "-o".as_ref(), output.as_ref()];
        if !recipe.tags.is_empty() {
            arguments.extend([OsStr::new("-tags"), OsStr::new(recipe.tags)]);
        }
        arguments.extend(recipe.binaries.iter().map(|(package, _)| OsStr::new(package)));
        go.run(&arguments, &label)?;
        if !recipe.manifests.is_empty() {
            let source =
                go.run(&["list".as_ref(), "-m".as_ref(), "-f".as_ref(), "{{.Dir}}".as_ref(), OsStr::new(recipe.module)], &label)?;
            copy_manifests(Path::new(source.trim()), recipe.manifests, &manifests)?;
        }
        fs::rename(&unfinished, &finished).with_context(|| format!("renaming {}", unfinished.display()))
    }
}

/// The cache folder, from the environment.
fn cache_folder(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Result<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let below = |folder: PathBuf| folder.join("node-rotation-controller");
    set(CACHE)
        .or_else(|| set("XDG_CACHE_HOME").map(below))
        .or_else(|| set("HOME").map(|home| below(home.join(".cache"))))
        .ok_or_else(|| anyhow!("there is no HOME to keep the built programs in; set {CACHE} to a folder"))
}

fn lock(path: &Path) -> Result<File> {
    let file = File::create(path).with_context(|| format!("creating {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            progress("Another run is building the programs of the test bed; waiting for it.");
            file.lock().with_context(|| format!("waiting for {}", path.display()))?;
        }
        Err(TryLockError::Error(error)) => return Err(error).with_context(|| format!("locking {}", path.display())),
    }
    Ok(file)
}

fn module_folder(recipe: &Recipe) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("go").join(recipe.name)
}

fn check_go() -> Result<()> {
    let output = Command::new("go").args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local").output();
    match output {
        Ok(output) => complaint::installed(&String::from_utf8_lossy(&output.stdout)).map_err(anyhow::Error::msg),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("go is not in PATH; install Go 1.21 or newer, which fetches {GO_RELEASE} by itself")
        }
        Err(error) => Err(error).context("running go"),
    }
}

/// The go command in one module's folder.
struct Go {
    module: PathBuf,
    log: PathBuf,
}

impl Go {
    /// Runs it and returns its standard output. What it says besides is in the log.
    fn run(&self, arguments: &[&OsStr], label: &str) -> Result<String> {
        let log = File::create(&self.log).with_context(|| format!("creating {}", self.log.display()))?;
        let output = self.log.with_extension("out");
        let child = namespace::contained("go")
            .args(arguments)
            .current_dir(&self.module)
            .env("GOTOOLCHAIN", GO_RELEASE)
            .env("GOFLAGS", "-mod=readonly")
            .env("GOWORK", "off")
            .env("CGO_ENABLED", "0")
            .stdin(Stdio::null())
            .stdout(File::create(&output).with_context(|| format!("creating {}", output.display()))?)
            .stderr(log)
            .spawn()
            .context("starting go")?;
        let status = wait_aloud(child, label)?;
        let said = fs::read_to_string(&output).with_context(|| format!("reading {}", output.display()))?;
        let _scratch = fs::remove_file(&output);
        if status.success() {
            return Ok(said);
        }
        let complaint = fs::read(&self.log).with_context(|| format!("reading {}", self.log.display()))?;
        let cause = complaint::cause(&String::from_utf8_lossy(&complaint));
        bail!("{cause} (Go's output: {})", self.log.display())
    }
}

/// Waits for a child and gives a sign of life now and then.
fn wait_aloud(mut child: std::process::Child, label: &str) -> Result<std::process::ExitStatus> {
    let (begun, mut spoken) = (Instant::now(), Instant::now());
    loop {
        if let Some(status) = child.try_wait().context("waiting for go")? {
            return Ok(status);
        }
        if spoken.elapsed() >= SIGN_OF_LIFE {
            progress(&format!("{label}, for {} so far", elapsed(begun.elapsed())));
            spoken = Instant::now();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn copy_manifests(source: &Path, wanted: &[&str], target: &Path) -> Result<()> {
    let mut files = Vec::new();
    for path in wanted.iter().map(|path| source.join(path)) {
        if path.is_dir() {
            let entries = fs::read_dir(&path).with_context(|| format!("reading {}", path.display()))?;
            for entry in entries {
                files.push(entry.with_context(|| format!("reading {}", path.display()))?.path());
            }
        } else {
            files.push(path);
        }
    }
    for file in files {
        let name = file.file_name().ok_or_else(|| anyhow!("{} has no name", file.display()))?;
        // Read and write, not copy: files of a module are read-only, and their mode would come along.
        let text = fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
        fs::write(target.join(name), text).with_context(|| format!("writing {}", target.join(name).display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(variables: &[(&str, &str)]) -> Result<String> {
        let folder = cache_folder(|name| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| value.into()))?;
        Ok(folder.display().to_string())
    }

    #[test]
    fn cache_folder_goes_by_precedence() {
        assert_eq!(folder(&[(CACHE, "/a"), ("XDG_CACHE_HOME", "/b"), ("HOME", "/c")]).unwrap(), "/a");
        assert_eq!(folder(&[("XDG_CACHE_HOME", "/b"), ("HOME", "/c")]).unwrap(), "/b/node-rotation-controller");
        assert_eq!(folder(&[(CACHE, ""), ("HOME", "/c")]).unwrap(), "/c/.cache/node-rotation-controller");
        assert!(folder(&[]).unwrap_err().to_string().contains(CACHE));
    }
}
