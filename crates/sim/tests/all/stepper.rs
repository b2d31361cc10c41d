//! A simulation that pauses gives the record of one that does not, and shows the same at each pause with and
//! without fast path and epochs.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{flow, link, ms, scenario, with};
use fairpace_cc::Action;
use fairpace_results::{Run, Silent};
use fairpace_scenario::{Codel, Flow, Link, Queue, Scenario};
use fairpace_sim::{Stepper, swarm};
use proptest::prelude::*;

/// Everything of a run but its cost. As text, because NaN is not equal to itself.
fn bytes(run: &Run) -> String {
    format!("{}{:?}", run.summary.stable_json(), run.series)
}

/// With fast path and epochs where the scenario allows them, and without.
fn steppers(scenario: &Scenario) -> [Stepper; 2] {
    let scenario = Arc::new(scenario.clone());
    let valid = "the scenario is valid";
    [Stepper::new(Arc::clone(&scenario)).expect(valid), Stepper::new_per_hop(scenario).expect(valid)]
}

/// All that can be seen at a pause.
fn seen(stepper: &mut Stepper) -> String {
    let scenario = Arc::clone(stepper.scenario());
    let points = (stepper.now().as_nanos() / scenario.interval.as_nanos()) as usize;
    let flows = (0..scenario.flows.len()).map(|flow| {
        let state = stepper.controller(flow).map(|controller| controller.state_bytes().to_vec());
        let in_force = (stepper.cwnd_pkts(flow), stepper.pacing_rate_Bps(flow));
        format!("{state:?} {in_force:?} {:?}\n", points.checked_sub(1).map(|p| stepper.flow_point(flow, p)))
    });
    let flows: String = flows.collect();
    let links =
        (0..scenario.links.len()).map(|link| points.checked_sub(1).map(|p| stepper.link_point(link, p)));
    format!("{flows}{:?}", links.collect::<Vec<_>>())
}

/// Two flows on 40 Mbit/s for 2 s.
fn two_flows() -> Scenario {
    scenario(vec![link(40, 100_000)], vec![flow("bbr1", 30, 0), flow("cubic", 10, 200)], 0, 2)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pauses_change_no_byte_of_any_scenario(
        seed in 0..i64::MAX as u64,
        pauses in prop::collection::vec(0u64..1_200, 0..30),
        at_points in any::<bool>(),
    ) {
        let scenario = swarm::scenario(seed).expect("what is drawn is valid");
        let expected = bytes(&fairpace_sim::run(&scenario, &mut Silent).expect("it is valid"));
        let mut pauses = pauses;
        pauses.sort_unstable();
        for mut stepper in steppers(&scenario) {
            for thousandth in &pauses {
                let at = scenario.duration.mul_f64(*thousandth as f64 / 1e3);
                let points = (at.as_nanos() / scenario.interval.as_nanos()) as u32;
                stepper.run_until(if at_points { scenario.interval * points } else { at });
                seen(&mut stepper);
            }
            let run = stepper.finish(&mut Silent).expect("nothing stops it");
            prop_assert!(bytes(&run) == expected, "seed {seed}");
        }
    }

    #[test]
    fn a_pause_shows_the_same_with_and_without_the_fast_path(seed in 0..i64::MAX as u64) {
        let scenario = swarm::scenario(seed).expect("what is drawn is valid");
        let [mut fast, mut per_hop] = steppers(&scenario);
        while !fast.is_over() {
            let next = fast.now() + scenario.interval.max(scenario.duration / 20);
            fast.run_until(next);
            per_hop.run_until(next);
            prop_assert_eq!(seen(&mut fast), seen(&mut per_hop), "seed {}, at {:?}", seed, fast.now());
        }
    }
}

