//! Tables of drains: how deep they are, what an unsynchronised one lets a flow keep, and how they come
//! together.

use fairpace_papers::models::level::drain::Anchors;
use fairpace_papers::models::level::{self, drain};
use fairpace_results::Run;

use super::path::{Path, QUIET_S, STEERS, drains, mean, queues_ms, shares, start_s};
use super::{Case, Inputs, Table};

/// Fast enough that each flow has many packets in a round.
const MBPS: f64 = 500.0;
/// The base RTT of all flows, ms.
const RTT_MS: f64 = 20.0;

/// Parameters of the flow that drains, every 2 s, and otherwise only steers.
const DRAINS: &str = "patience = 0, exchange = false, drain_interval = \"2s\"";

pub(super) fn depth(inputs: &Inputs) -> Table {
    let case = |(flows, paced): (usize, bool)| {
        let pace = if paced { ", pacing_gain = 1.25" } else { "" };
        let queue_s = inputs.level.delay_s(level::packets_per_s(MBPS) / flows as f64);
        let depth_s = drain::depth_s(1.0 / flows as f64, inputs.kept, RTT_MS / 1e3, queue_s);
        Case {
            name: if paced { format!("{flows}, pacing at 1.25 W / D") } else { flows.to_string() },
            model: vec![("model_queue_ms", queue_s * 1e3), ("model_ms", depth_s * 1e3)],
            scenario: Box::new(move |seed| {
                let mut path = Path::new(MBPS, QUIET_S[0], QUIET_S[1], 2.0);
                path.flow("drains", RTT_MS, 0.0, &format!("{DRAINS}{pace}"), "");
                for index in 1..flows {
                    let set = format!("{STEERS}{pace}");
                    path.flow(&index.to_string(), RTT_MS, start_s(index, seed) / 4.0, &set, "");
                }
                path.text(seed)
            }),
            measure: Box::new(|run| {
                let depths: Vec<[f64; 2]> = drains(run, 0)
                    .into_iter()
                    .filter(|drain| drain[0] > QUIET_S[0] && drain[1] < QUIET_S[1] - 1.0)
                    .map(|[begin_s, end_s]| {
                        let before = mean(&queues_ms(run, begin_s - 0.5, begin_s));
                        // a round later nothing is left of what the flow sent before
                        let during = queues_ms(run, begin_s + (RTT_MS + before) / 1e3, end_s);
                        [before, before - mean(&during)]
                    })
                    .collect();
                let column = |index: usize| mean(&depths.iter().map(|d| d[index]).collect::<Vec<_>>());
                vec![("queue_ms", column(0)), ("depth_ms", column(1))]
            }),
        }
    };
    Table {
        of: "flows",
        columns: &[
            ("model_queue_ms", "q, ms: model", 2),
            ("queue_ms", "packets", 2),
            ("model_ms", "depth of one flow's drain, ms: model", 2),
            ("depth_ms", "packets", 2),
        ],
        cases: [false, true]
            .into_iter()
            .flat_map(|paced| [2, 5, 10, 20, 40].map(|n| (n, paced)))
            .map(case)
            .collect(),
    }
}

/// When the path of the flow with drains of its own becomes shorter, seconds.
const SHORTER_FROM_S: f64 = QUIET_S[0];
/// Seconds between the first drain after that and the next ones.
const KEPT_S: [f64; 2] = [19.5, 23.0];
/// By how much, as a part of the queueing delay.
const SHORTER: f64 = 0.7;

pub(super) fn kept(inputs: &Inputs) -> Table {
    let case = |flows: usize| {
        let capacity = level::packets_per_s(MBPS);
        let [others, alone] = [STEERS, DRAINS].map(|set| format!("{set}, pacing_gain = 1.25"));
        let by_ms = (SHORTER * inputs.level.delay_s(capacity / flows as f64) * 1e4).round() / 10.0;
        let rate = drain::kept_rate(&inputs.level, capacity, flows as f64, RTT_MS / 1e3, inputs.kept);
        Case {
            name: flows.to_string(),
            model: vec![("equal_share", 1.0 / flows as f64), ("model_share", rate / capacity)],
            scenario: Box::new(move |seed| {
                let mut path = Path::new(MBPS, KEPT_S[0], KEPT_S[1], 20.0);
                for index in 1..flows {
                    path.flow(&index.to_string(), RTT_MS, start_s(index, seed) / 4.0, &others, "");
                }
                // its path becomes shorter when the others fill the queue: it has never seen that path empty
                let shorter = format!("rtt_at = \"{SHORTER_FROM_S}s {RTT_MS}ms\"");
                path.flow("alone", RTT_MS + by_ms, start_s(1, seed), &alone, &shorter);
                path.text(seed)
            }),
            measure: Box::new(|run| vec![("share", shares(run).pop().unwrap_or(f64::NAN))]),
        }
    };
    Table {
        of: "flows",
        columns: &[
            ("equal_share", "equal share", 3),
            ("model_share", "share that the flow can keep: model", 3),
            ("share", "packets", 3),
        ],
        cases: [5, 10, 15, 20, 30].into_iter().map(case).collect(),
    }
}

