//! Reno: slow start, additive increase, halving (RFC 5681; Linux tcp_cong).

use crate::support::{Flow, ack};
use fairpace_cc::{CaState, INFINITE, Phase};

/// A flow that fills its window.
fn reno() -> Flow {
    Flow::start_with("reno", &[], |v| v.cwnd_limited = true)
}

#[test]
fn slow_start_adds_a_packet_per_packet_acknowledged() {
    let mut f = reno();
    assert_eq!((f.cwnd(), f.ssthresh(), f.phase()), (10, INFINITE, Phase::SlowStart));
    assert_eq!(f.on(ack(1)).cwnd(), 11);
    assert_eq!(f.on(ack(2)).cwnd(), 13);
    assert_eq!(f.times(13, ack(1)).cwnd(), 26, "doubles in a round");
}

#[test]
fn slow_start_stops_at_ssthresh_and_the_remaining_acks_count_for_avoidance() {
    let mut f = reno();
    f.view.ssthresh_pkts = 12;
    f.on(ack(5)); // 2 to reach 12, 3 of the 12 for the next packet
    assert_eq!((f.cwnd(), f.phase()), (12, Phase::Avoidance));
    assert_eq!(f.on(ack(8)).cwnd(), 12);
    assert_eq!(f.on(ack(1)).cwnd(), 13);
}

#[test]
fn avoidance_adds_a_packet_per_window_acknowledged() {
    let mut f = reno();
    f.view.ssthresh_pkts = 10;
    for cwnd in 10..20 {
        assert_eq!(f.cwnd(), cwnd);
        assert_eq!(f.times(cwnd - 1, ack(1)).cwnd(), cwnd);
        assert_eq!(f.on(ack(1)).cwnd(), cwnd + 1);
    }
}

#[test]
fn one_ack_for_several_windows_grows_by_several_packets() {
    let mut f = reno();
    f.view.ssthresh_pkts = 10;
    assert_eq!(f.on(ack(35)).cwnd(), 13); // 35 / 10, 5 remain
    assert_eq!(f.on(ack(8)).cwnd(), 14); // 13 of 13
}

#[test]
fn loss_halves_and_growth_goes_on_from_there() {
    let mut f = reno();
    f.times(91, ack(1));
    assert_eq!(f.cwnd(), 101);
    f.recovery();
    assert_eq!((f.cwnd(), f.ssthresh(), f.phase()), (50, 50, Phase::Avoidance));
    assert_eq!(f.on(ack(50)).cwnd(), 50, "no growth while recovering");
    f.ca_state(CaState::Open);
    assert_eq!(f.on(ack(50)).cwnd(), 51);
}

#[test]
fn a_reduction_discards_what_was_acknowledged_towards_the_next_packet() {
    let mut f = reno();
    f.view.ssthresh_pkts = 10;
    f.on(ack(9)).recovery().ca_state(CaState::Open);
    assert_eq!(f.on(ack(4)).cwnd(), 5);
    assert_eq!(f.on(ack(1)).cwnd(), 6);
}

#[test]
fn ssthresh_never_falls_below_two() {
    let mut f = reno();
    f.view.cwnd_pkts = 1;
    assert_eq!(f.recovery().ssthresh(), 2);
}

#[test]
fn a_timeout_restarts_slow_start_up_to_half() {
    let mut f = reno();
    f.times(54, ack(1));
    assert_eq!(f.cwnd(), 64);
    f.timeout();
    assert_eq!((f.cwnd(), f.ssthresh(), f.phase()), (1, 32, Phase::SlowStart));
    f.ca_state(CaState::Open);
    f.times(31, ack(1));
    assert_eq!((f.cwnd(), f.phase()), (32, Phase::Avoidance));
}

#[test]
fn undo_brings_the_window_back() {
    let mut f = reno();
    f.times(90, ack(1));
    f.recovery();
    assert_eq!(f.cwnd(), 50);
    assert_eq!(f.undo().cwnd(), 100);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut f = reno();
    f.view.cwnd_limited = false;
    f.view.max_inflight_pkts = 5;
    assert_eq!(f.on(ack(5)).cwnd(), 10, "slow start, half of the window or less in use");
    f.view.max_inflight_pkts = 6;
    assert_eq!(f.on(ack(5)).cwnd(), 15, "slow start, more than half");
    f.view.ssthresh_pkts = 10;
    f.view.max_inflight_pkts = 15;
    assert_eq!(f.times(10, ack(15)).cwnd(), 15, "avoidance needs a whole cwnd");
}

#[test]
fn beta_sets_what_is_kept() {
    let mut f = Flow::start_with("reno", &[("beta", "0.8")], |v| v.cwnd_pkts = 100);
    assert_eq!(f.recovery().cwnd(), 79); // 819/1024
}
