//! `noderotation-sim`: explores the model, proves that it can fail, or lives through made-up clusters, and prints what it
//! found.

#[path = "main/explore.rs"]
mod explore;
#[path = "main/faults.rs"]
mod faults;
#[path = "main/lives.rs"]
mod lives;

use std::io::Write as _;
use std::process::ExitCode;

/// Perturbations that are explored unless more are asked for.
const DEPTH: u32 = 2;
/// Seeds that are lived through unless one is asked for.
const SEEDS: u64 = 20_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let sound = match words.as_slice() {
        ["model"] => Some(explore::all(DEPTH)),
        ["model", depth] => depth.parse().ok().map(explore::all),
        ["faults"] => Some(faults::all("")),
        ["faults", only] => Some(faults::all(only)),
        ["simulate"] => Some(lives::many(0, SEEDS)),
        ["simulate", seed] => seed.parse().ok().map(lives::one),
        ["simulate", first, count] => first.parse().ok().zip(count.parse().ok()).map(|(first, count)| lives::many(first, count)),
        _ => None,
    };
    match sound {
        Some(true) => ExitCode::SUCCESS,
        Some(false) => ExitCode::FAILURE,
        None => {
            print("usage: noderotation-sim model [PERTURBATIONS] | faults [PART OF A NAME] | simulate [SEED | FIRST COUNT]");
            ExitCode::FAILURE
        }
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Nobody to be told means nothing to be done about it.
fn print(text: &str) {
    drop(writeln!(std::io::stdout().lock(), "{text}"));
}
