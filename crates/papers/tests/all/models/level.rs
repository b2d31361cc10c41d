//! LEVEL's model against closed forms, and against what must hold of any optimum.

use std::f64::consts::TAU;

use fairpace_papers::models::level::stability::{self, Loop};
use fairpace_papers::models::level::{Level, drain, equilibrium, packets_per_s};
use proptest::prelude::*;

fn level(exponent: f64) -> Level {
    Level { reference_s: 2.25e-3, reference_rate: 4096.0, exponent }
}

fn about(a: f64, b: f64, part: f64) -> bool {
    (a - b).abs() <= part * a.abs().max(b.abs())
}

proptest! {
    #[test]
    fn on_one_fifo_rates_are_equal_and_fill_it(exponent in 0.2..3.0, flows in 1_usize..50, mbps in 1.0..1e4) {
        let (level, capacity) = (level(exponent), packets_per_s(mbps));
        let fifo = equilibrium::fifo(&level, capacity, &vec![0.0; flows]);
        let equal = capacity / flows as f64;
        prop_assert!(fifo.rates.iter().all(|rate| about(*rate, equal, 1e-9)));
        prop_assert!(about(fifo.queue_s, level.delay_s(equal), 1e-9));
    }

    #[test]
    fn the_rate_of_a_level_is_its_inverse(exponent in 0.2..3.0, rate in 1.0..1e8) {
        let level = level(exponent);
        prop_assert!(about(level.rate(level.delay_s(rate)), rate, 1e-9));
    }

    #[test]
    fn an_error_that_all_share_moves_the_queue_and_no_rate(exponent in 0.2..3.0, error_ms in 0.0..20.0) {
        let (level, capacity) = (level(exponent), packets_per_s(100.0));
        let fifo = equilibrium::fifo(&level, capacity, &[error_ms / 1e3; 4]);
        prop_assert!(fifo.rates.iter().all(|rate| about(*rate, capacity / 4.0, 1e-6)));
        prop_assert!(about(fifo.queue_s, level.delay_s(capacity / 4.0) + error_ms / 1e3, 1e-9));
    }

    #[test]
    fn a_small_error_changes_the_rate_by_the_elasticity(exponent in 0.3..3.0, part in -1e-4..1e-4_f64) {
        let (level, capacity) = (level(exponent), packets_per_s(100.0));
        let flows = 1000.0;
        let equal_s = level.delay_s(capacity / flows);
        let mut errors = vec![0.0; flows as usize];
        errors[0] = part * equal_s;
        let rate = equilibrium::fifo(&level, capacity, &errors).rates[0] / capacity * flows;
        // the others move by a thousandth of it
        let expected = equilibrium::elasticity(&level) * part;
        prop_assert!((rate - 1.0 - expected).abs() < 2e-3 * expected.abs() + 1e-6, "{rate} {expected}");
    }

    #[test]
    fn delay_that_is_no_queue_costs_a_lone_flow_its_rate(longer_ms in 2.0..50.0_f64) {
        let (level, capacity) = (level(0.5), packets_per_s(100.0));
        let fifo = equilibrium::fifo(&level, capacity, &[-longer_ms / 1e3]);
        prop_assert_eq!(fifo.queue_s, 0.0);
        prop_assert!(about(fifo.rates[0], 4096.0 * (2.25 / longer_ms).powi(2), 1e-9));
    }

    #[test]
    fn on_a_parking_lot_every_flow_sees_its_level(exponent in 0.3..3.0, links in 1_u32..6) {
        let (level, links) = (level(exponent), f64::from(links));
        let share = equilibrium::parking_lot_share(&level, links);
        let seen_s = level.delay_s((1.0 - share) * packets_per_s(50.0));
        prop_assert!(about(level.delay_s(share * packets_per_s(50.0)), links * seen_s, 1e-9), "{share}");
    }

    #[test]
    fn steering_has_no_unit_of_rate_or_time(rtt_ms in 1.0..300.0, mbps in 1.0..1e4, gain in 0.1..0.9) {
        let one = Loop::new(&level(0.5), packets_per_s(mbps), &[rtt_ms / 1e3]);
        prop_assert!(one.is_stable(gain), "{rtt_ms} {mbps} {gain}");
        prop_assert!(!one.is_stable(gain + 1.1));
    }

    #[test]
    fn ack_clocks_alone_are_stable(rtts_ms in prop::collection::vec(5.0..100.0, 1..6)) {
        let rtts: Vec<f64> = rtts_ms.iter().map(|rtt| rtt / 1e3).collect();
        prop_assert!(Loop::new(&level(0.5), packets_per_s(100.0), &rtts).is_stable(1e-4));
    }

    #[test]
    fn the_rate_that_a_flow_can_keep_is_where_its_drain_shows_its_level(
        flows in 1.0..1000.0, mbps in 10.0..1e5, rtt_ms in 1.0..200.0,
    ) {
        let (level, capacity, rtt_s) = (level(0.5), packets_per_s(mbps), rtt_ms / 1e3);
        let rate = drain::kept_rate(&level, capacity, flows, rtt_s, 0.25);
        let queue_s = level.delay_s(capacity / flows);
        let shown = rate / capacity * (0.75 * rtt_s + queue_s);
        let equal = rate <= capacity / flows * (1.0 + 1e-9);
        prop_assert!(about(shown, level.delay_s(rate), 1e-6) || (equal && shown >= level.delay_s(rate)));
    }
}

#[test]
fn the_gain_of_a_quarter_is_the_fastest_that_does_not_oscillate() {
    let left: Vec<f64> = [0.2, 0.25, 0.3, 1.0].into_iter().map(stability::left_after_round).collect();
    assert!(left[1] == 0.5 && left[0] > 0.5 && left[2] > 0.5 && left[3] == 1.0, "{left:?}");
}

#[test]
fn pacing_by_a_mean_of_the_round_before_settles_at_no_gain() {
    assert_eq!(stability::paced_gain_bound(), 0.0);
}

#[test]
fn far_apart_rtts_are_bounded_by_the_resonance_of_the_long_one() {
    for ratio in [10.0, 15.0, 20.0, 30.0] {
        let rounds = Loop::new(&level(0.5), packets_per_s(1e5), &[0.01, 0.01 * ratio]);
        let closed = rounds.resonance_bound();
        assert!(about(rounds.gain_bound(), closed, 0.25), "{ratio}: {} {closed}", rounds.gain_bound());
        assert!(about(closed, (TAU / ratio).powi(2), 0.1));
    }
}

#[test]
fn a_drain_is_as_deep_as_the_share_and_not_deeper_than_the_queue() {
    assert!(about(drain::depth_s(0.05, 0.25, 0.02, 0.007), 0.05 * 0.022, 1e-12));
    assert_eq!(drain::depth_s(0.5, 0.25, 0.02, 0.007), 0.007);
}
