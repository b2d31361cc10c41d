//! Any text gives an error with a message, or a scenario or record that can be read.

use std::fs;
use std::path::Path;

use fairpace_import::{Direction, Options, Source, flent, flent_text, iperf3, mm_link, table, tc};
use fairpace_results::{Record, to_json};
use fairpace_scenario::{Target, parse};
use proptest::prelude::*;

/// Imports a text with each tool.
fn import_with_all(text: &str, direction: Direction) {
    let source = Source { name: "any", text };
    for rate_bps in [None, Some(1_000_000_000)] {
        let options = Options { direction, rate_bps, ..Options::default() };
        for import in [tc, mm_link, table] {
            match import(source, &options) {
                Ok(made) => {
                    parse("any.toml", &made.made, &[], Target::Simulator)
                        .expect("what is written is a scenario");
                }
                Err(invalid) => assert!(!invalid.to_string().is_empty()),
            }
        }
    }
    for import in [iperf3, flent] {
        match import(source, "any") {
            Ok(made) => {
                let text = to_json(&made.made).expect("a record has a JSON form");
                Record::read(&text).expect("what is written is a record");
            }
            Err(invalid) => assert!(!invalid.to_string().is_empty()),
        }
    }
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Send), Just(Direction::Receive), Just(Direction::Both)]
}

/// Words of the inputs that are real, in any order.
fn words() -> impl Strategy<Value = String> {
    let words = [
        "tc qdisc add dev eth0 root",
        "tc qdisc add dev eth0 parent 1:",
        "handle 1:",
        "netem",
        "tbf",
        "fq_codel",
        "red",
        "delay",
        "100ms",
        "10ms",
        "25%",
        "loss",
        "gemodel",
        "state",
        "1%",
        "50%",
        "reorder",
        "duplicate",
        "rate",
        "10mbit",
        "1mbps",
        "0",
        "limit",
        "1000",
        "burst",
        "32kb",
        "latency",
        "min",
        "max",
        "qdisc",
        "8001:",
        "mm-link",
        "mm-delay",
        "mm-loss",
        "uplink",
        "20",
        "0.5",
        "--uplink-queue=droptail",
        "--uplink-queue-args=packets=9",
        "--",
        "\n",
        ";",
        "'",
        "\\",
        "time_s,rate_mbit\n",
        "0,5\n",
        "1,",
        "NaN",
        "-1",
        "9e99",
        "ecn",
        "target",
        "1s",
        "é",
    ];
    proptest::collection::vec(proptest::sample::select(words.to_vec()), 0..24)
        .prop_map(|words| words.join(" "))
}

/// A real input with some bytes removed, repeated or replaced.
fn damaged() -> impl Strategy<Value = String> {
    let mut inputs = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs");
    for tool in fs::read_dir(folder).unwrap() {
        for file in fs::read_dir(tool.unwrap().path()).unwrap() {
            inputs.push(fs::read_to_string(file.unwrap().path()).unwrap());
        }
    }
    inputs.sort();
    let place = any::<prop::sample::Index>;
    (proptest::sample::select(inputs), place(), 0..9usize, "[-0-9a-z{}\"',: ]{0,6}").prop_map(
        |(text, at, length, new)| {
            let chars: Vec<char> = text.chars().collect();
            let at = at.index(chars.len().max(1));
            let end = (at + length).min(chars.len());
            chars[..at].iter().chain(&new.chars().collect::<Vec<_>>()).chain(&chars[end..]).collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_refused_or_translated(text in ".{0,200}", direction in direction()) {
        import_with_all(&text, direction);
    }

    #[test]
    fn any_words_are_refused_or_translated(text in words(), direction in direction()) {
        import_with_all(&text, direction);
    }

    #[test]
    fn a_damaged_input_is_refused_or_translated(text in damaged(), direction in direction()) {
        import_with_all(&text, direction);
    }

    #[test]
    fn any_bytes_are_refused_or_text(bytes in proptest::collection::vec(any::<u8>(), 0..200), packed: bool) {
        let bytes = if packed { [&[0x1f, 0x8b, 8][..], &bytes].concat() } else { bytes };
        let _ = flent_text("any", &bytes);
    }
}
