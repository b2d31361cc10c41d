//! BBRv1 when something goes wrong or nothing happens: loss, timeouts, undo, policers, idle.

mod script;
use fairpace_cc::{CaState, Phase};
use script::bbr::*;
use script::{Ack, Flow, assert_near, ms, round, s};

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

// ---- policers ----

/// What the policer lets through per round.
const POLICED: u32 = 200;

/// A round of which more than 19.5 % of what is delivered is lost on top.
fn policed(pkts: u32) -> Ack {
    round(pkts, RTT).rtt(RTT + 1000).losses(pkts * 3 / 10).inflight(BDP)
}

fn bw(f: &Flow) -> f64 {
    f.cc.observe().bw_Bps as f64
}

/// Whether bw is a policer's rate: then a faster round does not raise it.
fn in_use(f: &Flow) -> bool {
    bw(f.clone().on(round(BDP, RTT).rtt(RTT + 1000))) < rate(BDP, 256) * 0.9
}

/// A flow that has seen two intervals of loss at one rate, and uses that rate.
fn found_out() -> Flow {
    let mut f = probe_bw_at(CRUISE, &[]);
    f.times(8, policed(POLICED));
    assert_near(bw(&f), rate(POLICED, 256), 1e4);
    f
}

#[test]
fn two_lossy_intervals_of_four_rounds_at_one_rate_reveal_a_policer() {
    let mut f = probe_bw_at(CRUISE, &[]);
    f.times(7, policed(POLICED));
    assert_near(bw(&f), rate(BDP, 256), 1e4);
    f.on(policed(POLICED));
    assert_near(bw(&f), rate(POLICED, 256), 1e4);
    assert_eq!(f.gain(), CRUISE);
}

#[test]
fn a_policers_rate_is_used_without_probing_for_48_rounds() {
    let mut f = found_out();
    let lossless = round(BDP, RTT).rtt(RTT + 1000);
    for _ in 0..47 {
        f.on(lossless);
        assert_eq!(f.gain(), CRUISE);
        assert_near(bw(&f), rate(POLICED, 256), 1e4);
        assert_near(f.pacing() as f64, rate(POLICED, 256) * 0.99, 1e4);
    }
    f.on(lossless);
    assert_near(bw(&f), rate(BDP, 256), 1e4);
    let mut gains = std::collections::BTreeSet::new();
    for _ in 0..10 {
        gains.insert(f.on(phase_long()).gain());
    }
    assert!(gains.contains(&UP) && gains.contains(&DOWN));
}

#[test]
fn rates_agree_within_an_eighth() {
    for (second, agree) in [(POLICED * 111 / 100, true), (POLICED * 115 / 100, false)] {
        let mut f = probe_bw_at(CRUISE, &[]);
        f.times(4, policed(POLICED)).times(4, policed(second));
        let found = if agree { (POLICED + second) / 2 } else { BDP };
        assert_near(bw(&f), rate(found, 256), 1e4);
    }
}

#[test]
fn less_than_a_fifth_of_loss_is_no_policer() {
    // 50/256 of what is delivered
    for (losses, found) in [(39, false), (40, true)] {
        let mut f = probe_bw_at(CRUISE, &[]);
        f.times(8, policed(POLICED).losses(losses));
        assert_eq!(in_use(&f), found, "{losses}");
    }
}

#[test]
fn an_interval_ends_with_a_loss_within_sixteen_rounds() {
    let lossless = policed(POLICED).losses(0);
    for (lossless_rounds, found) in [(14, true), (15, false)] {
        let mut f = probe_bw_at(CRUISE, &[]);
        f.times(4, policed(POLICED));
        // the second interval: losses early, enough for all of it, and one at the end
        f.on(policed(POLICED).losses(800)).times(lossless_rounds, lossless);
        assert!(!in_use(&f));
        f.on(policed(POLICED));
        assert_eq!(in_use(&f), found, "{} rounds", lossless_rounds + 2);
    }
}

#[test]
fn an_app_limited_ack_restarts_the_search_for_policers() {
    let mut f = probe_bw_at(CRUISE, &[]);
    f.times(7, policed(POLICED)).on(policed(POLICED).app_limited()).times(7, policed(POLICED));
    assert!(!in_use(&f));
    f.on(policed(POLICED));
    assert!(in_use(&f));
}

#[test]
fn undo_forgets_a_policer() {
    let mut f = found_out();
    f.recovery().undo();
    f.on(round(BDP, RTT).rtt(RTT + 1000));
    assert_near(bw(&f), rate(BDP, 256), 1e4);
}

#[test]
fn a_timeout_counts_as_loss_for_policers() {
    let mut f = probe_bw_at(CRUISE, &[]);
    f.timeout(); // opens an interval, as a round
    f.ca_state(CaState::Open);
    f.times(6, policed(POLICED));
    assert!(!in_use(&f));
    f.on(policed(POLICED));
    assert!(in_use(&f));
}

#[test]
fn the_search_for_policers_can_be_switched_off() {
    let mut f = probe_bw_at(CRUISE, &[("lt_bw", "off")]);
    f.times(20, policed(POLICED));
    assert!(!in_use(&f));
}
