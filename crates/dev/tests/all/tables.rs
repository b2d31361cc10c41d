//! `fairpace-dev run` with files of tables.

use std::fs;

use tempfile::TempDir;

use crate::support::{files_below, run};

/// A file of two short runs, a table of their rates, and the page that it is on.
const TABLES: &str = r#"
title = "Rates"
page = "page.md"
[[run]]
name = "rates"
scenario = "path.toml"
seeds = 2
[run.sweep]
title = "rate"
point = [{ at = "1", set = ["link.rate=1mbit"] }, { at = "2", set = ["link.rate=2mbit"] }]
[[run]]
name = "longer"
like = "rates"
set = ["duration=4s"]
[[table]]
name = "shares"
heading = "rate"
rows = ["rates", "longer"]
column = [
    { heading = "share", measure = { of = "flow.1.share" } },
    { heading = "long", measure = { run = "longer", of = "jain", times = 2 }, decimals = 3, show = "range" },
    { heading = "of a second flow", measure = { of = "flow.1.completion_s" } },
]
"#;

/// A folder with [`TABLES`] as `tables.toml`.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = "title = \"t\"\nduration = \"2s\"\n[[link]]\nrate = \"1mbit\"\nbuffer = \"10kB\"\n\
                [[flow]]\ncc = \"reno\"\nrtt = \"10ms\"\n";
    fs::write(folder.path().join("path.toml"), path).unwrap();
    fs::write(folder.path().join("tables.toml"), TABLES).unwrap();
    folder
}

#[test]
fn a_table_has_a_row_for_each_point_and_a_cell_for_what_no_run_has() {
    let folder = folder();
    let file = folder.path().join("tables.toml");
    let text = run(&["run", file.to_str().unwrap(), "-q"]).succeeds().stdout;
    let rows: Vec<Vec<&str>> =
        text.lines().map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect();
    assert_eq!(rows[0], ["rate", "share", "long", "of a second flow"]);
    let row = |at| [at, "1.0", "2.000 (2.000 to 2.000)", "-"];
    assert_eq!(rows[2..6], [row("1"), row("2"), row("1"), row("2")]);
    assert!(rows[7][0].starts_with("Commit `") && rows[7][0].contains("scenarios `"), "{text}");
}

#[test]
fn what_no_table_shows_is_not_simulated() {
    let folder = folder();
    let file = folder.path().join("tables.toml");
    fs::write(&file, TABLES.replace("rows = [\"rates\", \"longer\"]", "rows = [\"rates\"]")).unwrap();
    let kept = || files_below(&folder.path().join(".cache")).len();
    run(&["run", file.to_str().unwrap(), "-q"]).succeeds();
    assert_eq!(kept(), 8, "a column shows the longer run");
    let other = TABLES.replace("run = \"longer\", of", "of").replace("\"rates\", \"longer\"", "\"rates\"");
    fs::write(&file, other.replace("2mbit", "3mbit")).unwrap();
    run(&["run", file.to_str().unwrap(), "-q"]).succeeds();
    assert_eq!(kept(), 10, "two seeds of one rate are new");
}

#[test]
fn tables_are_put_between_their_marks_and_known_to_be_old_when_a_scenario_changes() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, dir) = (at("tables.toml"), at(""));
    let dir = ["--dir", dir.trim_end_matches('/')];
    let check = || run(&[&["run", &file, "--check"], &dir[..]].concat());
    check().fails(1, "tables of other runs");
    fs::write(at("page.md"), "# Mine\n").unwrap();
    run(&[&["run", &file, "--write"], &dir[..]].concat()).fails(5, "the two marks once each");
    fs::remove_file(at("page.md")).unwrap();
    run(&[&["run", &file, "--write"], &dir[..]].concat()).succeeds();
    check().succeeds();
    let page = fs::read_to_string(at("page.md")).unwrap();
    assert!(page.contains("`fairpace-dev run tables.toml --table shares`: do not edit below"), "{page}");
    // the numbers are those of the run, also from the store
    let again = run(&["run", &file, "-q"]).succeeds().stdout;
    assert!(page.contains(again.trim()), "{page}\n{again}");
    fs::write(&file, TABLES.replace("2mbit", "3mbit")).unwrap();
    check().fails(1, "tables of other runs");
}

#[test]
fn what_is_wrong_with_a_file_is_named_with_its_place() {
    let folder = folder();
    let file = folder.path().join("tables.toml");
    let wrong = |from: &str, to: &str| {
        fs::write(&file, TABLES.replace(from, to)).unwrap();
        run(&["run", file.to_str().unwrap()])
    };
    wrong("flow.1.share", "flow.1.shares").fails(2, "has no `flow.1.shares`");
    wrong("rows = [\"rates\"", "rows = [\"rate\"").fails(2, "there is no run `rate`");
    wrong("run = \"longer\"", "run = \"long\"").fails(2, "there is no run `long`");
    wrong("heading = \"rate\"", "headin = \"rate\"").fails(2, "headin");
    wrong("like = \"rates\"", "like = \"rate\"").fails(2, "no run `rate`");
    fs::write(&file, TABLES).unwrap();
    run(&["run", file.to_str().unwrap(), "--table", "none"]).fails(2, "there is no table `none`");
    run(&["run", "/nonexistent.toml"]).fails(2, "cannot read it");
}

#[test]
fn the_tables_of_the_repository_are_of_the_runs_that_their_files_have() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for file in ["experiments/tables", "research/level/theory.toml", "research/level/evidence"] {
        run(&["run", &format!("{root}/{file}"), "--check", "--dir", root]).succeeds();
    }
}

#[test]
fn a_command_that_became_a_file_says_so() {
    for name in ["views", "bbq-gap", "duels", "evaluate", "level-evidence", "model", "reproduce-grid"] {
        run(&[name]).fails(2, &format!("`fairpace-dev {name}` is now `fairpace-dev run "));
    }
}
