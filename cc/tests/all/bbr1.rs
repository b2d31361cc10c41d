//! BBRv1: the model, the state machine and the controls, rule by rule as Linux 6.18 has them.

use crate::support::bbr::*;
use crate::support::{Flow, MSS, ack, assert_near, ms, round, s};
use fairpace_cc::{INFINITE, Phase};

// ---- startup ----

#[test]
fn the_first_pacing_rate_is_startup_gain_times_the_initial_window_per_millisecond_until_an_rtt_is_known() {
    let f = Flow::start("bbr1", &[]);
    let window = 10.0 * MSS as f64 * 739.0 / 256.0 * 0.99;
    assert_near(f.pacing() as f64, window / 1e-3, 1e3);
    let f = Flow::start_with("bbr1", &[], |v| v.srtt_us = 40_000);
    assert_near(f.pacing() as f64, window / 40e-3, 1e2);
}

#[test]
fn the_first_rtt_sample_sets_the_pacing_rate_anew_once() {
    let mut f = Flow::start("bbr1", &[]);
    f.on(ack(1).rtt(RTT).delivered(1, RTT).inflight(9)); // a poor bw sample: known: 10 packets per RTT
    assert_near(f.pacing() as f64, 10.0 * MSS as f64 / 40e-3 * 739.0 / 256.0 * 0.99, 1e4);
    let first = f.pacing();
    f.on(ack(1).rtt(2 * RTT).delivered(1, RTT).inflight(9));
    assert_eq!(f.pacing(), first);
}

#[test]
fn pacing_in_startup_is_gain_times_bw_less_one_percent_and_never_falls() {
    let mut f = startup(&[]);
    assert_near(f.pacing() as f64, rate(BDP, 739) * 0.99, 1e3);
    f.on(round(BDP / 2, RTT)); // no lower
    assert_near(f.pacing() as f64, rate(BDP, 739) * 0.99, 1e3);
}

#[test]
fn cwnd_in_startup_grows_by_what_is_acknowledged_and_only_below_its_target() {
    let mut f = startup(&[]);
    let target = quantised((f64::from(BDP) * 739.0 / 256.0).ceil() as u32, 739);
    let mut before = f.cwnd();
    assert_eq!(before, 10 + 1030, "10 ... 400 were acknowledged");
    while f.cwnd() < target {
        f.on(part(100).inflight(2 * BDP));
        assert_eq!(f.cwnd(), before + 100);
        before = f.cwnd();
    }
    assert_eq!(f.on(part(100).inflight(2 * BDP)).cwnd(), before);
}

#[test]
fn three_rounds_without_a_quarter_more_bandwidth_fill_the_pipe() {
    let mut f = startup(&[]);
    f.on(round(BDP * 124 / 100, RTT).inflight(2 * BDP)); // 24 % more does not count
    f.on(round(BDP, RTT).inflight(2 * BDP));
    assert_eq!(f.phase(), Phase::Startup);
    f.on(round(BDP, RTT).inflight(2 * BDP));
    assert_eq!(f.phase(), Phase::Drain);
    let mut f = startup(&[]);
    f.times(2, round(BDP, RTT).inflight(2 * BDP));
    f.on(round(BDP * 126 / 100, RTT).inflight(2 * BDP)); // 26 % does: begin again
    f.times(2, round(BDP, RTT).inflight(2 * BDP));
    assert_eq!(f.phase(), Phase::Startup);
    assert_eq!(f.on(round(BDP, RTT).inflight(2 * BDP)).phase(), Phase::Drain);
}

#[test]
fn rounds_that_the_application_limited_do_not_fill_the_pipe() {
    let mut f = startup(&[]);
    f.times(20, round(BDP, RTT).inflight(2 * BDP).app_limited());
    assert_eq!(f.phase(), Phase::Startup);
}

#[test]
fn acks_within_a_round_do_not_count_as_rounds() {
    let mut f = startup(&[]);
    f.times(20, part(10).inflight(2 * BDP));
    assert_eq!(f.phase(), Phase::Startup);
}

#[test]
fn full_bw_rounds_and_gain_are_parameters() {
    let mut f = startup(&[("full_bw_rounds", "1")]);
    assert_eq!(f.on(round(BDP, RTT).inflight(2 * BDP)).phase(), Phase::Drain);
}

