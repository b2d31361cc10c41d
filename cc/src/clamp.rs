//! The bounds of decisions, and counts of decisions outside them: `lib/clamp.h`.

use crate::contract::{Decision, Event, INFINITE, View};
use crate::ffi;

/// The largest cwnd of TCP: `CC_MOST_TCP_CWND_PKTS`.
pub(crate) const MOST_TCP_CWND_PKTS: u32 = 1 << 24;
/// The highest floor of the pacing rate: `CC_FLOOR_MOST_BPS`.
pub(crate) const FLOOR_MOST_BPS: u64 = 2 * 65_536 * 1_000_000 / 200_000;

/// The properties that the bounds of a decision depend on, beside the view: a set of `enum cc_bounds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds(u32);

impl Bounds {
    /// The algorithm is of [`Kind::GrowsCwnd`](crate::Kind): the host reduces cwnd to ssthresh.
    pub const GROWS: Bounds = Bounds(1);
    /// The algorithm may pace below a packet per RTT on purpose.
    pub const SLOW: Bounds = Bounds(2);
    /// The decision is on [`Event::Reduce`].
    pub const REDUCES: Bounds = Bounds(4);
    /// The decision is on [`Event::Restart`].
    pub const RESTARTS: Bounds = Bounds(8);

    /// Returns the set with these bits of C; bits that C does not have mean nothing.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Bounds {
        Bounds(bits)
    }

    /// The bits of the set in C.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns the properties that an event adds to those of an algorithm.
    #[must_use]
    pub const fn of_event(event: Event) -> Bounds {
        match event {
            Event::Reduce => Self::REDUCES,
            Event::Restart => Self::RESTARTS,
            _ => Self(0),
        }
    }

    /// Keeps a decision within its bounds, and returns the fields that were outside.
    /// [`Controller`](crate::Controller) does this by itself.
    pub fn clamp(self, view: &View, decision: &mut Decision) -> Clamps {
        // SAFETY: both are valid, and do not overlap.
        Clamps::of_bits(unsafe { ffi::cc_native_clamp(view, decision, self.0) })
    }
}

impl std::ops::BitOr for Bounds {
    type Output = Bounds;

    fn bitor(self, other: Bounds) -> Bounds {
        Bounds(self.0 | other.0)
    }
}

impl Decision {
    /// Returns whether the decision is within the bounds of all algorithms, but for an ssthresh to which the
    /// host reduces cwnd. Nearly every decision is. This check saves a call of C on every ACK.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        /// One packet, in the upper half of the test in `is_plain`.
        const ONE: u64 = 1 << 32;
        // the least burst is one packet or two, and no application-limited period begins: one test of two
        // fields
        let burst = u64::from(self.min_burst_pkts) << 32 | u64::from(self.app_limited_until_pkts);
        self.cwnd_pkts.wrapping_sub(1) < MOST_TCP_CWND_PKTS
            && self.ssthresh_pkts.wrapping_sub(2) < INFINITE - 1
            && self.pacing_rate_Bps >= FLOOR_MOST_BPS
            && burst.wrapping_sub(ONE) & !ONE == 0
    }
}

/// Counts of decisions that the host had to change, by field: each is a defect of the algorithm, which no
/// listed algorithm has. `lib/clamp.h` explains the bounds and what they prevent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clamps {
    /// Number of decisions with a cwnd of 0, or above 2^24 packets.
    pub cwnd: u64,
    /// Number of decisions with an ssthresh below 2 packets, outside the numbers of the contract, or above
    /// the cwnd that it should reduce.
    pub ssthresh: u64,
    /// Number of pacing rates that would have stopped the connection for more than 1.5 RTTs and 200 ms.
    pub pacing_rate: u64,
    /// Number of decisions with a smallest burst of neither 1 nor 2 packets.
    pub min_burst: u64,
    /// Number of application-limited periods that would have outlasted the packets in flight.
    pub app_limited: u64,
}

impl Clamps {
    /// The number of fields: `CC_CLAMP_COUNT`.
    pub const FIELDS: usize = 5;

