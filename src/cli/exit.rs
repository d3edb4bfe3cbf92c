//! Exit codes: one table for `--help`, the manual, docs/command-line.md and the tests.
//!
//! They mean the same for every command. 0: the answer is yes, or it is done. 1: the answer is no, or it could not be done.
//! 2: there is no answer, since the question, what it is about, or standard output is not what it should be.

use crate::cli::Usage;
use crate::client;

/// What the exit codes of a command say.
#[derive(Debug)]
pub(crate) struct Codes {
    /// Name of the command.
    pub(crate) command: &'static str,
    /// What each of the codes 0, 1 and 2 says; `None` if the command never ends with it.
    pub(crate) meanings: [Option<&'static str>; 3],
}

const UNREAD_CLUSTER: &str = "wrong use, or a cluster that cannot be read";

/// All commands, in the order in which `--help` lists them.
pub(crate) const TABLE: [Codes; 8] = [
    Codes {
        command: "run",
        meanings: [
            Some("it was told to stop, by SIGTERM or SIGINT"),
            Some("it cannot do its work, or a part of it has ended"),
            Some("wrong use, or no cluster is configured"),
        ],
    },
    Codes {
        command: "check",
        meanings: [
            Some("every policy is accepted"),
            Some("one is refused, or a NodePool has a duration that cannot be read"),
            Some("wrong use, or input that cannot be read"),
        ],
    },
    Codes {
        command: "plan",
        meanings: [
            Some("every node of now is rotated in time, as far as the horizon reaches"),
            Some("a node would expire by force, or a policy or a NodePool has faults"),
            Some("wrong use, or input or a cluster that cannot be read"),
        ],
    },
    Codes {
        command: "simulate",
        meanings: [
            Some("no node expires by force"),
            Some("one does, or a policy has faults"),
            Some("wrong use, or input that cannot be read"),
        ],
    },
    Codes {
        command: "cleanup",
        meanings: [
            Some("nothing is left to remove"),
            Some("something is: it was only listed, or could not be written"),
            Some(UNREAD_CLUSTER),
        ],
    },
    Codes {
        command: "crd",
        meanings: [Some("it is printed, or served"), Some("it cannot be applied, or is not served in time"), Some(UNREAD_CLUSTER)],
    },
    Codes { command: "completion", meanings: [Some("it is printed"), None, Some("wrong use")] },
    Codes { command: "version", meanings: [Some("it is printed"), None, Some("wrong use")] },
];

/// What stands below the flags in the help of a command: its exit codes, a paragraph if there is more to say, examples.
pub(crate) fn help(command: &str, more: &str, examples: &str) -> String {
    let meanings = TABLE.iter().filter(|codes| codes.command == command).flat_map(|codes| codes.meanings.iter().enumerate());
    let codes: Vec<String> = meanings.filter_map(|(code, meaning)| meaning.map(|meaning| format!("  {code}  {meaning}"))).collect();
    let more = if more.is_empty() { String::new() } else { format!("{more}\n\n") };
    let examples = examples.lines().map(|line| format!("\n  {line}")).collect::<String>();
    format!("Exit codes:\n{}\n\n{more}Examples:{examples}", codes.join("\n"))
}

/// What kept a command from answering.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unanswered(pub(crate) String);

/// The code with which the process ends for an error. Flags that cannot be read are 2 as well, as clap has it.
pub(crate) fn code(error: &anyhow::Error) -> u8 {
    let unanswered = error.is::<Usage>() || error.is::<Unanswered>() || error.is::<client::Error>();
    if unanswered { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn what_kept_a_command_from_answering_is_told_apart_from_a_no() {
        let broken = || std::io::Error::other("broken");
        let unanswered = Err::<(), _>(broken()).context(Unanswered("reading it".to_owned())).context("applying it").unwrap_err();
        let failed = Err::<(), _>(broken()).context("applying it").unwrap_err();
        assert_eq!((code(&unanswered), code(&failed), code(&Usage("no".to_owned()).into())), (2, 1, 2));
    }

    #[test]
    fn the_help_of_a_command_has_its_codes_what_more_there_is_and_examples() {
        let expected = "Exit codes:\n  0  it is printed\n  2  wrong use\n\nMore.\n\nExamples:\n  a\n  b";
        assert_eq!(help("version", "More.", "a\nb"), expected);
        assert_eq!(help("version", "", "a"), "Exit codes:\n  0  it is printed\n  2  wrong use\n\nExamples:\n  a");
    }
}
