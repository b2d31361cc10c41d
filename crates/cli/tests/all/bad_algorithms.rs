//! Algorithms that are bad on purpose: each is a sound algorithm with one fault. What it fails, and its
//! parent passes, is exactly what `evaluation/bad/fails.toml` says, and each criterion is shown by one of
//! them to detect a fault.

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

#[test]
fn each_fault_fails_exactly_its_criteria() {
    let expected = expected();
    let place = Place::new();
    let headers: Vec<String> = expected
        .bad
        .keys()
        .map(|name| folder().join(format!("bad/{name}.h")).display().to_string())
        .collect();
    let mut words = vec!["evaluate"];
    words.extend(expected.parent.keys().map(String::as_str));
    words.extend(headers.iter().map(String::as_str));
    // with the first seed an algorithm that never backs off is in a long timeout by chance at 50 % of loss
    words.extend(["--beside", "none", "--quick", "--seed", "2", "--json", "--criterion"]);
    words.push("5.1-alone,5.2-mixed,6-general,7-special,field");
    let (failed, all) = failed(&place.run(&words).succeeds().json());

    let mut wrong = Vec::new();
    let mut compare = |name: &str, what: &str, found: &Criteria, listed: &Criteria| {
        if found != listed {
            let (more, fewer) = (found.difference(listed), listed.difference(found));
            let (more, fewer): (Vec<_>, Vec<_>) = (more.collect(), fewer.collect());
            wrong.push(format!("{name} {what}: not listed {more:?}, listed but not found {fewer:?}"));
        }
    };
    let mut detected = Criteria::new();
    for (name, fails) in &expected.parent {
        compare(name, "fails", &failed[name], fails);
    }
    for (name, bad) in &expected.bad {
        let (of_bad, of_parent) = (&failed[name], &failed[&bad.parent]);
        let fails: Criteria = of_bad.difference(of_parent).cloned().collect();
        let passes = of_parent.difference(of_bad).cloned().collect();
        compare(name, "fails", &fails, &bad.fails);
        compare(name, "passes", &passes, &bad.passes);
        detected.extend(fails);
    }
    let by_none: Vec<_> = all.difference(&detected).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(by_none.is_empty(), "no fault fails {by_none:?}");
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
