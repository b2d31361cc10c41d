//! BBRv3: what it learns from loss and ECN, rule by rule; by google/bbr v3, and where that differs by
//! draft-ietf-ccwg-bbr-06 as `bbr3_draft`. "A.n" is a test case of the draft's appendix "BBR Example Test
//! Cases".

use crate::support::bbr3::*;
use crate::support::{Flow, assert_near, loss, round, s};
use fairpace_cc::{CaState, Phase};

const BOTH: [&str; 2] = ["bbr3", "bbr3_draft"];

fn bw(f: &Flow) -> f64 {
    f.cc.observe().bw_Bps as f64
}

/// A round in which the path delivers less.
fn slow_round(pkts: u32) -> crate::support::Ack {
    full_round().delivered(pkts, RTT)
}

// ---- a flight that was too much ----

/// Whether `lost` lost packets of a flight end the probe.
fn is_too_much(sent_with: u32, lost: u32) -> bool {
    let mut f = up("bbr3", &[]);
    f.lost(loss(1, sent_with, lost)).phase() == Phase::ProbeBwDown
}

#[test]
fn more_than_two_percent_of_a_flight_is_too_much() {
    // more than floor(flight * 5 / 256)
    for (flight, may_be_lost) in [(1, 0), (51, 0), (52, 1), (102, 1), (103, 2), (400, 7), (10_000, 195)] {
        assert!(may_be_lost == 0 || !is_too_much(flight, may_be_lost), "{may_be_lost} of {flight}");
        assert!(is_too_much(flight, may_be_lost + 1), "{} of {flight}", may_be_lost + 1);
    }
}

/// inflight_hi after the loss of `pkts` of a flight, as cwnd in DOWN shows it.
fn inflight_hi_after(pkts: u32, flight: u32, lost: u32) -> u32 {
    let mut f = up("bbr3", &[]);
    f.lost(loss(pkts, flight, lost));
    f.on(part(1).prior_inflight(2 * BDP)).cwnd()
}

#[test]
fn inflight_hi_is_where_in_the_lost_packets_the_threshold_was_crossed() {
    // before the last `pkts`: budget = ceil((flight - pkts) * 5 / 256), and lost - pkts of it are spent.
    // What is left of it, (budget - spent) * 256 / 251 rounded down, may be lost of the last ones, too
    for (pkts, flight, lost, expected) in [
        (1, 400, 8, 399 + 1), // ceil(7.79) = 8, 7 spent
        (1, 400, 9, 399),     // all spent
        (1, 350, 50, 349),    // more than all: the prefix is not below zero
        (10, 410, 10, 408),   // 400: ceil(7.81) = 8, none spent: 8 * 256 / 251 = 8
        (10, 410, 12, 406),   // 2 spent: 6
        (100, 500, 100, 408), // as 10 of 410
    ] {
        assert_eq!(inflight_hi_after(pkts, flight, lost), expected, "{pkts} of {flight}, {lost} lost");
    }
}

#[test]
fn inflight_hi_falls_by_no_more_than_30_percent_of_the_target() {
    // min(BDP + 2, cwnd) * 180 / 256
    assert_eq!(inflight_hi_after(1, 100, 50), cut(BDP + 2));
    let mut f = up("bbr3", &[]);
    f.view.cwnd_pkts = 350; // congestion has cut cwnd
    f.lost(loss(1, 100, 50));
    f.view.cwnd_pkts = 2 * BDP;
    assert_eq!(f.on(part(1).prior_inflight(2 * BDP)).cwnd(), cut(350));
}

#[test]
fn more_lost_than_were_in_flight_leaves_the_bound_by_the_target() {
    // an estimate of a host without exact knowledge
    assert_eq!(inflight_hi_after(20, 10, 20), cut(BDP + 2));
}

