//! NYU's improved BBR: the early ends of `nyu_latency` (paper, section IV.B) and the gains of `nyu`
//! (section IV.C).

use crate::support::bbr::*;
use crate::support::{Ack, Flow, ms, round, s};
use fairpace_cc::Phase;

const BOTH: [&str; 2] = ["nyu_latency", "nyu"];

/// At the start of a cycle of 8 min_rtt, which begins with probing; min_rtt is 40 ms, and alpha of nyu 0.25.
fn probing(algorithm: &str, settings: &[(&str, &str)]) -> Flow {
    let mut all = vec![("cycle_least", "8")];
    all.extend(settings);
    let mut f = probe_bw_at_of(algorithm, CRUISE, &all);
    f.on(part(1).after(8 * RTT + 1).rtt(ms(50)));
    assert_eq!(f.phase(), Phase::ProbeBwUp);
    f
}

// ---- early end of probing ----

#[test]
fn probing_ends_as_soon_as_a_quarter_more_is_in_flight() {
    let enough = quantised(BDP * 5 / 4, UP) + 2 - burst(UP);
    for (prior, gain) in [(enough - 1, UP), (enough, DOWN)] {
        let mut f = probing("nyu_latency", &[]);
        assert_eq!(f.on(part(1).after(1).prior_inflight(prior)).gain(), gain, "{prior} packets");
    }
}

#[test]
fn otherwise_probing_ends_as_with_the_patch() {
    let mut f = probing("nyu_latency", &[]);
    assert_eq!(f.on(part(1).after(RTT).prior_inflight(BDP).losses(1)).gain(), UP);
    assert_eq!(f.on(part(1).after(1).prior_inflight(BDP).losses(1)).gain(), DOWN);
}

#[test]
fn giving_back_lasts_until_one_bdp() {
    let mut f = probing("nyu_latency", &[]);
    let target = quantised(BDP, DOWN);
    f.on(part(1).after(1).prior_inflight(2 * BDP));
    assert_eq!(f.on(part(1).after(6 * RTT).prior_inflight(target + 1)).gain(), DOWN);
    assert_eq!(f.on(part(1).after(1).prior_inflight(target)).gain(), CRUISE);
}

// ---- early end of PROBE_RTT ----

/// In PROBE_RTT with 4 packets in flight; min_rtt is 41 ms, from a packet sent before.
fn four_in_flight(algorithm: &str) -> Flow {
    let mut f = probing(algorithm, &[]);
    f.on(part(1).after(s(10) + 1).rtt(ms(45)));
    assert_eq!(f.phase(), Phase::ProbeRtt);
    f.on(part(1).inflight(4).rtt(ms(41)));
    f
}

/// The ACK of the first packet that was sent with 4 in flight.
fn next_round(rtt_us: u64) -> Ack {
    round(4, rtt_us).inflight(4)
}

#[test]
fn probe_rtt_ends_with_the_first_round_of_four_packets_that_sees_a_lower_rtt() {
    for algorithm in BOTH {
        let mut f = four_in_flight(algorithm);
        f.on(next_round(ms(41) - 1));
        assert_eq!((f.phase(), f.gain()), (Phase::ProbeBwCruise, CRUISE), "{algorithm}");
        assert!(f.cwnd() > BDP, "{algorithm}: cwnd is back, {}", f.cwnd());
        assert_eq!(f.cc.observe().min_rtt_us, Some(40_999));
    }
}

#[test]
fn a_falling_queue_does_not_end_probe_rtt_before_inflight_is_down_and_a_round_is_over() {
    let mut f = probing("nyu_latency", &[]);
    f.on(part(1).after(s(10) + 1).rtt(ms(45)));
    for rtt in [44, 43, 42] {
        assert_eq!(f.on(part(1).inflight(BDP).rtt(ms(rtt))).phase(), Phase::ProbeRtt);
    }
    f.on(part(1).inflight(4).rtt(ms(41)));
    assert_eq!(
        f.on(part(1).inflight(4).rtt(ms(40) + 1)).phase(),
        Phase::ProbeRtt,
        "sent with the queue full"
    );
    assert_eq!(f.on(next_round(ms(40) + 1)).phase(), Phase::ProbeRtt, "no lower than that");
    assert_eq!(f.on(next_round(ms(40))).phase(), Phase::ProbeBwCruise);
}

#[test]
fn without_a_lower_rtt_probe_rtt_takes_200_ms() {
    let mut f = four_in_flight("nyu_latency");
    for _ in 0..4 {
        assert_eq!(f.on(next_round(ms(41)).after(ms(50))).phase(), Phase::ProbeRtt);
    }
    assert_eq!(f.on(next_round(ms(41)).after(1)).phase(), Phase::ProbeBwCruise);
}

#[test]
fn the_next_visit_measures_anew() {
    let mut f = four_in_flight("nyu_latency");
    f.on(next_round(ms(30)));
    assert_eq!(f.phase(), Phase::ProbeBwCruise);
    f.on(part(1).after(s(10) + 1).rtt(ms(60)));
    assert_eq!(f.phase(), Phase::ProbeRtt);
    f.on(part(1).inflight(4).rtt(ms(50)));
    assert_eq!(f.on(next_round(ms(50))).phase(), Phase::ProbeRtt, "30 ms have expired");
    assert_eq!(f.on(next_round(ms(49))).phase(), Phase::ProbeBwCruise);
}

