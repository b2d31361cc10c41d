//! Tables of stability: the queue over the gain, with cwnd and with pacing as the limit.

use fairpace_papers::models::level;
use fairpace_papers::models::level::fluid::{Point, Setting, Simulation};
use fairpace_papers::models::level::stability::{self, Loop};

use super::path::{Path, deviation, mean, queues_ms, start_s};
use super::{Case, Inputs, Table};

/// Rate of the link, Mbit/s.
const MBPS: f64 = 100.0;
/// On both sides of all bounds of the table.
const GAINS: [f64; 6] = [0.0625, 0.125, 0.25, 0.5, 1.0, 1.5];
/// Sets of RTTs, ms.
const RTTS: [&[f64]; 5] = [&[20.0], &[50.0, 50.0], &[10.0, 50.0], &[10.0, 100.0], &[10.0, 200.0]];
/// Parameters of a flow that only steers: no exchange, and no drain after the one that ends its startup.
const STEERS: &str = "patience = 0, exchange = false, drain_interval = \"0s\"";
/// The queue is measured from here on, until 28 s: bases are forgotten after 30 s without a drain.
const FROM_S: f64 = 14.0;
/// See [`FROM_S`].
const TO_S: f64 = 28.0;

pub(super) fn table(inputs: &Inputs) -> Table {
    let cases = RTTS.into_iter().flat_map(|rtts| GAINS.map(|gain| case(inputs, rtts, gain)));
    Table {
        of: "RTTs, gain",
        columns: &[
            ("bound", "gain up to which it is stable: model", 2),
            ("is_stable", "so stable", 0),
            ("fluid", "deviation of q as a part of q: fluid", 2),
            ("packets", "packets", 2),
            ("used", "utilisation", 3),
        ],
        cases: cases.collect(),
    }
}

fn case(inputs: &Inputs, rtts: &'static [f64], gain: f64) -> Case {
    let capacity = level::packets_per_s(MBPS);
    let rtts_s: Vec<f64> = rtts.iter().map(|rtt| rtt / 1e3).collect();
    let linear = Loop::new(&inputs.level, capacity, &rtts_s);
    let list: Vec<String> = rtts.iter().map(f64::to_string).collect();
    let set = format!("{STEERS}, gain = {gain}");
    Case {
        name: format!("{} ms, {gain}", list.join("/")),
        model: vec![
            ("bound", linear.gain_bound()),
            ("is_stable", f64::from(u8::from(linear.is_stable(gain)))),
            ("fluid", fluid(inputs, &rtts_s, gain)),
        ],
        scenario: Box::new(move |seed| {
            let mut path = Path::new(MBPS, FROM_S, TO_S, 5.0);
            for (index, rtt) in rtts.iter().enumerate() {
                path.flow(&index.to_string(), *rtt, start_s(index, seed), &set, "");
            }
            path.text(seed)
        }),
        measure: Box::new(|run| {
            let queues = queues_ms(run, FROM_S, TO_S);
            let used = run.summary.links[0].utilization;
            vec![("packets", deviation(&queues) / mean(&queues)), ("used", used)]
        }),
    }
}

/// How much the queue of the fluid moves, some time after a disturbance of a tenth of the first rate.
fn fluid(inputs: &Inputs, rtts_s: &[f64], gain: f64) -> f64 {
    let capacity = level::packets_per_s(MBPS);
    let equal = capacity / rtts_s.len() as f64;
    let rates = rtts_s.iter().enumerate().map(|(index, _)| if index == 0 { 1.1 * equal } else { equal });
    let setting = Setting {
        level: inputs.level,
        gain,
        capacity,
        rtts_s: rtts_s.to_vec(),
        rates: rates.collect(),
        errors_s: vec![0.0; rtts_s.len()],
        duration_s: TO_S,
    };
    let late = Simulation::new(setting).filter(|point| point.time_s >= FROM_S);
    let queues: Vec<f64> = late.map(|point: Point| point.queue_s).collect();
    deviation(&queues) / mean(&queues)
}

/// Flows of the table of crowds.
const CROWDS: [usize; 5] = [2, 5, 10, 20, 40];
/// A gain of pacing with which pacing does not limit.
const WIDE_MARGIN: f64 = 1.25;
/// Their base RTT, ms: short, so that f is not small beside it.
const CROWD_RTT_MS: f64 = 20.0;

pub(super) fn crowd(inputs: &Inputs) -> Table {
    let capacity = level::packets_per_s(MBPS);
    let case = |(flows, gain): (usize, Option<f64>)| {
        let rate = capacity / flows as f64;
        let round_s = CROWD_RTT_MS / 1e3 + inputs.level.delay_s(rate);
        let pace = gain.map_or(String::new(), |gain| format!(", pacing_gain = {gain}"));
        let set = format!("{STEERS}{pace}");
        let name =
            gain.map_or(format!("{flows}, as it is"), |gain| format!("{flows}, pacing at {gain} W / D"));
        Case {
            name,
            model: vec![("window", rate * round_s), ("bound", stability::LARGEST_GAIN)],
            scenario: Box::new(move |seed| {
                let mut path = Path::new(MBPS, FROM_S, TO_S, 5.0);
                for index in 0..flows {
                    path.flow(&index.to_string(), CROWD_RTT_MS, start_s(index, seed) / 4.0, &set, "");
                }
                path.text(seed)
            }),
            measure: Box::new(|run| {
                let queues = queues_ms(run, FROM_S, TO_S);
                vec![("packets", deviation(&queues) / mean(&queues))]
            }),
        }
    };
    let cases = [None, Some(WIDE_MARGIN)].into_iter().flat_map(|gain| CROWDS.map(|flows| (flows, gain)));
    Table {
        of: "flows of 20 ms",
        columns: &[
            ("window", "W, packets: model", 1),
            ("bound", "gain up to which it is stable: model", 2),
            ("packets", "deviation of q as a part of q: packets", 2),
        ],
        cases: cases.map(case).collect(),
    }
}
