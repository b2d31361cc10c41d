//! Scenarios for the tests.

use std::time::Duration;

use fairpace_results::{Run, Silent};
use fairpace_scenario::{Cc, Flow, Link, Scenario};

/// Payload per byte on the link: 1448 of 1514.
pub(crate) const EFFICIENCY: f64 = 1448.0 / 1514.0;

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn flow(cc: &str, rtt_ms: u64, start_ms: u64) -> Flow {
    let name = format!("{cc} {rtt_ms} ms from {start_ms} ms");
    Flow { start: ms(start_ms), ..Flow::new(name, algorithm(cc), ms(rtt_ms)) }
}

/// An algorithm by its name.
pub(crate) fn algorithm(name: &str) -> Cc {
    name.parse().expect("there is such an algorithm")
}

/// The flow with one parameter of its algorithm changed.
pub(crate) fn with(mut flow: Flow, parameter: &str, value: &str) -> Flow {
    flow.cc.set(parameter, value).expect("the parameter can have the value");
    flow
}

pub(crate) fn link(rate_mbps: u64, buffer_bytes: u64) -> Link {
    Link::new("bottleneck", rate_mbps * 1_000_000, buffer_bytes)
}

/// Bandwidth-delay product in bytes.
pub(crate) fn bdp_bytes(rate_mbps: u64, rtt_ms: u64) -> u64 {
    rate_mbps * 1000 / 8 * rtt_ms
}

/// Measured from `from_s` to the end.
pub(crate) fn scenario(links: Vec<Link>, flows: Vec<Flow>, from_s: u64, duration_s: u64) -> Scenario {
    Scenario {
        title: "test".to_owned(),
        why: String::new(),
        seed: 1,
        duration: Duration::from_secs(duration_s),
        window: (Duration::from_secs(from_s), Duration::from_secs(duration_s)),
        interval: ms(100),
        links,
        flows,
        hash: "0".repeat(64),
    }
}

pub(crate) fn run(scenario: &Scenario) -> Run {
    let run = fairpace_sim::run(scenario, &mut Silent).expect("the scenario is valid");
    run.check().expect("every series has every point");
    run
}
