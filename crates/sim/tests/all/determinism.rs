//! One scenario and one seed have one result: whoever runs beside it, however departures are found out.

use fairpace_results::{Run, Silent};
use fairpace_scenario::Scenario;
use fairpace_sim::swarm;
use proptest::prelude::*;

/// Everything that a run says but its cost. As text, because NaN is not equal to itself.
fn bytes(run: &Run) -> String {
    format!("{}{:?}", run.summary.stable_json(), run.series)
}

fn run(scenario: &Scenario) -> String {
    bytes(&fairpace_sim::run(scenario, &mut Silent).expect("what is drawn is valid"))
}

fn drawn(seed: u64) -> Scenario {
    swarm::scenario(seed).expect("what is drawn is valid")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Four scenarios on four threads side by side, each thread in another order; then one after the other.
    #[test]
    fn threads_change_nothing(seed in 0..i64::MAX as u64 - 4) {
        let scenarios: Vec<Scenario> = (seed..seed + 4).map(drawn).collect();
        let alone: Vec<String> = scenarios.iter().map(run).collect();
        let beside = std::thread::scope(|scope| {
            let work = |first: usize| {
                let scenarios = &scenarios;
                let order = (0..4).map(move |i| (first + i) % 4);
                scope.spawn(move || order.map(|i| (i, run(&scenarios[i]))).collect::<Vec<_>>())
            };
            let threads: Vec<_> = (0..4).map(work).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("no run panics")).collect::<Vec<_>>()
        });
        for (i, text) in beside {
            prop_assert!(text == alone[i], "seed {} beside others", seed + i as u64);
        }
    }

    #[test]
    fn a_departure_that_is_known_at_once_is_the_same_as_one_that_is_waited_for(seed in 0..i64::MAX as u64) {
        let scenario = drawn(seed);
        let per_hop = fairpace_sim::run_per_hop(&scenario, &mut Silent).expect("what is drawn is valid");
        prop_assert!(run(&scenario) == bytes(&per_hop), "seed {seed}");
    }

    #[test]
    fn another_seed_draws_another_scenario(seed in 0..i64::MAX as u64 - 1) {
        prop_assert_ne!(drawn(seed).hash, drawn(seed + 1).hash);
    }
}
