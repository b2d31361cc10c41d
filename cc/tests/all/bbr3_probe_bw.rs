//! BBRv3: the cycle of PROBE_BW, rule by rule; by google/bbr v3, and where that differs by
//! draft-ietf-ccwg-bbr-06 as `bbr3_draft`. "A.n" is a test case of the draft's appendix "BBR Example Test
//! Cases".

use crate::support::bbr3::*;
use crate::support::{Flow, assert_near, loss, round, s};
use fairpace_cc::Phase;

const BOTH: [&str; 2] = ["bbr3", "bbr3_draft"];

/// A full round with `inflight` packets in flight before and after, and no loss.
fn round_with(inflight: u32) -> crate::support::Ack {
    full_round().inflight(inflight).sent_with(inflight)
}

fn bw(f: &Flow) -> f64 {
    f.cc.observe().bw_Bps as f64
}

// ---- the table of gains ----

#[test]
fn each_phase_has_its_gains() {
    let gains = |f: &Flow| {
        let seen = f.cc.observe();
        (seen.phase, seen.pacing_gain_256, seen.cwnd_gain_256)
    };
    for (algorithm, down_gain) in [("bbr3", 232), ("bbr3_draft", 230)] {
        assert_eq!(gains(&down(algorithm, &[])), (Phase::ProbeBwDown, down_gain, 512));
        assert_eq!(gains(&cruise(algorithm, &[])), (Phase::ProbeBwCruise, 256, 512));
        assert_eq!(gains(&refill(algorithm, &[])), (Phase::ProbeBwRefill, 256, 512));
        assert_eq!(gains(&up(algorithm, &[])), (Phase::ProbeBwUp, 320, 576));
    }
}

#[test]
fn pacing_and_cwnd_follow_the_gains() {
    let mut f = cruise("bbr3", &[]);
    f.on(part(1));
    assert_near(f.pacing() as f64, rate(BDP, CRUISE) * 0.99, 1e3);
    assert_eq!(f.on(part(BDP)).cwnd(), 2 * BDP);
    let mut f = up("bbr3", &[]);
    assert_near(f.pacing() as f64, rate(BDP, UP) * 0.99, 1e3);
    assert_eq!(f.on(part(BDP)).cwnd(), BDP * 9 / 4 + 2, "2.25 BDP, and two packets to probe a tiny BDP with");
    assert_near(down("bbr3", &[]).pacing() as f64, rate(BDP, DOWN) * 0.99, 1e3);
}

// ---- DOWN ----

#[test]
fn a8_down_ends_when_no_more_than_a_bdp_is_in_flight() {
    for algorithm in BOTH {
        let mut f = down(algorithm, &[]);
        assert_eq!(f.on(part(1).inflight(BDP + 1)).phase(), Phase::ProbeBwDown);
        assert_eq!(f.on(part(1).inflight(BDP)).phase(), Phase::ProbeBwCruise, "{algorithm}");
    }
}

#[test]
fn a8_down_leaves_headroom_below_inflight_hi() {
    // 300 - floor(300 * 38 / 256) = 300 - 44
    for algorithm in BOTH {
        let mut f = bounded_down(algorithm, 300, &[]);
        assert_eq!(f.on(part(1).inflight(257)).phase(), Phase::ProbeBwDown);
        assert_eq!(f.on(part(1).inflight(256)).phase(), Phase::ProbeBwCruise, "{algorithm}");
    }
}

/// v3: bbr_packets_in_net_at_edt(rs->prior_in_flight); draft: IsTimeToCruise() tests C.inflight.
#[test]
fn down_ends_by_inflight_at_the_next_departure_in_linux_and_after_the_ack_in_the_draft() {
    let left_by = |algorithm, ack| {
        let mut f = down(algorithm, &[]);
        f.view.departure_lead_us = 1000; // in which the path delivers 1/40 of a BDP
        f.on(ack).phase() == Phase::ProbeBwCruise
    };
    let before = part(1).prior_inflight(BDP + BDP / 40).inflight(BDP + 1);
    let after = part(1).prior_inflight(2 * BDP).inflight(BDP);
    assert!(left_by("bbr3", before) && !left_by("bbr3_draft", before));
    assert!(!left_by("bbr3", after) && left_by("bbr3_draft", after));
}

