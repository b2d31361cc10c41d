//! Ten short flows of the 200 of `make validation`, in the simulator and on the kernel.

use std::fs;
use std::path::Path;
use std::process::Command;

use fairpace_test_support::{Folder, announce, exclusive, skip};
use serde_json::Value;

/// The first ten of the draw: each has another algorithm, or another setting of SACK and pacing.
const NAMES: &str = "short-001,short-002,short-003,short-004,short-005,short-006,short-007,short-008,\
                     short-009,short-010";

/// How long a run lasts, and in `experiments/validation/short`: none of the ten takes half of it.
const DURATION: (&str, &str) = ("duration = \"20s\"", "duration = \"3s\"");

#[test]
fn ten_short_flows_take_as_long_as_on_the_kernel() {
    let _alone = exclusive();
    if let Err(error) = fairpace_testbed::check_machine(&fairpace_testbed::Options::default()) {
        return skip(&error.to_string());
    }
    let draw = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/validation/short/draw.toml");
    let text = fs::read_to_string(draw).expect("the draw is there");
    assert!(text.contains(DURATION.0), "a run of the draw lasts another time");
    let place = Folder::create();
    place.write("draw.toml", &text.replace(DURATION.0, DURATION.1));
    let file = "title = \"T\"\npage = \"p.md\"\n[validation]\nscenarios = [\"draw.toml\"]\nruns = 3\n\
                seeds = 1\nat_a_time = 10\n";
    place.write("file.toml", file);
    let program = Command::new(env!("CARGO_BIN_EXE_fairpace-dev"))
        .args(["run", &place.file("file.toml"), "--only", NAMES, "--json", "--quiet"])
        .output()
        .expect("the program starts");
    assert!(program.status.success(), "{}", String::from_utf8_lossy(&program.stderr));
    let record: Value = serde_json::from_slice(&program.stdout).expect("a record");
    let scenarios = record["scenarios"].as_array().expect("scenarios");
    assert_eq!(scenarios.len(), 10);
    let mut outside = Vec::new();
    for scenario in scenarios {
        let (name, completion) = (&scenario["name"], &scenario["quantities"][0]);
        match completion["agrees"].as_bool() {
            Some(true) => {}
            Some(false) => outside.push(format!("{name}: {completion}")),
            None => announce("NOT JUDGED", &format!("the machine disturbed all runs of {name}")),
        }
    }
    assert!(outside.is_empty(), "{}", outside.join("\n"));
}
