//! The speed at which differences of rates decay.
//!
//! Steering changes ln W by `gain (f(r) - q) / (T + f)` once a round of T + q. For two flows with a small
//! difference d of ln r, f differs by `-alpha f d`. So d decays with the time constant `(T + f)^2 / (alpha
//! gain f)`: the queue may not move by more than about f per round, and carries no more than that.
//!
//! Exchange sets W to `W f(r) / q` after a drain, where q is the mean since the drain before. As `f(r) / q =
//! (r / r*)^-alpha`, where r* is the rate at equilibrium with q, ln r - ln r* is multiplied by `1 - alpha`.
//! The changes of all flows add up to `-alpha sum(r_i ln(r_i / r*))`, which is 0 to first order if the r_i
//! add up to N r*: the rate that some flows lose is the rate that the others gain.

use super::Level;

/// Time constant of steering, seconds: the time in which it divides a small difference of ln r by e, for
/// flows of this base RTT at the equilibrium rate `rate`.
#[must_use]
pub fn steering_s(level: &Level, gain: f64, rtt_s: f64, rate: f64) -> f64 {
    let level_s = level.delay_s(rate);
    (rtt_s + level_s).powi(2) / (level.exponent * gain * level_s)
}
