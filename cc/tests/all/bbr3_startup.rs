//! BBRv3: STARTUP and DRAIN, rule by rule; by google/bbr v3, and where that differs by
//! draft-ietf-ccwg-bbr-06 as `bbr3_draft`. "A.n" is a test case of the draft's appendix "BBR Example Test
//! Cases".

use crate::support::bbr3::*;
use crate::support::{Ack, Flow, MSS, ack, assert_near, loss, ms, round, s};
use fairpace_cc::{CaState, INFINITE, Phase};

const BOTH: [&str; 2] = ["bbr3", "bbr3_draft"];

/// A round without growth, with two BDPs in flight.
fn plateau() -> Ack {
    round(BDP, RTT).inflight(2 * BDP)
}

// ---- pacing and cwnd ----

#[test]
fn the_first_pacing_rate_is_gain_times_the_initial_window_per_rtt_less_a_margin_in_linux_only() {
    // 10 packets of 1448 bytes per 1 ms, until there is an RTT
    let window = 10.0 * MSS as f64 * 710.0 / 256.0;
    for (algorithm, margin) in [("bbr3", 0.99), ("bbr3_draft", 1.0)] {
        assert_near(Flow::start(algorithm, &[]).pacing() as f64, window * margin / 1e-3, 1e3);
        let f = Flow::start_with(algorithm, &[], |v| v.srtt_us = 40_000);
        assert_near(f.pacing() as f64, window * margin / 40e-3, 1e2);
    }
}

#[test]
fn the_first_rtt_sample_sets_the_pacing_rate_anew_once() {
    let mut f = Flow::start("bbr3", &[]);
    f.on(ack(1).rtt(ms(40)).delivered(1, ms(40)).inflight(9));
    assert_near(f.pacing() as f64, 10.0 * MSS as f64 / 40e-3 * 710.0 / 256.0 * 0.99, 1e4);
    let first = f.pacing();
    f.on(ack(1).rtt(ms(80)).delivered(1, ms(40)).inflight(9));
    assert_eq!(f.pacing(), first);
}

#[test]
fn pacing_is_gain_times_bw_less_one_percent_and_never_falls() {
    let mut f = startup("bbr3", &[]);
    assert_eq!(f.gain(), STARTUP);
    assert_near(f.pacing() as f64, rate(BDP, STARTUP) * 0.99, 1e3);
    f.on(round(BDP / 2, RTT));
    assert_near(f.pacing() as f64, rate(BDP, STARTUP) * 0.99, 1e3);
}

#[test]
fn the_lowest_rates_are_rounded_up_so_that_they_can_grow() {
    let mut f = start("bbr3", &[]);
    // a packet in 30 s is half a unit of bw, 2^24 us for a packet: one
    f.on(ack(1).after(s(30)).rtt(s(30)).delivered(1, s(30)).new_round());
    assert_eq!(f.cc.observe().bw_Bps, (MSS * 1_000_000) >> 24);
}

#[test]
fn cwnd_grows_by_what_is_acknowledged_up_to_two_bdp() {
    let mut f = startup("bbr3", &[]);
    f.view.cwnd_pkts = 700;
    assert_eq!(f.on(part(60)).cwnd(), 760);
    assert_eq!(f.on(part(60)).cwnd(), 820, "760 was below 800, twice the BDP");
    assert_eq!(f.on(part(60)).cwnd(), 820, "no more, and no less");
}

#[test]
fn cwnd_grows_up_to_twice_the_initial_window_whatever_the_target() {
    let mut f = start("bbr3", &[]);
    let poor = ack(1).rtt(RTT).delivered(1, RTT).inflight(9); // a BDP of 1
    assert_eq!(f.times(10, poor).cwnd(), 20);
    assert_eq!(f.on(poor).cwnd(), 20);
}

// ---- plateau ----

