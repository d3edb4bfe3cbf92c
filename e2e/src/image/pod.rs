//! The program of an image, started as the kubelet has a container runtime start it under the chart's securityContext.
//!
//! Its file system is that of the image alone and read-only, its user the image's; it has no rights of root, cannot get
//! any, and finds nothing in its environment but what is given.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, ensure};

use super::Built;
use crate::cluster::Cluster;
use crate::process::Launch;
use crate::tool::Answer;

/// What starts it.
const RUNTIME: &str = include_str!("container.sh");

/// A place to start containers in.
#[derive(Debug)]
pub struct Runtime<'a> {
    built: &'a Built,
    /// Where a container's root is mounted; each sees only its own.
    root: PathBuf,
    /// File with the moment of the last start, in nanoseconds.
    started: PathBuf,
    /// Folder with what the kubelet brings of the ServiceAccount.
    account: PathBuf,
}

impl<'a> Runtime<'a> {
    /// A place below `data`, a folder of this run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(built: &'a Built, data: &Path) -> Result<Self> {
        let place = |name: &str| data.join("container").join(name);
        let runtime = Self { built, root: place("root"), started: place("started"), account: place("account") };
        for folder in [&runtime.root, &runtime.account] {
            fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        }
        Ok(runtime)
    }

    /// How to start the operator in a Pod of a ServiceAccount: it finds the cluster as every container does.
    ///
    /// # Errors
    /// When the ServiceAccount's files cannot be written.
    pub fn pod(&self, cluster: &Cluster, token: &str, namespace: &str, arguments: Vec<OsString>) -> Result<Launch> {
        let authority = fs::read(cluster.authority()).context("reading the cluster's authority")?;
        for (name, text) in [("ca.crt", authority.as_slice()), ("token", token.as_bytes()), ("namespace", namespace.as_bytes())] {
            fs::write(self.account.join(name), text).with_context(|| format!("writing the ServiceAccount's {name}"))?;
        }
        let variables = format!("KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT={}", cluster.site().ports.apiserver);
        let mut words = self.words(&self.account.display().to_string(), &variables)?;
        words.extend(arguments);
        Ok(Launch { name: "operator".to_owned(), program: "unshare".into(), arguments: words, environment: Vec::new() })
    }

    /// Runs the program to its end with nothing in its environment, and no ServiceAccount.
    ///
    /// # Errors
    /// When it cannot be started. That it fails is an answer.
    pub fn answer(&self, arguments: &[&str], input: &Path) -> Result<Answer> {
        let input = fs::File::open(input).with_context(|| format!("opening {}", input.display()))?;
        let output = Command::new("unshare").args(self.words("", "")?).args(arguments).stdin(Stdio::from(input)).output();
        let output = output.context("running the program of the image")?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Answer {
            command: arguments.join(" "),
            success: output.status.success(),
            code: output.status.code(),
            output: text(&output.stdout),
            errors: text(&output.stderr),
        })
    }

    /// Time since the last start.
    ///
    /// # Errors
    /// When there was none.
    pub fn since_start(&self) -> Result<Duration> {
        let text = fs::read_to_string(&self.started).context("the program was not started")?;
        let started = Duration::from_nanos(text.trim().parse().with_context(|| format!("{text:?} is no time"))?);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).context("the clock is before 1970")?;
        Ok(now.saturating_sub(started))
    }

    fn words(&self, account: &str, variables: &str) -> Result<Vec<OsString>> {
        let image = &self.built.image;
        let user = unprivileged(image.user.as_deref())?;
        let paths = [&self.built.root, &self.root].map(|path| path.display().to_string());
        let started = self.started.display().to_string();
        let words = ["--mount", "--propagation", "private", "sh", "-c", RUNTIME, "container"];
        let words = words.into_iter().map(str::to_owned).chain(paths);
        let words = words.chain([account.to_owned(), started, user.to_owned(), variables.to_owned()]);
        Ok(words.chain(image.entrypoint.iter().cloned()).map(OsString::from).collect())
    }
}

