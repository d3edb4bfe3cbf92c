//! Tests of the reader.

use super::*;

fn steps(text: &str) -> Vec<Step> {
    read(text).unwrap().pop().unwrap().steps
}

fn refusal(text: &str) -> String {
    format!("{:#}", read(text).unwrap_err())
}

#[test]
fn stages_have_a_base_a_platform_and_a_name() {
    let stages = read("FROM --platform=$BUILDPLATFORM rust:1 AS build\nRUN true\nFROM scratch\nUSER 1:1\n").unwrap();
    let [build, last] = stages.as_slice() else { panic!("{stages:?}") };
    assert_eq!((build.base.as_str(), build.platform.as_deref(), build.name.as_deref()), ("rust:1", Some("$BUILDPLATFORM"), Some("build")));
    assert_eq!((last.base.as_str(), last.name.as_deref(), last.image.user.as_deref()), ("scratch", None, Some("1:1")));
}

#[test]
fn an_instruction_goes_on_over_lines_and_comments() {
    let expected = vec![Step::Run("a     && b".to_owned()), Step::Workdir("/src".to_owned())];
    assert_eq!(steps("FROM x\n# before\nRUN a \\\n# between\n    && b\nWORKDIR /src\n"), expected);
}

#[test]
fn files_come_from_the_context_or_from_a_stage() {
    let copy = |from: Option<&str>, sources: &[&str], target: &str| {
        let sources = sources.iter().map(|source| (*source).to_owned()).collect();
        Step::Copy { from: from.map(str::to_owned), sources, target: target.to_owned() }
    };
    assert_eq!(
        steps("FROM x\nCOPY a b /to/\nCOPY --from=build /bin/x /\n"),
        [copy(None, &["a", "b"], "/to/"), copy(Some("build"), &["/bin/x"], "/")]
    );
}

#[test]
fn values_may_be_quoted_and_lists_are_json() {
    let image =
        read("FROM x\nLABEL a=1 b=\"two words\"\nENTRYPOINT [\"/x\", \"-v\"]\nCMD [\"run\"]\nEXPOSE 1 2\n").unwrap().pop().unwrap().image;
    assert_eq!(image.labels, [("a", "1"), ("b", "two words")].map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    assert_eq!(
        (image.entrypoint, image.command, image.ports),
        (vec!["/x".into(), "-v".into()], vec!["run".into()], vec!["1".into(), "2".into()])
    );
}

#[test]
fn what_is_not_known_is_refused_with_its_line() {
    for (text, expected) in [
        ("RUN x", "line 1 of the Dockerfile, RUN: it stands before the first FROM"),
        ("FROM x\n\nADD a b", "line 3 of the Dockerfile, ADD: this instruction is not known here"),
        ("FROM x\nRUN --mount=type=cache,target=/x y", "only a command of the shell"),
        ("FROM x\nRUN [\"x\"]", "only a command of the shell"),
        ("FROM x\nCOPY --chmod=755 a b", "only --from is known here"),
        ("FROM x\nCOPY a", "write COPY SOURCE TARGET"),
        ("FROM x\nENTRYPOINT /x", "/x is no list"),
        ("FROM x\nENV a", "is no name=value"),
        ("FROM x y", "write FROM IMAGE AS NAME"),
        ("", "has no FROM"),
    ] {
        assert!(refusal(text).contains(expected), "{text:?}: {}", refusal(text));
    }
}

#[test]
fn names_are_replaced_and_an_unknown_one_is_refused() {
    let variables = [("A", "1"), ("B_2", "two")].map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    assert_eq!(expanded("x/$A-${B_2}$A.", &variables).unwrap(), "x/1-two1.");
    assert_eq!(expanded("nothing", &variables).unwrap(), "nothing");
    assert!(expanded("$C", &variables).unwrap_err().to_string().contains("\"C\" in \"$C\" has no value"));
}
