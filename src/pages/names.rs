//! Findings, events, conditions, annotations: the tables of their pages beside those of the program.

use noderotation_core::policy::finding::{FindingCode, Level};

use super::markdown::{Page, Row, code};
use super::source::{self, Token, calls, tokens, variants};
use super::{Names, assert_same, names};
use crate::event::Reason;

const STATUS: &str = "docs/status.md";

/// What the rows of a page are about, those of one section if one is given.
fn subjects(page: &str, section: Option<&str>) -> Names {
    let rows = Page::new(page).rows();
    let within = |row: &&Row| section.is_none_or(|section| row.section == section);
    rows.iter().filter(within).flat_map(Row::subjects).collect()
}

/// The types of the conditions.
pub(super) fn conditions() -> Names {
    let tokens = tokens(&source::product("src/controller/status.rs"));
    let is_constant = |at: &&[Token]| at[0].word() == Some("const") && at[4].word() == Some("str") && at[5] == Token::Sign('=');
    names(tokens.windows(7).filter(is_constant).filter_map(|at| at[6].text()))
}

/// The reasons of `Feasible` and `Progressing` that are no findings and no states.
fn words_of_the_outlook() -> Names {
    let calls = calls(&tokens(&source::product("core/src/status/outlook.rs")), "Aspect::new", false);
    names(calls.iter().filter_map(|arguments| arguments.get(1)?.first()?.text()))
}

pub(super) fn reasons_of_ready() -> Names {
    variants("core/src/status.rs", "Reason")
}

pub(super) fn states() -> Names {
    variants("core/src/rotation/report/state.rs", "State")
}

pub(super) fn standings() -> Names {
    variants("core/src/selection.rs", "Standing")
}

/// Every key of ours on an object.
pub(super) fn annotations() -> Names {
    let core = source::products().into_iter().filter(|(file, _)| file.starts_with("core/"));
    let texts = core.flat_map(|(_, text)| tokens(&text)).filter_map(|token| token.text().map(str::to_owned));
    let is_key = |text: &String| {
        let key = text.strip_prefix("noderotation.io/").unwrap_or_default();
        !key.is_empty() && key != "v1alpha1" && key.chars().all(|c| c.is_ascii_lowercase() || c == '-')
    };
    texts.filter(is_key).collect()
}

#[test]
fn every_finding_has_a_row_with_its_level() {
    let page = "docs/findings.md";
    assert_same(page, &subjects(page, None), &names(FindingCode::ALL));
    for row in Page::new(page).rows() {
        let code = FindingCode::ALL.into_iter().find(|code| row.subjects() == [code.name()]).unwrap();
        let level = if code.level() == Level::Fatal { "fatal" } else { "warning" };
        assert_eq!(row.cell("level"), level, "{page}: {code}");
    }
}

#[test]
fn every_event_has_a_row() {
    // Those of the findings have theirs on the page of the findings.
    assert_same("docs/events.md", &subjects("docs/events.md", None), &names(Reason::ALL));
}

#[test]
fn every_condition_and_every_reason_of_it_has_a_row() {
    let of = |section| subjects(STATUS, Some(section));
    let fatal = FindingCode::ALL.into_iter().filter(|code| code.level() == Level::Fatal);
    let invalid = || ["Invalid".to_owned()];
    let outlook = words_of_the_outlook();
    assert_eq!(outlook, names(["Doubtful", "Feasible", "NoNodePool"]), "which of the two conditions has it?");
    assert_same(STATUS, &of("Conditions"), &conditions());
    assert_same(STATUS, &of("Ready"), &reasons_of_ready());
    assert_same(STATUS, &of("Feasible"), &names(fatal).into_iter().chain(outlook).chain(invalid()).collect());
    assert_same(STATUS, &of("Progressing"), &states().into_iter().chain(["NoNodePool".to_owned()]).chain(invalid()).collect());
    assert_same(STATUS, &of("More of one NodePool"), &standings());
}

#[test]
fn every_column_of_kubectl_is_named() {
    let named = code(&Page::new(STATUS).section("## Columns")).into_iter().filter(|word| word.starts_with(char::is_uppercase));
    assert_same(STATUS, &named.collect(), &super::fields::columns());
}

#[test]
fn every_annotation_has_a_row() {
    let of_page = subjects("docs/annotations.md", None).into_iter().filter(|key| key != "karpenter.sh/do-not-disrupt");
    let keys: Names = of_page.filter(|key| key.contains('/')).collect();
    assert_same("docs/annotations.md", &keys, &annotations());
}
