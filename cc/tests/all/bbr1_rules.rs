//! BBRv1, rules of Linux 6.18 tcp_bbr that do not show in the course of an ordinary flow (for that see
//! bbr1.rs): gains by state, the order of work on an ACK, arithmetic, ACK aggregation, bounds. Functions
//! named are those of net/ipv4/tcp_bbr.c.

use crate::support::bbr::*;
use crate::support::{Flow, MSS, ack, assert_near, ms, round, s};
use fairpace_cc::{CaState, Phase};

/// In PROBE_BW at the start of a phase, without the allowance for aggregation.
fn plain(gain: u32) -> Flow {
    probe_bw_at(gain, &[("extra_acked_gain", "0")])
}

// ---- states: bbr_update_gains, bbr_reset_mode ----

#[test]
fn each_state_has_its_gains() {
    let gains = |f: &Flow| (f.phase(), f.gain(), f.cc.observe().cwnd_gain_256);
    let cruise = probe_bw_at(CRUISE, &[]);
    for (flow, expected) in [
        (startup(&[]), (Phase::Startup, 739, 739)),
        (drain(&[]), (Phase::Drain, 88, 739)), // the window stays: only pacing drains
        (probe_bw_at(UP, &[]), (Phase::ProbeBwUp, 320, 512)),
        (probe_bw_at(DOWN, &[]), (Phase::ProbeBwDown, 192, 512)),
        (cruise, (Phase::ProbeBwCruise, 256, 512)),
        (probe_rtt(), (Phase::ProbeRtt, 256, 256)),
    ] {
        assert_eq!(gains(&flow), expected);
    }
}

/// A visit to PROBE_RTT that begins on the next ACK, and ends.
fn visit_probe_rtt(f: &mut Flow) -> &mut Flow {
    f.on(part(1).after(s(11)).inflight(2 * BDP));
    assert_eq!((f.phase(), f.cwnd()), (Phase::ProbeRtt, 4));
    f.on(part(1).inflight(4));
    f.on(round(4, ms(201)).rtt(RTT).inflight(4))
}

#[test]
fn probe_rtt_interrupts_drain_which_is_not_resumed() {
    let mut f = drain(&[]);
    visit_probe_rtt(&mut f);
    assert!(matches!(f.phase(), Phase::ProbeBwUp | Phase::ProbeBwCruise), "{:?}", f.phase());
}

