//! promtool: Prometheus' own judge of rules, queries and metrics, without a server.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::replay::Rules;
use crate::tool::{Answer, Tool};

/// The program, and a folder for what it reads.
#[derive(Clone, Debug)]
pub struct Promtool {
    tool: Tool,
    folder: PathBuf,
}

impl Promtool {
    /// In this folder, which is created.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn new(tool: Tool, folder: PathBuf) -> Result<Self> {
        fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        Ok(Self { tool, folder })
    }

    /// Tests rules; each test has a name and is a file that names `rules.json`.
    ///
    /// # Errors
    /// When a file cannot be written or the program not be run. That a test fails is an answer.
    pub async fn test(&self, rules: &Rules, tests: &[(&str, Value)]) -> Result<Answer> {
        self.write("rules.json", &rules.file())?;
        let mut arguments = vec!["test".to_owned(), "rules".to_owned()];
        for (name, test) in tests {
            arguments.push(self.write(&format!("{name}.test.json"), &test.to_string())?);
        }
        self.tool.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), "").await
    }

    /// Checks that rules can be read, and what it thinks of them.
    ///
    /// # Errors
    /// When the program cannot be run.
    pub async fn check(&self, rules: &Rules) -> Result<Answer> {
        let file = self.write("rules.json", &rules.file())?;
        self.tool.run(&["check", "rules", "--lint=all", "--lint-fatal", &file], "").await
    }

    /// What it thinks of a scrape: one complaint a line.
    ///
    /// # Errors
    /// When the program cannot be run or cannot read the scrape.
    pub async fn complaints(&self, scrape: &str) -> Result<Vec<String>> {
        let answer = self.tool.run(&["check", "metrics"], scrape).await?;
        // 3 is how it says that there are complaints and nothing else.
        let answer = if answer.code == Some(3) { answer.errors } else { answer.accepted()? };
        Ok(answer.lines().map(str::to_owned).filter(|line| !line.is_empty()).collect())
    }

    fn write(&self, name: &str, text: &str) -> Result<String> {
        let path = self.folder.join(name);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        Ok(path.to_string_lossy().into_owned())
    }
}