// ---- drain ----

#[test]
fn drain_ends_when_no_more_than_a_bdp_is_in_flight() {
    let mut f = drain(&[]);
    assert_near(f.pacing() as f64, rate(BDP, 88) * 0.99, 1e3);
    let target = quantised(BDP, 88);
    f.on(part(1).inflight(target + 1));
    assert_eq!(f.phase(), Phase::Drain);
    assert_ne!(f.on(part(1).inflight(target)).phase(), Phase::Drain);
}

#[test]
fn drain_may_end_on_the_ack_that_fills_the_pipe() {
    let mut f = startup(&[]);
    f.times(2, round(BDP, RTT).inflight(2 * BDP));
    f.on(round(BDP, RTT).inflight(BDP / 2));
    assert!(matches!(f.phase(), Phase::ProbeBwUp | Phase::ProbeBwCruise));
}

#[test]
fn ssthresh_is_exported_at_the_end_of_startup() {
    assert_eq!(startup(&[]).ssthresh(), INFINITE);
    assert_eq!(drain(&[]).ssthresh(), quantised(BDP, 739));
}

#[test]
fn packets_that_the_network_will_deliver_before_the_next_departure_do_not_count_as_in_flight() {
    let mut f = drain(&[]);
    f.view.departure_lead_us = 10_001; // 100 packets are delivered by then
    f.on(part(1).inflight(quantised(BDP, 88) + 101));
    assert_eq!(f.phase(), Phase::Drain);
    assert_ne!(f.on(part(1).inflight(quantised(BDP, 88) + 100)).phase(), Phase::Drain);
}

// ---- probe_bw ----

#[test]
fn the_first_phase_is_never_down_and_each_other_is_as_likely() {
    let drained = drain(&[]);
    let mut seen = [0u32; 8];
    let flows = 7000;
    for i in 0..flows {
        let mut f = Flow::start_with("bbr1", &[], |v| v.random = mix(i));
        for pkts in [10, 20, 40, 80, 160, 320, BDP, BDP, BDP, BDP] {
            f.on(round(pkts, RTT).inflight(2 * pkts));
        }
        assert_eq!(f.phase(), drained.phase());
        f.on(part(1).inflight(BDP));
        assert_ne!(f.gain(), DOWN);
        let phases_to_up = f.until_gain(UP, phase_long()) as usize;
        seen[(8 - phases_to_up) % 8] += 1;
    }
    assert_eq!(seen[1], 0, "index 1 is DOWN");
    for index in [0, 2, 3, 4, 5, 6, 7] {
        assert_near(seen[index], f64::from(flows) / 7.0, 120.0); // four standard deviations
    }
}

/// Bits of a counter, mixed as a good generator would (SplitMix32's finaliser).
fn mix(i: u32) -> u32 {
    let x = i.wrapping_mul(0x9e37_79b9);
    let x = (x ^ (x >> 16)).wrapping_mul(0x21f0_aaad);
    let x = (x ^ (x >> 15)).wrapping_mul(0x735a_2d97);
    x ^ (x >> 15)
}

#[test]
fn the_gain_cycle_is_up_down_and_six_phases_of_cruising() {
    let mut f = probe_bw_at(UP, &[]);
    for gain in [DOWN, CRUISE, CRUISE, CRUISE, CRUISE, CRUISE, CRUISE, UP, DOWN] {
        assert_eq!(f.on(phase_long()).gain(), gain);
        assert_near(f.pacing() as f64, rate(BDP, gain) * 0.99, 2e3);
    }
}

#[test]
fn cruising_lasts_one_min_rtt() {
    let mut f = probe_bw_at(DOWN, &[]);
    f.on(phase_long());
    let start = f.clone();
    assert_eq!(f.on(part(1).after(RTT)).gain(), CRUISE);
    let mut f = start;
    f.times(5, part(1).after(RTT + 1)); // the other five
    assert_eq!(f.gain(), CRUISE);
    assert_eq!(f.on(part(1).after(RTT + 1)).gain(), UP);
}

