//! The command line: docs/command-line.md is made from it, and command lines in pages are read by it.

use clap::{Arg, Command, CommandFactory as _, Parser as _};

use super::markdown::{self, Page, Row};
use super::source::{self, calls, tokens};
use super::{Names, assert_same, exit, names, root};
use crate::cli::Arguments;

const PAGE: &str = "docs/command-line.md";
const PROGRAM: &str = "node-rotation-controller";

pub(super) fn commands() -> Vec<Command> {
    let mut command = Arguments::command();
    command.build();
    command.get_subcommands().cloned().collect()
}

/// What may be given to a command, but for what every one takes.
fn arguments(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !matches!(arg.get_id().as_str(), "help" | "version"))
}

/// The same without what has its meaning from its place.
pub(super) fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
    arguments(command).filter(|arg| !arg.is_positional())
}

pub(super) fn long(arg: &Arg) -> String {
    format!("--{}", arg.get_long().unwrap_or_else(|| panic!("{} has no long name", arg.get_id())))
}

/// Every flag of every command.
pub(super) fn all_flags() -> Names {
    let of_all = commands().iter().flat_map(|command| flags(command).map(long).collect::<Vec<_>>()).collect::<Vec<_>>();
    names(of_all.into_iter().chain(["--help", "--version"].map(str::to_owned)))
}

/// Every variable that stands for a flag.
pub(super) fn variables() -> Names {
    commands().iter().flat_map(|command| flags(command).filter_map(variable).collect::<Vec<_>>()).collect()
}

pub(super) fn variable(arg: &Arg) -> Option<String> {
    arg.get_env().map(|name| name.to_string_lossy().into_owned())
}

/// A row for each flag of a command.
fn table(command: &Command) -> String {
    let rows = arguments(command).map(|arg| {
        let short = arg.get_short().map(|short| format!("`-{short}` ")).unwrap_or_default();
        let value =
            arg.get_value_names().filter(|_| arg.get_action().takes_values()).map(|names| format!(" {}", names[0])).unwrap_or_default();
        let quoted = |text: String| format!("`{text}`");
        let variable = variable(arg).map(quoted).unwrap_or_default();
        let defaults: Vec<String> = arg.get_default_values().iter().map(|value| quoted(value.to_string_lossy().into_owned())).collect();
        let defaults = defaults.into_iter().filter(|_| !value.is_empty()).collect::<Vec<_>>().join(", ");
        let help = arg.get_long_help().or_else(|| arg.get_help()).unwrap().to_string();
        let written = if arg.is_positional() { value.trim_start().to_owned() } else { format!("{}{value}", long(arg)) };
        format!("| {short}`{written}` | {variable} | {defaults} | {}.{} |\n", help.trim_end_matches('.'), values(arg))
    });
    format!("| flag | variable | default | what it does |\n|---|---|---|---|\n{}", rows.collect::<String>())
}

