//! What a run prints and stores.

use std::fs;
use std::process::Stdio;

use crate::support::Place;
use serde_json::Value;

const FILES: [&str; 7] = [
    "backlog.csv",
    "flows.csv",
    "links.csv",
    "manifest.json",
    "report.html",
    "scenario.toml",
    "summary.json",
];

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// The fields of a flow, as in docs/reference/json.md.
const FLOW: [&str; 19] = [
    "base_rtt_ms",
    "cc",
    "completion_s",
    "completions",
    "dropped_pkts",
    "failed",
    "goodput_mbps",
    "loss_rate",
    "marked_pkts",
    "name",
    "retransmits",
    "rtt_mean_ms",
    "rtt_min_ms",
    "rtt_p50_ms",
    "rtt_p95_ms",
    "rtt_p99_ms",
    "sent_pkts",
    "share",
    "start_s",
];

/// The fields of a link.
const LINK: [&str; 16] = [
    "backlog_share",
    "dropped_pkts",
    "duplicates",
    "early_dropped_pkts",
    "loss_rate",
    "lost",
    "marked_pkts",
    "name",
    "queue",
    "queue_delay_max_ms",
    "queue_delay_mean_ms",
    "queue_delay_p50_ms",
    "queue_delay_p95_ms",
    "queue_delay_p99_ms",
    "rate_mbps",
    "utilization",
];

/// Asserts that a summary has exactly the fields of docs/reference/json.md.
fn assert_summary(summary: &Value) {
    assert_eq!(
        keys(summary),
        [
            "commit",
            "convergence_s",
            "cost",
            "flows",
            "jain",
            "links",
            "max_min_distance",
            "on",
            "scenario",
            "schema",
            "seed",
            "window_s"
        ]
    );
    assert_eq!(keys(&summary["scenario"]), ["hash", "title"]);
    assert_eq!(keys(&summary["cost"]), ["cpu_s", "data_packets", "wall_s"]);
    summary["flows"].as_array().unwrap().iter().for_each(|f| assert_eq!(keys(f), FLOW));
    summary["links"].as_array().unwrap().iter().for_each(|l| assert_eq!(keys(l), LINK));
}

#[test]
fn sim_prints_the_stable_summary() {
    let summary = Place::with_scenario().run(&["sim", "small.toml", "--json"]).succeeds().json();
    assert_summary(&summary);
    assert_eq!(summary["schema"], "fairpace.summary/3");
    assert_eq!(summary["on"], "sim");
    assert_eq!(summary["window_s"], serde_json::json!([1.0, 2.0]));
    assert_eq!(summary["flows"][1]["cc"], "reno");
    assert_eq!(summary["scenario"]["hash"].as_str().map(str::len), Some(64));
    let commit = summary["commit"].as_str().unwrap();
    let hex = commit.trim_end_matches("+dirty");
    assert!(
        commit == "unknown" || (hex.len() == 40 && hex.bytes().all(|b| b.is_ascii_hexdigit())),
        "{commit}"
    );
}

#[test]
fn a_table_of_many_flows_keeps_its_width() {
    let place = Place::with_scenario();
    let told = place.run(&["sim", "small.toml", "--set", "flow.1.count=30"]).succeeds().stdout;
    let widest = told.lines().map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|width| width < 120), "{told}");
}