#[test]
fn a9_down_leads_to_refill_when_it_is_time_whatever_is_in_flight() {
    for algorithm in BOTH {
        let mut f = down(algorithm, &[]);
        f.on(part(1).after(s(2)).inflight(2 * BDP));
        assert_eq!(f.phase(), Phase::ProbeBwDown, "at least 2 s");
        f.on(part(1).after(s(1)).inflight(2 * BDP));
        assert_eq!(f.phase(), Phase::ProbeBwRefill, "{algorithm}: at most 3 s");
    }
}

/// v3: bbr_start_bw_probe_cruise() lowers inflight_lo to inflight_hi; the draft has no such step.
#[test]
fn cruise_lowers_inflight_lo_to_inflight_hi_in_linux_only() {
    for (algorithm, cwnd) in [("bbr3", 300), ("bbr3_draft", 400 - 59)] {
        let mut f = bounded_down(algorithm, 300, &[]);
        // a round with loss that delivers 350 packets: inflight_lo
        f.lost(loss(1, 10_000, 1)).on(full_round().delivered(350, RTT).inflight(2 * BDP));
        assert_eq!(f.on(part(1).inflight(1)).phase(), Phase::ProbeBwCruise);
        f.on(part(1).sent_with(400)); // a safe flight: inflight_hi
        assert_eq!(f.on(part(BDP)).cwnd(), cwnd, "{algorithm}: floor(400 * 38 / 256) = 59 of headroom");
    }
}

// ---- when to probe ----

/// Microseconds in CRUISE until the next probe, to a millisecond.
fn wait_us(random: u32) -> u64 {
    let mut f = Flow::start_with("bbr3", &[("extra_acked_gain", "0")], |v| v.random = random);
    for pkts in [10, 20, 40, 80, 160, 320, BDP, BDP, BDP, BDP] {
        f.on(round(pkts, RTT).inflight(2 * pkts));
    }
    f.on(part(1));
    assert_eq!(f.phase(), Phase::ProbeBwCruise);
    let mut waited = 0;
    while f.phase() == Phase::ProbeBwCruise {
        f.on(part(1).after(1000));
        waited += 1000;
    }
    assert_eq!(f.phase(), Phase::ProbeBwRefill);
    waited
}

#[test]
fn the_wait_for_a_probe_is_uniform_in_two_to_three_seconds() {
    let waits: Vec<u64> = (1..=400u32).map(|n| wait_us(n.wrapping_mul(0x9e37_79b9))).collect();
    assert!(waits.iter().all(|w| (s(2)..=s(3) + 1000).contains(w)));
    let mean = waits.iter().sum::<u64>() as f64 / 400.0;
    assert_near(mean, 2.5e6, 6e4); // four standard deviations of 1 s / sqrt(12 * 400)
    assert!(waits.iter().any(|w| *w < 2_050_000) && waits.iter().any(|w| *w > 2_950_000));
}

/// Rounds in CRUISE, each of `pkts` packets, until the next probe.
fn rounds_to_probe(algorithm: &str, pkts: u32, random: u32) -> u32 {
    let mut f = Flow::start_with(algorithm, &[("extra_acked_gain", "0")], |v| v.random = random);
    let near = 1 << 12; // 4 ms: the time of rounds does not come to 2 s
    for pkts in [10, 20, 40, 80, 160, 320].into_iter().filter(|n| *n <= pkts).chain([pkts; 5]) {
        f.on(round(pkts, near).inflight(2 * pkts));
    }
    f.on(round(pkts, near).same_round().inflight(1));
    assert_eq!(f.phase(), Phase::ProbeBwCruise, "{pkts}");
    let mut rounds = 0;
    while f.phase() == Phase::ProbeBwCruise {
        f.on(round(pkts, near).inflight(1));
        rounds += 1;
    }
    rounds
}

