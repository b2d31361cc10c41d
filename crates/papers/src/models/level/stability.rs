//! Steering as a linear loop with delay.
//!
//! A flow changes W once a round by what the mean of the round before asks for. With equal RTTs and a window
//! that ACKs clock, the queue follows the sum of the windows at once, and one round later the mean shows it:
//! in rounds, `x[n + 1] = x[n] - gain x[n - 1]`, with the roots of `z^2 - z + gain`. The gain is all that
//! counts, as the step is divided by T + f: neither rate nor RTT nor number of flows nor f is in it. It is
//! stable below 1, does not oscillate up to 1/4, and is fastest there.
//!
//! For different RTTs the loop is in continuous time. With `z_i = exp(-s D_i)`, D_i = T_i + q, the bottleneck
//! sees `W_i(s) = X_i(s) (1 - z_i) / s + r_i z_i Q(s)`: inflight is what was sent since the newest
//! acknowledged packet, and the queue moves that packet (the joint link model of Jacobsson et al., 2009, and
//! Tang et al., 2010). So `Q = sum(phi_i W_i) / sum(phi_i r_i)`, `phi_i = 1 / (1 - z_i)`. The real part of
//! phi_i is at least 1/2 where that of s is not negative, so ACK clocks alone are stable for any RTTs. What
//! steering adds is [`Loop::returned`]: a mean over the flows, weighted by `phi_i r_i`, of loops of one flow.

use std::f64::consts::{PI, TAU};

use num_complex::Complex64;

use super::Level;

/// The larger modulus of the roots of `z^2 - z + gain`: the part of a disturbance that is left after a round,
/// for flows of one RTT. At 1 and above they do not settle.
#[must_use]
pub fn left_after_round(gain: f64) -> f64 {
    if gain <= 0.25 { 0.5 * (1.0 + (1.0 - 4.0 * gain).sqrt()) } else { gain.sqrt() }
}

/// The gain up to which flows of one RTT do not oscillate, and with which they settle fastest.
pub const CRITICAL_GAIN: f64 = 0.25;

/// The gain from which flows of one RTT do not settle.
pub const LARGEST_GAIN: f64 = 1.0;

/// Part of the newest round in the mean of the delivered rate.
const RATE_WEIGHT: f64 = 0.25;

/// A flow at the equilibrium.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Member {
    /// D: the RTT with the queueing delay, seconds.
    round_s: f64,
    /// `alpha f / D`.
    slope: f64,
}

/// The linear loop of flows of equal rates on one FIFO, with cwnds that their ACKs clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Loop {
    members: Vec<Member>,
}

impl Loop {
    /// The loop of flows of these base RTTs, in seconds, at the equilibrium of a link. There is one flow at
    /// least.
    #[must_use]
    pub fn new(level: &Level, capacity: f64, rtts_s: &[f64]) -> Self {
        let level_s = level.delay_s(capacity / rtts_s.len() as f64);
        let member = |rtt: &f64| {
            let round_s = rtt + level_s;
            Member { round_s, slope: level.exponent * level_s / round_s }
        };
        Self { members: rtts_s.iter().map(member).collect() }
    }

    /// What comes back of a disturbance of q with the complex frequency `s`, with its sign reversed: at -1 it
    /// sustains itself.
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

    /// Whether all disturbances of q go away.
    #[must_use]
    pub fn is_stable(&self, gain: f64) -> bool {
        let rounds = || self.members.iter().map(|member| member.round_s);
        let shortest = rounds().fold(f64::INFINITY, f64::min);
        let longest = rounds().fold(0.0, f64::max);
        does_not_wind(shortest, longest, |s| 1.0 + self.returned(gain, s))
    }

    /// The gain from which disturbances of q grow, at most 4.
    #[must_use]
    pub fn gain_bound(&self) -> f64 {
        gain_bound(|gain| self.is_stable(gain))
    }

    /// The bound that the ACK clock of the longest round sets beside flows of the shortest one, in closed
    /// form.
    ///
    /// Where `phi` of the long flows cancels the imaginary part of that of the short ones, little above the
    /// frequency `2 pi / D_long`, the short flows' part of what comes back is `-gain / (w D_short)^2`: bursts
    /// go around with the long flows, and the short ones make room for them, and fill the room, at the wrong
    /// time.
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

/// The gain from which flows of one RTT do not settle if they are paced at W / (T + q) and cwnd does not
/// limit them: q is the mean of the round before, and holds for a round. 0: they settle at no gain.
///
/// The link makes an integral of the rate. The divisor T + q is all that limits it, and it comes two rounds
/// late: one for the trip, and half of one each for the mean and for holding it.
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
/// the axis does not wind around 0 (Nyquist). Rounds of the shortest and the longest length make its scale.
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

/// The gain up to which all is stable, to one part in a thousand or better, if there is one such gain.
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

/// Points of the curve at most: enough for RTTs of a ratio of 50.
const STEPS_MOST: f64 = 20_000.0;
/// Gains above are not looked at.
const GAIN_MOST: f64 = 4.0;
/// Gains below count as 0.
const GAIN_LEAST: f64 = 1e-4;
/// The least gain that is tried.
const GAIN_STEP: f64 = 0.02;
/// From one gain that is tried to the next.
const GAIN_FACTOR: f64 = 1.2;
