//! The temporary folder of one run: state, keys and logs.
//!
//! After a run that went well nothing is left. After one that failed the logs stay and their place is printed; keys and
//! the database do not stay. A run that was killed cannot tidy up; the next one does it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::terminal::progress;

/// Start of the name of every such folder. It stands in the command line, or the environment, of every process of a run.
pub const PREFIX: &str = "node-rotation-e2e-";

/// File in it that is locked as long as the run lasts.
const LOCK: &str = "lock";

/// A folder that is removed with the value, except for the logs of a run that failed.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
    keep_logs: bool,
}

impl Folder {
    /// Creates it, for the current user only.
    ///
    /// # Errors
    /// When the folder for temporary files cannot be written.
    pub fn create() -> Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        remove_deserted(&std::env::temp_dir());
        // Not the process number: in a namespace of its own every run has the same.
        let moment = jiff::Timestamp::now().as_nanosecond();
        let path = std::env::temp_dir().join(format!("{PREFIX}{moment:x}"));
        // Under another name until it is locked, or a run that starts at the same time would take it for deserted.
        let unlocked = std::env::temp_dir().join(format!("unlocked-{PREFIX}{moment:x}"));
        let creating = || format!("creating {}", path.display());
        fs::DirBuilder::new().mode(0o700).create(&unlocked).with_context(creating)?;
        let lock = File::create(unlocked.join(LOCK)).with_context(creating)?;
        lock.lock().with_context(creating)?;
        fs::rename(&unlocked, &path).with_context(creating)?;
        for part in ["bin", "data", "keys", "logs"] {
            fs::create_dir(path.join(part)).with_context(|| format!("creating {}", path.join(part).display()))?;
        }
        Ok(Self { path, _lock: lock, keep_logs: true })
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where programs keep state.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// Where programs write what they say.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// Where certificates, keys and kubeconfigs are.
    #[must_use]
    pub fn keys(&self) -> PathBuf {
        self.path.join("keys")
    }

    /// Where the built programs are linked under their own names, for PATH.
    #[must_use]
    pub fn bin(&self) -> PathBuf {
        self.path.join("bin")
    }

    /// The run went well: nothing needs to stay.
    pub fn discard_logs(&mut self) {
        self.keep_logs = false;
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep_logs {
            let _left = fs::remove_dir_all(&self.path);
            return;
        }
        let _left = fs::remove_file(self.path.join(LOCK));
        for part in [self.bin(), self.data(), self.keys()] {
            let _left = fs::remove_dir_all(part);
        }
        progress(&format!("The logs of every program are in {}", self.logs().display()));
    }
}

/// Removes the folders of runs that are over but could not do it: they have a lock, and nobody holds it.
fn remove_deserted(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().filter_map(Result::ok);
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let deserted = File::open(entry.path().join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok());
        if deserted {
            let _left = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_run_leaves_nothing() {
        let mut folder = Folder::create().unwrap();
        let path = folder.path().to_owned();
        fs::write(folder.logs().join("etcd.log"), "ready").unwrap();
        folder.discard_logs();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn only_the_folder_of_a_run_that_is_over_is_removed() {
        let mut parent = Folder::create().unwrap();
        parent.discard_logs();
        let folder = |name: &str| {
            let path = parent.data().join(format!("{PREFIX}{name}"));
            fs::create_dir(&path).unwrap();
            path
        };
        let (alive, killed, failed) = (folder("alive"), folder("killed"), folder("failed"));
        let lock = File::create(alive.join(LOCK)).unwrap();
        lock.lock().unwrap();
        File::create(killed.join(LOCK)).unwrap();
        remove_deserted(&parent.data());
        assert_eq!([alive, killed, failed].map(|path| path.exists()), [true, false, true]);
    }

    #[test]
    fn a_failed_run_leaves_its_logs_but_no_key() {
        let folder = Folder::create().unwrap();
        let path = folder.path().to_owned();
        fs::write(folder.logs().join("etcd.log"), "ready").unwrap();
        fs::write(folder.keys().join("ca.key"), "secret").unwrap();
        drop(folder);
        assert!(path.join("logs/etcd.log").exists());
        assert!(!path.join("keys").exists());
        fs::remove_dir_all(path).unwrap();
    }
}
