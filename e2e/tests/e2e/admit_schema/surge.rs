//! The other fields of `spec.surge`: one node at a time, and switches.

use serde_json::{Value, json};

use super::row::{Row, admits, refuses, server_refuses};

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = vec![
        admits("no surge", "/spec/surge", None),
        admits("an empty surge", "/spec/surge", json!({})),
        admits("c215 as many unavailable as by default", "/spec/surge/maxUnavailable", None),
        admits("c215 one unavailable", "/spec/surge/maxUnavailable", json!(1)),
        // A rule does not take a number with a point for an integer. kubectl writes 1 for it.
        server_refuses("1.0 unavailable", "/spec/surge/maxUnavailable", json!(1.0), "spec.surge.maxUnavailable", "expected int"),
    ];
    let (pointer, field) = ("/spec/surge/maxUnavailable", "spec.surge.maxUnavailable");
    let words = "is not supported; write 1, or leave the field out";
    for number in [0, 2] {
        rows.push(refuses(&format!("c215 {number} unavailable"), pointer, json!(number), field, words));
    }
    for number in [-1, 3, 2_147_483_647, i64::from(i32::MIN)] {
        rows.push(refuses(&format!("{number} unavailable"), pointer, json!(number), field, words));
    }
    rows.extend([
        refuses("less than one unavailable", pointer, json!(0), field, "should be greater than or equal to 1"),
        refuses("more than one unavailable", pointer, json!(2), field, "should be less than or equal to 1"),
        refuses("half a node unavailable", pointer, json!(0.5), field, "must be of type int32"),
        refuses("a tenth of the nodes unavailable", pointer, json!("10%"), field, "must be of type integer"),
    ]);
    for switch in ["forcefulFallback", "wholeNodeReservation"] {
        rows.extend(switched(switch));
    }
    rows
}

fn switched(switch: &str) -> Vec<Row> {
    let pointer = format!("/spec/surge/{switch}");
    let row = |value: Value| admits(&format!("{switch} {value}"), &pointer, value);
    let mut rows =
        [json!({"enabled": true}), json!({"enabled": false}), json!({}), json!(null), json!({"enabled": null})].map(row).to_vec();
    for value in [json!("true"), json!(1), json!([])] {
        let name = format!("{switch} enabled {value}");
        rows.push(refuses(&name, &format!("{pointer}/enabled"), value, &format!("spec.surge.{switch}.enabled"), "must be of type boolean"));
    }
    rows
}
