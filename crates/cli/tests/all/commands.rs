//! The subcommands that run nothing, the demonstration, and how runs are ended.

use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::CommandFactory;

use crate::support::{Ended, Place, Unload, has_kernel, own_suffix, program};
use fairpace_test_support::is_in_program;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

#[test]
fn help_says_what_there_is_and_how_it_ends() {
    let help = Place::new().run(&["--help"]).succeeds().stdout;
    for word in [
        "sim",
        "testbed",
        "compare",
        "demo",
        "algorithms",
        "load",
        "unload",
        "status",
        "doctor",
        "Exit codes:",
    ] {
        assert!(help.contains(word), "{word} is not in {help}");
    }
}

#[test]
fn the_help_has_every_command_in_one_group_but_those_of_scripts() {
    let place = Place::new();
    let [short, long] = ["-h", "--help"].map(|flag| place.run(&[flag]).succeeds().stdout);
    assert_eq!(short, long);
    let names = |text: &str| -> Vec<String> {
        let line = |line: &str| Some(line.strip_prefix("  ")?.split(' ').next()?.to_owned());
        text.lines()
            .take_while(|line| *line != "Options:")
            .filter_map(line)
            .filter(|name| !name.is_empty())
            .collect()
    };
    let mut listed = names(&long);
    listed.sort();
    let all = fairpace::Cli::command();
    let mut expected: Vec<String> = all.get_subcommands().map(|of| of.get_name().to_owned()).collect();
    expected.retain(|name| !["list", "apply", "restore", "guest"].contains(&name.as_str()));
    expected.push("help".to_owned());
    expected.sort();
    assert_eq!(listed, expected);
    assert!(long.lines().all(|line| line.len() <= 100), "{long}");
    assert!(place.run(&["list", "--help"]).succeeds().stdout.contains("Usage: fairpace list"));
}

#[test]
fn a_command_that_has_moved_names_the_program_that_has_it() {
    let place = Place::new();
    for (name, now) in [
        ("conformance", "run experiments/validation.toml"),
        ("duels", "run experiments/duels.toml"),
        ("reproduce", "reproduce"),
        ("reproduce-grid", "run reproduction/bbrv3-startup-mahmud2025/grid.toml"),
    ] {
        let ended = place.run(&[name, "--json"]);
        ended.fails(2, &format!("fairpace-dev {now}"));
        assert_eq!(ended.error()["message"], format!("`fairpace {name}` is now `fairpace-dev {now}`"));
    }
    place.run(&["duels"]).fails(2, "cargo run --release -p fairpace-dev -- run experiments/duels.toml");
    place.run(&["duel"]).fails(2, "unrecognized subcommand");
}

#[test]
fn completions_and_man_pages_are_written() {
    let place = Place::with_scenario();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(place.run(&["completions", shell]).succeeds().stdout.contains("compare"), "{shell}");
    }
    assert!(place.run(&["man"]).succeeds().stdout.contains(".TH fairpace 1"));
    std::fs::create_dir(place.path().join("pages")).unwrap();
    std::os::unix::fs::symlink("../small.toml", place.path().join("pages/fairpace-sim.1")).unwrap();
    let scenario = place.read("small.toml");
    place.run(&["man", "pages"]).fails(5, "pages/fairpace-sim.1 is not a man page of fairpace");
    assert_eq!(place.read("small.toml"), scenario, "no link is followed");
    std::fs::remove_file(place.path().join("pages/fairpace-sim.1")).unwrap();
    place.run(&["man", "pages"]).succeeds();
    place.run(&["man", "pages"]).succeeds();
    assert!(place.read("pages/fairpace-compare.1").contains("stagger"));
    assert!(place.read("pages/fairpace-algorithms.1").contains("arXiv 1706.09115"));
    place.write("file", "");
    place.run(&["man", "file/pages"]).fails(5, "cannot write man pages to file/pages");
}

