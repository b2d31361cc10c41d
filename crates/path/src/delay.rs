//! A line of constant delay: propagation without a rate and without loss.

use std::collections::VecDeque;

use crate::{Departed, Nanos, Packet};

/// Holds every packet for the same time, in order.
#[derive(Debug, Clone)]
pub struct Delay<T> {
    delay_ns: Nanos,
    line: VecDeque<(Nanos, Packet<T>)>,
}

impl<T> Delay<T> {
    /// A line that delays by `delay_ns`.
    pub fn new(delay_ns: Nanos) -> Self {
        Delay { delay_ns, line: VecDeque::new() }
    }

    /// Takes a packet and says when it will leave.
    pub fn push(&mut self, now: Nanos, packet: Packet<T>) -> Nanos {
        let at = now + self.delay_ns;
        debug_assert!(self.line.back().is_none_or(|(last, _)| *last <= at), "time went back");
        self.line.push_back((at, packet));
        at
    }

    /// When the next packet leaves.
    pub fn next_event(&self) -> Option<Nanos> {
        self.line.front().map(|(at, _)| *at)
    }

    /// The next packet that has left by `now`; call until `None`.
    pub fn poll(&mut self, now: Nanos) -> Option<Departed<T>> {
        if self.next_event()? > now {
            return None;
        }
        let (at, packet) = self.line.pop_front()?;
        Some(Departed { at, waited_ns: self.delay_ns, packet })
    }

    /// Packets on the line.
    pub fn len(&self) -> usize {
        self.line.len()
    }

    /// True when nothing is on the line.
    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_leaves_after_the_delay_in_order() {
        let mut line = Delay::new(1000);
        for i in 0..5u32 {
            assert_eq!(
                line.push(u64::from(i) * 10, Packet { flow: 0, bytes: 1, payload: i }),
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