#[test]
fn a1_three_rounds_without_a_quarter_more_bandwidth_end_startup() {
    for algorithm in BOTH {
        let mut f = startup(algorithm, &[]);
        f.on(round(BDP * 124 / 100, RTT).inflight(2 * BDP)); // 24 % are no growth
        f.on(plateau());
        assert_eq!(f.phase(), Phase::Startup);
        f.on(plateau());
        assert_eq!(f.phase(), Phase::Drain, "{algorithm}");
        let bw = f.cc.observe().bw_Bps as f64;
        assert_near(bw, rate(BDP * 124 / 100, 256), 1e3);
    }
}

#[test]
fn growth_by_a_quarter_begins_the_count_anew() {
    let mut f = startup("bbr3", &[]);
    f.times(2, plateau()).on(round(BDP * 5 / 4, RTT).inflight(2 * BDP)).times(2, plateau());
    assert_eq!(f.phase(), Phase::Startup);
    assert_eq!(f.on(plateau()).phase(), Phase::Drain);
}

#[test]
fn growth_within_a_round_counts_in_linux_and_not_in_the_draft() {
    for (algorithm, after_three) in [("bbr3", Phase::Startup), ("bbr3_draft", Phase::Drain)] {
        let mut f = startup(algorithm, &[]);
        f.times(2, plateau());
        f.on(part(10).delivered(BDP * 5 / 4, RTT).inflight(2 * BDP)); // the ACK begins no round
        assert_eq!(f.on(plateau()).phase(), after_three, "{algorithm}");
    }
}

#[test]
fn acks_within_a_round_do_not_count_as_rounds() {
    let mut f = startup("bbr3", &[]);
    f.times(20, part(10).inflight(2 * BDP));
    assert_eq!(f.phase(), Phase::Startup);
}

#[test]
fn a7_startup_does_not_end_while_app_limited_without_loss() {
    for algorithm in BOTH {
        let mut f = startup(algorithm, &[]);
        f.times(100, plateau().app_limited());
        assert_eq!(f.phase(), Phase::Startup, "{algorithm}");
    }
}

// ---- loss ----

/// A round of recovery in STARTUP that loses packets one by one, each seen by an ACK of its own, and ends
/// with a flight of `flight` packets of which `lost` were lost.
fn lossy(f: &mut Flow, losses: u32, flight: u32) {
    f.recovery();
    for n in 1..=losses {
        f.lost(loss(1, flight, n)).on(part(1).inflight(2 * BDP));
    }
    f.on(plateau().sent_with(flight).lost_since(losses));
}

#[test]
fn six_acks_with_loss_and_two_percent_lost_end_startup_when_the_round_is_over() {
    let mut f = startup("bbr3", &[]);
    f.recovery();
    for n in 1..=6 {
        f.lost(loss(1, 300, n)).on(part(1).inflight(2 * BDP));
    }
    assert_eq!(f.phase(), Phase::Startup, "the round is not over");
    f.on(plateau().sent_with(300).lost_since(6));
    assert_eq!((f.phase(), f.gain()), (Phase::Drain, DRAIN));
}

#[test]
fn each_condition_for_the_exit_by_loss_is_needed() {
    // floor(300 * 5 / 256) = 5: of 300 packets 5 may be lost; floor(308 * 5 / 256) = 6
    for (losses, flight, phase) in
        [(6, 300, Phase::Drain), (5, 100, Phase::Startup), (6, 307, Phase::Drain), (6, 308, Phase::Startup)]
    {
        let mut f = startup("bbr3", &[]);
        lossy(&mut f, losses, flight);
        assert_eq!(f.phase(), phase, "{losses} of {flight}");
    }
    let mut f = startup("bbr3", &[]);
    f.ca_state(CaState::Disorder);
    for n in 1..=6 {
        f.lost(loss(1, 300, n)).on(part(1).inflight(2 * BDP));
    }
    f.on(plateau().sent_with(300).lost_since(6));
    assert_eq!(f.phase(), Phase::Startup, "not in recovery");
}

