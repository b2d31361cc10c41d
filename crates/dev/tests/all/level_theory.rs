//! `fairpace-dev level-theory`: LEVEL's model against packets. The bounds are what the model claims on
//! docs/level.md; a change of the algorithm that breaks one must change the claim.

use serde_json::Value;

use crate::support::run;

/// Shares differ from the model's by up to this: where nothing disturbs them, the bursts of two flows keep
/// their places in the queue, and one flow sees a little more of it. docs/level.md says so.
const IN_STEP: f64 = 0.04;

fn rows(table: &str) -> Vec<Value> {
    rows_of(table, "1")
}

/// The mean of several seeds is what docs/level.md has.
fn rows_of(table: &str, seeds: &str) -> Vec<Value> {
    let json = run(&["level-theory", table, "--seeds", seeds, "--json", "-q"]).succeeds().json();
    json.as_array().unwrap().clone()
}

fn value(row: &Value, name: &str) -> f64 {
    row["values"][name]["mean"].as_f64().unwrap_or_else(|| panic!("no {name} in {row}"))
}

#[test]
fn one_fifo_is_shared_as_the_model_says() {
    for row in rows("fifo") {
        assert!(value(&row, "least") > 0.75 && value(&row, "most") < 1.25, "{row}");
        let (model, packets) = (value(&row, "model_queue_ms"), value(&row, "queue_ms"));
        assert!((packets / model - 1.0).abs() < 0.2, "{row}");
    }
}

#[test]
fn an_error_of_a_base_rtt_has_the_effect_that_the_model_says() {
    for row in rows_of("error", "3") {
        let (model, packets) = (value(&row, "model_share"), value(&row, "share"));
        assert!((packets - model).abs() < IN_STEP, "{row}");
    }
    for row in rows("noise") {
        let (model, packets) = (value(&row, "model_used"), value(&row, "used"));
        // Where the delay is above the level, the model has no queue. Packets have that of their own bursts,
        // which the flow sees on top of the delay, and its rate goes as the inverse square of both.
        let delay_ms: f64 = row["case"].as_str().unwrap().trim_end_matches(" ms").parse().unwrap();
        let seen_ms = if model < 1.0 { value(&row, "queue_ms") } else { 0.0 };
        let expected = model * (delay_ms / (delay_ms + seen_ms)).powi(2);
        // a delay below the level: the flow's own bursts come on top, and cost it a little of the link
        let bound = if model < 1.0 { 0.03 } else { 0.06 };
        assert!((packets - expected).abs() < bound, "{row}");
    }
}

#[test]
fn several_bottlenecks_are_shared_as_the_model_says() {
    // single runs over three links give shares from 0.10 to 0.13
    for row in rows_of("network", "20") {
        let (model, packets) = (value(&row, "share_with_error"), value(&row, "share"));
        assert!((packets - model).abs() < IN_STEP, "{row}");
        let [model, proportional] = ["model_share", "proportional"].map(|name| value(&row, name));
        // nearer to the model's fairness than to the next one
        assert!(packets < 0.5 * (model + proportional) + IN_STEP, "{row}");
    }
}

#[test]
fn the_queue_is_quiet_below_the_bound_of_the_gain_and_oscillates_above() {
    // near the bound single runs give 0.05 to 0.24
    for row in rows_of("gain", "4") {
        let name = row["case"].as_str().unwrap();
        let gain: f64 = name.rsplit(' ').next().unwrap().parse().unwrap();
        let (bound, packets) = (value(&row, "bound"), value(&row, "packets"));
        assert!(gain > 0.6 * bound || packets < 0.2, "{row}");
        assert!(gain < 1.3 * bound || packets > 0.3, "{row}");
    }
}

#[test]
fn differences_go_away_as_fast_as_the_model_says() {
    for row in rows_of("steering", "3") {
        let (model, packets) = (value(&row, "linear_s"), value(&row, "packets_s"));
        assert!((packets / model - 1.0).abs() < 0.25, "{row}");
    }
}

#[test]
fn a_drain_is_as_deep_as_the_model_says() {
    for row in rows("depth") {
        let (model, packets) = (value(&row, "model_ms"), value(&row, "depth_ms"));
        // pacing of the others makes drains deeper
        let is_wide = row["case"].as_str().unwrap().contains("1.25");
        if model < 0.6 {
            continue; // the noise of the queue is larger
        }
        assert!(packets > 0.6 * model && (!is_wide || packets < 1.4 * model + 0.3), "{row}");
    }
}
