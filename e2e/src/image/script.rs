//! The stages of a Dockerfile as a script of the shell.
//!
//! Commands run as they stand in the file, one after the other, each in the layer of its stage. A base image is played by
//! this machine's own files.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};

use super::dockerfile::{Stage, Step, Variables, expanded};

/// Functions that the script uses.
const FUNCTIONS: &str = include_str!("stages.sh");

/// Where things are, and what the machine gives.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    /// The repository.
    pub(super) repository: String,
    /// A file with the paths of the context, one a line.
    pub(super) context: String,
    /// Where the layers are mounted.
    pub(super) layers: String,
    /// Where what is compiled outlives the run, as Docker's layers do.
    pub(super) compiled: String,
    /// Where the files of the last stage go.
    pub(super) image: String,
    /// The environment of the base image.
    pub(super) environment: Variables,
    /// Build arguments, also those that Docker sets itself.
    pub(super) arguments: Variables,
}

/// A stage that the script has come to.
#[derive(Clone, Default)]
struct Place {
    name: Option<String>,
    /// Folder of the layer.
    layer: String,
    /// What a stage that begins with this one lies above.
    lower: String,
    root: String,
    environment: Variables,
    arguments: Variables,
    folder: String,
    keeps: bool,
}

/// The script of all stages.
///
/// # Errors
/// When a stage does what cannot be done here.
pub(super) fn of(stages: &[Stage], site: &Site) -> Result<String> {
    let mut script = FUNCTIONS.to_owned();
    let mut places: Vec<Place> = Vec::new();
    writeln!(script, "layers {}", quoted(&site.layers))?;
    for (number, stage) in stages.iter().enumerate() {
        let mut place = begun(stage, number, &places, site)?;
        writeln!(script, "\n# {}", stage.name.as_deref().unwrap_or(&stage.base))?;
        if place.lower.is_empty() {
            writeln!(script, "empty {}", quoted(&place.root))?;
        } else {
            let below = place.lower.split_once(':').map_or("/", |(_, below)| below);
            writeln!(script, "layer {} {}", quoted(&place.layer), quoted(below))?;
        }
        for step in &stage.steps {
            place.go(step, &places, site, &mut script)?;
        }
        places.push(place);
    }
    Ok(script)
}

fn begun(stage: &Stage, number: usize, places: &[Place], site: &Site) -> Result<Place> {
    let name = stage.name.clone();
    if stage.base == "scratch" {
        return Ok(Place { name, root: site.image.clone(), folder: "/".to_owned(), ..Place::default() });
    }
    let layer = format!("{}/{number}", site.layers);
    let root = format!("{layer}/root");
    let place = match places.iter().find(|place| place.name.as_ref() == Some(&stage.base)) {
        Some(base) => base.clone(),
        None => Place { lower: "/".to_owned(), environment: site.environment.clone(), folder: "/".to_owned(), ..Place::default() },
    };
    let lower = format!("{layer}/upper:{}", place.lower);
    Ok(Place { name, layer, lower, root, arguments: Variables::new(), keeps: false, ..place })
}

impl Place {
    fn go(&mut self, step: &Step, places: &[Self], site: &Site, script: &mut String) -> Result<()> {
        match step {
            Step::Arg { name, default } => {
                let value = site.arguments.get(name).or(default.as_ref());
                self.arguments.extend(value.map(|value| (name.clone(), value.clone())));
            }
            Step::Env(pairs) => {
                for (name, value) in pairs {
                    let value = expanded(value, &self.variables())?;
                    self.environment.insert(name.clone(), value);
                }
            }
            Step::Workdir(folder) => {
                self.folder = joined(&self.folder, folder);
                writeln!(script, "mkdir -p {}", quoted(&joined(&self.root, self.folder.trim_start_matches('/'))))?;
            }
            Step::Copy { from, sources, target } => self.copy(from.as_deref(), sources, target, places, site, script)?,
            Step::Run(command) => self.run(command, site, script)?,
        }
        Ok(())
    }

