//! Two flows of the two-phase model at one queue. Both flows see the same delay.
//!
//! The paper does not give the delay at which one phase replaces the other. Taken literally, the smaller of
//! 1.25 C T and 2 C T is always the first, and cwnd would never limit a flow. The limit depends on inflight
//! including the queue: a flow paced at `gain` * C at a delay D has `gain` * C * (T + D) in flight, which
//! reaches `cwnd_gain` * C * T at D = (`cwnd_gain` / `gain` - 1) * T: 0.6 T.
//!
//! The paper's "stability only if all flows have the same RTT" has an exception: a flow limited by pacing and
//! one limited by its cwnd are both in equilibrium if the first has four times the RTT of the second.

use super::{cwnd_equilibrium, cwnd_factor, pacing_equilibrium};

/// The delay above which cwnd limits a flow that paces at `gain`.
#[must_use]
pub fn cwnd_limits_from(gain: f64, cwnd_gain: f64, rtt: f64) -> f64 {
    ((cwnd_gain / gain - 1.0) * rtt).max(0.0)
}

/// The ratio of the RTT of a flow limited by pacing to that of a flow limited by its cwnd at which both are
/// in equilibrium. Infinite at `gain` = 1.
#[must_use]
pub fn mixed_ratio(gain: f64, cwnd_gain: f64) -> f64 {
    cwnd_equilibrium(cwnd_gain, 1.0) / pacing_equilibrium(gain, 1.0)
}

/// The delay to which two flows limited by their cwnds tend: the equilibrium of the longer flow, at which the
/// rate of the shorter one shrinks.
#[must_use]
pub fn final_delay(cwnd_gain: f64, rtts: [f64; 2]) -> f64 {
    cwnd_equilibrium(cwnd_gain, rtts[0].max(rtts[1]))
}

/// The factor by which the odds grow when both flows have taken a new estimate at this delay. The odds are
/// the longer flow's rate over the shorter flow's rate.
#[must_use]
pub fn odds_factor(rtts: [f64; 2], delay: f64) -> f64 {
    let (short, long) = (rtts[0].min(rtts[1]), rtts[0].max(rtts[1]));
    cwnd_factor(1.0, long, delay) / cwnd_factor(1.0, short, delay)
}

/// The number of new estimates that both flows take until the shorter flow's share falls from a half to
/// `share`, above 0 and at most a half. Infinite for equal RTTs. It is a lower bound, because it uses the
/// final delay from the start and the factor grows with the delay.
#[must_use]
pub fn updates_to(share: f64, cwnd_gain: f64, rtts: [f64; 2]) -> f64 {
    let factor = odds_factor(rtts, final_delay(cwnd_gain, rtts));
    ((1.0 - share) / share).ln() / factor.ln()
}
