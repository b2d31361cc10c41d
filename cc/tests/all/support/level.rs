//! A LEVEL flow on a path whose numbers are powers of two: at the rate r that the path carries, a window of
//! r * t is t / 1024 packets.

use super::{Ack, Flow, MSS, ack, assert_near, ms, round};
use fairpace_cc::Phase;

/// The base RTT, 2^16 us.
pub(crate) const T: u64 = 65_536;
/// Packets per T that the path carries: 977 packets/s.
pub(crate) const N: u32 = 64;
/// `level`, for 4096 packets/s; the level of N packets per T is sqrt(4096 * T / N) as much, 2.048 times.
pub(crate) const LEVEL: &str = "2001us";
/// f of N packets per T, us.
pub(crate) const F: u64 = 4098;
/// r f in packets.
pub(crate) const R_F: f64 = F as f64 / 1024.0;

/// No noise, nothing that grows beside the rule, whatever the defaults are.
pub(crate) const PLAIN: [(&str, &str); 9] = [
    ("level", LEVEL),
    ("gain", "0.25"),
    ("pacing_gain", "1"),
    ("loss_full", "4%"),
    ("noise_gain", "0"),
    ("growth_rounds", "0"),
    ("drain_interval", "10s"),
    ("exchange", "on"),
    ("fill_gaps", "off"),
];

/// A new connection with an eighth of N as window.
pub(crate) fn new(settings: &[(&str, &str)]) -> Flow {
    let all: Vec<_> = PLAIN.iter().chain(settings).copied().collect();
    Flow::start_with("level", &all, |v| v.cwnd_pkts = N / 8)
}

/// A round of T in which N packets were delivered, with this queueing delay at its end.
pub(crate) fn queue(q_us: u64) -> Ack {
    carried(N, q_us)
}

/// The same at another rate. The window is in use.
pub(crate) fn carried(pkts: u32, q_us: u64) -> Ack {
    round(pkts, T).rtt(T + q_us).inflight(2 * pkts)
}

/// In STARTUP, at the end of the first round that delivered `pkts`.
pub(crate) fn startup_at(pkts: u32, settings: &[(&str, &str)]) -> Flow {
    let mut f = new(settings);
    f.on(carried(pkts / 2, 0)).on(carried(pkts, 0));
    assert_eq!(f.phase(), Phase::Startup);
    f
}

/// In the drain that ends STARTUP, after three rounds without growth.
pub(crate) fn draining_at(pkts: u32, settings: &[(&str, &str)]) -> Flow {
    let mut f = startup_at(pkts, settings);
    f.times(3, carried(pkts, 0));
    assert_eq!(f.phase(), Phase::Drain);
    f
}

/// Two blocks of the base RTT, and the drain is over.
pub(crate) fn end_drain(f: &mut Flow) {
    let pkts = f.cwnd();
    f.on(carried(pkts, 0)).on(ack(1).after(ms(40)).rtt(T).inflight(pkts));
    assert_eq!(f.phase(), Phase::Avoidance);
}

/// In STEADY, two rounds after the drain, with a queue that is the level: W is r (T + f).
pub(crate) fn steady_at(pkts: u32, f_us: u64, settings: &[(&str, &str)]) -> Flow {
    let mut f = draining_at(pkts, settings);
    end_drain(&mut f);
    f.times(2, carried(pkts, f_us));
    assert_near(window(&f, f_us), f64::from(pkts) * (T + f_us) as f64 / T as f64, 0.01);
    f
}

pub(crate) fn steady(settings: &[(&str, &str)]) -> Flow {
    steady_at(N, F, settings)
}

/// W in packets, to a thousandth: pacing is W / (T + q).
pub(crate) fn window(f: &Flow, q_us: u64) -> f64 {
    f.pacing() as f64 * (T + q_us) as f64 / 1e6 / MSS as f64
}

/// What W becomes less what it was, in a round with this ACK and queueing delay.
pub(crate) fn change(f: &mut Flow, before_us: u64, ack: Ack, q_us: u64) -> f64 {
    let before = window(f, before_us);
    f.on(ack);
    window(f, q_us) - before
}

/// Estimated rate in packets per T.
pub(crate) fn rate(f: &Flow) -> f64 {
    f.cc.observe().bw_Bps as f64 * T as f64 / 1e6 / MSS as f64
}

pub(crate) fn base_us(f: &Flow) -> u64 {
    f.cc.observe().min_rtt_us.map_or(0, u64::from)
}
