//! `fairpace-dev level-evidence`: small tables, and what must be true of any of them.

use std::collections::BTreeSet;
use std::fs;

use fairpace_dev::records::undocumented_keys;
use serde_json::Value;

use crate::support::{Ended, Folder, run};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A folder with one criterion of LEVEL, so that runs are not kept in the repository.
fn criteria(criterion: &str) -> Folder {
    let place = Folder::create();
    let text = fs::read_to_string(format!("{ROOT}/evaluation/level/{criterion}.toml")).unwrap();
    place.write(&format!("{criterion}.toml"), &text);
    place
}

fn evidence(place: &Folder, more: &[&str]) -> Ended {
    let scenarios = format!("{ROOT}/evaluation/level-evidence");
    let all = ["level-evidence", "--criteria", &place.file(""), "--scenarios", &scenarios, "--quick", "-q"];
    run(&[&all, more].concat())
}

fn record(place: &Folder, more: &[&str]) -> Value {
    let record = evidence(place, &[more, &["--json"]].concat()).succeeds().json();
    assert_eq!(undocumented_keys("level-evidence", &record), BTreeSet::new());
    record
}

fn value(rows: &Value, case: &str, cc: &str, name: &str) -> f64 {
    let is = |row: &&Value| row["case"] == case && row["cc"] == cc;
    let row = rows.as_array().unwrap().iter().find(is).unwrap_or_else(|| panic!("no {case} of {cc}"));
    row["values"][name]["mean"].as_f64().unwrap_or_else(|| panic!("no {name} in {row}"))
}

/// The rate bounds the time from below, a long flow beside it delays a transfer, and more bytes take longer.
#[test]
fn short_flows_take_as_long_as_they_must() {
    let place = Folder::create();
    let record = record(&place, &["short-flows"]);
    for cc in ["level", "cubic", "bbr1", "bbr3", "bbq"] {
        let ms = |case: &str| value(&record["short_flows"], case, cc, "completion_ms");
        let alone = ["10kB", "100kB", "1MB"].map(|size| ms(&format!("100mbit 20ms alone {size}")));
        assert!(alone[0] > 10.0 && alone[0] < alone[1] && alone[1] < alone[2], "{cc}: {alone:?}");
        assert!(alone[2] > 80.0, "{cc}: 1 MB takes 80 ms at 100 Mbit/s, not {} ms", alone[2]);
        assert!(ms("100mbit 20ms beside 1MB") > alone[2], "{cc}");
    }
}

/// 4 BDP of 20 ms are 80 ms: nothing waits longer, and the standing part is no more than the whole.
#[test]
fn the_queue_of_flows_is_within_the_buffer() {
    let place = Folder::create();
    let record = record(&place, &["queue", "--match", "100mbit"]);
    for case in ["100mbit n=1", "100mbit n=10"] {
        for cc in ["level", "bbr3"] {
            let [mean, p95, standing] =
                ["mean", "p95", "standing"].map(|name| value(&record["queue"], case, cc, name));
            assert!(0.0 < mean && mean < p95 && p95 < 81.0 && standing < 81.0, "{case} {cc}: {mean} {p95}");
            assert!(standing >= 0.0);
        }
    }
    let means = ["100mbit n=1", "100mbit n=10"].map(|case| value(&record["queue"], case, "level", "mean"));
    assert!(means[0] < means[1], "more flows have a longer level: {means:?}");
}

#[test]
fn a_mechanism_that_is_off_is_counted_beside_the_defaults() {
    let place = criteria("cheating-receiver");
    let more = ["--match", "10mbit 40ms cheats always"];
    let rows = record(&place, &[&["ablation"][..], &more].concat());
    let rows = rows["ablation"].as_array().unwrap();
    assert_eq!((&rows[0]["parameter"], &rows[0]["is_default"]), (&Value::Null, &Value::Bool(true)));
    assert!(rows.iter().any(|row| row["parameter"] == "exchange" && row["value"] == "false"));
    for row in rows {
        assert_eq!(row["criteria"][0]["cases"], 1, "{row}");
    }
    // what one table has simulated, another one does not simulate again
    let before = files(&place);
    let better = record(&place, &[&["better"][..], &more].concat());
    assert_eq!(better["better"].as_array().unwrap().len(), 4, "{better}");
    assert_eq!(files(&place), before + 4, "of five algorithms, LEVEL was there");
}

/// Number of kept runs.
fn files(place: &Folder) -> usize {
    let folders = fs::read_dir(place.path().join(".cache")).unwrap();
    folders.map(|folder| fs::read_dir(folder.unwrap().path()).unwrap().count()).sum()
}

#[test]
fn a_page_gets_its_tables_and_pictures_and_keeps_its_text() {
    let place = criteria("aqm");
    let page = place.file("page.md");
    let more = ["--match", "codel 10mbit 20/20ms", "--out", &page];
    evidence(&place, &[&["trade"][..], &more].concat()).succeeds();
    let new = place.read("page.md");
    assert!(new.contains("](img/level-trade-level.svg)") && new.contains("(default)"), "{new}");
    assert!(place.read("img/level-trade-level.svg").starts_with("<svg"));
    place.write("page.md", &format!("Before.\n{new}After.\n"));
    evidence(&place, &[&["trade"][..], &more].concat()).succeeds();
    assert_eq!(place.read("page.md"), format!("Before.\n{new}After.\n"));
    evidence(&place, &[&["sweep"][..], &more].concat()).fails(5, "it does not have the two marks once each");
}

#[test]
fn wrong_arguments_are_refused_before_anything_runs() {
    let place = criteria("aqm");
    evidence(&place, &["ablation", "--match", "furlong"]).fails(2, "no case has a name with `furlong` in it");
    evidence(&place, &["queue", "--match", "furlong"]).fails(2, "no case has a name with `furlong` in it");
    evidence(&place, &["furlong"]).fails(2, "furlong");
    evidence(&place, &["queue", "--out", &place.file("none/page.md")]).fails(5, "none/page.md");
    evidence(&place, &["--out", &place.file("new.md")]).fails(2, "is no page with marks for 9 tables");
    run(&["level-evidence", "sweep", "--criteria", &place.file("none")]).fails(2, "cannot read it");
    run(&["level-evidence", "queue", "--scenarios", &place.file("none")]).fails(2, "cannot read it");
}
