//! What is read of a fleet, and what is said of one that cannot be.

use serde_json::{Value, json};

use super::*;

fn good() -> Value {
    json!({
        "start": "2026-01-01T00:00:00Z",
        "end": "2027-01-01T00:00:00Z",
        "pools": [{"name": "api", "expireAfter": "336h", "nodes": [{"count": 50, "age": "24h", "within": "2h"}]}],
    })
}

fn faults(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut value = good();
    change(&mut value);
    read(&value, Times::default()).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

#[test]
fn a_small_fleet_is_read_with_what_it_leaves_out() {
    let fleet = read(&good(), Times::default()).unwrap();
    let pool = &fleet.pools[0];
    assert_eq!((pool.nodes[0].count, pool.provisioning.at(500_000).as_secs(), pool.drain.at(0).as_secs()), (50, 300, 600));
    let times = Times { start: "2026-06-01T00:00:00Z".parse().ok(), end: "2026-06-01T01:00:00Z".parse().ok() };
    let fleet = read(&good(), times).unwrap();
    assert_eq!((fleet.start.to_string().as_str(), fleet.end.to_string().as_str()), ("2026-06-01T00:00:00Z", "2026-06-01T01:00:00Z"));
}

/// A change of the file by the pointer to a field, and what is said of it.
type Row = (&'static str, Value, &'static str);

fn assert_rows(rows: &[Row]) {
    for (pointer, value, expected) in rows {
        let faults = faults(|fleet| {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            fleet.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(key.to_owned(), value.clone());
        });
        assert!(faults.iter().any(|fault| fault == expected), "{pointer}: {faults:#?}");
    }
}

#[test]
fn what_cannot_be_is_told_with_its_field_and_what_to_write_instead() {
    assert_rows(&[
        (
            "/end",
            json!("2025-01-01T00:00:00Z"),
            "end: \"2025-01-01T00:00:00Z\" is not after the start, 2026-01-01T00:00:00Z; write a later instant",
        ),
        (
            "/end",
            json!("2226-01-01T00:00:00Z"),
            "end: \"2226-01-01T00:00:00Z\" is more than 100 years after the start, 2026-01-01T00:00:00Z; write an earlier instant",
        ),
        ("/pools/0/expireAfter", json!("1ns"), "pools[0].expireAfter: \"1ns\" is shorter than the start of a node; write at least 1m"),
        ("/start", json!("yesterday"), "start: \"yesterday\" is not an instant; write for example 2026-01-01T00:00:00Z"),
        ("/end", json!(null), "end: is required; write an instant, for example 2026-01-01T00:00:00Z"),
        ("/pools", json!([]), "pools: is required; write at least one pool with a name and nodes"),
        ("/pools/0/nodes", json!([{"count": 1_000_000_000}]), "pools[0].nodes[0].count: 1000000000 is too many; write 1 to 1000000"),
        ("/pools/0/nodes", json!([{"count": -1}]), "pools[0].nodes[0].count: -1 is too few; write 1 to 1000000"),
        ("/pools/0/nodes", json!([{"count": 1_000_000}, {"count": 1}]), "pools: have 1000001 nodes together; write at most 1000000"),
        (
            "/pools/0/cycles",
            json!([{"every": "0s", "lasts": "1h", "add": 1}]),
            "pools[0].cycles[0].every: \"0s\" must be longer than zero; write for example 24h",
        ),
        (
            "/pools/0/cycles",
            json!([{"every": "24h", "lasts": "24h", "add": 1}]),
            "pools[0].cycles[0].lasts: \"24h\" is not shorter than the cycle; write a duration below every",
        ),
        (
            "/pools/0/cycles",
            json!([{"every": "1s", "lasts": "500ms", "add": 1}]),
            "pools[0].cycles[0].every: \"1s\" makes 31536000 cycles; write one that makes at most 1000000",
        ),
    ]);
    assert_eq!(read(&json!([]), Times::default()).unwrap_err()[0].to_string(), ": [] is a list; write an object with fields");
}

#[test]
fn what_is_spelled_wrong_is_told_with_what_was_meant() {
    assert_rows(&[
        (
            "/pools/0/expireAfter",
            json!("14d"),
            "pools[0].expireAfter: \"14d\" has the unknown unit \"d\"; the units are h, m, s, ms, us and ns; write 336h",
        ),
        ("/pools/0/expireafter", json!("1h"), "pools[0].expireafter: is not a field of a fleet; did you mean expireAfter?"),
        ("/weather", json!(1), "weather: is not a field of a fleet; the fields here are start, end, pools, droughts, freezes, outages"),
        (
            "/pools/0/launchFails",
            json!("often"),
            "pools[0].launchFails: \"often\" is not a chance; write a percentage with up to four decimals, for example 5% or 0.25%",
        ),
        ("/pools/0/launchFails", json!("101%"), "pools[0].launchFails: \"101%\" is more than always; write at most 100%"),
        (
            "/pools/0/drain",
            json!({"p50": "5m", "max": "4m"}),
            "pools[0].drain.max: \"4m\" is shorter than the quantile before it; write durations that grow from min to max",
        ),
        ("/pools/0/drain", json!({}), "pools[0].drain: has no quantile; write for example {min: 2m, p50: 4m, max: 10m}"),
        (
            "/freezes",
            json!([{"from": "2026-02-01T00:00:00Z", "to": "2026-02-02T00:00:00Z", "pools": ["apj"]}]),
            "freezes[0].pools[0]: \"apj\" is no pool of the fleet; write the name of one that is there",
        ),
        (
            "/outages",
            json!([{"from": "2026-02-01T00:00:00Z", "to": "2026-02-02T00:00:00Z", "of": "people"}]),
            "outages[0].of: \"people\" is nobody; write operator or everybody",
        ),
        (
            "/droughts",
            json!([{"from": "2026-02-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}]),
            "droughts[0].to: \"2026-01-02T00:00:00Z\" is not after 2026-02-01T00:00:00Z; write a later instant",
        ),
    ]);
}

#[test]
fn all_faults_are_told_at_once() {
    let faults = faults(|fleet| {
        fleet["end"] = json!("2025-01-01T00:00:00Z");
        fleet["pools"][0]["nodes"][0]["count"] = json!(1_000_000_000);
        fleet["pools"][0]["cycles"] = json!([{"every": "0s", "lasts": "1h", "add": 1}]);
        fleet["pols"] = json!([]);
    });
    assert_eq!(faults.len(), 4, "{faults:#?}");
}

#[test]
fn a_distribution_goes_in_straight_lines_between_its_quantiles() {
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let spread = Spread { quantiles: vec![(0, minutes(2)), (500_000, minutes(4)), (1_000_000, minutes(10))] };
    let rows = [(0, minutes(2)), (250_000, minutes(3)), (500_000, minutes(4)), (750_000, minutes(7)), (999_999, Duration::from_secs(599))];
    for (at, expected) in rows {
        assert_eq!(spread.at(at), expected, "{at}");
    }
    assert_eq!(Spread::fixed(minutes(5)).at(999_999), minutes(5));
}
