//! Equation 6 solved exactly.
//!
//! With both rates equal to their estimates, equation 6 says `e1 / e0 = ratio * S1 / S0`: whenever both flows have taken a
//! new estimate, the odds S1 / S0 are multiplied by `ratio`. Nothing else matters: not the capacity, and of the initial rates only their
//! ratio. The long flow's estimate rises at once, but BBR keeps the larger of ten rounds, so that the short flow
//! lets go only every ten rounds of its own: this is the pace.
//!
//! The paper's closed form (equations 10, 16, 20) has neither; what it calls a threshold at `ratio = 2` does not exist here. What does exist is
//! the end of PROBE_BW after 9.8 s: whoever is not starved by then never is.

use super::PROBE_BW_S;

/// How often both flows take a new estimate until flow 0 has the share `starved`; infinite for `ratio = 1`.
///
/// `odds` is S1 / S0 at the start, above 0; `starved` above 0 and below 1; `ratio` from 1.
#[must_use]
pub fn updates_to_starve(ratio: f64, odds: f64, starved: f64) -> f64 {
    let missing = ((1.0 - starved) / starved / odds).ln();
    if missing <= 0.0 { 0.0 } else { missing / ratio.ln() }
}

/// The same in round trips of flow 1, for a maximum over `filter_rounds` rounds.
#[must_use]
pub fn rounds_to_starve(ratio: f64, odds: f64, starved: f64, filter_rounds: f64) -> f64 {
    updates_to_starve(ratio, odds, starved) * filter_rounds / ratio
}

/// The share of flow 0 after `time_s`.
#[must_use]
pub fn share0(time_s: f64, ratio: f64, rtt0_s: f64, odds: f64, filter_rounds: f64) -> f64 {
    let updates = time_s / (filter_rounds * rtt0_s);
    // 1 / (1 + odds), written so that large odds become 0 and not NaN
    1.0 / (1.0 + (odds.ln() + updates * ratio.ln()).exp())
}

/// The largest ratio at which flow 0 keeps more than `starved` until PROBE_BW ends; 1 if it is starved at once.
#[must_use]
pub fn largest_ratio(rtt0_s: f64, odds: f64, starved: f64, filter_rounds: f64) -> f64 {
    let missing = ((1.0 - starved) / starved / odds).ln().max(0.0);
    (missing * filter_rounds * rtt0_s / PROBE_BW_S).exp()
}
