//! Algorithms that are bad on purpose: each is a sound algorithm with one fault. What it fails, and its
//! parent passes, is exactly what `evaluation/bad/fails.toml` says, and each criterion is shown by one of
//! them to detect a fault. `make test` runs that one per criterion; `make nightly` all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::support::Place;

type Criteria = BTreeSet<String>;

/// `evaluation/bad/fails.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// Of each parent the criteria that it fails.
    parent: BTreeMap<String, Criteria>,
    bad: BTreeMap<String, Bad>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bad {
    /// The fault in a few words.
    #[serde(rename = "what")]
    _what: String,
    parent: String,
    /// Why the fault leads to `fails`.
    #[serde(rename = "why")]
    _why: String,
    /// What it fails and its parent passes.
    fails: Criteria,
    /// What it passes and its parent fails.
    #[serde(default)]
    passes: Criteria,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evaluation")
}

fn expected() -> Expected {
    let text = fs::read_to_string(folder().join("bad/fails.toml")).unwrap();
    toml::from_str(&text).unwrap()
}

/// The criteria that each algorithm fails in a record, and all criteria.
fn failed(record: &Value) -> (BTreeMap<String, Criteria>, Criteria) {
    let (mut failed, mut all) = (BTreeMap::<String, Criteria>::new(), Criteria::new());
    for criterion in record["criteria"].as_array().unwrap() {
        let id = criterion["id"].as_str().unwrap();
        all.insert(id.to_owned());
        for algorithm in criterion["algorithms"].as_array().unwrap() {
            let fails = failed.entry(algorithm["cc"].as_str().unwrap().to_owned()).or_default();
            if algorithm["hold"] != algorithm["cases"] {
                fails.insert(id.to_owned());
            }
        }
    }
    (failed, all)
}

/// Evaluates algorithms, quickly.
fn evaluated(algorithms: &[&str], criteria: &str) -> (BTreeMap<String, Criteria>, Criteria) {
    let headers = expected().bad.into_keys().map(|name| {
        let header = folder().join(format!("bad/{name}.h"));
        (name, header.display().to_string())
    });
    let headers: BTreeMap<String, String> = headers.collect();
    let mut words = vec!["evaluate"];
    words.extend(algorithms.iter().map(|name| headers.get(*name).map_or(*name, String::as_str)));
    // with the first seed an algorithm that never backs off is in a long timeout by chance at 50 % of loss
    words.extend(["--beside", "none", "--quick", "--seed", "2", "--json", "--criterion", criteria]);
    failed(&Place::new().run(&words).succeeds().json())
}

/// The folders of criteria that a fault shows: not those of LEVEL alone.
const SETS: [&str; 5] = ["5.1-alone", "5.2-mixed", "6-general", "7-special", "field"];

/// The ids in the files of [`SETS`].
fn ids() -> Criteria {
    let files = SETS.iter().flat_map(|set| fs::read_dir(folder().join(set)).unwrap());
    let files = files.map(|entry| entry.unwrap().path()).filter(|path| !path.ends_with("section.toml"));
    let id = |path: PathBuf| {
        let criterion: toml::Table = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        criterion["id"].as_str().unwrap().to_owned()
    };
    files.map(id).collect()
}

/// What a fault shows of what is left to show.
fn shows<'a>(bad: &Bad, left: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    left.iter().copied().filter(|id| bad.fails.contains(*id)).collect()
}

/// Of each criterion one fault: that which shows the most of those for which there is none yet. One that
/// never backs off sends five times the packets of another, so that it shows only what no other shows.
fn one_per_criterion(expected: &Expected) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut chosen = BTreeMap::new();
    let mut left: BTreeSet<&str> =
        expected.bad.values().flat_map(|bad| &bad.fails).map(String::as_str).collect();
    while !left.is_empty() {
        let worth = |(name, bad): &(&String, &Bad)| {
            let shown = shows(bad, &left).len();
            (shown > 0 && *name != "nobackoff", shown)
        };
        let (name, bad) = expected.bad.iter().max_by_key(worth).unwrap();
        let shown = shows(bad, &left);
        left.retain(|id| !shown.contains(id));
        chosen.insert(name.as_str(), shown);
    }
    chosen
}

#[test]
fn each_criterion_fails_a_fault_and_passes_its_parent() {
    let expected = expected();
    let shown: Criteria = expected.bad.values().flat_map(|bad| bad.fails.clone()).collect();
    assert_eq!(shown, ids(), "a criterion that no fault fails, or that there is not");
    for (name, criteria) in one_per_criterion(&expected) {
        let parent = &expected.bad[name].parent;
        let ids: Vec<&str> = criteria.iter().copied().collect();
        let (failed, all) = evaluated(&[parent, name], &ids.join(","));
        assert_eq!(all.iter().map(String::as_str).collect::<Vec<_>>(), ids);
        assert_eq!(failed[name], all, "{name}");
        assert_eq!(failed[parent], Criteria::new(), "{parent}, the parent of {name}");
    }
}

#[test]
#[ignore = "146 CPU-seconds; make nightly runs it"]
fn each_fault_fails_exactly_its_criteria() {
    let expected = expected();
    let algorithms: Vec<&str> =
        expected.parent.keys().chain(expected.bad.keys()).map(String::as_str).collect();
    let (failed, all) = evaluated(&algorithms, &SETS.join(","));

    let mut wrong = Vec::new();
    let mut compare = |name: &str, what: &str, found: &Criteria, listed: &Criteria| {
        if found != listed {
            let (more, fewer) = (found.difference(listed), listed.difference(found));
            let (more, fewer): (Vec<_>, Vec<_>) = (more.collect(), fewer.collect());
            wrong.push(format!("{name} {what}: not listed {more:?}, listed but not found {fewer:?}"));
        }
    };
    for (name, fails) in &expected.parent {
        compare(name, "fails", &failed[name], fails);
    }
    for (name, bad) in &expected.bad {
        let (of_bad, of_parent) = (&failed[name], &failed[&bad.parent]);
        let fails: Criteria = of_bad.difference(of_parent).cloned().collect();
        let passes = of_parent.difference(of_bad).cloned().collect();
        compare(name, "fails", &fails, &bad.fails);
        compare(name, "passes", &passes, &bad.passes);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(all, ids());
}

#[test]
fn every_header_of_the_folder_has_its_expectation() {
    let entries = fs::read_dir(folder().join("bad")).unwrap().map(|entry| entry.unwrap().path());
    let headers = entries.filter(|path| path.extension().is_some_and(|extension| extension == "h"));
    let names: BTreeSet<String> =
        headers.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let expected: BTreeSet<String> = expected().bad.into_keys().chain(["frame".to_owned()]).collect();
    assert_eq!(names, expected);
}
