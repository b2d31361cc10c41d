//! Every algorithm's walk through all of its states, with phase, cwnd and pacing rate after each change.
//! What makes each change happen, and what does not, is in the algorithm's own scripts.

use crate::support::bbr::*;
use crate::support::{Ack, Flow, ack, assert_near, ms, round, s};
use fairpace_cc::{CaState, INFINITE, Phase};

/// Every algorithm with the modes of BBRv1.
const BBRS: [&str; 10] = [
    "bbr1",
    "bbr1_drain",
    "bbr1_drain8",
    "bbq",
    "bbq_firstcut",
    "nyu_latency",
    "nyu_latency8",
    "nyu",
    "nyu8",
    "nyu_curve",
];

const PLAIN: [(&str, &str); 1] = [("extra_acked_gain", "0")];

/// cwnd, and pacing by the path's rate with this gain in 1/256, less the margin of 1 %.
#[track_caller]
fn expect(f: &Flow, phase: Phase, cwnd: u32, gain: u32) {
    assert_eq!((f.phase(), f.cwnd(), f.gain()), (phase, cwnd, gain));
    assert_near(f.pacing() as f64, rate(BDP, gain) * 0.99, 2e3);
}

/// cwnd of gain 2.89: what STARTUP and DRAIN aim at, with bursts at the rate of this pacing gain.
fn high(gain: u32) -> u32 {
    quantised((BDP * 739).div_ceil(256), gain)
}

/// STARTUP, three rounds without growth, DRAIN.
fn walk_to_drain(algorithm: &str) -> Flow {
    let mut f = startup_of(algorithm, &PLAIN);
    expect(&f, Phase::Startup, 10 + 1030, 739); // all that was acknowledged
    f.on(round(BDP, RTT).inflight(2 * BDP));
    expect(&f, Phase::Startup, 10 + 1030 + BDP, 739); // the last step below the target
    f.on(round(BDP, RTT).inflight(2 * BDP));
    expect(&f, Phase::Startup, 10 + 1030 + BDP, 739); // 1440, above the target of 1236
    f.on(round(BDP, RTT).inflight(2 * BDP));
    expect(&f, Phase::Drain, high(88), 88);
    assert_eq!(f.ssthresh(), quantised(BDP, 739));
    f
}

/// An ACK for one packet that changes the phase.
fn one(after_us: u64, prior_inflight: u32) -> Ack {
    part(1).after(after_us).prior_inflight(prior_inflight)
}

/// From PROBE_BW to PROBE_RTT.
fn walk_into_probe_rtt(f: &mut Flow) {
    f.on(part(1).after(s(10) + 1).rtt(RTT));
    expect(f, Phase::ProbeRtt, 4, CRUISE);
    f.on(part(1).inflight(4).rtt(RTT));
    expect(f, Phase::ProbeRtt, 4, CRUISE);
}

#[test]
fn bbr1_and_what_only_ends_its_phases_otherwise() {
    for algorithm in ["bbr1", "bbq", "bbq_firstcut"] {
        let mut f = walk_to_drain(algorithm);
        f.on(part(1).inflight(BDP));
        let first = f.gain();
        let (phase, more) = if first == UP { (Phase::ProbeBwUp, 2) } else { (Phase::ProbeBwCruise, 0) };
        expect(&f, phase, quantised(2 * BDP, first) + more, first);
        f.until_gain(UP, one(RTT + 1, BDP));
        // from a smaller window to a larger one: by one packet per packet acknowledged
        expect(&f, Phase::ProbeBwUp, quantised(2 * BDP, CRUISE) + 1, UP);
        f.on(part(BDP));
        expect(&f, Phase::ProbeBwUp, quantised(2 * BDP, UP) + 2, UP);
        f.on(one(RTT + 1, 2 * BDP)); // UP to DOWN
        expect(&f, Phase::ProbeBwDown, quantised(2 * BDP, DOWN), DOWN);
        f.on(one(1, BDP)); // DOWN to CRUISE
        expect(&f, Phase::ProbeBwCruise, quantised(2 * BDP, DOWN) + 1, CRUISE);
        f.on(part(BDP));
        expect(&f, Phase::ProbeBwCruise, quantised(2 * BDP, CRUISE), CRUISE);
        walk_into_probe_rtt(&mut f);
        f.on(round(4, ms(201)).rtt(RTT).inflight(4)); // PROBE_RTT to PROBE_BW
        let (gain, more) = if f.gain() == UP { (UP, 2) } else { (CRUISE, 0) };
        let back = quantised(2 * BDP, CRUISE) + 4;
        let phase = if gain == UP { Phase::ProbeBwUp } else { Phase::ProbeBwCruise };
        expect(&f, phase, back.min(quantised(2 * BDP, gain) + more), gain);
    }
}

