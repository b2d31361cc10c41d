//! CUBIC: the curve, its limits, and HyStart (RFC 9438; Linux tcp_cubic).

use crate::support::{Ack, Flow, ack, assert_near, ms, s};
use fairpace_cc::{CaState, INFINITE, Phase};

/// The steepness as the C rounds it.
const C: f64 = 410.0 / 1024.0;
/// The share of cwnd that remains after a loss, as the C rounds it.
const BETA: f64 = 717.0 / 1024.0;

/// A flow with this window and a loss behind it: in avoidance, at the start of an epoch.
fn after_loss_at(cwnd: u32, rtt_us: u64, settings: &[(&str, &str)]) -> Flow {
    let mut f = Flow::start_with("cubic", settings, |v| {
        v.cwnd_limited = true;
        v.cwnd_pkts = cwnd;
    });
    f.on(ack(0).rtt(rtt_us)); // min_rtt
    f.recovery().ca_state(CaState::Open);
    f
}

/// Acknowledges one window in each of `rounds` RTTs, in 20 ACKs.
fn run(f: &mut Flow, rounds: u64, rtt_us: u64) {
    for _ in 0..rounds {
        let cwnd = f.cwnd();
        for i in 0..20 {
            f.on(ack(cwnd * (i + 1) / 20 - cwnd * i / 20).after(rtt_us / 20).rtt(rtt_us));
        }
    }
}

/// W(t) of RFC 9438 section 4.2, after a loss at `w_max`.
fn w(t_s: f64, cwnd: f64, w_max: f64) -> f64 {
    let k = ((w_max - cwnd).max(0.0) / C).cbrt();
    C * (t_s - k).powi(3) + w_max.max(cwnd)
}

#[test]
fn the_window_follows_the_cubic_curve_through_plateau_and_beyond() {
    let rtt = ms(100);
    let mut f = after_loss_at(1000, rtt, &[("reno_friendly", "off")]);
    assert_eq!(f.cwnd(), 700);
    let mut seen = (false, false);
    for tenth in 1..=160 {
        run(&mut f, 1, rtt);
        // In a round the window approaches W(t + RTT). The lookup rounds the target down by a packet, the
        // growth per packet acknowledged up by cwnd/every, at most 1 % of the window here.
        let t = f64::from(tenth) * 0.1;
        let (low, high) = (w(t - 0.1, 700.0, 1000.0), w(t + 0.1, 700.0, 1000.0));
        let found = f64::from(f.cwnd());
        assert!(found >= low - 2.0 && found <= high * 1.01 + 1.0, "t={t}: {found} not in {low}..{high}");
        seen.0 |= (found - 1000.0).abs() < 3.0; // plateau, around K = 9.1 s
        seen.1 |= found > 1100.0;
    }
    assert_eq!(seen, (true, true));
}

#[test]
fn growth_is_slowest_at_the_plateau() {
    let rtt = ms(100);
    let mut f = after_loss_at(1000, rtt, &[("reno_friendly", "off")]);
    let mut growth = |rounds| {
        let before = f.cwnd();
        run(&mut f, rounds, rtt);
        f.cwnd() - before
    };
    let (concave, plateau, convex) = (
        growth(20),
        {
            growth(60);
            growth(20)
        },
        {
            growth(30);
            growth(20)
        },
    );
    assert!(concave > 100 && plateau < 5 && convex > 50, "{concave} {plateau} {convex}");
}

#[test]
fn shrinking_maxima_make_room_by_fast_convergence() {
    let rtt = ms(100);
    for (fast, plateau) in [("on", 800.0 * (1.0 + BETA) / 2.0), ("off", 800.0)] {
        let mut f = after_loss_at(1000, rtt, &[("reno_friendly", "off"), ("fast_convergence", fast)]);
        f.view.cwnd_pkts = 800; // lost again below the old maximum
        f.recovery().ca_state(CaState::Open);
        assert_eq!(f.cwnd(), 560);
        let k = ((plateau - 560.0) / C).cbrt();
        run(&mut f, (k * 10.0).round() as u64, rtt);
        assert_near(f.cwnd(), plateau, 3.0);
    }
}

#[test]
fn a_higher_maximum_is_taken_as_it_is() {
    let mut f = after_loss_at(1000, ms(100), &[("reno_friendly", "off")]);
    f.view.cwnd_pkts = 1200;
    f.recovery().ca_state(CaState::Open);
    assert_eq!(f.cwnd(), 840);
    run(&mut f, ((360.0 / C).cbrt() * 10.0) as u64, ms(100));
    assert_near(f.cwnd(), 1200.0, 3.0);
}

