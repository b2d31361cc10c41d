//! A BBR flow on one path, brought to the state that a test begins with.

use super::{Ack, Flow, MSS, ms, round, s};
use fairpace_cc::Phase;

/// The base RTT, us.
pub(crate) const RTT: u64 = ms(40);
/// Packets per RTT at the bottleneck: 10 a millisecond, 116 Mbit/s.
pub(crate) const BDP: u32 = 400;
// Pacing gains of the phases of PROBE_BW, in 1/256: 1.25, 0.75 and 1.
pub(crate) const UP: u32 = 320;
pub(crate) const DOWN: u32 = 192;
pub(crate) const CRUISE: u32 = 256;

/// Rate in bytes per second of `pkts` packets per RTT, times a gain in 1/256.
pub(crate) fn rate(pkts: u32, gain: u32) -> f64 {
    f64::from(pkts) * MSS as f64 / (RTT as f64 / 1e6) * f64::from(gain) / 256.0
}

/// The cwnd or inflight target for `pkts` packets, at the bottleneck's rate and a pacing gain: three bursts
/// of 2^-10 s at the pacing rate more, and an even number.
pub(crate) fn quantised(pkts: u32, gain: u32) -> u32 {
    (pkts + 3 * burst(gain) + 1) & !1
}

/// Packets of one burst.
pub(crate) fn burst(gain: u32) -> u32 {
    (rate(BDP, gain) * 0.99 / 1024.0 / MSS as f64) as u32
}

/// In STARTUP, rounds of 10 ... 400 packets: bw has just stopped doubling.
pub(crate) fn startup(settings: &[(&str, &str)]) -> Flow {
    startup_of("bbr1", settings)
}

/// The same for a variant.
pub(crate) fn startup_of(algorithm: &str, settings: &[(&str, &str)]) -> Flow {
    let mut f = Flow::start(algorithm, settings);
    for pkts in [10, 20, 40, 80, 160, 320, BDP] {
        f.on(round(pkts, RTT).inflight(2 * pkts));
    }
    assert_eq!((f.phase(), f.gain()), (Phase::Startup, 739));
    f
}

/// In DRAIN, with twice the BDP in flight.
pub(crate) fn drain(settings: &[(&str, &str)]) -> Flow {
    drain_of("bbr1", settings)
}

fn drain_of(algorithm: &str, settings: &[(&str, &str)]) -> Flow {
    let mut f = startup_of(algorithm, settings);
    f.times(3, round(BDP, RTT).inflight(2 * BDP));
    assert_eq!((f.phase(), f.gain()), (Phase::Drain, 88));
    f
}

/// In PROBE_BW, in its first phase, whichever that is.
pub(crate) fn probe_bw(settings: &[(&str, &str)]) -> Flow {
    probe_bw_of("bbr1", settings)
}

fn probe_bw_of(algorithm: &str, settings: &[(&str, &str)]) -> Flow {
    let mut f = drain_of(algorithm, settings);
    f.on(part(1).inflight(BDP));
    assert!(matches!(f.phase(), Phase::ProbeBwUp | Phase::ProbeBwCruise));
    f
}

/// In PROBE_BW at the start of the phase with this gain.
pub(crate) fn probe_bw_at(gain: u32, settings: &[(&str, &str)]) -> Flow {
    probe_bw_at_of("bbr1", gain, settings)
}

/// The same for a variant.
pub(crate) fn probe_bw_at_of(algorithm: &str, gain: u32, settings: &[(&str, &str)]) -> Flow {
    let mut f = probe_bw_of(algorithm, settings);
    for _ in 0..10 {
        if f.gain() == gain {
            return f;
        }
        f.on(phase_long()); // ends any phase
    }
    panic!("no phase with gain {gain}")
}

/// An ACK for a part of a round, at the bottleneck's rate.
pub(crate) fn part(pkts: u32) -> Ack {
    round(BDP, RTT).same_round().after(0).rtt(RTT + 1000).inflight(BDP).acked(pkts)
}

/// An ACK that comes more than an RTT after the last, with 1.25 BDP in flight before it: the end of any
/// phase.
pub(crate) fn phase_long() -> Ack {
    part(BDP).after(RTT + 1).prior_inflight(2 * BDP)
}

/// Just entered PROBE_RTT, with the pipe still full.
pub(crate) fn probe_rtt() -> Flow {
    let mut f = probe_bw(&[]);
    f.on(part(1).rtt(RTT - 1)); // a minimum
    f.on(part(1).after(s(10)));
    assert_ne!(f.phase(), Phase::ProbeRtt);
    f.on(part(1).after(1));
    assert_eq!(f.phase(), Phase::ProbeRtt);
    f
}
