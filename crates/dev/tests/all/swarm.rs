//! `fairpace-dev swarm`.

use crate::support::{Folder, run};

#[test]
fn the_number_of_threads_changes_nothing() {
    let place = Folder::create();
    let with = |jobs: &str| {
        let out = place.file("failed");
        run(&["swarm", "--count", "6", "--seed", "3", "--jobs", jobs, "--out", &out, "--json"])
            .succeeds()
            .json()
    };
    let record = with("1");
    assert_eq!((&record["scenarios"], &record["clean"]), (&6.into(), &6.into()));
    assert!(record["data_packets"].as_u64().unwrap() > 0);
    assert_eq!(record, with("4"));
    assert!(place.files().is_empty(), "no scenario failed");
}

#[test]
fn a_single_scenario_is_stored() {
    let place = Folder::create();
    run(&["swarm", "--count", "1", "--seed", "7", "--out", &place.file("")]).succeeds();
    assert!(place.read("7/scenario.toml").contains("[[flow]]"));
}

#[test]
fn a_seed_that_no_scenario_file_can_have_is_refused() {
    run(&["swarm", "--seed", "9223372036854775808"]).fails(2, "a seed is at most");
    run(&["swarm", "--count", "0"]).fails(2, "--count");
}
