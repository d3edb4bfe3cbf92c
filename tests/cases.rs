//! Which of the public cases, and which of the traps, have a test of their own.
//!
//! A case is a fault that people have reported of tools of this kind, condensed to an input for this one. The name of
//! its test begins with its id: `fn c028_…`, a trial `"rotate_completes::c028_…"`, or a row `"c028 …"` of a table. One test
//! may stand for several: `fn c040_c041_…`. CONTRIBUTING.md says how a case gets its test. Traps: `cases/traps.rs`.

#![expect(clippy::print_stdout, reason = "what is left is to be read")]

// Beside this file it would be a test of its own.
#[path = "cases/traps.rs"]
mod traps;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// How many cases have a test. It only goes up: raise it with each case that gets its test.
const FLOOR: usize = 110;

/// Where tests are.
const FOLDERS: [&str; 11] = ["core", "cert", "manifest", "forecast", "simulate", "webhook", "src", "e2e", "sim", "fuzz", "tests"];

type Area = (&'static str, &'static [(&'static str, &'static str)]);

const AREAS: [Area; 14] = [
    (
        "windows",
        &[
            ("c001", "an end before the start"),
            ("c003", "a short day and the machine's own zone, told together"),
            ("c004", "24:00 as an end"),
            ("c005", "23:59 leaves a minute of the night closed"),
            ("c006", "every day to 23:59 is not continuous"),
            ("c007", "start and end are the same"),
            ("c008", "a whole weekend meant by an empty interval"),
            ("c009", "days that wrap around the week"),
            ("c010", "the weekday is the zone's, not that of UTC"),
            ("c011", "a tie of policies, and entries that overlap"),
            ("c012", "one open entry is enough"),
            ("c013", "a freeze that has run out"),
            ("c017", "no time zone given"),
            ("c021", "closed from the last day's end to the first day's start"),
            ("c022", "a quarter of an hour over midnight"),
            ("c025", "leap days and turns of the year"),
            ("c026", "a schedule that never opens"),
            ("c027", "keys and day names of another tool"),
        ],
    ),
    (
        "zones",
        &[
            ("c028", "the wall clock stays fixed over the year"),
            ("c029", "a window inside the skipped hour"),
            ("c031", "the repeated hour opens twice and starts once"),
            ("c033", "an opening inside a gap"),
            ("c036", "a search over a day of 23 hours"),
            ("c037", "a daily opening that is skipped once"),
            ("c039", "a zone whose winter is the exception"),
            ("c040", "a country that gave up summer time"),
            ("c041", "a pause of summer time for Ramadan"),
            ("c044", "the spellings of UTC"),
            ("c045", "the same zones on every architecture"),
            ("c046", "old names of zones"),
            ("c048", "offsets and abbreviations for zones"),
            ("c049", "a zone in lower case"),
            ("c050", "two zones that fill each other's minute"),
            ("c051", "zones with different changes in one list"),
        ],
    ),
    (
        "durations",
        &[
            ("c053", "days as a unit of the backoff"),
            ("c054", "days as a unit of the age threshold"),
            ("c055", "five spellings of an hour and a half"),
            ("c056", "units missing, capital or with blanks and signs"),
            ("c057", "no ISO format in the schema"),
            ("c060", "a deadline that has passed asks for a look at once"),
            ("c061", "numbers at and over the limit of 64 bits"),
            ("c062", "zero and nothing as an age threshold"),
            ("c064", "the spelling survives a round trip"),
            ("c067", "a cron text as an age threshold"),
        ],
    ),
    (
        "selectors",
        &[
            ("c069", "NotIn holds for a missing key"),
            ("c072", "operators with too few or too many values"),
            ("c073", "an empty value is there"),
            ("c074", "null for both halves of a selector"),
            ("c075", "two policies of equal specificity"),
            ("c077", "the pool loses its label while a rotation is pending"),
            ("c078", "an invalid policy that got past admission"),
            ("c079", "three expressions all hold or none does"),
        ],
    ),
    (
        "pools",
        &[
            ("c082", "a limit on the number of nodes"),
            ("c084", "a limit below what is in use"),
            ("c085", "the smallest node is larger than what is left"),
            ("c086", "neither limits nor a grace period"),
            ("c087", "a lifetime that the provider's implied grace makes too long"),
            ("c088", "lifetime and grace at the hard cap"),
            ("c089", "a requirement that allows no value of the node"),
            ("c091", "an operator that the schema does not know"),
            ("c093", "Gt against labels that are numbers or not"),
            ("c094", "Exists on a key that the node may lack"),
            ("c096", "tolerations for taints, none for startup taints"),
            ("c099", "the claim's own grace period counts"),
            ("c100", "another pool's spare room is not used"),
            ("c101", "the capacity type is replicated, and may be made soft"),
        ],
    ),
    (
        "claims",
        &[
            ("c103", "the claim's node does not exist"),
            ("c104", "a deletion that never ends"),
            ("c105", "conditions that contradict each other"),
            ("c108", "the earliest deadline goes first"),
            ("c109", "the last instant for a graceful start"),
            ("c111", "created in the future"),
            ("c112", "the replacement never joins"),
            ("c113", "one pool's failures do not delay another"),
            ("c115", "a requirement only the claim has"),
            ("c116", "inclusive bounds of a requirement"),
        ],
    ),
    (
        "nodes",
        &[
            ("c117", "an uncordon that fails once"),
            ("c118", "a restart between cordon and placeholder"),
            ("c119", "a cordon that somebody else made before"),
            ("c120", "a cordon that somebody else made after ours"),
            ("c121", "an opt-out that says false"),
            ("c122", "an opt-out that is a duration"),
            ("c127", "others fill the surge node"),
            ("c129", "the hostname label is not the node's name"),
            ("c130", "another tool drains the candidate"),
        ],
    ),
    (
        "pods",
        &[
            ("c131", "init containers beside a sidecar"),
            ("c132", "a sidecar adds to the containers"),
            ("c133", "an init container smaller than the sum"),
            ("c134", "requests of the whole Pod"),
            ("c135", "overhead of the runtime class"),
            ("c138", "resources that need limits"),
            ("c141", "ephemeral storage"),
            ("c142", "Pods that are done"),
            ("c144", "a Pod that is going"),
            ("c145", "mirror Pods and Pods without an owner"),
            ("c146", "a host port that is taken"),
            ("c148", "a volume that cannot leave its zone"),
            ("c149", "the hostname is never required"),
            ("c150", "many Pods that request nothing"),
            ("c151", "a cluster that wants limits on every Pod"),
            ("c152", "a quota on the placeholder's priority"),
        ],
    ),
    (
        "gitops",
        &[
            ("c155", "a misspelt key of the surge"),
            ("c156", "an unknown field by two ways of applying"),
            ("c157", "the chart's definition is the derived one"),
            ("c158", "an upgrade that leaves the definition old"),
            ("c163", "the pool's annotations are lost in mid-rotation"),
            ("c164", "waiting is not broken"),
        ],
    ),
    (
        "admission",
        &[
            ("c167", "a deletion is never refused"),
            ("c168", "an edit that leaves a bad spec as it is"),
            ("c170", "the answer says what it is"),
            ("c171", "the uid comes back on every path"),
            ("c172", "a review of another version"),
            ("c173", "bodies too large or of another type"),
            ("c175", "a content type with a charset"),
            ("c177", "a required key in the singular"),
            ("c178", "the endpoint's absence locks nothing else"),
            ("c179", "either failure policy is safe"),
            ("c180", "thousands of windows"),
            ("c182", "an invalid policy says so in its status"),
        ],
    ),
    (
        "certificates",
        &[
            ("c184", "a renewed certificate is served"),
            ("c185", "an expired certificate at start"),
            ("c186", "the CA's rotation reaches the bundle"),
            ("c187", "the CA's life is stated and overlaps"),
        ],
    ),
    (
        "election",
        &[
            ("c189", "one renewal fails"),
            ("c191", "a leader that cannot renew stops"),
            ("c193", "no right to update leases"),
            ("c194", "clocks that differ between replicas"),
        ],
    ),
    (
        "loops",
        &[
            ("c196", "a value that our types do not know"),
            ("c197", "a wrong type where we do not look"),
            ("c200", "a count that was taken too early"),
            ("c201", "a conflict is no error"),
            ("c203", "a transition is sampled once"),
            ("c205", "series of nodes that are gone"),
            ("c206", "memory with many Pods"),
            ("c207", "the first list of a large cluster"),
            ("c209", "a Pod of the placeholder's name elsewhere"),
            ("c210", "the rights are those that are used"),
        ],
    ),
    (
        "feasibility",
        &[
            ("c211", "a fleet of one age, and short openings"),
            ("c212", "a lifetime that leaves no threshold"),
            ("c214", "estimates longer than their limits"),
            ("c215", "how many may be unavailable"),
            ("c216", "one node more than there are starts"),
        ],
    ),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Adds the Rust files below `folder`, but not those of this test.
fn add_sources(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("tests/cases") {
            add_sources(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") && path != root().join(file!()) {
            found.push(path);
        }
    }
    Ok(())
}

/// Id and rest of a name that begins with one: of a case `c` and three digits, of a trap `t` or `r` and its number.
fn leading_id(name: &str) -> Option<(&str, &str)> {
    let (id, rest) = name.split_at_checked(name.find(['_', ' '])?)?;
    let number = id.strip_prefix(['c', 't', 'r'])?;
    let plain = number.bytes().all(|byte| byte.is_ascii_digit());
    let fits = if id.starts_with('c') { number.len() == 3 } else { (1..=3).contains(&number.len()) && !number.starts_with('0') };
    (plain && fits).then_some((id, rest.get(1..)?))
}

/// The ids with which names in `text` begin.
fn ids(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for name in ["fn ", "::", "\""].into_iter().flat_map(|before| line.split(before).skip(1)) {
            let mut rest = name;
            while let Some((id, after)) = leading_id(rest) {
                found.insert(id.to_owned());
                rest = after;
            }
        }
    }
    found
}

