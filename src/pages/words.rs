//! Names in sentences: whatever a page writes as code in our way of writing names is a name of ours, or a known one of
//! others.
//!
//! The tables of the pages are compared elsewhere; this finds what is named in passing: a metric that was renamed, an
//! event that never was, a value of the chart that is gone.

use serde_yaml_ng::Value;

use super::markdown::{self, Page};
use super::names::{annotations, conditions, reasons_of_ready, standings, states};
use super::source::{self, texts, tokens};
use super::{Names, assert_same, command_line, fields, files, fleet, log, names, others, read};
use crate::event::Reason;
use noderotation_core::policy::finding::FindingCode;

/// Pages for people who run the operator; in the others the code itself is named.
fn pages() -> Vec<Page> {
    let others = [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "docs/model.md",
        "docs/performance.md",
        "docs/dependencies.md",
        "docs/image.md",
    ];
    markdown::all().into_iter().filter(|page| !page.name.starts_with("docs/adr/") && !others.contains(&page.name.as_str())).collect()
}

/// Words that begin so, wherever they stand in a text.
fn beginning(text: &str, head: &str, inner: fn(char) -> bool) -> Names {
    let tails = text.split(head).skip(1).map(|rest| rest.split(|c| !inner(c)).next().unwrap_or_default());
    names(tails.filter(|tail| !tail.is_empty()).map(|tail| format!("{head}{tail}")))
}

fn assert_known(page: &Page, what: &str, named: Names, known: &Names) {
    let unknown: Vec<String> = named.difference(known).cloned().collect();
    assert!(unknown.is_empty(), "{} names {unknown:?}, which is no {what}", page.name);
}

fn series() -> Names {
    let tables = texts("src/metrics/table.rs").into_iter().chain(texts("src/metrics/pool.rs"));
    tables.filter(|text| text.starts_with("noderotation_")).collect()
}

#[test]
fn every_series_that_a_page_names_is_exposed() {
    let series = series();
    assert!(series.len() > 30, "only {series:?} were found");
    for page in markdown::all() {
        let named = beginning(page.text(), "noderotation_", |c| c.is_ascii_lowercase() || c == '_');
        // Such as `noderotation_` with dots: that they all begin so.
        assert_known(&page, "series", named.into_iter().filter(|name| !name.ends_with('_')).collect(), &series);
        let tails = page.code().into_iter().filter(|word| word.starts_with('_'));
        assert_known(&page, "series", tails.map(|tail| format!("noderotation{tail}")).collect(), &series);
    }
}