#[test]
fn after_probe_rtt_the_gain_cycle_begins_anywhere_but_in_down() {
    let mut seen = std::collections::BTreeSet::new();
    let mut f = probe_bw(&[]);
    for _ in 0..60 {
        visit_probe_rtt(&mut f);
        seen.insert(f.clone().until_gain(UP, phase_long()));
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_lower_rtt_does_not_end_probe_rtt() {
    let mut f = probe_rtt();
    f.on(part(1).inflight(4)).on(round(4, RTT).rtt(RTT / 2).inflight(4));
    f.times(3, round(4, ms(50)).rtt(RTT / 2).inflight(4));
    assert_eq!(f.phase(), Phase::ProbeRtt, "190 ms");
    assert_eq!(f.cc.observe().min_rtt_us, Some(RTT as u32 / 2));
}

#[test]
fn in_probe_rtt_the_best_window_of_before_is_remembered() {
    // bbr_save_cwnd runs when the mode has changed already: what recovery had saved before is not
    // overwritten by less
    let mut f = plain(CRUISE);
    let before = f.on(part(BDP)).cwnd();
    f.recovery().ca_state(CaState::Open).on(part(1));
    f.view.cwnd_pkts = 50;
    f.on(part(1).after(s(11)));
    assert_eq!((f.phase(), f.cwnd()), (Phase::ProbeRtt, 4));
    f.on(part(1).inflight(4)).on(round(4, ms(201)).rtt(RTT).inflight(4));
    assert_near(f.cwnd(), before, 3 * burst(UP));
}

#[test]
fn every_ack_of_probe_rtt_marks_what_is_in_flight_as_limited_by_the_application() {
    let mut f = probe_rtt();
    for inflight in [100, 50, 4] {
        f.on(part(1).inflight(inflight));
        assert_eq!(f.decision.app_limited_until_pkts, f.view.delivered_pkts + inflight);
    }
    f.view.delivered_pkts = u32::MAX - 4;
    f.on(part(1).inflight(4)); // the sum wraps to zero, which would mean none
    assert_eq!(f.decision.app_limited_until_pkts, 1);
}

// ---- order of work: bbr_update_model ----

#[test]
fn one_ack_may_fill_the_pipe_find_it_drained_and_enter_probe_rtt() {
    let mut f = startup(&[]);
    f.times(2, round(BDP, RTT).inflight(2 * BDP));
    f.on(round(BDP, s(11)).delivered(BDP, RTT).rtt(RTT).inflight(10));
    assert_eq!((f.phase(), f.ssthresh()), (Phase::ProbeRtt, quantised(BDP, 739)), "by way of DRAIN");
    f.on(part(1).inflight(4)).on(round(4, ms(201)).rtt(RTT).inflight(4));
    assert_ne!(f.phase(), Phase::Startup, "the pipe is full");
}

#[test]
fn phases_are_cut_by_the_bw_of_the_same_ack() {
    let target = |pkts| quantised(pkts, DOWN);
    let mut f = plain(DOWN);
    f.on(part(1).after(1).delivered(2 * BDP, RTT).prior_inflight(target(2 * BDP)));
    assert_eq!(f.gain(), CRUISE, "twice the bw is twice the BDP, and that is drained");
}

#[test]
fn phases_are_cut_by_the_min_rtt_of_the_ack_before() {
    let mut f = plain(CRUISE);
    f.on(part(1).after(RTT - 5000).rtt(RTT / 2)); // the phase has lasted for less than the old min_rtt
    assert_eq!(f.cc.observe().min_rtt_us, Some(RTT as u32 / 2));
    let phases = f.until_gain(UP, part(1).after(RTT / 2 + 1).rtt(RTT));
    assert!(phases <= 6, "phases of half the length: {phases}");
}

// ---- estimates: bbr_update_bw, bbr_check_full_bw_reached ----

#[test]
fn there_is_no_bw_before_the_first_sample() {
    assert_eq!(Flow::start("bbr1", &[]).cc.observe().bw_Bps, 0); // ns-3 begins with cwnd / RTT
}

#[test]
fn a_sample_is_rounded_down_to_2_to_the_minus_24_packets_per_us() {
    for (interval_us, bw) in [(16_777_216, 1), (16_777_217, 0), (5_592_406, 2), (5_592_405, 3)] {
        let mut f = Flow::start("bbr1", &[]);
        f.on(ack(1).rtt(RTT).delivered(1, interval_us).new_round().inflight(1));
        assert_eq!(f.cc.observe().bw_Bps, (bw * MSS * 1_000_000) >> 24, "1 packet in {interval_us} us");
    }
}

#[test]
fn a_sample_of_nothing_delivered_is_valid_and_may_begin_a_round() {
    let mut f = startup(&[]);
    let none = round(BDP, RTT).delivered(0, RTT).inflight(2 * BDP);
    f.times(2, none);
    assert_eq!(f.phase(), Phase::Startup);
    assert_ne!(f.on(none).phase(), Phase::Startup, "three rounds without growth");
}

#[test]
fn growth_is_that_of_the_maximum_not_of_the_latest_sample() {
    // after a timeout growth is measured from nothing: the maximum is there at once, and samples that
    // double change nothing
    let mut f = startup(&[]);
    f.timeout();
    for pkts in [10, 20, 40] {
        f.on(round(pkts, RTT).inflight(BDP));
        assert_eq!(f.phase(), Phase::Startup);
    }
    assert_ne!(f.on(round(80, RTT).inflight(BDP)).phase(), Phase::Startup);
}

#[test]
fn idle_time_ends_when_something_is_delivered() {
    let mut f = probe_bw_at(CRUISE, &[]);
    f.idle(s(15)).on(ack(0)).on(part(0).delivered(0, RTT));
    f.on(part(1).after(1));
    assert_ne!(f.phase(), Phase::ProbeRtt);
}

// ---- ACK aggregation: bbr_update_ack_aggregation, bbr_ack_aggregation_cwnd ----

/// In CRUISE, five to ten rounds after anything that was ahead of bw, with a window that is no bound.
fn steady(settings: &[(&str, &str)]) -> Flow {
    let mut f = probe_bw_at(CRUISE, settings);
    f.times(12, round(BDP, RTT).rtt(RTT + 1000).acked(1));
    f.until_gain(CRUISE, phase_long().acked(1));
    f.view.cwnd_pkts = 1 << 24;
    f
}

/// What the window of this flow allows for aggregation.
fn allowance(f: &Flow) -> u32 {
    f.cwnd() - quantised(2 * BDP, CRUISE)
}

/// Rounds in no time, so that bins change and the epoch goes on.
fn rounds_in_no_time(f: &mut Flow, rounds: u32) {
    f.times(rounds, round(BDP, RTT).after(0).rtt(RTT + 1000).acked(1));
    f.view.cwnd_pkts = 1 << 24;
    f.on(part(1).after(0));
}

#[test]
fn acks_at_the_rate_of_bw_add_at_most_a_packet() {
    let mut f = steady(&[]);
    f.times(50, part(1).after(100));
    assert!(allowance(&f) <= 2, "{}: one, made even", allowance(&f));
}

#[test]
fn what_is_acknowledged_beyond_bw_is_bounded_by_cwnd() {
    for (cwnd, extra) in [(100_000, 2000), (900, 900)] {
        let mut f = steady(&[("extra_acked_max", "1s")]);
        f.view.cwnd_pkts = cwnd;
        f.on(part(2000).after(0));
        assert_near(allowance(&f), extra, 2);
    }
}

#[test]
fn aggregation_is_remembered_for_five_to_ten_rounds() {
    let mut f = steady(&[]);
    f.on(part(500).after(0));
    let slow = round(BDP, RTT).rtt(RTT + 1000).acked(1); // nothing is ahead of bw
    let remembered = (1..20).find(|_| {
        f.view.cwnd_pkts = 1 << 24;
        f.on(slow);
        f.gain() == CRUISE && allowance(&f) < 400
    });
    assert!((5..=11).contains(&remembered.unwrap()), "{remembered:?}");
}

#[test]
fn the_allowance_waits_until_the_pipe_is_full() {
    let mut f = startup(&[]);
    f.view.cwnd_pkts = 5000;
    f.on(part(3000).after(0).inflight(2 * BDP)); // far ahead of bw
    let target = quantised((f64::from(BDP) * 739.0 / 256.0).ceil() as u32, 739);
    f.view.cwnd_pkts = target;
    assert_eq!(f.on(part(1).inflight(2 * BDP)).cwnd(), target, "no growth at the target");
}

#[test]
fn an_epoch_ends_at_2_to_the_20_packets() {
    for (more, extra) in [(900, 10_000), (1000, 1010)] {
        let mut f = steady(&[("extra_acked_max", "1s")]); // of bw: 10,000 packets
        f.on(part((1 << 20) - 1000).after(0)).on(part(more).after(0));
        rounds_in_no_time(&mut f, 10);
        assert_near(allowance(&f), extra, 4);
    }
}

#[test]
fn after_idle_time_an_epoch_begins() {
    for (idle, extra) in [(false, 500), (true, 300)] {
        let mut f = steady(&[]);
        f.on(part(300).after(0));
        if idle {
            f.idle(0);
        }
        f.view.cwnd_pkts = 1 << 24;
        f.on(part(200).after(0));
        assert_near(allowance(&f), extra, 2);
    }
}

// ---- controls: bbr_tso_segs_goal, bbr_packets_in_net_at_edt, bbr_set_cwnd ----

/// In CRUISE with a window of gain 1 on this BDP; the burst is a third of what is on top.
fn burst_of(rate_bit: u64, mss: u64, shift: u8) -> u32 {
    let rtt = ms(100);
    let per_ks = (rate_bit * 1000 / 8 / mss) as u32;
    let mut f = Flow::start_with("bbr1", &[("extra_acked_gain", "0"), ("cwnd_gain", "1")], |v| {
        (v.mss_bytes, v.pacing_shift) = (mss as u32, shift);
    });
    let ack =
        round(1_000_000, rtt).delivered(per_ks, s(1000)).inflight(0).after(rtt + 1).prior_inflight(1 << 30);
    f.times(12, ack);
    f.until_gain(CRUISE, ack);
    let bdp = (f64::from(per_ks) / 10_000.0).ceil() as u32;
    (f.cwnd() - bdp) / 3
}

#[test]
fn a_burst_is_a_millisecond_at_the_pacing_rate_within_bounds() {
    // 0.99 * rate / 8 / 2^shift bytes, of at most 65535 - 320, in packets; even windows hide a packet at most
    for (rate_bit, mss, shift, pkts) in [
        (100_000_000, MSS, 10, 8),     // 12 kB
        (100_000_000, MSS, 9, 16),     // 24 kB
        (100_000_000, MSS, 7, 45),     // 64 KiB bind
        (1_000_000_000, MSS, 10, 45),  // likewise
        (1_000_000_000, 500, 10, 127), // 130 packets: 7 bits in Linux
        (5_000_000, MSS, 10, 2),       // 0.4 packets: two at least
        (1_000_000, MSS, 10, 1),       // below 1.2 Mbit/s one
    ] {
        assert_eq!(burst_of(rate_bit, mss, shift), pkts, "{rate_bit} bit/s, {mss} bytes, shift {shift}");
    }
}

#[test]
fn a_pacer_far_ahead_leaves_nothing_in_the_network() {
    let mut f = drain(&[]);
    f.view.departure_lead_us = u32::MAX;
    assert_ne!(f.on(part(1).inflight(1_000_000)).phase(), Phase::Drain);
}

#[test]
fn before_the_pipe_is_full_the_window_does_not_shrink_to_its_target() {
    let mut f = startup(&[]);
    f.view.cwnd_pkts = 100_000;
    assert_eq!(f.on(part(10).inflight(2 * BDP)).cwnd(), 100_000);
}

#[test]
fn an_ack_that_acknowledges_nothing_changes_the_window_in_probe_rtt_only() {
    let mut f = plain(CRUISE);
    f.view.cwnd_pkts = 5000;
    assert_eq!(f.on(part(0)).cwnd(), 5000);
    assert_eq!(f.on(part(0).after(s(11))).phase(), Phase::ProbeRtt);
    assert_eq!(f.cwnd(), 4);
}

// ---- recovery: bbr_set_cwnd_to_recover_or_restore, bbr_ssthresh ----

#[test]
fn a_recovery_that_no_delivery_has_seen_is_none() {
    let mut f = plain(CRUISE);
    let before = f.on(part(BDP)).cwnd();
    f.recovery().on(part(0).losses(3).inflight(300)); // nothing acknowledged
    f.ca_state(CaState::Open);
    assert_eq!(f.on(part(1).inflight(300)).cwnd(), before, "no first round, nothing to restore");
}

#[test]
fn a_second_reduction_in_recovery_remembers_the_better_window() {
    let mut f = plain(CRUISE);
    let before = f.on(part(BDP)).cwnd();
    f.recovery().on(part(3).losses(2).inflight(200));
    assert_eq!(f.cwnd(), 203);
    f.recovery(); // saves again, at 203
    f.ca_state(CaState::Open);
    assert_near(f.on(part(1)).cwnd(), before, 3);
}

#[test]
fn congestion_marks_change_neither_rate_nor_window() {
    let mut f = plain(CRUISE);
    f.on(part(BDP));
    let (cwnd, pacing) = (f.cwnd(), f.pacing());
    f.ca_state(CaState::Cwr);
    f.view.is_ece = true;
    f.times(5, part(10));
    assert_eq!((f.cwnd(), f.pacing()), (cwnd, pacing));
    f.ca_state(CaState::Open);
    assert_eq!(f.on(part(10)).cwnd(), cwnd);
}

#[test]
fn a_second_timeout_without_an_ack_in_between_remembers_the_better_window() {
    let mut f = plain(CRUISE);
    let before = f.on(part(BDP)).cwnd();
    f.timeout().timeout();
    f.times(3, part(1).inflight(3)).ca_state(CaState::Open);
    assert_near(f.on(part(1)).cwnd(), before, 3);
}

#[test]
fn an_app_limited_sample_that_equals_the_maximum_keeps_it() {
    let mut f = probe_bw(&[]);
    f.times(8, round(BDP / 2, RTT)).on(round(BDP, RTT).app_limited()).times(9, round(BDP / 2, RTT));
    assert_near(f.cc.observe().bw_Bps as f64, rate(BDP, 256), 1e3);
}
