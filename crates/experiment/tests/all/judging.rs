//! Conditions hold up to their bounds and not beyond, and of several seeds the worst is judged.

use fairpace_experiment::{Check, CriterionRecord, Form, Judged, Metric, judge, worst};

use crate::pages::{algorithm, record};
use crate::support::{SMALL, case, measured};

/// Whether a run of a case with these numbers holds.
fn holds(id: &str, name: &str, goodputs: &[f64], queue_ms: f64, loss: f64) -> bool {
    let case = case(id, name);
    judge(&case.checks, 1, measured(&case, goodputs, queue_ms, loss)).holds()
}

/// Payload of a full link, Mbit/s.
fn full(rate_mbps: f64) -> f64 {
    rate_mbps * 1448.0 / 1514.0
}

#[test]
fn a_queue_may_be_as_long_as_its_bound() {
    let half = full(100.0) / 2.0;
    let queue = |ms| holds("G1", "100mbit 10/10ms 1bdp", &[half, half], ms, 0.0);
    assert_eq!([queue(2.5), queue(2.5001)], [true, false]);
}

#[test]
fn a_link_is_full_from_95_percent_of_its_payload_on() {
    let of = |part: f64| {
        let goodput = full(100.0) / 2.0 * part;
        holds("G1", "100mbit 10/10ms 1bdp", &[goodput, goodput], 0.0, 0.0)
    };
    assert_eq!([of(0.951), of(0.95 - 1e-9)], [true, false]);
}

#[test]
fn flows_are_fair_from_a_jain_index_of_095_on() {
    // two flows: J = 1 / (1 + d^2) where they have 1 + d and 1 - d times the mean
    let at = |jain: f64| {
        let (d, mean) = ((1.0 / jain - 1.0).sqrt(), full(100.0) / 2.0);
        holds("G1", "100mbit 10/10ms 1bdp", &[mean * (1.0 + d), mean * (1.0 - d)], 0.0, 0.0)
    };
    assert_eq!([at(0.9501), at(0.9499)], [true, false]);
}

#[test]
fn loss_must_be_below_its_bound() {
    let equal = [full(1000.0) / 50.0; 50];
    let loss = |rate| holds("G2", "1gbit n=50 20ms 1bdp", &equal, 0.0, rate);
    assert_eq!([loss(0.000_999), loss(0.001), loss(0.0011)], [true, false, false]);
    // the factor is 1, and yet it does not hold
    let case = case("G2", "1gbit n=50 20ms 1bdp");
    assert!(judge(&case.checks, 1, measured(&case, &equal, 0.0, 0.001)).miss() > 0.0);
}

#[test]
fn a_share_has_two_bounds() {
    let with = |own: f64| holds("G4", "cubic 1:1 10mbit 20ms 1bdp", &[own, 10.0 - own], 0.0, 0.0);
    assert_eq!([with(4.0), with(3.99), with(6.0), with(6.01)], [true, false, true, false]);
    let five = |own: f64| {
        let goodputs: Vec<f64> = (0..10).map(|flow| if flow < 5 { own } else { 2.0 - own }).collect();
        holds("G4", "bbr1 5:5 10mbit 20ms 1bdp", &goodputs, 0.0, 0.0)
    };
    assert_eq!([five(0.71), five(0.69), five(1.29), five(1.31)], [true, false, true, false]);
}

#[test]
fn what_is_available_is_less_than_the_link() {
    let policed = |mbps: f64| holds("G5", "policer half 10mbit 20ms", &[mbps], 0.0, 0.0);
    assert_eq!([policed(full(10.0) * 0.451), policed(full(10.0) * 0.449)], [true, false]);
    let case = case("G5", "cellular");
    let run = measured(&case, &[1.0], 0.0, 0.0);
    assert_eq!(run.value(Metric::Utilization, ""), 0.5, "of a trace: the link's own");
}

#[test]
fn a_gain_is_over_equal_rates() {
    let with = |cheater: f64| holds("G7", "10mbit 10ms cheats always", &[2.0 - cheater, cheater], 0.0, 0.0);
    assert_eq!([with(0.5), with(1.05 - 1e-9), with(1.051)], [true, true, false]);
}

#[test]
fn a_fair_share_is_of_equal_rates_for_any_number_of_flows() {
    let text = SMALL.replace("flow = [{ each = \"rtts\", apart = \"500ms\", rtt = \"{rtts}ms\" }]", SIDES);
    let criterion = fairpace_experiment::Criterion::parse(std::path::Path::new("small.toml"), &text).unwrap();
    let case = &criterion.cases("reno", &[], Form::Full, "10mbit 10/10ms").unwrap()[0];
    let run = measured(case, &[0.4, 2.0, 2.0, 2.0, 3.6], 0.0, 0.0);
    assert_eq!(run.value(Metric::OfFairShare, "own"), 0.2, "0.4 of an equal share of 2");
    assert_eq!(run.value(Metric::OfFairShare, "rival"), 1.2, "9.6 of four shares of 2");
}

/// One flow beside four.
const SIDES: &str = "flow = [{ name = \"own\", rtt = \"10ms\" }, \
                     { name = \"rival\", rtt = \"20ms\", count = 4, cc = \"cubic\" }]";