#[test]
fn probing_lasts_a_min_rtt_and_until_the_pipe_holds_a_quarter_more() {
    // inflight(1.25), and 2 more in this phase. The burst that is about to be sent counts as in the network.
    let enough = quantised(BDP * 5 / 4, UP) + 2 - burst(UP);
    for (after, prior, gain) in [
        (RTT, 2 * BDP, UP), // too early
        (RTT + 1, enough - 1, UP),
        (RTT + 1, enough, DOWN),
        (10 * RTT, enough - 1, UP),
    ] {
        let mut f = probe_bw_at(UP, &[]);
        f.on(part(1).after(after).prior_inflight(prior));
        assert_eq!(f.gain(), gain, "{after} us, {prior} packets");
    }
}

#[test]
fn a_loss_ends_probing_but_not_before_a_min_rtt() {
    let mut f = probe_bw_at(UP, &[]);
    assert_eq!(f.on(part(1).after(RTT).prior_inflight(BDP).losses(1)).gain(), UP);
    assert_eq!(f.on(part(1).after(1).prior_inflight(BDP).losses(1)).gain(), DOWN);
}

#[test]
fn giving_back_ends_at_a_bdp_or_after_a_min_rtt_whichever_is_first() {
    let target = quantised(BDP, DOWN);
    for (after, prior, gain) in
        [(1, target + 1, DOWN), (1, target, CRUISE), (RTT, target + 1, DOWN), (RTT + 1, target + 1, CRUISE)]
    {
        let mut f = probe_bw_at(DOWN, &[]);
        f.on(part(1).after(after).prior_inflight(prior));
        assert_eq!(f.gain(), gain, "{after} us, {prior} packets");
    }
}

#[test]
fn phases_are_cut_by_inflight_before_the_ack_not_after() {
    let mut f = probe_bw_at(DOWN, &[]);
    f.on(part(1).after(1).prior_inflight(2 * BDP).inflight(1));
    assert_eq!(f.gain(), DOWN);
}

#[test]
fn a_new_phase_acts_on_pacing_in_the_same_ack() {
    let mut f = probe_bw_at(UP, &[]);
    let before = f.pacing();
    f.on(phase_long());
    assert_near(f.pacing() as f64, before as f64 * 0.75 / 1.25, 2e3);
}

// ---- the model ----

#[test]
fn bw_is_the_maximum_of_the_last_ten_rounds() {
    let mut f = probe_bw(&[]);
    let bw = |f: &Flow| f.cc.observe().bw_Bps as f64;
    f.on(round(BDP * 2, RTT));
    assert_near(bw(&f), rate(2 * BDP, 256), 1e3);
    f.times(10, round(BDP, RTT));
    assert_near(bw(&f), rate(2 * BDP, 256), 1e3);
    f.on(round(BDP, RTT));
    assert_near(bw(&f), rate(BDP, 256), 1e3);
}

#[test]
fn when_the_maximum_leaves_the_window_the_best_of_its_later_quarters_take_over() {
    // The filter remembers three samples: the best, the second best of later than a quarter of the window,
    // the third of later than half. From round 0 on:
    let fed = [800, 100, 100, 700, 200, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100];
    let expect = [800, 800, 800, 800, 800, 800, 800, 800, 800, 800, 800, 700, 700, 700, 100];
    let mut f = probe_bw(&[]);
    for (pkts, max) in std::iter::zip(fed, expect) {
        f.on(round(pkts, RTT));
        assert_near(f.cc.observe().bw_Bps as f64, rate(max, 256), 1e3);
    }
}

#[test]
fn a_sample_that_the_application_limited_can_only_raise_bw() {
    let mut f = probe_bw(&[]);
    let bw = |f: &Flow| f.cc.observe().bw_Bps as f64;
    f.times(30, round(BDP / 2, RTT).app_limited());
    assert_near(bw(&f), rate(BDP, 256), 1e3);
    f.on(round(BDP * 2, RTT).app_limited());
    assert_near(bw(&f), rate(2 * BDP, 256), 1e3);
}

