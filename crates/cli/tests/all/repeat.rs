//! `sim --repeat`: several seeds of one scenario.

use std::fs;

use crate::support::Place;
use serde_json::Value;

/// A random loss, so that runs with different seeds differ.
const LOSSY: [&str; 5] = ["sim", "small.toml", "--set", "link.loss=0.5%", "--seed=11"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    LOSSY.iter().chain(more).copied().collect()
}

#[test]
fn results_do_not_depend_on_how_many_run_at_a_time() {
    let place = Place::with_scenario();
    let run = |jobs: &str, dir: &str| {
        let out =
            place.run(&with(&["--repeat", "5", "--jobs", jobs, "--json", "--out", dir])).succeeds().stdout;
        let file = |name: &str| fs::read_to_string(place.path().join(dir).join(name)).unwrap();
        (out, ["summary.json", "repeat.json", "runs.csv", "report.html", "scenario.toml"].map(file))
    };
    assert_eq!(run("1", "one"), run("4", "four"));
}

#[test]
fn each_run_is_the_run_of_its_seed() {
    let place = Place::with_scenario();
    let repeat = place.run(&with(&["--repeat", "3", "--json", "--out", "out"])).succeeds().json();
    assert_eq!(repeat["schema"], "fairpace.repeat/2");
    assert_eq!(repeat["seeds"], serde_json::json!([11, 12, 13]));
    let metric = |name: &str| {
        let all = repeat["metrics"].as_array().unwrap();
        all.iter().find(|metric| metric["name"] == name).unwrap_or_else(|| panic!("no {name}"))
    };
    let goodput = metric("flows.40ms.goodput_mbps");
    let mut alone = Vec::new();
    for seed in ["11", "12", "13"] {
        let sets = ["sim", "small.toml", "--set", "link.loss=0.5%", "--seed", seed, "--json"];
        alone.push(place.run(&sets).succeeds().json()["flows"][0]["goodput_mbps"].clone());
    }
    assert_eq!(goodput["values"], Value::Array(alone.clone()));
    assert!(alone[0] != alone[1] || alone[1] != alone[2], "seeds make no difference: {alone:?}");
    let [mean, half] = ["mean", "ci95"].map(|field| goodput["estimate"][field].as_f64().unwrap());
    let values: Vec<f64> = alone.iter().map(|value| value.as_f64().unwrap()).collect();
    assert!((mean - values.iter().sum::<f64>() / 3.0).abs() < 1e-4 && half > 0.0, "{goodput}");
    let summaries: Value =
        serde_json::from_str(&fs::read_to_string(place.path().join("out").join("summary.json")).unwrap())
            .unwrap();
    let seeds: Vec<_> = summaries.as_array().unwrap().iter().map(|summary| summary["seed"].clone()).collect();
    assert_eq!(seeds, [11, 12, 13]);
}

#[test]
fn text_output_has_means_and_intervals() {
    let place = Place::with_scenario();
    let told = place.run(&with(&["--repeat", "4"])).succeeds().stdout;
    assert!(told.contains("simulated with 4 seeds from 11 on"), "{told}");
    let flow = told.lines().find(|line| line.starts_with("40ms")).unwrap_or_else(|| panic!("{told}"));
    assert!(flow.matches('\u{b1}').count() >= 4, "{told}");
    let widest = told.lines().map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|width| width < 140), "{told}");
}

#[test]
fn a_result_of_several_seeds_can_be_replaced_by_another_one() {
    let place = Place::with_scenario();
    place.run(&with(&["--repeat", "2", "--out", "out"])).succeeds();
    place.run(&with(&["--out", "out"])).succeeds();
    assert!(!place.path().join("out").join("repeat.json").exists());
    place.run(&with(&["--repeat", "2", "--out", "out"])).succeeds();
    assert!(place.path().join("out").join("repeat.json").exists());
}

#[test]
fn jobs_without_repeats_and_a_single_repeat_are_refused() {
    let place = Place::with_scenario();
    place.run(&with(&["--jobs", "2"])).fails(2, "--repeat");
    place.run(&with(&["--repeat", "1"])).fails(2, "2..=100000");
}

#[test]
fn seeds_that_change_nothing_are_not_passed_off_as_certainty() {
    let place = Place::with_scenario();
    let cubic = ["sim", "small.toml", "--set", "flow.cc=cubic", "--repeat", "3"];
    let told = place.run(&cubic).succeeds().stdout;
    assert!(told.contains("All seeds gave the same") && told.contains("host_jitter"), "{told}");
    let noisy = [&cubic[..], &["--set", "flow.host_jitter=200us"]].concat();
    let told = place.run(&noisy).succeeds().stdout;
    assert!(!told.contains("All seeds gave the same"), "{told}");
}