#[test]
fn every_bbr1_from_startup_to_probe_rtt_and_back() {
    for algorithm in BBRS {
        let mut f = startup_of(algorithm, &PLAIN);
        f.on(part(1).after(s(10) + 1).rtt(RTT));
        assert_eq!((f.phase(), f.cwnd(), f.gain()), (Phase::ProbeRtt, 4, CRUISE), "{algorithm}");
        assert_near(f.pacing() as f64, rate(BDP, 739) * 0.99, 2e3); // never full: the rate does not fall
        f.on(part(1).inflight(4).rtt(RTT)).on(round(4, ms(201)).rtt(RTT).inflight(4));
        expect(&f, Phase::Startup, 10 + 1030 + 4, 739);
    }
}

#[test]
fn every_bbr1_from_drain_to_probe_rtt_and_on_to_probe_bw() {
    for algorithm in BBRS {
        let mut f = walk_to_drain(algorithm);
        walk_into_probe_rtt(&mut f);
        f.on(round(4, ms(201)).rtt(RTT).inflight(4));
        let gain = if f.gain() == UP { UP } else { CRUISE };
        let phase = if gain == UP { Phase::ProbeBwUp } else { Phase::ProbeBwCruise };
        // the window of DRAIN comes back and is above the target
        expect(&f, phase, quantised(2 * BDP, gain) + if gain == UP { 2 } else { 0 }, gain);
    }
}

#[test]
fn bbr1_begins_the_cycle_anew_when_a_policer_has_expired() {
    let mut f = probe_bw_at(CRUISE, &PLAIN);
    let policed = round(BDP / 2, RTT).rtt(RTT + 1000).losses(BDP / 6).inflight(BDP);
    f.times(8, policed).times(45, policed.losses(0).delivered(BDP, RTT));
    assert_eq!((f.phase(), f.cwnd()), (Phase::ProbeBwCruise, BDP + 3 * 4)); // bursts of 4 at half the rate
    assert_near(f.pacing() as f64, rate(BDP / 2, CRUISE) * 0.99, 2e3);
    let before = f.times(2, policed.losses(0).delivered(BDP, RTT)).cwnd();
    assert_eq!(f.phase(), Phase::ProbeBwCruise);
    f.on(policed.losses(0).delivered(BDP, RTT));
    let gain = f.gain();
    let phase = if gain == UP { Phase::ProbeBwUp } else { Phase::ProbeBwCruise };
    expect(&f, phase, before + BDP / 2, gain); // by what is acknowledged
}

