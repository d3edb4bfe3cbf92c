//! The fields that there are.

const SPELL: &[&str] = &["from", "to", "pools"];

/// Those of each object, by the path of the object; the fleet itself is the empty path.
pub const FIELDS: [(&str, &[&str]); 9] = [
    ("", &["start", "end", "pools", "droughts", "freezes", "outages"]),
    (
        "pools[]",
        &[
            "name",
            "labels",
            "expireAfter",
            "terminationGracePeriod",
            "limit",
            "nodes",
            "scale",
            "cycles",
            "provisioning",
            "drain",
            "launchFails",
            "blockedDrains",
            "consolidateAfter",
        ],
    ),
    ("pools[].nodes[]", &["count", "age", "within"]),
    ("pools[].scale[]", &["at", "to"]),
    ("pools[].cycles[]", &["every", "first", "lasts", "add"]),
    ("pools[].blockedDrains", &["chance", "lasts"]),
    ("droughts[]", SPELL),
    ("freezes[]", SPELL),
    ("outages[]", &["from", "to", "of"]),
];