#[test]
fn a_miss_is_a_factor() {
    let case = case("G1", "100mbit 10/10ms 1bdp");
    let miss =
        |goodputs: &[f64], queue_ms| judge(&case.checks, 1, measured(&case, goodputs, queue_ms, 0.0)).miss();
    let half = full(100.0) / 2.0;
    assert!((miss(&[half, half], 5.0) - 1.0).abs() < 1e-9, "twice the queue");
    assert!((miss(&[half * 0.475, half * 0.475], 0.0) - 1.0).abs() < 1e-9, "half of what is needed");
    assert_eq!(miss(&[half, half], 0.0), 0.0);
    assert_eq!(miss(&[0.0, 0.0], 0.0), f64::INFINITY, "nothing arrived");
}

#[test]
fn a_seed_that_fails_is_judged_then_the_one_with_the_lower_jain_index() {
    let case = case("G3", "10mbit 20+20ms late=1s");
    let run = |seed, more: f64| {
        let checks: &[Check] = &case.checks;
        judge(checks, seed, measured(&case, &[1.0 + more, 1.0 - more], 0.0, 0.0))
    };
    let seed = |runs: Vec<Judged>| worst(&runs).map(|judged| (judged.seed, judged.holds()));
    assert_eq!(seed(vec![run(1, 0.1), run(2, 0.5), run(3, 0.0)]), Some((2, false)));
    assert_eq!(seed(vec![run(1, 0.4), run(2, 0.5), run(3, 0.0)]), Some((2, false)));
    assert_eq!(seed(vec![run(1, 0.05), run(2, 0.1), run(3, 0.0)]), Some((2, true)));
    assert_eq!(seed(vec![run(1, 0.1), run(2, 0.1)]), Some((1, true)), "the first of equals");
    assert_eq!(seed(Vec::new()), None);
}

/// Of packets of 1280 bytes 1228 of 1294 are payload, of those of 9000 bytes 8948 of 9014.
#[test]
fn a_link_is_full_with_packets_of_any_length() {
    let mut case = case("G1", "100mbit 10/10ms 1bdp");
    let full = [(1280, 1228.0 / 1294.0), (9000, 8948.0 / 9014.0)];
    for (flow, (mtu_bytes, _)) in case.scenario.flows.iter_mut().zip(full) {
        flow.sending.mtu_bytes = mtu_bytes;
    }
    let half = full.map(|(_, payload)| 50.0 * payload);
    let used = measured(&case, &half, 0.0, 0.0).value(Metric::Utilization, "");
    assert!((used - 1.0).abs() < 1e-12, "{used}");
}

/// A criterion whose second condition counts the cases with a long queue.
fn counting() -> fairpace_experiment::Criterion {
    let counts =
        "[[condition]]\nname = \"short enough\"\nmetric = \"queue_ms\"\nat_most = 50\ncounts = \"late\"";
    let text = format!("{SMALL}\n{counts}\n");
    fairpace_experiment::Criterion::parse(std::path::Path::new("small.toml"), &text).unwrap()
}

#[test]
fn a_condition_that_counts_does_not_decide() {
    let criterion = counting();
    let asked = criterion.conditions();
    assert_eq!(asked[1].text, "short enough: queue_ms <= 50, else the case counts as late");
    let case = &criterion.cases("reno", &[], Form::Full, "10mbit 10/10ms").unwrap()[0];
    let judged = |queue_ms| judge(&case.checks, 1, measured(case, &[1.0, 1.0], queue_ms, 0.0));
    let (short, long) = (judged(8.0), judged(51.0));
    assert_eq!((short.holds(), short.held[1].holds, short.miss()), (true, true, 0.0));
    assert_eq!((long.holds(), long.held[1].holds), (false, false));
    assert!(
        (long.miss() - (51.0 / 8.0 - 1.0)).abs() < 1e-9,
        "the miss is that of the condition that decides"
    );
    let lenient = |at_most: f64| {
        let mut checks = case.checks.clone();
        checks[0].bounds[0].value = at_most;
        judge(&checks, 1, measured(case, &[1.0, 1.0], 51.0, 0.0)).holds()
    };
    assert!(lenient(60.0), "a case may pass and count");
}

#[test]
fn cases_that_count_are_shown_beside_those_that_pass() {
    let criterion = counting();
    let mut of = CriterionRecord::of(&criterion, 2);
    of.algorithms.push(algorithm(&criterion, "bbr1", |_| 1.0, 100.0));
    of.algorithms.push(algorithm(&criterion, "reno", |_| 1.0, 5.0));
    assert_eq!(of.algorithms.iter().map(|of| of.counted["late"]).collect::<Vec<_>>(), [4, 0]);
    let record = record(vec![of]);
    let (text, page) = (record.text(false), record.page(|_| String::new()));
    assert!(text.contains("    late         4/4       0/4\n"), "{text}");
    assert!(text.contains("bbr1: late in 4 of 4 cases that count it\n"), "{text}");
    assert!(page.contains("| S1 Small | 4 | 0 | 2 |\n| S1 Small: late | 4 | 4 | 0 |\n"), "{page}");
    assert!(page.contains("|  | pass | late | short queue | short enough |"), "{page}");
    assert!(record.counts().contains("|  | S1 | late | all | all late |"), "{}", record.counts());
    let board = record.leaderboard();
    assert!(
        board.contains("| algorithm | passed | late |") && board.contains("| reno | 0 of 1 | 0 of 4 |"),
        "{board}"
    );
    assert!(
        record.fragment("bbr1").contains("| S1 Small: late | 4/4 | 0/4 |"),
        "{}",
        record.fragment("bbr1")
    );
    assert!(record.html().contains("late"));
}
