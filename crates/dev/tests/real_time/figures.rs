//! A figure with real flows, several runs at a time.

use std::fs;
use std::process::Command;

use fairpace_test_support::{Folder, TWO_FLOWS, announce, exclusive, skip};

const PAPER: &str = "title = 'A paper'\nauthors = 'A. Author, 2016'\npublished = 'somewhere'\n\
                     about = 'It says something.'\nfigures = ['fig01']\n";

const FIGURE: &str = "title = 'Two flows'\nsource = 'figure 1'\nsetup = 'two flows'\nexpect = 'they share'\n\
                      kernel = { repeats = 3, at_a_time = 2 }\n\
                      [[run]]\nname = 'both'\nscenario = 'small.toml'\nset = ['flow.cc=kernel:reno']\n\
                      [[shape]]\nwhat = 'both have something'\nquote = 'Both have something.'\n\
                      measure = { run = 'both', of = 'flow.*.goodput_mbps' }\nis = 'above'\nfactor = 1\n";

/// The exit code of runs that the machine disturbed.
const DISTURBED: i32 = 4;

#[test]
fn a_figure_with_several_real_runs_at_a_time_has_all_of_them_on_record() {
    let _alone = exclusive();
    if let Err(error) = fairpace_testbed::check_machine(&fairpace_testbed::Options::default()) {
        return skip(&error.to_string());
    }
    let place = Folder::create();
    fs::create_dir_all(place.path().join("reproduction/bbq-ma2017/fig01")).expect("a folder can be made");
    place.write("reproduction/bbq-ma2017/paper.toml", PAPER);
    place.write("reproduction/bbq-ma2017/small.toml", TWO_FLOWS);
    place.write("reproduction/bbq-ma2017/fig01/figure.toml", FIGURE);
    let program = Command::new(env!("CARGO_BIN_EXE_fairpace-dev"))
        .args(["run", &place.file("reproduction"), "--write", "--on", "kernel"])
        .output()
        .expect("the program starts");
    let told = String::from_utf8_lossy(&program.stderr);
    if program.status.code() == Some(DISTURBED) {
        return announce("NOT JUDGED", &told);
    }
    assert!(program.status.success(), "{told}");
    assert!(told.contains("bbq-ma2017/fig01: 3 runs, 2 at a time"), "{told}");
    let record = place.read("reproduction/results/bbq-ma2017/fig01.json");
    let record: serde_json::Value = serde_json::from_str(&record).expect("it is JSON");
    let measured = &record[0];
    assert_eq!((&measured["on"], &measured["runs"]), (&"kernel".into(), &3.into()), "{measured}");
    let checks = measured["checks"].as_object().expect("it has numbers");
    assert_eq!(checks.values().next().expect("it has one")["ours"][0]["n"], 3, "{measured}");
}