/// Each id that a test names, with a file that does.
fn named() -> io::Result<BTreeMap<String, PathBuf>> {
    let mut sources = Vec::new();
    for folder in FOLDERS.map(|folder| root().join(folder)).into_iter().filter(|folder| folder.exists()) {
        add_sources(&folder, &mut sources)?;
    }
    let mut named = BTreeMap::new();
    for source in sources {
        named.extend(ids(&std::fs::read_to_string(&source)?).into_iter().map(|id| (id, source.clone())));
    }
    Ok(named)
}

#[test]
fn there_are_142_cases_each_with_an_id_and_a_title() {
    let cases: Vec<(&str, &str)> = AREAS.iter().flat_map(|(_, cases)| cases.iter().copied()).collect();
    assert_eq!(cases.len(), 142);
    assert!(cases.is_sorted_by(|a, b| a.0 < b.0), "the ids are not in order, or one is there twice");
    let titles: BTreeSet<&str> = cases.iter().map(|(_, title)| *title).collect();
    assert_eq!(titles.len(), cases.len(), "two cases have the same title");
    for (id, title) in cases {
        assert!(leading_id(&format!("{id}_")).is_some() && !title.is_empty(), "{id} {title:?}");
    }
}

#[test]
fn an_id_is_one_where_a_name_begins() {
    let rows = [
        ("fn c040_c041_rules() {", vec!["c040", "c041"]),
        ("async fn c103_gone(cluster: &Cluster)", vec!["c103"]),
        ("bed.trial(\"rotate_completes::c103_gone\", gone)", vec!["c103"]),
        ("(\"c006 a minute\", windows)", vec!["c006"]),
        ("fn c040_t7_r12_rules() {", vec!["c040", "r12", "t7"]),
        ("(\"t104 r7 a minute\", windows)", vec!["r7", "t104"]),
        ("// fn c040_rules() {", vec![]),
        ("let x = of_c040_rules(c041_b, \"c1\", \"c1000_x\", \"about c040_x\", \"t07 x\", \"t_x\");", vec![]),
    ];
    for (text, expected) in rows {
        assert_eq!(ids(text).into_iter().collect::<Vec<_>>(), expected, "{text}");
    }
}

