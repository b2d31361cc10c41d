//! Scenarios of the tests, in real time and in virtual time.

use std::time::Duration;

use fairpace_scenario::{Cc, Ecn, Flow, Limit, Link, Queue, Scenario};

/// A flow that starts at once and has no end.
pub(crate) fn flow(name: &str, cc: &str, rtt_ms: u64) -> Flow {
    Flow::new(name, cc.parse::<Cc>().expect("the name of an algorithm"), Duration::from_millis(rtt_ms))
}

/// The run ends with its window.
pub(crate) fn scenario(
    rate_mbps: u64,
    buffer_bytes: u64,
    window_s: (u64, u64),
    flows: Vec<Flow>,
) -> Scenario {
    Scenario {
        title: "test".into(),
        why: String::new(),
        seed: 1,
        duration: Duration::from_secs(window_s.1),
        window: (Duration::from_secs(window_s.0), Duration::from_secs(window_s.1)),
        interval: Duration::from_millis(100),
        links: vec![Link::new("l", rate_mbps * 1_000_000, buffer_bytes)],
        flows,
        hash: String::new(),
    }
}

/// A flow that asks for marks, over a link that marks from 30 packets on.
pub(crate) fn marks(cc: &str, ecn: Ecn) -> Scenario {
    let mut asking = flow("a", cc, 20);
    asking.sending.ecn = ecn;
    let mut scenario = scenario(20, 200_000, (0, 2), vec![asking]);
    scenario.links[0].queue = Queue::Step(Limit::Packets(30));
    scenario
}
