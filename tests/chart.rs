//! The chart's values: one description of each, in values.yaml, carried into the schema and the chart's README; and its rights,
//! with the reason of each, carried from its roles into docs/rights.md.
//!
//! `BLESS=1` (`make chart-docs`) writes all three anew; without it they must be what would be written. The schema of a policy's
//! `spec` is carried over from the CustomResourceDefinition, so that no field of either is unknown to the other.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "the whole file is a test")]

mod chart {
    pub(crate) mod alerts;
    pub(crate) mod describe;
    pub(crate) mod json;
    pub(crate) mod policy;
    pub(crate) mod rights;
    pub(crate) mod table;
}

use std::collections::BTreeSet;
use std::path::Path;

use chart::describe::Descriptions;
use serde_yaml_ng::Value;

const CHART: &str = "charts/node-rotation-controller";
const RIGHTS: &str = "docs/rights.md";
/// The chart with its defaults, as a trial on a cluster holds it to be.
const RENDERED: &str = "e2e/tests/e2e/chart_values/golden/defaults.yaml";

fn read(file: &str) -> String {
    of_repository(&format!("{CHART}/{file}"))
}

fn of_repository(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn yaml(file: &str) -> Value {
    serde_yaml_ng::from_str(&read(file)).unwrap()
}

/// The schema with the descriptions of values.yaml and the policy of the CRD.
fn schema_again() -> String {
    let mut schema = yaml("values.schema.json");
    let policy = chart::policy::spec(&yaml("crds/rotationpolicies.noderotation.io.yaml"));
    *chart::policy::place(&mut schema) = policy;
    Descriptions::read(&read("values.yaml")).write_to(&mut schema);
    format!("{}\n", chart::json::text(&schema))
}

/// The README with the table of values.
fn readme_again() -> String {
    let table = chart::table::of(&yaml("values.yaml"), &Descriptions::read(&read("values.yaml")), &yaml("values.schema.json"));
    chart::table::replaced(&read("README.md"), "values", &table)
}

/// The page about rights with their table.
fn rights_again() -> String {
    chart::table::replaced(&of_repository(RIGHTS), "rights", &chart::rights::of(&of_repository(RENDERED)))
}

#[test]
fn schema_and_readme_and_the_table_of_rights_say_what_the_chart_says() {
    let files: [(String, fn() -> String); 3] = [
        (format!("{CHART}/values.schema.json"), schema_again),
        (format!("{CHART}/README.md"), readme_again),
        (RIGHTS.to_owned(), rights_again),
    ];
    for (file, again) in files {
        let again = again();
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file), &again).unwrap();
        }
        assert!(of_repository(&file) == again, "{file} is not what values.yaml, the CRD and the roles make of it; run `make chart-docs`");
    }
}

#[test]
fn values_and_schema_know_the_same_names() {
    let (values, schema) = (yaml("values.yaml"), yaml("values.schema.json"));
    let of_values = chart::table::names(&values, &schema);
    let of_schema = chart::describe::properties(&schema);
    let absent = |left: &BTreeSet<String>, right: &BTreeSet<String>| left.difference(right).cloned().collect::<Vec<_>>();
    assert!(of_values.len() > 80, "only {} values were found", of_values.len());
    assert!(absent(&of_values, &of_schema).is_empty(), "not in the schema: {:?}", absent(&of_values, &of_schema));
    assert!(absent(&of_schema, &of_values).is_empty(), "not in values.yaml: {:?}", absent(&of_schema, &of_values));
}

#[test]
fn the_schema_describes_every_property_and_lets_no_other_in() {
    chart::describe::each_object(&yaml("values.schema.json"), &mut |path, object| {
        let Some(properties) = object.get("properties").and_then(Value::as_mapping) else { return };
        assert_eq!(object.get("additionalProperties"), Some(&Value::Bool(false)), "{path} lets any name in");
        for (name, property) in properties {
            let said = property.get("description").and_then(Value::as_str).unwrap_or_default();
            assert!(said.ends_with(['.', '`', ')']) && said.len() > 8, "{path}.{}: {said:?} is no description", name.as_str().unwrap());
        }
    });
}

#[test]
fn the_alerts_ask_for_series_that_exist() {
    chart::alerts::ask_for_series_that_exist(&read("templates/prometheusrule.yaml"));
}

#[test]
fn each_alert_has_a_paragraph_in_the_runbook() {
    chart::alerts::have_a_paragraph_each(&read("templates/prometheusrule.yaml"), &of_repository("docs/runbook.md"));
}

#[test]
fn the_alerts_are_those_that_others_route() {
    chart::alerts::are_those_that_others_route(&read("templates/prometheusrule.yaml"));
}
