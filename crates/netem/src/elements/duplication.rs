//! Duplication: some packets arrive twice (RFC 5560).

use fairpace_scenario::{Random, WHOLE_PPB};

/// An element that duplicates each packet with a constant probability, independently of other packets.
#[derive(Debug, Clone)]
pub struct Duplication {
    link: usize,
    share_ppb: u64,
    random: Random,
}

impl Duplication {
    /// Returns an element that duplicates `share_ppb` billionths of the packets that leave the link with the
    /// index `link`.
    pub fn new(link: usize, share_ppb: u64, random: Random) -> Self {
        Duplication { link, share_ppb: share_ppb.min(WHOLE_PPB), random }
    }

    /// The index of the link whose packets are duplicated.
    pub fn link(&self) -> usize {
        self.link
    }

    /// Returns whether the next packet is duplicated. Without duplication no random number is drawn.
    #[inline]
    pub fn duplicates(&mut self) -> bool {
        self.share_ppb > 0 && self.random.chance(self.share_ppb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configured_share_is_duplicated() {
        for share_ppb in [0, 10_000_000, 300_000_000, WHOLE_PPB, u64::MAX] {
            let mut line = Duplication::new(0, share_ppb, Random::new(1));
            let p = share_ppb.min(WHOLE_PPB) as f64 / 1e9;
            let doubled = (0..100_000).filter(|_| line.duplicates()).count() as f64;
            assert!((doubled - 1e5 * p).abs() <= 4.0 * (1e5 * p * (1.0 - p)).sqrt(), "{doubled} at {p}");
        }
    }
}
