//! Each way to get a file wrong gives one error that says where, what and what to write.

use std::path::Path;

use crate::support::{GOOD, problem, problems, read, read_with};
use fairpace_scenario::{Problem, Set, Target, load, parse};

fn place(problem: &Problem) -> (usize, usize) {
    (problem.line, problem.column)
}

#[test]
fn a_misspelt_key_is_one_error_though_the_right_one_is_missing() {
    let problem = problem("rate =", "rat =");
    assert_eq!((problem.kind, problem.key.as_str()), ("unknown-key", "link.rat"));
    assert!(problem.help.starts_with("did you mean `rate`?"), "{}", problem.help);
}

#[test]
fn an_unknown_key_beside_all_needed_ones() {
    let problem = problem("buffer =", "bufer = \"1MB\"\nbuffer =");
    assert_eq!((problem.kind, problem.key.as_str(), place(&problem)), ("unknown-key", "link.bufer", (6, 1)));
    assert_eq!(problem.message, "there is no key `bufer` under `[[link]]`");
    assert!(
        problem.help.starts_with("did you mean `buffer`? Known are name, from, to, rate,"),
        "{}",
        problem.help
    );
}

#[test]
fn a_key_in_the_wrong_part_is_sent_to_the_right_one() {
    let problem = problem("duration", "rtt = \"5ms\"\nduration");
    assert_eq!(problem.message, "there is no key `rtt` at the top of the file");
    assert!(problem.help.starts_with("`rtt` belongs under `[[flow]]`."), "{}", problem.help);
}

#[test]
fn a_wrong_unit_is_reported_with_the_right_ones() {
    for (from, to, message, help) in [
        (
            "\"100mbit\"",
            "\"100mb\"",
            "`rate`: \"mb\" is not a unit of rate",
            "units are bit, kbit, mbit or gbit",
        ),
        ("\"100mbit\"", "\"100mbps\"", "`rate`: \"mbps\" is ambiguous", "write \"100mbit\""),
        ("\"100mbit\"", "\"50ms\"", "`rate`: \"50ms\" is a time, but a rate is wanted", "100mbit"),
        ("\"100mbit\"", "\"100\"", "`rate`: \"100\" has no unit", "\"100mbit\""),
        ("\"100mbit\"", "100000000", "`rate` is 100000000 without a unit", "rate = \"100mbit\""),
        ("\"2MB\"", "\"2mb\"", "`buffer`: \"mb\" is not a unit of size", "did you mean \"2MB\"?"),
        ("\"2MB\"", "\"2mbit\"", "`buffer`: \"2mbit\" is a rate, but a size is wanted", "1.5bdp"),
        ("\"10ms\"", "\"10 msec\"", "`rtt`: \"msec\" is not a unit of time", "ns, us, ms, s, min or h"),
        ("\"10ms\"", "\"\"", "`rtt`: \"\" is not a time", "50ms"),
        ("\"10ms\"", "\"1.2.3ms\"", "`rtt`: \"1.2.3ms\" is not a time", "50ms"),
    ] {
        let problem = problem(from, to);
        assert_eq!(problem.kind, "wrong-unit", "{to}");
        assert!(problem.message.starts_with(message), "{to}: {}", problem.message);
        assert!(problem.help.contains(help), "{to}: {}", problem.help);
    }
}

#[test]
fn negative_and_absurd_numbers_are_out_of_range() {
    for (from, to, message) in [
        ("\"10ms\"", "\"-10ms\"", "`rtt`: \"-10ms\" is negative"),
        ("\"10ms\"", "\"11s\"", "`rtt` is 11s; it must be at most 10s"),
        ("\"10ms\"", "\"0ms\"", "`rtt` is 0s; it must be at least 10us"),
        ("\"60s\"", "\"1000h\"", "`duration` is 3600000s; it must be at most 86400s"),
        (
            "\"100mbit\"",
            "\"999999999999999999gbit\"",
            "`rate` is larger than any number that is read; it must be at most 400gbit",
        ),
        ("\"100mbit\"", "\"1bit\"", "`rate` is 1bit; it must be at least 1kbit"),
        ("\"2MB\"", "\"100B\"", "`buffer` is 100B; it must be at least 1514B, one full-sized packet"),
        ("\"2MB\"", "\"0.0001bdp\"", "`buffer` is 62B; it must be at least 1514B"),
        ("start =", "count = 0\nstart =", "`count` is 0; it must be at least 1"),
        ("start =", "count = 1000000\nstart =", "`count` is 1000000; it must be at most 100000"),
        ("duration", "seed = -1\nduration", "`seed` is -1: it must not be negative"),
    ] {
        let problem = problem(from, to);
        assert_eq!(problem.kind, "out-of-range", "{to}");
        assert!(problem.message.starts_with(message), "{to}: {}", problem.message);
    }
}

