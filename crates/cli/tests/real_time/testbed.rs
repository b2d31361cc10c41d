//! Runs on the testbed, as users start them.

use std::net::TcpListener;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::{Ended, Place, has_kernel};
use fairpace_test_support::{announce, exclusive};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
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

/// Stops the process for a while, again and again, until the first algorithm has no result: what finishes
/// after that is printed.
#[test]
fn a_disturbed_comparison_keeps_what_has_finished() {
    /// Time for which the process stands still: more lateness than any scenario allows.
    const STOPPED: Duration = Duration::from_millis(400);
    let _alone = exclusive();
    if !has_kernel() {
        return;
    }
    let compare =
        "compare kernel:reno reno --on kernel --rate 10mbit --buffer 100kB --duration 2s --quiet --json";
    let place = Place::new();
    let mut command = place.command(&compare.split_whitespace().collect::<Vec<_>>());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let process = Pid::from_raw(child.id() as i32);
    // three attempts of 2 s each, and what is around them
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(6_500) {
        sleep(STOPPED);
        kill(process, Signal::SIGSTOP).unwrap();
        sleep(STOPPED);
        kill(process, Signal::SIGCONT).unwrap();
    }
    let ended: Ended = child.wait_with_output().unwrap().into();
    let runs: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
    let runs = runs.as_array().map_or(0, Vec::len);
    assert_eq!(ended.code, 4, "{}{}", ended.stdout, ended.stderr);
    if runs == 0 {
        announce("NOT JUDGED", "both algorithms were disturbed");
        return;
    }
    let message = ended.error()["message"].to_string();
    assert!(message.contains("no result of kernel:reno"), "{message}");
    assert_eq!(ended.json()[0]["flows"][0]["cc"], "reno");
}
