//! BBRv2: where it differs from BBRv3; by google/bbr v2alpha. All else is bbr3's, in bbr3_*.rs.

use crate::support::bbr3::*;
use crate::support::{Ack, Flow, assert_near, loss, round, s};
use fairpace_cc::Phase;

fn bw(f: &Flow) -> f64 {
    f.cc.observe().bw_Bps as f64
}

/// A round without growth, with two BDPs in flight.
fn plateau() -> Ack {
    round(BDP, RTT).inflight(2 * BDP)
}

/// In CRUISE; STARTUP's cwnd gain is higher, but that of PROBE_BW is the same.
fn cruising(settings: &[(&str, &str)]) -> Flow {
    let mut f = cruise("bbr2", settings);
    assert_eq!(f.on(part(1)).cwnd(), 2 * BDP);
    f
}

#[test]
fn gains_are_those_of_bbrv1_where_v3_has_others() {
    let gains = |f: &Flow| {
        let seen = f.cc.observe();
        (seen.phase, seen.pacing_gain_256, seen.cwnd_gain_256)
    };
    assert_eq!(gains(&startup("bbr2", &[])), (Phase::Startup, 739, 739));
    assert_eq!(gains(&drain("bbr2", &[])), (Phase::Drain, 88, 739));
    assert_eq!(gains(&down("bbr2", &[])), (Phase::ProbeBwDown, 192, 512));
    assert_eq!(gains(&cruise("bbr2", &[])), (Phase::ProbeBwCruise, 256, 512));
    assert_eq!(gains(&refill("bbr2", &[])), (Phase::ProbeBwRefill, 256, 512));
    assert_eq!(gains(&up("bbr2", &[])), (Phase::ProbeBwUp, 320, 512));
    assert_near(up("bbr2", &[]).pacing() as f64, rate(BDP, UP) * 0.99, 1e3);
    assert_eq!(up("bbr2", &[]).on(part(BDP)).cwnd(), 2 * BDP + 2);
}

// ---- STARTUP ----

#[test]
fn the_pipe_is_full_when_the_maximum_has_not_grown_for_three_rounds() {
    let mut f = startup("bbr2", &[]);
    f.times(2, plateau());
    f.on(part(10).delivered(BDP * 5 / 4, RTT).inflight(2 * BDP)); // within a round; the maximum takes it in
    assert_eq!(f.on(plateau()).phase(), Phase::Startup, "the next round sees that growth");
    f.times(2, plateau());
    assert_eq!(f.phase(), Phase::Startup);
    assert_eq!(f.on(plateau()).phase(), Phase::Drain);
}

/// A round of recovery with `losses` lost packets of a flight of 300, each reported by an ACK of its own.
fn lossy(losses: u32, ack: Ack) -> Flow {
    let mut f = startup("bbr2", &[]);
    f.recovery();
    for n in 1..=losses {
        f.lost(loss(1, 300, n)).on(ack);
    }
    f.on(plateau().sent_with(300).lost_since(losses));
    f
}

#[test]
fn eight_acks_with_loss_end_startup() {
    let ack = part(1).inflight(2 * BDP);
    assert_eq!(lossy(7, ack).phase(), Phase::Startup);
    assert_eq!(lossy(8, ack).phase(), Phase::Drain);
}

#[test]
fn inflight_hi_is_then_a_bdp_whatever_was_delivered() {
    // 500 packets delivered in the time that the bottleneck takes for them
    let mut f = lossy(8, part(1).delivered(500, RTT * 5 / 4).inflight(2 * BDP));
    f.on(part(1).prior_inflight(2 * BDP));
    assert_eq!((f.phase(), f.cwnd()), (Phase::ProbeBwDown, BDP));
}

