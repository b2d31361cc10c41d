//! The equilibrium: the queueing delay that every flow sees is the level of its own rate.
//!
//! On one FIFO all flows see one queueing delay q, so `f(r_i) = q`. As f falls strictly, all rates are equal;
//! as they add up to the capacity, there is one q. Over several links flow i sees the sum of the delays of
//! its route. With `U' = f` this is the condition of Karush, Kuhn and Tucker for the rates that maximise the
//! sum of `U(r_i)` within the capacities, with queueing delays as prices (Kelly, Maulloo and Tan, 1998; Low
//! and Lapsley, 1999). U is strictly concave, so the rates are unique. For `f ~ r^-alpha` this is
//! alpha-fairness (Mo and Walrand, 2000).

use super::{Level, root};

/// The equilibrium on one FIFO: the rates and the queueing delay.
#[derive(Debug, Clone, PartialEq)]
pub struct Fifo {
    /// The rate of each flow.
    pub rates: Vec<f64>,
    /// The queueing delay, seconds.
    pub queue_s: f64,
}

/// The equilibrium of flows on one FIFO. Flow i measures the queueing delay as `queue - errors_s[i]`: its
/// base RTT is too high by `errors_s[i]`. There is at least one flow, and the capacity is above 0.
///
/// If all errors are negative, the flows may measure a queue where there is none; then they leave a part of
/// the capacity unused.
#[must_use]
pub fn fifo(level: &Level, capacity: f64, errors_s: &[f64]) -> Fifo {
    let rate = |queue_s: f64, error_s: f64| level.rate(queue_s - error_s);
    let excess = |queue_s: f64| errors_s.iter().map(|error| rate(queue_s, *error)).sum::<f64>() - capacity;
    let largest = errors_s.iter().copied().fold(0.0, f64::max);
    // at the upper end no flow has more than its equal share
    let above = largest + level.delay_s(capacity / errors_s.len() as f64);
    let queue_s = if largest <= 0.0 && excess(0.0) <= 0.0 { 0.0 } else { root(largest, above, excess) };
    Fifo { rates: errors_s.iter().map(|error| rate(queue_s, *error)).collect(), queue_s }
}

/// Elasticity of a flow's rate: its relative change per relative change of the queueing delay that the flow
/// measures. A base RTT that is too high by a small part x of q gives a rate that is higher by the elasticity
/// times x.
#[must_use]
pub fn elasticity(level: &Level) -> f64 {
    1.0 / level.exponent
}

/// The share of a flow over `links` bottlenecks of a parking lot, beside one flow on each bottleneck: `f(r0)
/// = links * q` and `f(r1) = q`, so the rates have the ratio `links^(-1 / exponent)`.
#[must_use]
pub fn parking_lot_share(level: &Level, links: f64) -> f64 {
    1.0 / (1.0 + links.powf(1.0 / level.exponent))
}