#[test]
fn a_probe_comes_after_62_or_63_rounds_at_the_latest() {
    for algorithm in BOTH {
        let mut seen: Vec<u32> =
            (1..50).map(|n: u32| rounds_to_probe(algorithm, BDP, n.wrapping_mul(0x9e37_79b9))).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen, [62, 63], "{algorithm}");
    }
}

#[test]
fn a_flow_with_a_small_bdp_probes_as_often_as_reno_would() {
    for n in 1..20u32 {
        let rounds = rounds_to_probe("bbr3_draft", 20, n.wrapping_mul(0x9e37_79b9));
        assert!((19..=20).contains(&rounds), "{rounds}: one for each packet of the BDP");
    }
    // Linux makes room for three bursts of at least two packets, and here, at 4 ms, of (64 KiB >> 8) / 1448
    // and 1 ms of the rate, 4.9 packets: (7070 * 0.99 * 1000 / 1024 + 256) / 1448 = 4 (7 MB/s); still below
    // 20
    let rounds = rounds_to_probe("bbr3", 20, 1);
    assert!((19..=20).contains(&rounds), "{rounds}");
}

// ---- REFILL ----

#[test]
fn refill_lasts_for_a_round() {
    let mut f = refill("bbr3", &[]);
    f.times(5, part(50));
    assert_eq!(f.phase(), Phase::ProbeBwRefill);
    assert_eq!(f.on(full_round()).phase(), Phase::ProbeBwUp);
}

#[test]
fn refill_forgets_the_lower_bounds() {
    let mut f = cruise("bbr3", &[]);
    let slow = full_round().delivered(BDP / 2, RTT);
    f.on(slow).lost(loss(1, BDP, 1)).on(slow);
    assert!(bw(&f) < rate(BDP, 256) * 0.8 && f.cwnd() < 2 * BDP, "{} {}", bw(&f), f.cwnd());
    f.on(part(1).after(s(3)));
    assert_eq!(f.phase(), Phase::ProbeBwRefill);
    assert_near(bw(&f), rate(BDP, 256), 1e3);
    assert_eq!(f.on(part(2 * BDP)).cwnd(), 2 * BDP);
}

#[test]
fn a22_app_limited_samples_in_refill_lower_nothing_and_up_follows() {
    for algorithm in BOTH {
        let mut f = refill(algorithm, &[]);
        f.times(3, part(1).delivered(BDP / 10, RTT).app_limited().inflight(40));
        assert_near(bw(&f), rate(BDP, 256), 1e3);
        f.on(full_round().delivered(BDP / 10, RTT).app_limited().inflight(40));
        assert_eq!(f.phase(), Phase::ProbeBwUp, "{algorithm}");
        f.times(30, full_round().delivered(BDP / 10, RTT).app_limited().inflight(40));
        assert_eq!(f.phase(), Phase::ProbeBwUp);
        assert_near(bw(&f), rate(BDP, 256), 1e3);
    }
}

// ---- UP ----

#[test]
fn a5_up_ends_when_bandwidth_has_not_grown_for_three_rounds() {
    for algorithm in BOTH {
        let mut f = up(algorithm, &[]);
        f.times(2, round_with(500));
        assert_eq!(f.phase(), Phase::ProbeBwUp);
        assert_eq!(f.on(round_with(500)).phase(), Phase::ProbeBwDown, "{algorithm}");
    }
}

#[test]
fn bandwidth_that_grows_by_a_quarter_prolongs_up() {
    let mut f = up("bbr3", &[]);
    f.times(2, round_with(500)).on(round_with(500).delivered(500, RTT)).times(2, round_with(500));
    assert_eq!(f.phase(), Phase::ProbeBwUp);
    assert_eq!(f.on(round_with(500)).phase(), Phase::ProbeBwDown);
    assert_near(bw(&f), rate(500, 256), 1e3);
}

