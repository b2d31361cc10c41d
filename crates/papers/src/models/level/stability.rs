//! Stability of steering: a linear loop with delay.
//!
//! A flow changes W once a round, by the mean of the round before. With equal RTTs and a window that ACKs
//! clock, the queue follows the sum of the windows at once, and the mean shows it one round later: in rounds,
//! `x[n + 1] = x[n] - gain x[n - 1]`, with the roots of `z^2 - z + gain`. Only the gain matters, as the step
//! is divided by T + f: rate, RTT, number of flows and f cancel. The loop is stable below 1, does not
//! oscillate up to 1/4, and is fastest at 1/4.
//!
//! For different RTTs the loop is in continuous time. With `z_i = exp(-s D_i)`, D_i = T_i + q, the bottleneck
//! sees `W_i(s) = X_i(s) (1 - z_i) / s + r_i z_i Q(s)`: inflight is the data sent since the newest
//! acknowledged packet, and the queue moves that packet (the joint link model of Jacobsson et al., 2009, and
//! Tang et al., 2010). So `Q = sum(phi_i W_i) / sum(phi_i r_i)`, `phi_i = 1 / (1 - z_i)`. The real part of
//! phi_i is at least 1/2 where that of s is not negative, so ACK clocks alone are stable for any RTTs.
//! Steering adds [`Loop::returned`]: a mean over the flows, weighted by `phi_i r_i`, of loops of one flow.

use std::f64::consts::{PI, TAU};

use num_complex::Complex64;

use super::Level;

/// The larger modulus of the roots of `z^2 - z + gain`: the part of a disturbance that is left after a round,
/// for flows of one RTT. At 1 and above the flows do not settle.
#[must_use]
pub fn left_after_round(gain: f64) -> f64 {
    if gain <= 0.25 { 0.5 * (1.0 + (1.0 - 4.0 * gain).sqrt()) } else { gain.sqrt() }
}

/// The gain up to which flows of one RTT do not oscillate, and with which they settle fastest.
pub const CRITICAL_GAIN: f64 = 0.25;

/// The gain from which flows of one RTT do not settle.
pub const LARGEST_GAIN: f64 = 1.0;

/// Weight of the newest round in the mean of the delivered rate.
const RATE_WEIGHT: f64 = 0.25;

/// A flow of the loop, at the equilibrium.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Member {
    /// Length of a round, seconds: the RTT with the queueing delay, D.
    round_s: f64,
    /// Slope of the level over the round, `alpha f / D`.
    slope: f64,
}

/// The linear loop of flows of equal rates on one FIFO, with cwnds that their ACKs clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Loop {
    members: Vec<Member>,
}

impl Loop {
    /// The loop of flows of these base RTTs, in seconds, at the equilibrium of a link. There is at least one
    /// flow.
    #[must_use]
    pub fn new(level: &Level, capacity: f64, rtts_s: &[f64]) -> Self {
        let level_s = level.delay_s(capacity / rtts_s.len() as f64);
        let member = |rtt: &f64| {
            let round_s = rtt + level_s;
            Member { round_s, slope: level.exponent * level_s / round_s }
        };
        Self { members: rtts_s.iter().map(member).collect() }
    }

    /// Open-loop response to a disturbance of q with the complex frequency `s`, with its sign reversed: at -1
    /// the disturbance sustains itself.
    #[must_use]
    pub fn returned(&self, gain: f64, s: Complex64) -> Complex64 {
        let mut sum = Complex64::ZERO;
        let mut weights = Complex64::ZERO;
        for member in &self.members {
            let phi = 1.0 / (1.0 - (-s * member.round_s).exp());
            weights += phi;
            sum += phi * member.returned(gain, s);
        }
        sum / weights
    }

    /// Whether all disturbances of q decay.
    #[must_use]
    pub fn is_stable(&self, gain: f64) -> bool {
        let rounds = || self.members.iter().map(|member| member.round_s);
        let shortest = rounds().fold(f64::INFINITY, f64::min);
        let longest = rounds().fold(0.0, f64::max);
        does_not_wind(shortest, longest, |s| 1.0 + self.returned(gain, s))
    }

