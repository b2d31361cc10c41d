//! Algebraic properties of the two-phase model, for any arguments.

use fairpace_papers::models::mimd::simulation::{Point, Setting, Simulation};
use fairpace_papers::models::mimd::{self, CWND_GAIN, GAIN, joint};
use proptest::prelude::*;

fn about(a: f64, b: f64, part: f64) -> bool {
    (a - b).abs() <= part * a.abs().max(b.abs())
}

fn setting(rtts_ms: [f64; 2]) -> Setting {
    Setting {
        rtts_s: rtts_ms.map(|rtt| rtt / 1e3),
        capacity: 100.0,
        rates: [50.0, 50.0],
        gain: GAIN,
        cwnd_gain: CWND_GAIN,
        adaptive: false,
        filter_rounds: 10,
        offset: 4,
        duration_s: 20.0,
    }
}

fn last(setting: Setting) -> Point {
    Simulation::new(setting).last().unwrap()
}

fn share0(point: Point) -> f64 {
    point.estimates[0] / (point.estimates[0] + point.estimates[1])
}

proptest! {
    #[test]
    fn both_factors_are_one_at_their_equilibrium(rtt in 1.0..1e3, gain in 1.0..2.0, cwnd_gain in 1.0..4.0) {
        let pacing = mimd::pacing_equilibrium(gain, rtt);
        prop_assert!(about(mimd::pacing_factor(gain, rtt, pacing), 1.0, 1e-12));
        let cwnd = mimd::cwnd_equilibrium(cwnd_gain, rtt);
        prop_assert!(about(mimd::cwnd_factor(cwnd_gain, rtt, cwnd), 1.0, 1e-12));
    }

    #[test]
    fn published_equilibria_are_a_quarter_of_the_rtt_and_the_rtt(rtt in 1.0..1e3) {
        prop_assert!(about(mimd::pacing_equilibrium(GAIN, rtt), 0.25 * rtt, 1e-12));
        prop_assert!(about(mimd::cwnd_equilibrium(CWND_GAIN, rtt), rtt, 1e-12));
    }

    #[test]
    fn factors_depend_on_the_delay_in_rtts_only(rtt in 1.0..1e3, delay in 0.0..1e3, unit in 1e-3..1e3) {
        let factors = |unit: f64| [
            mimd::pacing_factor(GAIN, rtt * unit, delay * unit),
            mimd::cwnd_factor(CWND_GAIN, rtt * unit, delay * unit),
            mimd::adaptive_factor(rtt * unit, delay * unit),
        ];
        for (one, other) in factors(1.0).into_iter().zip(factors(unit)) {
            prop_assert!(about(one, other, 1e-9));
        }
    }

    #[test]
    fn factors_fall_with_the_delay_and_rise_with_the_rtt(
        rtt in 1.0..1e3, delay in 0.1..1e3, more in 1.01..10.0,
    ) {
        prop_assert!(mimd::pacing_factor(GAIN, rtt, delay * more) < mimd::pacing_factor(GAIN, rtt, delay));
        prop_assert!(
            mimd::cwnd_factor(CWND_GAIN, rtt * more, delay)
                > mimd::cwnd_factor(CWND_GAIN, rtt, delay)
        );
    }

    #[test]
    fn the_adaptive_gain_is_at_rest_at_every_delay_within_its_bounds(rtt in 1.0..1e3, part in 0.05..0.95) {
        prop_assert!(about(mimd::adaptive_factor(rtt, part * rtt), 1.0, 1e-9));
    }

    #[test]
    fn beyond_its_bounds_the_adaptive_gain_pulls_back(
        rtt in 1.0..1e3, low in 0.0..0.049, high in 0.951..10.0,
    ) {
        prop_assert!(mimd::adaptive_factor(rtt, low * rtt) > 1.0);
        prop_assert!(mimd::adaptive_factor(rtt, high * rtt) < 1.0);
    }

    #[test]
    fn at_the_mixed_ratio_two_flows_of_different_rtts_are_at_rest(rtt in 1.0..1e3) {
        let long = joint::mixed_ratio(GAIN, CWND_GAIN) * rtt;
        let delay = mimd::cwnd_equilibrium(CWND_GAIN, rtt);
        prop_assert!(about(mimd::cwnd_factor(CWND_GAIN, rtt, delay), 1.0, 1e-12));
        prop_assert!(about(mimd::pacing_factor(GAIN, long, delay), 1.0, 1e-12));
    }

    #[test]
    fn at_the_final_delay_the_longer_flow_rests_and_the_other_shrinks(
        short in 1.0..1e3, ratio in 1.01..10.0,
    ) {
        let rtts = [short, short * ratio];
        let delay = joint::final_delay(CWND_GAIN, rtts);
        prop_assert!(about(mimd::cwnd_factor(CWND_GAIN, rtts[1], delay), 1.0, 1e-12));
        prop_assert!(mimd::cwnd_factor(CWND_GAIN, rtts[0], delay) < 1.0);
        prop_assert!(joint::odds_factor(rtts, delay) > 1.0);
        prop_assert!(
            about(joint::odds_factor(rtts, delay), joint::odds_factor([rtts[1], rtts[0]], delay), 1e-12)
        );
    }

    #[test]
    fn cwnd_limits_where_the_two_demands_meet(rtt in 1.0..1e3, gain in 1.0..2.0) {
        let delay = joint::cwnd_limits_from(gain, CWND_GAIN, rtt);
        prop_assert!(about(mimd::cwnd_factor(CWND_GAIN, rtt, delay), gain, 1e-9));
    }
}