#[test]
fn a7_up_does_not_end_while_app_limited_without_loss() {
    for algorithm in BOTH {
        let mut f = up(algorithm, &[]);
        f.times(200, round_with(200).app_limited());
        assert_eq!(f.phase(), Phase::ProbeBwUp, "{algorithm}");
    }
}

#[test]
fn a6_loss_ends_up_when_app_limited_and_leaves_inflight_hi_alone() {
    // the test case expects that inflight_longterm is updated regardless; the pseudocode of
    // HandleInflightTooHigh leaves it, and so does Linux
    for algorithm in BOTH {
        let mut f = up(algorithm, &[]);
        f.lost(loss(1, 40, 1).app_limited());
        assert_eq!(f.phase(), Phase::ProbeBwDown, "{algorithm}");
        f.on(part(1).app_limited().prior_inflight(2 * BDP));
        assert_eq!(f.on(part(2 * BDP).prior_inflight(2 * BDP)).cwnd(), 2 * BDP, "no bound");
    }
}

#[test]
fn a21_loss_ends_up_and_lowers_inflight_hi_to_what_was_safe_or_by_30_percent() {
    for (algorithm, beta) in [("bbr3", 180), ("bbr3_draft", 179)] {
        // the target in flight is a BDP, 400, and two packets while probing where that is quantised:
        // min(402, cwnd)
        let target = if algorithm == "bbr3" { BDP + 2 } else { BDP };
        let least = target * beta / 256;
        for (sent_with, kept) in [(350, 349), (100, least)] {
            let mut f = up(algorithm, &[]);
            f.lost(loss(1, sent_with, 50)); // over the budget before the last packet
            assert_eq!(f.phase(), Phase::ProbeBwDown);
            f.on(part(1).prior_inflight(2 * BDP));
            assert_eq!(f.cwnd(), kept, "{algorithm}");
        }
    }
}

#[test]
fn loss_that_is_seen_in_the_samples_of_acks_ends_up_in_linux_only() {
    for (algorithm, phase) in [("bbr3", Phase::ProbeBwDown), ("bbr3_draft", Phase::ProbeBwUp)] {
        let mut f = up(algorithm, &[]);
        f.on(part(1).prior_inflight(2 * BDP).sent_with(500).lost_since(10)); // floor(500 * 5 / 256) is 9
        assert_eq!(f.phase(), phase, "{algorithm}");
    }
    let mut f = up("bbr3", &[]);
    f.on(part(1).sent_with(500).lost_since(9));
    assert_eq!(f.phase(), Phase::ProbeBwUp, "not more than 2 %");
}

#[test]
fn a15_inflight_hi_grows_by_1_2_4_packets_per_round_while_it_is_the_limit() {
    for algorithm in BOTH {
        let mut f = bounded_up(algorithm, 300, &[("startup_cwnd_gain", "2")]);
        // the flow was risky once: this second probe follows on the first, which found it safe
        f = {
            f.on(part(1).prior_inflight(300));
            assert_eq!(f.phase(), Phase::ProbeBwDown, "a risky probe");
            f.on(full_round().prior_inflight(1).inflight(1));
            assert_eq!(f.phase(), Phase::ProbeBwRefill, "it was safe");
            f.on(full_round().prior_inflight(1).inflight(1));
            assert_eq!(f.phase(), Phase::ProbeBwUp);
            f
        };
        assert_eq!(f.cwnd(), 300);
        let mut hi = 300;
        // bw is a fifth higher each round, so that the target of cwnd is never the limit
        for (n, growth) in [1, 2, 4, 8, 16, 32].into_iter().enumerate() {
            // in round n there is a packet for each floor(cwnd / 2^n) acknowledged; all but the last ACK
            // are within the round
            let every = hi / (1 << n);
            f.on(part(every * growth).inflight(hi).prior_inflight(hi).delivered(BDP + 100 * n as u32, RTT));
            hi += growth;
            assert_eq!(f.cwnd(), hi, "{algorithm}, round {n}");
            // this one begins the next round, and with it the next slope
            f.on(round_with(hi).acked(0).delivered(BDP + 100 * n as u32, RTT));
            assert_eq!((f.phase(), f.cwnd()), (Phase::ProbeBwUp, hi));
        }
    }
}

