//! What the API server lets things be called.

/// Whether an object can bear this name: a DNS subdomain, as nearly every kind has it. NodePools, NodeClaims, Nodes and Pods do.
#[must_use]
pub fn is_subdomain(text: &str) -> bool {
    let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let part = |part: &str| part.chars().all(|c| lower(c) || c == '-') && ends_are(part, lower);
    text.len() <= 253 && text.split('.').all(part)
}

/// `name` or `dns-subdomain/name`.
pub(crate) fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_label_name(name),
        None => is_label_name(key),
    }
}

/// The name in a label key, or a label value that is not empty.
pub(crate) fn is_label_name(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.len() <= 63 && text.chars().all(inner) && ends_are(text, |c| c.is_ascii_alphanumeric())
}

fn ends_are(text: &str, rule: impl Fn(char) -> bool) -> bool {
    text.chars().next().is_some_and(&rule) && text.chars().next_back().is_some_and(&rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_objects() {
        for name in ["a", "ip-10-0-0-1.ec2.internal", "7", &"a".repeat(253)] {
            assert!(is_subdomain(name), "{name}");
        }
        for name in ["", "A", "a b", "a,b", "a/b", "..", ".", "-a", "a.", "a..b", "a?b", "\u{e9}", "a\nb", &"a".repeat(254)] {
            assert!(!is_subdomain(name), "{name}");
        }
    }

    #[test]
    fn keys_are_those_of_the_api_server() {
        let long = |count: usize| "a".repeat(count);
        // The parts of a prefix are bounded only together.
        for key in ["a", "A_1.b-c", "a/b", "x.y-z/B", &long(63), &format!("{}/{}", long(253), long(63))] {
            assert!(is_label_key(key), "{key}");
        }
        for key in ["", "-a", "a.", "a b", "/a", "a/", "a/b/c", "A/b", "a_b/c", "a..b/c", "-a/b", &long(64), &format!("{}/a", long(254))] {
            assert!(!is_label_key(key), "{key}");
        }
    }
}
