//! Runs on the testbed, as users start them.

use std::net::TcpListener;

use crate::support::{Place, has_kernel};
use fairpace_test_support::exclusive;
use serde_json::Value;

/// What the first flow of a run received, Mbit/s.
fn goodput(summary: &Value) -> f64 {
    summary["flows"][0]["goodput_mbps"].as_f64().unwrap_or_else(|| panic!("no goodput in {summary}"))
}

/// The testbed's ports are those of its own network namespaces: what listens on this machine is no matter.
#[test]
fn ports_in_use_do_not_matter() {
    let _alone = exclusive();
    if !has_kernel() {
        return;
    }
    let _taken: Vec<_> = [5001, 10_000, 10_001].map(|port| TcpListener::bind(("0.0.0.0", port))).into();
    let ended = Place::with_scenario().run(&["testbed", "small.toml", "--json", "--quiet"]);
    if ended.is_disturbed() {
        return;
    }
    let summary = ended.succeeds().json();
    assert_eq!(summary["on"], "kernel");
    assert!(goodput(&summary) > 0.0, "{summary}");
}

#[test]
fn compare_runs_the_kernels_own_algorithms_beside_ours() {
    let _alone = exclusive();
    if !has_kernel() {
        return;
    }
    let compare = "compare --on kernel --rate 10mbit --buffer 100kB --rtt 40ms --cc kernel:reno,reno \
                   --duration 3s --warmup 1s --json --quiet";
    let ended = Place::new().run(&compare.split_whitespace().collect::<Vec<_>>());
    if ended.is_disturbed() {
        return;
    }
    let summaries = ended.succeeds().json();
    assert_eq!(summaries.as_array().map(Vec::len), Some(2), "{summaries}");
    for (summary, cc) in summaries.as_array().unwrap().iter().zip(["kernel:reno", "reno"]) {
        assert_eq!(summary["flows"][0]["cc"], cc);
        assert!(goodput(summary) > 5.0, "{summary}");
    }
}