#[test]
fn up_goes_on_while_inflight_hi_is_the_limit_and_bandwidth_does_not_grow() {
    let mut f = bounded_up("bbr3", 300, &[]);
    // not risky: in flight is less than inflight_hi
    f.times(10, full_round().inflight(299).acked(0));
    assert_eq!(f.phase(), Phase::ProbeBwUp);
    f.view.cwnd_limited = false; // something else is the limit
    f.times(2, full_round().inflight(299).acked(0));
    assert_eq!(f.phase(), Phase::ProbeBwUp);
    assert_eq!(f.on(full_round().inflight(299).acked(0)).phase(), Phase::ProbeBwDown);
}

#[test]
fn inflight_hi_does_not_grow_while_cwnd_is_not_the_limit() {
    let mut f = bounded_up("bbr3", 300, &[]);
    f.view.cwnd_limited = false;
    assert_eq!(f.times(3, part(100).prior_inflight(200)).cwnd(), 300);
}

// ---- a probe after one that was too much ----

#[test]
fn a_probe_after_one_that_was_too_much_stops_at_inflight_hi() {
    // in Linux a burst that is about to be sent counts: at 1.25 times the rate, 22.1 MB/s * 0.99 / 1024 /
    // 1448, 14 packets
    for (algorithm, burst) in [("bbr3", 14), ("bbr3_draft", 0)] {
        let mut f = bounded_up(algorithm, 300, &[]);
        assert_eq!(f.on(part(0).inflight(299 - burst)).phase(), Phase::ProbeBwUp);
        assert_eq!(f.on(part(0).inflight(300 - burst)).phase(), Phase::ProbeBwDown, "{algorithm}");
    }
}

#[test]
fn a_risky_probe_that_was_safe_is_followed_by_a_bold_one_at_once() {
    let mut f = bounded_up("bbr3", 300, &[]);
    f.on(part(1).prior_inflight(300));
    assert_eq!(f.phase(), Phase::ProbeBwDown);
    f.on(part(1).prior_inflight(1).inflight(1));
    assert_eq!(f.phase(), Phase::ProbeBwCruise, "the last of its samples are not in");
    f.on(full_round().prior_inflight(1).inflight(1));
    assert_eq!(f.phase(), Phase::ProbeBwRefill);
    f.on(full_round().prior_inflight(1).inflight(1));
    assert_eq!(f.phase(), Phase::ProbeBwUp);
    f.on(part(1).prior_inflight(400));
    assert_eq!(f.phase(), Phase::ProbeBwUp, "it does not stop at inflight_hi");
}

#[test]
fn a_risky_probe_that_was_not_safe_is_followed_by_none() {
    let mut f = bounded_up("bbr3", 300, &[]);
    f.on(part(1).prior_inflight(300));
    f.lost(loss(1, 300, 20)); // in the round after it
    f.on(part(1).prior_inflight(1).inflight(1));
    f.on(full_round().prior_inflight(1).inflight(1));
    assert_eq!(f.phase(), Phase::ProbeBwCruise);
}

#[test]
fn losses_count_for_a_round_after_the_probe_and_then_no_more() {
    for (rounds, bound) in [(0, 349), (1, 2 * BDP)] {
        let mut f = up("bbr3", &[]);
        f.times(3, full_round().prior_inflight(500));
        assert_eq!(f.phase(), Phase::ProbeBwDown);
        f.times(rounds, full_round().prior_inflight(2 * BDP));
        f.lost(loss(1, 350, 50));
        // the loss round is not over: no lower bound yet
        f.on(part(1).prior_inflight(2 * BDP));
        assert_eq!(f.on(part(2 * BDP).prior_inflight(2 * BDP)).cwnd(), bound, "{rounds}");
    }
}

