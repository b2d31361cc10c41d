//! Workloads: flows whose connections arrive at random and end.

use fairpace_netem::{Nanos, SECOND};
use fairpace_scenario::{Arrivals, Random, Sizes};

use crate::event_queue::NEVER;

/// The connections of a workload: they arrive as a Poisson process, with sizes of a given distribution.
pub(crate) struct Workload {
    mean_gap_ns: f64,
    sizes: Sizes,
    random: Random,
    /// Time when the next connection arrives.
    pub(crate) next: Nanos,
    /// Number of connections so far.
    pub(crate) arrived: u64,
    /// Slots of connections that are over.
    pub(crate) free: Vec<u32>,
}

impl Workload {
    /// Returns a workload that begins at `start`.
    pub(crate) fn new(arrivals: &Arrivals, mut random: Random, start: Nanos) -> Self {
        let mean_gap_ns = SECOND as f64 * 1e3 / arrivals.per_s_milli.max(1) as f64;
        let next = start.saturating_add(exponential(&mut random, mean_gap_ns));
        Workload { mean_gap_ns, sizes: arrivals.sizes.clone(), random, next, arrived: 0, free: Vec::new() }
    }

    /// Takes the connection that is due. Returns the bytes that it sends and the seed of its own randomness.
    /// The next connection is scheduled if it comes before `stop`.
    pub(crate) fn take(&mut self, stop: Nanos) -> (u64, u64) {
        let bytes = size(&self.sizes, &mut self.random);
        let seed = self.random.next_u64();
        let next = self.next.saturating_add(exponential(&mut self.random, self.mean_gap_ns));
        self.next = if next < stop { next } else { NEVER };
        self.arrived += 1;
        (bytes, seed)
    }
}

/// Returns the time from an event of a Poisson process to the next. The logarithm is libm's, which gives
/// equal results on every machine.
fn exponential(random: &mut Random, mean_ns: f64) -> Nanos {
    let unit = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    (-libm::log(1.0 - unit) * mean_ns) as Nanos
}

/// Returns a size drawn by the inverse of the distribution function, linear between its points.
fn size(sizes: &Sizes, random: &mut Random) -> u64 {
    let cdf = &sizes.cdf;
    let whole = cdf.last().map_or(1, |(_, share)| *share).max(1);
    let at = random.below(whole) + 1;
    let i = cdf.partition_point(|(_, share)| *share < at);
    let (bytes, share) = cdf.get(i).copied().unwrap_or((1, whole));
    let (from, before) = if i == 0 { (0, 0) } else { cdf[i - 1] };
    let part = u128::from(bytes - from) * u128::from(at - before) / u128::from((share - before).max(1));
    (from + part as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(cdf: &[(u64, u64)]) -> Sizes {
        Sizes { name: "test".into(), cdf: cdf.into() }
    }

    #[test]
    fn sizes_follow_their_distribution() {
        // half of them up to 100 bytes, the rest evenly up to 1100: the mean is 50 / 2 + 600 / 2
        let sizes = sizes(&[(100, 500_000_000), (1_100, 1_000_000_000)]);
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..200_000).map(|_| size(&sizes, &mut random)).collect();
        let small = drawn.iter().filter(|n| **n <= 100).count() as f64 / 2e5;
        let mean = drawn.iter().sum::<u64>() as f64 / 2e5;
        assert!((small - 0.5).abs() < 0.005 && (mean - 325.0).abs() < 4.0, "{small} {mean}");
        assert!(drawn.iter().all(|n| (1..=1_100).contains(n)));
    }

    #[test]
    fn gaps_are_exponential() {
        let mut random = Random::new(2);
        let gaps: Vec<f64> = (0..200_000).map(|_| exponential(&mut random, 1e6) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / 2e5;
        // P(gap > mean) is 1/e; both within four standard deviations
        let long = gaps.iter().filter(|gap| **gap > 1e6).count() as f64 / 2e5;
        assert!((mean / 1e6 - 1.0).abs() < 4.0 / 447.0, "{mean}");
        assert!((long - (-1f64).exp()).abs() < 0.0044, "{long}");
    }
}
