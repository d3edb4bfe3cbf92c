//! What a person at the terminal reads.
//!
//! Progress goes to standard error, results to standard output. A reader that has gone away is no reason to fail.

use std::io::Write as _;
use std::time::Duration;

/// Writes one line of a result to standard output.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _unheard = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Writes one line of progress, or a complaint, to standard error.
pub fn progress(line: &str) {
    let _unheard = writeln!(std::io::stderr(), "{line}");
}

/// A time that has passed, as people read it: `0.4s`, `41s`, `6m05s`.
#[must_use]
pub fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{seconds}.{}s", time.subsec_millis() / 100),
        10..60 => format!("{seconds}s"),
        _ => format!("{}m{:02}s", seconds / 60, seconds % 60),
    }
}

/// Puts four spaces before each line.
#[must_use]
pub fn indented(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elapsed_grows_coarser() {
        let cases = [(0, "0.0s"), (419, "0.4s"), (9_999, "9.9s"), (10_000, "10s"), (59_999, "59s"), (365_000, "6m05s")];
        for (millis, expected) in cases {
            assert_eq!(elapsed(Duration::from_millis(millis)), expected, "{millis} ms");
        }
    }

    #[test]
    fn indented_keeps_the_lines() {
        assert_eq!(indented("one\n  two\n"), "    one\n      two");
    }
}
