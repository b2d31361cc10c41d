//! `conform`: our own algorithms, adaptors, and how they end.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Place, program};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

#[test]
fn an_algorithm_of_ours_is_checked_without_an_adaptor() {
    let place = Place::new();
    let record =
        place.run(&["conform", "--cc", "bbr3_draft", "--case", "A.3,A.20", "--json"]).succeeds().json();
    assert_eq!(record["schema"], "fairpace.conform.results/1");
    assert_eq!(record["subject"]["name"], "fairpace bbr3_draft");
    assert_eq!((&record["passed"], &record["failed"]), (&2.into(), &0.into()));
    let ended = place.run(&["conform", "--cc", "bbr3", "--case", "A.3"]);
    assert_eq!(ended.code, 7);
    assert!(ended.stdout.contains("line 3, at 1.122 s: expected pacing_rate_Bps from 1212750 to 1262250"));
    assert!(ended.stdout.contains("(section 5.3.2)") && ended.stderr.contains("1 of 1 cases not passed"));
}

#[test]
fn the_cases_are_listed() {
    let place = Place::new();
    let text = place.run(&["conform", "--list"]).succeeds().stdout;
    assert!(text.contains("A.22") && text.contains("spurious"), "{text}");
    let json = place.run(&["conform", "--list", "--json"]).succeeds().json();
    assert_eq!(json.as_array().map(Vec::len), Some(22));
    assert_eq!(json[0]["differs"], serde_json::Value::Null);
}

#[test]
fn wrong_arguments_are_refused() {
    let place = Place::new();
    place.run(&["conform"]).fails(2, "--");
    place.run(&["conform", "--case", "A.23", "--cc", "bbr3"]).fails(2, "there is no case \"A.23\"");
    place.run(&["conform", "--cc", "bbr33"]).fails(2, "there is no algorithm \"bbr33\"");
    place.run(&["conform", "--", "./not-there"]).fails(2, "cannot start ./not-there");
    place.run(&["conform", "--cc", "bbr3", "--case", "A.1,A.2", "--record", "f"]).fails(2, "for one case");
}

#[test]
fn an_adaptor_that_never_answers_is_asked_once() {
    let place = Place::new();
    let began = Instant::now();
    let ended = place.run(&["conform", "--json", "--answer-within", "300ms", "--", "sleep", "1000"]);
    assert_eq!(ended.code, 7, "{}", ended.stderr);
    assert_eq!(ended.json()["cases"].as_array().map(Vec::len), Some(1));
    assert_eq!(ended.json()["subject"], serde_json::Value::Null);
    assert_eq!(ended.error()["kind"], "nonconforming");
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn the_messages_of_a_case_are_recorded_and_no_file_is_replaced() {
    let place = Place::new();
    let args = ["conform", "--cc", "bbr3_draft", "--case", "A.3", "--record", "messages"];
    place.run(&args).succeeds();
    let text = place.read("messages");
    let mut lines = text.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with(r#"{"event":"init""#)));
    assert!(lines.next().is_some_and(|line| line.starts_with(r#"{"cwnd_bytes":12000"#)));
    place.run(&args).fails(5, "cannot write the messages to messages");
    assert_eq!(place.read("messages"), text);
}

#[test]
fn a_signal_ends_the_adaptor_too() {
    let place = Place::new();
    let mut running = Command::new(program())
        .args(["conform", "--", "sh", "-c", "echo $$ > id; sleep 1000"])
        .current_dir(place.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    let id = loop {
        match std::fs::read_to_string(place.path().join("id")) {
            Ok(id) if id.ends_with('\n') => break id.trim().to_owned(),
            _ => assert!(began.elapsed() < Duration::from_secs(20), "the adaptor was not started"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    kill(Pid::from_raw(running.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(130));
    assert!(!std::path::Path::new("/proc").join(&id).exists(), "the adaptor {id} lives");
}
