//! The fleet and the policies of a simulation, as files hold them, with all that is wrong with them.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use noderotation_core::check::Strictness;
use noderotation_core::policy::fault;
use noderotation_core::resolve::PolicyEntry;
use noderotation_manifest::{Located, Manifest, document};
use noderotation_simulate::fleet::{self, Fleet, Times};

use crate::cli::check::judge;
use crate::cli::source;
use crate::ui::Fault;

/// Policies that belong together.
pub(super) struct Set {
    /// Where they are written.
    pub(super) name: String,
    /// As they are written.
    pub(super) manifest: Manifest,
}

impl Set {
    /// As the resolution of a pool takes them.
    pub(super) fn entries(&self) -> Vec<PolicyEntry> {
        self.manifest.policies.iter().map(|policy| PolicyEntry::from_object(&policy.value)).collect()
    }

    /// Why the API server would refuse some.
    pub(super) fn refusals(&self, now: Timestamp) -> Vec<Fault> {
        let report = judge(&self.manifest, Strictness::default(), now);
        let refused = report.policies.into_iter().filter(|policy| !policy.accepted);
        refused.flat_map(|policy| policy.faults).map(Fault::from).collect()
    }
}

/// One set, or one for each file or folder of `compare`.
pub(super) fn policies(filenames: &[PathBuf], compare: &[PathBuf], recursive: bool) -> Vec<Set> {
    let joined = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    if compare.is_empty() {
        return vec![Set { name: joined(filenames), manifest: source::read(filenames, recursive) }];
    }
    let of = |path: &PathBuf| {
        let mut manifest = source::read(filenames, recursive);
        let own = source::read(std::slice::from_ref(path), recursive);
        let name = |policy: &Located| policy.value.pointer("/metadata/name").cloned();
        // Each in place of the one of its name.
        manifest.policies.retain(|policy| !own.policies.iter().any(|other| name(other) == name(policy)));
        manifest.policies.extend(own.policies);
        manifest.errors.extend(own.errors);
        Set { name: short(path), manifest }
    };
    compare.iter().map(of).collect()
}

/// The name of a file without its folder.
fn short(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Reads the text of a fleet; `name` is what faults call it.
///
/// # Errors
/// Every fault that it has, with its place, in the order of the text.
pub(super) fn fleet(name: &str, text: &str, times: Times) -> Result<Fleet, Vec<Fault>> {
    let written = document(name, text).map_err(|broken| vec![Fault::located(&broken)])?;
    fleet::read(&written.value, times).map_err(|mut faults| {
        faults.sort_by_key(|fault| written.place(&fault.field));
        let placed = |fault: fault::Fault| {
            // A flag is in no file.
            let at = (!fault.field.starts_with("--")).then(|| written.at(&fault.field));
            Fault { at, message: fault.words(), field: fault.field }
        };
        faults.into_iter().map(placed).collect()
    })
}
