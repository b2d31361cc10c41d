//! Independent random numbers for each element of a network.

use fairpace_scenario::Random;

/// The purpose of a stream of random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Loss on a link.
    LinkLoss = 1,
    /// Loss of a flow's ACKs.
    AckLoss = 2,
    /// Jitter of a flow's ACKs.
    AckJitter = 3,
    /// Choice of the packets of a flow that are delayed.
    Reordering = 4,
    /// Times when a flow's host processes ACKs.
    HostJitter = 5,
    /// Arrivals of the connections of a workload, and their sizes.
    Arrivals = 6,
    /// Jitter behind a link.
    LineJitter = 7,
    /// Choice of the packets that are duplicated.
    Duplication = 8,
    /// Drops of a queue discipline, and its hash.
    Discipline = 9,
    /// Sizes of a flow's frames.
    Frames = 10,
    /// Rates and delays of a link after its handovers.
    Handovers = 11,
    /// Loss of a flow's bursts.
    BurstLoss = 12,
    /// Rates of a cellular link.
    CellularRates = 20,
    /// Outages of a cellular link.
    CellularOutages = 21,
}

impl Purpose {
    /// Returns the generator for this purpose at the link or flow of this index. The generators of a
    /// scenario's seed are independent.
    pub fn stream(self, seed: u64, index: u32) -> Random {
        let stream = Random::new((self as u64) << 32 | u64::from(index)).next_u64();
        Random::new(Random::new(seed ^ stream).next_u64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_a_seed_differ_and_repeat() {
        let first = |seed, purpose: Purpose, index| purpose.stream(seed, index).next_u64();
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
}