#[test]
fn bbr1_drain_and_nyu_latency_through_their_cycle() {
    for algorithm in ["bbr1_drain", "nyu_latency"] {
        let settings = [("extra_acked_gain", "0"), ("cycle_least", "8")];
        let mut f = probe_bw_at_of(algorithm, CRUISE, &settings);
        f.on(part(BDP));
        expect(&f, Phase::ProbeBwCruise, quantised(2 * BDP, CRUISE), CRUISE);
        f.on(one(8 * RTT + 1, BDP)); // CRUISE to UP: the cycle is over
        expect(&f, Phase::ProbeBwUp, quantised(2 * BDP, CRUISE) + 1, UP);
        let early = if algorithm == "nyu_latency" { 1 } else { RTT + 1 };
        f.on(one(early, 2 * BDP)); // UP to DOWN
        expect(&f, Phase::ProbeBwDown, quantised(2 * BDP, DOWN), DOWN);
        let mut held = f.clone();
        held.on(one(8 * RTT, 2 * BDP)); // DOWN to UP: the cycle is over before the queue is gone
        expect(&held, Phase::ProbeBwUp, quantised(2 * BDP, DOWN) + 1, UP);
        held.on(one(8 * RTT + 1, BDP)); // UP to UP: it lasted for a cycle
        expect(&held, Phase::ProbeBwUp, quantised(2 * BDP, DOWN) + 2, UP);
        f.on(one(1, BDP)); // DOWN to CRUISE
        expect(&f, Phase::ProbeBwCruise, quantised(2 * BDP, DOWN) + 1, CRUISE);
        walk_into_probe_rtt(&mut f);
        let back = f.clone();
        f.on(round(4, ms(201)).rtt(RTT).inflight(4)); // PROBE_RTT to PROBE_BW, which begins with CRUISE
        expect(
            &f,
            Phase::ProbeBwCruise,
            quantised(2 * BDP, CRUISE).min(quantised(2 * BDP, DOWN) + 1 + 4),
            CRUISE,
        );
        let mut early = back.clone();
        early.on(round(4, RTT).rtt(RTT - 1).inflight(4)); // a lower RTT
        let ends = algorithm == "nyu_latency";
        assert_eq!(early.phase() == Phase::ProbeBwCruise, ends, "{algorithm}");
    }
}

#[test]
fn nyu_probes_and_gives_back_with_gains_by_its_queue() {
    let settings = [("extra_acked_gain", "0"), ("cycle_least", "8")];
    let mut f = probe_bw_at_of("nyu", CRUISE, &settings);
    f.on(part(BDP).rtt(ms(60))); // while cruising: D = 20 ms, half of min_rtt
    f.on(one(8 * RTT + 1, BDP).rtt(ms(60)));
    let (up, down) = (256 + 128, 256 - 128);
    expect(&f, Phase::ProbeBwUp, quantised(2 * BDP, CRUISE) + 1, up);
    f.on(one(1, 3 * BDP));
    expect(&f, Phase::ProbeBwDown, quantised(2 * BDP, down).min(quantised(2 * BDP, CRUISE) + 2), down);
    f.on(one(1, BDP));
    assert_eq!((f.phase(), f.gain()), (Phase::ProbeBwCruise, CRUISE));
}

#[test]
fn cubic_and_reno_between_slow_start_and_avoidance() {
    for (algorithm, kept) in [("cubic", 717), ("reno", 512)] {
        let state = |f: &Flow| (f.phase(), f.cwnd(), f.ssthresh());
        let mut f = Flow::start_with(algorithm, &[], |v| v.cwnd_limited = true);
        let pacing = f.pacing();
        assert_eq!(state(&f), (Phase::SlowStart, 10, INFINITE));
        f.times(90, ack(1).rtt(ms(50)));
        assert_eq!(state(&f), (Phase::SlowStart, 100, INFINITE));
        let half = 100 * kept / 1024;
        f.recovery(); // SLOW_START to AVOIDANCE by loss
        assert_eq!(state(&f), (Phase::Avoidance, half, half));
        f.undo(); // AVOIDANCE to SLOW_START by undo, which takes ssthresh back, too
        f.view.ssthresh_pkts = INFINITE;
        f.on(ack(1).rtt(ms(50)));
        assert_eq!(state(&f), (Phase::SlowStart, 101, INFINITE));
        let half = 101 * kept / 1024;
        f.timeout().ca_state(CaState::Open); // SLOW_START to SLOW_START by timeout
        assert_eq!(state(&f), (Phase::SlowStart, 1, half));
        f.times(half - 1, ack(1).rtt(ms(50))); // SLOW_START to AVOIDANCE by ssthresh
        assert_eq!(state(&f), (Phase::Avoidance, half, half));
        f.view.cwnd_pkts = 10; // AVOIDANCE to SLOW_START by the host, after idle time
        f.on(ack(1).rtt(ms(50)));
        assert_eq!(state(&f), (Phase::SlowStart, 11, half));
        f.timeout();
        assert_eq!(f.phase(), Phase::SlowStart);
        assert_eq!(f.pacing(), pacing, "{algorithm}: the host paces");
    }
}

