//! `fairpace-dev run` with tables that are CSV files.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::support::run;

const ROWS: &str = r#"
title = "Rates"
[[run]]
name = "rates"
scenario = "path.toml"
start_spread = "100ms"
seeds = 2
[run.sweep]
title = "cell"
axis = [
    { name = "rate", point = [
        { at = "1", set = ["link.rate=1mbit"] }, { at = "2", set = ["link.rate=2mbit"] },
    ] },
    { name = "rtt", point = [
        { at = "10, short", set = ["flow.rtt=10ms"] }, { at = "20", set = ["flow.rtt=20ms"] },
    ] },
]
[[run]]
name = "slow"
like = "rates"
only = ["rate=1", "rtt=20"]
seeds = 1
[[table]]
name = "rates"
file = "rates.csv.gz"
rows = ["rates"]
column = [
    { heading = "used", measure = { of = "flow.*.goodput_mbps", over = { of = "link.1.rate_mbps" } } },
    { heading = "packets", measure = { of = "packets" } },
    { heading = "end", measure = { of = "flow.1.completion_s" } },
]
[[table]]
name = "slow"
file = "slow.csv"
like = "rates"
set = ["flow.mtu=1000"]
rows = ["slow"]
"#;

/// A folder with [`ROWS`] as `rows.toml`, and that file.
fn folder() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let scenario = "title = \"t\"\nduration = \"2s\"\n[[link]]\nrate = \"1mbit\"\nbuffer = \"10kB\"\n\
                    [[flow]]\ncc = \"reno\"\nrtt = \"10ms\"\n";
    fs::write(path("path.toml"), scenario).unwrap();
    fs::write(path("rows.toml"), ROWS).unwrap();
    let file = path("rows.toml").to_str().unwrap().to_owned();
    (folder, file)
}

/// Rows that were asked for, and those of them that no file had.
fn rows(file: &str, more: &[&str]) -> Vec<(u64, u64)> {
    let record = run(&[&["run", file, "--json"], more].concat()).succeeds().json();
    let files = record.as_array().unwrap().iter();
    files.map(|of| (of["rows"].as_u64().unwrap(), of["added"].as_u64().unwrap())).collect()
}

#[test]
fn a_file_has_a_row_for_each_point_and_seed_with_a_column_for_each_axis() {
    let (folder, file) = folder();
    let text = run(&["run", &file, "-q", "--table", "rates"]).succeeds().stdout;
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows[0], "rate,rtt,seed,scenario,used,packets,end,commit");
    let first = ["1,\"10, short\",1,", "1,\"10, short\",2,", "1,20,1,", "1,20,2,", "2,\"10, short\",1,"];
    assert!(rows[1..].iter().zip(first).all(|(row, first)| row.starts_with(first)), "{text}");
    let fields: Vec<&str> = rows[3].split(',').collect();
    assert!((0.5..1.0).contains(&fields[4].parse::<f64>().unwrap()), "of the point's rate: {text}");
    assert!(fields[5].parse::<u64>().is_ok() && fields[6].is_empty() && fields[3].len() == 16, "{text}");
    let some = run(&["run", &file, "-q", "--table", "rates", "--only", "rate=2,rtt=20"]).succeeds();
    assert_eq!(some.stdout, format!("{}\n{}\n{}\n", rows[0], rows[7], rows[8]));
    run(&["run", &file, "--only", "rate=3"]).fails(2, "no row of rates.csv.gz is at rate=3");
    run(&["run", &file, "--table", "none"]).fails(2, "there are rates, slow");
    assert!(!folder.path().join("rates.csv.gz").exists(), "nothing asked for it");
}

#[test]
fn a_row_of_the_scenario_of_today_stays_and_any_other_is_simulated() {
    let (folder, file) = folder();
    run(&["run", &file, "--check"]).fails(1, "rates.csv.gz lacks 8 of 8 rows");
    assert_eq!(rows(&file, &["--write"]), [(8, 8), (1, 1)]);
    run(&["run", &file, "--check"]).succeeds();
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    let (packed, slow) = (read("rates.csv.gz"), String::from_utf8(read("slow.csv")).unwrap());
    // without its store the file alone has the rows, and a number in it is not computed again
    fs::remove_dir_all(folder.path().join(".cache")).unwrap();
    let used = slow.lines().nth(1).unwrap().split(',').nth(4).unwrap();
    fs::write(folder.path().join("slow.csv"), slow.replace(used, "0.25")).unwrap();
    assert_eq!(rows(&file, &["--write"]), [(8, 0), (1, 0)]);
    assert_eq!(read("rates.csv.gz"), packed);
    assert!(String::from_utf8(read("slow.csv")).unwrap().contains(",0.25,"));
    fs::write(&file, ROWS.replace("rate=2mbit", "rate=3mbit")).unwrap();
    run(&["run", &file, "--check"]).fails(1, "lacks 4 of 8 rows");
    assert_eq!(rows(&file, &["--write", "--table", "rates"]), [(8, 4)]);
    assert_eq!(rows(&file, &["--write", "--table", "slow", "--fresh"]), [(1, 1)]);
    assert_eq!(String::from_utf8(read("slow.csv")).unwrap(), slow);
    // fewer rows than the file has
    fs::write(&file, ROWS.replace("rate=2mbit", "rate=3mbit").replace("seeds = 2", "seeds = 1")).unwrap();
    run(&["run", &file, "--check"]).fails(1, "lacks 0 of 4 rows, or has others");
}

#[test]
fn finished_runs_are_kept_without_their_time_series() {
    let (folder, file) = folder();
    let row = || run(&["run", &file, "-q", "--table", "slow"]).succeeds().stdout;
    let first = row();
    let only = |folder: &Path| fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let kept = only(&only(&only(&folder.path().join(".cache"))));
    let text = fs::read_to_string(&kept).unwrap();
    assert!(text.contains("\"t_s\":[]"), "{text}");
    // the next call takes what an interrupted one has kept
    fs::write(&kept, text.replace("\"data_packets\":", "\"data_packets\":7")).unwrap();
    assert_ne!(row(), first);
}

#[test]
fn what_is_wrong_with_a_file_is_named_with_its_place() {
    let (folder, file) = folder();
    let wrong = |from: &str, to: &str| {
        fs::write(&file, ROWS.replace(from, to)).unwrap();
        run(&["run", &file])
    };
    wrong("of = \"packets\"", "of = \"packet\"").fails(2, "has no `packet`");
    wrong("\"link.1.rate_mbps\"", "\"link.1.rate\"").fails(2, "has no `link.1.rate`");
    wrong("rows = [\"rates\"]", "rows = [\"rate\"]").fails(2, "there is no run `rate`");
    wrong("\"rtt=20\"", "\"rtt=20\", \"rtt=30\"").fails(2, "no point of the run is at `rtt=30`");
    wrong("file = \"rates.csv.gz\"", "").fails(2, "the table has no file");
    wrong("\"100ms\"", "\"100\"").fails(2, "100");
    fs::write(&file, ROWS).unwrap();
    fs::write(folder.path().join("slow.csv"), "rate,rtt,seed,scenario,used,packets,end,commit\n1\n").unwrap();
    run(&["run", &file, "--table", "slow"]).fails(2, "repair it, or move it away");
}
