//! BBRv1 as first merged (Linux 4.9 net/ipv4/tcp_bbr.c): each difference from today, beside what today's
//! does. What makes the differences are parameters of bbr1, see cc/bbr1.h.

use crate::support::bbr::*;
use crate::support::{Flow, MSS, ack, assert_near, ms, round, s};
use fairpace_cc::{Algorithm, INFINITE, Phase};

const NOW: &str = "bbr1";
const THEN: &str = "bbr1_49";

/// In DRAIN, with twice the BDP in flight.
fn drain_of(algorithm: &str) -> Flow {
    let mut f = startup_of(algorithm, &[]);
    f.times(3, round(BDP, RTT).inflight(2 * BDP));
    assert_eq!(f.phase(), Phase::Drain);
    f
}

/// In PROBE_RTT, the pipe still full, min_rtt just expired.
fn probe_rtt_of(algorithm: &str) -> Flow {
    let mut f = probe_bw_at_of(algorithm, CRUISE, &[]);
    f.on(part(BDP)).on(part(1).after(s(10) + 1));
    assert_eq!(f.phase(), Phase::ProbeRtt);
    f
}

#[test]
fn it_is_bbr1_with_other_parameters() {
    let preset = Algorithm::by_name(THEN).unwrap().preset().expect("a preset");
    assert_eq!(preset.algorithm, NOW);
    assert_eq!(preset.settings.split_whitespace().count(), 15);
}

#[test]
fn pacing_has_no_margin() {
    assert_near(startup_of(NOW, &[]).pacing() as f64, rate(BDP, 739) * 0.99, 1e3);
    assert_near(startup_of(THEN, &[]).pacing() as f64, rate(BDP, 739), 1e3);
}

#[test]
fn the_first_rtt_does_not_set_the_rate_anew() {
    let after_first_rtt = |algorithm| {
        let mut f = Flow::start(algorithm, &[]);
        let first = f.pacing();
        f.on(ack(1).rtt(RTT).delivered(1, RTT).inflight(9));
        (first, f.pacing())
    };
    let (first, then) = after_first_rtt(THEN);
    assert_near(first as f64, 10.0 * MSS as f64 / 1e-3 * 739.0 / 256.0, 1e3); // 1 ms
    assert_eq!(then, first, "stays until bw is above it");
    let (first, now) = after_first_rtt(NOW);
    assert_near(first as f64 / now as f64, 40.0, 0.1);
}

#[test]
fn outside_startup_the_rate_may_fall_before_the_pipe_was_full() {
    for (algorithm, gain, margin) in [(NOW, 739, 0.99), (THEN, 256, 1.0)] {
        let mut f = startup_of(algorithm, &[]);
        f.on(round(BDP / 2, RTT));
        assert_near(f.pacing() as f64, rate(BDP, 739) * margin, 1e3); // in STARTUP it never falls
        f.on(part(1).after(s(11)));
        assert_eq!((f.phase(), f.gain()), (Phase::ProbeRtt, 256));
        assert_near(f.pacing() as f64, rate(BDP, gain) * margin, 1e3);
    }
}

#[test]
fn probing_allows_for_no_two_packets_more() {
    for (algorithm, more) in [(NOW, 2), (THEN, 0)] {
        let mut f = probe_bw_at_of(algorithm, UP, &[("extra_acked_gain", "0")]);
        f.on(part(2 * BDP));
        assert_eq!(f.cwnd(), quantised(2 * BDP, UP) + more, "{algorithm}");
    }
}

#[test]
fn probing_ends_when_a_quarter_more_is_in_flight_whatever_the_pacer_holds() {
    let enough = quantised(BDP * 5 / 4, UP);
    for (prior, gain) in [(enough - 1, UP), (enough, DOWN)] {
        let mut f = probe_bw_at_of(THEN, UP, &[]);
        f.view.departure_lead_us = 10_000; // 100 packets will have been delivered by then
        f.on(part(1).after(RTT + 1).prior_inflight(prior));
        assert_eq!(f.gain(), gain, "{prior}");
    }
}

#[test]
fn draining_ends_when_a_bdp_is_in_flight_whatever_the_pacer_holds() {
    for (algorithm, delivered) in [(NOW, 100), (THEN, 0)] {
        let mut f = drain_of(algorithm);
        f.view.departure_lead_us = 10_001;
        f.on(part(1).inflight(quantised(BDP, 88) + delivered + 1));
        assert_eq!(f.phase(), Phase::Drain, "{algorithm}");
        f.on(part(1).inflight(quantised(BDP, 88) + delivered));
        assert_ne!(f.phase(), Phase::Drain, "{algorithm}");
    }
}

#[test]
fn aggregated_acks_do_not_raise_the_window() {
    let mut f = probe_bw_at_of(THEN, CRUISE, &[]);
    f.view.cwnd_pkts = 100_000;
    assert_eq!(f.on(part(1500).after(1)).cwnd(), quantised(2 * BDP, CRUISE));
}

#[test]
fn while_a_policers_rate_is_in_use_the_gain_cycle_stands_still() {
    // the index shows in today's window, which is 2 packets larger in UP
    for (lt_cycle, windows) in [("on", 2), ("off", 1)] {
        let settings = [("lt_cycle", lt_cycle), ("extra_acked_gain", "0")];
        let mut f = probe_bw_at_of(NOW, CRUISE, &settings);
        let policed = round(BDP / 2, RTT).rtt(RTT + 1000).losses(BDP / 6).inflight(BDP);
        f.times(8, policed);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..40 {
            f.on(policed.losses(0).after(RTT + 1));
            assert_eq!(f.gain(), CRUISE, "{lt_cycle}");
            seen.insert(f.cwnd());
        }
        assert_eq!(seen.len(), windows, "{lt_cycle}: {seen:?}");
    }
}

