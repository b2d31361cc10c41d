//! `scripts/limit.sh`, which ends what would run for ever: every program of tests is started by it.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

fn limited(minutes: &str, script: &str) -> Output {
    let limit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/limit.sh");
    Command::new(limit).args(["sh", "-c", script]).env("LIMIT_MIN", minutes).output().expect("bash")
}

#[test]
fn what_is_not_done_in_time_is_ended_and_what_it_waited_for_is_said() {
    let started = Instant::now();
    let ended = limited("0.02", "sleep 500 & wait");
    assert!(started.elapsed() < Duration::from_secs(250));
    assert!(!ended.status.success());
    let said = String::from_utf8(ended.stderr).expect("text");
    for part in
        ["not done after 0.02 minutes, and ended: sh -c sleep 500", "thread ", ": sleep 500", ", sleep: "]
    {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn what_is_done_in_time_ends_as_it_would_without() {
    let ended = limited("5", "echo done; exit 7");
    assert_eq!((ended.status.code(), &ended.stdout[..]), (Some(7), &b"done\n"[..]));
    assert!(ended.stderr.is_empty());
}