    /// The gain above which disturbances of q grow, at most 4.
    #[must_use]
    pub fn gain_bound(&self) -> f64 {
        gain_bound(|gain| self.is_stable(gain))
    }

    /// An upper bound on the gain in closed form, which the ACK clock of the longest round sets beside flows
    /// of the shortest round.
    ///
    /// The bound is where `phi` of the long flows cancels the imaginary part of that of the short ones,
    /// slightly above the frequency `2 pi / D_long`. There the short flows' part of the response is `-gain /
    /// (w D_short)^2`: bursts circulate with the long flows, and the short flows leave room for them, and
    /// fill it, at the wrong time.
    #[must_use]
    pub fn resonance_bound(&self) -> f64 {
        let rounds = || self.members.iter().map(|member| member.round_s);
        let shortest = rounds().fold(f64::INFINITY, f64::min);
        let longest = rounds().fold(0.0, f64::max);
        (TAU * shortest / longest).powi(2)
    }
}

impl Member {
    fn returned(&self, gain: f64, s: Complex64) -> Complex64 {
        let x = s * self.round_s;
        let late = (-x).exp();
        let mean = (1.0 - late) / x;
        let smooth = RATE_WEIGHT / (1.0 - (1.0 - RATE_WEIGHT) * late);
        let own = gain * self.slope * late * smooth;
        gain * late * (mean - self.slope * smooth) / (x + own)
    }
}

/// The gain above which flows of one RTT do not settle if they are paced at W / (T + q) and cwnd does not
/// limit them: q is the mean of the round before, and is applied for a round. 0: the flows settle at no gain.
///
/// The link integrates the rate. Only the divisor T + q limits it, and it is two rounds late: one for the
/// round trip, half of one for the mean, and half of one for the time for which it is applied.
#[must_use]
pub fn paced_gain_bound() -> f64 {
    gain_bound(|gain| {
        does_not_wind(1.0, 1.0, |x| {
            let late = (-x).exp();
            let mean = (1.0 - late) / x;
            // divided by what is stable and of the same degree
            (x * (x + late * mean * mean) + gain * late * mean) / ((x + 1.0) * (x + 1.0))
        })
    })
}

/// Whether a function without poles to the right of the imaginary axis has no roots there: its curve along
/// the axis does not wind around 0 (Nyquist). The lengths of the shortest and the longest round give the
/// scale of frequencies.
fn does_not_wind(shortest_s: f64, longest_s: f64, of: impl Fn(Complex64) -> Complex64) -> bool {
    // beyond, nothing comes back that is as large as what went out
    let end = 2.0 * TAU / shortest_s;
    let count = (30.0 * end * longest_s).ceil().min(STEPS_MOST);
    let mut turned = 0.0;
    let mut before = 0.0;
    for index in 0..=count as u32 {
        // a little to the right of the axis, off the poles of single terms
        let s = Complex64::new(1e-6 / longest_s, (f64::from(index) + 0.01) * end / count);
        let now = of(s).arg();
        let by = now - before;
        turned += by - TAU * (by / TAU).round();
        before = now;
    }
    turned.abs() < PI
}

/// The gain up to which the loop is stable, to one part in a thousand or better, if there is one such gain.
fn gain_bound(is_stable: impl Fn(f64) -> bool) -> f64 {
    let mut stable = 0.0;
    let mut unstable = GAIN_STEP;
    while unstable < GAIN_MOST && is_stable(unstable) {
        (stable, unstable) = (unstable, unstable * GAIN_FACTOR);
    }
    while unstable - stable > 1e-3 * unstable && unstable > GAIN_LEAST {
        let middle = 0.5 * (stable + unstable);
        if is_stable(middle) {
            stable = middle;
        } else {
            unstable = middle;
        }
    }
    stable
}

/// Most points of the curve: enough for RTTs of a ratio of 50.
const STEPS_MOST: f64 = 20_000.0;
/// Largest gain of the search.
const GAIN_MOST: f64 = 4.0;
/// Largest gain that counts as 0.
const GAIN_LEAST: f64 = 1e-4;
/// Smallest gain that the search tries.
const GAIN_STEP: f64 = 0.02;
/// Ratio between successive gains of the search.
const GAIN_FACTOR: f64 = 1.2;
