//! NYU's gain cycle on a curve: sections IV.C and VI of the paper ask for one, cc/nyu_curve.h derives which
//! from equations 2 and 9.

use crate::support::bbr::*;
use crate::support::{Flow, ms};
use fairpace_cc::Phase;

/// More than one BDP with its room for bursts, and less than 1.05 BDP with it: ends neither probing nor
/// giving back.
const HELD: u32 = BDP + 36;

/// At the start of a cycle on the curve; min_rtt is 40 ms, and alpha is that of this RTT.
fn probing(settings: &[(&str, &str)], rtt_us: u64) -> Flow {
    let mut all = vec![("cycle_least", "8")];
    all.extend(settings);
    let mut f = probe_bw_at_of("nyu_curve", CRUISE, &all);
    f.on(part(1).after(8 * RTT + 1).rtt(rtt_us));
    assert_eq!(f.phase(), Phase::ProbeBwUp);
    f
}

/// The gain at the start of the cycle and after each `step_us` of it, with so much in flight.
fn gains(f: &mut Flow, step_us: u64, inflight: u32) -> Vec<u32> {
    let mut gains = vec![f.gain()];
    for _ in 0..8 * RTT / step_us {
        gains.push(f.on(part(1).after(step_us).rtt(ms(50)).prior_inflight(inflight)).gain());
    }
    gains
}

#[test]
fn the_gain_is_a_curve_of_the_time_in_the_cycle() {
    for (power, expected) in [
        ("1", [288, 280, 272, 264, 256, 248, 240, 232, 224]),
        ("2", [304, 283, 268, 259, 256, 253, 244, 229, 208]),
        ("3", [320, 283, 264, 257, 256, 255, 248, 229, 192]),
    ] {
        let mut f = probing(&[("power", power)], ms(50));
        assert_eq!(gains(&mut f, RTT, HELD), expected, "power {power}, alpha 1/4");
    }
}

#[test]
fn it_is_a_cubic_curve_by_default_and_nyu_line_is_a_line() {
    assert_eq!(probing(&[], ms(50)).gain(), 256 + 64);
    let mut f = probe_bw_at_of("nyu_line", CRUISE, &[("cycle_least", "8")]);
    assert_eq!(f.on(part(1).after(8 * RTT + 1).rtt(ms(50))).gain(), 256 + 32);
}

/// Equations 2 and 9: what is in flight at the end of probing is (1 + alpha) BDP, as after one min_rtt at 1
/// + alpha.
#[test]
fn probing_adds_alpha_bdp_whatever_the_curve_and_giving_back_takes_as_much() {
    for power in ["1", "2", "3"] {
        for (rtt_us, alpha) in [(ms(42), 13), (ms(50), 64), (ms(60), 128), (ms(200), 243)] {
            let mut f = probing(&[("power", power)], rtt_us);
            let half = 4 * RTT / ms(1);
            let up: u64 = (0..half)
                .map(|_| u64::from(f.on(part(1).after(ms(1)).prior_inflight(HELD)).gain()) - 256)
                .sum();
            let down: u64 = (0..half)
                .map(|_| 256 - u64::from(f.on(part(1).after(ms(1)).prior_inflight(2 * BDP)).gain()))
                .sum();
            let expected = alpha * RTT / ms(1);
            let off = |area: u64| (area as f64 - expected as f64).abs();
            // sampled each ms, at the end of it: half a step of the height at most, and a quarter for
            // rounding
            let slack = alpha as f64 * 0.5 + half as f64 * 0.25;
            assert!(
                off(up) <= slack && off(down) <= slack,
                "power {power}, alpha {alpha}: {up}, {down}, {expected}"
            );
        }
    }
}

#[test]
fn between_one_ack_and_the_next_there_is_no_step() {
    for power in ["1", "3"] {
        let gains = gains(&mut probing(&[("power", power)], ms(50)), ms(1), HELD);
        for pair in gains.windows(2) {
            let fall = pair[0].checked_sub(pair[1]);
            assert!(fall.is_some_and(|fall| fall <= 2), "{power}: {pair:?}"); // 3 * 64 / 160 a millisecond
        }
    }
}

