//! `fairpace-dev evaluate`: algorithms that are known to be bad fail, finished runs are kept, and the page
//! stays within its marks. A handful of cases, each of which takes a fraction of a second.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use fairpace_dev::records::undocumented_keys;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::{Ended, Folder, program, run};

const LEVEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../evaluation/level");

/// A folder with these criteria of LEVEL, so that runs are not kept in the repository.
fn criteria(criteria: &[&str]) -> Folder {
    let place = Folder::create();
    for criterion in criteria {
        let text = fs::read_to_string(format!("{LEVEL}/{criterion}.toml")).unwrap();
        place.write(&format!("{criterion}.toml"), &text);
    }
    place
}

fn evaluate(place: &Folder, more: &[&str]) -> Ended {
    run(&[&["evaluate", "--criteria", &place.file("")], more].concat())
}

/// Cases and those that hold, by criterion and algorithm.
fn counts(record: &Value) -> Vec<(String, String, u64, u64)> {
    let criteria = record["criteria"].as_array().unwrap().iter();
    let of = |criterion: &Value| {
        let id = criterion["id"].as_str().unwrap().to_owned();
        let row = |of: &Value| {
            let [cases, hold] = ["cases", "hold"].map(|key| of[key].as_u64().unwrap());
            (id.clone(), of["cc"].as_str().unwrap().to_owned(), cases, hold)
        };
        criterion["algorithms"].as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    criteria.flat_map(of).collect()
}

fn expected(rows: &[(&str, &str, u64, u64)]) -> Vec<(String, String, u64, u64)> {
    rows.iter().map(|(id, cc, cases, hold)| ((*id).to_owned(), (*cc).to_owned(), *cases, *hold)).collect()
}

#[test]
fn bad_algorithms_fail_what_they_must_fail() {
    let place = criteria(&["rtt-fairness", "cheating-receiver", "aqm"]);
    // Reno: rates fall with the RTT, and the buffer is full; a receiver that delays its ACKs loses by it.
    let more = ["--cc", "reno,fixed_cwnd", "--seeds", "1", "--json"];
    let record = |more_still: &[&str]| evaluate(&place, &[&more, more_still].concat()).succeeds().json();
    let fairness = record(&["--criterion", "G1", "--match", "10mbit 10/200ms"]);
    assert_eq!(counts(&fairness), expected(&[("G1", "reno", 4, 0), ("G1", "fixed_cwnd", 4, 0)]));
    let cheat = record(&["--criterion", "cheating-receiver", "--match", "10mbit 10ms"]);
    assert_eq!(counts(&cheat)[0], expected(&[("G7", "reno", 2, 2)])[0]);
    // a constant cwnd of many BDP ignores CoDel's drops: both flows keep the link full and unequal
    let aqm = record(&[
        "--criterion",
        "g6",
        "--match",
        "codel 10mbit 10/50ms",
        "--set",
        "fixed_cwnd.cwnd_pkts=500",
    ]);
    let (hold, cases) = (counts(&aqm)[1].3, counts(&aqm)[1].2);
    assert!(hold < cases, "{hold} of {cases}");
}

#[test]
fn a_second_call_simulates_only_what_is_new() {
    let place = criteria(&["cheating-receiver"]);
    let made = |more: &[&str]| {
        let record =
            evaluate(&place, &[&["--match", "10mbit 10ms", "--json"], more].concat()).succeeds().json();
        assert_eq!(undocumented_keys("evaluate", &record), BTreeSet::new());
        let [runs, simulated] = ["runs", "simulated"].map(|key| record[key].as_u64().unwrap());
        (runs, simulated, record["criteria"].clone())
    };
    let (runs, simulated, first) = made(&["--cc", "bbr1"]);
    assert_eq!((runs, simulated), (4, 4), "two cases with two seeds");
    let (runs, simulated, second) = made(&["--cc", "bbr1"]);
    assert_eq!((runs, simulated), (4, 0));
    assert_eq!(first, second, "what was kept is what was measured");
    assert_eq!(made(&["--cc", "bbr1,reno"]).1, 4, "another algorithm");
    assert_eq!(made(&["--cc", "bbr1", "--seeds", "3"]).1, 2, "another seed");
    assert_eq!(made(&["--cc", "bbr1", "--set", "bbr1.probe_up_gain=1.5"]).1, 4, "another parameter");
    assert_eq!(made(&["--cc", "bbr1", "--fresh"]).1, 4);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let criteria = |jobs| {
        let place = criteria(&["competition"]);
        let more = ["--cc", "bbr1,cubic", "--quick", "--match", "1:1 10mbit", "--jobs", jobs, "--out"];
        let page = place.file("page.md");
        evaluate(&place, &[&more[..], &[&page]].concat()).succeeds();
        let (page, picture) = (place.read("page.md"), place.read("page-competition.svg"));
        let name = place.path().file_name().unwrap().to_str().unwrap();
        (page.replace(&place.file(""), "FOLDER").replace(name, "NAME"), picture)
    };
    assert!(criteria("1") == criteria("5"), "page or picture differ");
}

#[test]
fn the_page_keeps_what_is_around_its_marks_and_has_its_pictures_beside_it() {
    let place = criteria(&["cheating-receiver"]);
    let page = place.file("page.md");
    let more = ["--cc", "reno,bbr1", "--match", "10mbit 10ms cheats always", "--seeds", "1", "--out", &page];
    assert_eq!(evaluate(&place, &more).succeeds().stdout, format!("the results are in {page}\n"));
    let new = place.read("page.md");
    assert!(new.contains("](page-cheating-receiver.svg)") && new.contains("bbr1: 1 case fails"), "{new}");
    assert!(place.read("page-cheating-receiver.svg").starts_with("<svg"));
    place.write("page.md", &format!("Before.\n{new}After.\n"));
    evaluate(&place, &more).succeeds();
    assert_eq!(place.read("page.md"), format!("Before.\n{new}After.\n"));
}

#[test]
fn random_paths_follow_from_their_seed() {
    let place = criteria(&["random-paths", "cheating-receiver"]);
    let draw = |hex| {
        let more = ["--cc", "reno", "--paths", "3", "--draw", hex, "--seeds", "1", "--set", "duration=600ms"];
        let more = [&more[..], &["--set", "window.from=300ms", "--set", "flow.start=0s", "--json"]].concat();
        evaluate(&place, &more).succeeds().json()
    };
    let record = draw("c0ffee");
    assert_eq!(undocumented_keys("evaluate", &record), BTreeSet::new());
    assert_eq!((record["form"].as_str(), counts(&record)[0].2), (Some("random paths"), 3));
    assert!(record["command"].as_str().unwrap().contains("--paths 3 --draw c0ffee"));
    assert_eq!(draw("c0ffee")["scenarios_hash"], record["scenarios_hash"]);
    assert_ne!(draw("c0ffe0")["scenarios_hash"], record["scenarios_hash"]);
}

#[test]
fn wrong_arguments_are_refused_before_anything_runs() {
    let place = criteria(&["cheating-receiver"]);
    let with = |more: &[&str]| evaluate(&place, more);
    with(&["--cc", "reno,reno"]).fails(2, "--cc names reno twice");
    with(&["--cc", "rneo"]).fails(2, "rneo");
    with(&["--criterion", "G9"])
        .fails(2, "there is no criterion `G9` help: there are G7 (cheating-receiver)");
    with(&["--match", "furlong"]).fails(2, "no case has a name with `furlong` in it");
    with(&["--cc", "reno", "--set", "bbq.alpha=1ms"]).fails(2, "`bbq`, which does not take part");
    with(&["--cc", "reno", "--set", "link.rat=1"]).fails(2, "link.rat");
    let drawn = criteria(&["random-paths"]);
    evaluate(&drawn, &["--paths", "3", "--draw", "xyz"]).fails(2, "not a text of hexadecimal digits");
    evaluate(&drawn, &[]).fails(2, "has no criterion with cases");
    with(&["--cc", "reno", "--paths", "3", "--draw", "1f"]).fails(2, "has no random paths");
    with(&["--paths", "3"]).fails(2, "--draw");
    with(&["--seeds", "0"]).fails(2, "--seeds");
    with(&["--out", &place.file("none/page.md")]).fails(5, "none/page.md");
    run(&["evaluate", "--criteria", &place.file("none")]).fails(2, "cannot read it");
    place.write("cheating-receiver.toml", "id = 3\n");
    with(&[]).fails(2, "cheating-receiver.toml:1:6");
}

#[test]
fn ctrl_c_keeps_finished_runs() {
    let place = criteria(&["rtt-fairness"]);
    let folder = place.file("");
    // minutes of work: 64 runs with 20 million packets each
    let more = ["evaluate", "--criteria", &folder, "--cc", "reno", "--criterion", "G1", "--match", "10gbit"];
    let child = program().args(more).stderr(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("the same command goes on from there"), "{message}");
    assert!(output.stdout.is_empty());
}

/// It is as old as its commit says; but it has each criterion, and the picture that it shows of it.
#[test]
fn the_page_of_the_repository_has_every_criterion_and_its_picture() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/evaluation");
    let page = fs::read_to_string(format!("{folder}/level.md")).unwrap();
    for entry in fs::read_dir(LEVEL).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_none_or(|extension| extension != "toml")
            || ["random-paths", "section"].contains(&name)
        {
            continue;
        }
        assert!(page.contains(&format!("](level-{name}.svg)")), "{name} is not there: run `make evaluate`");
        assert!(
            fs::read_to_string(format!("{folder}/level-{name}.svg")).unwrap().contains("<title"),
            "{name}"
        );
    }
}