#[test]
fn points_are_those_of_the_series_as_soon_as_their_interval_is_over() {
    let mut aqm = two_flows();
    aqm.links[0].queue = Queue::Codel(Codel::default());
    for scenario in [two_flows(), aqm] {
        let run = fairpace_sim::run(&scenario, &mut Silent).expect("it is valid");
        for mut stepper in steppers(&scenario) {
            for point in 0..20 {
                assert_eq!(stepper.flow_point(0, point), None, "not over");
                assert_eq!(stepper.link_point(0, point), None, "not over");
                stepper.run_until(scenario.interval * (point as u32 + 1));
                for (flow, series) in run.series.flows.iter().enumerate() {
                    let found = stepper.flow_point(flow, point).expect("it is over");
                    assert_eq!(found.goodput_mbps, series.goodput_mbps[point], "flow {flow}, point {point}");
                    assert_eq!(found.rtt_ms.to_bits(), series.rtt_ms[point].to_bits());
                    let cwnd_pkts = stepper.cwnd_pkts(flow).map_or(f32::NAN, |pkts| pkts as f32);
                    assert_eq!(cwnd_pkts.to_bits(), series.cwnd_pkts[point].to_bits());
                }
                let (found, series) =
                    (stepper.link_point(0, point).expect("it is over"), &run.series.links[0]);
                assert_eq!(found.queue_delay_ms.to_bits(), series.queue_delay_ms[point].to_bits());
                assert_eq!(found.drops, series.drops[point]);
            }
        }
    }
}

#[test]
fn what_does_not_exist_is_none() {
    let mut stepper = Stepper::new(Arc::new(two_flows())).expect("it is valid");
    assert!(stepper.controller(0).is_none(), "it has not connected");
    stepper.run_until(ms(150));
    assert!(stepper.controller(0).is_some());
    assert!(stepper.controller_mut(1).is_none(), "it starts later");
    assert!(stepper.controller_mut(2).is_none() && stepper.flow_point(2, 0).is_none());
    assert!(stepper.link_point(1, 0).is_none() && stepper.data_links(2).next().is_none());
    assert_eq!(stepper.data_links(1).collect::<Vec<_>>(), [0]);
}

#[test]
fn time_does_not_go_back_and_ends_with_the_scenario() {
    let mut stepper = Stepper::new(Arc::new(two_flows())).expect("it is valid");
    stepper.run_until(ms(700));
    let before = seen(&mut stepper);
    stepper.run_until(ms(300));
    assert_eq!((stepper.now(), seen(&mut stepper)), (ms(700), before));
    stepper.run_until(Duration::MAX);
    assert_eq!((stepper.now(), stepper.is_over()), (ms(2_000), true));
}

#[test]
fn an_action_at_a_pause_is_in_force_from_the_next_ack_on() {
    let agent =
        |name: &str| Flow { name: name.to_owned(), ..with(flow("agent", 20, 0), "interval", "100ms") };
    let mut scenario = scenario(vec![Link::new("wide", 100_000_000, 1_000_000)], vec![], 0, 2);
    scenario.flows = vec![agent("a"), agent("b")];
    for mut stepper in steppers(&scenario) {
        stepper.run_until(ms(500));
        let before = stepper.cwnd_pkts(1);
        let action = Action::Absolute { pacing_rate_Bps: 1_000_000, cwnd_pkts: 50 };
        stepper.controller_mut(1).expect("it has connected").act(action).expect("it is in range");
        assert_eq!(stepper.cwnd_pkts(1), before);
        stepper.run_until(ms(600));
        assert_eq!((stepper.cwnd_pkts(1), stepper.pacing_rate_Bps(1)), (Some(50), Some(1_000_000)));
        assert_eq!(stepper.cwnd_pkts(0), before, "the other flow's does not change");
        stepper.run_until(ms(1_000));
        let goodput_mbps = stepper.flow_point(1, 9).expect("it is over").goodput_mbps;
        assert!((goodput_mbps - 8.0).abs() < 0.2, "{goodput_mbps}");
    }
}
