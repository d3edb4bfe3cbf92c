//! How many instructions the rules take, compared with those that are written down: `make bench-check`.
//!
//! Valgrind counts them, each subject in a process of its own that does it once and one that does it many times; the difference
//! is what it costs without the start. On the same compiler the figures are the same to a hundredth, whatever else the machine
//! does. `BLESS=1` writes them down anew.

#![expect(clippy::print_stdout, reason = "it is what people read")]

mod subjects;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// A subject that takes more than so many hundredths more or less than is written down has changed.
const TOLERANCE: u64 = 10;
/// How often it is done; the more, the less the noise of allocations counts.
const TIMES: u64 = 8;

type Error = Box<dyn std::error::Error>;
type Figures = BTreeMap<String, u64>;

fn main() -> Result<ExitCode, Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        // In the process that is counted.
        [flag, name, times] if flag == "--count" => {
            count(name, times.parse()?)?;
            Ok(ExitCode::SUCCESS)
        }
        _ => compare(),
    }
}

fn named(name: &str) -> Option<subjects::Subject> {
    subjects::ALL.iter().flat_map(|make| make()).find(|subject| subject.name == name)
}

fn count(name: &str, times: u64) -> Result<(), Error> {
    let subject = named(name).ok_or_else(|| format!("there is no subject {name:?}"))?;
    (0..times).for_each(|_| (subject.run)());
    Ok(())
}

fn compare() -> Result<ExitCode, Error> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("SKIPPED: instructions were not counted, since there is no valgrind; install it");
        return Ok(ExitCode::SUCCESS);
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.json");
    let written: Figures = std::fs::read_to_string(&path).map_or_else(|_| Ok(Figures::new()), |text| serde_json::from_str(&text))?;
    let names: Vec<String> = subjects::ALL.iter().flat_map(|make| make()).map(|subject| subject.name).collect();
    let mut seen = Figures::new();
    let mut changed = false;
    println!("| what | instructions | written down | |\n|---|---:|---:|---|");
    for name in names {
        let figure = (instructions(&name, TIMES + 1)?.saturating_sub(instructions(&name, 1)?)) / TIMES;
        let before = written.get(&name).copied();
        let verdict = verdict(figure, before);
        changed |= verdict != "as before";
        println!("| {name} | {figure} | {} | {verdict} |", before.map_or_else(String::new, |before| before.to_string()));
        seen.insert(name, figure);
    }
    for gone in written.keys().filter(|name| !seen.contains_key(*name)) {
        changed = true;
        println!("| {gone} | | | is no subject any more |");
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(&seen)? + "\n")?;
        println!("\n{} has these figures now.", path.display());
        return Ok(ExitCode::SUCCESS);
    }
    if changed {
        println!("\nWhere that is meant, say why in the commit and write them down with BLESS=1 make bench-check.");
    }
    Ok(if changed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn verdict(figure: u64, before: Option<u64>) -> &'static str {
    match before {
        None => "not written down",
        Some(before) if figure * 100 > before * (100 + TOLERANCE) => "more",
        Some(before) if figure * (100 + TOLERANCE) < before * 100 => "fewer",
        Some(_) => "as before",
    }
}

/// Instructions of a process that does the subject so often.
fn instructions(name: &str, times: u64) -> Result<u64, Error> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(std::env::current_exe()?);
    let output = valgrind.args(["--count", name, &times.to_string()]).output()?;
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let collected = told.lines().find_map(|line| line.split_once("Collected : "));
    let figure = collected.and_then(|(_, figure)| figure.trim().parse().ok()).filter(|_| output.status.success());
    Ok(figure.ok_or_else(|| format!("valgrind, of {name:?}: {told}"))?)
}
