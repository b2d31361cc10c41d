//! Keys of losses, outages, jitter and writes: what they mean, and each way to get them wrong.

use std::path::Path;

use crate::key_errors::{Case, check};
use crate::support::{GOOD, read};
use fairpace_scenario::quantity::Dimension;
use fairpace_scenario::{Scenario, Target, TimeTable, Writes, load, parse};

/// Nanoseconds in a second.
const S: u64 = 1_000_000_000;

/// The scenario with every key.
fn all() -> Scenario {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/support/all.toml");
    load(Path::new(path), &[], Target::Simulator).unwrap()
}

/// [`GOOD`] with other keys of its link or its first flow, read from the folder of the files of the tests.
fn with(from: &str, keys: &str) -> Scenario {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/support/good.toml");
    parse(path, &GOOD.replacen(from, keys, 1), &[], Target::Simulator)
        .unwrap_or_else(|wrong| panic!("{wrong}"))
}

#[test]
fn loss_changes_at_times_of_the_scenario_or_of_a_file() {
    let links = all().links;
    let rows = [(10 * S, 300_000_000), (10 * S + S / 2, 0)];
    assert_eq!((links[2].loss.ppb, &links[2].loss_at), (10_000_000, &TimeTable::inline(rows)));
    let rows = [(0, 10_000_000), (10 * S + S / 2, 300_000_000), (12 * S, 0)];
    assert_eq!(links[3].loss_at, TimeTable { file: "fading.txt".into(), rows: rows.into() });
    // the content of a file counts, not its name; the steps of a scenario are another experiment
    let named = |name: &str| {
        let mut scenario = with("buffer = \"2MB\"", "buffer = \"2MB\"\nloss_trace = \"fading.txt\"");
        scenario.links[0].loss_at.file = name.to_owned();
        scenario.canonical_hash()
    };
    assert_eq!(named("fading.txt"), named("other.txt"));
    assert_ne!(named("fading.txt"), named(""));
    assert_ne!(named("fading.txt"), read(GOOD).unwrap().hash);
}

#[test]
fn writes_are_of_the_scenario_or_of_a_file() {
    let flows = all().flows;
    let flow = |name: &str| flows.iter().find(|flow| flow.name == name).unwrap();
    let rows = [(0, 100_000), (50_000_000, 20_000)];
    assert_eq!(flow("writes").traffic.writes, Writes::Scheduled(TimeTable::inline(rows)));
    assert_eq!(flow("writes").traffic.total_bytes(), Some(120_000));
    let rows = [(0, 5_000), (250_000_000, 20_000)];
    let table = TimeTable { file: "messages.txt".into(), rows: rows.into() };
    assert_eq!(flow("writes-of-a-file").traffic.writes, Writes::Scheduled(table));
    let names: Vec<_> = flows.iter().filter_map(|flow| flow.barrier.as_deref()).collect();
    assert_eq!(names, ["read"]);
}

#[test]
fn a_table_says_which_line_is_wrong() {
    let cases = [
        ("", "has no line"),
        ("# nothing\n", "has no line"),
        ("1", "is wrong at line 1: \"1\" is not seconds and a share"),
        ("0 0.5\n1 2 3", "is wrong at line 2: \"1 2 3\" is not seconds and a share"),
        ("-1 0.5", "is wrong at line 1: \"-1 0.5\" is not seconds and a share"),
        ("1 0.5\n1 0.6", "goes back in time, or stays, at line 2"),
        ("1 1.5", "has a share that is more than 1 at line 1"),
        ("90000 0.5", "has a time after a day at line 1"),
    ];
    for (text, expected) in cases {
        assert_eq!(TimeTable::read("t", text, Dimension::Share).unwrap_err(), expected, "{text}");
    }
    let table = TimeTable::read("t", "0.25 0.000000001 # one in a billion\n2 1", Dimension::Share).unwrap();
    assert_eq!(&table.rows[..], &[(S / 4, 1), (2 * S, S)]);
    // as numpy writes a table
    let text = "1.250000000000000000e+00 5.000000000000000000e-02\r\n2E1 0e0";
    let table = TimeTable::read("t", text, Dimension::Share).unwrap();
    assert_eq!(&table.rows[..], &[(5 * S / 4, S / 20), (20 * S, 0)]);
    for text in ["1e400 0", "1e 0", "-1e0 0", "1 nane", "1e0 2.5e0"] {
        assert!(TimeTable::read("t", text, Dimension::Share).is_err(), "{text}");
    }
}

