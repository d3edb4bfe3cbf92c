//! Exit codes: the table of the page is that of the program, for every command that there is.

use super::command_line::commands;
use crate::cli::exit::TABLE;

const PAGE: &str = "docs/command-line.md";

#[test]
fn every_command_has_its_exit_codes() {
    let of_table: Vec<String> = TABLE.iter().map(|codes| codes.command.to_owned()).collect();
    let commands: Vec<String> = commands().iter().map(|command| command.get_name().to_owned()).collect();
    assert_eq!(of_table, commands, "src/cli/exit.rs");
    for codes in TABLE {
        let [done, _, wrong] = codes.meanings;
        assert!(done.is_some() && wrong.is_some_and(|wrong| wrong.starts_with("wrong use")), "{codes:?}");
    }
}

/// A row for each command.
pub(super) fn table() -> String {
    let rows = TABLE.iter().map(|codes| {
        let [done, no, wrong] = codes.meanings.map(|meaning| meaning.unwrap_or("never"));
        format!("| `{}` | {done} | {no} | {wrong} |\n", codes.command)
    });
    format!("| command | 0 | 1 | 2 |\n|---|---|---|---|\n{}", rows.collect::<String>())
}

/// Nowhere else is there a second table that could say something else.
#[test]
fn exit_codes_are_told_once() {
    for page in super::markdown::all().iter().filter(|page| page.name != PAGE) {
        let told = page.text().contains("| exit code |") || page.text().contains("Exit codes:");
        assert!(!told, "{}: point to docs/command-line.md instead", page.name);
    }
}
