//! `completion`: a script that has a shell complete our command lines.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::{Arguments, PROGRAM, exit, output};

/// Flags of `completion`.
#[derive(Debug, Args)]
#[command(after_help = exit::help("completion", MORE, EXAMPLES))]
pub(crate) struct Options {
    /// Shell that is to complete.
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

const MORE: &str = "The script completes commands, flags, values of which there are a few, and names of files. It asks no cluster.";

const EXAMPLES: &str = "\
source <(node-rotation-controller completion bash)
node-rotation-controller completion bash > /etc/bash_completion.d/node-rotation-controller
node-rotation-controller completion zsh > \"${fpath[1]}/_node-rotation-controller\"
node-rotation-controller completion fish > ~/.config/fish/completions/node-rotation-controller.fish
node-rotation-controller completion powershell | Out-String | Invoke-Expression";

/// Prints the script.
///
/// # Errors
/// When it cannot be printed.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), PROGRAM, &mut script);
    output::write(&mended(&String::from_utf8_lossy(&script)))
}

/// In the script for bash the commands of a program with dashes in its name are looked up by other names than they are given,
/// so that nothing behind a command is completed (clap-rs/clap#6421, seen with clap_complete 4.6.12). Where that is mended
/// nothing is found to be replaced.
fn mended(script: &str) -> String {
    script.replace(&PROGRAM.replace('-', "__subcmd__"), &PROGRAM.replace('-', "__"))
}
