//! A Dockerfile, as far as ours goes. What is not known here is refused, not skipped.

mod words;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};

/// Values by their names.
pub type Variables = BTreeMap<String, String>;

/// From one FROM to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// What it begins with: an image, an earlier stage or `scratch`.
    pub base: String,
    /// For which machine the base is, where that is said.
    pub platform: Option<String>,
    /// How later stages call it.
    pub name: Option<String>,
    /// What is done in it, in order.
    pub steps: Vec<Step>,
    /// What is said of an image that ends with it.
    pub image: Image,
}

/// One thing that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A build argument begins to be known.
    Arg {
        /// Its name.
        name: String,
        /// Its value, where none is given.
        default: Option<String>,
    },
    /// Variables of all commands from here on.
    Env(Vec<(String, String)>),
    /// Commands from here on begin in this folder.
    Workdir(String),
    /// Files come in.
    Copy {
        /// The stage that they come from; else the context.
        from: Option<String>,
        /// Their paths there.
        sources: Vec<String>,
        /// Where they go; a folder if it ends with a slash or is one.
        target: String,
    },
    /// A command of the shell.
    Run(String),
}

/// What is said of an image, beside its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// User and group.
    pub user: Option<String>,
    /// The program.
    pub entrypoint: Vec<String>,
    /// Its arguments, where none are given.
    pub command: Vec<String>,
    /// Ports.
    pub ports: Vec<String>,
    /// Labels.
    pub labels: Variables,
}

/// Reads the text of a Dockerfile.
///
/// # Errors
/// At the first line that is not understood.
pub fn read(text: &str) -> Result<Vec<Stage>> {
    let mut stages: Vec<Stage> = Vec::new();
    for (line, instruction) in instructions(text) {
        let (keyword, rest) = instruction.split_once(' ').unwrap_or((&instruction, ""));
        let context = || format!("line {line} of the Dockerfile, {keyword}");
        if keyword == "FROM" {
            stages.push(stage(rest).with_context(context)?);
        } else {
            let stage = stages.last_mut().with_context(|| format!("{}: it stands before the first FROM", context()))?;
            add(stage, keyword, rest.trim()).with_context(context)?;
        }
    }
    ensure!(!stages.is_empty(), "the Dockerfile has no FROM");
    Ok(stages)
}

/// The text with `$NAME` and `${NAME}` replaced.
///
/// # Errors
/// When a name has no value: a shell would put nothing in its place.
pub fn expanded(text: &str, variables: &Variables) -> Result<String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, after) = match after.strip_prefix('{') {
            Some(braced) => braced.split_once('}').with_context(|| format!("{text:?} has an open brace"))?,
            None => after.split_at(after.find(|c| !is_name(c)).unwrap_or(after.len())),
        };
        let value = variables.get(name).with_context(|| format!("{name:?} in {text:?} has no value"))?;
        expanded.extend([before, value]);
        rest = after;
    }
    Ok(expanded + rest)
}

/// Number of the first line and text of each instruction, with its continuation lines joined.
fn instructions(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (index, line) in text.lines().enumerate() {
        // A comment between two lines of an instruction does not end it.
        if line.trim_start().starts_with('#') || line.trim().is_empty() {
            continue;
        }
        let (part, more) = line.strip_suffix('\\').map_or((line, false), |part| (part, true));
        match found.last_mut().filter(|_| goes_on) {
            Some((_, instruction)) => instruction.push_str(part),
            None => found.push((index + 1, part.to_owned())),
        }
        goes_on = more;
    }
    found
}

fn stage(rest: &str) -> Result<Stage> {
    let (options, words) = words::options_and_words(rest)?;
    let (base, name) = match words.as_slice() {
        [base] => (base, None),
        [base, r#as, name] if r#as.eq_ignore_ascii_case("as") => (base, Some(name.clone())),
        _ => bail!("write FROM IMAGE AS NAME"),
    };
    let platform = words::only(&options, "platform")?;
    Ok(Stage { base: base.clone(), platform, name, ..Stage::default() })
}

fn add(stage: &mut Stage, keyword: &str, rest: &str) -> Result<()> {
    let step = match keyword {
        "ARG" => {
            let (name, default) = rest.split_once('=').map_or((rest, None), |(name, value)| (name, Some(value.to_owned())));
            Step::Arg { name: name.to_owned(), default }
        }
        "ENV" => Step::Env(words::pairs(rest)?),
        "WORKDIR" => Step::Workdir(rest.to_owned()),
        "COPY" => {
            let (options, mut sources) = words::options_and_words(rest)?;
            let target = sources.pop().filter(|_| !sources.is_empty()).context("write COPY SOURCE TARGET")?;
            Step::Copy { from: words::only(&options, "from")?, sources, target }
        }
        "RUN" => {
            ensure!(!rest.starts_with(['-', '[', '<']), "only a command of the shell is known here");
            Step::Run(rest.to_owned())
        }
        _ => return say(&mut stage.image, keyword, rest),
    };
    stage.steps.push(step);
    Ok(())
}

fn say(image: &mut Image, keyword: &str, rest: &str) -> Result<()> {
    match keyword {
        "LABEL" => image.labels.extend(words::pairs(rest)?),
        "USER" => image.user = Some(rest.to_owned()),
        "EXPOSE" => image.ports.extend(rest.split_whitespace().map(str::to_owned)),
        "ENTRYPOINT" => image.entrypoint = words::list(rest)?,
        "CMD" => image.command = words::list(rest)?,
        _ => bail!("this instruction is not known here"),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
