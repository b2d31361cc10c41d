//! `fairpace-dev run` with a validation: its errors, and ten of the 200 short flows of `make validation`, on
//! a kernel in virtual time.

use std::fs;
use std::path::Path;
use std::process::Command;

use fairpace_test_support::skip;
use serde_json::Value;

use crate::support::{Folder, run};

/// The first ten of the draw: each has another algorithm, or another setting of SACK and pacing.
const NAMES: &str = "short-001,short-002,short-003,short-004,short-005,short-006,short-007,short-008,\
                     short-009,short-010";

/// How long a run lasts, and in `experiments/validation/short`: the longest of the ten takes 1.3 s.
const DURATION: (&str, &str) = ("duration = \"20s\"", "duration = \"1500ms\"");

#[test]
fn errors_come_before_the_first_run() {
    let place = Folder::create();
    let file = place.file("file.toml");
    let with = |lines: &str| {
        let text = format!("title = \"T\"\npage = \"mine.md\"\n[validation]\n{lines}\n");
        place.write("file.toml", &text);
    };
    with("scenarios = [\"none\"]");
    run(&["run", &file]).fails(2, "cannot read");
    std::fs::create_dir(place.file("none")).unwrap();
    run(&["run", &file]).fails(2, "there is no scenario in");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/validation/bbr1-alone.toml");
    with(&format!("scenarios = [{scenario:?}]"));
    place.write("mine.md", "mine\n");
    let dir = place.file("");
    run(&["run", &file, "--write", "--dir", dir.trim_end_matches('/')]).fails(5, "the two marks once each");
    assert_eq!(place.read("mine.md"), "mine\n");
    run(&["run", &file, "--only", "none"]).fails(2, "there is no scenario `none`");
    with(&format!("scenarios = [{scenario:?}]\nruns = 0"));
    run(&["run", &file]).fails(2, "expected a nonzero u32");
    with("scenario = []");
    run(&["run", &file]).fails(2, "there is no key `scenario` here");
}

#[test]
fn ten_short_flows_take_as_long_as_on_the_kernel() {
    let draw = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/validation/short/draw.toml");
    let text = fs::read_to_string(draw).expect("the draw is there");
    assert!(text.contains(DURATION.0), "a run of the draw lasts another time");
    let place = Folder::create();
    place.write("draw.toml", &text.replace(DURATION.0, DURATION.1));
    let file = "title = \"T\"\npage = \"p.md\"\n[validation]\nscenarios = [\"draw.toml\"]\nruns = 1\n\
                seeds = 1\nat_a_time = 10\n";
    place.write("file.toml", file);
    let program = Command::new(env!("CARGO_BIN_EXE_fairpace-dev"))
        .args(["run", &place.file("file.toml"), "--only", NAMES, "--on", "virtual:qemu", "--kernel", "6.12"])
        .args(["--json", "--quiet"])
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&program.stderr);
    if program.status.code() == Some(3) {
        return skip(&said);
    }
    assert!(program.status.success(), "{said}");
    let record: Value = serde_json::from_slice(&program.stdout).expect("a record");
    let scenarios = record["scenarios"].as_array().expect("scenarios");
    assert_eq!(scenarios.len(), 10);
    for scenario in scenarios {
        let completion = &scenario["quantities"][0];
        assert_eq!(completion["agrees"], true, "{}: {completion}", scenario["name"]);
    }
}
