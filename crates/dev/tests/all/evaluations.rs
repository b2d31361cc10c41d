//! `fairpace-dev run` with files of algorithms at criteria. A handful of cases, each of which takes a
//! fraction of a second.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::documented::undocumented_keys;
use crate::support::{Ended, Folder, program, run};

const LEVEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../evaluation/level");

/// A checkout with these criteria of LEVEL, so that runs are not kept in the repository, and a file of one
/// table `t` with these lines.
fn checkout(criteria: &[&str], table: &str) -> Folder {
    let place = Folder::create();
    fs::create_dir(place.file("criteria")).unwrap();
    for criterion in criteria {
        let text = fs::read_to_string(format!("{LEVEL}/{criterion}.toml")).unwrap();
        place.write(&format!("criteria/{criterion}.toml"), &text);
    }
    write(&place, table);
    place
}

fn write(place: &Folder, table: &str) {
    let file = format!(
        "title = \"T\"\npage = \"page.md\"\ncriteria = \"criteria\"\n[[table]]\nname = \"t\"\n{table}\n"
    );
    place.write("file.toml", &file);
}

fn measure(place: &Folder, more: &[&str]) -> Ended {
    let (file, dir) = (place.file("file.toml"), place.file(""));
    run(&[&["run", &file, "--dir", dir.trim_end_matches('/')], more].concat())
}

/// The first criterion's algorithms, each with the cases that pass.
fn counts(record: &Value) -> Vec<(String, u64, u64)> {
    let of = |of: &Value| {
        let [hold, cases] = ["hold", "cases"].map(|key| of[key].as_u64().unwrap());
        (of["cc"].as_str().unwrap().to_owned(), hold, cases)
    };
    record["criteria"][0]["algorithms"].as_array().unwrap().iter().map(of).collect()
}

const QUICK: &str = "show = \"counts\"\ncc = [\"reno\"]\nquick = true";

#[test]
fn an_algorithm_is_measured_with_other_parameters_and_only_what_is_new_is_simulated() {
    let place = checkout(&["cheating-receiver"], QUICK);
    let made = || {
        let record = measure(&place, &["--json"]).succeeds().json();
        assert_eq!(undocumented_keys("run", &record), BTreeSet::new());
        (record["simulated"].as_u64().unwrap(), counts(&record))
    };
    let (simulated, first) = made();
    assert!(simulated > 0 && first.len() == 1);
    assert_eq!(made(), (0, first.clone()), "what was kept is what was measured");
    write(&place, &format!("{QUICK}\nwith = [{{ cc = \"reno\", set = [\"beta=0.9\"] }}]"));
    let (again, both) = made();
    assert_eq!((again, &both[0]), (simulated, &first[0]), "another parameter");
    assert_eq!(both[1].0, "reno beta=0.9");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let written = |jobs| {
        let place = checkout(&["competition"], &QUICK.replace("counts", "page").replace("reno", "bbr1"));
        measure(&place, &["--write", "--jobs", jobs, "-q"]).succeeds();
        (place.read("page.md").replace(&place.file(""), ""), place.read("page-competition.svg"))
    };
    assert!(written("1") == written("5"), "page or picture differ");
}

#[test]
fn the_page_keeps_what_is_around_its_marks_and_lists_the_failed_cases_of_those_that_it_is_about() {
    let table = "show = \"page\"\ncc = [\"bbr1\"]\nbeside = [\"bbr3\"]\nseeds = 1\nquick = true";
    let place = checkout(&["cheating-receiver"], table);
    measure(&place, &["--check"]).fails(1, "tables of other runs");
    measure(&place, &["--write", "-q"]).succeeds();
    let new = place.read("page.md");
    assert!(new.contains("](page-cheating-receiver.svg)"), "{new}");
    assert!(new.contains("<summary>bbr1: ") && !new.contains("<summary>bbr3: "), "{new}");
    assert!(place.read("page-cheating-receiver.svg").starts_with("<svg"));
    place.write("page.md", &format!("Before.\n{new}After.\n"));
    measure(&place, &["--write", "-q"]).succeeds();
    assert_eq!(place.read("page.md"), format!("Before.\n{new}After.\n"));
    measure(&place, &["--check"]).succeeds();
    write(&place, &table.replace("bbr3", "bbq"));
    measure(&place, &["--check"]).fails(1, "tables of other runs");
}