#[test]
fn invalid_samples_change_neither_rounds_nor_bw() {
    let mut f = startup(&[]);
    let bw = f.cc.observe().bw_Bps;
    let valid = round(BDP, RTT).inflight(2 * BDP);
    f.times(20, ack(1).after(RTT).rtt(RTT).new_round().inflight(2 * BDP));
    f.times(20, valid.delivered(u32::MAX, RTT)); // -1
    f.times(20, valid.delivered(BDP, 0));
    assert_eq!((f.cc.observe().bw_Bps, f.phase()), (bw, Phase::Startup));
}

#[test]
fn min_rtt_takes_lower_samples_at_once_and_higher_ones_when_ten_seconds_have_passed() {
    let mut f = probe_bw(&[]);
    let min_rtt = |f: &Flow| f.cc.observe().min_rtt_us;
    assert_eq!(min_rtt(&f), Some(40_000));
    assert_eq!(min_rtt(f.on(part(1).rtt(ms(30)))), Some(30_000));
    assert_eq!(min_rtt(f.on(part(1).after(s(10)).rtt(ms(35)))), Some(30_000));
    assert_eq!(
        min_rtt(f.on(part(1).after(1).rtt(ms(35)).delayed())),
        Some(30_000),
        "the receiver held it back"
    );
    assert_eq!(min_rtt(f.on(part(1).after(1).rtt(ms(35)))), Some(35_000));
}

#[test]
fn the_hosts_minimum_is_where_min_rtt_starts_in_mid_flight() {
    let f = Flow::start_with("bbr1", &[], |v| (v.min_rtt_us, v.srtt_us) = (12_345, 20_000));
    assert_eq!(f.cc.observe().min_rtt_us, Some(12_345));
}

// ---- the window ----

#[test]
fn windows_are_quantised_as_the_check_values_say() {
    // algorithms and check values: bandwidth, RTT, window at cwnd gain 2 and pacing gain 1
    for (mbit, rtt_ms, cwnd) in [
        (1, 10, 6),
        (1, 100, 22),
        (10, 10, 24),
        (10, 40, 76),
        (100, 1, 42),
        (100, 40, 716),
        (1000, 10, 1862),
        (10_000, 40, 69_196),
    ] {
        let rtt = ms(rtt_ms);
        let per_ks = (mbit * 1_000_000_000 / 8 / MSS) as u32; // packets in 1000 s: an exact rate
        let mut f = Flow::start("bbr1", &[("extra_acked_gain", "0")]);
        let ack = round(1_000_000, rtt).delivered(per_ks, s(1000)).inflight(0);
        f.times(12, ack.after(ms(5)));
        for _ in 0..20 {
            f.on(ack.after(rtt + 1).prior_inflight(1_000_000));
            if f.gain() == CRUISE {
                break;
            }
        }
        assert_eq!((f.phase(), f.cwnd()), (Phase::ProbeBwCruise, cwnd), "{mbit} Mbit/s, {rtt_ms} ms");
    }
}

#[test]
fn two_packets_more_are_allowed_while_probing() {
    let mut f = probe_bw_at(UP, &[("extra_acked_gain", "0")]);
    f.on(part(BDP));
    assert_eq!(f.cwnd(), quantised(2 * BDP, UP) + 2);
}

#[test]
fn cwnd_follows_its_target_up_by_what_is_acknowledged_and_down_at_once() {
    let mut f = probe_bw_at(CRUISE, &[("extra_acked_gain", "0")]);
    f.view.cwnd_pkts = 100;
    assert_eq!(f.on(part(50)).cwnd(), 150);
    assert_eq!(f.on(part(50)).cwnd(), 200);
    f.view.cwnd_pkts = 5000;
    assert_eq!(f.on(part(1)).cwnd(), quantised(2 * BDP, CRUISE));
}

#[test]
fn the_first_ten_packets_grow_the_window_whatever_the_target() {
    let mut f = Flow::start("bbr1", &[]);
    let poor = ack(1).rtt(RTT).delivered(1, RTT).inflight(9); // bw of a packet per RTT: a target of 10
    for delivered in 1..10 {
        assert_eq!(f.on(poor).cwnd(), 10 + delivered);
    }
    assert_eq!(f.on(poor).cwnd(), 19);
}

#[test]
fn cwnd_never_falls_below_four_without_loss() {
    let mut f = probe_bw(&[]);
    f.view.cwnd_pkts = 1;
    assert_eq!(f.on(part(1)).cwnd(), 4);
}