#[test]
fn cubic_and_reno_through_conservative_slow_start() {
    for algorithm in ["cubic", "reno"] {
        let mut f =
            Flow::start_with(algorithm, &[("hystart", "2")], |v| (v.cwnd_limited, v.paced) = (true, true));
        let state = |f: &Flow| (f.phase(), f.cwnd(), f.ssthresh());
        let round = |f: &mut Flow, rtt_ms| f.times(10, ack(1).rtt(ms(rtt_ms)).inflight(9)).cwnd();
        round(&mut f, 50);
        assert_eq!(state(&f), (Phase::SlowStart, 20, INFINITE));
        round(&mut f, 60); // SLOW_START to CSS at the eighth sample: 7 packets, then a quarter of 3
        assert_eq!(state(&f), (Phase::ConservativeSlowStart, 27, INFINITE));
        round(&mut f, 50); // CSS to SLOW_START at the eighth sample: a quarter of 7 and the 3 before, then 3
        assert_eq!(state(&f), (Phase::SlowStart, 27 + 2 + 3, INFINITE));
        round(&mut f, 60); // and to CSS again
        assert_eq!(state(&f), (Phase::ConservativeSlowStart, 32 + 7, INFINITE));
        let mut lossy = f.clone();
        lossy.recovery(); // CSS to AVOIDANCE by loss
        assert_eq!(lossy.phase(), Phase::Avoidance);
        let mut timeout = f.clone();
        timeout.timeout(); // CSS to SLOW_START by timeout
        assert_eq!((timeout.phase(), timeout.cwnd()), (Phase::SlowStart, 1));
        for _ in 0..5 {
            round(&mut f, 60); // CSS to AVOIDANCE: of 43 ACKs, 3 before, ten make four rounds
        }
        assert_eq!((f.phase(), f.ssthresh()), (Phase::Avoidance, 39 + 43 / 4));
    }
}

#[test]
fn level_from_startup_to_a_drain_to_steady_and_through_drains_from_there() {
    // 400 packets in 40 ms; f is 2.05 ms * sqrt(4096/10000), 1311 us, or 13 packets
    let settings = [("level", "2050us"), ("pacing_gain", "1"), ("fill_gaps", "off")];
    let mut f = Flow::start("level", &settings);
    let expect = |f: &Flow, phase: Phase, cwnd: u32, pacing: f64| {
        assert_eq!(f.phase(), phase);
        assert_near(f.cwnd(), cwnd, 1);
        assert_near(f.pacing() as f64, pacing, pacing / 200.0);
    };
    for pkts in [10, 20, 40, 80, 160, 320] {
        f.on(round(pkts, RTT));
        expect(&f, Phase::Startup, 2 * pkts, rate(2 * pkts, 512));
    }
    f.times(2, round(BDP, RTT)).on(round(BDP, RTT).rtt(RTT + 1000)); // 400 thrice, the first a quarter more
    expect(&f, Phase::Startup, 640 + 3 * BDP, rate(640 + 3 * BDP, 512));
    let queue = round(BDP, RTT).rtt(RTT + 2700); // above f, and a sixteenth of 40 ms
    f.on(queue); // STARTUP to DRAIN by a queue
    expect(&f, Phase::Drain, BDP / 4, rate(BDP / 4, 256));
    f.on(round(BDP / 4, RTT)).on(ack(1).after(ms(40)).rtt(RTT)); // DRAIN to STEADY
    expect(&f, Phase::Avoidance, BDP + 13, rate(BDP + 13, 256));
    let held = round(BDP, RTT).rtt(RTT + 1311).inflight(BDP);
    let acks = |f: &mut Flow, ack: Ack| {
        let from = f.phase();
        (1..).find(|_| f.on(ack).phase() != from).unwrap()
    };
    assert_eq!(acks(&mut f, held), 24); // STEADY to DRAIN a second after the lowest RTT, less RTT
    expect(&f, Phase::Drain, BDP / 4, rate(BDP / 4, 256));
    assert_eq!(acks(&mut f, round(BDP / 4, RTT)), 2);
    expect(&f, Phase::Avoidance, BDP + 13, rate(BDP + 13, 256));
    assert_eq!(acks(&mut f, held), 49); // and two seconds
}