#[test]
fn an_impossible_window_is_reported() {
    let window = |text: &str| problem("\n[[link]]", &format!("\n[window]\n{text}\n[[link]]"));
    let problem = window("to = \"70s\"");
    assert_eq!((problem.kind, problem.key.as_str(), place(&problem)), ("impossible", "window.to", (5, 6)));
    assert_eq!(problem.message, "the window ends at 70s, but the run at 60s");
    let problem = window("from = \"30s\"\nto = \"30s\"");
    assert_eq!((problem.key.as_str(), place(&problem)), ("window.from", (5, 8)));
    let problem = window("from = \"60s\"");
    assert_eq!(problem.help, "write a time before \"60s\", or make the run longer");
}

#[test]
fn a_time_series_that_would_not_fit_into_memory_is_reported() {
    let fine = problem("duration", "interval = \"100us\"\nseed = 1\nduration = \"24h\"\n#");
    assert_eq!(fine.message, "a point every 100us makes more than 1000000 points in 86400s");
    assert_eq!(fine.help, "write interval = \"87ms\" or more");
    // one flow and 40000
    let many = problem("start = \"5s\"", "count = 40000");
    assert_eq!(many.message, "a point every 100ms makes more than 249 points for each of 40001 flows in 60s");
    assert_eq!((many.key.as_str(), many.help.as_str()), ("interval", "write interval = \"241ms\" or more"));
}

#[test]
fn times_that_exclude_each_other_are_reported() {
    let late = problem("\"5s\"", "\"60s\"");
    assert_eq!((late.key.as_str(), place(&late)), ("flow.start", (15, 9)));
    let before = problem("\"5s\"", "\"5s\"\nstop = \"4s\"");
    assert_eq!(before.message, "a flow would stop at 4s, but start at 5s");
    let after = problem("\"5s\"", "\"5s\"\nstop = \"61s\"");
    assert_eq!(after.key, "flow.stop");
    let group = problem("\"5s\"", "\"5s\"\ncount = 100\nstagger = \"1s\"");
    assert_eq!(group.key, "flow.start");
    let coarse = problem("duration", "interval = \"61s\"\nduration");
    assert_eq!(coarse.key, "interval");
}

#[test]
fn duplicate_names_are_reported_at_the_second() {
    let text = GOOD
        .replace("cc = \"bbr1\"", "name = \"a\"\ncc = \"bbr1\"")
        .replace("cc = \"bbq\"", "name = \"a\"\ncc = \"bbq\"");
    let problems = read(&text).unwrap_err().problems;
    assert_eq!(problems.len(), 1);
    assert_eq!((problems[0].kind, place(&problems[0])), ("duplicate-name", (14, 8)));
}

#[test]
fn an_unknown_algorithm_names_the_nearest_known_one() {
    let problem = problem("\"bbr1\"", "\"cubik\"");
    assert_eq!((problem.kind, place(&problem)), ("unknown-algorithm", (9, 6)));
    assert!(problem.help.starts_with("did you mean `cubic`? Known are bbr1, "), "{}", problem.help);
}

#[test]
fn a_word_that_a_key_does_not_know_names_those_that_it_does() {
    let view = problem("rtt = \"10ms\"", "rtt = \"10ms\"\nview = \"kernal\"");
    assert_eq!((view.kind, view.key.as_str(), place(&view)), ("out-of-range", "flow.view", (11, 8)));
    assert_eq!(view.message, "`view` cannot be \"kernal\": known are exact, kernel");
    assert_eq!(view.help, "write \"kernel\"");
    assert_eq!(problem("rtt = \"10ms\"", "rtt = \"10ms\"\nview = 1").kind, "wrong-type");
}

#[test]
fn parameters_are_checked_by_name_and_value() {
    let unknown = problem("alpha =", "alfa =");
    assert_eq!((unknown.kind, unknown.key.as_str()), ("unknown-parameter", "flow.set.alfa"));
    assert!(unknown.help.starts_with("did you mean `alpha`?"));
    let wrong = problem("\"3ms\"", "\"99s\"");
    assert_eq!(wrong.kind, "wrong-parameter");
    assert!(wrong.message.contains("alpha cannot be 99s: it must be from "), "{}", wrong.message);
    let kernel = GOOD.replace("cc = \"bbq\"", "cc = \"kernel:bbr\"");
    let none = parse("test.toml", &kernel, &[], Target::Testbed).unwrap_err().problems.remove(0);
    assert_eq!((none.kind, none.help.as_str()), ("unknown-parameter", "it has no parameters"));
}

