//! Every rule: one row a rule with its whole sentence, and the good twins that differ in one field.

mod cases;

use serde_json::{Value, json};

use super::*;
use crate::policy::tests::{good, with};

fn faults(policy: &Value) -> Vec<String> {
    validate(policy).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// What is told of the good policy with each row's value in each row's place; a row without a fault is an error.
fn told(parent: &str, rows: &[(&str, Value)]) -> String {
    let mut told = Vec::new();
    for (field, value) in rows {
        let faults = faults(&with(&format!("{parent}{field}"), value.clone()));
        assert!(!faults.is_empty(), "{parent}{field} = {value} is accepted");
        told.extend(faults);
    }
    told.join("\n")
}

#[test]
fn a_good_policy_is_parsed_whole() {
    let governing = validate(&good()).unwrap();
    assert_eq!((governing.name.as_str(), governing.generation, governing.min_rotation_chances), ("api", 7, 2));
    assert_eq!(governing.age_threshold, AgeThreshold::Auto);
    assert_eq!(governing.failure_pause.as_secs(), 600);
    assert_eq!(governing.required_keys, DEFAULT_REQUIRED_KEYS);
    let longer = validate(&with("/spec/surge/cooldownAfter", json!("40m"))).unwrap();
    assert_eq!(longer.failure_pause.as_secs(), 2400, "the failure pause is never shorter than the cooldown");
    let none = validate(&with("/spec/surge/matchNodeRequirements", json!({"required": []}))).unwrap();
    assert_eq!(none.required_keys, DEFAULT_REQUIRED_KEYS, "an empty list does not switch the defaults off");
}

#[test]
fn what_may_be_left_out_may() {
    let optional = ["/spec/ageThreshold", "/spec/minRotationChances", "/spec/surge", "/spec/surge/maxUnavailable", "/metadata/name"];
    for pointer in optional.into_iter().chain(["/spec/surge/readyTimeout", "/spec/surge/cooldownAfter", "/spec/surge/retryBackoff"]) {
        assert_eq!(faults(&with(pointer, Value::Null)), Vec::<String>::new(), "{pointer}");
    }
}

#[test]
fn what_is_unusual_but_right_is_accepted() {
    let rows = [
        ("maintenanceWindows/0/end", json!("24:00")),
        ("maintenanceWindows/0/end", json!("00:00")),
        ("maintenanceWindows/0/end", json!("02:01")),
        ("maintenanceWindows/0/start", json!("23:59")),
        ("maintenanceWindows/0/timezone", json!("Europe/Kyiv")),
        ("maintenanceWindows/0/days", json!(["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"])),
        ("maintenanceWindows", json!(vec![good()["spec"]["maintenanceWindows"][0].clone(); 64])),
        ("ageThreshold", json!("1.5h")),
        ("minRotationChances", json!(1)),
        ("minRotationChances", json!(2_147_483_647)),
        ("minRotationChances", json!(2.0)),
        ("surge/maxUnavailable", json!(1.0)),
        ("nodePoolSelector", json!({})),
        ("surge/cooldownAfter", json!("0s")),
        ("surge/cooldownAfter", json!("0")),
        ("surge/readyTimeout", json!("900000ms")),
        ("surge/retryBackoff", json!("1ns")),
        ("surge/drainEstimate", json!("87600h")),
        ("surge/matchNodeRequirements", json!({"required": [], "preferred": ["example.com/rack"]})),
        ("surge/matchNodeRequirements", json!({"required": ["kubernetes.io/arch"], "preferred": ["topology.kubernetes.io/zone"]})),
        ("surge/matchNodeRequirements", json!({"preferred": (0..16).map(|n| format!("k{n}")).collect::<Vec<_>>()})),
        ("prePull", json!({"enabled": false})),
    ];
    for (field, value) in rows {
        assert_eq!(faults(&with(&format!("/spec/{field}"), value.clone())), Vec::<String>::new(), "{field} = {value}");
    }
}

#[test]
fn each_rule_of_the_spec_has_its_sentence() {
    let rows = [
        ("", Value::Null),
        ("", json!("fast")),
        ("/nodePoolSelector", Value::Null),
        ("/nodePoolSelector", json!("api")),
        ("/nodePoolSelector", json!({"matchLabels": {"bad key!": "x"}})),
        ("/ageThreshold", json!("30d")),
        ("/ageThreshold", json!("0s")),
        ("/ageThreshold", json!("")),
        ("/ageThreshold", json!("Auto")),
        ("/ageThreshold", json!("Never")),
        ("/ageThreshold", json!("0 1 * * 0")),
        ("/minRotationChances", json!(0)),
        ("/minRotationChances", json!(-1)),
        ("/minRotationChances", json!(1.5)),
        ("/minRotationChances", json!(1e30)),
        ("/minRotationChances", json!(2_147_483_648_i64)),
        ("/maintenanceWindows", Value::Null),
        ("/maintenanceWindows", json!([])),
        ("/maintenanceWindows", json!({})),
        ("/maintenanceWindows", json!(vec![json!({}); 65])),
        ("/maintenanceWindows/0", json!("Wed 02:00")),
        ("/maintenanceWindows/0", Value::Null),
        ("/prePull", json!({"enabled": true})),
        ("/prePull", json!(true)),
    ];
    insta::assert_snapshot!(told("/spec", &rows), @r#"
    spec: is required; write nodePoolSelector and maintenanceWindows
    spec: "fast" is text; write an object with fields
    spec.nodePoolSelector: is required; write matchLabels of the NodePools to rotate, or {} for all of them
    spec.nodePoolSelector: "api" is text; write an object with fields
    spec.nodePoolSelector.matchLabels[bad key!]: "bad key!" is not a label key; write a name such as team, or prefix/name such as example.com/team
    spec.ageThreshold: "30d" has the unknown unit "d"; the units are h, m, s, ms, us and ns; write 720h
    spec.ageThreshold: "0s" must be longer than zero; write for example auto or 720h
    spec.ageThreshold: "" is neither auto nor a duration; write auto, or for example 720h
    spec.ageThreshold: "Auto" is neither auto nor a duration; write auto, or for example 720h
    spec.ageThreshold: "Never" is neither auto nor a duration; write auto, or for example 720h
    spec.ageThreshold: "0 1 * * 0" is a time to rotate at, not an age; write auto or for example 720h, and the times as maintenanceWindows
    spec.minRotationChances: 0 is less than one; write 1 or more, 2 is the default
    spec.minRotationChances: -1 is less than one; write 1 or more, 2 is the default
    spec.minRotationChances: 1.5 is not a whole number within bounds; write for example 1
    spec.minRotationChances: 1e+30 is not a whole number within bounds; write for example 1
    spec.minRotationChances: 2147483648 is more than any schedule has windows; write for example 2
    spec.maintenanceWindows: is required; write at least one window with timezone, days, start and end
    spec.maintenanceWindows: [] is empty; write at least one window with timezone, days, start and end
    spec.maintenanceWindows: {} is an object; write a list
    spec.maintenanceWindows: has 65 windows; write at most 64
    spec.maintenanceWindows[0]: "Wed 02:00" is text; write an object with fields
    spec.maintenanceWindows[0]: is required; write timezone, days, start and end
    spec.prePull.enabled: true is not supported yet; write false, or leave the field out
    spec.prePull: true is a boolean; write an object with fields
    "#);
}

#[test]
fn each_rule_of_a_window_has_its_sentence() {
    let rows = [
        ("timezone", Value::Null),
        ("timezone", json!("Local")),
        ("timezone", json!("europe/berlin")),
        ("timezone", json!("+02:00")),
        ("timezone", json!("x".repeat(65))),
        ("timezone", json!(2)),
        ("days", Value::Null),
        ("days", json!([])),
        ("days", json!("Wed")),
        ("days", json!(["saturday", "mo", "Funday", "Wed", "Wed", 3, null])),
        ("days", json!(vec!["mo"; 8])),
        ("start", Value::Null),
        ("start", json!("2:00")),
        ("start", json!("24:00")),
        ("start", json!("06:00")),
        ("start", json!(600)),
        ("end", Value::Null),
        ("end", json!("25:00")),
        ("end", json!("24:01")),
        ("end", json!("06:60")),
        ("end", json!("0６:00")),
        ("end", json!("06:00 ")),
    ];
    insta::assert_snapshot!(told("/spec/maintenanceWindows/0/", &rows), @r#"
    spec.maintenanceWindows[0].timezone: is required; write an IANA name such as Europe/Berlin
    spec.maintenanceWindows[0].timezone: "Local" is the zone of a machine, which differs from node to node; write an IANA name such as Europe/Berlin
    spec.maintenanceWindows[0].timezone: "europe/berlin" is not an IANA time zone; did you mean Europe/Berlin?
    spec.maintenanceWindows[0].timezone: "+02:00" is not an IANA time zone; an offset does not follow daylight saving time; write an IANA name such as Europe/Berlin or UTC
    spec.maintenanceWindows[0].timezone: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" has more than 64 characters; write an IANA name such as Europe/Berlin
    spec.maintenanceWindows[0].timezone: 2 is a number; write text, for example "Europe/Berlin"
    spec.maintenanceWindows[0].days: is required; write one or more of Mon, Tue, Wed, Thu, Fri, Sat, Sun
    spec.maintenanceWindows[0].days: [] is empty; write one or more of Mon, Tue, Wed, Thu, Fri, Sat, Sun
    spec.maintenanceWindows[0].days: "Wed" is text; write a list
    spec.maintenanceWindows[0].days[0]: "saturday" is not a day; write Sat
    spec.maintenanceWindows[0].days[1]: "mo" is not a day; write Mon
    spec.maintenanceWindows[0].days[2]: "Funday" is not a day; write Mon, Tue, Wed, Thu, Fri, Sat or Sun
    spec.maintenanceWindows[0].days[4]: "Wed" is there twice; write each day once
    spec.maintenanceWindows[0].days[5]: 3 is a number; write text, for example "Mon"
    spec.maintenanceWindows[0].days[6]: is null; write text, for example "Mon", or leave the item out
    spec.maintenanceWindows[0].days: has 8 days; write each day once
    spec.maintenanceWindows[0].start: is required; write a time of day as HH:MM
    spec.maintenanceWindows[0].start: "2:00" is not a time of day; write HH:MM, 00:00 to 23:59
    spec.maintenanceWindows[0].start: "24:00" is not a time of day; write HH:MM, 00:00 to 23:59
    spec.maintenanceWindows[0].end: "06:00" equals start, so the window has no length; for a whole day write 00:00 to 24:00
    spec.maintenanceWindows[0].start: 600 is a number; write text, for example "02:00"
    spec.maintenanceWindows[0].end: is required; write a time of day as HH:MM
    spec.maintenanceWindows[0].end: "25:00" is not a time of day; write HH:MM, 00:00 to 24:00
    spec.maintenanceWindows[0].end: "24:01" is not a time of day; write HH:MM, 00:00 to 24:00
    spec.maintenanceWindows[0].end: "06:60" is not a time of day; write HH:MM, 00:00 to 24:00
    spec.maintenanceWindows[0].end: "0６:00" is not a time of day; write HH:MM, 00:00 to 24:00
    spec.maintenanceWindows[0].end: "06:00 " is not a time of day; write HH:MM, 00:00 to 24:00
    "#);
}

#[test]
fn each_rule_of_the_surge_has_its_sentence() {
    // Only their number is told, not that they are no keys either.
    let many: Vec<String> = (0..17).map(|n| format!("k{n}!")).collect();
    let rows = [
        ("", json!("fast")),
        ("/maxUnavailable", json!(2)),
        ("/maxUnavailable", json!(0)),
        ("/maxUnavailable", json!("1")),
        ("/readyTimeout", json!("0s")),
        ("/readyTimeout", json!("-5m")),
        ("/readyTimeout", json!(900)),
        ("/readyTimeout", json!("000000000000000000000000000000015m")),
        ("/retryBackoff", json!("30")),
        ("/cooldownAfter", json!("99999999999999999999h")),
        ("/failurePause", json!("0s")),
        ("/provisioningEstimate", json!("5 min")),
        ("/drainEstimate", json!("1w")),
        ("/matchNodeRequirements", json!({"required": ["bad key!", "karpenter.sh/nodepool", "kubernetes.io/hostname", "a", "a", null]})),
        ("/matchNodeRequirements", json!({"preferred": ["kubernetes.io/arch"]})),
        ("/matchNodeRequirements", json!({"required": ["a"], "preferred": ["a", "b", "b"]})),
        ("/matchNodeRequirements", json!({"preferred": many})),
        ("/matchNodeRequirements", json!({"required": "a"})),
        ("/forcefulFallback", json!({"enabled": "yes"})),
        ("/wholeNodeReservation", json!(true)),
    ];
    insta::assert_snapshot!(told("/spec/surge", &rows), @r#"
    spec.surge: "fast" is text; write an object with fields
    spec.surge.maxUnavailable: 2 is not supported; write 1, or leave the field out
    spec.surge.maxUnavailable: 0 is not supported; write 1, or leave the field out
    spec.surge.maxUnavailable: "1" is text; write a whole number
    spec.surge.readyTimeout: "0s" must be longer than zero; write for example 15m
    spec.surge.readyTimeout: "-5m" has a sign; write it without one, for example 15m
    spec.surge.readyTimeout: 900 is a number; write text, for example "15m"
    spec.surge.readyTimeout: "000000000000000000000000000000015m" has more than 32 characters; write for example 15m
    spec.surge.retryBackoff: "30" has a number without a unit; write for example 30m or 30h
    spec.surge.cooldownAfter: "99999999999999999999h" is longer than 10 years; write at most 87600h
    spec.surge.failurePause: "0s" must be longer than zero; write for example 10m
    spec.surge.provisioningEstimate: "5 min" is not a duration; write numbers with units, for example 15m or 1h30m
    spec.surge.drainEstimate: "1w" has the unknown unit "w"; the units are h, m, s, ms, us and ns; write 168h
    spec.surge.matchNodeRequirements.required[0]: "bad key!" is not a label key; write for example topology.kubernetes.io/zone
    spec.surge.matchNodeRequirements.required[1]: "karpenter.sh/nodepool" is always required; leave it out
    spec.surge.matchNodeRequirements.required[2]: "kubernetes.io/hostname" names one host, which no new node could have; leave it out
    spec.surge.matchNodeRequirements.required[4]: "a" is there twice; write each key once
    spec.surge.matchNodeRequirements.required[5]: is null; write text, for example "topology.kubernetes.io/zone", or leave the item out
    spec.surge.matchNodeRequirements.preferred[0]: "kubernetes.io/arch" is required already; leave it out here, or write the list required without it
    spec.surge.matchNodeRequirements.preferred[0]: "a" is required already; leave it out here, or write the list required without it
    spec.surge.matchNodeRequirements.preferred[2]: "b" is there twice; write each key once
    spec.surge.matchNodeRequirements.preferred: has 17 keys; write at most 16
    spec.surge.matchNodeRequirements.required: "a" is text; write a list
    spec.surge.forcefulFallback.enabled: "yes" is text; write true or false
    spec.surge.wholeNodeReservation: true is a boolean; write an object with fields
    "#);
}

#[test]
fn all_faults_are_told_at_once_in_the_order_of_the_fields() {
    let mut policy = with("/spec/maintenanceWindows/0/end", json!("25:00"));
    policy["spec"]["ageThreshold"] = json!("30d");
    policy["spec"]["surge"] = json!({
        "wholeNodeReservation": 1, "forcefulFallback": {"enabled": 1}, "drainEstimate": "x", "retryBackoff": "x",
        "failurePause": "x", "cooldownAfter": "x", "readyTimeout": "x", "maxUnavailable": 2
    });
    let faults = validate(&policy).unwrap_err();
    let fields: Vec<&str> = faults.iter().map(|fault| fault.field.strip_prefix("spec.").unwrap()).collect();
    let surge = ["maxUnavailable", "readyTimeout", "cooldownAfter", "failurePause", "retryBackoff", "drainEstimate"];
    let mut expected = vec!["ageThreshold".to_owned(), "maintenanceWindows[0].end".to_owned()];
    expected.extend(surge.into_iter().chain(["forcefulFallback.enabled", "wholeNodeReservation"]).map(|field| format!("surge.{field}")));
    assert_eq!(fields, expected);
}

#[test]
fn no_object_is_too_malformed_to_be_judged() {
    for object in [
        Value::Null,
        json!([]),
        json!(3),
        json!({}),
        json!({"spec": null}),
        json!({"spec": []}),
        json!({"spec": {"maintenanceWindows": [null, 1]}}),
    ] {
        assert!(!faults(&object).is_empty(), "{object}");
    }
}