pub(super) fn anchor(inputs: &Inputs) -> Table {
    let case = |flows: usize| {
        let queue_s = inputs.level.delay_s(level::packets_per_s(MBPS) / flows as f64);
        let needed = drain::part_that_empties(inputs.kept, RTT_MS / 1e3, queue_s);
        Case {
            name: flows.to_string(),
            model: vec![
                ("needed", needed),
                ("model_first", together(inputs, flows, queue_s, 0)),
                ("model_later", together(inputs, flows, queue_s, 1)),
            ],
            scenario: Box::new(move |seed| {
                let mut path = Path::new(MBPS, 20.0, FIRST_S + 5.0 * INTERVAL_S, 20.0);
                for index in 0..flows {
                    // spread over an interval, so that no two have a common start
                    let start_s = INTERVAL_S * (index as f64 * GOLDEN).fract() + 0.01 * seed as f64;
                    path.flow(&index.to_string(), RTT_MS, start_s, "", "");
                }
                path.text(seed)
            }),
            measure: Box::new(|run| {
                let parts: Vec<f64> = (0..5).map(|index| measured(run, index)).collect();
                let least = parts.iter().copied().fold(f64::INFINITY, f64::min);
                vec![("packets", mean(&parts)), ("least", least)]
            }),
        }
    };
    Table {
        of: "flows",
        columns: &[
            ("needed", "part that empties the queue", 2),
            ("model_first", "drains together, model: first interval", 2),
            ("model_later", "later", 2),
            ("packets", "packets, five intervals: mean", 2),
            ("least", "least", 2),
        ],
        cases: [2, 5, 10, 20, 50].into_iter().map(case).collect(),
    }
}

/// Drains of two flows count as one if they begin within this time, seconds.
const TOGETHER_S: f64 = 0.06;
/// Multiples of this, without their whole part, are spread evenly.
const GOLDEN: f64 = 0.618_033_988_749_895;
/// The greatest time between two drains, seconds: the default of `drain_interval`.
const INTERVAL_S: f64 = 10.0;
/// Where the intervals of the table begin, seconds.
const FIRST_S: f64 = 20.0;

/// The greatest part of the flows that drain together in interval `index` of the model.
fn together(inputs: &Inputs, flows: usize, queue_s: f64, index: usize) -> f64 {
    let starts: Vec<f64> = (0..flows).map(|flow| INTERVAL_S * (flow as f64 * GOLDEN).fract()).collect();
    let mut anchors =
        Anchors::new(&starts, INTERVAL_S, inputs.kept, RTT_MS / 1e3, queue_s, RTT_MS / 1e3 + inputs.drain_s);
    let span = INTERVAL_S * index as f64..INTERVAL_S * (index + 1) as f64;
    let mut most = 0;
    loop {
        let (at_s, count) = anchors.step();
        if at_s >= span.end {
            return most as f64 / flows as f64;
        }
        if at_s >= span.start {
            most = most.max(count);
        }
    }
}

/// The same in packets.
fn measured(run: &Run, index: usize) -> f64 {
    let flows = run.series.flows.len();
    let from_s = FIRST_S + INTERVAL_S * index as f64;
    let mut begins: Vec<f64> = (0..flows)
        .flat_map(|flow| drains(run, flow))
        .map(|drain| drain[0])
        .filter(|begin| (from_s..from_s + INTERVAL_S).contains(begin))
        .collect();
    begins.sort_by(f64::total_cmp);
    let within =
        |begin: &f64| begins.iter().filter(|other| (*begin..begin + TOGETHER_S).contains(*other)).count();
    begins.iter().map(within).max().unwrap_or(0) as f64 / flows as f64
}
