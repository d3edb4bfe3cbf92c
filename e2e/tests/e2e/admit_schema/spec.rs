//! The fields of the spec itself that belong to no other subject.

use serde_json::{Map, Value, json};

use super::row::{Row, admits, refuses, server_refuses};

pub(crate) fn rows() -> Vec<Row> {
    [whole(), chances(), age_threshold(), pre_pull(), unknown()].concat()
}

fn whole() -> Vec<Row> {
    vec![refuses("no spec", "/spec", None, "spec", "Required value"), admits("as much of everything as there may be", "/spec", largest())]
}

fn chances() -> Vec<Row> {
    let (pointer, field) = ("/spec/minRotationChances", "spec.minRotationChances");
    vec![
        admits("chances by default", pointer, None),
        admits("1 chance", pointer, json!(1)),
        admits("2 chances", pointer, json!(2)),
        admits("2.0 chances", pointer, json!(2.0)),
        admits("2147483647 chances", pointer, json!(2_147_483_647)),
        refuses("0 chances", pointer, json!(0), field, "should be greater than or equal to 1"),
        refuses("-1 chances", pointer, json!(-1), field, "should be greater than or equal to 1"),
        refuses("2147483648 chances", pointer, json!(2_147_483_648_i64), field, "should be less than or equal to 2147483647"),
        refuses("9223372036854775807 chances", pointer, json!(i64::MAX), field, "should be less than or equal to 2147483647"),
        refuses("1.5 chances", pointer, json!(1.5), field, "must be of type int32"),
        refuses("1e30 chances", pointer, json!(1e30), field, "must be of type int32"),
        refuses("two chances", pointer, json!("2"), field, "must be of type integer"),
    ]
}

fn age_threshold() -> Vec<Row> {
    let (pointer, field) = ("/spec/ageThreshold", "spec.ageThreshold");
    let words = "must be auto, or a duration longer than zero and at most 87600h; write for example 720h";
    vec![
        admits("c062 no ageThreshold", pointer, None),
        admits("ageThreshold auto", pointer, json!("auto")),
        refuses("ageThreshold auto and a duration", pointer, json!("auto720h"), field, words),
        refuses("ageThreshold \"auto\\n\"", pointer, json!("auto\n"), field, words),
        refuses("ageThreshold \"auto \"", pointer, json!("auto "), field, words),
        refuses("ageThreshold AUTO", pointer, json!("AUTO"), field, words),
        refuses("ageThreshold 720", pointer, json!(720), field, "must be of type string"),
    ]
}

fn pre_pull() -> Vec<Row> {
    let (pointer, field) = ("/spec/prePull", "spec.prePull.enabled");
    vec![
        admits("no prePull", pointer, None),
        admits("an empty prePull", pointer, json!({})),
        admits("prePull off", pointer, json!({"enabled": false})),
        refuses("prePull on", pointer, json!({"enabled": true}), field, "is not supported yet; write false, or leave the field out"),
    ]
}

/// The rules of a policy must not cost more than the API server grants.
fn largest() -> Value {
    let key = |n: usize| format!("{n:0>253}/{n:0>63}");
    let keys = |from: usize, count: usize| (from..from + count).map(key).collect::<Vec<_>>();
    let value = |n: usize| format!("{n:0>63}");
    let labels: Map<String, Value> = keys(0, 64).into_iter().map(|key| (key, json!(value(0)))).collect();
    let values: Vec<String> = (0..256).map(value).collect();
    let expression = |n: usize| json!({"key": key(n), "operator": "NotIn", "values": values});
    let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let window = json!({"timezone": "America/Argentina/ComodRivadavia", "days": days, "start": "23:59", "end": "24:00"});
    let duration = "00001h1m1s1ms1us00000000000001ns";
    json!({
        "nodePoolSelector": {"matchLabels": labels, "matchExpressions": (0..64).map(expression).collect::<Vec<_>>()},
        "ageThreshold": duration,
        "minRotationChances": i32::MAX,
        "maintenanceWindows": vec![window; 64],
        "surge": {
            "readyTimeout": duration, "cooldownAfter": duration, "failurePause": duration, "retryBackoff": duration,
            "provisioningEstimate": duration, "drainEstimate": duration,
            "matchNodeRequirements": {"required": keys(100, 16), "preferred": keys(200, 16)},
        },
    })
}

/// The API server drops what the schema does not know before anybody else sees it.
fn unknown() -> Vec<Row> {
    let strictly = |name: &str, pointer: &str, value, field: &str| {
        server_refuses(name, pointer, value, "", &format!("strict decoding error: unknown field \"{field}\""))
    };
    vec![
        strictly("an unknown field of the object", "/suspend", json!(true), "suspend"),
        strictly("an unknown field of the spec", "/spec/suspend", json!(true), "spec.suspend"),
        strictly("an unknown field of the selector", "/spec/nodePoolSelector/labels", json!({}), "spec.nodePoolSelector.labels"),
        strictly("an unknown field of a window", "/spec/maintenanceWindows/0/zone", json!("UTC"), "spec.maintenanceWindows[0].zone"),
        strictly("an unknown field of the surge", "/spec/surge/readyTimout", json!("15m"), "spec.surge.readyTimout"),
        strictly("an unknown field of a switch", "/spec/surge/forcefulFallback/on", json!(true), "spec.surge.forcefulFallback.on"),
        strictly("an unknown field of prePull", "/spec/prePull/images", json!([]), "spec.prePull.images"),
        strictly(
            "an unknown field of the requirements",
            "/spec/surge/matchNodeRequirements/optional",
            json!([]),
            "spec.surge.matchNodeRequirements.optional",
        ),
    ]
}
