//! A fleet as people write it, and all that is wrong with it at once. docs/simulate.md describes the fields.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use noderotation_core::policy::fault::{Fault, FaultCode};
use noderotation_core::policy::reader::{Field, Reader, Zero};
use serde_json::Value;

use super::reader::{chance, count, instant, known, required_count, spread};
use super::{Births, Blocked, Cycle, Fleet, MOST_CYCLES, MOST_NODES, MOST_YEARS, Outage, PoolPlan, Scale, Spell, Spread, Who};

const PROVISIONING: Duration = Duration::from_secs(5 * 60);
const DRAIN: Duration = Duration::from_secs(10 * 60);
const BLOCKED: Duration = Duration::from_secs(3600);
const CONSOLIDATE_AFTER: Duration = Duration::from_secs(60);
/// Nodes that live for no time at all would never come to an end.
const SHORTEST_LIFE: Duration = Duration::from_secs(60);

/// When it happens, if that is not what the file says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// The start.
    pub start: Option<Timestamp>,
    /// The end.
    pub end: Option<Timestamp>,
}

/// Reads a fleet.
///
/// # Errors
/// Every fault that it has.
pub fn read(value: &Value, times: Times) -> Result<Fleet, Vec<Fault>> {
    let mut reader = Reader::default();
    match fleet(&mut reader, &Field::new("", value), times) {
        Some(fleet) if reader.faults.is_empty() => Ok(fleet),
        Some(_) | None => Err(reader.faults),
    }
}

fn fleet(reader: &mut Reader, root: &Field<'_>, times: Times) -> Option<Fleet> {
    reader.object(root)?;
    known(reader, root, "");
    let start = times.start.map_or_else(|| instant(reader, &root.child("start")), Some);
    let end = times.end.map_or_else(|| instant(reader, &root.child("end")), Some);
    if let (Some(start), Some(end)) = (start, end)
        && let Some(words) = impossible(start, end)
    {
        // Of what stands elsewhere the file has no place.
        let (field, value) = if times.end.is_some() { ("--end", end.to_string().into()) } else { ("end", root.child("end").value.clone()) };
        reader.faults.push(Fault::of(FaultCode::Invalid, field, &value, &words));
    }
    let pools = pools(reader, &root.child("pools"), start.zip(end));
    let names: BTreeSet<&str> = pools.iter().map(|pool| pool.name.as_str()).collect();
    let droughts = spells(reader, &root.child("droughts"), &names);
    let freezes = spells(reader, &root.child("freezes"), &names);
    let outages = outages(reader, &root.child("outages"));
    Some(Fleet { start: start?, end: end?, pools, droughts, freezes, outages })
}

/// Why nobody can live from the one instant to the other.
fn impossible(start: Timestamp, end: Timestamp) -> Option<String> {
    if end <= start {
        return Some(format!("is not after the start, {start}; write a later instant"));
    }
    let long = end.duration_since(start).as_hours() > MOST_YEARS * 366 * 24;
    long.then(|| format!("is more than {MOST_YEARS} years after the start, {start}; write an earlier instant"))
}

fn pools(reader: &mut Reader, field: &Field<'_>, times: Option<(Timestamp, Timestamp)>) -> Vec<PoolPlan> {
    let items = reader.list(field).unwrap_or_default();
    if items.is_empty() && (field.is_absent() || field.value.is_array()) {
        reader.faults.push(Fault::missing(&field.path, "write at least one pool with a name and nodes"));
    }
    let mut pools: Vec<PoolPlan> = Vec::new();
    let (mut nodes, mut names) = (0_u64, BTreeSet::new());
    for item in items {
        let Some(pool) = pool(reader, &item, times) else { continue };
        if !names.insert(pool.name.clone()) {
            reader.fault(FaultCode::Duplicate, &item.child("name"), "is the name of another pool; write each once");
        }
        nodes = pool.nodes.iter().fold(nodes, |sum, births| sum.saturating_add(births.count));
        pools.push(pool);
    }
    if nodes > MOST_NODES {
        reader.fault_without_value(FaultCode::Invalid, field, &format!("have {nodes} nodes together; write at most {MOST_NODES}"));
    }
    pools.sort_by(|a, b| a.name.cmp(&b.name));
    pools
}

