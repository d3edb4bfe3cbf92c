//! One JSON object a line, with the keys that log queries for this CRD know: `level`, `ts`, `logger`, `msg`, and every
//! field beside them.
//!
//! Fields of the spans that an event happened in stand at the top as well, so that a query for a NodePool finds what was
//! said anywhere within its pass.

use std::fmt;

use jiff::Timestamp;
use serde::Serializer as _;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// The format.
pub(super) struct Line;

impl<S> FormatEvent<S, JsonFields> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn format_event(&self, context: &FmtContext<'_, S, JsonFields>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut fields = Fields::default();
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let extensions = span.extensions();
            let text = extensions.get::<FormattedFields<JsonFields>>().map_or("", |formatted| formatted.as_str());
            // A span without fields has no text.
            let of_span: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
            of_span.into_iter().for_each(|(key, value)| fields.set(&key, value));
        }
        event.record(&mut fields);
        let metadata = event.metadata();
        let head = [
            ("level", metadata.level().as_str().to_lowercase().into()),
            ("ts", format!("{:.3}", Timestamp::now()).into()),
            ("logger", metadata.target().into()),
            ("msg", fields.message.into()),
        ];
        let rest = fields.rest.iter().map(|(key, value)| (key.as_str(), value.clone()));
        let mut line = Vec::new();
        serde_json::Serializer::new(&mut line).collect_map(head.into_iter().chain(rest)).map_err(|_| fmt::Error)?;
        writeln!(writer, "{}", String::from_utf8_lossy(&line))
    }
}

/// The fields of a line in the order in which they were set; the innermost value of a key counts.
#[derive(Default)]
struct Fields {
    message: String,
    rest: Vec<(String, Value)>,
}

impl Fields {
    fn set(&mut self, key: &str, value: Value) {
        match self.rest.iter_mut().find(|(set, _)| set == key) {
            Some((_, before)) => *before = value,
            None => self.rest.push((key.to_owned(), value)),
        }
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field.name(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field.name(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field.name(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field.name(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field.name(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.set(name, format!("{value:?}").into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing::{info, info_span, warn};
    use tracing_subscriber::prelude::*;

    use super::*;
    use crate::sink::Sink;

    /// What is logged, line by line, without the time.
    fn logged(work: impl FnOnce()) -> Vec<String> {
        let sink = Sink::default();
        let writer = sink.clone();
        let layer = tracing_subscriber::fmt::layer().fmt_fields(JsonFields::new()).event_format(Line).with_writer(move || writer.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
        let text = sink.text();
        let lines = text.lines().map(|line| {
            let value: Value = serde_json::from_str(line).unwrap();
            let time = value["ts"].as_str().unwrap();
            assert!(time.parse::<Timestamp>().is_ok() && time.len() == "2026-01-01T00:00:00.000Z".len(), "{time}");
            line.replace(time, "T")
        });
        lines.collect()
    }

    #[test]
    fn every_field_stands_at_the_top_under_its_own_name() {
        let lines = logged(|| {
            info!(target: "t", nodepool = "api", nodeclaim = "api-1", eligible = 3_u32, surgeless = false, none = None::<&str>, "rotation candidate selected");
            warn!(target: "t", error = %"a \"quoted\"\nword", "pass failed");
        });
        insta::assert_snapshot!(lines.join("\n"), @r#"
        {"level":"info","ts":"T","logger":"t","msg":"rotation candidate selected","nodepool":"api","nodeclaim":"api-1","eligible":3,"surgeless":false}
        {"level":"warn","ts":"T","logger":"t","msg":"pass failed","error":"a \"quoted\"\nword"}
        "#);
    }

    #[test]
    fn fields_of_spans_are_found_on_the_line_and_the_innermost_counts() {
        let lines = logged(|| {
            let _pass = info_span!("pass", nodepool = "api", phase = "outer").entered();
            let _step = info_span!("step", phase = "inner").entered();
            info!(target: "t", claim = "api-1", "here");
            info!(target: "t", nodepool = "other", "there");
        });
        insta::assert_snapshot!(lines.join("\n"), @r#"
        {"level":"info","ts":"T","logger":"t","msg":"here","nodepool":"api","phase":"inner","claim":"api-1"}
        {"level":"info","ts":"T","logger":"t","msg":"there","nodepool":"other","phase":"inner"}
        "#);
    }
}
