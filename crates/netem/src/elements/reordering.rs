//! Reordering: some packets are delayed, and those behind them overtake them (RFC 4737).

use fairpace_scenario::Random;

use crate::elements::delay_line::DelayLine;
use crate::elements::propagation::Propagation;
use crate::packet::{Departed, Packet};
use crate::time::Nanos;

/// An element that delays a share of the packets by a constant time. The delayed packets keep their order.
#[derive(Debug, Clone)]
pub struct Reordering<T> {
    share_ppb: u64,
    random: Random,
    line: DelayLine<T>,
}

impl<T> Reordering<T> {
    /// Returns an element that delays `share_ppb` billionths of the packets by `delay_ns`.
    pub fn new(share_ppb: u64, delay_ns: Nanos, random: Random) -> Self {
        Reordering { share_ppb, random, line: DelayLine::new(Propagation::new(delay_ns)) }
    }

    /// Delays a packet, or gives it back at once. Times must not go back.
    ///
    /// # Errors
    /// The packet itself, when it is not delayed.
    pub fn push(&mut self, now: Nanos, packet: Packet<T>) -> Result<(), Packet<T>> {
        if !self.random.chance(self.share_ppb) {
            return Err(packet);
        }
        self.line.push(now, packet);
        Ok(())
    }

    /// The time when the next packet leaves.
    pub fn next_event(&self) -> Option<Nanos> {
        self.line.next_event()
    }

    /// Returns the next packet that has left by `now`; call until `None`.
    pub fn poll(&mut self, now: Nanos) -> Option<Departed<T>> {
        self.line.poll(now)
    }

    /// Number of delayed packets that have not left.
    pub fn len(&self) -> usize {
        self.line.len()
    }

    /// True when there are no delayed packets.
    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpace_results::observer::EcnField;

    #[test]
    fn a_share_of_the_packets_leaves_later_and_in_order() {
        let mut reordering = Reordering::new(100_000_000, 50, Random::new(1));
        let (mut straight, mut late) = (0u64, Vec::new());
        for seq in 0..100_000u64 {
            late.extend(std::iter::from_fn(|| reordering.poll(seq)).map(|d| (d.at, d.packet.payload)));
            let packet = Packet { flow: 0, connection: 0, bytes: 1, ecn: EcnField::NotEct, payload: seq };
            straight += u64::from(reordering.push(seq, packet).is_err());
        }
        late.extend(std::iter::from_fn(|| reordering.poll(Nanos::MAX)).map(|d| (d.at, d.packet.payload)));
        assert_eq!(straight + late.len() as u64, 100_000);
        assert!(late.iter().all(|(at, seq)| *at == seq + 50) && late.is_sorted());
        // a binomial's standard deviation is 95
        assert!(late.len().abs_diff(10_000) < 400, "{}", late.len());
        assert!(reordering.is_empty());
    }
}
