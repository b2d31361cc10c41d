//! `fairpace import` and `--with`, as a user types them.

use std::fs;

use crate::support::Place;

const TC: &str = "tc qdisc add dev eth0 root netem delay 20ms rate 16mbit limit 200 seed 7";

/// An output of iperf3 with two intervals.
const IPERF3: &str = r#"{
"start": {"version": "iperf 3.16", "tcp_mss_default": 1448, "test_start": {"protocol": "TCP", "reverse": 0}},
"intervals": [
 {"streams": [{"socket": 5, "start": 0, "end": 1, "bits_per_second": 7.5e6,
  "retransmits": 3, "snd_cwnd": 28960, "rtt": 21000}]},
 {"streams": [{"socket": 5, "start": 1, "end": 2, "bits_per_second": 8.5e6,
  "retransmits": 0, "snd_cwnd": 43440, "rtt": 22000}]}
],
"end": {"streams": [{"sender": {"bits_per_second": 8e6, "retransmits": 3, "mean_rtt": 21500},
 "receiver": {"bits_per_second": 7.9e6}}], "sender_tcp_congestion": "cubic"}
}"#;

#[test]
fn lines_of_tc_become_a_scenario_that_runs() {
    let place = Place::new();
    let made = place.run(&["import", "tc", TC, "--duration", "2s"]).succeeds();
    assert!(made.stdout.contains("rate = \"16mbit\"  # line 1: rate 16mbit"), "{}", made.stdout);
    assert!(made.stdout.contains("buffer = \"173pkts\""), "{}", made.stdout);
    let warning =
        "warning: the command line:1: netem seed: it has no effect: a scenario has a seed of its own\n";
    assert_eq!(made.stderr, warning);
    place.write("tc.toml", &made.stdout);
    let run = place.run(&["sim", "tc.toml", "--json"]).succeeds().json();
    assert_eq!(run["links"][0]["rate_mbps"], 16.0);
    // headers take their part of the rate
    let goodput = run["flows"][0]["goodput_mbps"].as_f64().unwrap();
    assert!((14.0..15.5).contains(&goodput), "{goodput}");
    let refused = place.run(&["import", "tc", &format!("{TC} corrupt 1%")]);
    refused.fails(2, "netem corrupt: it cannot be translated");
    assert_eq!(place.run(&["import", "tc", "none.txt"]).code, 2);
}

#[test]
fn each_kind_of_link_runs() {
    let place = Place::new();
    fs::create_dir(place.path().join("out")).unwrap();
    place.write("up.trace", &(1..=100).map(|ms| format!("{ms}\n")).collect::<String>());
    let command = "mm-delay 10 mm-link up.trace up.trace --uplink-queue=droptail \
                   --uplink-queue-args=\"packets=20\"";
    let link = ["import", "mm-link", command, "--duration", "2s", "--out", "out/mm.toml"];
    assert_eq!(place.run(&link).succeeds().stdout, "out/mm.toml is written\n");
    // the trace is in the folder above that of the scenario
    assert!(place.read("out/mm.toml").contains("trace = \"../up.trace\""));
    place.run(&["sim", "out/mm.toml"]).succeeds();
    place.write("rates.csv", "time_s,rate_mbit\n0,5\n1,10\n");
    place.run(&["import", "csv", "rates.csv", "--out", "csv.toml"]).succeeds();
    let run = place.run(&["sim", "csv.toml", "--json"]).succeeds().json();
    assert_eq!(run["scenario"]["title"], "rates.csv, imported from csv");
}

#[test]
fn a_file_is_replaced_only_by_force() {
    let place = Place::new();
    place.write("mine.toml", "mine");
    let arguments = ["import", "tc", TC, "--out", "mine.toml"];
    place.run(&arguments).fails(5, "mine.toml exists, and is not replaced");
    assert_eq!(place.read("mine.toml"), "mine");
    let forced = place.run(&[&arguments[..], &["--force", "--json"]].concat()).succeeds().json();
    assert_eq!(forced["out"], "mine.toml");
    assert_eq!(forced["scenario"], place.read("mine.toml").as_str());
    assert_eq!(forced["warnings"][0]["key"], "netem seed");
    assert_eq!(forced["warnings"][0]["line"], 1);
}

#[test]
fn a_record_is_shown_beside_a_run() {
    let place = Place::with_scenario();
    place.write("lab.json", IPERF3);
    place.run(&["import", "iperf3", "lab.json", "--out", "lab.record.json", "--name", "the lab"]).succeeds();
    let without = place.run(&["sim", "small.toml"]).succeeds().stdout;
    let with =
        place.run(&["sim", "small.toml", "--with", "lab.record.json", "--out", "out"]).succeeds().stdout;
    let row = "the lab  stream 1  cubic                 7.9         21.5        3";
    let table = format!("\nbeside   flow      algorithm  goodput Mbit/s  RTT mean ms  retrans\n{row}\n");
    assert_eq!(with, without + &table);
    let report = place.read("out/report.html");
    for part in ["the lab: measured by iperf 3.16, from lab.json", "data-toggle=\"10\"", ">the lab <b>8"] {
        assert!(report.contains(part), "{part}");
    }
    let wrong = place.run(&["sim", "small.toml", "--with", "lab.json"]);
    wrong.fails(2, "--with lab.json: it is not a record: missing field `schema`");
    let twice = ["compare", "--cc", "cubic,bbr1", "--rate", "10mbit", "--buffer", "1bdp", "--rtt", "20ms"];
    let more = ["--duration", "2s", "--warmup", "1s", "--with", "lab.record.json"];
    let compared = place.run(&[&twice[..], &more].concat()).succeeds().stdout;
    assert!(compared.contains(row), "{compared}");
}