#[test]
fn an_expired_min_rtt_is_replaced_even_by_a_delayed_ack() {
    for (algorithm, min_rtt_ms) in [(NOW, 30), (THEN, 35)] {
        let mut f = probe_bw_at_of(algorithm, CRUISE, &[]);
        f.on(part(1).rtt(ms(30))).on(part(1).after(s(10) + 1).rtt(ms(35)).delayed());
        assert_eq!(f.cc.observe().min_rtt_us, Some(min_rtt_ms * 1000), "{algorithm}");
    }
}

/// Linux 5.10, commit 1b9e2a8c99a5: until then an equal RTT postponed PROBE_RTT.
#[test]
fn an_rtt_equal_to_the_minimum_postpones_probe_rtt() {
    for (algorithm, postponed) in [(NOW, false), (THEN, true)] {
        let mut f = probe_bw_at_of(algorithm, CRUISE, &[]);
        f.on(part(1).rtt(RTT - 1)).on(part(1).after(s(9)).rtt(RTT - 1));
        f.on(part(1).after(s(1) + 1));
        assert_eq!(f.phase() != Phase::ProbeRtt, postponed, "{algorithm}");
    }
}

#[test]
fn idle_time_ends_with_any_ack() {
    for (algorithm, phase) in [(NOW, Phase::ProbeBwCruise), (THEN, Phase::ProbeRtt)] {
        let mut f = probe_bw_at_of(algorithm, CRUISE, &[]);
        f.idle(s(15)).on(ack(0)); // a window update
        f.on(part(1).after(1));
        assert_eq!(f.phase(), phase, "{algorithm}: the second ACK finds min_rtt expired");
    }
}

#[test]
fn probe_rtt_does_not_end_when_sending_resumes() {
    for (algorithm, stays) in [(NOW, false), (THEN, true)] {
        let mut f = probe_rtt_of(algorithm);
        f.on(part(1).inflight(4)).on(round(4, ms(100)).rtt(RTT).inflight(4));
        f.idle(s(1));
        assert_eq!(f.phase() == Phase::ProbeRtt, stays, "{algorithm}");
    }
}

#[test]
fn an_ack_that_acknowledges_nothing_does_not_bring_the_window_down_in_probe_rtt() {
    for (algorithm, comes_down) in [(NOW, true), (THEN, false)] {
        let mut f = probe_bw_at_of(algorithm, CRUISE, &[]);
        let before = f.on(part(BDP)).cwnd();
        f.on(part(0).after(s(10) + 1));
        assert_eq!(f.phase(), Phase::ProbeRtt);
        assert_eq!(f.cwnd(), if comes_down { 4 } else { before }, "{algorithm}");
        assert_eq!(f.on(part(1)).cwnd(), 4, "{algorithm}");
    }
}

#[test]
fn an_undo_forgets_nothing() {
    for (algorithm, more_rounds) in [(NOW, 4), (THEN, 1)] {
        let mut f = startup_of(algorithm, &[]);
        f.times(2, round(BDP, RTT).inflight(2 * BDP)).recovery().undo();
        let rounds = (1..9).find(|_| f.on(round(BDP, RTT).inflight(2 * BDP)).phase() != Phase::Startup);
        assert_eq!(rounds, Some(more_rounds), "{algorithm}: of the three rounds two are counted");
    }
    for (algorithm, pkts) in [(NOW, BDP), (THEN, BDP / 2)] {
        let mut f = probe_bw_at_of(algorithm, CRUISE, &[]);
        f.times(8, round(BDP / 2, RTT).rtt(RTT + 1000).losses(BDP / 6).inflight(BDP));
        f.recovery().undo();
        f.on(round(BDP, RTT).rtt(RTT + 1000));
        assert_near(f.cc.observe().bw_Bps as f64, rate(pkts, 256), 1e4);
    }
}

/// The latched "pipe is full" came together with the reset by undo; a count that nothing resets says the
/// same.
#[test]
fn neither_a_timeout_nor_an_undo_reopens_startup() {
    for algorithm in [NOW, THEN] {
        let mut f = probe_bw_at_of(algorithm, CRUISE, &[]);
        f.timeout().undo().on(round(BDP, RTT));
        assert!(!matches!(f.phase(), Phase::Startup | Phase::Drain), "{algorithm}");
    }
}

#[test]
fn ssthresh_stays_infinite() {
    assert_eq!(drain_of(NOW).ssthresh(), quantised(BDP, 739));
    assert_eq!(drain_of(THEN).ssthresh(), INFINITE);
}

#[test]
fn a_policers_rate_is_measured_in_jiffies() {
    // Rounds of 40.5 ms from a tick of both clocks on. The first interval opens with the first loss, at
    // 40.5 ms, and closes with the fourth, at 162 ms; the second at 324 ms. In whole milliseconds that is
    // 162 - 40 and 324 - 162, in jiffies of 4 ms 160 - 40 and 324 - 160; 600 and 800 packets are delivered,
    // and bw is the mean of the rates.
    for (algorithm, first_ms, second_ms) in [(NOW, 122.0, 162.0), (THEN, 120.0, 164.0)] {
        let mut f = probe_bw_at_of(algorithm, CRUISE, &[]);
        f.on(part(1).after(4000 - f.view.now_us % 4000));
        f.times(8, round(200, RTT).after(40_500).rtt(RTT + 1000).losses(60).inflight(BDP));
        let pkts_per_ms = f.cc.observe().bw_Bps as f64 / MSS as f64 / 1e3;
        assert_near(pkts_per_ms, (600.0 / first_ms + 800.0 / second_ms) / 2.0, 1e-4);
    }
}
