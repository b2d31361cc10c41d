//! Tables of convergence: how long a difference of rates lasts, by steering alone and with exchange.

use fairpace_papers::models::level::fluid::{Setting, Simulation};
use fairpace_papers::models::level::{self, convergence};
use fairpace_results::Run;

use super::path::{Path, QUIET_S, STEERS, drains, log_ratio, start_s};
use super::{Case, Inputs, Table};

/// Rate of the link, Mbit/s.
const MBPS: f64 = 100.0;
/// Differences of ln r between which the time constant is read: below the first f is nearly linear, above the
/// second the noise of packets is small beside it.
const READ: [f64; 2] = [0.8, 0.3];

/// How a flow is pushed away from equal rates: its path is longer for a while.
struct Push {
    rtt_ms: f64,
    longer_ms: f64,
    from_s: f64,
    until_s: f64,
    end_s: f64,
}

const PUSHES: [Push; 4] = [
    Push { rtt_ms: 10.0, longer_ms: 5.0, from_s: QUIET_S[0], until_s: 20.0, end_s: QUIET_S[1] },
    Push { rtt_ms: 20.0, longer_ms: 8.0, from_s: QUIET_S[0], until_s: 20.0, end_s: QUIET_S[1] },
    Push { rtt_ms: 30.0, longer_ms: 8.0, from_s: QUIET_S[0], until_s: 20.0, end_s: QUIET_S[1] },
    Push { rtt_ms: 40.0, longer_ms: 8.0, from_s: QUIET_S[0], until_s: 18.8, end_s: QUIET_S[1] },
];

pub(super) fn steering(inputs: &Inputs) -> Table {
    let case = |push: &'static Push| {
        let equal = level::packets_per_s(MBPS) / 2.0;
        let rtt_s = push.rtt_ms / 1e3;
        let linear_s = convergence::steering_s(&inputs.level, inputs.gain, rtt_s, equal);
        let bin_s = (linear_s / 5.0).max(0.1);
        Case {
            name: format!("{} ms", push.rtt_ms),
            model: vec![("linear_s", linear_s), ("fluid_s", fluid_s(inputs, rtt_s, push.end_s))],
            scenario: Box::new(move |seed| pushed(push, STEERS, push.end_s, seed)),
            measure: Box::new(move |run| {
                let count = ((push.end_s - push.until_s) / bin_s) as u32;
                let bins: Vec<[f64; 2]> = (0..count)
                    .map(|bin| {
                        let from_s = push.until_s + f64::from(bin) * bin_s;
                        [from_s + 0.5 * bin_s, log_ratio(run, from_s, from_s + bin_s)]
                    })
                    .collect();
                vec![("packets_s", time_constant_s(&bins))]
            }),
        }
    };
    Table {
        of: "RTT of both flows",
        columns: &[
            ("linear_s", "time constant, s: linear", 2),
            ("fluid_s", "fluid", 2),
            ("packets_s", "packets", 2),
        ],
        cases: PUSHES.iter().map(case).collect(),
    }
}

fn pushed(push: &Push, set: &str, end_s: f64, seed: u64) -> String {
    let Push { rtt_ms, longer_ms, from_s, until_s, .. } = push;
    let mut path = Path::new(MBPS, *from_s, end_s, 20.0);
    path.flow("kept", *rtt_ms, 0.0, set, "");
    let steps = format!("rtt_at = \"{from_s}s {}ms, {until_s}s {rtt_ms}ms\"", rtt_ms + longer_ms);
    path.flow("pushed", *rtt_ms, start_s(1, seed), set, &steps);
    path.text(seed)
}

/// The time constant of a curve that falls: from where it passes the first of [`READ`] to where it passes the
/// second.
fn time_constant_s(curve: &[[f64; 2]]) -> f64 {
    let passes_s = |level: f64| {
        let pair = curve.windows(2).find(|pair| pair[0][1] >= level && pair[1][1] < level)?;
        let part = (pair[0][1] - level) / (pair[0][1] - pair[1][1]);
        Some(pair[0][0] + part * (pair[1][0] - pair[0][0]))
    };
    match READ.map(passes_s) {
        [Some(first), Some(last)] => (last - first) / (READ[0] / READ[1]).ln(),
        _ => f64::NAN,
    }
}

