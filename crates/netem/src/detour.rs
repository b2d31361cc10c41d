//! A detour that some packets take: those behind them overtake them.

use crate::{Delay, Departed, Line, Nanos, Packet, Random};

/// Sends a share of packets over a longer way. What is on it keeps its order.
#[derive(Debug, Clone)]
pub struct Detour<T> {
    share_ppb: u64,
    random: Random,
    way: Delay<T>,
}

impl<T> Detour<T> {
    /// A way that takes `longer_ns`, for `share_ppb` billionths of the packets.
    pub fn new(share_ppb: u64, longer_ns: Nanos, random: Random) -> Self {
        Detour { share_ppb, random, way: Delay::new(Line::new(longer_ns)) }
    }

    /// Does the packet take the detour? If so, it is kept. Times must not go back.
    pub fn keeps(&mut self, now: Nanos, packet: Packet<T>) -> bool
    where
        T: Copy,
    {
        let keeps = self.random.chance(self.share_ppb);
        if keeps {
            self.way.push(now, packet);
        }
        keeps
    }

    /// When the next packet leaves.
    pub fn next_event(&self) -> Option<Nanos> {
        self.way.next_event()
    }

    /// The next packet that has left by `now`; call until `None`.
    pub fn poll(&mut self, now: Nanos) -> Option<Departed<T>> {
        self.way.poll(now)
    }

    /// Packets on it.
    pub fn len(&self) -> usize {
        self.way.len()
    }

    /// True when nothing is on it.
    pub fn is_empty(&self) -> bool {
        self.way.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;

    #[test]
    fn a_share_of_the_packets_leaves_later_and_in_order() {
        let mut detour = Detour::new(100_000_000, 50, Random::new(1));
        let (mut straight, mut late) = (0u64, Vec::new());
        for seq in 0..100_000u64 {
            late.extend(std::iter::from_fn(|| detour.poll(seq)).map(|d| (d.at, d.packet.payload)));
            straight +=
                u64::from(!detour.keeps(
                    seq,
                    Packet { flow: 0, connection: 0, bytes: 1, ecn: Ecn::NotCapable, payload: seq },
                ));
        }
        late.extend(std::iter::from_fn(|| detour.poll(Nanos::MAX)).map(|d| (d.at, d.packet.payload)));
        assert_eq!(straight + late.len() as u64, 100_000);
        assert!(late.iter().all(|(at, seq)| *at == seq + 50) && late.is_sorted());
        // a binomial's standard deviation is 95
        assert!(late.len().abs_diff(10_000) < 400, "{}", late.len());
        assert!(detour.is_empty());
    }
}