#[test]
fn marks_end_startup_with_a_bdp_in_flight_too() {
    let near = 1 << 12;
    let mut f = start("bbr2", &[("ecn", "on")]);
    f.view.ecn = true;
    for pkts in [10, 20, 40, 80, 160, 320] {
        f.on(round(pkts, near).inflight(2 * pkts));
    }
    // 500 delivered in 1.25 RTT: at 400 per RTT
    let marked = round(500, near * 5 / 4).rtt(near).sent_with(1).marked(400).inflight(2 * BDP);
    f.on(marked).on(marked);
    assert_eq!(f.phase(), Phase::Drain);
    f.on(marked.marked(0).same_round().inflight(1).prior_inflight(2 * BDP));
    assert_eq!((f.phase(), f.cwnd()), (Phase::ProbeBwDown, BDP));
}

// ---- UP ----

#[test]
fn up_ends_when_a_quarter_more_is_in_flight_after_a_min_rtt() {
    // 1.25 BDP and two packets while probing; a burst that is about to be sent counts: 22.1 MB/s * 0.99 /
    // 1024 / 1448, 14
    let enough = BDP * 5 / 4 + 2 - 14;
    let mut f = up("bbr2", &[]);
    assert_eq!(f.on(part(1).after(RTT).prior_inflight(enough)).phase(), Phase::ProbeBwUp, "not before");
    assert_eq!(f.on(part(1).after(1).prior_inflight(enough - 1)).phase(), Phase::ProbeBwUp, "not with less");
    assert_eq!(f.on(part(1).after(0).prior_inflight(enough)).phase(), Phase::ProbeBwDown);
}

#[test]
fn up_does_not_end_because_bandwidth_does_not_grow() {
    let mut f = up("bbr2", &[]);
    assert_eq!(f.times(50, full_round().inflight(BDP)).phase(), Phase::ProbeBwUp);
}

#[test]
fn a_probe_after_one_that_was_too_much_stops_at_inflight_hi() {
    let mut f = bounded_up("bbr2", 300, &[]);
    assert_eq!(f.on(part(0).prior_inflight(300 - 15)).phase(), Phase::ProbeBwUp);
    assert_eq!(f.on(part(0).prior_inflight(300 - 14)).phase(), Phase::ProbeBwDown);
    f.on(full_round().prior_inflight(1).inflight(1));
    assert_eq!(f.phase(), Phase::ProbeBwRefill, "it was safe");
}

#[test]
fn inflight_hi_grows_only_by_what_is_acknowledged_while_it_is_the_limit_without_a_break() {
    for (algorithm, cwnd) in [("bbr2", 300), ("bbr3", 301)] {
        let mut f = bounded_up(algorithm, 300, &[]);
        f.on(part(256).inflight(200)); // a packet for each 257, which was cwnd when UP began
        f.view.cwnd_limited = false;
        f.on(part(1).inflight(200));
        f.view.cwnd_limited = true;
        f.on(part(1).inflight(200));
        assert_eq!(f.cwnd(), cwnd, "{algorithm}");
    }
}

#[test]
fn loss_ends_up_and_lowers_inflight_hi() {
    let mut f = up("bbr2", &[]);
    f.lost(loss(1, 350, 50));
    f.on(part(1).prior_inflight(2 * BDP));
    assert_eq!((f.phase(), f.cwnd()), (Phase::ProbeBwDown, 349));
}

/// v2alpha: bbr2_update_congestion_signals() resets bw_latest before bbr2_start_bw_probe_down() does; in v3
/// bbr_advance_latest_delivery_signals() runs after it, and the sample of UP stays.
#[test]
fn samples_of_up_do_not_keep_bw_lo_up_after_it() {
    let mut f = up("bbr2", &[]);
    f.on(full_round().after(RTT + 1).prior_inflight(2 * BDP));
    assert_eq!(f.phase(), Phase::ProbeBwDown);
    f.lost(loss(1, 10_000, 1)).on(full_round().delivered(100, RTT).prior_inflight(2 * BDP));
    assert_near(bw(&f), rate(BDP, 180), 1e3);
}