#[test]
fn a_probe_is_too_much_only_once() {
    let mut f = up("bbr3", &[]);
    f.lost(loss(1, 350, 50));
    f.lost(loss(1, 300, 60)); // of the same flight
    f.on(part(1).prior_inflight(2 * BDP));
    assert_eq!(f.cwnd(), 349);
}

#[test]
fn loss_in_refill_is_not_yet_of_the_probe_and_from_its_end_on_it_is() {
    let mut f = refill("bbr3", &[]);
    f.lost(loss(1, 350, 50));
    f.on(part(2 * BDP));
    assert_eq!(f.cwnd(), 2 * BDP);
    f.on(full_round());
    assert_eq!(f.phase(), Phase::ProbeBwUp);
    assert_eq!(f.lost(loss(1, 350, 50)).phase(), Phase::ProbeBwDown);
}

// ---- max_bw ----

/// From CRUISE through a probe into CRUISE again, at `pkts` packets per round.
fn cycle(f: &mut Flow, pkts: u32) {
    assert_eq!(f.phase(), Phase::ProbeBwCruise);
    let round = full_round().delivered(pkts, RTT).inflight(1);
    f.on(round.same_round().acked(1).after(s(3)));
    assert_eq!(f.phase(), Phase::ProbeBwRefill);
    f.times(4, round);
    assert_eq!(f.phase(), Phase::ProbeBwDown);
    f.on(round);
    assert_eq!(f.phase(), Phase::ProbeBwCruise);
}

#[test]
fn max_bw_is_that_of_this_cycle_and_the_last() {
    let mut f = cruise("bbr3", &[]);
    f.on(full_round().inflight(1)); // the samples of DOWN are in: STARTUP's are those of the last cycle
    f.on(part(1).delivered(300, RTT));
    assert_near(bw(&f), rate(BDP, 256), 1e3);
    cycle(&mut f, 300);
    assert_near(bw(&f), rate(300, 256), 1e3);
    f.on(part(1).delivered(200, RTT));
    assert_near(bw(&f), rate(300, 256), 1e3);
    cycle(&mut f, 200);
    assert_near(bw(&f), rate(200, 256), 1e3);
}

#[test]
fn a_higher_sample_counts_at_once() {
    let mut f = cruise("bbr3", &[]);
    f.on(part(1).delivered(BDP + 50, RTT));
    assert_near(bw(&f), rate(BDP + 50, 256), 1e3);
    f.on(part(1).delivered(BDP + 20, RTT).app_limited());
    assert_near(bw(&f), rate(BDP + 50, 256), 1e3);
    f.on(part(1).delivered(BDP + 60, RTT).app_limited());
    assert_near(bw(&f), rate(BDP + 60, 256), 1e3);
}

/// A known weakness: nothing is forgotten by a flow that is app-limited whenever the samples of a probe are
/// in.
#[test]
fn max_bw_does_not_age_where_the_last_round_of_a_probe_is_app_limited() {
    let mut f = cruise("bbr3", &[]);
    f.on(full_round().inflight(1));
    for _ in 0..5 {
        let round = full_round().delivered(100, RTT).inflight(1);
        f.on(round.same_round().acked(1).after(s(3)));
        f.times(4, round);
        f.on(round.app_limited());
    }
    assert_near(bw(&f), rate(BDP, 256), 1e3);
}

#[test]
fn without_samples_the_last_cycle_is_remembered() {
    let mut f = cruise("bbr3", &[]);
    f.on(full_round().inflight(1));
    for _ in 0..3 {
        f.on(part(1).delivered(1, RTT).app_limited().after(s(3)));
        assert_eq!(f.phase(), Phase::ProbeBwRefill);
        f.on(full_round().delivered(50, RTT).app_limited().inflight(1));
        f.times(4, full_round().delivered(0, RTT).inflight(1)); // nothing was delivered for a round
        assert_eq!(f.phase(), Phase::ProbeBwCruise);
    }
    assert_near(bw(&f), rate(BDP, 256), 1e3);
}
