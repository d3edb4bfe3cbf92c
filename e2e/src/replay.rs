//! A recording as input of `promtool test rules`, which evaluates rules and queries with Prometheus' own engine.
//!
//! Alerts look at hours and weeks, and no test lasts so long. So a reading is held: the values of one scrape are repeated as
//! often as a Prometheus would have found them unchanged. The values are never made up, only how long they last.

use anyhow::{Context as _, Result};
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Map, Value, json};

use crate::recording::Recording;

/// The name of a step in which nothing could be scraped.
pub const NOTHING: &str = "";

/// How a recording is played.
#[derive(Clone, Copy, Debug)]
pub struct Play<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// Readings, or [`NOTHING`], and for how many minutes each is held.
    pub steps: &'a [(&'a str, u32)],
    /// Minutes between two scrapes, and between two evaluations. Divides the minutes of each step.
    pub every: u32,
    /// Hours by which the clock is set forward: values that are times come nearer.
    pub later: i64,
}

impl Play<'_> {
    /// The moment of the first scrape.
    ///
    /// # Errors
    /// When it is out of range.
    pub fn start(&self) -> Result<Timestamp> {
        self.recording.begun.checked_add(self.later.hours()).context("setting the clock forward")
    }

    /// Minutes from the first scrape to the last.
    #[must_use]
    pub fn minutes(&self) -> u32 {
        self.steps.iter().map(|(_, minutes)| minutes).sum::<u32>().saturating_sub(self.every)
    }

    /// The series in the notation of promtool.
    ///
    /// # Errors
    /// When a step names no reading.
    pub fn input(&self) -> Result<Vec<Value>> {
        let mut played: Vec<(&str, Vec<String>)> = self.recording.series().map(|series| (series, Vec::new())).collect();
        for (reading, minutes) in self.steps {
            let times = (minutes / self.every).max(1);
            if *reading == NOTHING {
                played.iter_mut().for_each(|(_, values)| values.push(absent(values, times)));
                continue;
            }
            for ((_, values), (_, value)) in played.iter_mut().zip(self.recording.at(reading)?) {
                values.push(value.map_or_else(|| absent(values, times), |value| format!("{value}+0x{}", times - 1)));
            }
        }
        Ok(played.into_iter().map(|(series, values)| json!({"series": series, "values": values.join(" ")})).collect())
    }
}

/// A series that is not in a scrape is marked as gone at once, and not only after five minutes.
fn absent(before: &[String], times: u32) -> String {
    let goes = before.last().is_some_and(|last| !last.contains('_') && !last.contains("stale"));
    match (goes, times - 1) {
        (false, _) => format!("_x{times}"),
        (true, 0) => "stale".to_owned(),
        (true, rest) => format!("stale _x{rest}"),
    }
}

/// An alert that is expected to fire.
#[derive(Clone, Copy, Debug)]
pub struct Fire<'a> {
    /// Its name.
    pub alert: &'a str,
    /// Its labels, beside the severity.
    pub labels: &'a [(&'a str, &'a str)],
    /// What its texts say for the value, where they do.
    pub value: &'a str,
}

/// The rules of a rendered PrometheusRule.
#[derive(Clone, Debug)]
pub struct Rules(Value);

impl Rules {
    /// From the objects of the rendered chart.
    ///
    /// # Errors
    /// When there is no PrometheusRule among them.
    pub fn of(objects: &[Value]) -> Result<Self> {
        let is_rule = |object: &&Value| object.get("kind").and_then(Value::as_str) == Some("PrometheusRule");
        let spec = objects.iter().find(is_rule).and_then(|object| object.get("spec"));
        Ok(Self(spec.context("the chart renders no PrometheusRule")?.clone()))
    }

    /// As a file of rules; JSON is YAML as well.
    #[must_use]
    pub fn file(&self) -> String {
        self.0.to_string()
    }

    fn all(&self) -> impl Iterator<Item = &Value> {
        let groups = self.0.get("groups").and_then(Value::as_array).into_iter().flatten();
        groups.flat_map(|group| group.get("rules").and_then(Value::as_array).into_iter().flatten())
    }

