//! Random numbers from a seed: the same seed gives the same numbers on every machine.

use crate::quantity::WHOLE_PPB;

/// Increment of the state: 2^64 over the golden ratio, made odd (SplitMix64).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generator of random numbers: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Returns the generator of a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns the upper 32 of 64 random bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// Returns a number, uniform in `0..n`; 0 for `n` = 0. The bias is below n / 2^64.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Returns a number, uniform in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns true with a probability of `ppb` billionths.
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
