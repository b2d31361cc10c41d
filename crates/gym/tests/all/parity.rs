//! A policy in C, which decides by itself on ACKs, and the same policy over an environment, which pauses at
//! the end of each monitor interval, send the same packets.

use std::sync::OnceLock;

use crate::support::{observed, one, scenario, truth};
use fairpace_bpf_build::{Error, NativeCompiler, Sources};
use fairpace_cc::plugin::{Compiled, load};
use fairpace_cc::{Action, Interval, Origin};
use fairpace_gym::{Environments, Form};
use fairpace_results::{Run, Silent};
use fairpace_scenario::Scenario;
use fairpace_sim::Stepper;

/// The exponent of the policy, in 1/65536: `policy_exponent` of policy.h.
fn exponent(i: &Interval) -> i32 {
    let div = |a: u64, b: u64| a.checked_div(b).unwrap_or(0);
    let mean_us = div(i.rtt_sum_us, u64::from(i.rtt_samples));
    let ratio_1024 = div(mean_us << 10, u64::from(i.min_rtt_us));
    let above = (ratio_1024.min(4096) - ratio_1024.min(1024)) as i32;
    let lost = u64::from(i.lost_pkts);
    if lost * 50 > u64::from(i.delivered_pkts) + lost { -65_536 } else { (8_192 - above * 16).max(-65_536) }
}

/// The policy's action. Powers of two, so nothing is rounded.
fn exponent_f32(interval: &Interval) -> f32 {
    exponent(interval) as f32 / 65_536.0
}

/// Makes policy.h an algorithm of this process. False: there is no clang.
fn is_loaded() -> bool {
    static LOADED: OnceLock<bool> = OnceLock::new();
    *LOADED.get_or_init(|| {
        let compiler = match NativeCompiler::new(Sources::contained().expect("they can be written")) {
            Err(Error::NoClang { .. }) => return false,
            compiler => compiler.expect("clang answers"),
        };
        let place = tempfile::tempdir().expect("there is room");
        let header = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/policy.h");
        let library = compiler.compile(header.as_ref(), place.path()).expect("it compiles");
        assert_eq!(library.warnings, "");
        let (written, digest) = (vec!["policy.h".to_owned()], library.digest);
        let origin = Origin { header: header.into(), written, digest, files: Vec::new() };
        // SAFETY: compiled from this version's native.c just now
        unsafe { load(Compiled { library: library.path, origin }) }.expect("the name is free");
        true
    })
}

/// What a scenario is about, and its text with `CC` for the policy.
const CASES: [(&str, &str); 5] = [
    (
        "random loss",
        r#"
        title = "loss"
        duration = "20s"
        interval = "60ms"
        [[link]]
        rate = "12mbit"
        buffer = "2bdp"
        loss = "0.5%"
        [[flow]]
        cc = "CC"
        rtt = "30ms"
        set = { interval = "60ms" }
        "#,
    ),
    (
        "an AQM that marks, and another flow",
        r#"
        title = "marks"
        duration = "20s"
        interval = "40ms"
        [[link]]
        rate = "20mbit"
        buffer = "200kB"
        queue = "codel"
        [[flow]]
        cc = "CC"
        rtt = "20ms"
        ecn = "classic"
        set = { interval = "40ms" }
        [[flow]]
        cc = "cubic"
        rtt = "30ms"
        start = "10s"
        "#,
    ),
    (
        "intervals without an ACK: ACKs come together every 20 ms",
        r#"
        title = "aggregation"
        duration = "10s"
        interval = "3ms"
        [[link]]
        rate = "40mbit"
        buffer = "60kB"
        [[flow]]
        cc = "CC"
        rtt = "20ms"
        ack_aggregation = "20ms"
        set = { interval = "3ms" }
        "#,
    ),
    (
        "pauses of the application, timeouts, and an outage",
        r#"
        title = "idle"
        duration = "20s"
        interval = "50ms"
        [[link]]
        rate = "10mbit"
        rate_at = "6s 0bit, 8s 10mbit"
        buffer = "30kB"
        [[flow]]
        cc = "CC"
        rtt = "25ms"
        start = "130ms"
        on = "700ms"
        off = "900ms"
        set = { interval = "50ms" }
        "#,
    ),
    (
        "two of them, jitter and a cwnd from another gain",
        r#"
        title = "two"
        duration = "15s"
        interval = "70ms"
        [[link]]
        rate = "30mbit"
        buffer = "1bdp"
        [[flow]]
        cc = "CC"
        rtt = "35ms"
        ack_jitter = "5ms"
        set = { interval = "70ms", cwnd_gain = "1.5" }
        [[flow]]
        cc = "CC"
        rtt = "60ms"
        set = { interval = "70ms" }
        "#,
    ),
];

