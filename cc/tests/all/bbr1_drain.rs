//! The drain-to-target patch (Google, bbr-dev 2018): three phases and a cycle of 2 to 8 min_rtt.

use crate::support::bbr::*;
use crate::support::{Flow, round, s};
use fairpace_cc::Phase;

/// At the start of a phase, min_rtt 40 ms; the cycle has its full length.
fn at(gain: u32) -> Flow {
    probe_bw_at_of("bbr1_drain", gain, &[("cycle_least", "8")])
}

/// In PROBE_BW for the first time, whatever the random numbers are.
fn first(random: u32, settings: &[(&str, &str)]) -> Flow {
    let mut f = Flow::start_with("bbr1_drain", settings, |v| v.random = random);
    for pkts in [10, 20, 40, 80, 160, 320, BDP, BDP, BDP, BDP] {
        f.on(round(pkts, RTT).inflight(2 * pkts));
    }
    assert_eq!(f.phase(), Phase::Drain);
    f.on(part(1).inflight(BDP));
    f
}

/// min_rtts until the flow probes, from the start of a cycle in which it cruises.
fn min_rtts_to_up(f: &mut Flow) -> u32 {
    (1..20)
        .find(|_| {
            assert_ne!(f.gain(), UP);
            f.on(part(1).after(RTT)); // exactly on time: not yet over
            let over = f.clone().on(part(1).after(1)).gain() == UP;
            if over {
                f.on(part(1).after(1));
            }
            over
        })
        .expect("a cycle has an end")
}

#[test]
fn probe_bw_begins_with_cruising() {
    for random in 1..200 {
        let f = first(0x9e37_79b9u32.wrapping_mul(random), &[]);
        assert_eq!((f.phase(), f.gain()), (Phase::ProbeBwCruise, CRUISE), "on the very ACK that ends DRAIN");
    }
}

#[test]
fn cycles_last_for_two_to_eight_min_rtt_each_as_likely() {
    let mut seen = [0u32; 9];
    let mut f = first(1, &[]);
    for _ in 0..2800 {
        seen[min_rtts_to_up(&mut f) as usize] += 1;
        skip_to_next_cycle(&mut f);
    }
    assert_eq!(seen[..2], [0, 0]);
    for count in &seen[2..] {
        crate::support::assert_near(*count, 400.0, 75.0); // four standard deviations
    }
}

/// PROBE_RTT and back: PROBE_BW begins anew.
pub(crate) fn skip_to_next_cycle(f: &mut Flow) {
    f.on(part(1).after(s(10) + 1).rtt(RTT));
    assert_eq!(f.phase(), Phase::ProbeRtt);
    f.on(part(1).inflight(4).rtt(RTT));
    f.on(round(4, crate::support::ms(201)).rtt(RTT).inflight(4));
    assert_eq!((f.phase(), f.gain()), (Phase::ProbeBwCruise, CRUISE));
}

#[test]
fn cycle_least_bounds_the_draw() {
    for random in 1..50 {
        assert_eq!(min_rtts_to_up(&mut first(random, &[("cycle_least", "8")])), 8);
    }
}

#[test]
fn a_cycle_is_up_down_cruise_and_its_clock_runs_from_up() {
    let mut f = at(UP);
    assert_eq!(f.on(part(1).after(RTT + 1).prior_inflight(2 * BDP)).gain(), DOWN);
    assert_eq!(f.on(part(1).after(1).prior_inflight(BDP)).gain(), CRUISE);
    assert_eq!(f.on(part(1).after(7 * RTT - 2)).gain(), CRUISE, "8 min_rtt, to the microsecond");
    assert_eq!(f.on(part(1).after(1)).gain(), UP);
}

#[test]
fn giving_back_lasts_until_one_bdp() {
    let mut f = at(UP);
    let target = quantised(BDP, DOWN);
    f.on(part(1).after(RTT + 1).prior_inflight(2 * BDP));
    for _ in 0..6 {
        assert_eq!(f.on(part(1).after(RTT).prior_inflight(target + 1)).gain(), DOWN);
    }
    assert_eq!(f.on(part(1).after(1).prior_inflight(target)).gain(), CRUISE);
}

#[test]
fn a_flow_that_cannot_give_back_probes_again_when_the_cycle_is_over() {
    let mut f = at(UP);
    f.on(part(1).after(RTT + 1).prior_inflight(2 * BDP));
    assert_eq!(f.on(part(1).after(7 * RTT - 1).prior_inflight(2 * BDP)).gain(), DOWN);
    assert_eq!(f.on(part(1).after(1).prior_inflight(2 * BDP)).gain(), UP);
}

#[test]
fn probing_lasts_a_min_rtt_and_ends_at_a_quarter_more_or_loss_or_nothing_to_send() {
    let short = part(1).prior_inflight(BDP);
    let enough = short.prior_inflight(2 * BDP);
    for (ack, after, gain) in [
        (enough, RTT, UP), // too early
        (enough, RTT + 1, DOWN),
        (short, RTT + 1, UP),
        (short.losses(1), RTT, UP),
        (short.losses(1), RTT + 1, DOWN),
        (short.app_limited(), RTT, UP),
        (short.app_limited(), RTT + 1, DOWN),
    ] {
        assert_eq!(at(UP).on(ack.after(after)).gain(), gain, "{ack:?} after {after} us");
    }
}

#[test]
fn while_a_policers_rate_is_in_use_there_are_no_phases_and_the_cycle_begins_afresh() {
    let mut f = first(1, &[]);
    // two intervals of four rounds with a fifth lost reveal the policer
    f.times(12, round(BDP / 2, RTT).losses(BDP / 8));
    assert_near_rate(&f);
    for _ in 0..40 {
        f.on(round(BDP / 2, RTT).prior_inflight(2 * BDP));
        assert_eq!(f.gain(), CRUISE);
    }
    let mut rounds = 0;
    while f.gain() == CRUISE {
        f.on(round(BDP / 2, RTT).prior_inflight(2 * BDP));
        rounds += 1;
        assert!(rounds < 20, "48 rounds, and a cycle of 8 min_rtt at most");
    }
    assert_eq!(f.gain(), UP, "after cruising");
}

/// The flow paces at the policer's rate.
fn assert_near_rate(f: &Flow) {
    crate::support::assert_near(f.pacing() as f64, rate(BDP / 2, CRUISE) * 0.99, 3e3);
}