    /// The names of the alerts.
    pub fn alerts(&self) -> impl Iterator<Item = &str> {
        self.all().filter_map(|rule| rule.get("alert")?.as_str())
    }

    /// The expression of an alert.
    ///
    /// # Errors
    /// When there is no such alert.
    pub fn expression(&self, alert: &str) -> Result<&str> {
        self.rule(alert)?.get("expr").and_then(Value::as_str).with_context(|| format!("{alert} has no expression"))
    }

    fn rule(&self, alert: &str) -> Result<&Value> {
        let mut all = self.all();
        all.find(|rule| rule.get("alert").and_then(Value::as_str) == Some(alert)).with_context(|| format!("there is no alert {alert}"))
    }

    /// One alert alone, with another expression.
    ///
    /// # Errors
    /// When there is no such alert.
    pub fn only(&self, alert: &str, expression: &str) -> Result<Self> {
        let mut rule = self.rule(alert)?.clone();
        rule.as_object_mut().context("a rule is an object")?.insert("expr".to_owned(), json!(expression));
        Ok(Self(json!({"groups": [{"name": "turned", "rules": [rule]}]})))
    }

    /// Labels and texts of an alert that fires so, as promtool is to compare them.
    fn told(&self, fire: &Fire<'_>) -> Result<Value> {
        let rule = self.rule(fire.alert)?;
        let mut labels: Map<String, Value> = rule.get("labels").and_then(Value::as_object).cloned().unwrap_or_default();
        labels.extend(fire.labels.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
        let texts = rule.get("annotations").and_then(Value::as_object).into_iter().flatten();
        let texts: Map<String, Value> =
            texts.map(|(name, text)| (name.clone(), json!(filled(text.as_str().unwrap_or_default(), fire)))).collect();
        Ok(json!({"exp_labels": labels, "exp_annotations": texts}))
    }
}

/// A text with the labels and the value in the places that it leaves for them.
fn filled(text: &str, fire: &Fire<'_>) -> String {
    let mut parts = text.split("{{");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (place, rest) = part.split_once("}}").unwrap_or((part, ""));
        let label = place.trim().strip_prefix("$labels.");
        let value = label.map_or(Some(fire.value), |label| fire.labels.iter().find(|(name, _)| *name == label).map(|(_, value)| *value));
        filled.push_str(value.unwrap_or_default());
        filled.push_str(rest);
    }
    filled
}

/// A file of tests: at the end of the play exactly these alerts fire, of all that are asked for, and besides them only those
/// that are over have ever fired.
///
/// # Errors
/// When a step names no reading, or a fire no alert.
pub fn alerts(play: &Play<'_>, rules: &Rules, asked: &[&str], fires: &[Fire<'_>], over: &[&str]) -> Result<Value> {
    let end = format!("{}m", play.minutes());
    let mut at_the_end = Vec::new();
    for alert in asked {
        let told = fires.iter().filter(|fire| fire.alert == *alert).map(|fire| rules.told(fire)).collect::<Result<Vec<_>>>()?;
        at_the_end.push(json!({"eval_time": end, "alertname": alert, "exp_alerts": told}));
    }
    let ever = format!("group by (alertname) (last_over_time(ALERTS{{alertstate=\"firing\"}}[{}m]))", play.minutes() + play.every);
    let fired = asked.iter().filter(|alert| fires.iter().any(|fire| fire.alert == **alert) || over.contains(alert));
    let fired: Vec<Value> = fired.map(|alert| json!({"labels": format!("{{alertname=\"{alert}\"}}"), "value": 1})).collect();
    let test = json!({
        "interval": format!("{}m", play.every),
        "start_timestamp": play.start()?.to_string(),
        "input_series": play.input()?,
        "alert_rule_test": at_the_end,
        "promql_expr_test": [{"expr": ever, "eval_time": end, "exp_samples": fired}],
    });
    Ok(json!({"rule_files": ["rules.json"], "evaluation_interval": format!("{}m", play.every), "tests": [test]}))
}