#[test]
fn compare_prints_an_array_with_one_flow_per_rtt_and_the_stagger_between_them() {
    let place = Place::new();
    let arguments = [
        "compare",
        "--rate",
        "10mbit",
        "--buffer",
        "1bdp",
        "--rtt",
        "20ms,40ms,20ms",
        "--cc",
        "bbr1,cubic",
        "--duration",
        "3s",
        "--stagger",
        "300ms",
        "--warmup",
        "1s",
        "--set",
        "cubic.beta=0.5",
    ];
    let array = place.run(&[&arguments[..], &["--json"]].concat()).succeeds().json();
    assert_eq!(array.as_array().map(Vec::len), Some(2));
    for (summary, cc) in array.as_array().unwrap().iter().zip(["bbr1", "cubic"]) {
        assert_summary(summary);
        assert_eq!(summary["window_s"], serde_json::json!([1.0, 3.0]));
        let flows: Vec<_> = summary["flows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|flow| {
                (
                    flow["cc"].as_str().unwrap(),
                    flow["name"].as_str().unwrap(),
                    flow["start_s"].as_f64().unwrap(),
                )
            })
            .collect();
        assert_eq!(flows, [(cc, "20ms", 0.0), (cc, "40ms", 0.3), (cc, "20ms-2", 0.6)]);
    }
    let table = place.run(&arguments).succeeds().stdout;
    assert!(table.starts_with("10mbit, buffer 50kB; simulated; measured from 1s to 3s"), "{table}");
    assert_eq!(table.lines().filter(|line| line.starts_with("bbr1") || line.starts_with("cubic")).count(), 2);
    assert!(!table.contains('\u{1b}'), "no escape codes outside a terminal");
}

#[test]
fn algorithms_are_listed_with_their_parameters() {
    let place = Place::new();
    let array = place.run(&["algorithms", "--json"]).succeeds().json();
    let names: Vec<_> = array.as_array().unwrap().iter().map(|a| a["name"].as_str().unwrap()).collect();
    for name in ["bbr1", "bbq", "cubic", "reno"] {
        assert!(names.contains(&name), "{names:?}");
    }
    for algorithm in array.as_array().unwrap() {
        assert_eq!(keys(algorithm), ["kernel_name", "name", "parameters", "preset", "source", "title"]);
        let kernel_name = algorithm["kernel_name"].as_str().unwrap();
        assert!(kernel_name.starts_with("fp_") && kernel_name.len() <= 15, "{kernel_name}");
        for parameter in algorithm["parameters"].as_array().unwrap() {
            assert_eq!(keys(parameter), ["default", "least", "meaning", "most", "name", "reason", "unit"]);
        }
    }
    let text = place.run(&["algorithms", "bbq"]).succeeds().stdout;
    assert!(text.contains("fp_bbq") && text.contains("alpha"), "{text}");
}

#[test]
fn the_same_seed_gives_the_same_summary_to_the_byte() {
    let place = Place::with_scenario();
    for (out, seed) in [("a", "7"), ("b", "7"), ("c", "8")] {
        place.run(&["sim", "small.toml", "--seed", seed, "--out", out]).succeeds();
    }
    assert_eq!(place.read("a/summary.json"), place.read("b/summary.json"));
    for file in ["flows.csv", "links.csv", "backlog.csv"] {
        assert_eq!(place.read(&format!("a/{file}")), place.read(&format!("b/{file}")));
    }
    let of = |out: &str| serde_json::from_str::<Value>(&place.read(&format!("{out}/summary.json"))).unwrap();
    assert_eq!(of("a")["scenario"]["hash"], of("c")["scenario"]["hash"]);
    assert_eq!(of("c")["seed"], 8);
    assert_eq!(keys(&of("a")["cost"]), ["data_packets"], "time would not be the same");
}

#[test]
fn the_stored_scenario_repeats_the_run() {
    let place = Place::with_scenario();
    place.run(&["sim", "small.toml", "--set", "link.rate=20mbit", "--seed", "3", "--out", "a"]).succeeds();
    place.run(&["sim", "a/scenario.toml", "--out", "b"]).succeeds();
    assert_eq!(place.read("a/summary.json"), place.read("b/summary.json"));
}