fn of(text: &str, cc: &str, seed: u64) -> Scenario {
    scenario(&text.replace("\"CC\"", &format!("\"{cc}\"")), &[&format!("seed={seed}")])
}

fn plain(text: &str, seed: u64) -> Run {
    fairpace_sim::run(&of(text, "policy", seed), &mut Silent).expect("it is valid")
}

/// A check of every case and some seeds.
fn each(check: impl Fn(&str, &str, u64)) {
    if !is_loaded() {
        return fairpace_test_support::skip("there is no clang");
    }
    for (what, text) in CASES {
        (1..=3).for_each(|seed| check(what, text, seed));
    }
}

#[test]
fn a_policy_over_pauses_gives_the_record_of_the_policy_in_c() {
    each(|what, text, seed| {
        let scenario = std::sync::Arc::new(of(text, "agent", seed));
        let (interval, flows) = (scenario.interval, scenario.flows.len());
        let mut stepper = Stepper::new(scenario).expect("it is valid");
        let mut decisions = 0;
        while !stepper.is_over() {
            let next = stepper.now() + interval;
            stepper.run_until(next);
            for flow in 0..flows {
                let now_us = next.as_micros() as u64;
                let Some(controller) = stepper.controller_mut(flow) else { continue };
                if let Some(interval) = controller.interval(now_us).filter(|interval| interval.acks > 0) {
                    let action = Action::Factor { exponent: exponent_f32(&interval) };
                    controller.act(action).expect("it is in range");
                    decisions += 1;
                }
            }
        }
        let (mut in_c, mut paused) =
            (plain(text, seed), stepper.finish(&mut Silent).expect("nothing stops it"));
        assert!(decisions > 50, "{what}: {decisions}");
        // together: how two of them share a link is no matter here
        let sent_pkts: Option<u64> = in_c.summary.flows.iter().map(|flow| flow.sent_pkts).sum();
        assert!(sent_pkts > Some(1_000), "{what}: {sent_pkts:?}");
        for flow in in_c.summary.flows.iter_mut().chain(&mut paused.summary.flows) {
            if ["agent", "policy"].contains(&flow.cc.as_str()) {
                flow.cc = "the same".to_owned();
            }
        }
        paused.summary.scenario.hash.clone_from(&in_c.summary.scenario.hash);
        assert_eq!(in_c.summary.stable_json(), paused.summary.stable_json(), "{what}, seed {seed}");
        // as text, because NaN is not equal to itself
        assert!(format!("{:?}", in_c.series) == format!("{:?}", paused.series), "{what}, seed {seed}");
    });
}

/// The exponents of all agents of an only environment.
fn actions(environments: &Environments) -> Vec<f32> {
    let of = |agent| environments.interval(0, agent).map_or(0.0, |interval| exponent_f32(&interval));
    (0..environments.agents()).map(of).collect()
}

#[test]
fn a_policy_over_environments_has_the_series_of_the_policy_in_c() {
    each(|what, text, seed| {
        let run = plain(text, seed);
        let text = text.replace("\"CC\"", "\"agent\"");
        let (mut environments, mut batch) = one(&text, &[&format!("seed={seed}")], Form::Factor);
        environments.reset_one(0, Some(seed), &mut batch.observations).expect("it is valid");
        let points = run.series.flows[0].cwnd_pkts.len();
        for point in 0..points {
            if point > 0 {
                environments.step(&actions(&environments), batch.outputs()).expect("they are in range");
                for (flow, series) in run.series.flows.iter().enumerate() {
                    let goodput_mbps = truth(&batch, flow, "goodput_mbps");
                    assert_eq!(
                        goodput_mbps, series.goodput_mbps[point],
                        "{what}, seed {seed}, point {point}"
                    );
                }
            }
            if batch.truncated[0] {
                assert_eq!(point, points - 1, "{what}");
                break;
            }
            for (agent, series) in run.series.flows.iter().enumerate().take(environments.agents()) {
                let place = format!("{what}, seed {seed}, point {point}");
                let of = |value: f32| if value.is_nan() { 0.0 } else { value }; // before it connects
                assert_eq!(observed(&batch, agent, "cwnd_pkts"), of(series.cwnd_pkts[point]), "{place}");
                assert_eq!(observed(&batch, agent, "pacing_mbps"), of(series.pacing_mbps[point]), "{place}");
            }
        }
        assert!(batch.truncated[0], "{what}: both end together");
    });
}