fn pool(reader: &mut Reader, item: &Field<'_>, times: Option<(Timestamp, Timestamp)>) -> Option<PoolPlan> {
    if item.is_absent() {
        reader.faults.push(Fault::missing(&item.path, "write a pool with a name and nodes"));
    }
    reader.object(item)?;
    known(reader, item, "pools[]");
    let name = item.child("name");
    if name.is_absent() || name.value.as_str() == Some("") {
        reader.faults.push(Fault::missing(&name.path, "write the name of the NodePool"));
    }
    let expire_after = item.child("expireAfter");
    if expire_after.is_absent() {
        reader.faults.push(Fault::missing(&expire_after.path, "write a duration, for example 336h, or Never"));
    }
    let never = expire_after.value.as_str() == Some("Never");
    let length = if never { None } else { reader.duration(&expire_after, "336h", Zero::Refused) };
    if length.is_some_and(|length| length < SHORTEST_LIFE) {
        reader.fault(FaultCode::Invalid, &expire_after, "is shorter than the start of a node; write at least 1m");
    }
    let grace = reader.duration(&item.child("terminationGracePeriod"), "1h", Zero::Refused);
    Some(PoolPlan {
        name: reader.text(&name, "api").unwrap_or_default().to_owned(),
        labels: labels(reader, &item.child("labels")),
        expire_after: length,
        termination_grace_period: grace,
        limit: count(reader, &item.child("limit"), 0, MOST_NODES),
        nodes: births(reader, &item.child("nodes")),
        scale: scale(reader, &item.child("scale")),
        cycles: cycles(reader, &item.child("cycles"), times),
        provisioning: spread(reader, &item.child("provisioning"), PROVISIONING),
        drain: spread(reader, &item.child("drain"), DRAIN),
        launch_fails: chance(reader, &item.child("launchFails")),
        blocked: blocked(reader, &item.child("blockedDrains"), grace),
        consolidate_after: reader.duration(&item.child("consolidateAfter"), "1m", Zero::Refused).unwrap_or(CONSOLIDATE_AFTER),
    })
}

fn labels(reader: &mut Reader, field: &Field<'_>) -> BTreeMap<String, String> {
    let keys: Vec<String> = reader.object(field).into_iter().flat_map(|map| map.keys().cloned()).collect();
    let mut labels = BTreeMap::new();
    for key in keys {
        let value = field.value.get(&key).unwrap_or(&Value::Null);
        let label = Field { path: format!("{}[{key}]", field.path), value };
        labels.insert(key, reader.item_text(&label, "api").unwrap_or_default().to_owned());
    }
    labels
}

fn births(reader: &mut Reader, field: &Field<'_>) -> Vec<Births> {
    let mut births = Vec::new();
    for item in reader.list(field).unwrap_or_default() {
        reader.object(&item);
        known(reader, &item, "pools[].nodes[]");
        let count = required_count(reader, &item.child("count"), 1, MOST_NODES);
        let age = reader.duration(&item.child("age"), "24h", Zero::Allowed).unwrap_or_default();
        let within = reader.duration(&item.child("within"), "2h", Zero::Allowed).unwrap_or_default();
        births.extend(count.map(|count| Births { count, age, within }));
    }
    births
}

fn scale(reader: &mut Reader, field: &Field<'_>) -> Vec<Scale> {
    let mut scale = Vec::new();
    for item in reader.list(field).unwrap_or_default() {
        reader.object(&item);
        known(reader, &item, "pools[].scale[]");
        let (at, to) = (instant(reader, &item.child("at")), required_count(reader, &item.child("to"), 0, MOST_NODES));
        scale.extend(at.zip(to).map(|(at, to)| Scale { at, to }));
    }
    scale
}

