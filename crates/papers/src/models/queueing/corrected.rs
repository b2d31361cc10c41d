//! Equation 6 solved exactly.
//!
//! With both rates equal to their estimates, equation 6 says `e1 / e0 = ratio * S1 / S0`: when both flows
//! have taken a new estimate, the odds S1 / S0 are multiplied by `ratio`. Only the ratio of the initial rates
//! has an effect; the capacity has none. The long flow's estimate rises at once, but BBR keeps the largest of
//! ten rounds, so the short flow's estimate falls only once per ten of its own rounds. This sets the pace.
//!
//! The paper's closed form (equations 10, 16, 20) has neither property, and the corrected form has no
//! threshold at `ratio = 2`. The end of PROBE_BW after 9.8 s is a limit: a flow that is not starved by then
//! never starves.

use super::PROBE_BW_S;

/// The number of new estimates of both flows until flow 0 has the share `starved`; infinite for `ratio = 1`.
///
/// `odds` is S1 / S0 at the start, above 0; `starved` is above 0 and below 1; `ratio` is at least 1.
#[must_use]
pub fn updates_to_starve(ratio: f64, odds: f64, starved: f64) -> f64 {
    let missing = ((1.0 - starved) / starved / odds).ln();
    if missing <= 0.0 { 0.0 } else { missing / ratio.ln() }
}

/// The number of round trips of flow 1 until flow 0 has the share `starved`, for a maximum over
/// `filter_rounds` rounds.
#[must_use]
pub fn rounds_to_starve(ratio: f64, odds: f64, starved: f64, filter_rounds: f64) -> f64 {
    updates_to_starve(ratio, odds, starved) * filter_rounds / ratio
}

/// The share of flow 0 after `time_s`.
#[must_use]
pub fn share0(time_s: f64, ratio: f64, rtt0_s: f64, odds: f64, filter_rounds: f64) -> f64 {
    let updates = time_s / (filter_rounds * rtt0_s);
    // 1 / (1 + odds), written so that large odds give 0 instead of NaN
    1.0 / (1.0 + (odds.ln() + updates * ratio.ln()).exp())
}

/// The largest ratio at which flow 0 keeps more than `starved` until PROBE_BW ends; 1 if it is starved at
/// once.
#[must_use]
pub fn largest_ratio(rtt0_s: f64, odds: f64, starved: f64, filter_rounds: f64) -> f64 {
    let missing = ((1.0 - starved) / starved / odds).ln().max(0.0);
    (missing * filter_rounds * rtt0_s / PROBE_BW_S).exp()
}