    /// Returns the counts in the order of `enum cc_clamp`.
    #[must_use]
    pub const fn from_array(counts: [u64; Self::FIELDS]) -> Clamps {
        let [cwnd, ssthresh, pacing_rate, min_burst, app_limited] = counts;
        Clamps { cwnd, ssthresh, pacing_rate, min_burst, app_limited }
    }

    /// Returns each count with the name of its field.
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

    /// Returns a text for users: `cwnd 3 times, ssthresh 802 times`; empty if all counts are 0.
    #[must_use]
    pub fn sentence(&self) -> String {
        let counts = self.named().into_iter().filter(|(_, count)| *count > 0);
        let times = |count| if count == 1 { "once".to_owned() } else { format!("{count} times") };
        counts.map(|(name, count)| format!("{name} {}", times(count))).collect::<Vec<_>>().join(", ")
    }

    /// Returns the counts of a call of `cc_clamp`: bit n of its result is field n of `enum cc_clamp`.
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

#[cfg(test)]
#[allow(non_snake_case)] // bytes per second are _Bps, as in the contract
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn around(edge: u64) -> impl Strategy<Value = u64> {
        (0..=2u64).prop_map(move |more| edge.wrapping_sub(1).wrapping_add(more))
    }

    fn any_field() -> impl Strategy<Value = u64> {
        let edges = [0, 2, 1 << 24, u64::from(INFINITE), 1 << 32, FLOOR_MOST_BPS].map(around);
        let [a, b, c, d, e, f] = edges;
        prop_oneof![a, b, c, d, e, f]
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 10_000,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn what_passes_for_plain_is_within_all_bounds(
            (pacing_rate_Bps, cwnd, ssthresh) in (any_field(), any_field(), any_field()),
            (until, burst, mss) in (any_field(), any_field(), any_field()),
            (srtt, min_rtt, bits) in (any_field(), any_field(), 0u32..16),
        ) {
            let d = Decision {
                pacing_rate_Bps,
                cwnd_pkts: cwnd as u32,
                ssthresh_pkts: ssthresh as u32,
                app_limited_until_pkts: until as u32,
                min_burst_pkts: burst as u32,
            };
            let view = View {
                mss_bytes: mss as u32 & 0xffff,
                srtt_us: srtt as u32,
                min_rtt_us: min_rtt as u32,
                ssthresh_pkts: d.ssthresh_pkts,
                ..View::default()
            };
            let mut bounded = d;
            let clamps = Bounds::from_bits(bits & !Bounds::REDUCES.bits()).clamp(&view, &mut bounded);
            prop_assert!(!d.is_plain() || bounded == d && clamps == Clamps::default(), "{d:?}");
        }
    }

    #[test]
    fn an_ordinary_decision_is_plain() {
        let plain = Decision {
            pacing_rate_Bps: FLOOR_MOST_BPS,
            cwnd_pkts: 1,
            ssthresh_pkts: 2,
            app_limited_until_pkts: 0,
            min_burst_pkts: 1,
        };
        assert!(plain.is_plain());
        assert!(
            Decision { cwnd_pkts: 1 << 24, ssthresh_pkts: INFINITE, min_burst_pkts: 2, ..plain }.is_plain()
        );
        for other in [
            Decision { pacing_rate_Bps: FLOOR_MOST_BPS - 1, ..plain },
            Decision { cwnd_pkts: 0, ..plain },
            Decision { cwnd_pkts: (1 << 24) + 1, ..plain },
            Decision { ssthresh_pkts: 1, ..plain },
            Decision { ssthresh_pkts: INFINITE + 1, ..plain },
            Decision { min_burst_pkts: 0, ..plain },
            Decision { min_burst_pkts: 3, ..plain },
            Decision { app_limited_until_pkts: 1, ..plain },
            Decision { app_limited_until_pkts: u32::MAX, ..plain },
        ] {
            assert!(!other.is_plain(), "{other:?}");
        }
    }
}