    /// Whatever of variables is known now.
    fn variables(&self) -> Variables {
        self.arguments.iter().chain(&self.environment).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    fn copy(&self, from: Option<&str>, sources: &[String], target: &str, places: &[Self], site: &Site, script: &mut String) -> Result<()> {
        let target = format!("{}{}", self.root, joined(&self.folder, target));
        let Some(from) = from else {
            ensure!(sources == ["."], "of the context only all of it can be copied here");
            writeln!(script, "context {} {} {}", quoted(&site.repository), quoted(&site.context), quoted(&target))?;
            return Ok(());
        };
        let place = places.iter().find(|place| place.name.as_deref() == Some(from));
        let place = place.with_context(|| format!("there is no stage {from} before this one"))?;
        for source in sources {
            let source = format!("{}{}", place.root, joined("/", source));
            writeln!(script, "copy {} {}", quoted(&source), quoted(&target))?;
        }
        Ok(())
    }

    fn run(&mut self, command: &str, site: &Site, script: &mut String) -> Result<()> {
        ensure!(!self.layer.is_empty(), "a stage from scratch has nothing that could run {command}");
        if command.contains("cargo build") && !self.keeps {
            self.keeps = true;
            let target = format!("{}{}", self.root, joined(&self.folder, "target"));
            writeln!(script, "keep {} {}", quoted(&target), quoted(&site.compiled))?;
        }
        let variables: String = self.variables().iter().map(|(name, value)| format!(" {}", quoted(&format!("{name}={value}")))).collect();
        let (root, folder) = (quoted(&self.root), quoted(&self.folder));
        writeln!(script, "chroot {root} /usr/bin/env -i --chdir={folder}{variables} /bin/sh -c {}", quoted(command))?;
        Ok(())
    }
}

/// A path as seen from a folder.
fn joined(folder: &str, path: &str) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    let path = path.trim_start_matches("./");
    format!("{}/{}", folder.trim_end_matches('/'), if path == "." { "" } else { path })
}

/// One word of the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::super::dockerfile::read;
    use super::*;

    fn script(dockerfile: &str) -> Result<String> {
        let variables = |pairs: &[(&str, &str)]| pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let site = Site {
            repository: "/repository".to_owned(),
            context: "/context".to_owned(),
            layers: "/layers".to_owned(),
            compiled: "/compiled".to_owned(),
            image: "/image".to_owned(),
            environment: variables(&[("PATH", "/bin")]),
            arguments: variables(&[("TARGETARCH", "arm64")]),
        };
        let script = of(&read(dockerfile)?, &site)?;
        Ok(script.strip_prefix(FUNCTIONS).unwrap().to_owned())
    }

    #[test]
    fn stages_become_layers_and_their_commands_run_as_they_stand() {
        let text = script(concat!(
            "FROM rust:1 AS tools\nARG TARGETARCH\nENV A=1\nRUN echo 'it' > /x\nWORKDIR /src\n",
            "FROM tools AS build\nCOPY . .\nRUN cargo build\nRUN cargo build --again\n",
            "FROM scratch\nCOPY --from=build /src/program /\n",
        ));
        insta::assert_snapshot!(text.unwrap(), @r"
        layers '/layers'

        # tools
        layer '/layers/0' '/'
        chroot '/layers/0/root' /usr/bin/env -i --chdir='/' 'A=1' 'PATH=/bin' 'TARGETARCH=arm64' /bin/sh -c 'echo '\''it'\'' > /x'
        mkdir -p '/layers/0/root/src'

        # build
        layer '/layers/1' '/layers/0/upper:/'
        context '/repository' '/context' '/layers/1/root/src/'
        keep '/layers/1/root/src/target' '/compiled'
        chroot '/layers/1/root' /usr/bin/env -i --chdir='/src' 'A=1' 'PATH=/bin' /bin/sh -c 'cargo build'
        chroot '/layers/1/root' /usr/bin/env -i --chdir='/src' 'A=1' 'PATH=/bin' /bin/sh -c 'cargo build --again'

        # scratch
        empty '/image'
        copy '/layers/1/root/src/program' '/image/'
        ");
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for (text, expected) in [
            ("FROM scratch\nRUN x", "has nothing that could run"),
            ("FROM x\nCOPY --from=y a b", "there is no stage y"),
            ("FROM x\nCOPY a b", "only all of it"),
            ("FROM x\nENV A=$B", "has no value"),
        ] {
            let error = script(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn paths_are_seen_from_the_folder() {
        for (folder, path, expected) in [("/", "src", "/src"), ("/src", ".", "/src/"), ("/src", "/x", "/x"), ("/src/", "./a/b", "/src/a/b")]
        {
            assert_eq!(joined(folder, path), expected);
        }
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
