//! Warnings cut to what the API server passes on.
//!
//! It takes 4096 characters in all and cuts single ones short where they are more (review 21), without saying so; so what
//! does not fit is counted here.

use noderotation_core::few;

/// Bytes of one warning.
const LONGEST: usize = 256;
/// Bytes of all together.
const ALL: usize = 4096;
/// Room for the sentence about those that do not fit.
const REST: usize = 64;

/// The warnings in their order, each on one line; those that do not fit are counted in a last one.
#[must_use]
pub fn fit(warnings: Vec<String>) -> Vec<String> {
    let whole = warnings.len();
    let mut room = ALL - REST;
    let mut fitting = Vec::new();
    for warning in warnings {
        let warning = shorten(&warning);
        let Some(left) = room.checked_sub(warning.len()) else {
            break;
        };
        room = left;
        fitting.push(warning);
    }
    match whole - fitting.len() {
        0 => {}
        1 => fitting.push("1 more warning does not fit here".to_owned()),
        more => fitting.push(format!("{more} more warnings do not fit here")),
    }
    fitting
}

/// One line of at most [`LONGEST`] bytes.
fn shorten(warning: &str) -> String {
    let line: String = warning.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.len() <= LONGEST {
        return line;
    }
    format!("{}…", few::cut(&line, LONGEST - '…'.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_as_it_is() {
        let warnings = vec!["first".to_owned(), "second".to_owned()];
        assert_eq!(fit(warnings.clone()), warnings);
        assert_eq!(fit(Vec::new()), Vec::<String>::new());
    }

    #[test]
    fn a_long_warning_is_cut_between_characters() {
        let rows = [
            ("x".repeat(LONGEST), "x".repeat(LONGEST)),
            ("x".repeat(LONGEST + 1), "x".repeat(LONGEST - 3) + "…"),
            ("é".repeat(LONGEST), "é".repeat(126) + "…"),
            ("two\nlines".to_owned(), "two lines".to_owned()),
        ];
        for (given, expected) in rows {
            assert_eq!(fit(vec![given]), [expected]);
        }
    }

    #[test]
    fn all_together_stay_within_the_limit_and_none_goes_uncounted() {
        for count in [15, 16, 17, 64, 1000] {
            let fitting = fit(vec!["x".repeat(LONGEST); count]);
            let bytes: usize = fitting.iter().map(String::len).sum();
            assert!(bytes <= ALL, "{count}: {bytes}");
            let told = fitting.iter().filter(|warning| warning.starts_with('x')).count();
            let rest: usize = fitting.last().and_then(|last| last.split_once(" more ")).map_or(0, |(number, _)| number.parse().unwrap());
            assert_eq!(told + rest, count);
        }
    }
}
