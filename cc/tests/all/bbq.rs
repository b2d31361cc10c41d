//! BBQ: probing is bounded by alpha while there is a queue; all else is BBRv1.

use crate::support::bbr::*;
use crate::support::{Ack, Flow, ms};

/// At the start of the probing phase; min_rtt is 40 ms.
fn probing(settings: &[(&str, &str)]) -> Flow {
    probe_bw_at_of("bbq", UP, settings)
}

/// An ACK that alone would not end probing in BBRv1.
fn seen(rtt_us: u64, after_us: u64) -> Ack {
    part(1).after(after_us).rtt(rtt_us).prior_inflight(BDP)
}

#[test]
fn with_a_queue_probing_ends_after_3_ms_whatever_is_in_flight() {
    let mut f = probing(&[]);
    assert_eq!(f.on(seen(ms(41), ms(3))).gain(), UP);
    assert_eq!(f.on(seen(ms(41), 1)).gain(), DOWN);
}

#[test]
fn a_queue_is_an_rtt_one_percent_above_the_minimum() {
    for (rtt_us, gain) in [(40_399, UP), (40_400, DOWN)] {
        assert_eq!(probing(&[]).on(seen(rtt_us, ms(4))).gain(), gain, "{rtt_us} us");
    }
}

#[test]
fn without_a_queue_probing_is_that_of_bbr() {
    let mut f = probing(&[]);
    assert_eq!(f.on(seen(RTT, RTT)).gain(), UP);
    assert_eq!(f.on(seen(RTT, 1)).gain(), UP, "a min_rtt has passed, but 1.25 BDP is not in flight");
    assert_eq!(f.on(seen(RTT, 1).prior_inflight(2 * BDP)).gain(), DOWN);
}

#[test]
fn a_queue_that_appears_while_probing_ends_it() {
    let mut f = probing(&[]);
    assert_eq!(f.on(seen(RTT, ms(20))).gain(), UP);
    assert_eq!(f.on(seen(ms(41), 1)).gain(), DOWN);
}

#[test]
fn an_ack_without_an_rtt_leaves_the_last_one_in_force() {
    let mut f = probing(&[]);
    f.on(seen(ms(41), 1));
    assert_eq!(f.on(seen(ms(41), ms(4)).no_rtt()).gain(), DOWN);
}

#[test]
fn the_bound_is_min_rtt_where_that_is_shorter_than_alpha() {
    for (after, gain) in [(RTT, UP), (RTT + 1, DOWN)] {
        assert_eq!(probing(&[("alpha", "1s")]).on(seen(ms(41), after)).gain(), gain, "{after} us");
    }
}

#[test]
fn alpha_and_beta_are_parameters() {
    assert_eq!(probing(&[("alpha", "10ms")]).on(seen(ms(41), ms(10))).gain(), UP);
    assert_eq!(probing(&[("alpha", "10ms")]).on(seen(ms(41), ms(10) + 1)).gain(), DOWN);
    assert_eq!(probing(&[("beta", "10%")]).on(seen(ms(43), ms(4))).gain(), UP);
    assert_eq!(probing(&[("beta", "0.5%")]).on(seen(40_200, ms(4))).gain(), DOWN);
}

#[test]
fn until_inflight_keeps_bbrs_condition() {
    let mut f = probing(&[("until_inflight", "on")]);
    assert_eq!(f.on(seen(ms(41), RTT + 1)).gain(), UP);
    assert_eq!(f.on(seen(ms(41), 1).prior_inflight(2 * BDP)).gain(), DOWN);
}

#[test]
fn giving_back_and_cruising_are_those_of_bbr() {
    let mut f = probe_bw_at_of("bbq", DOWN, &[]);
    assert_eq!(f.on(seen(ms(41), RTT).prior_inflight(2 * BDP)).gain(), DOWN);
    assert_eq!(f.on(seen(ms(41), 1).prior_inflight(2 * BDP)).gain(), CRUISE);
    assert_eq!(f.on(seen(ms(41), RTT)).gain(), CRUISE);
    let mut f = probe_bw_at_of("bbq", DOWN, &[]);
    assert_eq!(f.on(seen(ms(41), ms(1))).gain(), CRUISE, "at once, when no more than a BDP is in flight");
}
