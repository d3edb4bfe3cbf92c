//! Flags mean the same in every command: one name, one letter, one kind of value, one sentence.

use std::collections::BTreeMap;

use clap::Arg;

use super::command_line::{commands, flags, long, variable};

/// What a value is, by its name in the help.
const KINDS: [(&str, &str); 16] = [
    ("ADDRESS", "host and port, or a port alone"),
    ("BOOL", "true or false"),
    ("DOMAIN", "a domain in DNS"),
    ("DURATION", "as in a policy"),
    ("FILE", "one file"),
    ("FORMAT", "how something is written: one of a few words"),
    ("IMAGE", "of a container"),
    ("ISSUER", "one of a few words"),
    ("LEVEL", "of the log"),
    ("NAME", "of one object"),
    ("NAMES", "several, separated by commas"),
    ("NUMBER", "a whole number"),
    ("PATH", "a file, a folder, or - for standard input"),
    ("SEVERITY", "one of a few words"),
    ("SHELL", "one of a few words"),
    ("TIME", "an instant in RFC 3339"),
];

/// Flags whose sentence must name what they are about in each command.
const OWN_SENTENCES: [(&str, &str); 2] = [
    ("filename", "what is read from the files differs"),
    ("apply", "both write to the cluster what is else only printed; what that is differs"),
];

/// What a flag is, but for its sentence.
fn shape(arg: &Arg) -> String {
    let values = arg.get_value_names().filter(|_| arg.get_action().takes_values()).map(|names| names.iter().map(ToString::to_string));
    let values: Vec<String> = values.into_iter().flatten().collect();
    format!("{:?} {values:?} {:?} by default {:?}", arg.get_short(), arg.get_action(), arg.get_default_values())
}

#[test]
fn a_flag_is_the_same_in_every_command_that_has_it() {
    let mut known: BTreeMap<String, (String, String, String)> = BTreeMap::new();
    let mut shared = 0;
    for command in commands() {
        for arg in flags(&command) {
            let sentence = arg.get_long_help().or_else(|| arg.get_help()).unwrap().to_string();
            let (of, shape_there, sentence_there) =
                known.entry(long(arg)).or_insert_with(|| (command.get_name().to_owned(), shape(arg), sentence.clone()));
            let both = format!("{} of {} and of {of}", long(arg), command.get_name());
            shared += usize::from(of != command.get_name());
            assert_eq!(*shape_there, shape(arg), "{both}");
            if !OWN_SENTENCES.iter().any(|(name, _)| Some(*name) == arg.get_long()) {
                assert_eq!(*sentence_there, sentence, "{both}");
            }
        }
    }
    assert!(shared >= 10, "only {shared} flags are in more than one command");
}

#[test]
fn a_letter_stands_for_one_flag() {
    let mut letters: BTreeMap<char, String> = BTreeMap::new();
    for command in commands() {
        for arg in flags(&command) {
            if let Some(letter) = arg.get_short() {
                let flag = letters.entry(letter).or_insert_with(|| long(arg));
                assert_eq!(*flag, long(arg), "-{letter} of {}", command.get_name());
            }
        }
    }
    let expected = [('R', "--recursive"), ('f', "--filename"), ('n', "--namespace"), ('o', "--output")];
    assert!(expected.iter().all(|(letter, flag)| letters.get(letter).is_some_and(|known| known == flag)), "{letters:?}");
}

#[test]
fn the_name_of_a_value_says_of_what_kind_it_is() {
    for command in commands() {
        for arg in command.get_arguments().filter(|arg| arg.get_action().takes_values()) {
            let named = arg.get_value_names().into_iter().flatten().map(ToString::to_string).collect::<Vec<_>>();
            let known = named.iter().all(|name| KINDS.iter().any(|(kind, _)| kind == name));
            assert!(known && named.len() == 1, "{} {named:?}: write one of {KINDS:?}, or add a kind", arg.get_id());
            let of_words = ["BOOL", "FORMAT", "ISSUER", "SEVERITY", "SHELL"].contains(&named[0].as_str());
            assert_eq!(of_words, !arg.get_possible_values().is_empty(), "{} {named:?}", arg.get_id());
        }
    }
}

/// Whoever asks a cluster lets the same be chosen; a variable has the name of its flag.
#[test]
fn whoever_asks_a_cluster_lets_it_be_chosen() {
    for command in commands() {
        let of_command: Vec<String> = flags(&command).map(long).collect();
        let [kubeconfig, context] = ["--kubeconfig", "--context"].map(|flag| of_command.contains(&flag.to_owned()));
        assert_eq!(kubeconfig, context, "{}", command.get_name());
        for (arg, variable) in flags(&command).filter_map(|arg| Some((arg, variable(arg)?))) {
            let expected = format!("NODE_ROTATION_{}", arg.get_long().unwrap().replace('-', "_").to_uppercase());
            assert_eq!(variable, expected);
        }
    }
}