#[test]
fn tables_compare_algorithms_by_conditions_and_by_cases() {
    let table = QUICK.replace("[\"reno\"]", "[\"level\", \"reno\"]");
    let place = checkout(&["cheating-receiver"], &table.replace("counts", "numbers"));
    assert!(measure(&place, &[]).succeeds().stdout.contains("jain: median, worst"));
    write(&place, &table.replace("counts", "only"));
    let text = measure(&place, &[]).succeeds().stdout;
    let rows: Vec<Vec<&str>> =
        text.lines().map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect();
    let header = rows.iter().position(|row| row[0] == "criterion").unwrap();
    assert_eq!(rows[header], ["criterion", "cases", "only reno", "only level, not reno"]);
    assert_eq!(rows[header + 2][1..], rows[header + 3][1..], "one criterion, and all");
}

#[test]
fn random_paths_follow_from_their_seed() {
    let place = checkout(&["random-paths"], "");
    let drawn = place.read("criteria/random-paths.toml");
    let slow = drawn.find("[draw]").unwrap();
    let fast = r#"[draw]
rate = ["1mbit", "2mbit"]
flows = [1, 2]
rtt = ["5ms", "10ms"]
bdp = [1, 2]
host_jitter = ["0us", "10us"]
start = ["0s", "10ms"]
from = "1s"
duration = "2s"
"#;
    let after = drawn[slow + 1..].find("\n[").map_or("", |end| &drawn[slow + 1 + end..]);
    place.write("criteria/random-paths.toml", &format!("{}{fast}{after}", &drawn[..slow]));
    let hash = |hex| {
        let paths = format!("show = \"numbers\"\ncc = [\"reno\"]\npaths = 2\nseeds = 1\ndraw = \"{hex}\"");
        write(&place, &paths);
        let record = measure(&place, &["--json"]).succeeds().json();
        assert_eq!((record["form"].as_str(), counts(&record)[0].2), (Some("random paths"), 2));
        record["scenarios_hash"].clone()
    };
    let first = hash("c0ffee");
    assert_eq!(hash("c0ffee"), first);
    assert_ne!(hash("c0ffe0"), first);
}

#[test]
fn wrong_files_are_refused_before_anything_runs() {
    let place = checkout(&["cheating-receiver"], "");
    let with = |table: &str| {
        write(&place, table);
        measure(&place, &[])
    };
    with("show = \"counts\"\ncc = [\"rneo\"]").fails(2, "rneo");
    with("show = \"count\"\ncc = [\"reno\"]").fails(2, "there is no show `count`");
    with(&format!("{QUICK}\ncriterion = [\"G9\"]")).fails(2, "there is no criterion `G9`");
    with(&format!("{QUICK}\nwith = [{{ cc = \"reno\", set = [\"alpha\"] }}]")).fails(2, "table t");
    with(&format!("{QUICK}\npaths = 3\ndraw = \"1f\"")).fails(2, "has no random paths");
    with(&format!("{QUICK}\nseed = 3")).fails(2, "there is no key `seed` here");
    write(&place, QUICK);
    measure(&place, &["--table", "none"]).fails(2, "there is no table `none`");
    place.write("criteria/cheating-receiver.toml", "id = 3\n");
    measure(&place, &[]).fails(2, "cheating-receiver.toml:1:6");
}

#[test]
fn ctrl_c_keeps_finished_runs() {
    let place = checkout(&["rtt-fairness"], "show = \"counts\"\ncc = [\"reno\"]");
    let (file, dir) = (place.file("file.toml"), place.file(""));
    // minutes of work
    let more = ["run", &file, "--dir", dir.trim_end_matches('/')];
    let child = program().args(more).stderr(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("the same command goes on from there"), "{message}");
    assert!(output.stdout.is_empty());
}
