//! Random choices from a seed.

use std::time::Duration;

use fairpace_scenario::Random;

/// The choices of one invocation. They depend only on its seed, class and index.
pub(super) struct Dice(Random);

impl Dice {
    pub(super) fn new(seed: u64, class: u64, index: u64) -> Self {
        let of_class = Random::new(seed ^ Random::new(class).next_u64()).next_u64();
        Self(Random::new(of_class ^ Random::new(index).next_u64()))
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0.below(n as u64) as usize
    }

    /// A number from `least` to `most`.
    pub(super) fn within(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    /// An item of a list.
    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// True in this percentage of all cases.
    pub(super) fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    /// A time between two numbers of milliseconds.
    pub(super) fn ms(&mut self, least: usize, most: usize) -> Duration {
        Duration::from_millis(self.within(least, most) as u64)
    }
}
