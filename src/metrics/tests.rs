//! What a scrape shows, and that its names are those that others rely on.

use std::collections::BTreeMap;

use super::*;

/// Names, types and labels that alerts and dashboards for this CRD know. A change here is a break for them.
const KNOWN: [(&str, &str, &str); 19] = [
    ("noderotation_age_threshold_seconds", "gauge", "nodepool"),
    ("noderotation_candidates", "gauge", "nodepool"),
    ("noderotation_completed_total", "counter", "nodepool,outcome"),
    ("noderotation_drain_stuck", "gauge", "nodepool"),
    ("noderotation_duration_seconds", "histogram", "nodepool,phase"),
    ("noderotation_forceful_fallback_total", "counter", "nodepool"),
    ("noderotation_freeze_until_timestamp", "gauge", "nodepool"),
    ("noderotation_in_backoff", "gauge", "nodepool"),
    ("noderotation_in_progress", "gauge", "nodepool"),
    ("noderotation_policy_conflict", "gauge", "nodepool"),
    ("noderotation_retry_count", "gauge", "nodepool"),
    ("noderotation_rotation_chances", "gauge", "nodepool"),
    ("noderotation_short_lead_nodes", "gauge", "nodepool"),
    ("noderotation_t_rot_bound_seconds", "gauge", "nodepool"),
    ("noderotation_t_rot_estimate_seconds", "gauge", "nodepool"),
    ("noderotation_throughput_capacity", "gauge", "nodepool"),
    ("noderotation_window_active", "gauge", "nodepool"),
    ("noderotation_window_missed_total", "counter", "nodepool"),
    ("noderotation_window_period_seconds", "gauge", "nodepool"),
];

/// Metrics of which every series has been touched.
fn touched() -> Metrics {
    let metrics = Metrics::new("1.0.0", "2026a").unwrap();
    metrics.gauges("p", &PoolGauges { candidates: 3.0, ..PoolGauges::default() });
    metrics.completed("p", "success");
    metrics.forceful_fallback("p");
    metrics.window_missed("p");
    metrics.observe_phase("p", "drain", 7.0);
    metrics.reconcile("success", 0.02);
    metrics.admission("create", "allowed", 0.002);
    metrics.api_request("get", "200");
    metrics.leader(true);
    metrics.lease_lost();
    metrics.preflight(true);
    metrics.certificate_not_after(1.0);
    metrics.authority_not_after(2.0);
    metrics.certificate_refused();
    metrics.webhook_registered("mutating", true);
    metrics.event_dropped("queue");
    metrics
}

/// Type, help and labels of every family that a scrape shows.
fn families(metrics: &Metrics) -> BTreeMap<String, (String, String, String)> {
    let families = metrics.0.registry.gather();
    let families = families.iter().map(|family| {
        let labels = family.get_metric()[0].get_label().iter().map(|label| label.name().to_owned()).collect::<Vec<_>>();
        let kind = format!("{:?}", family.get_field_type()).to_lowercase();
        (family.name().to_owned(), (kind, family.help().to_owned(), labels.join(",")))
    });
    families.collect()
}

fn lines(metrics: &Metrics, pool: &str) -> Vec<String> {
    let label = format!("nodepool=\"{pool}\"");
    metrics.render().lines().filter(|line| line.contains(&label)).map(str::to_owned).collect()
}

#[test]
fn the_names_that_others_rely_on_are_there() {
    let families = families(&touched());
    for (name, kind, labels) in KNOWN {
        let family = families.get(name).map(|(kind, _, labels)| (kind.as_str(), labels.as_str()));
        assert_eq!(family, Some((kind, labels)), "{name}");
    }
}

#[test]
fn every_name_follows_the_conventions_and_every_help_is_a_sentence() {
    let families = families(&touched());
    assert!(families.len() > KNOWN.len());
    for (name, (kind, help, _)) in families {
        assert!(name.starts_with("noderotation_"), "{name}");
        assert_eq!(name.ends_with("_total"), kind == "counter", "{name} is a {kind}");
        assert!(kind != "histogram" || name.ends_with("_seconds"), "{name}");
        assert!(help.ends_with('.'), "{name}: {help}");
    }
}

