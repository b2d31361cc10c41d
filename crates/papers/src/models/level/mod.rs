//! LEVEL (`cc/level.h`): each flow steers the queueing delay that it sees to a level that falls with its own
//! rate.
//!
//! * [`equilibrium`]: rates and queueing delays on one FIFO and on a parking lot, and the effect of an error
//!   of a base RTT.
//! * [`stability`]: the control loop of steering, linear, with its delays.
//! * [`convergence`]: how fast differences of rates decay by steering.
//! * [`drain`]: how far a drain lowers the queue, and the rate that a flow can keep whose drains no other
//!   flow joins.
//!
//! The level and the gain are inputs of all functions. Rates are in packets per second, times in seconds.

pub mod convergence;
pub mod drain;
pub mod equilibrium;
pub mod stability;

/// Size of a packet on the wire with its Ethernet header, bytes, which the rate of a link in a scenario
/// counts.
pub const PACKET_BYTES: f64 = 1514.0;

/// The rate of a link in packets per second.
#[must_use]
pub fn packets_per_s(mbps: f64) -> f64 {
    mbps * 1e6 / 8.0 / PACKET_BYTES
}

/// The level f(r): the queueing delay that a flow of rate r steers to, a power of the rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// The level of a flow of the reference rate, seconds, above 0.
    pub reference_s: f64,
    /// The reference rate, packets per second, above 0.
    pub reference_rate: f64,
    /// The level falls with this power of the rate; above 0.
    pub exponent: f64,
}

impl Level {
    /// The level f(r) of a rate, seconds: infinite for a rate of 0.
    #[must_use]
    pub fn delay_s(&self, rate: f64) -> f64 {
        self.reference_s * (self.reference_rate / rate).powf(self.exponent)
    }

    /// The rate whose level is this delay: infinite for a delay of 0 or less.
    #[must_use]
    pub fn rate(&self, delay_s: f64) -> f64 {
        if delay_s <= 0.0 {
            return f64::INFINITY;
        }
        self.reference_rate * (self.reference_s / delay_s).powf(1.0 / self.exponent)
    }
}

/// Number of halvings of an interval: more than a double has bits.
const HALVINGS: u32 = 100;

/// The root of a function that falls from one end of the interval to the other.
pub(crate) fn root(mut below: f64, mut above: f64, of: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..HALVINGS {
        let middle = 0.5 * (below + above);
        if of(middle) > 0.0 {
            below = middle;
        } else {
            above = middle;
        }
    }
    0.5 * (below + above)
}
