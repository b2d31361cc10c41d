//! The criteria of LEVEL have the cases, scenarios and bounds by which they were defined.

use std::path::Path;

use fairpace_experiment::{Bound, Form, Metric, Side};
use fairpace_scenario::{Target, parse};

use crate::support::{case, criterion, level};

#[test]
fn there_are_365_cases_and_139_in_the_quick_form() {
    let counts = |form| {
        let cases = level()
            .into_iter()
            .map(move |criterion| (criterion.cases("bbr1", &[], form, "").unwrap().len(), criterion.id));
        cases.map(|(count, id)| (id, count)).filter(|(_, count)| *count > 0).collect::<Vec<_>>()
    };
    let of = |counts: [usize; 7]| -> Vec<(String, usize)> {
        (1..).zip(counts).map(|(number, count)| (format!("G{number}"), count)).collect()
    };
    assert_eq!(counts(Form::Full), of([160, 16, 72, 72, 21, 16, 8]));
    assert_eq!(counts(Form::Quick), of([48, 6, 24, 16, 21, 16, 8]));
}

#[test]
fn names_of_cases_are_their_own() {
    for criterion in level() {
        let cases = criterion.cases("bbr1", &[], Form::Full, "").unwrap();
        for (index, case) in cases.iter().enumerate() {
            assert!(
                cases[..index].iter().all(|other| other.name != case.name),
                "{} {}",
                criterion.id,
                case.name
            );
            assert!(
                cases[..index].iter().all(|other| (&other.row, &other.column) != (&case.row, &case.column)),
                "{} {} has no place of its own in the picture",
                criterion.id,
                case.name
            );
        }
    }
}

/// Criterion, name of a case, and its scenario as the definition of the criteria wrote it.
const SCENARIOS: [(&str, &str, &str); 13] = [
    (
        "G1",
        "2mbit 10/15ms 0.5bdp",
        r#"duration = "60s"
[window]
from = "20s"
[[link]]
rate = "2mbit"
buffer = "6056B"
[[flow]]
cc = "bbr1"
rtt = "10ms"
[[flow]]
cc = "bbr1"
rtt = "15ms"
start = "0.5s"
"#,
    ),
    (
        "G1",
        "10gbit 10/20/50/100ms 4bdp",
        r#"duration = "24s"
[window]
from = "8s"
[[link]]
rate = "10gbit"
buffer = "500000000B"
[[flow]]
cc = "bbr1"
rtt = "10ms"
[[flow]]
cc = "bbr1"
rtt = "20ms"
start = "0.5s"
[[flow]]
cc = "bbr1"
rtt = "50ms"
start = "1s"
[[flow]]
cc = "bbr1"
rtt = "100ms"
start = "1.5s"
"#,
    ),
    (
        "G2",
        "25gbit n=500 20ms 1bdp",
        r#"duration = "12s"
[window]
from = "4s"
[[link]]
rate = "25gbit"
buffer = "62500000B"
[[flow]]
name = "r20"
cc = "bbr1"
rtt = "20ms"
count = 500
stagger = "2ms"
"#,
    ),
    (
        "G2",
        "10gbit n=50 10/20/40/80ms 4bdp",
        r#"duration = "15s"
[window]
from = "5s"
[[link]]
rate = "10gbit"
buffer = "400000000B"
[[flow]]
name = "r10"
cc = "bbr1"
rtt = "10ms"
count = 12
stagger = "2ms"
[[flow]]
name = "r20"
cc = "bbr1"
rtt = "20ms"
count = 12
stagger = "2ms"
[[flow]]
name = "r40"
cc = "bbr1"
rtt = "40ms"
count = 12
stagger = "2ms"
[[flow]]
name = "r80"
cc = "bbr1"
rtt = "80ms"
count = 12
stagger = "2ms"
"#,
    ),
    (
        "G3",
        "100mbit 200+10ms late=0.1s",
        r#"duration = "20.1s"
[window]
from = "10.1s"
[[link]]
rate = "100mbit"
buffer = "5000000B"
[[flow]]
name = "first"
cc = "bbr1"
rtt = "200ms"
[[flow]]
name = "late"
cc = "bbr1"
rtt = "10ms"
start = "0.1s"
"#,
    ),
    (
        "G4",
        "bbr3 5:5 100mbit 50ms 2bdp",
        r#"duration = "90s"
[window]
from = "30s"
[[link]]
rate = "100mbit"
buffer = "1250000B"
[[flow]]
name = "own"
cc = "bbr1"
rtt = "50ms"
count = 5
[[flow]]
name = "rival"
cc = "bbr3"
rtt = "50ms"
count = 5
start = "300ms"
"#,
    ),
    (
        "G5",
        "loss 2% 10mbit 20ms",
        r#"duration = "60s"
[window]
from = "20s"
[[link]]
rate = "10mbit"
buffer = "50000B"
loss = "2%"
[[flow]]
name = "own"
cc = "bbr1"
rtt = "20ms"
"#,
    ),
    (
        "G5",
        "wifi 100mbit 50ms",
        r#"duration = "60s"
[window]
from = "20s"
[[link]]
rate = "100mbit"
buffer = "1250000B"
jitter = "3ms"
[[flow]]
name = "own"
cc = "bbr1"
rtt = "50ms"
ack_aggregation = "20ms"
ack_jitter = "5ms"
"#,
    ),
    (
        "G5",
        "policer half 10mbit 50ms",
        r#"duration = "60s"
[window]
from = "20s"
[[link]]
rate = "10mbit"
buffer = "125000B"
policer_rate = "5mbit"
policer_burst = "31250B"
[[flow]]
name = "own"
cc = "bbr1"
rtt = "50ms"
"#,
    ),
    (
        "G5",
        "cellular",
        r#"duration = "60s"
[window]
from = "20s"
[[link]]
trace = "cellular.trace"
buffer = "500kB"
[[flow]]
name = "own"
cc = "bbr1"
rtt = "50ms"
ack_aggregation = "10ms"
"#,
    ),
    (
        "G6",
        "pie 10mbit 20/20ms",
        r#"duration = "60s"
[window]
from = "20s"
[[link]]
rate = "10mbit"
buffer = "100000B"
queue = "pie"
[[flow]]
cc = "bbr1"
rtt = "20ms"
[[flow]]
cc = "bbr1"
rtt = "20ms"
start = "0.5s"
"#,
    ),
    (
        "G7",
        "100mbit 40ms cheats always",
        r#"duration = "60s"
[window]
from = "30s"
[[link]]
rate = "100mbit"
buffer = "1250000B"
[[flow]]
name = "honest"
cc = "bbr1"
rtt = "40ms"
[[flow]]
name = "cheater"
cc = "bbr1"
rtt = "40ms"
ack_delay = "40ms"
"#,
    ),
    (
        "G7",
        "10mbit 10ms cheats from 20s",
        r#"duration = "60s"
[window]
from = "30s"
[[link]]
rate = "10mbit"
buffer = "125000B"
[[flow]]
name = "honest"
cc = "bbr1"
rtt = "10ms"
[[flow]]
name = "cheater"
cc = "bbr1"
rtt = "10ms"
ack_delay_at = "20s 40ms"
"#,
    ),
];

