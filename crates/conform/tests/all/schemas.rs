//! Cases and messages are what their schemas say, and the schemas refuse what is not.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fairpace_cc::Algorithm;
use fairpace_conform::protocol::{Answer, Event, Hello, PROTOCOL, Request};
use fairpace_conform::{Own, Peer, Subject, contained, run};
use jsonschema::Validator;
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conform")
}

fn schema(name: &str) -> Validator {
    let text = fs::read_to_string(folder().join(name)).expect("the schema is there");
    let value: Value = serde_json::from_str(&text).expect("a schema is JSON");
    assert!(jsonschema::meta::is_valid(&value), "{name} is a schema of draft 2020-12");
    jsonschema::draft202012::new(&value).expect("it compiles")
}

#[track_caller]
fn assert_valid(validator: &Validator, value: &Value, place: &str) {
    if let Err(error) = validator.validate(value) {
        panic!("{place}: {error} at {}\n{value}", error.instance_path());
    }
}

/// Files of the cases, with their texts.
fn files() -> Vec<(String, String)> {
    let mut files: Vec<_> = fs::read_dir(folder().join("bbr"))
        .expect("the cases are there")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), path))
        .map(|(name, path)| (name, fs::read_to_string(path).expect("a case is text")))
        .collect();
    files.sort();
    files
}

#[test]
fn every_line_of_every_case_is_valid_and_cites_a_section() {
    let validator = schema("case.schema.json");
    for (name, text) in files() {
        for (number, line) in text.lines().enumerate() {
            let value: Value = serde_json::from_str(line).expect("a line is JSON");
            assert_valid(&validator, &value, &format!("{name}, line {}", number + 1));
            assert_eq!(value.get("format").is_some(), number == 0, "{name}: one header, at the top");
            let judges = ["until", "throughout"].iter().any(|key| value["run"].get(key).is_some());
            assert!(!judges || value.get("section").is_some(), "{name}, line {}", number + 1);
        }
    }
}

#[test]
fn the_contained_cases_are_those_of_the_repository_and_of_the_draft() {
    let cases = contained().expect("the contained cases are cases");
    let names: Vec<String> = cases.iter().map(|case| case.header.case.clone()).collect();
    assert_eq!(names, (1..=22).map(|n| format!("A.{n}")).collect::<Vec<_>>());
    assert_eq!(files().len(), cases.len());
}

#[test]
fn the_schema_of_cases_refuses_what_a_reader_would_refuse() {
    let validator = schema("case.schema.json");
    for wrong in [
        json!({"run": {"for_us": 1}, "expect": {"cwnd_bytes": {"least": 1}}, "section": "5", "why": "w"}),
        json!({"run": {"until": {"state": ["UP"]}, "for_us": 1}, "section": "5", "why": "w"}),
        json!({"expect": {"cwnd_bytes": {"least": 1}}}),
        json!({"expect": {"cwnd": {"least": 1}}, "section": "5", "why": "w"}),
        json!({"set": {}}),
        json!({"lose": {"count": 0, "every": 1}}),
        json!({}),
    ] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
}

/// A subject whose messages are validated.
struct Checked {
    own: Own,
    validator: Validator,
    seen: BTreeSet<&'static str>,
}

impl Checked {
    fn check(&mut self, mut value: Value, what: &'static str) {
        if self.seen.insert(what) || what == "ack" {
            value["seq"] = json!(0);
            assert_valid(&self.validator, &value, what);
        }
    }
}

impl Peer for Checked {
    fn hello(&mut self) -> Result<Hello, String> {
        let event = Event::Hello { protocol: PROTOCOL.to_owned() };
        let hello = Subject::hello(&mut self.own);
        self.check(json!(Request { seq: 0, event }), "hello");
        self.check(json!(hello), "answer to hello");
        Ok(hello)
    }

    fn ask(&mut self, event: &Event) -> Result<Answer, String> {
        let what = match event {
            Event::Hello { .. } => "hello",
            Event::Init(_) => "init",
            Event::Sent(_) => "sent",
            Event::Ack(_) => "ack",
            Event::Timeout(_) => "timeout",
            Event::Spurious { .. } => "spurious",
        };
        self.check(json!(Request { seq: 0, event: event.clone() }), what);
        let answer = self.own.ask(event)?;
        if let Answer::Control(control) = &answer {
            self.check(json!(control), "answer");
        }
        Ok(answer)
    }
}

#[test]
fn every_kind_of_message_is_valid() {
    let algorithm = Algorithm::by_name("bbr3_draft").expect("it is listed");
    let cases = contained().expect("the contained cases are cases");
    let case = cases.iter().find(|case| case.header.case == "A.19").expect("it is contained");
    let validator = schema("protocol.schema.json");
    let mut checked = Checked { own: Own::new(algorithm), validator, seen: BTreeSet::new() };
    run(case, &mut checked);
    let kinds = ["ack", "answer", "answer to hello", "hello", "init", "sent", "spurious", "timeout"];
    assert_eq!(checked.seen.iter().copied().collect::<Vec<_>>(), kinds);
    let validator = schema("protocol.schema.json");
    assert!(validator.is_valid(&json!({"seq": 1, "not_applicable": "no"})));
    assert!(!validator.is_valid(&json!({"seq": 1, "cwnd_bytes": 1, "pacing_rate": 1})));
    assert!(!validator.is_valid(&json!({"cwnd_bytes": 1})));
}