#[test]
fn losses_are_counted_from_round_to_round() {
    let mut f = startup("bbr3", &[]);
    lossy(&mut f, 5, 300);
    f.lost(loss(1, 300, 6)).on(part(1).inflight(2 * BDP));
    f.on(plateau().app_limited().sent_with(300).lost_since(6));
    assert_eq!(f.phase(), Phase::Startup, "five in one round and one in the next");
}

#[test]
fn a2_loss_ends_startup_even_when_app_limited() {
    for algorithm in BOTH {
        let mut f = startup(algorithm, &[]);
        f.recovery();
        for n in 1..=6 {
            f.lost(loss(1, 300, n).app_limited()).on(part(1).inflight(2 * BDP).app_limited());
        }
        f.on(plateau().sent_with(300).lost_since(6).app_limited());
        assert_eq!(f.phase(), Phase::Drain, "{algorithm}");
    }
}

#[test]
fn the_draft_counts_ranges_of_lost_packets_and_linux_acks_with_loss() {
    // six packets next to each other, each seen by an ACK of its own
    for (algorithm, phase) in [("bbr3", Phase::Drain), ("bbr3_draft", Phase::Startup)] {
        let mut f = startup(algorithm, &[]);
        f.recovery();
        for n in 1..=6 {
            f.lost(loss(1, 300, n).contiguous()).on(part(1).inflight(2 * BDP));
        }
        f.on(plateau().sent_with(300).lost_since(6));
        assert_eq!(f.phase(), phase, "{algorithm}");
    }
    // six ranges, seen by one ACK
    for (algorithm, phase) in [("bbr3", Phase::Startup), ("bbr3_draft", Phase::Drain)] {
        let mut f = startup(algorithm, &[]);
        f.recovery();
        for n in 1..=6 {
            f.lost(loss(2, 300, 2 * n));
        }
        f.on(part(1).inflight(2 * BDP));
        f.on(plateau().sent_with(300).lost_since(12));
        assert_eq!(f.phase(), phase, "{algorithm}");
    }
}

/// cwnd in DOWN, which is bounded by inflight_hi.
fn cwnd_in_down(mut f: Flow) -> u32 {
    assert_eq!(f.phase(), Phase::Drain);
    f.on(part(1).prior_inflight(2 * BDP));
    assert_eq!(f.phase(), Phase::ProbeBwDown);
    f.on(part(BDP).prior_inflight(2 * BDP)).cwnd()
}

#[test]
fn startup_that_ends_by_loss_leaves_inflight_hi_at_a_bdp_or_what_was_delivered_in_a_round() {
    let mut f = startup("bbr3", &[]);
    lossy(&mut f, 6, 300);
    assert_eq!(cwnd_in_down(f), BDP);
    let mut f = startup("bbr3", &[]);
    f.recovery();
    for n in 1..=6 {
        // 500 packets delivered in the time that the bottleneck takes for them: a queue of 100
        f.lost(loss(1, 300, n)).on(part(1).delivered(500, RTT * 5 / 4).inflight(2 * BDP));
    }
    f.on(plateau().sent_with(300).lost_since(6));
    assert_eq!(cwnd_in_down(f), 500);
}

#[test]
fn startup_that_ends_by_a_plateau_leaves_inflight_hi_open() {
    assert_eq!(cwnd_in_down(drain("bbr3", &[])), 2 * BDP);
}

#[test]
fn a_host_that_cannot_tell_what_was_in_flight_is_judged_by_what_left_the_network() {
    // 400 delivered and 8 lost: 408 * 5 / 256 is 7.97
    for (lost, phase) in [(8, Phase::Drain), (7, Phase::Startup)] {
        let mut f = startup("bbr3", &[]);
        f.recovery();
        for n in 1..=6 {
            f.lost(loss(1, 0, n)).on(part(1).inflight(2 * BDP));
        }
        f.on(plateau().lost_since(lost));
        assert_eq!(f.phase(), phase, "{lost}");
    }
}

// ---- ECN ----

