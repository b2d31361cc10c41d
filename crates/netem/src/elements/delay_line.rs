//! A delay line: propagation without a rate and without loss.

use std::collections::VecDeque;

use crate::elements::propagation::Propagation;
use crate::packet::{Departed, Fate, Packet};
use crate::time::Nanos;

/// A line that holds every packet as long as its [`Propagation`] says, and keeps the order.
#[derive(Debug, Clone)]
pub struct DelayLine<T> {
    propagation: Propagation,
    held: VecDeque<Held<T>>,
}

#[derive(Debug, Clone)]
struct Held<T> {
    entered: Nanos,
    leaves: Nanos,
    packet: Packet<T>,
}

impl<T> DelayLine<T> {
    /// Returns a delay line without packets.
    pub fn new(propagation: Propagation) -> Self {
        DelayLine { propagation, held: VecDeque::new() }
    }

    /// The propagation of the line.
    pub fn propagation(&self) -> &Propagation {
        &self.propagation
    }

    /// Takes a packet and returns the time when it will leave. Times must not go back.
    pub fn push(&mut self, now: Nanos, packet: Packet<T>) -> Nanos {
        let leaves = self.propagation.enter(now);
        self.held.push_back(Held { entered: now, leaves, packet });
        leaves
    }

    /// The time when the next packet leaves.
    pub fn next_event(&self) -> Option<Nanos> {
        self.held.front().map(|h| h.leaves)
    }

    /// Returns the next packet that has left by `now`; call until `None`.
    pub fn poll(&mut self, now: Nanos) -> Option<Departed<T>> {
        if self.next_event()? > now {
            return None;
        }
        let Held { entered, leaves, packet } = self.held.pop_front()?;
        Some(Departed { at: leaves, waited_ns: leaves - entered, fate: Fate::Delivered, packet })
    }

    /// Number of packets on the line.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// True when no packet is on the line.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpace_results::observer::EcnField;

    #[test]
    fn every_packet_leaves_after_the_delay_in_order() {
        let mut line = DelayLine::new(Propagation::new(1000));
        for i in 0..5u32 {
            assert_eq!(
                line.push(
                    u64::from(i) * 10,
                    Packet { flow: 0, connection: 0, bytes: 1, ecn: EcnField::NotEct, payload: i }
                ),
                u64::from(i) * 10 + 1000
            );
        }
        assert_eq!(line.next_event(), Some(1000));
        assert_eq!(line.poll(999), None);
        let left: Vec<_> = std::iter::from_fn(|| line.poll(1020)).map(|d| (d.at, d.packet.payload)).collect();
        assert_eq!(left, [(1000, 0), (1010, 1), (1020, 2)]);
        assert_eq!(line.len(), 2);
    }
}
