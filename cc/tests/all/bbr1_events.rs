//! BBRv1 when something goes wrong or nothing happens: loss, timeouts, undo, idle.

use crate::support::bbr::*;
use crate::support::{assert_near, ms, round, s};
use fairpace_cc::{CaState, Phase};

// ---- loss ----

#[test]
fn the_first_round_of_recovery_sends_what_is_delivered() {
    let mut f = probe_bw_at(CRUISE, &[]);
    f.on(part(BDP));
    f.recovery();
    f.on(part(3).losses(2).inflight(300));
    assert_eq!(f.cwnd(), 303, "in flight and acknowledged");
    f.on(part(2).inflight(298));
    assert_eq!(f.cwnd(), 303, "not less");
    f.on(part(2).inflight(310));
    assert_eq!(f.cwnd(), 312);
}

#[test]
fn later_rounds_of_recovery_grow_by_what_is_acknowledged_up_to_the_target() {
    let mut f = probe_bw_at(CRUISE, &[]);
    f.on(part(BDP));
    f.recovery();
    f.on(part(3).losses(2).inflight(300));
    f.on(round(100, RTT).rtt(RTT + 1000).inflight(300)); // a round later
    assert_eq!(f.cwnd(), 403);
    f.on(part(10));
    assert_eq!(f.cwnd(), 413);
}

#[test]
fn losses_come_off_the_window_down_to_one_packet() {
    let mut f = probe_bw_at(CRUISE, &[]);
    f.on(part(BDP));
    f.recovery();
    f.on(round(100, RTT).rtt(RTT + 1000).inflight(300));
    f.on(round(1, RTT).rtt(RTT + 1000).inflight(300)); // conservation is over
    let before = f.cwnd();
    f.on(part(1).losses(50));
    assert_eq!(f.cwnd(), before - 50 + 1);
    f.on(part(1).losses(100_000));
    assert_eq!(f.cwnd(), 4, "1 after the losses, 2 with the packet acknowledged, 4 at least");
}

#[test]
fn the_window_comes_back_when_recovery_ends() {
    let mut f = probe_bw_at(CRUISE, &[]);
    let before = f.on(part(BDP)).cwnd();
    f.recovery();
    f.on(part(3).losses(2).inflight(300));
    assert!(f.cwnd() < before);
    f.ca_state(CaState::Open);
    f.on(part(1).inflight(300));
    assert_near(f.cwnd(), before, 3);
}

#[test]
fn loss_changes_neither_bw_nor_pacing() {
    let mut f = probe_bw_at(CRUISE, &[]);
    let pacing = f.pacing();
    f.recovery();
    f.times(5, part(3).losses(20).inflight(300));
    assert_eq!(f.pacing(), pacing);
}

#[test]
fn a_timeout_restarts_the_growth_measurement_and_the_next_ack_allows_four_packets() {
    let mut f = startup(&[]);
    f.times(2, round(BDP, RTT).inflight(2 * BDP));
    f.timeout();
    assert_eq!(f.cwnd(), 1);
    f.on(part(1).inflight(1));
    assert_eq!(f.cwnd(), 4);
    // the count of two remains, but growth from nothing counts as growth: three more rounds
    f.on(round(BDP, RTT));
    f.times(2, round(BDP, RTT).inflight(2 * BDP));
    assert_eq!(f.phase(), Phase::Startup);
    assert_ne!(f.on(round(BDP, RTT).inflight(2 * BDP)).phase(), Phase::Startup);
}

#[test]
fn a_timeout_does_not_reopen_startup() {
    let mut f = probe_bw(&[]);
    f.timeout();
    f.on(round(BDP, RTT));
    assert!(!matches!(f.phase(), Phase::Startup | Phase::Drain));
}

#[test]
fn leaving_loss_restores_the_window_of_before_the_timeout() {
    let mut f = probe_bw_at(CRUISE, &[]);
    let before = f.on(part(BDP)).cwnd();
    f.timeout();
    f.times(3, part(1).inflight(3));
    assert!(f.cwnd() < 10);
    f.ca_state(CaState::Open);
    assert_near(f.on(part(1)).cwnd(), before, 3);
}

#[test]
fn a_timeout_in_recovery_does_not_forget_the_window_of_before_it() {
    let mut f = probe_bw_at(CRUISE, &[]);
    let before = f.on(part(BDP)).cwnd();
    f.recovery();
    f.on(part(3).losses(2).inflight(300));
    f.timeout();
    f.on(part(1).inflight(3)).ca_state(CaState::Open);
    assert_near(f.on(part(1)).cwnd(), before, 3);
}

#[test]
fn a_loss_in_probe_rtt_does_not_forget_the_window_of_before_it() {
    let mut f = probe_rtt();
    f.on(part(1).inflight(4));
    f.recovery().ca_state(CaState::Open);
    f.on(round(4, ms(201)).inflight(4));
    assert_ne!(f.phase(), Phase::ProbeRtt);
    assert!(f.cwnd() >= 2 * BDP, "{}", f.cwnd());
}

#[test]
fn undo_restarts_the_growth_measurement_and_leaves_the_window() {
    let mut f = startup(&[]);
    f.times(2, round(BDP, RTT).inflight(2 * BDP));
    f.recovery();
    let cwnd = f.cwnd();
    f.undo();
    assert_eq!(f.cwnd(), cwnd);
    f.times(3, round(BDP, RTT).inflight(2 * BDP));
    assert_eq!(f.phase(), Phase::Startup, "the count began again");
    f.on(round(BDP, RTT).inflight(2 * BDP));
    assert_ne!(f.phase(), Phase::Startup);
}

// ---- idle ----

#[test]
fn after_idle_the_flow_paces_at_bw_and_old_rtts_do_not_cause_probe_rtt() {
    let mut f = probe_bw_at(UP, &[]);
    f.idle(s(15));
    assert_near(f.pacing() as f64, rate(BDP, 256) * 0.99, 2e3);
    f.on(part(1).rtt(RTT + 5000));
    assert_ne!(f.phase(), Phase::ProbeRtt);
    assert_eq!(f.cc.observe().min_rtt_us, Some(45_000), "but the old minimum has expired");
    assert_eq!(
        f.on(part(1).after(s(10) + 1).rtt(RTT + 5000)).phase(),
        Phase::ProbeRtt,
        "only the first ACKs are old"
    );
}

#[test]
fn a_pause_that_is_not_the_applications_changes_nothing() {
    let mut f = probe_bw_at(UP, &[]);
    let pacing = f.pacing();
    assert_eq!(f.restart(s(15)).pacing(), pacing);
    assert_eq!(f.on(part(1).rtt(RTT + 5000)).phase(), Phase::ProbeRtt);
}

#[test]
fn idle_in_startup_keeps_the_gain() {
    let mut f = startup(&[]);
    let pacing = f.pacing();
    f.idle(s(1));
    assert_eq!((f.pacing(), f.gain()), (pacing, 739));
}

#[test]
fn probe_rtt_may_end_while_idle() {
    let mut f = probe_rtt();
    f.on(part(1).inflight(4));
    f.on(round(4, ms(100)).rtt(RTT).inflight(4));
    f.idle(s(1));
    f.on(part(1).rtt(RTT));
    assert_ne!(f.phase(), Phase::ProbeRtt);
}
