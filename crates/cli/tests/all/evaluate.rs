//! `evaluate`: the contained criteria, with listed algorithms and with headers of a user. A handful of cases,
//! each of which takes a fraction of a second.

use serde_json::Value;

use super::support::{Ended, Place};

/// G1, two flows with 10 and 200 ms on 10 Mbit/s: four cases.
const FEW: [&str; 5] = ["--match", "10mbit 10/200ms", "--criterion", "G1", "--seeds=1"];

fn evaluate(place: &Place, words: &[&str]) -> Ended {
    place.run(&[&["evaluate"], words, &FEW, &["--json"]].concat())
}

/// Algorithms and how many cases each passes.
fn counts(record: &Value) -> Vec<(String, u64)> {
    let rows = record["criteria"][0]["algorithms"].as_array().unwrap().iter();
    rows.map(|row| (row["cc"].as_str().unwrap().to_owned(), row["hold"].as_u64().unwrap())).collect()
}

#[test]
fn algorithms_are_measured_beside_others_and_finished_runs_are_kept() {
    let place = Place::new();
    let first = evaluate(&place, &["level", "--beside", "reno"]).succeeds().json();
    assert_eq!(counts(&first), [("level".to_owned(), 4), ("reno".to_owned(), 0)]);
    assert_eq!((&first["runs"], &first["simulated"]), (&8.into(), &8.into()));
    let again = evaluate(&place, &["level", "--beside", "none"]).succeeds().json();
    assert_eq!((&again["runs"], &again["simulated"]), (&4.into(), &0.into()));
    let command = again["command"].as_str().unwrap();
    assert!(command.starts_with("fairpace evaluate level --beside none --criterion G1 "), "{command}");
}

#[test]
fn a_header_that_never_backs_off_holds_nothing_of_what_the_new_one_might() {
    let place = Place::new();
    place.run(&["new", "mine"]).succeeds();
    place.write("rude.h", &place.read("mine.h").replace("mine", "rude").replace("d->cwnd_pkts = 1;", ";"));
    // its window never shrinks
    let rude =
        place.read("rude.h").replace("d->cwnd_pkts = cc_min_u32(v->cwnd_pkts, d->ssthresh_pkts);", ";");
    place.write("rude.h", &rude);
    let record = evaluate(&place, &["./rude.h", "--beside", "none", "-v"]).succeeds().json();
    assert_eq!(counts(&record), [("rude".to_owned(), 0)]);
    assert!(record["command"].as_str().unwrap().contains("./rude.h"), "{record}");
}

#[test]
fn wrong_names_and_cases_are_errors_before_anything_runs() {
    let place = Place::new();
    place.run(&["evaluate", "bbr9"]).fails(2, "there is no algorithm \"bbr9\"");
    place.run(&["evaluate", "reno", "reno"]).fails(2, "the command names reno twice");
    place.run(&["evaluate", "reno", "--criterion", "G9"]).fails(2, "there is no criterion `G9`");
    place.run(&["evaluate", "reno", "--match", "7mbit"]).fails(2, "no case has a name");
    place.run(&["evaluate", "reno", "--seed", "18446744073709551615"]).fails(2, "the largest one");
    place.run(&["evaluate", "reno", "--seeds", "1000"]).fails(2, "do not fit into memory");
    place.run(&["evaluate", "reno", "--set", "fixed_cwnd.cwnd=9"]).fails(2, "which does not take part");
}

/// The results that the program contains and those of a simulation are the same, in each text that users see.
#[test]
fn contained_results_are_those_of_a_simulation() {
    let place = Place::new();
    place.run(&["new", "mine"]).succeeds();
    let few = ["evaluate", "./mine.h", "--quick", "--beside", "reno,bbr3", "--criterion", "5.1.2,5.2.1a"];
    let run = |more: &[&str]| place.run(&[&few[..], more].concat()).succeeds();
    let contained = run(&["--json", "--out", "contained"]).json();
    let simulated = run(&["--json", "--out", "simulated", "--fresh"]).json();
    assert_eq!((&contained["runs"], &contained["simulated"]), (&72.into(), &24.into()));
    assert_eq!(simulated["simulated"], 72);
    // the time that it took, and how much of it, differ
    let same = |record: &Value| {
        let mut record = record.clone();
        record["simulated"] = Value::Null;
        record["wall_s"] = Value::Null;
        for criterion in record["criteria"].as_array_mut().unwrap() {
            for algorithm in criterion["algorithms"].as_array_mut().unwrap() {
                algorithm["cpu_s"] = Value::Null;
            }
        }
        record.to_string()
    };
    assert_eq!(same(&contained), same(&simulated));
    for file in ["mine.md", "report.html"] {
        let text = |folder: &str| {
            let text = place.read(&format!("{folder}/{file}"));
            let is_of_time = |line: &&str| !line.contains("CPU") && !line.contains("simulated");
            text.lines().filter(is_of_time).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(text("contained"), text("simulated"), "{file}");
    }
    // a changed parameter is another case
    let changed = run(&["--set", "reno.beta=0.6", "--json"]).json();
    assert_eq!(changed["simulated"], 40);
}
