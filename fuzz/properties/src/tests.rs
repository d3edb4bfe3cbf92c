//! The seeds and variations of them, always the same ones, so that `make unit` meets what the fuzzer would meet first.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::*;

type Property = fn(&[u8]);

/// Each target's name, its property, and how many variations of its seeds are tried.
const TARGETS: [(&str, Property, usize); 8] = [
    ("cluster", cluster::check, 300),
    ("duration", duration::check, 20_000),
    ("manifest", manifest::check, 2_000),
    ("marks", marks::check, 3_000),
    ("pair", pair::check, 1_000),
    ("policy", policy::check, 1_000),
    ("review", review::check, 2_000),
    ("window", window::check, 150),
];

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The committed seeds of a target; for policies the examples too.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let mut seeds = files(&fuzz().join("corpus").join(target));
    if target == "policy" {
        seeds.extend(files(&fuzz().parent().unwrap().join("examples")));
    }
    seeds.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// The same numbers in every run (Steele, Lea and Flood's SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next()).unwrap() % limit.max(1)
    }

    /// A stretch of `bytes` of at most 16.
    fn stretch(&mut self, bytes: &[u8]) -> std::ops::Range<usize> {
        let from = self.below(bytes.len() + 1);
        from..from + self.below((bytes.len() - from).min(16) + 1)
    }

    /// `seed` with one to four changes; `other` lends a part.
    fn vary(&mut self, seed: &[u8], other: &[u8]) -> Vec<u8> {
        let mut varied = seed.to_vec();
        for _ in 0..=self.below(4) {
            let place = self.stretch(&varied);
            let lent = self.stretch(other);
            let printable = u8::try_from(32 + self.below(95)).unwrap();
            match self.below(6) {
                0 => drop(varied.splice(place, [])),
                1 => drop(varied.splice(place, other[lent].to_vec())),
                2 => drop(varied.splice(place.clone(), varied[place].repeat(2))),
                3 => varied.insert(place.start, printable),
                4 => varied.insert(place.start, self.next().to_le_bytes()[0]),
                _ if place.start < varied.len() => varied[place.start] = printable,
                _ => varied.push(b'\n'),
            }
        }
        varied
    }
}

/// Shows the input at which a property does not hold.
struct Shown<'a>(&'a [u8]);

impl Drop for Shown<'_> {
    #[expect(clippy::print_stderr, reason = "a failure without its input says little")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input is b\"{}\"", self.0.escape_ascii());
        }
    }
}

fn hold(property: Property, input: &[u8]) {
    let _shown = Shown(input);
    property(input);
}

#[test]
fn every_seed_holds() {
    for (target, property, _) in TARGETS {
        let seeds = seeds(target);
        assert!(seeds.len() >= 20, "{target} has {} seeds", seeds.len());
        for seed in seeds {
            assert!(seed.len() < 4_096, "a seed of {target} is longer than the fuzzer's inputs");
            hold(property, &seed);
        }
    }
}

fn variations_hold(wanted: &str) {
    let (target, property, count) = TARGETS.into_iter().find(|(target, ..)| *target == wanted).unwrap();
    let (seeds, mut numbers) = (seeds(target), Numbers(1));
    for _ in 0..count {
        let [seed, other] = [0, 0].map(|_| numbers.below(seeds.len()));
        hold(property, &numbers.vary(&seeds[seed], &seeds[other]));
    }
}

#[test]
fn variations_of_clusters_hold() {
    variations_hold("cluster");
}

#[test]
fn variations_of_durations_hold() {
    variations_hold("duration");
}

#[test]
fn variations_of_files_hold() {
    variations_hold("manifest");
}

#[test]
fn variations_of_annotations_hold() {
    variations_hold("marks");
}

#[test]
fn variations_of_pairs_hold() {
    variations_hold("pair");
}

#[test]
fn variations_of_policies_hold() {
    variations_hold("policy");
}

#[test]
fn variations_of_reviews_hold() {
    variations_hold("review");
}

#[test]
fn variations_of_windows_hold() {
    variations_hold("window");
}

#[test]
fn every_property_is_a_target_of_the_fuzzer() {
    let manifest = std::fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    let stems = |folder: &str| -> BTreeSet<String> {
        files(&fuzz().join(folder)).iter().map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    };
    let targets: BTreeSet<String> = TARGETS.iter().map(|(target, ..)| (*target).to_owned()).collect();
    for folder in ["corpus", "dictionaries", "targets"] {
        assert_eq!(stems(folder), targets, "{folder}");
    }
    for target in targets {
        assert!(manifest.contains(&format!("name = \"{target}\"\npath = \"targets/{target}.rs\"")), "{target}");
    }
}

/// Name and version of each package in a lock file.
fn locked(file: &Path) -> BTreeSet<(String, String)> {
    let text = std::fs::read_to_string(file).unwrap();
    let value = |line: &str, key: &str| line.strip_prefix(key).map(|rest| rest.trim_matches(['=', ' ', '"']).to_owned());
    let lines = text.lines().zip(text.lines().skip(1));
    lines.filter_map(|(name, version)| Some((value(name, "name")?, value(version, "version")?))).collect()
}

#[test]
fn the_fuzzer_runs_the_versions_that_are_shipped() {
    let shipped = locked(&fuzz().parent().unwrap().join("Cargo.lock"));
    let names: BTreeSet<&String> = shipped.iter().map(|(name, _)| name).collect();
    let fuzzed = locked(&fuzz().join("Cargo.lock"));
    assert!(fuzzed.len() > 50, "the lock file was not read");
    for (name, version) in fuzzed.iter().filter(|(name, _)| names.contains(name)) {
        let known = shipped.contains(&(name.clone(), version.clone()));
        assert!(known, "fuzz/Cargo.lock has {name} {version}: copy Cargo.lock there, and `make fuzz SECONDS=1` adds the rest");
    }
}