/// Found by the property below: a rounding error once made the queue negative.
#[test]
fn a_queue_that_empties_is_empty() {
    let setting = Setting {
        rates: [1.0, 166.04773774901452],
        adaptive: true,
        offset: 2,
        duration_s: 2.0,
        ..setting([66.2629592877143, 52.95963750835756])
    };
    assert!(Simulation::new(setting).all(|point| point.delay_s >= 0.0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_sent_is_delivered_or_queued(
        rtt0 in 5.0..100.0, rtt1 in 5.0..100.0, r0 in 1.0..200.0, r1 in 1.0..200.0,
        adaptive: bool, offset in 0_u32..8,
    ) {
        let any = Setting { rates: [r0, r1], adaptive, offset, duration_s: 2.0, ..setting([rtt0, rtt1]) };
        for point in Simulation::new(any) {
            let queued = point.delay_s * any.capacity;
            prop_assert!((point.sent - point.delivered - queued).abs() < 1e-6 * (1.0 + point.sent));
            prop_assert!(point.delivered <= any.capacity * point.time_s * (1.0 + 1e-9));
            prop_assert!(point.delay_s >= 0.0);
        }
    }

    #[test]
    fn the_simulation_has_no_unit_of_rate_or_time(rtt0 in 5.0..50.0, rtt1 in 5.0..50.0, power in -3..4) {
        // powers of two, so that rounding is the same
        let unit = 2.0_f64.powi(power);
        let one = Setting { duration_s: 2.0, ..setting([rtt0, rtt1]) };
        let other = Setting {
            capacity: one.capacity * unit,
            rates: one.rates.map(|rate| rate * unit),
            ..one
        };
        prop_assert_eq!(share0(last(one)), share0(last(other)));
        let slow = Setting {
            rtts_s: one.rtts_s.map(|rtt| rtt * unit),
            duration_s: one.duration_s * unit,
            ..one
        };
        prop_assert_eq!(share0(last(one)), share0(last(slow)));
        prop_assert!(about(last(one).delay_s * unit, last(slow).delay_s, 1e-12));
    }
}

#[test]
fn two_flows_of_one_rtt_hold_a_queue_of_about_that_rtt() {
    let points: Vec<_> = Simulation::new(setting([20.0, 20.0])).collect();
    let late = &points[points.len() / 2..];
    let mean = late.iter().map(|point| point.delay_s).sum::<f64>() / late.len() as f64;
    assert!((0.015..0.030).contains(&mean), "{mean}");
    assert!(about(share0(*late.last().unwrap()), 0.5, 0.02));
}

#[test]
fn the_longer_flow_takes_most_and_the_adaptive_gain_holds_it_back() {
    for rtts in [[20.0, 40.0], [10.0, 40.0]] {
        let fixed = share0(last(setting(rtts)));
        let adaptive = share0(last(Setting { adaptive: true, ..setting(rtts) }));
        assert!(fixed < 0.33 && adaptive > fixed + 0.1, "{rtts:?}: {fixed} and {adaptive}");
    }
}
