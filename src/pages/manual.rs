//! The manual in roff, one page of the program and one of each command; `make man` writes it to `target/man/`.

use std::collections::BTreeMap;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::command_line::{flags, long};
use crate::cli::version::VERSION;
use crate::cli::{Arguments, PROGRAM};

/// What stands below the flags in the help, and the heading of it in a manual.
const SECTIONS: [(&str, &str); 3] = [("Exit codes:\n", "EXIT STATUS"), ("Examples:\n", "EXAMPLES"), ("", "NOTES")];

/// Text of every page by the name of its file.
fn pages() -> BTreeMap<String, String> {
    let mut program = Arguments::command();
    program.build();
    let commands: Vec<Command> = program.get_subcommands().cloned().collect();
    let others = commands.iter().map(|command| format!("{PROGRAM}-{}(1)", command.get_name())).collect::<Vec<_>>();
    let mut pages = BTreeMap::from([(format!("{PROGRAM}.1"), page(program, PROGRAM, &others))]);
    for command in commands {
        let name = format!("{PROGRAM}-{}", command.get_name());
        pages.insert(format!("{name}.1"), page(command, &name, &[format!("{PROGRAM}(1)")]));
    }
    pages
}

fn page(command: Command, name: &str, others: &[String]) -> String {
    let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (has_flags, has_commands) = (command.get_arguments().next().is_some(), command.has_subcommands());
    let page = Man::new(command).title(name).source(format!("{PROGRAM} {VERSION}")).manual("User Commands");
    let mut roff = Vec::new();
    page.render_title(&mut roff).unwrap();
    page.render_name_section(&mut roff).unwrap();
    page.render_synopsis_section(&mut roff).unwrap();
    page.render_description_section(&mut roff).unwrap();
    if has_flags {
        page.render_options_section(&mut roff).unwrap();
    }
    if has_commands {
        page.render_subcommands_section(&mut roff).unwrap();
    }
    for paragraph in below.split("\n\n").filter(|paragraph| !paragraph.is_empty()) {
        let (begin, heading) = SECTIONS.into_iter().find(|(begin, _)| paragraph.starts_with(begin)).unwrap();
        section(heading, paragraph.trim_start_matches(begin)).to_writer(&mut roff).unwrap();
    }
    section("SEE ALSO", &others.join(", ")).to_writer(&mut roff).unwrap();
    String::from_utf8(roff).unwrap()
}

/// Lines as they are: examples are copied from them.
fn section(heading: &str, text: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", [heading]).control("nf", []);
    for line in text.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}

/// With `MANUAL=FOLDER` the pages are written there.
#[test]
fn the_manual_has_a_page_of_every_command_with_all_its_flags() {
    let pages = pages();
    let folder = std::env::var_os("MANUAL").map(std::path::PathBuf::from);
    let mut program = Arguments::command();
    program.build();
    for command in program.get_subcommands() {
        let file = format!("{PROGRAM}-{}.1", command.get_name());
        let text = pages[&file].replace('\\', "");
        for flag in flags(command).map(long) {
            assert!(text.contains(&flag), "{file} does not name {flag}:\n{text}");
        }
        for heading in ["NAME", "SYNOPSIS", "DESCRIPTION", "\"EXIT STATUS\"", "EXAMPLES", "\"SEE ALSO\""] {
            assert!(text.contains(&format!(".SH {heading}\n")), "{file} has no section {heading}:\n{text}");
        }
    }
    if let Some(folder) = folder {
        std::fs::create_dir_all(&folder).unwrap();
        for (file, text) in pages {
            std::fs::write(folder.join(file), text).unwrap();
        }
    }
}

/// A line that begins with a dot or a quote would be a request, and lost.
#[test]
fn no_line_of_the_manual_is_lost() {
    let text = section("EXAMPLES", ".a\n'b\n- c\\d").to_roff();
    assert!(!text.contains("\n.a") && !text.contains("\n'b"), "{text}");
    for (file, text) in pages() {
        let requests = text.lines().filter_map(|line| line.strip_prefix('.')).map(|line| line.split(' ').next().unwrap_or_default());
        for request in requests {
            assert!(
                ["TH", "SH", "SS", "TP", "IP", "RS", "RE", "PP", "br", "nf", "fi", "ie", "el", "if", "ds", "in"].contains(&request),
                "{file}: .{request}"
            );
        }
    }
}