#[test]
fn on_a_short_path_growth_is_that_of_reno_with_the_same_beta() {
    let rtt = ms(10);
    let grown = |friendly| {
        let mut f = after_loss_at(100, rtt, &[("reno_friendly", friendly)]);
        run(&mut f, 100, rtt); // 1 s
        f64::from(f.cwnd()) - 70.0
    };
    // Linux: one packet per 15/8 windows, RFC 9438: 3 (1 - beta) / (1 + beta) = 0.529 a round
    assert_near(grown("on"), 100.0 * 8.0 / 15.0, 3.0);
    let curve = w(1.0, 70.0, 100.0) - 70.0;
    assert_near(grown("off"), curve, 3.0);
    assert!(curve < 30.0);
}

#[test]
fn growth_never_exceeds_a_packet_per_two_acknowledged() {
    let mut f = after_loss_at(1000, ms(100), &[("c", "4")]);
    f.on(ack(1));
    f.view.now_us += s(30); // far up the convex part
    f.view.cwnd_pkts = 700;
    assert_near(f.on(ack(100)).cwnd(), 750, 1);
    assert_near(f.times(100, ack(1)).cwnd(), 800, 1);
}

#[test]
fn without_any_loss_yet_growth_is_five_percent_a_round_at_least() {
    let mut f = Flow::start_with("cubic", &[], |v| {
        v.cwnd_limited = true;
        v.cwnd_pkts = 1000;
        v.ssthresh_pkts = 1000; // slow start left without a loss
    });
    f.on(ack(0).rtt(ms(10)));
    run(&mut f, 1, ms(10));
    assert_near(f.cwnd(), 1050, 1);
}

#[test]
fn a_loss_keeps_seven_tenths_and_never_less_than_two_packets() {
    let mut f = Flow::start_with("cubic", &[], |v| v.cwnd_pkts = 1000);
    assert_eq!(f.recovery().ssthresh(), 700);
    f.view.cwnd_pkts = 2;
    assert_eq!(f.recovery().ssthresh(), 2);
}

#[test]
fn a_timeout_forgets_the_path_and_the_climb_after_it_starts_convex() {
    let rtt = ms(100);
    let mut f = after_loss_at(1000, rtt, &[]);
    run(&mut f, 20, rtt);
    let cwnd = f.cwnd();
    f.timeout();
    assert_eq!(f.phase(), Phase::SlowStart);
    assert_near(f.ssthresh(), f64::from(cwnd) * BETA, 1.0);
    assert_eq!(f.cc.observe().min_rtt_us, None);
    f.ca_state(CaState::Open);
    f.times(cwnd, ack(1).after(10).rtt(rtt));
    assert_eq!(f.phase(), Phase::Avoidance);
    // the old maximum of 1000 is no plateau any more: from ssthresh on, W(t) = C t^3 + ssthresh or 5 % a
    // round
    let before = f.cwnd();
    run(&mut f, 1, rtt);
    assert_near(f.cwnd() - before, f64::from(before) / 20.0, 2.0);
}

#[test]
fn undo_brings_the_window_back() {
    let mut f = Flow::start_with("cubic", &[], |v| v.cwnd_pkts = 1000);
    assert_eq!(f.recovery().cwnd(), 700);
    assert_eq!(f.undo().cwnd(), 1000);
}

#[test]
fn idle_time_is_no_time_on_the_curve() {
    let rtt = ms(100);
    let mut busy = after_loss_at(1000, rtt, &[]);
    run(&mut busy, 20, rtt);
    let mut rested = busy.clone();
    rested.idle(s(20));
    run(&mut busy, 5, rtt);
    run(&mut rested, 5, rtt);
    assert_eq!(busy.cwnd(), rested.cwnd());
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut f = after_loss_at(1000, ms(100), &[]);
    f.view.cwnd_limited = false;
    run(&mut f, 20, ms(100));
    assert_eq!(f.cwnd(), 700);
}

/// A flow in slow start with a minimum RTT of 100 ms, one round done.
fn slow_start(cwnd: u32, paced: bool, settings: &[(&str, &str)]) -> Flow {
    let mut f = Flow::start_with("cubic", settings, |v| {
        v.paced = paced;
        v.cwnd_pkts = cwnd;
        v.pacing_rate_Bps = 1_000_000_000;
    });
    f.on(ack(0).rtt(ms(100)).inflight(cwnd));
    f
}

/// Not cwnd-limited, so that the window stands still and only HyStart acts.
fn sample(rtt_us: u64) -> Ack {
    ack(1).after(ms(5)).rtt(rtt_us).inflight(1000)
}

#[test]
fn hystart_leaves_slow_start_when_a_rounds_least_rtt_is_an_eighth_too_high() {
    let mut f = slow_start(50, true, &[]);
    f.view.snd_una = f.view.snd_nxt.wrapping_add(1); // next round
    f.times(8, sample(ms(113)));
    assert_eq!(
        (f.ssthresh(), f.phase()),
        (INFINITE, Phase::SlowStart),
        "eight samples are needed before it decides"
    );
    f.on(sample(ms(113)));
    assert_eq!((f.ssthresh(), f.phase()), (50, Phase::Avoidance));
}

