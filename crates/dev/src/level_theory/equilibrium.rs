//! Tables of the equilibrium: one FIFO, an error of a base RTT, several bottlenecks.

use fairpace_papers::models::level::{self, equilibrium};
use fairpace_results::Run;

use super::path::{Path, base_ms, queue_ms, seen_less_ms, shares, start_s};
use super::{Case, Inputs, Table};

/// Rates and sets of RTTs of the table of one FIFO, Mbit/s and ms.
const FIFOS: [(f64, &[f64]); 8] = [
    (10.0, &[20.0, 20.0]),
    (10.0, &[10.0, 50.0]),
    (100.0, &[10.0, 15.0]),
    (100.0, &[10.0, 50.0]),
    (100.0, &[10.0, 200.0]),
    (100.0, &[10.0, 20.0, 50.0, 100.0]),
    (100.0, &[10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0]),
    (1000.0, &[10.0, 50.0]),
];

pub(super) fn fifo(inputs: &Inputs) -> Table {
    let case = |(mbps, rtts): (f64, &'static [f64])| {
        let level = inputs.level;
        let capacity = level::packets_per_s(mbps);
        let count = rtts.len() as f64;
        let list: Vec<String> = rtts.iter().map(f64::to_string).collect();
        let measure = move |run: &Run| {
            let parts: Vec<f64> = shares(run).iter().map(|share| share * count).collect();
            let transmission_ms = 1e3 / capacity;
            let base: Vec<f64> =
                (0..rtts.len()).map(|flow| base_ms(run, flow) - rtts[flow] - transmission_ms).collect();
            let less = seen_less_ms(run, &[0]);
            let errors: Vec<f64> = base.iter().map(|base| (base + less) / 1e3).collect();
            let with = equilibrium::fifo(&level, capacity, &errors);
            vec![
                ("least", parts.iter().copied().fold(f64::INFINITY, f64::min)),
                ("most", parts.iter().copied().fold(0.0, f64::max)),
                ("queue_ms", queue_ms(run, 0)),
                ("base_error_ms", base.iter().sum::<f64>() / count),
                ("less_ms", less),
                ("queue_with_error_ms", with.queue_s * 1e3),
            ]
        };
        Case {
            name: format!("{mbps} Mbit/s, {} ms", list.join("/")),
            model: vec![("model_queue_ms", level.delay_s(capacity / count) * 1e3), ("model_part", 1.0)],
            scenario: Box::new(move |seed| {
                let mut path = Path::new(mbps, 20.0, 40.0, SERIES_MS);
                for (index, rtt) in rtts.iter().enumerate() {
                    path.flow(&index.to_string(), *rtt, start_s(index, seed), "", "");
                }
                path.text(seed)
            }),
            measure: Box::new(measure),
        }
    };
    Table {
        of: "path",
        columns: &[
            ("model_part", "rate / (C / N): model", 2),
            ("least", "packets: least", 2),
            ("most", "greatest", 2),
            ("model_queue_ms", "q, ms: model f(C / N)", 2),
            ("queue_ms", "packets", 2),
            ("base_error_ms", "error of base RTTs, ms", 2),
            ("less_ms", "q unseen between bursts, ms", 2),
            ("queue_with_error_ms", "q of the model with both", 2),
        ],
        cases: FIFOS.into_iter().map(case).collect(),
    }
}

/// Distance of the points of a series from which the least of 10 ms is read, ms: less than two packets at 100
/// Mbit/s.
const SERIES_MS: f64 = 0.2;

/// Errors of the table of errors, ms; negative, as the flow takes its path's extra length for a queue.
const ERRORS_MS: [f64; 5] = [-0.25, -0.5, -1.0, -2.0, -4.0];
/// The rate of most tables, Mbit/s.
const MBPS: f64 = 100.0;

pub(super) fn error(inputs: &Inputs) -> Table {
    let case = |error_ms: f64| {
        let with = equilibrium::fifo(&inputs.level, level::packets_per_s(MBPS), &[0.0, error_ms / 1e3]);
        let linear =
            0.5 * (1.0 + 0.5 * equilibrium::elasticity(&inputs.level) * error_ms / 1e3 / with.queue_s);
        Case {
            name: format!("{error_ms} ms"),
            model: vec![
                ("model_share", with.rates[1] / with.rates.iter().sum::<f64>()),
                ("linear_share", linear),
                ("model_queue_ms", with.queue_s * 1e3),
            ],
            scenario: Box::new(move |seed| {
                let mut path = Path::new(MBPS, 13.0, 20.0, 100.0);
                path.flow("true", 20.0, 0.0, "", "");
                let longer = format!("rtt_at = \"10s {}ms\"", 20.0 - error_ms);
                path.flow("wrong", 20.0, start_s(1, seed), "", &longer);
                path.text(seed)
            }),
            measure: Box::new(|run| vec![("share", shares(run)[1]), ("queue_ms", queue_ms(run, 0))]),
        }
    };
    Table {
        of: "error of one base RTT",
        columns: &[
            ("linear_share", "its share: first order", 3),
            ("model_share", "model", 3),
            ("share", "packets", 3),
            ("model_queue_ms", "q, ms: model", 2),
            ("queue_ms", "packets", 2),
        ],
        cases: ERRORS_MS.into_iter().map(case).collect(),
    }
}

/// How much longer the path of a lone flow is than it knows, ms.
const LONGER_MS: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 8.0];