#[test]
fn without_an_rtt_sample_the_window_is_an_initial_one() {
    let mut f = Flow::start("bbr1", &[]);
    f.times(20, ack(1).delivered(1, 1000).new_round().inflight(9));
    assert_eq!(f.cc.observe().min_rtt_us, None);
    assert!(f.cwnd() <= 10 + 3 * 127 + 2);
}

#[test]
fn below_1_2_mbit_a_burst_is_one_packet_above_it_two() {
    // the target shows the burst: BDP + 3 bursts, made even, at 100 ms
    for (kbit, burst) in [(1190 * 100 / 99, 1), (1210 * 100 / 99, 2)] {
        let per_ks = (kbit * 1_000_000 / 8 / MSS) as u32;
        let mut f = Flow::start("bbr1", &[("extra_acked_gain", "0"), ("cwnd_gain", "1")]);
        let ack = round(1000, ms(100)).delivered(per_ks, s(1000)).inflight(0);
        f.times(30, ack.after(ms(101)).prior_inflight(1000));
        f.until_gain(CRUISE, ack.after(ms(101)).prior_inflight(1000));
        let bdp = (per_ks as f64 / 10_000.0).ceil() as u32;
        assert_eq!(f.cwnd(), (bdp + 3 * burst + 1) & !1, "{kbit} kbit/s");
    }
}

#[test]
fn aggregated_acks_raise_the_window_by_what_came_at_once() {
    let plain = {
        let mut f = probe_bw_at(CRUISE, &[("extra_acked_gain", "0")]);
        f.on(part(BDP)).cwnd()
    };
    let mut f = probe_bw_at(CRUISE, &[]);
    // per RTT 200 packets are acknowledged at once, then none; bw is unchanged
    for _ in 0..4 {
        f.on(part(BDP / 2).after(RTT / 2).same_round());
        f.on(part(BDP / 2).after(RTT / 2));
        f.on(part(0));
    }
    let extra = f.cwnd() - plain;
    assert!((190..=210).contains(&extra) || (390..=410).contains(&extra), "{extra}");
}

#[test]
fn the_allowance_for_aggregation_is_at_most_100_ms_of_bw_and_ages_out_after_ten_rounds() {
    let mut f = probe_bw_at(CRUISE, &[]);
    f.view.cwnd_pkts = 100_000;
    f.on(part(1500).after(1));
    let with = f.cwnd();
    let mut plain = probe_bw_at(CRUISE, &[("extra_acked_gain", "0")]);
    let without = plain.on(part(BDP)).cwnd();
    assert_near(with - without, 1000, 2); // 100 ms at 10 packets a millisecond
    // ACKs at a quarter of bw: after 5 rounds bw covers the aggregation, which is forgotten 5 to 10
    // rounds later
    let quarter = round(BDP, RTT).rtt(RTT + 1000).acked(BDP / 4);
    assert!(f.times(9, quarter).cwnd() > without + 900);
    f.times(6, quarter);
    // these ACKs acknowledge 100 packets at once themselves, and the phase may differ
    assert_near(f.cwnd(), without + BDP / 4, 2 * burst(UP));
}

// ---- probe_rtt ----

#[test]
fn probe_rtt_begins_when_the_minimum_is_ten_seconds_old_and_holds_four_packets() {
    let mut f = probe_rtt();
    assert_eq!((f.cwnd(), f.gain()), (4, CRUISE));
    assert_eq!(f.on(part(BDP)).cwnd(), 4);
}

#[test]
fn an_rtt_equal_to_the_minimum_does_not_postpone_probe_rtt() {
    let mut f = probe_bw(&[]);
    f.on(part(1).rtt(RTT - 1));
    f.on(part(1).after(s(9)).rtt(RTT - 1));
    assert_eq!(f.on(part(1).after(s(1) + 1)).phase(), Phase::ProbeRtt);
}

#[test]
fn a_lower_rtt_postpones_probe_rtt() {
    let mut f = probe_bw(&[]);
    f.on(part(1).rtt(RTT - 1));
    f.on(part(1).after(s(9)).rtt(RTT - 2));
    f.on(part(1).after(s(10)));
    assert_ne!(f.phase(), Phase::ProbeRtt);
}

