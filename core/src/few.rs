//! Many names in few words, for sentences that must stay short whatever the size of the cluster (review 21).

/// A NodePool, and several of them.
pub const NODE_POOL: [&str; 2] = ["NodePool", "NodePools"];
/// A RotationPolicy, and several of them.
pub const ROTATION_POLICY: [&str; 2] = ["RotationPolicy", "RotationPolicies"];

/// As many are named one by one; of more only some, and their number.
const NAMED: usize = 3;

/// `NodePool a`, `NodePools a, b`, or `12 NodePools, e.g. a, b, c`. `room` is in bytes: the example names are as many as
/// fit, but at least one. Names come in the order in which they are given.
#[must_use]
pub fn few<'a>([one, many]: [&str; 2], names: impl IntoIterator<Item = &'a str>, room: usize) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let all = names.join(", ");
    match names.as_slice() {
        [name] => format!("{one} {name}"),
        some if some.len() <= NAMED && many.len() + 1 + all.len() <= room => format!("{many} {all}"),
        all => {
            let head = format!("{} {many}, e.g. ", all.len());
            head.clone() + &examples(all, room.saturating_sub(head.len()))
        }
    }
}

/// The longest beginning of a text that has so many bytes, cut between characters.
#[must_use]
pub fn cut(text: &str, longest: usize) -> &str {
    let end = (0..=longest.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}

fn examples(names: &[&str], room: usize) -> String {
    let mut list = String::new();
    for name in names.iter().take(NAMED) {
        let next = if list.is_empty() { (*name).to_owned() } else { format!("{list}, {name}") };
        if !list.is_empty() && next.len() > room {
            break;
        }
        list = next;
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_is_short_however_many_there_are() {
        let long = "x".repeat(40);
        let rows: [(&[&str], usize, &str); 9] = [
            (&["a"], 0, "NodePool a"),
            // All of them take fourteen bytes.
            (&["a", "b"], 14, "NodePools a, b"),
            (&["a", "b"], 13, "2 NodePools, e.g. a"),
            (&["a", "b"], 100, "NodePools a, b"),
            (&["a", "b", "c"], 100, "NodePools a, b, c"),
            (&["a", "b", "c", "d"], 100, "4 NodePools, e.g. a, b, c"),
            (&["a", "b", "c", "d"], 22, "4 NodePools, e.g. a, b"),
            (&["a", "b", "c"], 10, "3 NodePools, e.g. a"),
            (&[&long, "b"], 30, &format!("2 NodePools, e.g. {long}")),
        ];
        for (names, room, expected) in rows {
            assert_eq!(few(NODE_POOL, names.iter().copied(), room), expected);
        }
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let long = "ä".repeat(600);
        for (text, bytes) in [("", 0), ("short", 5), (&long, 1024), (&format!("x{long}"), 1023)] {
            let cut = cut(text, 1024);
            assert!(cut.len() == bytes && text.starts_with(cut), "{text}");
        }
    }
}