#[test]
fn the_scenario_of_a_case_is_the_one_that_was_written_by_hand() {
    // the folder of the trace
    let name = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/traces/by-hand.toml");
    assert!(Path::new(name).parent().is_some_and(Path::is_dir));
    for (id, of, text) in SCENARIOS {
        let written = parse(name, &format!("title = \"{of}\"\n{text}"), &[], Target::Simulator);
        let written = written.unwrap_or_else(|invalid| panic!("{of}: {invalid}"));
        let expanded = case(id, of).scenario;
        // apart from the name of the trace's file, which is relative
        let shown = expanded.to_toml();
        assert_eq!(expanded.canonical_hash(), written.canonical_hash(), "{id} {of}:\n{shown}");
        assert_eq!(expanded.title, format!("{id} {of}"));
    }
}

#[test]
fn small_buffers_hold_some_packets() {
    assert_eq!(case("G1", "2mbit 10/10ms 0.5bdp").scenario.links[0].buffer.bytes(), 4 * 1514);
    assert_eq!(case("G6", "red 10mbit 20/20ms").scenario.links[0].buffer.bytes(), 100_000);
    assert_eq!(criterion("G6").cases("bbr1", &[], Form::Full, "10mbit 20/20ms").unwrap().len(), 4);
}

#[test]
fn bounds_follow_rate_and_longest_rtt() {
    let queue = |name| case("G1", name).checks[2].bounds.clone();
    let at_most = |value| vec![Bound { side: Side::AtMost, value }];
    // a quarter of 10 ms; of 200 ms more than 10 ms; five times and twice that at the slow rates
    assert_eq!(queue("1gbit 10/10ms 1bdp"), at_most(2.5));
    assert_eq!(queue("1gbit 10/200ms 1bdp"), at_most(10.0));
    assert_eq!(queue("2mbit 10/30ms 1bdp"), at_most(37.5));
    assert_eq!(queue("10mbit 10/15ms 1bdp"), at_most(7.5));
    let share = |name| case("G4", name).checks[0].bounds.iter().map(|bound| bound.value).collect::<Vec<_>>();
    assert_eq!(share("cubic 1:1 10mbit 20ms 1bdp"), [0.4, 0.6]);
    assert_eq!(share("bbr1 5:5 10mbit 20ms 1bdp"), [0.35, 0.65]);
    let available = |name| case("G5", name).available;
    assert_eq!([available("loss 2% 10mbit 20ms"), available("policer half 10mbit 20ms")], [0.98, 0.5]);
    assert_eq!([available("cellular"), available("wifi 10mbit 20ms")], [1.0, 1.0]);
    assert_eq!(case("G7", "10mbit 10ms cheats always").checks[0].metric, Metric::Gain);
}

#[test]
fn parameters_are_set_where_their_algorithm_takes_part() {
    let sets = ["bbr3.beta=0.5".parse().unwrap()];
    let cases = criterion("G4").cases("bbr1", &sets, Form::Quick, "1:1").unwrap();
    let changed = cases.iter().filter(|case| case.scenario.to_toml().contains("beta"));
    assert!(changed.clone().count() > 0 && changed.clone().all(|case| case.name.starts_with("bbr3")));
}
