//! What was probably meant by a word that is none of those that there are.

/// How many letters must be changed, added or removed to make `a` of `b`.
#[must_use]
pub fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut next = vec![i + 1];
        let mut previous = i + 1;
        for ((right, above), above_left) in b.iter().zip(row.iter().skip(1)).zip(&row) {
            let replaced = above_left + usize::from(left != *right);
            previous = replaced.min(above + 1).min(previous + 1);
            next.push(previous);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// Up to a third of the letters may differ; beyond that a suggestion would be a guess.
#[must_use]
pub fn is_near(edits: usize, wanted: &str) -> bool {
    edits * 3 <= wanted.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted_both_ways() {
        for (a, b, count) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("timout", "timeout", 1), ("µs", "us", 1)] {
            assert_eq!((edits(a, b), edits(b, a)), (count, count), "{a} {b}");
        }
        assert!(is_near(2, "readyT") && !is_near(3, "readyT"));
    }
}
