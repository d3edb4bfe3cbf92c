//! What the alerts and the dashboard ask for: series that there are, each of them somewhere, and panels that a person can read.

use std::collections::BTreeMap;

use serde_yaml_ng::Value;

use super::source::texts;
use super::{Names, assert_same, names, read};

const RULES: &str = "charts/node-rotation-controller/templates/prometheusrule.yaml";
const DASHBOARD: &str = "charts/node-rotation-controller/dashboards/node-rotation-controller.json";
const PAGE: &str = "docs/dashboard.md";
/// The columns of Grafana's grid.
const COLUMNS: u64 = 24;

/// The families that a text asks for; a histogram has several series.
fn asked(text: &str) -> Names {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| word.starts_with("noderotation_"));
    names(words.map(|word| ["_bucket", "_sum"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word)))
}

fn exposed() -> Names {
    let tables = texts("src/metrics/table.rs").into_iter().chain(texts("src/metrics/pool.rs"));
    tables.filter(|text| text.starts_with("noderotation_")).collect()
}

/// The dashboard; JSON is YAML as well.
fn dashboard() -> Value {
    serde_yaml_ng::from_str(&read(DASHBOARD)).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_sequence).map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn is_row(panel: &Value) -> bool {
    text(panel, "type") == "row"
}

#[test]
fn alerts_and_dashboard_ask_for_every_series_and_for_no_other() {
    let both = asked(&read(RULES)).into_iter().chain(asked(&read(DASHBOARD))).collect();
    assert_same("the alerts or the dashboard", &both, &exposed());
}

#[test]
fn every_panel_can_be_told_from_every_other_and_says_what_it_shows() {
    let (mut seen, mut titles) = (Names::new(), Names::new());
    let dashboard = dashboard();
    assert!(list(&dashboard, "panels").len() > 20, "only {} panels were found", list(&dashboard, "panels").len());
    for panel in list(&dashboard, "panels") {
        let title = text(panel, "title");
        let id = panel.get("id").and_then(Value::as_u64).unwrap();
        assert!(seen.insert(id.to_string()), "{title}: the id {id} is there twice");
        assert!(titles.insert(title.to_owned()), "{title} is there twice");
        if is_row(panel) {
            continue;
        }
        assert!(text(panel, "description").ends_with('.'), "{title} has no description");
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title} asks a data source of its own");
        assert!(!list(panel, "targets").is_empty(), "{title} asks for nothing");
        let ids: Names = names(list(panel, "targets").iter().map(|target| text(target, "refId")));
        assert_eq!(ids.len(), list(panel, "targets").len(), "{title}: two queries have one name");
    }
}

#[test]
fn no_panel_lies_on_another_or_outside_the_grid() {
    let mut taken = BTreeMap::new();
    for panel in list(&dashboard(), "panels") {
        let title = text(panel, "title").to_owned();
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        assert!(x + w <= COLUMNS && w > 0 && h > 0, "{title} reaches out of the grid");
        for place in (y..y + h).flat_map(|y| (x..x + w).map(move |x| (x, y))) {
            if let Some(other) = taken.insert(place, title.clone()) {
                panic!("{title} lies on {other}");
            }
        }
    }
}

/// So that a choice of NodePools is a choice in every panel that is about NodePools.
#[test]
fn whatever_is_asked_about_nodepools_is_asked_about_the_chosen_ones() {
    let of_pools: Names = texts("src/metrics/pool.rs").into_iter().filter(|text| text.starts_with("noderotation_")).collect();
    let counted = ["noderotation_completed_total", "noderotation_forceful_fallback_total", "noderotation_window_missed_total"];
    let of_pools: Names = of_pools.into_iter().chain(names(counted)).chain(names(["noderotation_duration_seconds"])).collect();
    let mut found = 0;
    for panel in list(&dashboard(), "panels") {
        for query in list(panel, "targets").iter().map(|target| text(target, "expr")) {
            let about_pools = asked(query).iter().any(|series| of_pools.contains(series));
            found += usize::from(about_pools);
            assert_eq!(about_pools, query.contains(r#"nodepool=~"$nodepool""#), "{}: {query}", text(panel, "title"));
        }
    }
    assert!(found > 15, "only {found} queries are about NodePools");
}

#[test]
fn every_panel_is_named_on_the_page_under_its_row() {
    let mut on_page: BTreeMap<String, Names> = BTreeMap::new();
    for row in super::markdown::Page::new(PAGE).rows() {
        on_page.entry(row.section.clone()).or_default().insert(row.cell("panel").to_owned());
    }
    let (mut drawn, mut row): (BTreeMap<String, Names>, String) = (BTreeMap::new(), String::new());
    for panel in list(&dashboard(), "panels") {
        let title = text(panel, "title").to_owned();
        if is_row(panel) {
            row = title.replace("$nodepool", "by NodePool");
        } else {
            drawn.entry(row.clone()).or_default().insert(title);
        }
    }
    assert_eq!(on_page, drawn, "left {PAGE}, right the dashboard");
}