#[test]
fn every_alert_that_a_page_names_is_in_the_chart() {
    let rules = read("charts/node-rotation-controller/templates/prometheusrule.yaml");
    let alerts = names(rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")));
    for page in markdown::all() {
        assert_known(&page, "alert", beginning(page.text(), "NodeRotation", |c| c.is_ascii_alphanumeric()), &alerts);
    }
}

#[test]
fn every_annotation_that_a_page_names_is_one() {
    let versions = ["v1alpha1", "node-rotation-controller"].map(|word| format!("noderotation.io/{word}"));
    let known: Names = annotations().into_iter().chain(versions).collect();
    for page in markdown::all() {
        let named = beginning(page.text(), "noderotation.io/", |c| c.is_ascii_alphanumeric() || c == '-');
        assert_known(&page, "annotation", names(named.iter().map(|name| name.trim_end_matches('-'))), &known);
    }
}

#[test]
fn every_variable_that_a_page_names_is_read() {
    let bed = files("e2e/src", ".rs").into_iter().flat_map(|file| tokens(&read(&file)));
    let of_bed = bed.filter_map(|token| token.text().filter(|text| text.starts_with("NODE_ROTATION_E2E_")).map(str::to_owned));
    let known: Names = command_line::variables().into_iter().chain(of_bed).collect();
    for page in markdown::all() {
        assert_known(
            &page,
            "variable",
            beginning(page.text(), "NODE_ROTATION_", |c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit()),
            &known,
        );
    }
}

#[test]
fn every_flag_that_a_page_names_is_one() {
    let mut of_others = Names::new();
    let ours = command_line::all_flags();
    for page in pages() {
        let flags = page.code().into_iter().filter(|word| word.starts_with("--"));
        let named = flags.map(|word| word.split(['=', ' ']).next().unwrap_or_default().to_owned());
        of_others.extend(named.filter(|flag| !ours.contains(flag)));
    }
    assert_same("others::FLAGS", &names(others::FLAGS), &of_others);
}

/// Names of the chart's values, by their whole paths.
fn values() -> Names {
    fn walk(value: &Value, path: &str, found: &mut Names) {
        for (name, value) in value.as_mapping().into_iter().flatten() {
            let path = format!("{path}{}{}", if path.is_empty() { "" } else { "." }, name.as_str().unwrap_or_default());
            walk(value, &path, found);
            found.insert(path);
        }
    }
    let mut found = Names::new();
    walk(&serde_yaml_ng::from_str(&read("charts/node-rotation-controller/values.yaml")).unwrap(), "", &mut found);
    found
}

/// The paths of all fields of a policy, with and without `spec.` or `status.`, and of a fleet.
fn paths() -> Names {
    let both = |part: &'static str| fields::fields(part).into_iter().flat_map(move |(path, _)| [format!("{part}.{path}"), path]);
    both("spec").chain(both("status")).chain(fleet::fields()).collect()
}

/// Every word of ours that has a capital in it.
fn words() -> Names {
    let parts = |paths: Names| names(paths.iter().flat_map(|path| path.split(['.', '[', ']'])));
    let core = ["core/src/gate.rs", "core/src/rotation/report/json.rs", "core/src/check/report.rs", "src/controller/tell.rs"];
    let all = [
        names(Reason::ALL),
        names(FindingCode::ALL),
        conditions(),
        reasons_of_ready(),
        names(["Doubtful", "NoNodePool"]),
        states(),
        standings(),
        fields::columns(),
        log::keys(),
        parts(values()),
        parts(paths()),
        core.into_iter().flat_map(texts).collect(),
    ];
    all.into_iter().flatten().collect()
}

#[test]
fn every_word_in_our_spelling_is_ours_or_a_known_one_of_others() {
    let ours = words();
    let mut of_others = Names::new();
    for page in pages() {
        let is_name = |word: &String| {
            let letters = word.chars().all(|c| c.is_ascii_alphanumeric());
            letters && word.starts_with(char::is_alphabetic) && word.contains(char::is_uppercase) && word.contains(char::is_lowercase)
        };
        of_others.extend(page.code().into_iter().filter(is_name).filter(|word| !ours.contains(word)));
    }
    assert_same("others::WORDS", &names(others::WORDS), &of_others);
}

#[test]
fn every_path_that_a_page_names_is_a_field_of_a_policy_a_value_of_the_chart_or_a_known_one_of_others() {
    let ours: Names = paths().into_iter().chain(values()).collect();
    let mut of_others = Names::new();
    for page in pages() {
        let is_path = |word: &String| {
            let inner = word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '[' | ']'));
            // Files, and groups of an API.
            let is_file = [".yaml", ".md", ".rs", ".svg", ".json", ".gz", ".io"].iter().any(|end| word.ends_with(end));
            inner && word.contains('.') && word.starts_with(|c: char| c.is_ascii_lowercase()) && !is_file
        };
        of_others.extend(page.code().into_iter().filter(is_path).filter(|word| !ours.contains(word)));
    }
    assert_same("others::PATHS", &names(others::PATHS), &of_others);
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut links = 0;
    for page in markdown::all() {
        let folder = page.name.rsplit_once('/').map_or("", |(folder, _)| folder);
        for link in page.text().split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|link| !link.contains("://")) {
            links += 1;
            let (file, heading) = link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
            let path = if file.is_empty() { super::root().join(&page.name) } else { super::root().join(folder).join(file) };
            assert!(path.exists(), "{}: {link} leads nowhere", page.name);
            let Some(heading) = heading else { continue };
            let text = std::fs::read_to_string(&path).unwrap();
            let there = text.lines().filter(|line| line.starts_with('#')).any(|line| anchor(line) == heading);
            assert!(there, "{}: {link} leads to no heading", page.name);
        }
    }
    assert!(links > 100, "only {links} links were found");
}

/// How a heading is linked to.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn what_the_pages_are_compared_with_is_not_empty() {
    assert!(words().len() > 200 && values().len() > 80 && paths().len() > 60 && source::products().len() > 100);
}
