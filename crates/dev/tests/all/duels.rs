//! `fairpace-dev run` with duels: the tables are complete, do not depend on threads, and stay within their
//! marks.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use fairpace_cc::Algorithm;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Ended, Folder, program, run};

/// Short runs on a slow link: what they measure does not matter here.
const SHORT: &str =
    "rate = \"10mbit\"\nduration = \"600ms\"\nwarmup = \"300ms\"\nstagger = \"50ms\"\nseeds = 1\n";
const TABLES: [&str; 3] =
    ["Share of the row against the column, %:", "Loss rate of the link, %:", "Mean queue delay, ms:"];

/// A checkout with a file of duels that has these options, and a call with these arguments.
struct Checkout(Folder);

impl Checkout {
    fn new(options: &str) -> Self {
        let place = Folder::create();
        let text = format!("title = \"Duels\"\npage = \"page.md\"\n[duels]\n{options}\n");
        place.write("duels.toml", &text);
        Self(place)
    }

    fn words(&self) -> Vec<String> {
        let dir = self.0.file("").trim_end_matches('/').to_owned();
        ["run", &self.0.file("duels.toml"), "--dir", &dir].map(str::to_owned).into()
    }

    fn run(&self, more: &[&str]) -> Ended {
        let words = self.words();
        run(&words.iter().map(String::as_str).chain(more.iter().copied()).collect::<Vec<_>>())
    }
}

/// Short duels with more options.
fn short(options: &str, more: &[&str]) -> Ended {
    Checkout::new(&format!("{SHORT}{options}")).run(more)
}

/// Text of each cell by buffer, title of its table, row and column.
type Cells<'a> = HashMap<[&'a str; 4], &'a str>;

/// All matrices of a page, and the names of its buffers.
fn cells(page: &str) -> (Cells<'_>, Vec<&str>) {
    let (mut found, mut buffers) = (Cells::new(), Vec::new());
    for section in page.split("\n## Buffer ").skip(1) {
        let buffer = section.split_once(':').unwrap().0;
        buffers.push(buffer);
        for title in TABLES {
            let table = section.split_once(title).unwrap_or_else(|| panic!("{buffer} lacks: {title}")).1;
            let table = table.trim_start().split("\n\n").next().unwrap();
            let mut rows = table.lines().map(|line| line.trim_matches('|').split('|').map(str::trim));
            let columns: Vec<_> = rows.next().unwrap().skip(1).collect();
            for mut row in rows.skip(1) {
                let name = row.next().unwrap();
                for (column, cell) in columns.iter().zip(row) {
                    assert_eq!(found.insert([buffer, title, name, column], cell), None, "{name} twice");
                }
            }
        }
    }
    (found, buffers)
}

/// Every one of these algorithms against each of them, in each table at each of three buffers, is a number.
fn assert_complete(page: &str, algorithms: &[&str]) {
    let (cells, buffers) = cells(page);
    assert_eq!(buffers, ["0.5bdp", "1bdp", "4bdp"]);
    assert_eq!(cells.len(), 3 * 3 * algorithms.len() * algorithms.len());
    for buffer in buffers {
        for row in algorithms {
            for column in algorithms {
                let header = column.replace('_', "_<br>");
                let value = |title| {
                    let cell = cells.get(&[buffer, title, row, &*header]);
                    let cell = cell.unwrap_or_else(|| panic!("{buffer}: no {row} against {column}"));
                    cell.trim_start_matches('~')
                        .parse::<f64>()
                        .unwrap_or_else(|_| panic!("{cell} is no number"))
                };
                assert!((0.0..=100.0).contains(&value(TABLES[0])), "a share");
                assert!((0.0..=100.0).contains(&value(TABLES[1])), "a loss rate");
                assert!((0.0..1000.0).contains(&value(TABLES[2])), "a delay");
            }
        }
    }
}

fn listed() -> Vec<&'static str> {
    Algorithm::all().map(Algorithm::name).filter(|name| *name != "agent").collect()
}

#[test]
fn every_algorithm_meets_every_other_at_every_buffer() {
    let page = short("", &[]).succeeds().stdout;
    let names = listed();
    assert_complete(&page, &names);
}

