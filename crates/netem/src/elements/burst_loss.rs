//! Loss of whole TSO bursts, as by the queue of a network card that drops an skb.

use fairpace_scenario::Random;

use crate::time::Nanos;

/// Most bytes of a burst on the wire: an skb of Linux has up to 64 KiB less 321 bytes for headers
/// (GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER), which is 45 segments of 1448 bytes. On the wire each of them
/// has headers of 66 bytes.
const BURST_MAX_BYTES: u64 = 65_215 + 45 * 66;

/// An element that loses a share of a flow's bursts. Packets of one connection that come one after the other
/// at one time are a burst.
#[derive(Debug, Clone)]
pub struct BurstLoss {
    ppb: u64,
    /// Time and connection of the burst.
    burst: Option<(Nanos, u32)>,
    /// Bytes of the burst so far.
    bytes: u64,
    is_lost: bool,
    random: Random,
}

impl BurstLoss {
    /// Returns an element that loses `ppb` billionths of the bursts.
    pub fn new(ppb: u64, random: Random) -> Self {
        BurstLoss { ppb, burst: None, bytes: 0, is_lost: false, random }
    }

    /// Returns whether a packet that comes at `now` is lost.
    pub fn loses(&mut self, now: Nanos, connection: u32, bytes: u32) -> bool {
        self.bytes += u64::from(bytes);
        if self.burst != Some((now, connection)) || self.bytes > BURST_MAX_BYTES {
            (self.burst, self.bytes) = (Some((now, connection)), bytes.into());
            self.is_lost = self.random.chance(self.ppb);
        }
        self.is_lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packets_of_a_burst_have_one_fate() {
        let mut loss = BurstLoss::new(300_000_000, Random::new(1));
        let mut lost = 0;
        for burst in 0..10_000 {
            let fates: Vec<bool> = (0..45).map(|_| loss.loses(burst, 0, 1514)).collect();
            assert!(fates.iter().all(|fate| *fate == fates[0]), "45 full packets are one burst");
            lost += u64::from(fates[0]);
        }
        // a binomial's standard deviation is 46
        assert!(lost.abs_diff(3_000) < 184, "{lost}");
    }

    #[test]
    fn a_burst_ends_with_its_time_its_connection_and_its_64_kilobytes() {
        // every second burst of these seeds differs from the one before: count the draws by the changes of
        // fate
        let bursts = |packets: &mut dyn Iterator<Item = (Nanos, u32)>| {
            let mut loss = BurstLoss::new(500_000_000, Random::new(5));
            let mut same = Random::new(5);
            let fates: Vec<bool> = packets.map(|(at, connection)| loss.loses(at, connection, 1514)).collect();
            let mut drawn = vec![same.chance(500_000_000)];
            while drawn.len() < 3 {
                drawn.push(same.chance(500_000_000));
            }
            (fates, drawn)
        };
        let (fates, drawn) = bursts(&mut (0..90).map(|_| (7, 0)));
        assert!(fates[..45].iter().all(|f| *f == drawn[0]) && fates[45..].iter().all(|f| *f == drawn[1]));
        let (fates, drawn) = bursts(&mut [(7, 0), (7, 1), (8, 1)].into_iter());
        assert_eq!(fates, drawn);
    }
}