/// A file of tests: each query has given a number at some moment while the recordings were played side by side, each reading
/// for ten minutes.
///
/// # Errors
/// When there is no recording.
pub fn queries(recordings: &[Recording], queries: &[String]) -> Result<Value> {
    const HELD: u32 = 10;
    let (mut input, mut end, mut start) = (Vec::new(), 0, None);
    for recording in recordings {
        let steps: Vec<(&str, u32)> = recording.readings().map(|name| (name, HELD)).collect();
        let play = Play { recording, steps: &steps, every: 1, later: 0 };
        input.extend(play.input()?);
        end = end.max(play.minutes());
        start = start.max(Some(recording.begun));
    }
    // What is no number, such as a quantile of nothing, is not above the least one.
    let ever = |query: &String| format!("group(last_over_time(((\n{query}\n) > -Inf)[{end}m:1m]))");
    let asked: Vec<Value> = queries
        .iter()
        .map(|query| json!({"expr": ever(query), "eval_time": format!("{end}m"), "exp_samples": [{"labels": "{}", "value": 1}]}))
        .collect();
    let start = start.context("there is no recording")?.to_string();
    let test = json!({"interval": "1m", "start_timestamp": start, "input_series": input, "promql_expr_test": asked});
    Ok(json!({"rule_files": ["rules.json"], "evaluation_interval": "1m", "tests": [test]}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording() -> Recording {
        Recording::parse("# It happened.\n# begun 2027-01-15T08:00:00Z\n# readings before@0 after@7\na{pod=\"x\"} 1 2\nb{pod=\"x\"} 5 _\n")
            .unwrap()
    }

    fn rules() -> Rules {
        let rule = json!({
            "alert": "A",
            "expr": "a > 1",
            "labels": {"severity": "warning"},
            "annotations": {"summary": "{{ $labels.pod }} has {{ $value | humanize }}."},
        });
        Rules::of(&[json!({"kind": "PrometheusRule", "spec": {"groups": [{"name": "g", "rules": [rule]}]}})]).unwrap()
    }

    #[test]
    fn a_reading_is_held_and_what_is_gone_is_marked_once() {
        let recording = recording();
        let play = Play { recording: &recording, steps: &[("before", 4), ("after", 6), (NOTHING, 2), ("after", 2)], every: 2, later: 1 };
        let input = play.input().unwrap();
        assert_eq!(input[0], json!({"series": "a{pod=\"x\"}", "values": "1+0x1 2+0x2 stale 2+0x0"}));
        assert_eq!(input[1], json!({"series": "b{pod=\"x\"}", "values": "5+0x1 stale _x2 _x1 _x1"}));
        assert_eq!((play.minutes(), play.start().unwrap().to_string()), (12, "2027-01-15T09:00:00Z".to_owned()));
        assert!(Play { steps: &[("never", 2)], ..play }.input().is_err());
    }

    #[test]
    fn a_test_has_the_labels_and_texts_of_what_fires_and_nothing_for_what_does_not() {
        let recording = recording();
        let play = Play { recording: &recording, steps: &[("after", 2)], every: 1, later: 0 };
        let fire = Fire { alert: "A", labels: &[("pod", "x")], value: "2" };
        let file = alerts(&play, &rules(), &["A"], &[fire], &[]).unwrap();
        let told = json!([{"exp_labels": {"severity": "warning", "pod": "x"}, "exp_annotations": {"summary": "x has 2."}}]);
        assert_eq!(file.pointer("/tests/0/alert_rule_test/0/exp_alerts"), Some(&told));
        let silent = alerts(&play, &rules(), &["A"], &[], &[]).unwrap();
        assert_eq!(silent.pointer("/tests/0/alert_rule_test/0/exp_alerts"), Some(&json!([])));
        assert_eq!(silent.pointer("/tests/0/promql_expr_test/0/exp_samples"), Some(&json!([])));
        assert!(alerts(&play, &rules(), &["B"], &[Fire { alert: "B", labels: &[], value: "" }], &[]).is_err());
    }

    #[test]
    fn one_alert_can_be_turned() {
        let turned = rules().only("A", "a > 2").unwrap();
        assert_eq!((turned.alerts().collect::<Vec<_>>(), turned.expression("A").unwrap()), (vec!["A"], "a > 2"));
        assert!(rules().only("B", "1").is_err());
    }
}