#[test]
fn an_unknown_flight_is_what_the_path_delivered_in_the_latest_round_and_the_lost() {
    let mut f = up("bbr3", &[]);
    // 400 delivered in the latest round: of 407 packets 7 may be lost, of 408 also 7, so that 8 are too much
    assert_eq!(f.clone().lost(loss(1, 0, 7)).phase(), Phase::ProbeBwUp);
    f.lost(loss(1, 0, 8));
    assert_eq!(f.phase(), Phase::ProbeBwDown);
    // 407 before it, ceil(7.95) = 8 and 7 are spent: one more
    assert_eq!(f.on(part(1).prior_inflight(2 * BDP)).cwnd(), 408);
}

#[test]
fn what_was_safe_raises_inflight_hi_in_every_state() {
    for algorithm in BOTH {
        let mut f = bounded_cruise(algorithm, 300, &[]);
        assert_eq!(f.on(part(BDP)).cwnd(), 300 - 44);
        f.on(part(1).sent_with(350).lost_since(6)); // 6 of 350 are not too much
        assert_eq!(f.on(part(BDP)).cwnd(), 350 - 51, "{algorithm}: floor(350 * 38 / 256) = 51 of headroom");
        f.on(part(1).sent_with(390).lost_since(8));
        assert_eq!(f.on(part(BDP)).cwnd(), 350 - 51, "8 of 390 are");
    }
}

#[test]
fn without_a_bound_nothing_sets_one_but_too_much() {
    let mut f = cruise("bbr3", &[]);
    assert_eq!(f.on(part(BDP).sent_with(300)).cwnd(), 2 * BDP);
}

// ---- cwnd by state ----

#[test]
fn inflight_hi_bounds_cwnd_in_probe_bw_and_leaves_headroom_in_cruise() {
    let mut f = bounded_down("bbr3", 300, &[]);
    assert_eq!(f.on(part(BDP).prior_inflight(2 * BDP)).cwnd(), 300);
    let mut f = bounded_cruise("bbr3", 300, &[]);
    assert_eq!(f.on(part(BDP)).cwnd(), 256);
    f.on(part(BDP).after(s(3)));
    assert_eq!((f.phase(), f.cwnd()), (Phase::ProbeBwRefill, 300));
    assert_eq!(bounded_up("bbr3", 300, &[]).cwnd(), 300);
}

#[test]
fn headroom_is_at_least_a_packet_and_leaves_at_least_four() {
    // in a BDP of 5 packets: the bound may be 3 at least, 5 * 180 / 256
    let small = |hi: u32| {
        let mut f = start("bbr3", &[("probe_wait_rounds", "1")]);
        f.view.cwnd_limited = true;
        let round = |pkts| round(pkts, RTT).inflight(1).sent_with(1);
        f.times(5, round(5));
        while f.phase() != Phase::ProbeBwUp {
            f.on(round(5));
        }
        f.lost(loss(1, hi + 1, 50));
        while f.phase() != Phase::ProbeBwCruise {
            f.on(round(5).same_round());
        }
        f.on(round(5).same_round().acked(50)).cwnd()
    };
    assert_eq!(small(6), 5, "floor(6 * 38 / 256) is 0");
    assert_eq!(small(4), 4);
}

// ---- lower bounds ----

#[test]
fn a_round_with_loss_lowers_bw_and_cwnd_by_30_percent_at_most() {
    for (algorithm, beta) in [("bbr3", 180), ("bbr3_draft", 179)] {
        let mut f = cruise(algorithm, &[]);
        f.on(slow_round(100)); // what the latest round delivered is far below
        f.lost(loss(1, BDP, 1)).on(slow_round(100));
        assert_near(bw(&f), rate(BDP, beta), 1e3);
        assert_eq!(f.cwnd(), 2 * BDP * beta / 256, "{algorithm}");
        assert_near(f.pacing() as f64, rate(BDP, beta) * 0.99, 1e3);
        // the next one falls from there
        f.lost(loss(1, BDP, 1)).on(slow_round(100));
        assert_near(bw(&f), rate(BDP, beta) * f64::from(beta) / 256.0, 1e3);
        assert_eq!(f.cwnd(), 2 * BDP * beta / 256 * beta / 256);
    }
}