/// The user and the group of an image, if they are numbers and not root's: of a name the kubelet cannot tell whose it is, and a
/// user without a group gets root's.
fn unprivileged(user: Option<&str>) -> Result<&str> {
    let user = user.context("the image has no USER, and so root's; write USER 65532:65532")?;
    let is_nobodys = |id: &str| id.parse::<u32>().is_ok_and(|id| id != 0);
    let both = user.split_once(':').is_some_and(|(user, group)| is_nobodys(user) && is_nobodys(group));
    ensure!(both, "USER {user} is not two numbers that are not root's; write USER 65532:65532");
    Ok(user)
}

/// What the kernel says of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// Real, effective, saved and file-system user.
    pub users: Vec<String>,
    /// The same of its group.
    pub groups: Vec<String>,
    /// It has no right of root's, and can get none.
    pub powerless: bool,
    /// Its whole file system is read-only.
    pub read_only: bool,
    /// Its environment.
    pub environment: Vec<String>,
}

impl Confinement {
    /// Of a process of this machine.
    ///
    /// # Errors
    /// When it has ended.
    pub fn of(process: u32) -> Result<Self> {
        let read = |name: &str| {
            let path = format!("/proc/{process}/{name}");
            fs::read_to_string(&path).with_context(|| format!("reading {path}"))
        };
        Ok(Self::read(&read("status")?, &read("mountinfo")?, &read("environ")?))
    }

    fn read(status: &str, mounts: &str, environment: &str) -> Self {
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let ids = |name: &str| line(name).split_whitespace().map(str::to_owned).collect();
        let none = |name: &str| !line(name).trim().is_empty() && line(name).trim().chars().all(|digit| digit == '0');
        // Point and options of each mount are its fifth and sixth word.
        let mut options = mounts.lines().map(|line| line.split(' ').nth(5).unwrap_or_default());
        Self {
            users: ids("Uid:"),
            groups: ids("Gid:"),
            powerless: none("CapEff:") && none("CapPrm:") && none("CapInh:") && line("NoNewPrivs:").trim() == "1",
            read_only: !mounts.is_empty() && options.all(|options| options.split(',').any(|option| option == "ro")),
            environment: environment.split('\0').filter(|entry| !entry.is_empty()).map(str::to_owned).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tx\nUid:\t65532\t65532\t65532\t65532\nGid:\t7\t7\t7\t7\nCapInh:\t0000000000000000\n\
                          CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\n";
    const MOUNTS: &str = "1 0 0:1 / / ro,relatime - tmpfs tmpfs rw\n2 1 0:2 /a /b ro - ext4 /dev/x rw\n";

    #[test]
    fn what_the_kernel_says_is_read() {
        let seen = Confinement::read(STATUS, MOUNTS, "A=1\0B=2\0");
        let expected = Confinement {
            users: vec!["65532".to_owned(); 4],
            groups: vec!["7".to_owned(); 4],
            powerless: true,
            read_only: true,
            environment: vec!["A=1".to_owned(), "B=2".to_owned()],
        };
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_right_a_way_to_one_and_a_mount_to_write_to_are_seen() {
        let powerless = |status: &str| Confinement::read(status, MOUNTS, "").powerless;
        assert!(powerless(STATUS) && !powerless(&STATUS.replace("CapEff:\t0", "CapEff:\t1")) && !powerless(""));
        assert!(!powerless(&STATUS.replace("NoNewPrivs:\t1", "NoNewPrivs:\t0")));
        assert!(
            !Confinement::read(STATUS, &MOUNTS.replace("/b ro", "/b rw"), "").read_only && !Confinement::read(STATUS, "", "").read_only
        );
    }

    #[test]
    fn an_image_that_could_run_as_root_is_refused() {
        assert_eq!(unprivileged(Some("65532:65532")).unwrap(), "65532:65532");
        for user in
            [None, Some("0:0"), Some("0"), Some("65532"), Some("65532:0"), Some("0:65532"), Some("root"), Some("nobody:nobody"), Some("")]
        {
            assert!(unprivileged(user).is_err(), "{user:?}");
        }
    }
}
