//! The release before this one: what people upgrade from.
//!
//! The newest tag that is older than the commit at hand, if there is one. Until then the chart as it was before it had
//! hooks: nobody brought its definition up to date or took its marks off. Both are taken from the repository's own history.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::chart;
use crate::repository;
use crate::tool::Tool;

/// The file whose arrival ends the state that is used while there is no tag.
const FIRST_HOOK: &str = "charts/node-rotation-controller/templates/hooks/crds.yaml";

/// Writes the chart of the release before into `folder`, and returns the chart's folder and the name of the commit.
///
/// # Errors
/// When the history is not there, as in a shallow clone.
pub async fn before(folder: &Path) -> Result<(PathBuf, String)> {
    let root = root().display().to_string();
    let git = Tool { program: "git".into(), environment: Vec::new() };
    let git = async |arguments: &[&str]| git.run(&[&["-C", &root], arguments].concat(), "").await;
    let tag = git(&["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^"]).await?;
    let commit = if tag.success {
        tag.output.trim().to_owned()
    } else {
        let first = git(&["log", "--diff-filter=A", "--format=%H", "--", FIRST_HOOK]).await?.accepted()?;
        let first =
            first.lines().last().context("the history of this clone does not go back to the chart without hooks; fetch all of it")?;
        format!("{}^", first.trim())
    };
    let archive = folder.join("chart.tar");
    let chart = format!("{commit}:charts");
    let target = archive.display().to_string();
    git(&["archive", "--output", &target, &chart]).await?.accepted()?;
    let tar = Tool { program: "tar".into(), environment: Vec::new() };
    tar.run(&["-xf", &target, "-C", &folder.display().to_string()], "").await?.accepted()?;
    let found = folder.join(chart::RELEASE);
    ensure!(found.join("Chart.yaml").is_file(), "{commit} has no chart");
    Ok((found, commit))
}

fn root() -> PathBuf {
    repository::path("")
}