#[test]
fn a_stored_scenario_has_the_files_that_it_names_beside_it() {
    let place = Place::new();
    place.write("one.trace", "1\n2\n3\n");
    place.write("small.cdf", "1000 0.5\n9000 1\n");
    let link = "[[link]]\ntrace = \"one.trace\"\nbuffer = \"90kB\"\n";
    let flow = "[[flow]]\ncc = \"cubic\"\nrtt = \"9ms\"\narrivals = \"50/s\"\nsizes = \"small.cdf\"\n";
    place.write("files.toml", &format!("title = \"files\"\nduration = \"2s\"\n{link}{flow}"));
    place.run(&["sim", "files.toml", "--out", "a"]).succeeds();
    let names = fs::read_dir(place.path().join("a")).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(names.filter(|path| path.extension().is_some_and(|e| e == "trace" || e == "cdf")).count(), 2);
    place.run(&["sim", "a/scenario.toml", "--out", "b/deep"]).succeeds();
    assert_eq!(place.read("a/summary.json"), place.read("b/deep/summary.json"));
    // and it is a result that may be replaced
    place.run(&["sim", "files.toml", "--out", "a"]).succeeds();
}

#[test]
fn out_holds_all_files_and_replaces_an_earlier_result() {
    let place = Place::with_scenario();
    let files = || {
        let mut names: Vec<_> = fs::read_dir(place.path().join("deep/er/out"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    place.run(&["sim", "small.toml", "--out", "deep/er/out"]).succeeds();
    assert_eq!(files(), FILES);
    assert!(place.read("deep/er/out/report.html").contains("two flows"));
    place.run(&["sim", "small.toml", "--out", "deep/er/out/", "--seed", "9"]).succeeds();
    assert_eq!(files(), FILES);
    assert!(place.read("deep/er/out/summary.json").contains("\"seed\": 9"));
    assert_eq!(place.files(), ["deep", "small.toml"], "nothing else is left");
    assert_eq!(fs::read_dir(place.path().join("deep/er")).unwrap().count(), 1);
}

#[test]
fn compare_stores_every_run() {
    let place = Place::new();
    let arguments = [
        "compare",
        "--rate",
        "10mbit",
        "--buffer",
        "50kB",
        "--rtt",
        "20ms",
        "--cc",
        "bbr1,reno,bbr1:startup_gain=2.5",
        "--duration",
        "1s",
        "--warmup",
        "500ms",
        "--out",
        "out",
    ];
    place.run(&arguments).succeeds();
    let stored: Value = serde_json::from_str(&place.read("out/summary.json")).unwrap();
    assert_eq!(stored.as_array().map(Vec::len), Some(3));
    for dir in ["bbr1", "reno", "bbr1-startup_gain-2.5"] {
        let one: Value = serde_json::from_str(&place.read(&format!("out/{dir}/summary.json"))).unwrap();
        assert!(stored.as_array().unwrap().contains(&one));
        place.read(&format!("out/{dir}/flows.csv"));
        place.read(&format!("out/{dir}/scenario.toml"));
    }
    place.read("out/report.html");
    assert!(place.read("out/headline.svg").starts_with("<svg"));
    // it is a result, so it may be replaced
    place.run(&arguments).succeeds();
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::with_scenario();
    for arguments in [&["sim", "small.toml", "--json"][..], &["algorithms"], &["completions", "bash"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = place.command(arguments).stdout(Stdio::from(writer)).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[test]
fn a_stdout_that_cannot_be_written_is_an_error() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = Place::with_scenario().command(&["algorithms"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left on device"));
}

#[test]
fn every_field_is_in_the_reference() {
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/json.md")).unwrap();
    let place = Place::with_scenario();
    let summary = place.run(&["sim", "small.toml", "--json"]).succeeds().json();
    let algorithms = place.run(&["algorithms", "--json"]).succeeds().json();
    let parts =
        [&summary, &summary["scenario"], &summary["cost"], &summary["flows"][0], &summary["links"][0]];
    for part in parts.into_iter().chain([&algorithms[0], &algorithms[0]["parameters"][0]]) {
        for key in keys(part) {
            assert!(page.contains(&format!("`{key}`")), "{key} is not documented");
        }
    }
}