#[test]
fn every_scenario_of_the_repository_is_good() {
    let scenarios = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let place = Place::new();
    let mut count = 0;
    let folders = [scenarios.to_owned(), format!("{scenarios}/ccwg")];
    for entry in folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()) {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let path = path.to_str().unwrap();
        let sets = [
            "--set",
            "duration=1500ms",
            "--set",
            "window.from=1s",
            "--set",
            "flow.start=0s",
            "--set",
            "flow.stagger=10ms",
        ];
        place.run(&[&["sim", path, "--json"][..], &sets].concat()).succeeds();
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn demo_without_the_kernel_says_what_was_skipped_and_why() {
    let place = Place::new();
    let ended = place.run(&["demo", "--sim-only", "--duration", "7s"]).succeeds();
    assert!(
        ended.stdout.contains("Skipped: all runs on the running kernel, because --sim-only asks for that"),
        "{}",
        ended.stdout
    );
    for value in ["6.3", "87.3", "51.4", "42.5"] {
        assert!(ended.stdout.contains(value), "{value} of the paper is missing: {}", ended.stdout);
    }
    let level = ended.stdout.lines().find(|line| line.trim_start().starts_with("level"));
    assert!(level.is_some_and(|line| line.matches(" - ").count() == 2), "no paper has it: {}", ended.stdout);
    assert!(
        ended.stdout.contains("beside CUBIC or BBR it often gets less than its share"),
        "{}",
        ended.stdout
    );
    let [report, picture] =
        ["report.html", "headline.svg"].map(|name| place.read(&format!("out/demo/{name}")));
    for label in ["bbr1, simulated", "bbq, simulated", "level, simulated"] {
        assert!(report.contains(label) && picture.contains(label), "no {label}");
    }
    let record = place.run(&["demo", "--sim-only", "--duration", "7s", "--json"]).succeeds().json();
    assert_eq!(record["runs"].as_array().map(Vec::len), Some(3));
    assert_eq!(record["report"], "out/demo/report.html");
    // both flows are there while it is measured
    assert_eq!(record["runs"][0]["window_s"], serde_json::json!([5.0, 7.0]));
}

#[test]
fn a_demo_that_is_too_short_for_both_flows_is_refused() {
    let place = Place::new();
    place.run(&["demo", "--sim-only", "--duration", "5s"]).fails(2, "--duration must be longer than 5s");
    place.run(&["demo", "--sim-only", "--duration", "-1s"]).fails(2, "negative");
    assert!(place.files().is_empty());
}

#[test]
fn demo_without_root_goes_on_without_the_kernel() {
    if !crate::support::is_root() {
        return;
    }
    let ended = Place::new().run_unprivileged(&["demo", "--duration", "7s"]).succeeds();
    assert!(
        ended.stdout.contains("Skipped: all runs on the running kernel, because the testbed may not"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("run it as root"), "{}", ended.stdout);
}

#[test]
fn an_algorithm_outlives_the_command_that_loads_it() {
    if !has_kernel() {
        return;
    }
    let place = Place::new();
    let suffix = own_suffix();
    let name = format!("fp_bbq{suffix}");
    let _clean = Unload(name.clone());
    let loaded =
        place.run(&["load", "bbq", "--suffix", &suffix, "--set", "alpha=5ms", "--json"]).succeeds().json();
    assert_eq!(loaded[0]["kernel_name"], name.as_str());
    assert!(loaded[0]["parameters"].to_string().contains("[\"alpha\",\"5ms\"]"), "{loaded}");
    let available = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    assert!(std::fs::read_to_string(available).unwrap().contains(&name));
    let listed = place.run(&["list"]).succeeds().stdout;
    assert!(listed.lines().any(|line| line.starts_with(&name) && line.contains("loaded")), "{listed}");
    place.run(&["unload", &name]).succeeds();
    assert!(!std::fs::read_to_string(available).unwrap().contains(&name));
}

#[test]
fn unloading_the_default_algorithm_says_that_new_sockets_still_use_it() {
    if !has_kernel() {
        return;
    }
    let place = Place::new();
    let suffix = own_suffix();
    let name = format!("fp_reno{suffix}");
    let _clean = Unload(name.clone());
    place.run(&["load", "reno", "--suffix", &suffix]).succeeds();
    // the default of a network namespace of its own
    let script =
        format!("echo {name} >/proc/sys/net/ipv4/tcp_congestion_control && exec \"$0\" unload {name}");
    let mut command = std::process::Command::new("unshare");
    command.args(["--net", "sh", "-c", &script]).arg(crate::support::program());
    let ended = Ended::from(command.output().unwrap()).succeeds();
    assert!(
        ended.stdout.contains(&format!("net.ipv4.tcp_congestion_control still names {name}")),
        "{}",
        ended.stdout
    );
}

#[test]
fn doctor_explains_this_kernel() {
    let place = Place::new();
    let record: serde_json::Value = serde_json::from_str(&place.run(&["doctor", "--json"]).stdout).unwrap();
    assert!(record["checks"].as_array().is_some_and(|checks| checks.len() > 5), "{record}");
    for what in [
        "lockdown",
        "container",
        "SELinux",
        "sysctl.d",
        "queue of the device",
        "send buffer",
        "patches",
        "virtual time",
        "virtual time, UML",
    ] {
        assert!(record["checks"].as_array().expect("a list").iter().any(|c| c["what"] == what), "{what}");
    }
    let ended = place.run(&["doctor"]);
    let can = record["can_load"] == true;
    assert_eq!(ended.code, if can { 0 } else { 3 }, "{}", ended.stderr);
}

#[test]
fn doctor_judges_the_buffers_for_a_path() {
    let place = Place::new();
    let said = place.run(&["doctor", "--path", "100gbit,1s"]).stdout;
    assert!(said.contains("this path needs") && said.contains("sysctl -w net.ipv4.tcp_rmem="), "{said}");
    let said = place.run(&["doctor", "--path", "1mbit,1ms", "--json"]);
    let record: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let checks = record["checks"].as_array().unwrap();
    assert!(checks.iter().any(|c| c["what"] == "receive buffer" && c["standing"] == "ok"), "{record}");
    for wrong in ["1gbit", "1gbit,", "fast,10ms", ",", "1gbit,10ms,3"] {
        place.run(&["doctor", "--path", wrong]).fails(2, wrong);
    }
}

/// Starts a run that would take hours or minutes, sends a signal, and returns how it ended.
fn interrupted(place: &Place, arguments: &[&str], signal: Signal) -> Ended {
    let mut command = place.command(arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let sent = Instant::now();
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
    let ended = child.wait_with_output().unwrap().into();
    assert!(sent.elapsed() < Duration::from_secs(10), "it took {:?}", sent.elapsed());
    ended
}

#[test]
fn ctrl_c_ends_a_simulation_without_a_result() {
    let place = Place::with_scenario();
    let run = [
        "sim",
        "small.toml",
        "--set",
        "duration=24h",
        "--set",
        "interval=1s",
        "--set",
        "link.rate=10gbit",
        "--out",
        "out/deep",
    ];
    interrupted(&place, &run, Signal::SIGINT).fails(130, "interrupted");
    interrupted(&place, &run, Signal::SIGTERM).fails(143, "interrupted");
    let traced = [&run[..], &["--trace", "events,qlog", "--pcap", "bottleneck"]].concat();
    interrupted(&place, &traced, Signal::SIGINT).fails(130, "interrupted");
    let repeated = [&run[..], &["--repeat", "3"]].concat();
    interrupted(&place, &repeated, Signal::SIGINT).fails(130, "interrupted");
    assert_eq!(place.files(), ["small.toml"]);
}

#[test]
fn ctrl_c_ends_a_testbed_run_without_a_result() {
    if !has_kernel() {
        return;
    }
    let place = Place::with_scenario();
    let run = ["testbed", "small.toml", "--set", "duration=300s", "--out", "out"];
    interrupted(&place, &run, Signal::SIGINT).fails(130, "interrupted");
    assert_eq!(place.files(), ["small.toml"]);
}

/// The top of the checkout that this test was built in.
const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn the_program_does_not_hold_the_path_that_it_was_built_in() {
    let checkout = std::fs::canonicalize(CHECKOUT).unwrap();
    assert!(is_in_program(program(), "fairpace.summary/3"), "the search finds nothing");
    assert!(!is_in_program(program(), checkout.to_str().unwrap()));
}
