//! Equations 1 to 22 as they are printed, errors included.
//!
//! The errors make these numbers unfit for other uses:
//!
//! * (1) never forgets a maximum, while (7) to (22) set the rate to the last estimate. This module uses the
//!   last estimate, too.
//! * (2) to (5) use the index of one slot earlier than intended, and read the other flow's clock in the wrong
//!   unit (`% 1` instead of `% RTT0`). Even two flows with the same RTT do not keep their initial shares.
//! * (9) to (12) write `inflight0` for flow 0's rate S0.
//! * (10) holds S0 constant. S0 scales with the capacity, so the capacity cancels in y: it has no effect on
//!   the speed.
//! * (16) takes the logarithm to the base a of a number below 1: a negative time.
//! * (17) cannot hold with (10): S1 tends to c - S0/a, not to c.
//! * (20) uses c for S0. Its argument is infinite at a = 2 and negative above. This is the origin of the
//!   threshold of 2.

use super::PROBE_BW_S;

/// Equation 10: flow 1's rate in its slot `n`, while flow 0 sends at the constant rate `s0`. Slot 0 has the
/// rate `r1`. All rates and `capacity` are above 0.
///
/// At `s0 = ratio * capacity` the printed form divides by zero, and the result is not finite.
#[must_use]
pub fn rate1(slot: u32, ratio: f64, capacity: f64, s0: f64, r1: f64) -> f64 {
    let x = ratio / (s0 - ratio * capacity);
    let y = s0 / (ratio * capacity);
    1.0 / (y.powf(f64::from(slot)) * (1.0 / r1 + x) - x)
}

/// Equation 9: flow 1's next rate.
#[must_use]
pub fn next_rate1(ratio: f64, capacity: f64, s0: f64, s1: f64) -> f64 {
    1.0 / (1.0 / capacity + s0 / (ratio * capacity * s1))
}

/// Rates of both flows in each slot. The slots of each flow have the length of its own RTT.
#[derive(Debug, Clone, PartialEq)]
pub struct Slots {
    /// Rates of flow 0, from its initial rate on.
    pub s0: Vec<f64>,
    /// Rates of flow 1, from its initial rate on.
    pub s1: Vec<f64>,
}

/// Equations 2, 3, 6 (flow 0) and 7, 8 (flow 1), from the rates `r0` and `r1`, for `slots` slots of flow 1.
/// `ratio` is at least 1.
#[must_use]
pub fn slots(slots: usize, ratio: f64, capacity: f64, r0: f64, r1: f64) -> Slots {
    // before slot 0 the flow sends at the initial rate
    let at = |rates: &[f64], index: f64, first: f64| match index {
        index if index < 0.0 => first,
        index => rates.get(index as usize).copied().unwrap_or(first),
    };
    let mut rates = Slots { s0: vec![r0], s1: vec![r1] };
    for n in 1..=slots {
        let t = n as f64 * ratio;
        let n0 = ((n - 1) as f64 * ratio).floor();
        while (rates.s0.len() as f64) <= n0 {
            let k = rates.s0.len() as f64;
            let j = ((k - 1.0) / ratio).floor();
            let own = at(&rates.s0, k - 1.0, r0);
            let inflight1 =
                at(&rates.s1, j, r1) * (k % ratio) + at(&rates.s1, j - 1.0, r1) * (ratio - k % ratio);
            rates.s0.push(share(own, inflight1) * capacity);
        }
        let own = ratio * at(&rates.s1, (n - 1) as f64, r1);
        let inflight0 = (t % 1.0) * at(&rates.s0, n0, r0) + (1.0 - t % 1.0) * at(&rates.s0, n0 - 1.0, r0);
        rates.s1.push(share(own, inflight0) * capacity);
    }
    rates
}

/// Equation 6: a flow's share of the capacity, 0 to 1. Two flows with nothing in flight share equally.
fn share(own: f64, other: f64) -> f64 {
    if own + other > 0.0 { own / (own + other) } else { 0.5 }
}

/// Equation 16: slots until flow 0 is drained when the ratio is above 8. The result is negative, as the
/// errors of this module's list explain.
#[must_use]
pub fn slots_above_8(ratio: f64, starved: f64) -> f64 {
    let capacity = 1.0;
    let argument = (1.0 / (capacity - starved) - 1.0 / capacity) / (1.0 / (capacity / 2.0) - 1.0 / capacity);
    argument.ln() / ratio.ln()
}

/// The argument of the logarithm in equation 20, with capacity 1.
#[must_use]
pub fn argument_below_8(ratio: f64, starved: f64) -> f64 {
    let limit = ratio / (ratio - 1.0);
    (1.0 / (1.0 - starved) - limit) / (2.0 - limit)
}

/// Equation 20: slots of flow 1 until flow 0 is drained when the ratio is below 8. `None` where the
/// logarithm's argument is not positive.
#[must_use]
pub fn slots_below_8(ratio: f64, starved: f64) -> Option<f64> {
    let argument = argument_below_8(ratio, starved);
    (argument > 0.0 && argument.is_finite()).then(|| argument.ln() / (1.0 / ratio).ln())
}

/// Equation 21: slots of flow 1 between two PROBE_RTTs. `rtt0_s` is above 0.
#[must_use]
pub fn slots_of_probe_bw(ratio: f64, rtt0_s: f64) -> u32 {
    (PROBE_BW_S / (ratio * rtt0_s)).floor() as u32
}

/// Equation 22: the lower bound of flow 0's share, by equation 8.
#[must_use]
pub fn lower_bound(ratio: f64, rtt0_s: f64, capacity: f64, r0: f64, r1: f64) -> f64 {
    let count = slots_of_probe_bw(ratio, rtt0_s) as usize;
    let s1 = slots(count, ratio, capacity, r0, r1).s1;
    1.0 - s1.last().copied().unwrap_or(r1) / capacity
}

/// The largest ratio, in steps of 0.001 and up to `most`, below the first ratio whose [`lower_bound`] is at
/// or below `starved`. Above it the bound is not monotone: the fewer slots of a larger ratio may drain less.
#[must_use]
pub fn largest_ratio(rtt0_s: f64, capacity: f64, rates: [f64; 2], starved: f64, most: f64) -> f64 {
    let ratio = |step: u32| 1.0 + f64::from(step) / 1000.0;
    let keeps = |step: &u32| lower_bound(ratio(*step), rtt0_s, capacity, rates[0], rates[1]) > starved;
    let steps = ((most - 1.0) * 1000.0) as u32;
    ratio((1..=steps).take_while(keeps).last().unwrap_or(0))
}

/// The curve that the paper fits to figure 6: slots of flow 1 until a flow of 10 ms is drained.
#[must_use]
pub fn fitted_rounds(ratio: f64) -> f64 {
    4.0 + 2.7_f64.powf(6.0 - ratio)
}