/// What may be given, where that is one of a few words.
fn values(arg: &Arg) -> String {
    let possible = arg.get_possible_values();
    let told = possible.iter().map(|value| match value.get_help() {
        Some(help) => format!("`{}`: {}", value.get_name(), help.to_string().trim_end_matches('.')),
        None => format!("`{}`", value.get_name()),
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() || !arg.get_action().takes_values() { String::new() } else { format!(" {}.", told.join("; ")) }
}

/// `BLESS=1` (`make flags-docs`) writes the tables anew.
#[test]
fn the_tables_of_the_page_are_those_of_the_command_line() {
    let page = Page::new(PAGE);
    let mut expected = page.text().to_owned();
    let of_commands = commands().into_iter().filter(|command| arguments(command).next().is_some());
    let tables = of_commands.map(|command| (command.get_name().to_owned(), table(&command)));
    for (what, table) in tables.chain([("exit codes".to_owned(), exit::table())]) {
        let begin = format!("<!-- {what}: written by `make flags-docs` -->\n\n");
        let (head, rest) = expected.split_once(&begin).unwrap_or_else(|| panic!("{PAGE} has no line {begin}"));
        let (_, tail) = rest.split_once("<!-- end -->").unwrap();
        expected = format!("{head}{begin}{table}\n<!-- end -->{tail}");
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(root().join(PAGE), expected).unwrap();
    } else {
        assert_eq!(page.text(), expected, "`make flags-docs` writes it anew");
    }
}

#[test]
fn every_command_has_a_section() {
    let sections = page_sections();
    let commands: Names = names(commands().iter().map(|command| command.get_name().to_owned()));
    let of_page: Names = sections.into_iter().filter(|section| !section.contains(' ')).collect();
    assert_same(PAGE, &of_page, &commands);
}

fn page_sections() -> Names {
    names(Page::new(PAGE).text().lines().filter_map(|line| line.strip_prefix("## ")))
}

/// Variables that are read by the program itself; two more by the libraries that it is built with.
#[test]
fn every_variable_without_a_flag_has_a_row() {
    let read = |(_, text): (String, String)| calls(&tokens(&text), "env::var", false);
    let variables = source::products().into_iter().flat_map(read).map(|arguments| arguments[0][0].text().unwrap().to_owned());
    let others = ["KUBECONFIG", "NO_COLOR"].map(str::to_owned);
    let rows = Page::new(PAGE).rows();
    let of_page = rows.iter().filter(|row| row.section == "Variables without a flag").flat_map(Row::subjects);
    assert_same(PAGE, &of_page.collect(), &variables.chain(others).collect());
}

/// Our command lines in a piece of shell: what stands before, beside or after them is another's.
pub(super) fn ours(shell: &str) -> Vec<Vec<String>> {
    let joined = shell.replace("\\\n", " ");
    let mut found = Vec::new();
    for line in joined.lines() {
        for part in line.split(" | ").flat_map(|part| part.split(" && ")) {
            let words = part.trim().trim_start_matches("$ ").split_whitespace().take_while(|word| !word.starts_with('#') && *word != ">");
            let words: Vec<&str> = words.collect();
            // In a container it is named by its path, after the command that runs it there.
            let place = words.iter().enumerate().position(|(place, word)| *word == format!("/{PROGRAM}") || place == 0 && *word == PROGRAM);
            found.extend(place.map(|place| words[place..].iter().map(|word| (*word).to_owned()).collect()));
        }
    }
    found
}

#[test]
fn every_command_line_of_ours_in_any_page_is_one() {
    let mut found = 0;
    for page in markdown::all() {
        let blocks = page.blocks().into_iter().filter(|(language, _)| ["sh", "console", "text", ""].contains(language));
        let shell: Vec<String> = blocks.map(|(_, text)| text.to_owned()).chain(page.code()).collect();
        // Alone, or with a command alone, it is a name, and not a command line.
        let named = |words: &[String]| matches!(words, [_, command] if commands().iter().any(|known| known.get_name() == command));
        for words in shell.iter().flat_map(|text| ours(text)).filter(|words| words.len() > 1 && !named(words)) {
            found += 1;
            let read = Arguments::try_parse_from(&words);
            let refused = read.err().filter(|error| error.use_stderr());
            assert!(refused.is_none(), "{}: {}\n{}", page.name, words.join(" "), refused.unwrap());
        }
    }
    assert!(found > 20, "only {found} command lines were found");
}

#[test]
fn a_command_line_is_found_wherever_it_stands() {
    let shell = "kubectl get nodepools -o yaml | node-rotation-controller check -f policy.yaml -f - # sums up\n\
                 kubectl exec deploy/node-rotation-controller -- /node-rotation-controller cleanup \\\n  --namespace a\n\
                 helm install node-rotation-controller charts/node-rotation-controller\n$ node-rotation-controller version";
    let found: Vec<String> = ours(shell).iter().map(|words| words.join(" ")).collect();
    let expected = [
        "node-rotation-controller check -f policy.yaml -f -",
        "/node-rotation-controller cleanup --namespace a",
        "node-rotation-controller version",
    ];
    assert_eq!(found, expected);
    assert!(Arguments::try_parse_from(["node-rotation-controller", "check", "--filenames", "a"]).is_err());
}