#[test]
fn bounds_do_not_fall_below_what_the_round_delivered() {
    for (algorithm, beta) in [("bbr3", 180), ("bbr3_draft", 179)] {
        let mut f = cruise(algorithm, &[]);
        f.on(slow_round(390)).lost(loss(1, BDP, 1)).on(slow_round(390));
        assert_near(bw(&f), rate(390, 256), 1e3);
        assert_eq!(f.cwnd(), 2 * BDP * beta / 256, "{algorithm}");
        let mut f = cruise(algorithm, &[]);
        // a long queue: 600 packets delivered while the bottleneck took 1.5 RTT for them
        let queued = full_round().delivered(600, RTT * 3 / 2);
        f.on(queued).lost(loss(1, BDP, 1)).on(queued.acked(1));
        assert_eq!(f.cwnd(), 600, "{algorithm}");
    }
}

#[test]
fn the_latest_round_is_the_best_of_its_samples() {
    let mut f = cruise("bbr3", &[]);
    f.on(slow_round(100));
    f.lost(loss(1, BDP, 1)).on(part(1).delivered(350, RTT)).on(part(1).delivered(200, RTT));
    f.on(slow_round(100));
    assert_near(bw(&f), rate(350, 256), 1e3);
}

#[test]
fn a_round_of_loss_begins_with_the_first_loss() {
    let mut f = cruise("bbr3", &[]);
    f.on(slow_round(100)).on(part(200).delivered(100, RTT));
    f.lost(loss(1, BDP, 1));
    // this ACK ends the round that the flow counts; its packet was sent before the loss
    let mut before_loss = slow_round(100);
    before_loss = before_loss.sent_after(f.view.delivered_pkts - 1);
    f.on(before_loss);
    assert_near(bw(&f), rate(BDP, 256), 1e3);
    f.on(slow_round(100));
    assert_near(bw(&f), rate(BDP, 180), 1e3);
}

#[test]
fn a_round_without_loss_changes_nothing() {
    let mut f = cruise("bbr3", &[]);
    f.times(10, slow_round(100));
    assert_near(bw(&f), rate(BDP, 256), 1e3);
    assert_eq!(f.cwnd(), 2 * BDP);
}

#[test]
fn bounds_fall_in_down_and_cruise_and_not_while_probing() {
    let lossy = |mut f: Flow| {
        let phase = f.phase();
        let ack = part(1).delivered(100, RTT).prior_inflight(2 * BDP).inflight(2 * BDP);
        for _ in 0..2 {
            f.lost(loss(1, 10_000, 1)).on(ack.new_round().app_limited());
        }
        (phase, bw(&f) < rate(BDP, 256) * 0.9)
    };
    assert_eq!(lossy(down("bbr3", &[])), (Phase::ProbeBwDown, true));
    assert_eq!(lossy(cruise("bbr3", &[])), (Phase::ProbeBwCruise, true));
    assert_eq!(lossy(refill("bbr3", &[])), (Phase::ProbeBwRefill, false));
    assert_eq!(lossy(up("bbr3", &[])), (Phase::ProbeBwUp, false));
    assert_eq!(lossy(startup("bbr3", &[])), (Phase::Startup, false));
    assert_eq!(lossy(drain("bbr3", &[])), (Phase::Drain, true));
}

#[test]
fn a16_a_tenth_of_the_bandwidth_is_found_by_loss_at_once_and_believed_after_two_cycles() {
    for algorithm in BOTH {
        let mut f = cruise(algorithm, &[]);
        f.on(slow_round(BDP / 10));
        for _ in 0..7 {
            f.lost(loss(5, BDP, 50)).on(slow_round(BDP / 10)); // 0.7 ^ 7 is 0.082
        }
        assert_near(bw(&f), rate(BDP / 10, 256), 1e3);
        assert_eq!(f.phase(), Phase::ProbeBwCruise);
        let slow = slow_round(BDP / 10).inflight(1);
        for cycle in 1..=2 {
            f.on(slow.same_round().acked(1).after(s(3)));
            assert_eq!(f.phase(), Phase::ProbeBwRefill, "{algorithm}, cycle {cycle}");
            f.on(slow);
            while f.phase() == Phase::ProbeBwUp {
                f.on(slow);
            }
            f.times(2, slow);
            assert_eq!(f.phase(), Phase::ProbeBwCruise);
        }
        assert_near(bw(&f), rate(BDP / 10, 256), 1e3);
    }
}