pub(super) fn noise(inputs: &Inputs) -> Table {
    let case = |longer_ms: f64| {
        let capacity = level::packets_per_s(MBPS);
        let with = equilibrium::fifo(&inputs.level, capacity, &[-longer_ms / 1e3]);
        Case {
            name: format!("{longer_ms} ms"),
            model: vec![("model_used", with.rates[0] / capacity), ("model_queue_ms", with.queue_s * 1e3)],
            scenario: Box::new(move |seed| {
                let mut path = Path::new(MBPS, 15.0, 20.0, 100.0);
                path.flow("0", 20.0, 0.0, "", &format!("rtt_at = \"10s {}ms\"", 20.0 + longer_ms));
                path.text(seed)
            }),
            measure: Box::new(|run| {
                vec![("used", run.summary.links[0].utilization), ("queue_ms", queue_ms(run, 0))]
            }),
        }
    };
    Table {
        of: "delay that is no queue",
        columns: &[
            ("model_used", "utilisation: model", 3),
            ("used", "packets", 3),
            ("model_queue_ms", "q, ms: model", 2),
            ("queue_ms", "packets", 2),
        ],
        cases: LONGER_MS.into_iter().map(case).collect(),
    }
}

/// A network: the rates of its links, and the links of each flow.
struct Network {
    name: String,
    mbps: Vec<f64>,
    routes: Vec<Vec<usize>>,
}

fn networks() -> Vec<Network> {
    let lot = |links: usize| Network {
        name: format!("{links} links, one flow over all, one on each"),
        mbps: vec![MBPS; links],
        routes: std::iter::once((0..links).collect()).chain((0..links).map(|link| vec![link])).collect(),
    };
    let crowd = Network {
        name: "2 links, one flow over both, four on each".to_owned(),
        mbps: vec![MBPS; 2],
        routes: std::iter::once(vec![0, 1]).chain((0..8).map(|flow| vec![flow % 2])).collect(),
    };
    let unequal = Network {
        name: "links of 100 and 40 Mbit/s, one flow over both, one on each".to_owned(),
        mbps: vec![100.0, 40.0],
        routes: vec![vec![0, 1], vec![0], vec![1]],
    };
    (1..=4).map(lot).chain([crowd, unequal]).collect()
}

/// The base RTT of all flows of a network, ms.
const NETWORK_RTT_MS: f64 = 40.0;

pub(super) fn network(inputs: &Inputs) -> Table {
    let case = |network: Network| {
        let Network { name, mbps, routes } = network;
        let capacities: Vec<f64> = mbps.iter().map(|mbps| level::packets_per_s(*mbps)).collect();
        let none = vec![0.0; routes.len()];
        let share = |exponent: f64| {
            let level = level::Level { exponent, ..inputs.level };
            equilibrium::network(&level, &capacities, &routes, &none).rates[0] / capacities[0]
        };
        let rest = equilibrium::network(&inputs.level, &capacities, &routes, &none);
        let (level, flows, of_links) = (inputs.level, routes.clone(), capacities.clone());
        let measure = move |run: &Run| {
            let goodputs: Vec<f64> = run.summary.flows.iter().map(|flow| flow.goodput_mbps).collect();
            let on_first = |rates: &[f64]| -> f64 {
                rates.iter().zip(&flows).filter(|(_, route)| route.contains(&0)).map(|(rate, _)| rate).sum()
            };
            let errors: Vec<f64> = flows.iter().map(|route| seen_less_ms(run, route) / 1e3).collect();
            let with = equilibrium::network(&level, &of_links, &flows, &errors);
            let queue: f64 = (0..of_links.len()).map(|link| queue_ms(run, link)).sum();
            vec![
                ("share", goodputs[0] / on_first(&goodputs)),
                ("share_with_error", with.rates[0] / on_first(&with.rates)),
                ("queues_ms", queue),
            ]
        };
        Case {
            name,
            model: vec![
                ("model_share", share(inputs.level.exponent)),
                ("proportional", share(1.0)),
                ("max_min", share(MAX_MIN)),
                ("model_queues_ms", rest.queues_s.iter().sum::<f64>() * 1e3),
            ],
            scenario: Box::new(move |seed| network_scenario(&mbps, &routes, seed)),
            measure: Box::new(measure),
        }
    };
    Table {
        of: "network",
        columns: &[
            ("model_share", "share of the first link, flow over all: model", 3),
            ("share_with_error", "model, with q unseen between bursts", 3),
            ("share", "packets", 3),
            ("proportional", "alpha = 1 (Vegas, FAST)", 3),
            ("max_min", "max-min", 3),
            ("model_queues_ms", "sum of q, ms: model", 2),
            ("queues_ms", "packets", 2),
        ],
        cases: networks().into_iter().map(case).collect(),
    }
}

fn network_scenario(mbps: &[f64], routes: &[Vec<usize>], seed: u64) -> String {
    let mut path = Path::without_link(20.0, 40.0, SERIES_MS);
    for (link, mbps) in mbps.iter().enumerate() {
        path.link(&format!("l{link}"), *mbps);
    }
    for (index, route) in routes.iter().enumerate() {
        let links: Vec<String> = route.iter().map(|link| format!("\"l{link}\"")).collect();
        let more = format!("route = [{}]", links.join(", "));
        path.flow(&index.to_string(), NETWORK_RTT_MS, start_s(index, seed), "", &more);
    }
    path.text(seed)
}

/// An exponent that stands for infinity: alpha-fairness tends to max-min fairness.
const MAX_MIN: f64 = 200.0;
