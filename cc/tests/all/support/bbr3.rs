//! A BBRv3 flow on one path, brought to the state that a test begins with.

use super::{Ack, Flow, MSS, round, s};
use fairpace_cc::Phase;

/// 2^15 us: then bw is a whole number of its unit, packets per us << 24, for any number of packets per
/// round, and a BDP comes out as the packets of a round exactly.
pub(crate) const RTT: u64 = 1 << 15;
/// Packets per RTT at the bottleneck: 141 Mbit/s.
pub(crate) const BDP: u32 = 400;

/// Pacing gains of v3, 1/256.
pub(crate) const STARTUP: u32 = 710;
/// 0.34.
pub(crate) const DRAIN: u32 = 88;
/// 0.91.
pub(crate) const DOWN: u32 = 232;
/// 1.
pub(crate) const CRUISE: u32 = 256;
/// 1.25.
pub(crate) const UP: u32 = 320;

/// Rate in bytes per second of `pkts` packets per RTT, times a gain in 1/256.
pub(crate) fn rate(pkts: u32, gain: u32) -> f64 {
    f64::from(pkts) * MSS as f64 / (RTT as f64 / 1e6) * f64::from(gain) / 256.0
}

/// What is left of a bound or a rate after a cut by beta, 180/256.
pub(crate) fn cut(x: u32) -> u32 {
    x * 180 / 256
}

/// A flow that goes to PROBE_RTT only after ten minutes; with ACK aggregation left out, so that cwnd is a
/// matter of the BDP.
pub(crate) fn start(algorithm: &str, settings: &[(&str, &str)]) -> Flow {
    let mut all = vec![("probe_rtt_interval", "600s"), ("min_rtt_window", "600s"), ("extra_acked_gain", "0")];
    all.extend(settings);
    Flow::start(algorithm, &all)
}

/// In STARTUP, after rounds of 10 ... 400 packets: bw has just stopped doubling.
pub(crate) fn startup(algorithm: &str, settings: &[(&str, &str)]) -> Flow {
    let mut f = start(algorithm, settings);
    for pkts in [10, 20, 40, 80, 160, 320, BDP] {
        f.on(round(pkts, RTT).inflight(2 * pkts));
    }
    assert_eq!(f.phase(), Phase::Startup);
    f
}

/// In DRAIN, with twice the BDP in flight.
pub(crate) fn drain(algorithm: &str, settings: &[(&str, &str)]) -> Flow {
    let mut f = startup(algorithm, settings);
    f.times(3, round(BDP, RTT).inflight(2 * BDP));
    assert_eq!(f.phase(), Phase::Drain);
    f
}

/// At the start of the first DOWN. Linux compares what was in flight before the ACK with the end of DOWN,
/// the draft what is in flight after it. So in the draft DOWN ends with DRAIN, except when the round limit
/// has ended DRAIN.
pub(crate) fn down(algorithm: &str, settings: &[(&str, &str)]) -> Flow {
    let mut f = drain(algorithm, settings);
    if algorithm == "bbr3_draft" {
        f.times(4, round(BDP, RTT).inflight(2 * BDP));
    } else {
        f.on(part(1).prior_inflight(2 * BDP));
    }
    assert_eq!(f.phase(), Phase::ProbeBwDown);
    f
}

/// In CRUISE; nothing is known of how much would be too much. cwnd is 2 BDP.
pub(crate) fn cruise(algorithm: &str, settings: &[(&str, &str)]) -> Flow {
    let mut f = down(algorithm, settings);
    f.on(part(1));
    assert_eq!(f.phase(), Phase::ProbeBwCruise);
    assert!(f.cwnd() >= 2 * BDP);
    f
}

/// At the start of REFILL.
pub(crate) fn refill(algorithm: &str, settings: &[(&str, &str)]) -> Flow {
    let mut f = cruise(algorithm, settings);
    f.on(part(1).after(s(3)));
    assert_eq!(f.phase(), Phase::ProbeBwRefill);
    f
}

/// At the start of UP; still nothing is known of how much would be too much.
pub(crate) fn up(algorithm: &str, settings: &[(&str, &str)]) -> Flow {
    let mut f = refill(algorithm, settings);
    f.on(full_round());
    assert_eq!(f.phase(), Phase::ProbeBwUp);
    f
}

/// In DOWN after a probe that was too much: inflight_hi is `inflight_hi`, which must be more than 281, 70 %
/// of the BDP.
pub(crate) fn bounded_down(algorithm: &str, inflight_hi: u32, settings: &[(&str, &str)]) -> Flow {
    let mut f = up(algorithm, settings);
    // far beyond the budget already, so that the threshold was crossed before this packet
    f.lost(super::loss(1, inflight_hi + 1, 100));
    assert_eq!(f.phase(), Phase::ProbeBwDown);
    f.on(part(1).prior_inflight(2 * BDP));
    f
}

/// In CRUISE after such a probe.
pub(crate) fn bounded_cruise(algorithm: &str, inflight_hi: u32, settings: &[(&str, &str)]) -> Flow {
    let mut f = bounded_down(algorithm, inflight_hi, settings);
    f.on(full_round().prior_inflight(1).inflight(1)); // and the samples of that probe are all in
    assert_eq!(f.phase(), Phase::ProbeBwCruise);
    f
}

/// In UP after such a probe, with a cwnd of inflight_hi, which is what holds the flow back.
pub(crate) fn bounded_up(algorithm: &str, inflight_hi: u32, settings: &[(&str, &str)]) -> Flow {
    let mut f = bounded_cruise(algorithm, inflight_hi, settings);
    f.on(part(1).after(s(3)));
    assert_eq!(f.phase(), Phase::ProbeBwRefill);
    f.on(full_round().prior_inflight(1));
    assert_eq!((f.phase(), f.cwnd()), (Phase::ProbeBwUp, inflight_hi));
    f.view.cwnd_limited = true;
    f
}

/// An ACK for a part of a round, at the bottleneck's rate, with a BDP in flight.
pub(crate) fn part(pkts: u32) -> Ack {
    full_round().same_round().after(0).acked(pkts)
}

/// The single ACK of a round, at the bottleneck's rate. Its packet was sent with one in flight, which is
/// nothing to learn from.
pub(crate) fn full_round() -> Ack {
    round(BDP, RTT).rtt(RTT + 1000).inflight(BDP).sent_with(1)
}