// ---- adaptive gains ----

/// What nyu probes with after a cycle in which it saw these RTTs while cruising; min_rtt is 40 ms.
fn gain_after(rtts_us: &[u64], settings: &[(&str, &str)]) -> u32 {
    let mut f = cruising(settings);
    for rtt in rtts_us {
        f.on(part(1).rtt(*rtt));
    }
    let last = *rtts_us.last().unwrap();
    f.on(part(1).after(8 * RTT).rtt(last)); // is in CRUISE as well
    f.gain()
}

fn cruising(settings: &[(&str, &str)]) -> Flow {
    let mut f = probing("nyu", settings);
    f.on(part(1).after(RTT + 1).prior_inflight(2 * BDP));
    f.on(part(1).after(1).prior_inflight(BDP));
    assert_eq!(f.gain(), CRUISE);
    f
}

#[test]
fn the_first_probing_has_a_gain_by_what_was_seen_before_it() {
    let mut f = Flow::start("nyu", &[("cycle_least", "8")]);
    for pkts in [10, 20, 40, 80, 160, 320, BDP, BDP, BDP, BDP] {
        f.on(round(pkts, RTT).inflight(2 * pkts));
    }
    f.on(part(1).inflight(BDP));
    assert_eq!(f.gain(), CRUISE);
    assert_eq!(f.on(part(1).after(8 * RTT + 1).rtt(ms(60))).gain(), 256 + 128);
}

#[test]
fn alpha_is_queueing_delay_by_min_rtt() {
    for (rtt_us, alpha) in [(ms(50), 64), (ms(60), 128), (ms(45), 32)] {
        assert_eq!(gain_after(&[rtt_us], &[]), 256 + alpha, "{rtt_us} us");
    }
}

#[test]
fn alpha_is_bounded_by_5_and_95_percent() {
    assert_eq!(gain_after(&[RTT], &[]), 256 + 13);
    assert_eq!(gain_after(&[ms(200)], &[]), 256 + 243);
    assert_eq!(gain_after(&[RTT], &[("alpha_least", "0.1")]), 256 + 26);
    assert_eq!(gain_after(&[ms(200)], &[("alpha_most", "0.5")]), 256 + 128);
}

#[test]
fn the_queueing_delay_is_the_mean_of_the_cruise_or_on_request_its_least() {
    assert_eq!(gain_after(&[ms(60), ms(40), ms(50)], &[]), 256 + 64); // 60, 40, 50, 50
    assert_eq!(gain_after(&[ms(60), ms(45), ms(50)], &[("d_is_least", "on")]), 256 + 32);
}

#[test]
fn rtts_of_probing_and_giving_back_do_not_count_unless_there_are_no_others() {
    let mut f = cruising(&[]);
    f.on(part(1).after(8 * RTT).rtt(ms(50))); // UP with alpha 1/4
    f.on(part(1).after(RTT + 1).rtt(ms(79)).prior_inflight(2 * BDP)); // then DOWN
    f.on(part(1).after(1).rtt(ms(79)).prior_inflight(BDP)); // then CRUISE
    assert_eq!(f.gain(), CRUISE);
    assert_eq!(f.on(part(1).after(8 * RTT).rtt(ms(45))).gain(), 256 + 32);
    // and a cycle that never came to cruising
    f.on(part(1).after(RTT + 1).rtt(ms(79)).prior_inflight(2 * BDP));
    assert_eq!(f.on(part(1).after(8 * RTT).rtt(ms(60)).prior_inflight(2 * BDP)).gain(), 256 + 128);
}

/// Section IV.C: alpha is computed from one cycle. PROBE_RTT ends the cycle, and may change min_rtt.
#[test]
fn rtts_of_before_probe_rtt_do_not_count_for_the_gains_after_it() {
    let mut f = cruising(&[("min_rtt_window", "900ms")]);
    f.on(part(1).after(ms(100)).rtt(ms(79)));
    assert_eq!(f.gain(), CRUISE);
    f.on(part(1).after(ms(150)).rtt(ms(79)));
    assert_eq!(f.phase(), Phase::ProbeRtt);
    f.on(part(1).inflight(4).rtt(ms(41))).on(next_round(ms(40)));
    assert_eq!(f.phase(), Phase::ProbeBwCruise);
    assert_eq!(f.on(part(1).after(8 * RTT + 1).rtt(ms(50))).gain(), 256 + 64);
}

#[test]
fn up_and_down_move_together_and_up_ends_at_its_own_target() {
    let mut f = cruising(&[]);
    f.on(part(1).after(8 * RTT).rtt(ms(60)));
    assert_eq!(f.gain(), 384);
    assert_eq!(f.on(part(1).after(1).prior_inflight(BDP * 5 / 4)).gain(), 384, "1.5 BDP is the target");
    assert_eq!(f.on(part(1).after(1).prior_inflight(2 * BDP)).gain(), 128);
}