#[test]
fn as_many_cases_as_ever_have_a_test() {
    tell("cases", &AREAS, named().unwrap(), &['c'], FLOOR, file!());
}

/// Tells how many ids of a list are `named` and which are not; fails if these are fewer than `floor`, or if one that begins
/// with `letters` is named and not in the list.
fn tell(what: &str, areas: &[Area], mut named: BTreeMap<String, PathBuf>, letters: &[char], floor: usize, file: &str) {
    named.retain(|id, _| id.starts_with(letters));
    let known: BTreeSet<&str> = areas.iter().flat_map(|(_, ids)| ids.iter().map(|(id, _)| *id)).collect();
    for (id, source) in &named {
        assert!(known.contains(id.as_str()), "{} names {id}, which is not one of the {what}", source.display());
    }
    println!("{} of {} {what} are covered", named.len(), known.len());
    for (area, ids) in areas {
        let left: Vec<&str> = ids.iter().map(|(id, _)| *id).filter(|id| !named.contains_key(*id)).collect();
        println!("{area}: {}", if left.is_empty() { "all".to_owned() } else { format!("left are {}", left.join(" ")) });
    }
    assert!(named.len() >= floor, "{} {what} have a test, it was {floor} before: which test lost its name?", named.len());
    if named.len() > floor {
        println!("raise FLOOR in {file} to {}", named.len());
    }
}
