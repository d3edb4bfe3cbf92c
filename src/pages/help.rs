//! What `--help` prints: a sentence for everything, exit codes, and examples that are command lines.

use clap::Parser as _;

use super::command_line::{commands, ours};
use crate::cli::Arguments;

#[test]
fn the_help_of_every_command_has_exit_codes_and_examples_that_it_takes() {
    for mut command in commands() {
        let name = command.get_name().to_owned();
        let help = command.render_long_help().to_string();
        assert!(help.contains("\nExit codes:\n  0  "), "{name}:\n{help}");
        let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{name} has no examples:\n{help}"));
        let lines: Vec<Vec<String>> = examples.lines().flat_map(ours).collect();
        assert!(!lines.is_empty(), "{name}:\n{examples}");
        assert!(lines.iter().all(|words| words[1] == name), "{name} has an example of another command: {lines:?}");
        for words in lines {
            let read = Arguments::try_parse_from(&words);
            assert!(read.is_ok(), "{}\n{}", words.join(" "), read.unwrap_err());
        }
    }
}

#[test]
fn every_command_and_flag_has_a_sentence() {
    for command in commands() {
        let about = command.get_about().unwrap_or_else(|| panic!("{} says nothing of itself", command.get_name())).to_string();
        assert!(about.starts_with(char::is_uppercase) && !about.ends_with('.'), "{about}");
        for arg in command.get_arguments() {
            assert!(arg.get_help().is_some(), "{} of {} says nothing of itself", arg.get_id(), command.get_name());
        }
    }
}

/// A paragraph that is told below the flags is written by hand, and no terminal is asked how wide it is.
#[test]
fn what_stands_below_the_flags_fits_on_a_line() {
    for command in commands() {
        let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let longest = below.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        assert!(longest <= 132, "{}: a line below the flags has {longest} characters", command.get_name());
    }
}