#[test]
fn both_sides_of_a_duel_add_up() {
    let page = short("cc = \"bbr1,cubic,reno\"", &[]).succeeds().stdout;
    let (cells, _) = cells(&page);
    for (&[buffer, title, row, column], cell) in &cells {
        let other = cells[&[buffer, title, column, row]];
        let number = |cell: &str| cell.trim_start_matches('~').parse::<f64>().unwrap();
        match (title == TABLES[0], row == column) {
            (true, false) => assert!((number(cell) + number(other) - 100.0).abs() <= 1.0, "{cell}, {other}"),
            _ => assert_eq!(*cell, other),
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let place = Checkout::new(&format!("{SHORT}cc = \"bbr1,cubic,reno\"").replace("seeds = 1", "seeds = 2"));
    let with = |jobs: &str| {
        let record = place.run(&["--jobs", jobs, "--json"]).succeeds().stdout;
        place.run(&["--jobs", jobs, "--write", "-q"]).succeeds();
        (record, place.0.read("page.md"))
    };
    assert_eq!(with("1"), with("7"));
    assert_eq!(place.0.files(), ["duels.toml", "page.md"]);
}

#[test]
fn the_record_holds_each_pair_once_per_buffer() {
    let record = short("cc = \"reno,fixed_rate\"", &["--json"]).succeeds().json();
    assert_eq!(record["schema"], "fairpace.duels/1");
    assert_eq!(record["buffers"][2], serde_json::json!({"name": "4bdp", "bytes": 100_000}));
    assert_eq!(record["algorithms"][1]["set"], serde_json::json!([["rate", "5mbit"]]), "half of the link");
    let duels = record["duels"].as_array().unwrap();
    let pairs: Vec<_> =
        duels.iter().map(|d| (d["row"].as_str().unwrap(), d["column"].as_str().unwrap())).collect();
    assert_eq!(pairs, [("reno", "reno"), ("reno", "fixed_rate"), ("fixed_rate", "fixed_rate")].repeat(3));
    let runs: Vec<_> = duels.iter().map(|duel| duel["runs"].as_u64().unwrap()).collect();
    assert_eq!(runs, [1, 2, 1].repeat(3), "both orders, but once where they are the same");
}

#[test]
fn variants_meet_each_other_under_their_names() {
    let record = short("cc = \"reno,reno:beta=0.9\"", &["--json"]).succeeds().json();
    assert_eq!(record["algorithms"][1]["name"], "reno:beta=0.9");
    assert_eq!(record["algorithms"][1]["set"], serde_json::json!([["beta", "0.9"]]));
    let duels = record["duels"].as_array().unwrap();
    let mixed = duels.iter().find(|duel| duel["row"] != duel["column"]).unwrap();
    assert_eq!((&mixed["row"], &mixed["column"]), (&"reno".into(), &"reno:beta=0.9".into()));
    assert!(mixed["share"].as_f64().unwrap() < 0.5, "that which backs off less takes more: {mixed}");
    short("cc = \"reno,fp_reno\"", &["--json"]).fails(2, "--cc names reno twice");
}

#[test]
fn a_parameter_that_was_given_is_used_instead_of_the_one_that_suits() {
    let options = "cc = \"fixed_rate\"\nset = [\"fixed_rate.rate=2mbit\"]";
    let record = short(options, &["--json"]).succeeds().json();
    assert_eq!(record["algorithms"][0]["set"], serde_json::json!([["rate", "2mbit"]]));
    assert!(record["duels"][0]["utilization"].as_f64().unwrap() < 0.5, "two of them need 4 of 10 Mbit/s");
    assert_eq!(record["command"], "fairpace-dev run duels.toml");
}

#[test]
fn what_stands_around_the_tables_stays() {
    let place = Checkout::new(&format!("{SHORT}cc = \"reno\""));
    assert!(place.run(&["--write"]).succeeds().stdout.starts_with("the tables are in "));
    let new = place.0.read("page.md");
    assert!(new.starts_with("# Duels\n") && new.contains("| reno |"), "{new}");
    place.0.write("page.md", &format!("Before.\n{new}After.\n"));
    place.run(&["--write"]).succeeds();
    assert_eq!(place.0.read("page.md"), format!("Before.\n{new}After.\n"));
    place.run(&["--check"]).succeeds();
    place.0.write("duels.toml", &place.0.read("duels.toml").replace("reno", "cubic"));
    place.run(&["--check"]).fails(1, "tables of other runs");
}

#[test]
fn a_page_without_marks_is_not_touched() {
    let place = Checkout::new(&format!("{SHORT}cc = \"reno\""));
    place.0.write("page.md", "mine\n");
    place.run(&["--write"]).fails(5, "it does not have the two marks once each");
    assert_eq!(place.0.read("page.md"), "mine\n");
}

#[test]
fn wrong_options_are_refused_before_anything_runs() {
    short("cc = \"reno,reno\"", &[]).fails(2, "--cc names reno twice");
    short("cc = \"rneo\"", &[]).fails(2, "rneo");
    short("cc = \"kernel:bbr\"", &[]).fails(2, "the simulator does not have it");
    short("cc = \"reno\"\nbuffer = \"1furlong\"", &[]).fails(2, "1furlong");
    short("cc = \"reno\"\nset = [\"bbq.alpha=1ms\"]", &[]).fails(2, "`bbq`, which does not take part");
    short("bufer = \"1bdp\"", &[]).fails(2, "--bufer");
    Checkout::new("seeds = 0").run(&[]).fails(2, "--seeds");
    Checkout::new("stagger = \"70s\"").run(&[]).fails(2, "start");
}

#[test]
fn ctrl_c_leaves_the_page_as_it_was() {
    let place = Checkout::new(&format!("{SHORT}cc = \"reno\""));
    place.run(&["--write", "-q"]).succeeds();
    let before = place.0.read("page.md");
    let endless = "[duels]\nduration = \"24h\"\nset = \"interval=1s\"\n";
    place.0.write("duels.toml", &format!("title = \"Duels\"\npage = \"page.md\"\n{endless}"));
    let mut command = program();
    let child = command.args(place.words()).arg("--write").stderr(std::process::Stdio::piped()).spawn();
    let child = child.unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
    assert_eq!(place.0.read("page.md"), before);
    assert_eq!(place.0.files(), ["duels.toml", "page.md"]);
}

/// It is as old as its commit says, so it may lack the newest algorithms; but what it has is whole.
#[test]
fn the_page_of_the_repository_is_complete() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/duels.md")).unwrap();
    let rows = page.split_once(TABLES[0]).unwrap().1.lines().skip(4);
    let names: Vec<_> = rows.map_while(|row| row.split('|').nth(1)).map(str::trim).collect();
    let known = listed();
    assert!(names.iter().all(|name| known.iter().any(|k| k == name)), "{names:?}: run `make duels`");
    assert_complete(&page, &names);
}