#[test]
fn a17_a_policer_is_met_by_the_lower_bounds() {
    // 400 packets a round until the bucket is empty, 100 from then on and all else dropped
    for algorithm in BOTH {
        let mut f = cruise(algorithm, &[]);
        f.on(slow_round(100));
        for _ in 0..12 {
            f.lost(loss(20, BDP, 100)).on(slow_round(100));
        }
        assert_near(bw(&f), rate(100, 256), 1e3);
        assert_near(f.pacing() as f64, rate(100, 256) * 0.99, 1e3);
        assert!(f.cwnd() <= 200, "{algorithm}: {}", f.cwnd());
    }
}

// ---- tail loss ----

#[test]
fn a_tail_loss_that_a_probe_repaired_counts_in_linux_and_not_in_the_draft() {
    for (algorithm, phase) in [("bbr3", Phase::ProbeBwDown), ("bbr3_draft", Phase::ProbeBwUp)] {
        let mut f = up(algorithm, &[]);
        f.on(slow_round(40)).on(slow_round(40)); // 40 in flight: one is more than 2 %
        assert_eq!(f.probe_repaired().phase(), phase, "{algorithm}");
    }
    let mut f = up("bbr3", &[]);
    assert_eq!(f.probe_repaired().phase(), Phase::ProbeBwUp, "one of 401 is not");
    let mut f = cruise("bbr3", &[]);
    f.on(slow_round(100)).probe_repaired().on(slow_round(100));
    assert_near(bw(&f), rate(BDP, 180), 1e3);
}

#[test]
fn the_ack_of_a_probe_does_not_replace_the_latest_round() {
    let mut f = cruise("bbr3", &[]);
    f.on(slow_round(350));
    f.on(full_round().delivered(1, RTT).probe()); // a round of one packet: the probe
    f.probe_repaired().on(slow_round(100));
    assert_near(bw(&f), rate(350, 256), 1e3);
}

// ---- ECN ----

/// An RTT in us at which marks count, 4 ms.
const NEAR: u64 = 1 << 12;
/// The BDP of a path with it, packets.
const SMALL: u32 = 100;

/// In CRUISE on a path of 4.096 ms and 100 packets, with ECN. No mark yet: alpha is 1 less a 16th for each
/// of some 14 rounds.
fn ecn_cruise(settings: &[(&str, &str)]) -> Flow {
    let mut all = vec![("ecn", "on")];
    all.extend(settings);
    let mut f = start("bbr3", &all);
    f.view.ecn = true;
    for pkts in [10, 20, 40, 80, SMALL, SMALL, SMALL, SMALL] {
        f.on(round(pkts, NEAR).inflight(2 * pkts));
    }
    f.on(ecn_round(0).same_round().inflight(SMALL));
    f.on(ecn_round(0)); // marks are counted from here
    assert_eq!(f.phase(), Phase::ProbeBwCruise);
    f
}

fn ecn_round(marked: u32) -> crate::support::Ack {
    round(SMALL, NEAR).rtt(NEAR + 100).inflight(SMALL).sent_with(1).marked(marked)
}