/// v2alpha: bbr_min_tso_segs() is 1 below 1.2 Mbit/s; in v3 it is 2. A target has room for 3 bursts.
#[test]
fn at_low_rates_bursts_of_one_packet_leave_four_packets_as_the_floor_of_cwnd() {
    for (algorithm, floor) in [("bbr2", 4), ("bbr3", 6)] {
        let mut f = start(algorithm, &[]); // one packet per 40 ms: 290 kbit/s
        for _ in 0..20 {
            if f.phase() == Phase::ProbeBwCruise {
                break;
            }
            f.on(round(1, RTT).inflight(2));
        }
        assert_eq!((f.phase(), f.cwnd()), (Phase::ProbeBwCruise, floor), "{algorithm}");
    }
}

// ---- loss, ECN, RTT ----

#[test]
fn a_tail_loss_that_a_probe_repaired_is_unseen() {
    let mut f = up("bbr2", &[]);
    f.on(full_round().delivered(40, RTT)).on(full_round().delivered(40, RTT));
    assert_eq!(f.probe_repaired().phase(), Phase::ProbeBwUp);
    // and the ACK of a probe is one like any other
    let mut f = cruising(&[]);
    f.on(full_round().delivered(350, RTT)).on(full_round().delivered(1, RTT).probe());
    f.lost(loss(1, 10_000, 1)).on(full_round().delivered(100, RTT));
    assert_near(bw(&f), rate(BDP, 180), 1e3);
}

#[test]
fn half_of_a_flight_marked_is_too_much() {
    let near = 1 << 12;
    for (algorithm, phase) in [("bbr2", Phase::ProbeBwDown), ("bbr3", Phase::ProbeBwUp)] {
        let mut f = start(algorithm, &[("ecn", "on")]);
        f.view.ecn = true;
        for pkts in [10, 20, 40, 80, 100, 100, 100, 100] {
            f.on(round(pkts, near).inflight(2 * pkts));
        }
        let quiet = round(100, near).rtt(near + 100).inflight(100).sent_with(1);
        f.on(quiet.same_round()).on(quiet.same_round().acked(1).after(s(3))).on(quiet);
        assert_eq!(f.phase(), Phase::ProbeBwUp);
        assert_eq!(f.on(quiet.same_round().acked(1).marked(50)).phase(), phase, "{algorithm}");
    }
}

#[test]
fn marks_lead_to_no_probe() {
    let near = 1 << 12;
    let mut f = start("bbr2", &[("ecn", "on")]);
    f.view.ecn = true;
    for pkts in [10, 20, 40, 80, 100, 100, 100, 100] {
        f.on(round(pkts, near).inflight(2 * pkts));
    }
    let quiet = round(100, near).rtt(near + 100).inflight(100).sent_with(1).same_round();
    f.on(quiet).on(quiet.marked(1)).on(quiet);
    assert_eq!(f.phase(), Phase::ProbeBwCruise);
}

#[test]
fn an_rtt_equal_to_the_minimum_postpones_probe_rtt() {
    let after_an_equal_rtt = |by_equal: &str| {
        let mut f = cruise(
            "bbr2",
            &[("probe_rtt_interval", "5s"), ("min_rtt_window", "10s"), ("min_rtt_by_equal", by_equal)],
        );
        f.on(part(1).rtt(RTT - 1));
        f.on(part(1).after(s(4)).rtt(RTT - 1));
        f.on(part(1).after(s(4)));
        f
    };
    assert_eq!(after_an_equal_rtt("off").phase(), Phase::ProbeRtt);
    let mut f = after_an_equal_rtt("on");
    assert_ne!(f.phase(), Phase::ProbeRtt);
    assert_eq!(f.on(part(1).after(s(1) + 1)).phase(), Phase::ProbeRtt);
}

#[test]
fn a_timeout_measures_growth_from_nothing_and_keeps_the_count_of_rounds() {
    let mut f = startup("bbr2", &[]);
    f.times(2, plateau()).timeout().ca_state(fairpace_cc::CaState::Open);
    // the maximum is not nothing: that is growth, and the count begins again with it
    f.times(3, plateau());
    assert_eq!(f.phase(), Phase::Startup);
    assert_eq!(f.on(plateau()).phase(), Phase::Drain);
}
