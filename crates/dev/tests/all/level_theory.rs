//! `fairpace-dev run research/level/theory.toml`: LEVEL's model against packets. The bounds are what the
//! model claims on research/level/theory.md; a change of the algorithm that breaks one must change the claim.

use std::fs;

use fairpace_cc::{Algorithm, Params};
use serde_json::Value;

use crate::support::{Folder, run};

const LEVEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../research/level");

/// Shares differ from the model's by up to this: where nothing disturbs them, the bursts of two flows keep
/// their places in the queue, and one flow sees a little more of it. research/level/theory.md says so.
const IN_STEP: f64 = 0.04;

/// A row of a table: its name, and the mean of each column.
struct Row(String, Vec<f64>);

impl Row {
    #[track_caller]
    fn assert(&self, holds: bool) {
        assert!(holds, "{}: {:?}", self.0, self.1);
    }
}

/// A table, from a copy of its file, so that runs are not kept in the repository.
fn rows(table: &str) -> Vec<Row> {
    let place = Folder::create();
    place.write("theory.toml", &fs::read_to_string(format!("{LEVEL}/theory.toml")).unwrap());
    fs::create_dir(place.path().join("paths")).unwrap();
    for path in fs::read_dir(format!("{LEVEL}/paths")).unwrap().map(|entry| entry.unwrap().path()) {
        fs::copy(&path, place.path().join("paths").join(path.file_name().unwrap())).unwrap();
    }
    let record =
        run(&["run", &place.file("theory.toml"), "--table", table, "--json", "-q"]).succeeds().json();
    let rows = record["tables"][0]["rows"].as_array().unwrap().iter();
    let row = |cells: &Value| {
        let cells = cells.as_array().unwrap();
        let mean = |cell: &Value| cell["mean"].as_f64().unwrap_or_else(|| panic!("no mean in {cell}"));
        Row(cells[0]["at"].as_str().unwrap().to_owned(), cells.iter().map(mean).collect())
    };
    rows.map(row).collect()
}

#[test]
fn one_fifo_is_shared_as_the_model_says() {
    for row in rows("fifo") {
        let [least, most, model, packets] = row.1[..] else { panic!("other columns") };
        row.assert(least > 0.75 && most < 1.25);
        row.assert((packets / model - 1.0).abs() < 0.2);
    }
}

#[test]
fn an_error_of_a_base_rtt_has_the_effect_that_the_model_says() {
    for row in rows("error") {
        row.assert((row.1[2] - row.1[1]).abs() < IN_STEP);
    }
    for row in rows("noise") {
        let [model, packets, _, queue_ms] = row.1[..] else { panic!("other columns") };
        // Where the delay is above the level, the model has no queue. Packets have that of their own bursts,
        // which the flow sees on top of the delay, and its rate goes as the inverse square of both.
        let delay_ms: f64 = row.0.trim_end_matches(" ms").parse().unwrap();
        let seen_ms = if model < 1.0 { queue_ms } else { 0.0 };
        let expected = model * (delay_ms / (delay_ms + seen_ms)).powi(2);
        // a delay below the level: the flow's own bursts come on top, and cost it a little of the link
        let bound = if model < 1.0 { 0.03 } else { 0.06 };
        row.assert((packets - expected).abs() < bound);
    }
}

#[test]
fn several_bottlenecks_are_shared_as_the_model_says() {
    for row in rows("network") {
        let [model, packets, proportional, ..] = row.1[..] else { panic!("other columns") };
        row.assert((packets - model).abs() < IN_STEP);
        // nearer to the model's fairness than to the next one
        row.assert(packets < 0.5 * (model + proportional) + IN_STEP);
    }
}

#[test]
fn the_queue_is_quiet_below_the_bound_of_the_gain_and_oscillates_above() {
    for row in rows("gain") {
        let gain: f64 = row.0.rsplit(' ').next().unwrap().parse().unwrap();
        let [bound, _, packets, _] = row.1[..] else { panic!("other columns") };
        row.assert(gain > 0.6 * bound || packets < 0.2);
        row.assert(gain < 1.3 * bound || packets > 0.3);
    }
}

#[test]
fn the_model_has_the_level_and_the_gain_that_the_algorithm_has() {
    let text = fs::read_to_string(format!("{LEVEL}/theory.toml")).unwrap();
    let file: toml::Value = toml::from_str(&text).unwrap();
    let defaults = Params::defaults(Algorithm::by_name("level").unwrap());
    let level = format!("level_us={}", defaults.get("level").unwrap());
    let models = file["run"].as_array().unwrap().iter().filter(|run| run.get("model").is_some());
    for run in models {
        assert!(run["set"].as_array().unwrap().iter().any(|set| set.as_str() == Some(&level)), "{run}");
    }
    // a gain of 1 is 256 there (CC_GAIN_UNIT)
    let gain = f64::from(defaults.get("gain").unwrap()) / 256.0;
    for table in file["table"].as_array().unwrap() {
        let about = table["about"].as_str().unwrap();
        assert!(!about.contains("gain") || about.contains(&format!("gain {gain}. ")), "{about}");
    }
}