#[test]
fn r18_counters_start_at_zero_and_outlive_the_gauges() {
    let metrics = touched();
    let all = lines(&metrics, "p");
    assert!(all.contains(&"noderotation_candidates{nodepool=\"p\"} 3".to_owned()));
    assert!(all.contains(&"noderotation_completed_total{nodepool=\"p\",outcome=\"expired\"} 0".to_owned()));
    assert!(all.contains(&"noderotation_forceful_fallback_total{nodepool=\"p\"} 1".to_owned()));
    assert!(all.contains(&"noderotation_duration_seconds_count{nodepool=\"p\",phase=\"drain\"} 1".to_owned()));
    assert!(all.contains(&"noderotation_duration_seconds_bucket{nodepool=\"p\",phase=\"surge_wait\",le=\"1\"} 0".to_owned()));
    metrics.policy_conflict("p");
    let left = lines(&metrics, "p");
    assert!(left.contains(&"noderotation_policy_conflict{nodepool=\"p\"} 1".to_owned()));
    assert!(left.contains(&"noderotation_completed_total{nodepool=\"p\",outcome=\"success\"} 1".to_owned()));
    assert!(!left.iter().any(|line| line.starts_with("noderotation_candidates")));
    // And where no policy selects it any more.
    metrics.drop_pool_gauges("p");
    let counters: Vec<String> = left.into_iter().filter(|line| !line.starts_with("noderotation_policy_conflict")).collect();
    assert_eq!(lines(&metrics, "p"), counters);
    assert!(counters.iter().any(|line| line.starts_with("noderotation_window_missed_total")));
}

#[test]
fn admissions_start_at_zero_by_operation_and_verdict() {
    let metrics = Metrics::new("1.0.0", "2026a").unwrap();
    metrics.admission("update", "warned", 0.002);
    let rendered = metrics.render();
    let lines: Vec<&str> = rendered.lines().filter(|line| line.starts_with("noderotation_admission_requests_total")).collect();
    assert_eq!(lines.len(), 4 + 4 + 2 + 1, "{lines:?}");
    for line in lines {
        let count = if line.contains("operation=\"update\",verdict=\"warned\"") { " 1" } else { " 0" };
        assert!(line.ends_with(count), "{line}");
    }
    assert!(rendered.contains("noderotation_admission_duration_seconds_count{operation=\"update\"} 1"), "{rendered}");
}

#[test]
fn passes_and_dropped_events_start_at_zero_by_result_and_reason() {
    let metrics = Metrics::new("1.0.0", "2026a").unwrap();
    metrics.reconcile("error", 0.02);
    metrics.event_dropped("queue");
    let rendered = metrics.render();
    for line in ["reconcile_total{result=\"success\"} 0", "reconcile_total{result=\"error\"} 1", "events_dropped_total{reason=\"queue\"} 1"]
    {
        assert!(rendered.contains(line), "{line} is not in {rendered}");
    }
    let untouched = rendered.lines().filter(|line| line.starts_with("noderotation_events_dropped_total") && line.ends_with(" 0"));
    assert_eq!(untouched.count(), DROPPED.len() - 1);
}

#[test]
fn nothing_is_left_of_a_pool_that_is_gone_and_its_neighbour_stays() {
    let metrics = touched();
    metrics.gauges("q", &PoolGauges::default());
    let before = lines(&metrics, "q");
    metrics.drop_pool("p");
    assert_eq!(lines(&metrics, "p"), Vec::<String>::new());
    assert_eq!(lines(&metrics, "q"), before);
}

#[test]
fn a_pool_that_is_governed_again_has_no_conflict() {
    let metrics = touched();
    metrics.policy_conflict("p");
    metrics.gauges("p", &PoolGauges::default());
    assert!(lines(&metrics, "p").contains(&"noderotation_policy_conflict{nodepool=\"p\"} 0".to_owned()));
}

#[test]
fn the_buckets_contain_those_of_existing_dashboards_and_ascend() {
    for k in 0..10 {
        assert!(table::PHASE_BUCKETS.contains(&(30.0 * f64::from(1 << k))));
    }
    for buckets in [&table::PHASE_BUCKETS[..], &table::REQUEST_BUCKETS, &table::PASS_BUCKETS] {
        assert!(buckets.is_sorted_by(|a, b| a < b));
    }
}

/// The page for people, whose table is made from a scrape: `BLESS=1` (`make metrics-docs`) writes it anew.
#[test]
fn the_table_of_the_page_is_what_a_scrape_shows() {
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/metrics.md");
    let rows = families(&touched()).into_iter().map(|(name, (kind, help, labels))| {
        let labels = labels.replace(',', ", ");
        format!("| `{name}` | {kind} | {labels} | {help} |\n")
    });
    let table = format!("|---|---|---|---|\n{}", rows.collect::<String>());
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (head, rest) = page.split_once("|---|---|---|---|\n").unwrap();
    let (_, tail) = rest.split_once("\n\n").unwrap();
    let expected = format!("{head}{table}\n{tail}");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(PAGE, expected).unwrap();
    } else {
        assert_eq!(page, expected, "`make metrics-docs` writes it anew");
    }
}
