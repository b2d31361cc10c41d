//! Values and functions for tests of both variants of RED.

use fairpace_scenario::Random;

use super::settings::Verdict;
use crate::aqm::ring::MTU_BYTES;
use fairpace_scenario::{Red, RedRules};

/// The example of tc's manual, in full packets: thresholds of 30 and 90, bursts of 55.
pub(super) const MANUAL: Red = Red {
    rules: RedRules::Linux,
    min_bytes: 30 * MTU_BYTES,
    max_bytes: 90 * MTU_BYTES,
    max_ppb: 20_000_000,
    burst_pkts: 55,
    ecn: false,
};
/// The rate of the link behind the queue, bits per second.
pub(super) const RATE_BPS: u64 = 10_000_000;
pub(super) const FLOYD: Red = Red { rules: RedRules::Floyd { gentle: false }, ..MANUAL };

/// Returns the gaps from drop to drop while the average is constant.
pub(super) fn gaps(mut decide: impl FnMut(&mut Random) -> Verdict, n: usize) -> Vec<u64> {
    let (mut random, mut gaps, mut gap) = (Random::new(1), Vec::new(), 0);
    while gaps.len() < n {
        gap += 1;
        match decide(&mut random) {
            Verdict::Early => gaps.push(std::mem::take(&mut gap)),
            Verdict::Pass => {}
            Verdict::Forced => panic!("the average is below the maximum"),
        }
    }
    gaps.split_off(1) // the first one began at no drop
}

/// Asserts that gaps are uniform from 1 to `most`.
pub(super) fn assert_uniform(gaps: &[u64], most: u64) {
    assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&1), Some(&most)));
    let n = gaps.len() as f64;
    let expected = n / most as f64;
    let chi: f64 = (1..=most)
        .map(|gap| gaps.iter().filter(|g| **g == gap).count() as f64 - expected)
        .map(|off| off * off / expected)
        .sum();
    // chi-squared with most - 1 degrees of freedom: its standard deviation is sqrt(2 x degrees)
    let degrees = (most - 1) as f64;
    assert!((chi - degrees).abs() < 4.0 * (2.0 * degrees).sqrt(), "{chi} with {degrees} degrees");
}
