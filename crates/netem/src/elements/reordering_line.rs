//! A line with jitter that reorders packets.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use fairpace_scenario::Random;

use crate::elements::jitter::Jitter;
use crate::packet::{Departed, Fate, Packet};
use crate::time::Nanos;

/// A line that delays each packet by a constant and a random time, independently of other packets. Packets
/// that leave at the same time keep their order.
#[derive(Debug, Clone)]
pub struct ReorderingLine<T> {
    delay_ns: Nanos,
    jitter: Jitter,
    random: Random,
    held: BinaryHeap<Reverse<Held<T>>>,
    /// Number of packets that have entered.
    count: u64,
}

#[derive(Debug, Clone)]
struct Held<T> {
    leaves: Nanos,
    number: u64,
    entered: Nanos,
    packet: Packet<T>,
}

impl<T> Held<T> {
    fn key(&self) -> (Nanos, u64) {
        (self.leaves, self.number)
    }
}

impl<T> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Held<T> {}

impl<T> PartialOrd for Held<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Held<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl<T> ReorderingLine<T> {
    /// Returns a line that delays by `delay_ns` with jitter.
    pub fn new(delay_ns: Nanos, jitter: Jitter, random: Random) -> Self {
        ReorderingLine { delay_ns, jitter, random, held: BinaryHeap::new(), count: 0 }
    }

    /// Takes a packet and returns the time when it will leave. Times must not go back.
    pub fn push(&mut self, now: Nanos, packet: Packet<T>) -> Nanos {
        let leaves = now.saturating_add(self.jitter.delay(self.delay_ns, &mut self.random));
        self.held.push(Reverse(Held { leaves, number: self.count, entered: now, packet }));
        self.count += 1;
        leaves
    }

    /// The time when the next packet leaves.
    #[inline]
    pub fn next_event(&self) -> Option<Nanos> {
        self.held.peek().map(|held| held.0.leaves)
    }

    /// Returns the next packet that has left by `now`; call until `None`.
    pub fn poll(&mut self, now: Nanos) -> Option<Departed<T>> {
        if self.next_event()? > now {
            return None;
        }
        let Reverse(Held { leaves, entered, packet, .. }) = self.held.pop()?;
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
    use fairpace_scenario::JitterShape;

    fn packet(seq: u64) -> Packet<u64> {
        Packet { flow: 0, connection: 0, bytes: 1, ecn: EcnField::NotEct, payload: seq }
    }

    /// Returns the packets of a line that a packet enters every `gap`: time of departure and number.
    fn exits(gap: Nanos, jitter_ns: Nanos, n: u64, seed: u64) -> Vec<(Nanos, u64)> {
        let jitter = Jitter::new(jitter_ns, JitterShape::default());
        let (mut line, mut left) = (ReorderingLine::new(1000, jitter, Random::new(seed)), Vec::new());
        for seq in 0..n {
            left.extend(std::iter::from_fn(|| line.poll(seq * gap)).map(|d| (d.at, d.packet.payload)));
            line.push(seq * gap, packet(seq));
        }
        left.extend(std::iter::from_fn(|| line.poll(Nanos::MAX)).map(|d| (d.at, d.packet.payload)));
        assert!(line.is_empty());
        left
    }

    #[test]
    fn packets_leave_in_the_order_of_their_times() {
        let left = exits(100, 5000, 10_000, 1);
        assert_eq!(left.len(), 10_000);
        assert!(left.is_sorted_by_key(|(at, _)| *at));
        assert!(left.iter().all(|(at, seq)| (1000..=6000).contains(&(at - seq * 100))));
        // Two packets d apart are swapped if the first draws more than d above the second: for uniform draws
        // up to J with probability (1 - d/J)^2 / 2. For neighbours here that is 0.480.
        let mut at = vec![0; 10_000];
        left.iter().for_each(|(t, seq)| at[*seq as usize] = *t);
        let swapped = at.windows(2).filter(|w| w[0] > w[1]).count();
        // neighbouring pairs share a packet; the standard deviation is below that of independent pairs, 50
        assert!(swapped.abs_diff(4802) < 200, "{swapped}");
    }

    #[test]
    fn the_extra_time_is_uniform() {
        let left = exits(10_000, 1000, 100_000, 2);
        let extras: Vec<u64> = left.iter().map(|(at, seq)| at - seq * 10_000 - 1000).collect();
        assert_eq!((extras.iter().min(), extras.iter().max()), (Some(&0), Some(&1000)));
        let mean = extras.iter().sum::<u64>() as f64 / 1e5;
        assert!((mean - 500.0).abs() < 4.0 * 289.0 / 316.0, "{mean}");
    }

    #[test]
    fn simultaneous_departures_keep_their_order() {
        let left = exits(0, 3, 1000, 3);
        assert!(left.is_sorted(), "by time, then by number");
        let plain = exits(7, 0, 100, 4);
        assert!((0..).zip(&plain).all(|(i, left)| *left == (i * 7 + 1000, i)));
    }

    #[test]
    fn the_seed_determines_all_times() {
        assert_eq!(exits(10, 1000, 100, 5), exits(10, 1000, 100, 5));
        assert_ne!(exits(10, 1000, 100, 5), exits(10, 1000, 100, 6));
    }
}
