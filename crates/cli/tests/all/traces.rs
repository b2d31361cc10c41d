//! `sim --trace` and `--pcap`: files for other tools.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{Ended, Place, program};
use fairpace_test_support::skip;

const RUN: [&str; 8] =
    ["sim", "small.toml", "--set", "link.loss=0.5%", "--set", "link.buffer=60kB", "--out", "out"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().chain(more).copied().collect()
}

#[test]
fn traces_come_into_place_with_the_result_and_change_nothing_in_it() {
    let place = Place::with_scenario();
    let plain = place.run(&with(&["--json"])).succeeds().json();
    let everything = ["--trace", "series,events,qlog", "--pcap", "bottleneck", "--json"];
    let traced = place.run(&with(&everything)).succeeds().json();
    assert_eq!(plain["flows"], traced["flows"]);
    assert_eq!(plain["links"], traced["links"]);
    let mut names: Vec<_> = fs::read_dir(place.path().join("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let wanted = [
        "40ms.sqlog",
        "60ms.sqlog",
        "backlog.csv",
        "backlog.parquet",
        "bottleneck.pcapng",
        "events.parquet",
        "flows.csv",
        "flows.parquet",
        "links.csv",
        "links.parquet",
        "manifest.json",
        "report.html",
        "scenario.toml",
        "summary.json",
    ];
    assert_eq!(names, wanted);
    // a result with traces is a result: it may be replaced
    place.run(&RUN).succeeds();
    assert!(!place.path().join("out/events.parquet").exists());
}

#[test]
fn the_same_seed_gives_the_same_traces() {
    let place = Place::with_scenario();
    let read = |dir: &str| {
        let arguments = ["sim", "small.toml", "--trace", "events,qlog", "--pcap", "bottleneck", "--out", dir];
        place.run(&arguments).succeeds();
        ["events.parquet", "40ms.sqlog", "bottleneck.pcapng"]
            .map(|name| fs::read(place.path().join(dir).join(name)).unwrap())
    };
    assert!(read("a") == read("b"));
}

#[test]
fn what_cannot_be_traced_is_refused_before_the_run() {
    let place = Place::with_scenario();
    place.run(&["sim", "small.toml", "--trace", "events"]).fails(2, "--out");
    place.run(&with(&["--pcap", "nowhere"])).fails(2, "the link `nowhere`, which the scenario does not have");
    place.run(&with(&["--trace", "events", "--repeat", "2"])).fails(2, "cannot be used with");
    let many = ["--set", "flow.1.count=250", "--trace", "qlog"];
    place.run(&with(&many)).fails(2, "a qlog file for each of 251 flows is too much");
    assert_eq!(place.files(), ["small.toml"]);
}

#[test]
fn a_trace_that_cannot_be_written_ends_the_run_at_once_and_is_named() {
    let place = Place::with_scenario();
    // 64 KB at most in each file; a day would take minutes
    let limited = ["-c", "ulimit -f 128; exec \"$@\"", "sh"];
    for (kind, file) in [("--pcap=bottleneck", "bottleneck.pcapng"), ("--trace=qlog", "40ms.sqlog")] {
        let begun = Instant::now();
        let day = ["--set", "duration=24h", "--set", "interval=60s", kind];
        let mut command = place.command_of(Path::new("sh"), &limited);
        let ended: Ended = command.arg(program()).args(with(&day)).output().unwrap().into();
        ended.fails(5, &format!("the trace {file} cannot be written: File too large"));
        assert!(begun.elapsed() < Duration::from_secs(60), "the run went on for {:?}", begun.elapsed());
        assert_eq!(place.files(), ["small.toml"]);
    }
}

/// Runs tshark on the capture; `None` where there is none.
fn tshark(place: &Place, arguments: &[&str]) -> Option<String> {
    let ran = Command::new("tshark").args(arguments).current_dir(place.path()).output();
    let Ok(output) = ran else {
        skip("tshark is not installed");
        return None;
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    let complaints = stderr.lines().filter(|line| !line.contains("Running as user"));
    assert_eq!(complaints.collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn wireshark_reads_a_capture_without_a_complaint() {
    let place = Place::with_scenario();
    let summary = place.run(&with(&["--pcap", "bottleneck", "--json"])).succeeds().json();
    let capture = "out/bottleneck.pcapng";
    let checks =
        ["-o", "ip.check_checksum:TRUE", "-Y", "_ws.malformed || ip.checksum.status == 0 || _ws.short"];
    let Some(wrong) = tshark(&place, &[&["-r", capture], &checks[..]].concat()) else { return };
    assert_eq!(wrong, "");
    // two handshakes, in the flows' order
    let fields = [
        "-T",
        "fields",
        "-e",
        "ip.src",
        "-e",
        "tcp.flags.syn",
        "-e",
        "tcp.flags.ack",
        "-e",
        "tcp.options.sack_perm",
    ];
    let syns = tshark(&place, &[&["-r", capture, "-Y", "tcp.flags.syn == 1"], &fields[..]].concat()).unwrap();
    let sources: Vec<_> = syns.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(sources, ["10.0.0.0", "10.128.0.0", "10.0.0.1", "10.128.0.1"], "{syns}");
    // what is sent twice, by its sequence number as Wireshark reads it, is what the sender counts
    let data = [
        "-Y",
        "tcp.len == 1448",
        "-T",
        "fields",
        "-e",
        "frame.time_relative",
        "-e",
        "ip.src",
        "-e",
        "tcp.seq",
    ];
    let data = tshark(&place, &[&["-r", capture], &data[..]].concat()).unwrap();
    let (mut seen, mut again) = (HashSet::new(), 0);
    for line in data.lines() {
        let (time, segment) = line.split_once('\t').unwrap();
        again += u64::from(!seen.insert(segment) && time.parse::<f64>().unwrap() >= 1.0);
    }
    let flows = summary["flows"].as_array().unwrap();
    let retransmitted: u64 = flows.iter().map(|flow| flow["retransmits"].as_u64().unwrap()).sum();
    assert!(retransmitted > 0, "{summary}");
    assert_eq!(again, retransmitted);
    // and the SACKs, and the drops
    assert!(!tshark(&place, &["-r", capture, "-Y", "tcp.options.sack_le"]).unwrap().is_empty());
    let drops = tshark(
        &place,
        &["-r", capture, "-Y", "frame.comment contains \"dropped\" && frame.time_relative >= 1"],
    )
    .unwrap();
    assert_eq!(drops.lines().count() as u64, summary["links"][0]["dropped_pkts"].as_u64().unwrap());
}
