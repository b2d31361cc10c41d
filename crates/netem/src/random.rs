//! Seeded randomness: the same seed and stream give the same numbers on every machine.

/// Parts in a whole: shares are in billionths.
pub(crate) const WHOLE_PPB: u64 = 1_000_000_000;

/// Increment of the state: 2^64 over the golden ratio, made odd (SplitMix64).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

/// What a stream of random numbers is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Loss on a link.
    LinkLoss = 1,
    /// Loss of a flow's ACKs.
    AckLoss = 2,
    /// Jitter of a flow's ACKs.
    AckJitter = 3,
    /// Which packets of a flow are delayed.
    Reordering = 4,
    /// When a flow's host processes an ACK.
    HostJitter = 5,
    /// When connections of a workload arrive, and their sizes.
    Arrivals = 6,
    /// Jitter behind a link.
    LineJitter = 7,
    /// Which packets are duplicated.
    Duplication = 8,
    /// Drops of a queue discipline, and its hash.
    Discipline = 9,
    /// Sizes of a flow's frames.
    Frames = 10,
    /// Rates and delays of a link after its handovers.
    Handovers = 11,
}

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// One of many independent generators of a seed: for a purpose at the link or flow of this index.
    pub fn stream(seed: u64, purpose: Purpose, index: u32) -> Self {
        let stream = Random((purpose as u64) << 32 | u64::from(index)).next_u64();
        Random(Random(seed ^ stream).next_u64())
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The upper 32 of 64 random bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// Uniform in `0..n`; 0 for `n` = 0. The bias is below n / 2^64.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with a probability of `ppb` billionths.
    #[inline]
    pub fn chance(&mut self, ppb: u64) -> bool {
        self.below(WHOLE_PPB) < ppb
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // first outputs for seed 1234567, as printed by the reference implementation
        let mut r = Random::new(1_234_567);
        assert_eq!(
            [r.next_u64(), r.next_u64(), r.next_u64()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn streams_of_a_seed_differ_and_repeat() {
        let first = |seed, purpose, index| Random::stream(seed, purpose, index).next_u64();
        let of_seed = |seed| {
            let purposes = [Purpose::LinkLoss, Purpose::AckLoss].into_iter();
            purposes.flat_map(move |purpose| (0..50).map(move |index| first(seed, purpose, index)))
        };
        let mut all: Vec<u64> = (0..50).flat_map(of_seed).collect();
        assert_eq!(all, (0..50).flat_map(of_seed).collect::<Vec<_>>());
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 5000);
    }

    #[test]
    fn draws_are_uniform() {
        let (mut r, mut seen) = (Random::new(3), [0u32; 7]);
        for _ in 0..70_000 {
            seen[r.below(7) as usize] += 1;
        }
        // a binomial's standard deviation is 93
        assert!(seen.iter().all(|n| n.abs_diff(10_000) < 400), "{seen:?}");
        assert_eq!(r.below(0), 0);
        assert!(r.below(1) == 0 && !r.chance(0) && r.chance(WHOLE_PPB));
    }
}
