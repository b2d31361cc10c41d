//! Internal: only Fairpace's own crates use it. Helpers for tests of several crates: skipping with a message,
//! one test at a time, and random numbers from a seed.
//!
//! Without features it has no dependencies, and it uses no crate of the workspace, so that every crate can
//! use it in its tests. Helpers that only one crate needs (scripts of ACKs, made-up runs, a place to run the
//! program in) are in that crate's `tests/all/support`.

#![forbid(unsafe_code)]

#[cfg(feature = "folder")]
mod folder;
mod program;

#[cfg(feature = "folder")]
pub use folder::{Folder, TWO_FLOWS};
pub use program::is_in_program;

use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Environment variable: with the value 1, a test that would be skipped fails, as in CI, which has a kernel.
pub const REQUIRE_KERNEL: &str = "FAIRPACE_REQUIRE_KERNEL";

/// Reports that the running test is skipped, and the reason.
///
/// # Panics
/// The environment requires a kernel: see [`REQUIRE_KERNEL`].
pub fn skip(why: &str) {
    let required = std::env::var_os(REQUIRE_KERNEL).is_some_and(|value| value == "1");
    assert!(!required, "{REQUIRE_KERNEL}=1, but {why}");
    announce("SKIPPED", why);
}

/// Writes `WHAT: TEST: WHY` straight to standard error: the test harness hides what `eprintln!` writes in a
/// test that passes.
pub fn announce(what: &str, why: &str) {
    let thread = std::thread::current();
    let _ = writeln!(std::io::stderr(), "{what}: {}: {why}", thread.name().unwrap_or("test"));
}

/// Lets one test of a process run at a time, for as long as the guard lives. Runs in real time disturb each
/// other.
pub fn exclusive() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    // a test that failed leaves nothing behind that the next one could mistake
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Random numbers by SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
/// OOPSLA 2014): equal seeds give equal numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Returns the generator of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 on, less than 1.
    pub fn unit(&mut self) -> f64 {
        // the mantissa of an f64 has 53 bits
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number from `least` to `most`, both included.
    pub fn between(&mut self, least: u32, most: u32) -> u32 {
        least + (self.bits() % (u64::from(most - least) + 1)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the first numbers of the reference implementation for the seed 1234567.
    #[test]
    fn random_bits_are_those_of_splitmix64() {
        let mut random = Random::new(1_234_567);
        assert_eq!([random.bits(), random.bits()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn random_numbers_stay_in_their_range_and_reach_its_ends() {
        let mut random = Random::new(1);
        let drawn: Vec<u32> = (0..1_000).map(|_| random.between(3, 5)).collect();
        assert!((3..=5).all(|n| drawn.contains(&n)) && drawn.iter().all(|n| (3..=5).contains(n)));
        assert!((0..1_000).map(|_| random.unit()).all(|u| (0.0..1.0).contains(&u)));
    }
}
