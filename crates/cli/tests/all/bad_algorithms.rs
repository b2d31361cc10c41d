//! Algorithms that are bad on purpose: each fails exactly the criteria that its fault concerns, and each
//! criterion is failed by one of them. A criterion that none can fail would say nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::support::Place;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evaluation")
}

/// Of each algorithm the criteria that it fails, as `evaluation/bad/fails.toml` says.
fn expected() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(folder().join("bad/fails.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let ids = |of: &toml::Value| {
        let ids = of["fails"].as_array().unwrap().iter();
        ids.map(|id| id.as_str().unwrap().to_owned()).collect()
    };
    table.iter().map(|(name, of)| (name.clone(), ids(of))).collect()
}

/// The criteria that each algorithm fails in a record, and all criteria.
fn failed(record: &Value) -> (BTreeMap<String, BTreeSet<String>>, BTreeSet<String>) {
    let (mut failed, mut all) = (BTreeMap::<String, BTreeSet<String>>::new(), BTreeSet::new());
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
fn each_bad_algorithm_fails_exactly_the_criteria_of_its_fault() {
    let expected = expected();
    let place = Place::new();
    let headers: Vec<String> =
        expected.keys().map(|name| folder().join(format!("bad/{name}.h")).display().to_string()).collect();
    let mut words = vec!["evaluate"];
    words.extend(headers.iter().map(String::as_str));
    words.extend(["--beside", "none", "--quick", "--json", "--criterion"]);
    words.push("5.1-alone,5.2-mixed,6-general,7-special,field");
    let (failed, all) = failed(&place.run(&words).succeeds().json());
    for (name, fails) in &expected {
        let found = &failed[name];
        let more: Vec<_> = found.difference(fails).collect();
        let fewer: Vec<_> = fails.difference(found).collect();
        assert!(
            more.is_empty() && fewer.is_empty(),
            "{name} also fails {more:?}, and does not fail {fewer:?}"
        );
    }
    let by_one: BTreeSet<String> = failed.into_values().flatten().collect();
    let by_none: Vec<_> = all.difference(&by_one).collect();
    assert!(by_none.is_empty(), "no bad algorithm fails {by_none:?}");
}

#[test]
fn every_header_of_the_folder_has_its_expectation() {
    let entries = fs::read_dir(folder().join("bad")).unwrap().map(|entry| entry.unwrap().path());
    let headers = entries.filter(|path| path.extension().is_some_and(|extension| extension == "h"));
    let names: BTreeSet<String> =
        headers.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let expected: BTreeSet<String> = expected().into_keys().chain(["frame".to_owned()]).collect();
    assert_eq!(names, expected);
}
