//! Flows that run a window at a time do what they do when one event follows the other.

use crate::draw;
use crate::support::{flow, link, ms, scenario};
use fairpace_results::observer::{ConnectionId, Observer, SenderState};
use fairpace_results::{Run, Silent};
use fairpace_scenario::{Flow, Line, Link, Queue, Scenario};
use proptest::prelude::*;

/// Looks on, and so has every packet dealt with when it is sent.
#[derive(Default)]
struct Onlooker {
    events: u64,
}

impl Observer for Onlooker {
    fn sender(&mut self, _now: u64, _connection: ConnectionId, _state: impl FnOnce() -> SenderState) {
        self.events += 1;
    }
}

/// Everything that a run says but its cost. As text, because NaN is not equal to itself.
fn bytes(run: &Run) -> String {
    format!("{}{:?}", run.summary.stable_json(), run.series)
}

/// The results of the three ways: in windows, at once, with every departure as an event.
fn three_ways(scenario: &Scenario) -> [String; 3] {
    let valid = "the scenario is valid";
    let mut onlooker = Onlooker::default();
    let runs = [
        fairpace_sim::run(scenario, &mut Silent).expect(valid),
        fairpace_sim::run_with(scenario, &mut Silent, &mut onlooker).expect(valid),
        fairpace_sim::run_per_hop(scenario, &mut Silent).expect(valid),
    ];
    assert!(onlooker.events > 0, "nobody sent anything");
    runs.map(|run| bytes(&run))
}

/// What is left of a scenario when all its flows meet in one FIFO and nothing else is between them: whatever else its link, its hosts
/// and its applications do, they do.
fn one_bottleneck(scenario: Scenario) -> Scenario {
    let plain = |flow: Flow| Flow {
        route: None,
        reverse: Vec::new(),
        ends: None,
        access_delay: ms(0),
        reorder: None,
        arrivals: None,
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
    fn all_that_can_happen_at_one_bottleneck_happens_the_same_way(seed in 0..i64::MAX as u64) {
        let scenario = one_bottleneck(draw::scenario(seed).expect("what is drawn is valid"));
        let [in_windows, at_once, by_events] = three_ways(&scenario);
        prop_assert!(in_windows == at_once, "seed {seed}: not as at once");
        prop_assert!(in_windows == by_events, "seed {seed}: not as with an event per departure");
    }
}

/// So many flows that nothing but the order of equal times tells apart: they start together, on the same path.
#[test]
fn flows_that_send_at_the_same_time_have_their_turn_in_the_same_order() {
    for cc in ["bbr1", "cubic"] {
        let flows = (0..40).map(|_| flow(cc, 30, 0)).collect();
        let [in_windows, at_once, by_events] = three_ways(&scenario(vec![link(60, 150_000)], flows, 1, 3));
        assert!(in_windows == at_once && in_windows == by_events, "{cc}");
    }
}
