//! The two-phase model of Zhang et al., "Improving Google's BBR for Reduced Latency and Increased Fairness", 2018, equations 1 to 10.
//!
//! A BBR flow multiplies its estimate of the bandwidth by a factor once per cycle: MIMD. What the factor is depends on what limits the
//! flow: its pacing while the queueing delay D is small, its cwnd when it is not. `rtt` is the flow's minimum RTT (T in the
//! paper), `delay` is D; both in the same unit of time, `rtt` above 0 and `delay` from 0.
//!
//! * The functions here are the equations.
//! * [`joint`]: what they come to when two flows share one queue, and where one phase gives way to the other, which the paper leaves open.
//! * [`simulation`]: two such flows over a queue in continuous time.

pub mod joint;
pub mod simulation;

/// Pacing gain of the first phase of a cycle, as published for BBR.
pub const GAIN: f64 = 1.25;

/// Cwnd in estimated bandwidth-delay products, as published for BBR.
pub const CWND_GAIN: f64 = 2.0;

/// The least and the most that the adaptive gain may be (section IV-C).
pub const ALPHA: [f64; 2] = [0.05, 0.95];

/// Equation 1, Little's law: throughput of `inflight`.
#[must_use]
pub fn throughput(inflight: f64, rtt: f64, delay: f64) -> f64 {
    inflight / (rtt + delay)
}

/// Equations 3 and 7, pacing-controlled: the factor of the estimate per cycle of eight RTTs. With `gain` = 1 + alpha it is equation 9.
///
/// Equation 2 takes `gain` * C * T for what is in flight. That is what is on the wire: what waits in the queue is left out.
#[must_use]
pub fn pacing_factor(gain: f64, rtt: f64, delay: f64) -> f64 {
    throughput(gain * rtt, rtt, delay)
}

/// Equations 6 and 7, cwnd-controlled: the factor per round trip.
#[must_use]
pub fn cwnd_factor(cwnd_gain: f64, rtt: f64, delay: f64) -> f64 {
    throughput(cwnd_gain * rtt, rtt, delay)
}

/// Equation 8, pacing-controlled: the delay at which the factor is 1. With `gain` = 1 + alpha it is equation 10.
#[must_use]
pub fn pacing_equilibrium(gain: f64, rtt: f64) -> f64 {
    (gain - 1.0) * rtt
}

/// Equation 8, cwnd-controlled: the delay at which the factor is 1.
#[must_use]
pub fn cwnd_equilibrium(cwnd_gain: f64, rtt: f64) -> f64 {
    (cwnd_gain - 1.0) * rtt
}

/// Section IV-C: the gain in excess of 1 for which the present delay is the equilibrium, D / T within [`ALPHA`].
///
/// Within these bounds it makes the factor 1 at every delay: shares are kept as they are, not made equal, as the paper says itself.
#[must_use]
pub fn adaptive_alpha(rtt: f64, delay: f64) -> f64 {
    let alpha = delay / rtt;
    // also what is no number becomes a gain
    if alpha > ALPHA[0] { alpha.min(ALPHA[1]) } else { ALPHA[0] }
}

/// Equation 9 with the adaptive gain.
#[must_use]
pub fn adaptive_factor(rtt: f64, delay: f64) -> f64 {
    pacing_factor(1.0 + adaptive_alpha(rtt, delay), rtt, delay)
}