fn cycles(reader: &mut Reader, field: &Field<'_>, times: Option<(Timestamp, Timestamp)>) -> Vec<Cycle> {
    let mut cycles = Vec::new();
    for item in reader.list(field).unwrap_or_default() {
        reader.object(&item);
        known(reader, &item, "pools[].cycles[]");
        let (at_every, at_lasts) = (item.child("every"), item.child("lasts"));
        for field in [&at_every, &at_lasts].into_iter().filter(|field| field.is_absent()) {
            reader.faults.push(Fault::missing(&field.path, "write a duration, for example 24h"));
        }
        let (every, lasts) = (reader.duration(&at_every, "24h", Zero::Refused), reader.duration(&at_lasts, "8h", Zero::Refused));
        let first = reader.duration(&item.child("first"), "9h", Zero::Allowed).unwrap_or_default();
        let add = required_count(reader, &item.child("add"), 1, MOST_NODES);
        if let (Some(every), Some((start, end))) = (every, times) {
            let length = u64::try_from(end.duration_since(start).as_secs()).unwrap_or_default();
            let number = length / every.as_secs().max(1);
            if number > MOST_CYCLES {
                reader.fault(FaultCode::Invalid, &at_every, &format!("makes {number} cycles; write one that makes at most {MOST_CYCLES}"));
            }
        }
        if let (Some(every), Some(lasts)) = (every, lasts)
            && lasts >= every
        {
            reader.fault(FaultCode::Invalid, &at_lasts, "is not shorter than the cycle; write a duration below every");
        }
        cycles.extend(every.zip(lasts).zip(add).map(|((every, lasts), add)| Cycle { every, first, lasts, add }));
    }
    cycles
}

fn blocked(reader: &mut Reader, field: &Field<'_>, grace: Option<Duration>) -> Blocked {
    if reader.object(field).is_none() {
        return Blocked { chance: super::Chance::default(), lasts: Spread::fixed(BLOCKED) };
    }
    known(reader, field, "pools[].blockedDrains");
    let at = field.child("chance");
    if at.is_absent() {
        reader.faults.push(Fault::missing(&at.path, "write how often a drain is held up, for example 5%"));
    }
    // Without a word it is held up for as long as it may take.
    let lasts = spread(reader, &field.child("lasts"), grace.unwrap_or(BLOCKED));
    Blocked { chance: chance(reader, &at), lasts }
}

/// From an instant to a later one.
fn stretch(reader: &mut Reader, item: &Field<'_>) -> Option<(Timestamp, Timestamp)> {
    let (from, to) = (instant(reader, &item.child("from")), instant(reader, &item.child("to")));
    if let (Some(from), Some(to)) = (from, to)
        && to <= from
    {
        reader.fault(FaultCode::Invalid, &item.child("to"), &format!("is not after {from}; write a later instant"));
    }
    from.zip(to)
}

fn spells(reader: &mut Reader, field: &Field<'_>, names: &BTreeSet<&str>) -> Vec<Spell> {
    let mut spells = Vec::new();
    for item in reader.list(field).unwrap_or_default() {
        reader.object(&item);
        known(reader, &item, "droughts[]");
        let stretch = stretch(reader, &item);
        let mut pools = Vec::new();
        for name in reader.list(&item.child("pools")).unwrap_or_default() {
            let Some(text) = reader.item_text(&name, "api") else { continue };
            if !names.contains(text) {
                reader.fault(FaultCode::NotSupported, &name, "is no pool of the fleet; write the name of one that is there");
            }
            pools.push(text.to_owned());
        }
        spells.extend(stretch.map(|(from, to)| Spell { from, to, pools }));
    }
    spells
}

fn outages(reader: &mut Reader, field: &Field<'_>) -> Vec<Outage> {
    let mut outages = Vec::new();
    for item in reader.list(field).unwrap_or_default() {
        reader.object(&item);
        known(reader, &item, "outages[]");
        let at = item.child("of");
        let of = match reader.text(&at, "operator") {
            None | Some("operator") => Who::Operator,
            Some("everybody") => Who::Everybody,
            Some(_) => {
                reader.fault(FaultCode::NotSupported, &at, "is nobody; write operator or everybody");
                Who::Operator
            }
        };
        outages.extend(stretch(reader, &item).map(|(from, to)| Outage { from, to, of }));
    }
    outages
}