/// In STARTUP on a path of 4.096 ms with ECN.
fn startup_with_ecn(settings: &[(&str, &str)], rtt: u64) -> Flow {
    let mut all = vec![("ecn", "on")];
    all.extend(settings);
    let mut f = start("bbr3", &all);
    f.view.ecn = true;
    for pkts in [10, 20, 40, 80] {
        f.on(round(pkts, rtt).inflight(2 * pkts));
    }
    f
}

/// An RTT in us at which marks count, 4 ms.
const NEAR: u64 = 1 << 12;

#[test]
fn two_rounds_in_a_row_with_half_of_the_packets_marked_end_startup() {
    let mut f = startup_with_ecn(&[], NEAR);
    f.on(round(100, NEAR).marked(50).inflight(200)).on(round(100, NEAR).marked(49).inflight(200));
    f.on(round(100, NEAR).marked(50).inflight(200));
    assert_eq!(f.phase(), Phase::Startup, "not in a row");
    f.on(round(100, NEAR).marked(50).inflight(200));
    assert_eq!(f.phase(), Phase::Drain);
}

#[test]
fn marks_are_heeded_only_where_they_mean_a_short_queue() {
    let heavy = |rtt| round(100, rtt).marked(90).inflight(200);
    let mut far = startup_with_ecn(&[], 2 * NEAR); // 8 ms
    far.times(2, heavy(2 * NEAR));
    assert_eq!(far.phase(), Phase::Startup);
    let mut off = startup_with_ecn(&[("ecn", "off")], NEAR);
    off.times(2, heavy(NEAR));
    assert_eq!(off.phase(), Phase::Startup);
    let mut deaf = startup_with_ecn(&[], NEAR);
    deaf.view.ecn = false; // it is known to be eligible already, so this shows nothing yet
    assert_eq!(deaf.times(2, heavy(NEAR)).phase(), Phase::Drain);
    let mut not_agreed = start("bbr3", &[("ecn", "on")]);
    for pkts in [10, 20, 40, 80] {
        not_agreed.on(round(pkts, NEAR).inflight(2 * pkts));
    }
    not_agreed.times(2, heavy(NEAR));
    assert_eq!(not_agreed.phase(), Phase::Startup);
}

/// The rounds and losses of the STARTUP that marks ended; by the draft's "ranges in that round trip".
#[test]
fn what_was_counted_before_marks_ended_startup_does_not_count_when_an_undo_returns_to_it() {
    let heavy = round(100, NEAR).marked(90).inflight(200);
    let ended_by_marks = || {
        let mut f = startup_with_ecn(&[("undo_to_state", "on")], NEAR);
        f.on(heavy).recovery();
        for n in 1..=5 {
            f.lost(loss(1, 300, n)).on(ack(10).after(0).rtt(NEAR).delivered(100, NEAR).inflight(200));
        }
        assert_eq!(f.on(heavy).phase(), Phase::Drain);
        assert_eq!(f.undo().phase(), Phase::Startup);
        f
    };
    let mut f = ended_by_marks();
    f.recovery().lost(loss(1, 300, 6));
    f.on(round(100, NEAR).inflight(200).sent_with(300).lost_since(6));
    assert_eq!(f.phase(), Phase::Startup, "one ACK with loss, not six");
    let mut f = ended_by_marks();
    assert_eq!(f.on(heavy).phase(), Phase::Startup, "one marked round, not three");
    assert_eq!(f.on(heavy).phase(), Phase::Drain);
}

// ---- drain ----

#[test]
fn a3_drain_ends_when_no_more_than_a_bdp_is_in_flight() {
    for (algorithm, gain) in [("bbr3", DRAIN), ("bbr3_draft", 128)] {
        let mut f = drain(algorithm, &[]);
        assert_eq!(f.gain(), gain);
        assert_near(f.pacing() as f64, rate(BDP, gain) * 0.99, 1e3);
        assert_eq!(f.cc.observe().cwnd_gain_256, 512);
        assert_eq!(f.on(part(1).inflight(BDP + 1)).phase(), Phase::Drain);
        f.on(part(1).inflight(BDP).prior_inflight(BDP + 1));
        // the draft compares the same inflight with the end of DOWN
        let next = if algorithm == "bbr3" { Phase::ProbeBwDown } else { Phase::ProbeBwCruise };
        assert_eq!(f.phase(), next, "{algorithm}");
    }
}