#[test]
fn with_1_plus_alpha_bdp_in_flight_there_is_no_more_probing() {
    let enough = quantised(BDP * 5 / 4, UP) + 2 - burst(UP);
    for (prior, gain) in [(enough - 1, 283), (enough, CRUISE)] {
        let mut f = probing(&[], ms(50));
        assert_eq!(
            f.on(part(1).after(RTT).rtt(ms(50)).prior_inflight(prior)).gain(),
            gain,
            "{prior} packets"
        );
    }
    // and giving back begins in the middle, as if there had been
    let mut f = probing(&[], ms(50));
    let expected = [320, 256, 256, 256, 256, 255, 248, 229, 192];
    assert_eq!(gains(&mut f, RTT, 2 * BDP), expected);
}

#[test]
fn the_target_of_probing_does_not_fall_with_the_gain() {
    let mut f = probing(&[], ms(50));
    f.on(part(1).after(3 * RTT).rtt(ms(50)).prior_inflight(HELD));
    assert_eq!(f.gain(), 257, "more than 257/256 BDP are in flight");
}

#[test]
fn with_one_bdp_in_flight_there_is_nothing_more_to_give_back() {
    let target = quantised(BDP, DOWN);
    let mut f = probing(&[], ms(50));
    f.on(part(1).after(7 * RTT).rtt(ms(50)).prior_inflight(target + 20));
    assert_eq!((f.phase(), f.gain()), (Phase::ProbeBwDown, 229));
    f.on(part(1).after(1).prior_inflight(target));
    assert_eq!((f.phase(), f.gain()), (Phase::ProbeBwCruise, CRUISE));
    f.on(part(1).after(ms(20)).prior_inflight(2 * BDP));
    assert_eq!(f.gain(), CRUISE, "up to the end of the cycle");
}

#[test]
fn one_bdp_in_flight_does_not_end_probing_before_the_middle() {
    let mut f = probing(&[], ms(50));
    assert_eq!(
        f.on(part(1).after(4 * RTT - 1).prior_inflight(BDP / 2)).gain(),
        CRUISE,
        "the curve is flat there"
    );
    let mut line = probing(&[("power", "1")], ms(50));
    assert_eq!(line.on(part(1).after(RTT).prior_inflight(BDP / 2)).gain(), 280);
}

#[test]
fn a_cycle_on_the_curve_takes_eight_min_rtt_whatever_was_drawn() {
    for seed in 1..9 {
        let mut f = probe_bw_at_of("nyu_curve", CRUISE, &[("cycle_least", "2")]);
        for _ in 0..seed {
            f.on(part(1).after(8 * RTT + 1).rtt(ms(50))); // the next cycle
            assert_eq!(f.gain(), UP);
        }
        let mut g = f.clone();
        assert_eq!(f.on(part(1).after(8 * RTT).rtt(ms(50)).prior_inflight(HELD)).gain(), DOWN);
        assert_eq!(g.on(part(1).after(8 * RTT + 1).rtt(ms(50)).prior_inflight(HELD)).gain(), UP);
    }
}

/// Section IV.C: "these parameters are updated every eight pacing phases".
#[test]
fn alpha_is_renewed_with_each_cycle_and_not_within() {
    let mut f = probing(&[], ms(50));
    f.on(part(1).after(5 * RTT).rtt(ms(70)).prior_inflight(BDP)); // UP to DOWN, in the middle
    f.on(part(1).after(1).rtt(ms(70)).prior_inflight(BDP)); // DOWN to CRUISE
    assert_eq!((f.phase(), f.gain()), (Phase::ProbeBwCruise, CRUISE));
    f.on(part(1).after(3 * RTT).rtt(ms(60)));
    assert_eq!(f.gain(), 256 + 128, "60 ms were all that was seen while cruising");
}