#[test]
fn the_old_name_of_a_parameter_is_an_error_that_says_the_new_one() {
    let level = GOOD.replace("cc = \"bbq\"", "cc = \"level\"");
    let file = level.replace("alpha = \"3ms\"", "patience = 4");
    let set = [Set::new("level.patience", "4")];
    let plain = level.replace("set = { alpha = \"3ms\" }", "");
    for (text, sets) in [(&file, &[][..]), (&plain, &set)] {
        let problem = parse("test.toml", text, sets, Target::Simulator).unwrap_err().problems.remove(0);
        assert_eq!((problem.kind, problem.key.as_str()), ("unknown-parameter", "flow.set.patience"));
        assert_eq!(problem.message, "`level` has no parameter `patience`");
        assert_eq!(problem.help, "it is called `detection_drains` now");
    }
}

#[test]
fn what_is_missing_is_reported() {
    assert_eq!(problem("duration = \"60s\"\n", "").message, "the scenario has no `duration`");
    let rate = problem("rate = \"100mbit\"\n", "");
    assert_eq!((rate.message.as_str(), rate.line), ("`[[link]]` has no `rate`", 4));
    assert_eq!(rate.help, "add rate = \"100mbit\"");
    let empty = read("").unwrap_err().problems;
    let keys: Vec<_> = empty.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["duration", "flow", "link"]);
}

#[test]
fn wrong_types_are_reported() {
    for (from, to) in [
        ("[[link]]", "[link]"),
        ("\"two flows\"", "7"),
        ("\"two flows\"", "\"a\\nb\""),
        ("duration", "seed = \"x\"\nduration"),
        ("duration", "seed = 1.5\nduration"),
        ("\"60s\"", "true"),
        ("{ alpha = \"3ms\" }", "\"alpha\""),
        ("{ alpha = \"3ms\" }", "{ alpha = [1] }"),
        ("duration", "window = 3\nduration"),
    ] {
        assert_eq!(problem(from, to).kind, "wrong-type", "{to}");
    }
}

#[test]
fn several_errors_are_reported_at_once_in_the_order_of_the_file() {
    let text = GOOD
        .replace("100mbit", "fast")
        .replace("2MB", "2parsecs")
        .replace("\"bbq\"", "\"bbw\"")
        .replace("title", "titel");
    let problems = read(&text).unwrap_err().problems;
    let found: Vec<_> = problems.iter().map(|problem| (problem.line, problem.kind)).collect();
    assert_eq!(found, [(1, "unknown-key"), (5, "wrong-unit"), (6, "wrong-unit"), (13, "unknown-algorithm")]);
}

#[test]
fn broken_toml_is_reported_at_its_place() {
    let problems = problems("\"100mbit\"", "100mbit");
    assert!(problems.iter().all(|problem| problem.kind == "syntax"), "{problems:?}");
    assert_eq!(problems[0].line, 5);
}

#[test]
fn a_wrong_set_is_shown_as_the_argument_that_it_is() {
    let only = |set: &str| {
        let mut problems = read_with(GOOD, &[set]).unwrap_err().problems;
        assert_eq!(problems.len(), 1, "{set}: {problems:?}");
        problems.remove(0)
    };
    let unit = only("duration=30");
    assert_eq!((unit.file.as_str(), place(&unit), unit.kind), ("--set", (1, 10), "wrong-unit"));
    let key = only("duratoin=30s");
    assert!(key.help.starts_with("did you mean `duration`?"), "{}", key.help);
    assert_eq!(only("seed=soon").kind, "wrong-type");
    assert_eq!(only("seed=-3").kind, "out-of-range");
    assert_eq!(only("flow.20ms.cc=bbr1").help, "this scenario has `10ms`, `50ms`");
    assert_eq!(only("bbr1.alpha=3ms").kind, "unknown-parameter");
    assert_eq!(only("bbq.alpha=99s").kind, "wrong-parameter");
    let unused = read_with(&GOOD.replace("\"bbq\"", "\"bbr1\"").replace("set =", "#"), &["bbq.alpha=3ms"]);
    assert_eq!(unused.unwrap_err().problems[0].message, "no flow of this scenario uses `bbq`");
    assert!("duration".parse::<fairpace_scenario::Set>().is_err());
    assert!("=3".parse::<fairpace_scenario::Set>().is_err());
}

#[test]
fn files_that_cannot_be_read_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    for (path, message) in [
        (folder.path().join("none.toml"), "cannot read the scenario: No such file"),
        (folder.path().to_owned(), "cannot read the scenario: it is a directory, not a regular file"),
        (write("binary.toml", b"title = \"\xff\""), "the scenario is not UTF-8 text, from byte 9 on"),
        (write("large.toml", &vec![b'#'; 2 << 20]), "the scenario is larger than"),
    ] {
        let error = load(&path, &[], Target::Simulator).unwrap_err();
        let problem = &error.problems[0];
        assert!(problem.message.starts_with(message), "{}", problem.message);
        assert_eq!(Path::new(&problem.file), path);
        assert!(!problem.help.is_empty());
    }
}

