//! A policer: it drops packets above a rate, without a queue (RFC 2475).

use crate::time::{Nanos, SECOND};

/// A token bucket, as in Linux's act_police. The bucket fills at a rate up to a burst and begins full. A
/// packet conforms if there are tokens for its bytes, and takes them. A packet that is dropped takes no
/// tokens.
#[derive(Debug, Clone)]
pub struct Policer {
    rate_bps: u64,
    /// Most tokens, in bits x ns per s, so that no fraction is lost.
    most: u128,
    tokens: u128,
    /// The time up to which the bucket has been filled.
    filled: Nanos,
}

/// Tokens of a byte.
const BYTE: u128 = 8 * SECOND as u128;

impl Policer {
    /// Returns a bucket that fills at `rate_bps` bits per second and holds `burst_bytes`.
    pub fn new(rate_bps: u64, burst_bytes: u64) -> Self {
        let most = u128::from(burst_bytes) * BYTE;
        Policer { rate_bps, most, tokens: most, filled: 0 }
    }

    /// Returns whether a packet of `bytes` conforms. Times must not go back.
    pub fn conforms(&mut self, now: Nanos, bytes: u32) -> bool {
        let filled = u128::from(self.rate_bps) * u128::from(now.saturating_sub(self.filled));
        self.tokens = (self.tokens + filled).min(self.most);
        self.filled = self.filled.max(now);
        let wanted = u128::from(bytes) * BYTE;
        let conforms = self.tokens >= wanted;
        if conforms {
            self.tokens -= wanted;
        }
        conforms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_full_bucket_lets_a_burst_through_and_no_more() {
        let mut p = Policer::new(8_000_000, 10_000);
        assert_eq!((0..20).filter(|_| p.conforms(5, 1000)).count(), 10);
        // 8 Mbit/s are a thousand bytes per millisecond
        assert!(!p.conforms(5 + 999_999, 1000));
        assert!(p.conforms(5 + 1_000_000, 1000) && !p.conforms(5 + 1_000_000, 1));
    }

    #[test]
    fn a_dropped_packet_takes_no_tokens() {
        let mut p = Policer::new(8_000_000, 2_000);
        assert!(!p.conforms(0, 2_001) && p.conforms(0, 2_000));
    }

    #[test]
    fn the_long_run_rate_is_exact_at_any_load() {
        // 100 s at ten times a rate that divides nothing evenly: burst + rate x time, less than a packet
        // short
        let (rate, burst, bytes) = (7_000_003u64, 30_000u64, 1514u32);
        let mut p = Policer::new(rate, burst);
        let end = 100 * SECOND;
        let passed =
            (0..end).step_by(173_013).filter(|at| p.conforms(*at, bytes)).count() as u64 * u64::from(bytes);
        let allowed = burst + rate * 100 / 8;
        assert!(passed <= allowed && passed + 2 * u64::from(bytes) > allowed, "{passed} of {allowed}");
    }

    proptest! {
        /// In no interval more bytes conform than the burst and the bytes that fill up in the interval.
        #[test]
        fn no_interval_gets_more_than_burst_and_rate(
            rate in 1_000u64..1_000_000_000,
            burst in 1514u64..100_000,
            packets in prop::collection::vec((0u64..3_000_000, 40u32..1514), 1..100),
        ) {
            let (mut p, mut now, mut passed) = (Policer::new(rate, burst), 0, Vec::new());
            for (gap, bytes) in packets {
                now += gap;
                if p.conforms(now, bytes) {
                    passed.push((now, u64::from(bytes)));
                }
            }
            for i in 0..passed.len() {
                let mut sum = 0;
                for (at, bytes) in &passed[i..] {
                    sum += bytes;
                    let allowed = burst as f64 + rate as f64 * (at - passed[i].0) as f64 / 8e9;
                    prop_assert!(sum as f64 <= allowed + 1e-3, "{sum} of {allowed}");
                }
            }
        }
    }
}
