//! LEVEL's model against closed forms, against what must hold of any optimum, and against its own fluid.

use std::f64::consts::TAU;

use fairpace_papers::models::level::drain::{self, Anchors};
use fairpace_papers::models::level::fluid::{Setting, Simulation};
use fairpace_papers::models::level::stability::{self, Loop};
use fairpace_papers::models::level::{Level, convergence, equilibrium, packets_per_s};
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
        let step = rate * 1e-4;
        let slope = (level.utility(rate + step) - level.utility(rate - step)) / (2.0 * step);
        prop_assert!(about(slope, level.delay_s(rate), 1e-5), "{slope}");
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
    fn a_parking_lot_has_its_closed_form(exponent in 0.3..3.0, links in 1_usize..6) {
        let (level, capacity) = (level(exponent), packets_per_s(50.0));
        let routes: Vec<Vec<usize>> =
            std::iter::once((0..links).collect()).chain((0..links).map(|link| vec![link])).collect();
        let none = vec![0.0; routes.len()];
        let rest = equilibrium::network(&level, &vec![capacity; links], &routes, &none);
        let share = equilibrium::parking_lot_share(&level, links as f64);
        prop_assert!(about(rest.rates[0] / capacity, share, 1e-6), "{:?} {share}", rest.rates);
    }

    #[test]
    fn rates_of_a_network_are_its_one_optimum(
        exponent in 0.3..2.0,
        mbps in prop::collection::vec(10.0..1000.0, 3),
        masks in prop::collection::vec(1_usize..8, 1..8),
        moves in prop::collection::vec(-1.0..1.0, 8),
    ) {
        let level = level(exponent);
        let capacities: Vec<f64> = mbps.iter().map(|mbps| packets_per_s(*mbps)).collect();
        let routes: Vec<Vec<usize>> =
            masks.iter().map(|mask| (0..3).filter(|link| mask >> link & 1 == 1).collect()).collect();
        let rest = equilibrium::network(&level, &capacities, &routes, &vec![0.0; routes.len()]);
        let load = |rates: &[f64], link: usize| -> f64 {
            rates.iter().zip(&routes).filter(|(_, route)| route.contains(&link)).map(|(rate, _)| rate).sum()
        };
        for (link, capacity) in capacities.iter().enumerate() {
            prop_assert!(load(&rest.rates, link) <= capacity * (1.0 + 1e-6));
            prop_assert!(rest.queues_s[link] == 0.0 || about(load(&rest.rates, link), *capacity, 1e-6));
        }
        // no other rates within the capacities have a higher utility
        let utility = |rates: &[f64]| rates.iter().map(|rate| level.utility(*rate)).sum::<f64>();
        let moved: Vec<f64> =
            rest.rates.iter().zip(&moves).map(|(rate, by)| rate * (1.0 + 0.3 * by)).collect();
        let over = (0..3).map(|link| load(&moved, link) / capacities[link]).fold(1.0, f64::max);
        let within: Vec<f64> = moved.iter().map(|rate| rate / over).collect();
        let (best, other) = (utility(&rest.rates), utility(&within));
        prop_assert!(other <= best + 1e-6 * best.abs(), "{best} {other}");
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
    fn an_exchange_halves_a_difference_and_keeps_the_sum_to_first_order(
        part in 0.001..0.2_f64, exponent in 0.2..0.8,
    ) {
        let level = level(exponent);
        let left = convergence::exchange(&level, 1.0 + part, 0.75, 1.5).ln() / (1.0 + part).ln();
        prop_assert!(about(left, 1.0 - exponent, 1e-9));
        let sum = convergence::sum_after_exchange(&level, &[1.0 + part, 1.0 - part]);
        prop_assert!((sum - 1.0).abs() < 2.0 * part * part, "{sum}");
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

    #[test]
    fn drains_come_together_in_two_intervals(starts in prop::collection::vec(0.0..10.0, 2..40)) {
        let mut anchors = Anchors::new(&starts, 10.0, 0.25, 0.02, 0.007, 0.06);
        let together = std::iter::repeat_with(|| anchors.step())
            .skip_while(|(at_s, _)| *at_s < 20.0)
            .take(3)
            .all(|(_, count)| count == starts.len());
        prop_assert!(together);
    }
}

#[test]
fn an_infinite_exponent_is_max_min_fair() {
    // the classic example: two links of 10 and 4, a flow over both, one on the first, two on the second
    let routes = [vec![0, 1], vec![0], vec![1], vec![1]];
    let rest = equilibrium::network(&level(100.0), &[10e3, 4e3], &routes, &[0.0; 4]);
    let fair = [4e3 / 3.0, 10e3 - 4e3 / 3.0, 4e3 / 3.0, 4e3 / 3.0];
    assert!(rest.rates.iter().zip(fair).all(|(rate, fair)| about(*rate, fair, 0.02)), "{:?}", rest.rates);
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

/// How far the queue is from its mean, as a part of it, in the last third of 30 s.
fn swing(rtts_ms: &[f64], gain: f64) -> f64 {
    let capacity = packets_per_s(100.0);
    let equal = capacity / rtts_ms.len() as f64;
    let mut rates = vec![equal; rtts_ms.len()];
    rates[0] *= 1.05;
    let setting = Setting {
        level: level(0.5),
        gain,
        capacity,
        rtts_s: rtts_ms.iter().map(|rtt| rtt / 1e3).collect(),
        rates,
        errors_s: vec![0.0; rtts_ms.len()],
        duration_s: 30.0,
    };
    let late: Vec<f64> =
        Simulation::new(setting).filter(|point| point.time_s > 20.0).map(|point| point.queue_s).collect();
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    let square = late.iter().map(|queue| (queue - mean).powi(2)).sum::<f64>() / late.len() as f64;
    square.sqrt() / mean
}

#[test]
fn the_fluid_settles_below_the_bound_and_oscillates_above() {
    for rtts in [[10.0, 20.0], [10.0, 50.0], [10.0, 100.0], [10.0, 200.0]] {
        let bound = Loop::new(&level(0.5), packets_per_s(100.0), &rtts.map(|rtt| rtt / 1e3)).gain_bound();
        let (below, above) = (swing(&rtts, 0.7 * bound), swing(&rtts, 1.4 * bound));
        assert!(below < 0.05 && above > 0.3, "{rtts:?}, bound {bound}: {below} and {above}");
    }
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
fn a_small_difference_goes_away_with_the_time_constant() {
    for rtt_ms in [5.0, 20.0, 50.0] {
        let (level, capacity, gain) = (level(0.5), packets_per_s(100.0), 0.25);
        let expected_s = convergence::steering_s(&level, gain, rtt_ms / 1e3, capacity / 2.0);
        let setting = Setting {
            level,
            gain,
            capacity,
            rtts_s: vec![rtt_ms / 1e3; 2],
            rates: vec![0.52 * capacity, 0.48 * capacity],
            errors_s: vec![0.0; 2],
            duration_s: expected_s,
        };
        let last = Simulation::new(setting).last().unwrap();
        let left = (last.rates[0] / last.rates[1]).ln() / (0.52_f64 / 0.48).ln();
        let ours_s = -expected_s / left.ln();
        assert!(about(ours_s, expected_s, 0.1), "{rtt_ms} ms: {ours_s} and {expected_s}");
    }
}

#[test]
fn the_fluid_comes_to_the_equilibrium_with_an_error() {
    let (level, capacity) = (level(0.5), packets_per_s(100.0));
    let errors = vec![0.0, -1e-3];
    let expected = equilibrium::fifo(&level, capacity, &errors);
    let setting = Setting {
        level,
        gain: 0.25,
        capacity,
        rtts_s: vec![0.01, 0.02],
        rates: vec![capacity / 2.0; 2],
        errors_s: errors,
        duration_s: 20.0,
    };
    let last = Simulation::new(setting).last().unwrap();
    assert!(about(last.rates[1], expected.rates[1], 0.02), "{last:?} {expected:?}");
    assert!(about(last.queue_s, expected.queue_s, 0.02), "{last:?} {expected:?}");
}

#[test]
fn a_drain_is_as_deep_as_the_share_and_not_deeper_than_the_queue() {
    assert!(about(drain::depth_s(0.05, 0.25, 0.02, 0.007), 0.05 * 0.022, 1e-12));
    assert_eq!(drain::depth_s(0.5, 0.25, 0.02, 0.007), 0.007);
    let part = drain::part_that_empties(0.25, 0.02, 0.007);
    assert!(about(drain::depth_s(part, 0.25, 0.02, 0.007), 0.007, 1e-12));
}