/// Replaced text, what replaces it, kind, beginning of the message.
const FAULTS_AND_TRAFFIC: &[(&str, &str, &str, &str)] = &[
    ("\"2MB\"", "\"2MB\"\nloss = 0.01", "wrong-unit", "`loss` is 0.01 without a unit"),
    ("\"2MB\"", "\"2MB\"\nloss = \"101%\"", "out-of-range", "`loss` is 101%; it must be at most 100%"),
    ("\"2MB\"", "\"2MB\"\nloss = \"1ms\"", "wrong-unit", "`loss`: \"1ms\" is a time, but a percentage"),
    ("\"2MB\"", "\"2MB\"\nloss_burst = 5", "impossible", "bursts of loss are given, but no loss"),
    ("\"2MB\"", "\"2MB\"\nloss_in_burst = \"5%\"", "missing-key", "`loss_in_burst` has no effect without"),
    (
        "\"2MB\"",
        "\"2MB\"\nloss = \"2%\"\nloss_burst = 5\nloss_in_burst = \"2%\"",
        "impossible",
        "2% of all packets cannot be lost if bursts lose 2%",
    ),
    (
        "\"2MB\"",
        "\"2MB\"\nloss = \"60%\"\nloss_burst = 1",
        "impossible",
        "bursts of 1 packets would have less than a packet between them",
    ),
    ("start =", "on = \"1s\"\nstart =", "missing-key", "`on` has no effect without `off`"),
    ("start =", "write_every = \"1s\"\nstart =", "missing-key", "`write_every` has no effect without"),
    (
        "start =",
        "on = \"1s\"\noff = \"1s\"\nwrite_rate = \"1mbit\"\nstart =",
        "impossible",
        "`on` and `write_rate` exclude each other",
    ),
    (
        "start =",
        "on = \"1s\"\noff = \"1s\"\nsize = \"1MB\"\nstart =",
        "impossible",
        "`on` and `size` exclude each other",
    ),
    ("\"2MB\"", "\"2MB\"\nrate_at = \"10s\"", "wrong-unit", "`rate_at`: \"10s\" is not a time and a rate"),
    ("\"2MB\"", "\"2MB\"\nrate_at = \"10s 5ms\"", "wrong-unit", "`rate_at`: \"5ms\" is a time, but a rate"),
    ("\"2MB\"", "\"2MB\"\nrate_at = \"\"", "wrong-unit", "`rate_at`: \"\" is not a time and a rate"),
    ("\"2MB\"", "\"2MB\"\nrate_at = \"9s 1tbit\"", "wrong-unit", "`rate_at`: \"tbit\" is not a unit of rate"),
    (
        "\"2MB\"",
        "\"2MB\"\nrate_at = \"9s 900gbit\"",
        "out-of-range",
        "`rate_at` is 900gbit; it must be at most",
    ),
    (
        "\"2MB\"",
        "\"2MB\"\nrate_at = \"9s 1mbit, 9s 2mbit\"",
        "impossible",
        "the step at 9s follows one at 9s",
    ),
    ("\"2MB\"", "\"2MB\"\nrate_at = \"0s 1mbit\"", "impossible", "the first step is at the start"),
    ("\"2MB\"", "\"2MB\"\npolicer_rate = \"1mbit\"", "missing-key", "`policer_rate` has no effect without"),
    (
        "\"2MB\"",
        "\"2MB\"\npolicer_rate = \"1mbit\"\npolicer_burst = \"1kB\"",
        "out-of-range",
        "`policer_burst` is 1kB; it must be at least 1514B",
    ),
    ("start =", "rtt_at = \"9s 5ms, 4s 7ms\"\nstart =", "impossible", "the step at 4s follows one at 9s"),
    (
        "start =",
        "reorder = \"1%\"\nstart =",
        "missing-key",
        "`reorder` has no effect without `reorder_delay`",
    ),
    (
        "start =",
        "receive_buffer = \"1kB\"\nstart =",
        "out-of-range",
        "`receive_buffer` is 1kB; it must be at least",
    ),
    ("start =", "size = \"0B\"\nstart =", "out-of-range", "`size` is 0B; it must be at least 1B"),
    ("start =", "ack_loss = \"-1%\"\nstart =", "out-of-range", "`ack_loss`: \"-1%\" is negative"),
];

#[test]
fn impossible_faults_and_traffic_are_reported() {
    for (from, to, kind, message) in FAULTS_AND_TRAFFIC {
        let problem = problem(from, to);
        assert_eq!(problem.kind, *kind, "{to}: {}", problem.message);
        assert!(problem.message.starts_with(message), "{to}: {}", problem.message);
    }
}