/// v3: bbr_check_drain() with bbr_max_bw(); draft: CheckDrainDone() with Inflight(1.0), which is of BBR.bw.
#[test]
fn drain_ends_at_a_bdp_of_max_bw_in_linux_and_of_bw_in_the_draft() {
    for (algorithm, beta, next) in [("bbr3", 180, Phase::ProbeBwDown), ("bbr3_draft", 179, Phase::Drain)] {
        let mut f = drain(algorithm, &[]);
        // a round with loss lowers bw by 30 %
        let slow = round(BDP / 2, RTT).inflight(2 * BDP);
        f.on(slow).lost(loss(1, 2 * BDP, 1)).on(slow);
        assert_near(f.cc.observe().bw_Bps as f64, rate(BDP, beta), 2e3);
        f.on(part(1).inflight(BDP).prior_inflight(2 * BDP));
        assert_eq!(f.phase(), next, "{algorithm}");
    }
}

#[test]
fn a4_the_draft_leaves_drain_at_the_fourth_round() {
    // "after 3 round trips", and the pseudocode: round_count > start + 3
    let mut f = drain("bbr3_draft", &[]);
    f.times(3, plateau());
    assert_eq!(f.phase(), Phase::Drain);
    assert_eq!(f.on(plateau()).phase(), Phase::ProbeBwDown);
    let mut f = drain("bbr3", &[]);
    assert_eq!(f.times(50, plateau()).phase(), Phase::Drain, "Linux knows no limit");
}

#[test]
fn drain_may_end_on_the_ack_that_fills_the_pipe() {
    let mut f = startup("bbr3", &[]);
    f.times(2, plateau()).on(plateau().inflight(BDP / 2).prior_inflight(2 * BDP));
    assert_eq!(f.phase(), Phase::ProbeBwDown);
}

#[test]
fn packets_that_the_network_will_deliver_before_the_next_departure_do_not_count_as_in_flight() {
    let mut f = drain("bbr3", &[]);
    f.view.departure_lead_us = RTT as u32 / 4; // 100 packets are delivered by then
    f.on(part(1).inflight(BDP + 101));
    assert_eq!(f.phase(), Phase::Drain);
    assert_ne!(f.on(part(1).inflight(BDP + 100)).phase(), Phase::Drain);
}

#[test]
fn ssthresh_is_exported_at_the_end_of_startup() {
    assert_eq!(startup("bbr3", &[]).ssthresh(), INFINITE);
    assert_eq!(drain("bbr3", &[]).ssthresh(), BDP);
}

#[test]
fn what_was_lost_in_startup_lowers_no_bound_in_drain() {
    let mut f = startup("bbr3", &[]);
    f.recovery().lost(loss(1, 400, 1)).on(part(1).inflight(2 * BDP));
    f.times(3, plateau());
    assert_eq!(f.phase(), Phase::Drain);
    f.on(plateau());
    assert_near(f.cc.observe().bw_Bps as f64, rate(BDP, 256), 1e3);
}

// ---- the variants of "BBRv3 Startup Behavior" ----

#[test]
fn e1_and_e3_pace_startup_as_bbrv1_and_e2_and_e3_do_not_end_it_by_loss() {
    for (algorithm, gain, phase) in [
        ("bbr3", STARTUP, Phase::Drain),
        ("bbr3e1", 739, Phase::Drain),
        ("bbr3e2", STARTUP, Phase::Startup),
        ("bbr3e3", 739, Phase::Startup),
    ] {
        let mut f = startup(algorithm, &[]);
        let seen = f.cc.observe();
        assert_eq!((seen.pacing_gain_256, seen.cwnd_gain_256), (gain, 512), "{algorithm}");
        lossy(&mut f, 6, 300);
        assert_eq!(f.phase(), phase, "{algorithm}");
    }
}