/// Each replaces `buffer = "2MB"`.
const LINKS: &[Case<'_>] = &[
    ("buffer = \"2MB\"\nloss_at = \"10s 30\"", "wrong-unit", "`loss_at`: \"30\" has no unit", "\"30%\""),
    (
        "buffer = \"2MB\"\nloss_at = \"10s 101%\"",
        "out-of-range",
        "`loss_at` is 101%; it must be at most 100%",
        "0% to 100%",
    ),
    (
        "buffer = \"2MB\"\nloss_at = \"10s 30%, 9s 0%\"",
        "impossible",
        "the step at 9s follows one at 10s",
        "in order of time",
    ),
    (
        "buffer = \"2MB\"\nloss_at = \"0s 30%\"",
        "impossible",
        "the first step is at the start",
        "without `_at`",
    ),
    (
        "buffer = \"2MB\"\nloss_at = 30",
        "wrong-unit",
        "`loss_at` is 30 without a unit",
        "loss_at = \"10s 30%, 20s 1%\"",
    ),
    (
        "buffer = \"2MB\"\nloss = \"1%\"\nloss_burst = 5\nloss_at = \"10s 30%\"",
        "impossible",
        "`loss_at` and `loss_burst` exclude each other",
        "leave out `loss_burst` or `loss_at`",
    ),
    (
        "buffer = \"2MB\"\nrate_at = \"5s 1mbit\"\noutages = \"lose\"",
        "impossible",
        "outages would lose packets, but the link has none",
        "rate_at = \"10s 0, 10.5s 100mbit\"",
    ),
    (
        "buffer = \"2MB\"\nrate_at = \"5s 0\"\noutages = \"loose\"",
        "out-of-range",
        "`outages` cannot be \"loose\": known are hold, lose",
        "write \"lose\"",
    ),
    (
        "buffer = \"2MB\"\njitter_distribution = \"normal\"",
        "missing-key",
        "`jitter_distribution` has no effect without `jitter`",
        "jitter = \"5ms\"",
    ),
    (
        "buffer = \"2MB\"\njitter = \"1ms\"\njitter_distribution = \"pareto\"",
        "out-of-range",
        "`jitter_distribution` cannot be \"pareto\": known are uniform, normal",
        "write one of uniform, normal",
    ),
    (
        "buffer = \"2MB\"\njitter = \"1ms\"\njitter_correlation = \"100%\"",
        "out-of-range",
        "`jitter_correlation` is 100%; it must be at most 99%",
        "0% to 99%",
    ),
    (
        "buffer = \"2MB\"\nloss_trace = \"no-such.txt\"",
        "file",
        "`loss_trace`: cannot read `no-such.txt`",
        "by its path from the folder of the scenario file",
    ),
];

/// Each replaces `rtt = "10ms"`.
const FLOWS: &[Case<'_>] = &[
    (
        "rtt = \"10ms\"\nwrites = \"0s 10kB, 0s 5kB\"",
        "impossible",
        "`writes` goes back in time, or stays",
        "write times that grow",
    ),
    (
        "rtt = \"10ms\"\nwrites = \"0s 0B\"",
        "out-of-range",
        "`writes` is 0B; it must be at least 1B",
        "write a value from 1B",
    ),
    (
        "rtt = \"10ms\"\nwrites = \"0s 10ms\"",
        "wrong-unit",
        "`writes`: \"10ms\" is a time, but a size is wanted",
        "write it like",
    ),
    (
        "rtt = \"10ms\"\nwrites = \"0s 10kB\"\nsize = \"1MB\"",
        "impossible",
        "`writes` and `size` exclude each other",
        "leave out `size` or `writes`",
    ),
    (
        "rtt = \"10ms\"\nwrite_trace = \"no-such.txt\"",
        "file",
        "`write_trace`: cannot read `no-such.txt`",
        "by its path from the folder",
    ),
    (
        "rtt = \"10ms\"\nbarrier = \"read\"",
        "missing-key",
        "`barrier` has no effect without `response`",
        "response = \"10kB\"",
    ),
    (
        "rtt = \"10ms\"\ntso_loss = \"101%\"",
        "out-of-range",
        "`tso_loss` is 101%; it must be at most 100%",
        "0% to 100%",
    ),
    (
        "rtt = \"10ms\"\nack_jitter_correlation = \"25%\"",
        "missing-key",
        "`ack_jitter_correlation` has no effect without `ack_jitter`",
        "ack_jitter = \"50ms\"",
    ),
];

#[test]
fn a_wrong_key_of_a_flow_is_one_error_at_its_place() {
    check("rtt = \"10ms\"", FLOWS);
}

#[test]
fn a_wrong_key_of_a_link_is_one_error_at_its_place() {
    check("buffer = \"2MB\"", LINKS);
}
