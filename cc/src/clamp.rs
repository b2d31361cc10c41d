//! The bounds of decisions, and how often one was outside of them: `contract/clamp.h`.

use crate::contract::{Decision, View};
use crate::ffi;

/// What the bounds of a decision depend on, beside the view: `enum cc_bounds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// [`Kind::GrowsCwnd`](crate::Kind): the host reduces cwnd to ssthresh.
    pub grows: bool,
    /// The algorithm may pace below a packet per RTT on purpose.
    pub slow: bool,
    /// The decision is on [`Event::Reduce`](crate::Event).
    pub reduces: bool,
}

impl Bounds {
    /// As C has them.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.grows as u32 | (self.slow as u32) << 1 | (self.reduces as u32) << 2
    }

    /// Keeps a decision within its bounds, and returns what was outside. [`Controller`](crate::Controller)
    /// does this by itself.
    pub fn clamp(self, view: &View, decision: &mut Decision) -> Clamps {
        // SAFETY: both are valid, and do not overlap.
        Clamps::of_bits(unsafe { ffi::cc_native_clamp(view, decision, self.bits()) })
    }
}

/// Counts of decisions that the host had to change, by field: each is a defect of the algorithm, which no
/// listed one has. See `contract/clamp.h` for the bounds and what they prevent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clamps {
    /// cwnd was 0, or above 2^24 packets.
    pub cwnd: u64,
    /// ssthresh was below 2 packets or no number of the contract, or above the cwnd that it should reduce.
    pub ssthresh: u64,
    /// The pacing rate would have stopped the connection for more than twice the RTT and 400 ms.
    pub pacing_rate: u64,
    /// The smallest burst was 0, or longer than any.
    pub min_burst: u64,
    /// The application-limited period would have outlasted the packets in flight.
    pub app_limited: u64,
}

impl Clamps {
    /// The number of fields: `CC_CLAMP_COUNT`.
    pub const FIELDS: usize = 5;

    /// The counts in the order of `enum cc_clamp`.
    #[must_use]
    pub const fn from_array(counts: [u64; Self::FIELDS]) -> Clamps {
        let [cwnd, ssthresh, pacing_rate, min_burst, app_limited] = counts;
        Clamps { cwnd, ssthresh, pacing_rate, min_burst, app_limited }
    }

    /// The same with the name of each field.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, u64); Self::FIELDS] {
        [
            ("cwnd", self.cwnd),
            ("ssthresh", self.ssthresh),
            ("pacing rate", self.pacing_rate),
            ("burst", self.min_burst),
            ("application-limited period", self.app_limited),
        ]
    }

    /// The sum over all fields.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.named().iter().map(|(_, count)| count).sum()
    }

    /// What is shown to people: `cwnd 3 times, ssthresh 802 times`; empty if nothing was changed.
    #[must_use]
    pub fn sentence(&self) -> String {
        let counts = self.named().into_iter().filter(|(_, count)| *count > 0);
        let times = |count| if count == 1 { "once".to_owned() } else { format!("{count} times") };
        counts.map(|(name, count)| format!("{name} {}", times(count))).collect::<Vec<_>>().join(", ")
    }

    /// What one call of `cc_clamp` returns: bit n for field n of `enum cc_clamp`.
    #[must_use]
    pub const fn of_bits(clamped: u32) -> Clamps {
        const fn bit(clamped: u32, place: u32) -> u64 {
            (clamped >> place & 1) as u64
        }
        Clamps::from_array([
            bit(clamped, 0),
            bit(clamped, 1),
            bit(clamped, 2),
            bit(clamped, 3),
            bit(clamped, 4),
        ])
    }
}

impl std::ops::AddAssign for Clamps {
    fn add_assign(&mut self, other: Clamps) {
        self.cwnd += other.cwnd;
        self.ssthresh += other.ssthresh;
        self.pacing_rate += other.pacing_rate;
        self.min_burst += other.min_burst;
        self.app_limited += other.app_limited;
    }
}