/// The time constant of the fluid model, from a ratio of rates of 4 on.
fn fluid_s(inputs: &Inputs, rtt_s: f64, duration_s: f64) -> f64 {
    let capacity = level::packets_per_s(MBPS);
    let setting = Setting {
        level: inputs.level,
        gain: inputs.gain,
        capacity,
        rtts_s: vec![rtt_s; 2],
        rates: vec![0.8 * capacity, 0.2 * capacity],
        errors_s: vec![0.0; 2],
        duration_s: 2.0 * duration_s,
    };
    let curve: Vec<[f64; 2]> = Simulation::new(setting)
        .map(|point| [point.time_s, (point.rates[0] / point.rates[1]).ln()])
        .collect();
    time_constant_s(&curve)
}

/// RTTs of the table of exchange: with long ones, little else changes rates between two drains.
const EXCHANGED: [Push; 4] = [
    Push { rtt_ms: 50.0, longer_ms: 10.0, from_s: 9.0, until_s: 11.0, end_s: 60.0 },
    Push { rtt_ms: 75.0, longer_ms: 15.0, from_s: 9.0, until_s: 11.0, end_s: 60.0 },
    Push { rtt_ms: 100.0, longer_ms: 20.0, from_s: 9.0, until_s: 11.0, end_s: 60.0 },
    Push { rtt_ms: 150.0, longer_ms: 20.0, from_s: 9.0, until_s: 11.0, end_s: 60.0 },
];
/// Differences of ln r that are read: at the upper end f(r) / q is within its bounds.
const READ_EXCHANGES: std::ops::Range<f64> = 0.15..1.15;
/// Spans before and after a drain in which the difference is read, seconds from its begin and its end.
const BEFORE_S: [f64; 2] = [-1.0, 0.0];
/// See [`BEFORE_S`]: rates are means of rounds again.
const AFTER_S: [f64; 2] = [0.8, 1.8];
/// Drains closer than this count as one, seconds.
const APART_S: f64 = 2.0;

pub(super) fn exchange(inputs: &Inputs) -> Table {
    let case = |push: &'static Push| {
        let equal = level::packets_per_s(MBPS) / 2.0;
        let rtt_s = push.rtt_ms / 1e3;
        let between_s = AFTER_S[0] - BEFORE_S[0] + rtt_s + inputs.drain_s;
        let steered = (-between_s / convergence::steering_s(&inputs.level, inputs.gain, rtt_s, equal)).exp();
        Case {
            name: format!("{} ms", push.rtt_ms),
            model: vec![("model", (1.0 - inputs.level.exponent) * steered), ("steering_alone", steered)],
            scenario: Box::new(move |seed| pushed(push, "", push.end_s, seed)),
            measure: Box::new(move |run| exchanges(run, push.until_s)),
        }
    };
    Table {
        of: "RTT of both flows",
        columns: &[
            ("steering_alone", "left of ln(r0 / r1) after a drain: steering alone", 2),
            ("model", "model, with exchange", 2),
            ("packets", "packets", 2),
            ("drains", "drains", 1),
        ],
        cases: EXCHANGED.iter().map(case).collect(),
    }
}

/// The mean factor of ln(r0 / r1) over drains.
fn exchanges(run: &Run, from_s: f64) -> super::Values {
    let mut all = [drains(run, 0), drains(run, 1)].concat();
    all.retain(|drain| drain[0] > from_s + 1.0);
    all.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let mut left = Vec::new();
    for together in all.chunk_by(|a, b| b[0] < a[1] + APART_S) {
        let begin_s = together[0][0];
        let end_s = together.iter().map(|drain| drain[1]).fold(begin_s, f64::max);
        let before = log_ratio(run, begin_s + BEFORE_S[0], begin_s + BEFORE_S[1]);
        let after = log_ratio(run, end_s + AFTER_S[0], end_s + AFTER_S[1]);
        if READ_EXCHANGES.contains(&before.abs()) {
            left.push(after / before);
        }
    }
    vec![("packets", super::path::mean(&left)), ("drains", left.len() as f64)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_constant_is_read_from_a_curve() {
        let curve: Vec<[f64; 2]> =
            (0..100).map(|t| f64::from(t) * 0.1).map(|t| [t, 1.5 * (-t / 2.5).exp()]).collect();
        assert!((time_constant_s(&curve) - 2.5).abs() < 0.01);
        assert!(time_constant_s(&curve[..5]).is_nan());
    }
}
