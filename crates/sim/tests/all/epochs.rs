//! Epochs change no result: connections do the same as with one event after the other.

use crate::support::{algorithm, flow, link, ms, scenario};
use fairpace_results::observer::{ConnectionId, Observer, SenderState};
use fairpace_results::{Run, Silent};
use fairpace_scenario::{Cc, Flow, Line, Link, Queue, Scenario};
use fairpace_sim::swarm;
use proptest::prelude::*;

/// An observer: an observed run has no epochs, only the fast path.
#[derive(Default)]
struct Counter {
    events: u64,
}

impl Observer for Counter {
    fn sender(&mut self, _now: u64, _connection: ConnectionId, _state: impl FnOnce() -> SenderState) {
        self.events += 1;
    }
}

/// Everything of a run but its cost. As text, because NaN is not equal to itself.
fn bytes(run: &Run) -> String {
    format!("{}{:?}", run.summary.stable_json(), run.series)
}

/// The results with epochs, with the fast path only, and with an event per hop.
fn runs_of(scenario: &Scenario) -> [String; 3] {
    let valid = "the scenario is valid";
    let mut counter = Counter::default();
    let runs = [
        fairpace_sim::run(scenario, &mut Silent).expect(valid),
        fairpace_sim::run_with(scenario, &mut Silent, &mut counter).expect(valid),
        fairpace_sim::run_per_hop(scenario, &mut Silent).expect(valid),
    ];
    assert!(counter.events > 0, "no sender did anything");
    runs.map(|run| bytes(&run))
}

/// The scenario with all its flows on one FIFO and nothing else between them. Its link, hosts and
/// applications stay as they are.
fn one_bottleneck(scenario: Scenario) -> Scenario {
    let plain = |flow: Flow| Flow {
        route: None,
        reverse: Vec::new(),
        ends: None,
        access_delay: ms(0),
        reorder: None,
        arrivals: None,
        // datagrams have no epochs
        cc: if flow.cc == Cc::Uncontrolled { algorithm("cubic") } else { flow.cc },
        ..flow
    };
    let first = scenario.links.into_iter().next().expect("it has a link");
    let queue = if matches!(first.queue, Queue::Step(_) | Queue::Red(_)) { first.queue } else { Queue::Fifo };
    let line = Line { reorders: false, duplicate_ppb: 0, ..first.line };
    let link = Link { ends: None, queue, line, ..first };
    Scenario { links: vec![link], flows: scenario.flows.into_iter().map(plain).collect(), ..scenario }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn epochs_change_no_result_at_one_bottleneck(seed in 0..i64::MAX as u64) {
        let scenario = one_bottleneck(swarm::scenario(seed).expect("what is drawn is valid"));
        let [in_epochs, fast_path, per_hop] = runs_of(&scenario);
        prop_assert!(in_epochs == fast_path, "seed {seed}: not as on the fast path");
        prop_assert!(in_epochs == per_hop, "seed {seed}: not as with an event per hop");
    }
}

/// 40 flows start together on the same path: only the order of simultaneous events distinguishes them.
#[test]
fn simultaneous_senders_keep_their_order() {
    for cc in ["bbr1", "cubic"] {
        let flows = (0..40).map(|_| flow(cc, 30, 0)).collect();
        let [in_epochs, fast_path, per_hop] = runs_of(&scenario(vec![link(60, 150_000)], flows, 1, 3));
        assert!(in_epochs == fast_path && in_epochs == per_hop, "{cc}");
    }
}