#[test]
fn hystart_ignores_a_round_with_one_low_rtt_a_small_rise_and_a_small_window() {
    for (cwnd, rtts) in [(50, [112; 20]), (15, [150; 20])] {
        let mut f = slow_start(cwnd, true, &[]);
        for rtt in rtts {
            f.on(sample(ms(rtt)));
        }
        assert_eq!(f.ssthresh(), INFINITE, "cwnd {cwnd}");
    }
    let mut f = slow_start(50, true, &[]);
    f.times(3, sample(ms(130))).on(sample(ms(101))).times(10, sample(ms(130)));
    assert_eq!(f.ssthresh(), INFINITE, "one low RTT");
}

#[test]
fn hystart_delay_threshold_is_at_least_4_and_at_most_16_ms() {
    for (base_ms, bound_ms) in [(10, 14), (64, 72), (400, 416)] {
        for (rtt, ends) in [(ms(bound_ms), false), (ms(bound_ms) + 1, true)] {
            let mut f = Flow::start_with("cubic", &[], |v| v.cwnd_pkts = 50);
            f.on(ack(0).rtt(ms(base_ms)).inflight(1000));
            f.view.snd_una = f.view.snd_nxt.wrapping_add(1);
            f.times(9, sample(rtt));
            assert_eq!(f.ssthresh() == 50, ends, "base RTT {base_ms} ms, rtt {rtt} us");
        }
    }
}

/// ACKs 2 ms apart, for this long; RTTs without delay.
fn train(f: &mut Flow, span_us: u64) -> u32 {
    f.view.snd_una = f.view.snd_nxt.wrapping_add(1);
    f.on(sample(ms(100)));
    f.times((span_us / ms(2)) as u32, ack(1).after(ms(2)).rtt(ms(100)).inflight(10_000));
    f.ssthresh()
}

#[test]
fn hystart_leaves_slow_start_when_an_ack_train_spans_the_round_trip() {
    // 100 ms and 256 KiB at 1 GB/s = 0.26 ms of leeway; halved when the host does not pace
    assert_eq!(train(&mut slow_start(50, true, &[]), ms(100)), INFINITE);
    assert_eq!(train(&mut slow_start(50, true, &[]), ms(102)), 50);
    assert_eq!(train(&mut slow_start(50, false, &[]), ms(50)), INFINITE);
    assert_eq!(train(&mut slow_start(50, false, &[]), ms(52)), 50);
}

#[test]
fn a_gap_breaks_an_ack_train() {
    let mut f = slow_start(50, true, &[]);
    train(&mut f, ms(60));
    f.on(ack(1).after(ms(3)).rtt(ms(100)).inflight(10_000));
    f.times(40, ack(1).after(ms(2)).rtt(ms(100)).inflight(10_000));
    assert_eq!(f.ssthresh(), INFINITE);
}

#[test]
fn hystart_and_its_detectors_can_be_switched_off() {
    for (name, off) in [("hystart", "0"), ("hystart_delay", "off")] {
        let mut f = slow_start(50, true, &[(name, off)]);
        f.times(20, sample(ms(150)));
        assert_eq!(f.ssthresh(), INFINITE, "{name}");
    }
    assert_eq!(train(&mut slow_start(50, true, &[("hystart_ack_train", "off")]), ms(150)), INFINITE);
}

#[test]
fn hystart_ends_slow_start_once_and_again_only_after_a_timeout() {
    let mut f = slow_start(50, true, &[]);
    f.times(20, sample(ms(150)));
    assert_eq!(f.ssthresh(), 50);
    f.view.ssthresh_pkts = INFINITE;
    f.times(20, sample(ms(150)));
    assert_eq!(f.ssthresh(), INFINITE, "once");
    f.timeout().ca_state(CaState::Open);
    (f.view.cwnd_pkts, f.view.ssthresh_pkts) = (50, INFINITE);
    f.on(sample(ms(100)));
    f.view.snd_una = f.view.snd_nxt.wrapping_add(1);
    f.times(20, sample(ms(150)));
    assert_eq!(f.ssthresh(), 50, "again");
}

#[test]
fn rtts_in_the_first_second_of_an_epoch_are_not_looked_at() {
    let mut f = after_loss_at(1000, ms(100), &[]);
    f.on(ack(1)); // the epoch begins
    f.on(ack(1).after(ms(900)).rtt(ms(20)));
    assert_eq!(f.cc.observe().min_rtt_us, Some(100_000));
    f.on(ack(1).after(ms(200)).rtt(ms(20)));
    assert_eq!(f.cc.observe().min_rtt_us, Some(20_000));
}
