//! The scenarios of the benchmarks: two flows, many flows, a long fat link, a million connections that arrive
//! and end.

use std::time::Duration;

use fairpace_scenario::{Arrivals, Cc, Codel, Flow, Link, Queue, Scenario, Sizes};

/// Most flows of a load by number: 20,000 of 5 Mbit/s each are 100 Gbit/s.
const MOST_FLOWS: u64 = 20_000;

/// Returns a load by name, of this many simulated milliseconds; `None` for an unknown load or algorithm.
#[must_use]
pub fn by_name(name: &str, run_ms: u64) -> Option<Scenario> {
    let (kind, cc) = name.split_once('/').unwrap_or((name, "bbr1"));
    let cc = &cc.parse::<Cc>().ok()?;
    Some(match kind {
        "two" => two(cc, run_ms),
        "codel" => codel(cc, run_ms),
        "fat" => fat(cc, run_ms),
        "web" => web(cc, run_ms),
        _ => many(kind.parse().ok().filter(|flows| (1..=MOST_FLOWS).contains(flows))?, cc, run_ms),
    })
}

fn scenario(link: Link, flows: Vec<Flow>, run_ms: u64) -> Scenario {
    let duration = Duration::from_millis(run_ms);
    Scenario {
        title: "benchmark".to_owned(),
        why: String::new(),
        seed: 1,
        duration,
        window: (duration / 6, duration),
        interval: Duration::from_millis(100),
        links: vec![link],
        flows,
        hash: String::new(),
    }
}

fn flow(cc: &Cc, number: u64, rtt_ms: u64, start_ms: u64) -> Flow {
    let start = Duration::from_millis(start_ms);
    Flow { start, ..Flow::new(format!("{number}"), cc.clone(), Duration::from_millis(rtt_ms)) }
}

/// Flows with RTTs of 10 and 50 ms through 100 Mbit/s and 2 MB: the first experiment of Ma et al. 2017.
#[must_use]
pub fn two(cc: &Cc, run_ms: u64) -> Scenario {
    let link = Link::new("bottleneck", 100_000_000, 2_000_000);
    let second = if run_ms > 5_000 { 5_000 } else { 0 };
    scenario(link, vec![flow(cc, 1, 10, 0), flow(cc, 2, 50, second)], run_ms)
}

/// The load `two` with CoDel: every packet's departure is an event.
fn codel(cc: &Cc, run_ms: u64) -> Scenario {
    let mut scenario = two(cc, run_ms);
    scenario.links[0].queue = Queue::Codel(Codel::default());
    scenario
}

/// Flows with RTTs of 20 to 60 ms and 5 Mbit/s each, through a buffer of one bandwidth-delay product of 40
/// ms.
fn many(flows: u64, cc: &Cc, run_ms: u64) -> Scenario {
    let rate_bps = flows * 5_000_000;
    let link = Link::new("bottleneck", rate_bps, rate_bps / 8 / 25);
    let flow = |i| flow(cc, i, 20 + i * 7 % 41, i * 13 % 100);
    Scenario {
        interval: Duration::from_millis(500),
        ..scenario(link, (0..flows).map(flow).collect(), run_ms)
    }
}

/// 500 flows on 25 Gbit/s at 145 ms with a buffer of four bandwidth-delay products.
fn fat(cc: &Cc, run_ms: u64) -> Scenario {
    let link = Link::new("bottleneck", 25_000_000_000, 4 * 25_000_000_000 / 8 * 145 / 1000);
    scenario(link, (0..500).map(|i| flow(cc, i, 145, i % 10)).collect(), run_ms)
}

/// A workload of 50,000 flows per second of 10 kB on average on 10 Gbit/s: a million in 20 s.
fn web(cc: &Cc, run_ms: u64) -> Scenario {
    // half of them up to 2 kB, nine of ten up to 10 kB, the largest 130 kB
    let cdf = [(500, 0), (2_000, 500_000_000), (10_000, 900_000_000), (130_000, 1_000_000_000)];
    let sizes = Sizes { name: "benchmark".to_owned(), cdf: cdf.into() };
    let arrivals = Some(Arrivals { per_s_milli: 50_000_000, sizes });
    let link = Link::new("bottleneck", 10_000_000_000, 12_500_000);
    scenario(link, vec![Flow { arrivals, ..flow(cc, 1, 20, 0) }], run_ms)
}
