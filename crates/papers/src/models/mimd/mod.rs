//! The two-phase model of Zhang et al., "Improving Google's BBR for Reduced Latency and Increased Fairness",
//! 2018, equations 1 to 10.
//!
//! A BBR flow multiplies its estimate of the bandwidth by a factor once per cycle: multiplicative increase,
//! multiplicative decrease (MIMD). The factor depends on the limit of the flow: pacing while the queueing
//! delay D is small, cwnd when it is large. `rtt` is the flow's minimum RTT (T in the paper), and `delay` is
//! D. Both have the same unit of time; `rtt` is above 0 and `delay` is not negative.
//!
//! * The functions of this module are the equations.
//! * [`joint`]: the results for two flows at one queue, with the boundary between the phases, which the paper
//!   leaves open.
//! * [`simulation`]: two such flows at a queue in continuous time.

pub mod joint;
pub mod simulation;

/// Pacing gain of the first phase of a cycle, as published for BBR.
pub const GAIN: f64 = 1.25;

/// Cwnd in estimated bandwidth-delay products, as published for BBR.
pub const CWND_GAIN: f64 = 2.0;

/// The smallest and the largest adaptive gain in excess of 1 (section IV-C).
pub const ALPHA: [f64; 2] = [0.05, 0.95];

/// Equation 1, Little's law: throughput of `inflight`.
#[must_use]
pub fn throughput(inflight: f64, rtt: f64, delay: f64) -> f64 {
    inflight / (rtt + delay)
}

/// Equations 3 and 7, pacing-controlled: the factor of the estimate per cycle of eight RTTs. With `gain` = 1
/// + alpha it is equation 9.
///
/// Equation 2 uses `gain` * C * T for inflight. This leaves out the packets in the queue.
#[must_use]
pub fn pacing_factor(gain: f64, rtt: f64, delay: f64) -> f64 {
    throughput(gain * rtt, rtt, delay)
}

/// Equations 6 and 7, cwnd-controlled: the factor per round trip.
#[must_use]
pub fn cwnd_factor(cwnd_gain: f64, rtt: f64, delay: f64) -> f64 {
    throughput(cwnd_gain * rtt, rtt, delay)
}

/// Equation 8, pacing-controlled: the delay at which the factor is 1. With `gain` = 1 + alpha it is equation
/// 10.
#[must_use]
pub fn pacing_equilibrium(gain: f64, rtt: f64) -> f64 {
    (gain - 1.0) * rtt
}

/// Equation 8, cwnd-controlled: the delay at which the factor is 1.
#[must_use]
pub fn cwnd_equilibrium(cwnd_gain: f64, rtt: f64) -> f64 {
    (cwnd_gain - 1.0) * rtt
}

/// Section IV-C: the gain in excess of 1 for which the present delay is the equilibrium, D / T within
/// [`ALPHA`].
///
/// Within these bounds the factor is 1 at every delay. Shares then stay constant but do not become equal, as
/// the paper says.
#[must_use]
pub fn adaptive_alpha(rtt: f64, delay: f64) -> f64 {
    let alpha = delay / rtt;
    // NaN becomes a gain as well
    if alpha > ALPHA[0] { alpha.min(ALPHA[1]) } else { ALPHA[0] }
}

/// Equation 9 with the adaptive gain.
#[must_use]
pub fn adaptive_factor(rtt: f64, delay: f64) -> f64 {
    pacing_factor(1.0 + adaptive_alpha(rtt, delay), rtt, delay)
}
