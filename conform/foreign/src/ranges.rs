//! Packet numbers of messages.

use fairpace_conform::protocol::Range;

/// All numbers of ascending ranges.
pub fn numbers(ranges: &[Range]) -> impl Iterator<Item = u64> {
    ranges.iter().flat_map(|[first, last]| *first..=*last)
}

/// All numbers of both, ascending.
pub fn merged(some: &[Range], others: &[Range]) -> Vec<u64> {
    let mut all: Vec<u64> = numbers(some).chain(numbers(others)).collect();
    all.sort_unstable();
    all
}
