//! The calendar in the form that calendars read (RFC 5545).

use std::fmt::Write as _;

use jiff::Timestamp;

use super::report::{EXPIRES, Line, Plan, Pool};

/// Bytes of a line; what is longer goes on in the next, after a blank.
const FOLDED: usize = 75;

/// Every rotation and every forced expiry of the nodes that are there now.
pub(super) fn render(plan: &Plan) -> String {
    let mut text = String::new();
    let mut put = |line: &str| fold(&mut text, line);
    ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//node-rotation-controller//plan//EN", "CALSCALE:GREGORIAN"].into_iter().for_each(&mut put);
    for pool in &plan.pools {
        for line in pool.calendar.iter().filter(|line| !line.successor) {
            event(plan, pool, line).iter().for_each(|line| put(line));
        }
    }
    put("END:VCALENDAR");
    text
}

fn event(plan: &Plan, pool: &Pool, line: &Line) -> Vec<String> {
    let node = line.node.as_deref().unwrap_or(&line.claim);
    let verb = if line.how == EXPIRES { "Forced expiry" } else { "Rotation" };
    let margin = line
        .margin
        .as_deref()
        .filter(|_| line.how != EXPIRES)
        .map(|margin| format!("\nMargin to the deadline: {margin}"))
        .unwrap_or_default();
    let told = format!("NodeClaim: {}\nHow: {}{margin}", line.claim, line.how);
    vec![
        "BEGIN:VEVENT".to_owned(),
        format!("UID:{}.{}@node-rotation-controller", escaped(&line.claim), escaped(&pool.name)),
        format!("DTSTAMP:{}", stamp(plan.at)),
        format!("DTSTART:{}", stamp(line.start)),
        format!("DTEND:{}", stamp(line.end)),
        format!("SUMMARY:{}", escaped(&format!("{verb} of {node} ({})", pool.name))),
        format!("DESCRIPTION:{}", escaped(&told)),
        "END:VEVENT".to_owned(),
    ]
}

fn stamp(at: Timestamp) -> String {
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace(';', "\\;").replace(',', "\\,").replace('\n', "\\n")
}

/// Adds a line, folded between characters.
fn fold(text: &mut String, line: &str) {
    let mut length = 0;
    for letter in line.chars() {
        if length + letter.len_utf8() > FOLDED {
            text.push_str("\r\n ");
            length = 1;
        }
        text.push(letter);
        length += letter.len_utf8();
    }
    // Writing to a String cannot fail.
    let _infallible = write!(text, "\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_after_a_blank_and_no_character_is_cut() {
        let mut text = String::new();
        let line = "é".repeat(80);
        fold(&mut text, &line);
        assert!(text.ends_with("\r\n") && text.split("\r\n").all(|part| part.len() <= FOLDED), "{text}");
        assert_eq!(text.replace("\r\n ", "").trim_end(), line);
    }

    #[test]
    fn what_separates_is_escaped() {
        assert_eq!(escaped("a,b;c\\d\ne"), "a\\,b\\;c\\\\d\\ne");
    }
}
