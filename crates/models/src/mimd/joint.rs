//! Two flows over one queue: both see the same delay.
//!
//! The paper does not say at which delay the one phase gives way to the other. Taken literally, the smaller of 1.25 C T and 2 C T is always the
//! first, and no flow would ever be limited by its cwnd. What decides is what is in flight with the queue in it: a flow paced at `gain` * C
//! for a delay D has `gain` * C * (T + D) in flight, which reaches `cwnd_gain` * C * T at D = (`cwnd_gain` / `gain` - 1) * T: 0.6 T.
//!
//! And the text's "stability only if all flows have the same RTT" has an exception: a flow limited by pacing and one limited by its cwnd are both
//! in equilibrium if the first has four times the RTT of the second.

use super::{cwnd_equilibrium, cwnd_factor, pacing_equilibrium};

/// The delay from which on a flow that paces at `gain` is limited by its cwnd.
#[must_use]
pub fn cwnd_limits_from(gain: f64, cwnd_gain: f64, rtt: f64) -> f64 {
    ((cwnd_gain / gain - 1.0) * rtt).max(0.0)
}

/// By what the RTT of a flow limited by pacing must exceed that of one limited by its cwnd for both to be in equilibrium. Infinite at `gain` = 1.
#[must_use]
pub fn mixed_ratio(gain: f64, cwnd_gain: f64) -> f64 {
    cwnd_equilibrium(cwnd_gain, 1.0) / pacing_equilibrium(gain, 1.0)
}

/// The delay that two flows limited by their cwnds tend to: the longer flow's equilibrium. The other one shrinks there.
#[must_use]
pub fn final_delay(cwnd_gain: f64, rtts: [f64; 2]) -> f64 {
    cwnd_equilibrium(cwnd_gain, rtts[0].max(rtts[1]))
}

/// By what the odds, the longer flow's rate over the other's, are multiplied when both have taken a new estimate at this delay.
#[must_use]
pub fn odds_factor(rtts: [f64; 2], delay: f64) -> f64 {
    let (short, long) = (rtts[0].min(rtts[1]), rtts[0].max(rtts[1]));
    cwnd_factor(1.0, long, delay) / cwnd_factor(1.0, short, delay)
}

/// How often both must take a new estimate until the shorter flow's share falls from a half to `share`, above 0 and at most a half; infinite for
/// equal RTTs. The delay is taken to be final from the start, which makes it a lower bound: the factor grows with the delay.
#[must_use]
pub fn updates_to(share: f64, cwnd_gain: f64, rtts: [f64; 2]) -> f64 {
    let factor = odds_factor(rtts, final_delay(cwnd_gain, rtts));
    ((1.0 - share) / share).ln() / factor.ln()
}