#[test]
fn probe_rtt_lasts_200_ms_and_a_round_from_when_four_packets_are_in_flight() {
    let mut f = probe_rtt();
    f.on(part(1).after(s(1)).inflight(5)); // the clock has not started
    f.on(part(1).after(0).inflight(4)); // now it has
    let armed = f.clone();
    f.on(round(4, ms(199)).rtt(RTT).inflight(4)); // a round, but too early
    assert_eq!(f.phase(), Phase::ProbeRtt);
    f.on(part(1).after(ms(1)).inflight(4)); // not later than 200 ms
    assert_eq!(f.phase(), Phase::ProbeRtt);
    f.on(part(1).after(1).inflight(4));
    assert!(matches!(f.phase(), Phase::ProbeBwUp | Phase::ProbeBwCruise), "{:?}", f.phase());
    let mut f = armed;
    f.on(part(1).after(s(2)).inflight(4)); // late, but no round yet
    assert_eq!(f.phase(), Phase::ProbeRtt);
    f.on(round(4, RTT).inflight(4));
    assert_ne!(f.phase(), Phase::ProbeRtt);
}

#[test]
fn after_probe_rtt_the_window_is_restored_and_the_next_one_is_ten_seconds_away() {
    let mut f = probe_bw(&[]);
    let before = f.on(part(BDP)).cwnd();
    f.on(part(1).after(s(10) + 1).rtt(RTT + 1000));
    assert_eq!((f.phase(), f.cwnd()), (Phase::ProbeRtt, 4));
    f.on(part(1).inflight(4));
    f.on(round(4, ms(201)).rtt(RTT + 1000).inflight(4));
    assert_ne!(f.phase(), Phase::ProbeRtt);
    assert_near(f.cwnd(), before, 3 * burst(UP));
    f.on(part(1).after(s(10)).rtt(RTT + 2000));
    assert_ne!(f.phase(), Phase::ProbeRtt);
    f.on(part(1).after(1).rtt(RTT + 2000));
    assert_eq!(f.phase(), Phase::ProbeRtt);
}

#[test]
fn each_probe_rtt_takes_a_round_of_its_own() {
    let mut f = probe_rtt();
    f.on(part(1).inflight(4)).on(round(4, ms(201)).inflight(4));
    assert_ne!(f.phase(), Phase::ProbeRtt);
    f.on(part(1).after(s(10) + 1));
    assert_eq!(f.phase(), Phase::ProbeRtt);
    f.on(part(1).inflight(4)).on(part(1).after(s(1)).inflight(4));
    assert_eq!(f.phase(), Phase::ProbeRtt);
}

#[test]
fn probe_rtt_before_the_pipe_was_full_returns_to_startup() {
    let mut f = startup(&[]);
    f.on(part(1).after(s(10) + 1).rtt(RTT + 1000));
    assert_eq!(f.phase(), Phase::ProbeRtt);
    f.on(part(1).inflight(4));
    f.on(round(4, ms(201)).rtt(RTT).inflight(4));
    assert_eq!((f.phase(), f.gain()), (Phase::Startup, 739));
}

#[test]
fn in_probe_rtt_samples_are_marked_as_limited_by_the_application() {
    let f = probe_rtt();
    assert_eq!(f.decision.app_limited_until_pkts, f.view.delivered_pkts + f.view.inflight_pkts);
    assert_eq!(probe_bw(&[]).decision.app_limited_until_pkts, 0);
}

// ---- limits ----

#[test]
fn the_applications_limit_bounds_pacing() {
    let mut f = Flow::start_with("bbr1", &[], |v| v.max_pacing_rate_Bps = 100_000);
    assert_eq!(f.pacing(), 100_000);
    for pkts in [10, 20, 40, 80] {
        f.on(round(pkts, RTT).inflight(2 * pkts));
    }
    assert_eq!(f.pacing(), 100_000);
}

#[test]
fn a_rate_of_zero_is_no_estimate() {
    let mut f = probe_bw(&[]);
    f.times(30, round(0, RTT).acked(1).inflight(1)); // nothing delivered for longer than the filter remembers
    assert_eq!(f.cc.observe().bw_Bps, 0);
    assert!(f.pacing() > 0);
}