#[test]
fn marks_lower_inflight_by_their_smoothed_rate_and_leave_bw() {
    // alpha falls by a 16th of itself per round without marks (and rounds down); in the round with marks it
    // takes in a 16th of the rate, 100/100. What is cut is alpha * 85 / 256
    let mut f = ecn_cruise(&[("ecn_alpha_initial", "0"), ("ecn_reprobe_gain", "0")]);
    let before = f.cwnd();
    f.on(ecn_round(SMALL));
    let mut alpha = 16; // 256 / 16
    let lo = before * (256 - alpha * 85 / 256) / 256;
    assert_eq!(f.cwnd(), lo);
    assert_near(bw(&f), 100.0 * 1448.0 / (NEAR as f64 / 1e6), 1e3);
    f.on(ecn_round(SMALL / 2));
    alpha = alpha * 240 / 256 + 128 * 16 / 256;
    assert_eq!(f.cwnd(), lo * (256 - alpha * 85 / 256) / 256);
}

#[test]
fn marks_count_only_where_they_are_eligible() {
    let mut f = ecn_cruise(&[("ecn_max_rtt", "1ms")]);
    let before = f.cwnd();
    assert_eq!(f.on(ecn_round(SMALL)).cwnd(), before);
}

#[test]
fn more_than_half_of_a_flight_marked_is_too_much() {
    for (marked, phase) in [(50, Phase::ProbeBwUp), (51, Phase::ProbeBwDown)] {
        let mut f = ecn_cruise(&[("ecn_reprobe_gain", "0")]);
        f.on(ecn_round(0).same_round().acked(1).after(s(3))).on(ecn_round(0));
        assert_eq!(f.phase(), Phase::ProbeBwUp);
        f.on(ecn_round(marked).same_round().acked(1));
        assert_eq!(f.phase(), phase, "{marked}");
    }
}

#[test]
fn marks_without_loss_lead_to_a_probe_at_once() {
    let mut f = ecn_cruise(&[]);
    f.on(ecn_round(1).same_round().acked(1)); // what happened in this cycle is known with the next ACK
    assert_eq!(f.phase(), Phase::ProbeBwCruise);
    assert_eq!(f.clone().on(ecn_round(0)).phase(), Phase::ProbeBwRefill);
    let mut lossy = f.clone();
    lossy.lost(loss(1, 10_000, 1));
    assert_eq!(lossy.on(ecn_round(0).same_round()).phase(), Phase::ProbeBwCruise);
    f.view.ca_state = CaState::Disorder;
    assert_eq!(f.on(ecn_round(0).same_round()).phase(), Phase::ProbeBwCruise);
}

#[test]
fn marks_and_loss_together_lower_inflight_to_the_lower_of_the_two() {
    let mut f = ecn_cruise(&[("ecn_alpha_initial", "1"), ("ecn_factor", "1"), ("ecn_alpha_gain", "1")]);
    let before = f.cwnd();
    f.on(ecn_round(0).delivered(10, NEAR));
    f.lost(loss(1, 10_000, 1)).on(ecn_round(10).delivered(10, NEAR));
    // the round's rate of marks is 10 of 100, floor(25.6 / 256); that cuts a tenth, loss cuts 30 %
    assert_eq!(f.cwnd(), cut(before));
    let mut f = ecn_cruise(&[("ecn_alpha_initial", "1"), ("ecn_factor", "1"), ("ecn_alpha_gain", "1")]);
    f.on(ecn_round(0).delivered(10, NEAR));
    f.lost(loss(1, 10_000, 1)).on(ecn_round(50).delivered(10, NEAR));
    assert_eq!(f.cwnd(), before / 2);
}

#[test]
fn in_cruise_the_lower_bound_is_not_above_the_upper_one() {
    // loss in DOWN sets inflight_lo from cwnd, 300: 210 by loss, or what was delivered, 390; then CRUISE
    // lowers it to inflight_hi
    let mut f = bounded_down("bbr3", 300, &[]);
    f.on(slow_round(390).prior_inflight(2 * BDP));
    f.lost(loss(1, 10_000, 1)).on(slow_round(390).prior_inflight(2 * BDP));
    assert_eq!(f.cwnd(), 300);
    f.on(part(1).prior_inflight(1));
    assert_eq!(f.phase(), Phase::ProbeBwCruise);
    f.on(part(1).sent_with(500)); // inflight_hi is 500 now, inflight_lo 300
    assert_eq!(f.on(part(BDP)).cwnd(), 300);
}
