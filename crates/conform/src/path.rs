//! A path with one bottleneck, and the receiver behind it, which give the arrival time of the ACK for a
//! packet.
//!
//! Time inside is ns, so that the departures of packets do not add up rounding errors.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use crate::case::{Change, Lose, PathSpec, Reorder};

/// Time after which a receiver acknowledges a single packet: QUIC's default `max_ack_delay`, RFC 9000 section
/// 18.2.
const MAX_ACK_DELAY_NS: u64 = 25_000_000;
/// Nanoseconds in a second.
const SECOND_NS: u64 = 1_000_000_000;

/// A selection of each n-th packet.
#[derive(Debug, Default)]
struct Each {
    left: u64,
    every: u64,
    seen: u64,
}

impl Each {
    fn start(&mut self, count: u64, every: u64) {
        *self = Self { left: count, every: every.max(1), seen: 0 };
    }

    /// Returns whether this packet is selected.
    fn is_next(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        self.seen += 1;
        let is_it = self.seen.is_multiple_of(self.every);
        self.left -= u64::from(is_it);
        is_it
    }
}

/// A path with one bottleneck and a receiver: see the module.
#[derive(Debug, Default)]
pub(crate) struct Path {
    spec: PathSpec,
    /// Packets at the bottleneck: (packet, bytes); the first is in transmission until `departs_ns`.
    queue: VecDeque<(u64, u64)>,
    departs_ns: u64,
    /// Tokens of the policer, in 10^-9 bytes, so that a rate times ns is exact.
    tokens: u64,
    tokens_at_ns: u64,
    losing: Each,
    reordering: Each,
    delay_ns: u64,
    /// Packets that will arrive later by the delay of the reordering.
    delaying: BTreeSet<u64>,
    /// Arrivals at the receiver: (time, order, packet).
    arrivals: BinaryHeap<Reverse<(u64, u64, u64)>>,
    /// Packets that the receiver has not acknowledged, and the latest time of their ACK.
    pending: Vec<u64>,
    pending_until_ns: u64,
    /// ACKs on their way: (time, order, packets).
    acks: BinaryHeap<Reverse<(u64, u64, Vec<u64>)>>,
    last_ack_ns: u64,
    stalled_until_ns: u64,
    order: u64,
}

impl Path {
    pub(crate) fn new(spec: PathSpec) -> Self {
        let mut path = Self { spec, pending_until_ns: u64::MAX, ..Self::default() };
        path.fill_bucket(0);
        path
    }

    fn fill_bucket(&mut self, now_ns: u64) {
        self.tokens = self.spec.policer.map_or(0, |policer| policer.burst_bytes * SECOND_NS);
        self.tokens_at_ns = now_ns;
    }

    pub(crate) fn change(&mut self, now_ns: u64, change: &Change) {
        let spec = &mut self.spec;
        spec.rate_Bps = change.rate_Bps.unwrap_or(spec.rate_Bps);
        spec.rtt_us = change.rtt_us.unwrap_or(spec.rtt_us);
        spec.buffer_bytes = change.buffer_bytes.unwrap_or(spec.buffer_bytes);
        spec.ack_hold_us = change.ack_hold_us.unwrap_or(spec.ack_hold_us);
        if change.policer.is_some() {
            spec.policer = change.policer;
            self.fill_bucket(now_ns);
        }
    }

    pub(crate) fn lose(&mut self, lose: Lose) {
        self.losing.start(lose.count, lose.every);
    }

    pub(crate) fn reorder(&mut self, reorder: Reorder) {
        self.reordering.start(reorder.count, reorder.every);
        self.delay_ns = reorder.delay_us * 1000;
    }

    pub(crate) fn stall(&mut self, until_ns: u64) {
        self.stalled_until_ns = until_ns;
    }

    /// Sends a packet.
    pub(crate) fn send(&mut self, now_ns: u64, packet: u64, bytes: u64) {
        if self.losing.is_next() || self.exceeds_policer(now_ns, bytes) {
            return;
        }
        if self.reordering.is_next() {
            self.delaying.insert(packet);
        }
        let waiting_bytes: u64 = self.queue.iter().skip(1).map(|(_, bytes)| bytes).sum();
        if !self.queue.is_empty() && waiting_bytes + bytes > self.spec.buffer_bytes {
            return;
        }
        self.queue.push_back((packet, bytes));
        if self.queue.len() == 1 {
            self.start_transmission(now_ns);
        }
    }

    /// Starts the transmission of the first packet in the queue, at the present rate.
    fn start_transmission(&mut self, now_ns: u64) {
        if let Some((_, bytes)) = self.queue.front() {
            self.departs_ns = now_ns + bytes * SECOND_NS / self.spec.rate_Bps;
        }
    }

    /// Removes the first packet, which has left the bottleneck.
    fn depart(&mut self) {
        let Some((packet, _)) = self.queue.pop_front() else { return };
        let at = self.departs_ns;
        let late_ns = if self.delaying.remove(&packet) { self.delay_ns } else { 0 };
        self.arrivals.push(Reverse((at + self.spec.rtt_us * 500 + late_ns, self.order, packet)));
        self.order += 1;
        self.start_transmission(at);
    }

    fn exceeds_policer(&mut self, now_ns: u64, bytes: u64) -> bool {
        let Some(policer) = self.spec.policer else { return false };
        let gained = (now_ns - self.tokens_at_ns).saturating_mul(policer.rate_Bps);
        self.tokens_at_ns = now_ns;
        self.tokens = self.tokens.saturating_add(gained).min(policer.burst_bytes * SECOND_NS);
        let exceeds = self.tokens < bytes * SECOND_NS;
        if !exceeds {
            self.tokens -= bytes * SECOND_NS;
        }
        exceeds
    }

    /// The time of the next event on the path.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let departure = (!self.queue.is_empty()).then_some(self.departs_ns);
        let arrival = self.arrivals.peek().map(|Reverse((at, _, _))| *at);
        let pending = (!self.pending.is_empty()).then_some(self.pending_until_ns);
        let ack = self.acks.peek().map(|Reverse((at, _, _))| (*at).max(self.stalled_until_ns));
        [departure, arrival, pending, ack].into_iter().flatten().min()
    }

    /// Lets time pass up to `now_ns`, not beyond [`Path::next_ns`]; returns the packets of the ACKs that
    /// arrive then.
    pub(crate) fn advance(&mut self, now_ns: u64) -> Vec<u64> {
        while !self.queue.is_empty() && self.departs_ns <= now_ns {
            self.depart();
        }
        while let Some(Reverse((at, _, packet))) = self.arrivals.peek().copied() {
            if at > now_ns {
                break;
            }
            self.arrivals.pop();
            if self.pending.is_empty() {
                self.pending_until_ns = at + MAX_ACK_DELAY_NS;
            }
            self.pending.push(packet);
            if self.pending.len() as u64 >= self.spec.ack_every {
                self.acknowledge(at);
            }
        }
        if !self.pending.is_empty() && self.pending_until_ns <= now_ns {
            self.acknowledge(self.pending_until_ns);
        }
        let mut acked = Vec::new();
        while self.stalled_until_ns <= now_ns {
            match self.acks.peek() {
                Some(Reverse((at, _, _))) if *at <= now_ns => {}
                _ => break,
            }
            acked.extend(self.acks.pop().into_iter().flat_map(|Reverse((_, _, packets))| packets));
        }
        acked
    }

    fn acknowledge(&mut self, now_ns: u64) {
        let hold_ns = self.spec.ack_hold_us * 1000;
        let arrival_ns = now_ns + self.spec.rtt_us * 500;
        let arrival_ns = if hold_ns == 0 { arrival_ns } else { arrival_ns.next_multiple_of(hold_ns) };
        // ACKs keep their order
        self.last_ack_ns = self.last_ack_ns.max(arrival_ns);
        self.acks.push(Reverse((self.last_ack_ns, self.order, std::mem::take(&mut self.pending))));
        self.order += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Policer;

    /// A path on which a packet of 1000 bytes takes 1 ms.
    const SPEC: PathSpec = PathSpec {
        rate_Bps: 1_000_000,
        rtt_us: 10_000,
        buffer_bytes: 3_000,
        ack_every: 1,
        ack_hold_us: 0,
        policer: None,
    };

    /// Returns the arrival times of ACKs in us, with their packets.
    fn acks(path: &mut Path) -> Vec<(u64, Vec<u64>)> {
        let mut all = Vec::new();
        while let Some(at) = path.next_ns() {
            let packets = path.advance(at);
            if !packets.is_empty() {
                all.push((at / 1000, packets));
            }
        }
        all
    }

    fn sent(spec: PathSpec, prepare: impl FnOnce(&mut Path), packets: u64) -> Vec<(u64, Vec<u64>)> {
        let mut path = Path::new(spec);
        prepare(&mut path);
        (0..packets).for_each(|packet| path.send(0, packet, 1000));
        acks(&mut path)
    }

    #[test]
    fn acks_are_as_far_apart_as_the_bottleneck_takes_and_what_does_not_fit_is_dropped() {
        let all = sent(SPEC, |_| {}, 10);
        let times: Vec<u64> = all.iter().map(|(at, _)| *at).collect();
        // one in transmission, three that wait
        assert_eq!(times, [11_000, 12_000, 13_000, 14_000]);
        assert_eq!(all[3].1, [3]);
    }

    #[test]
    fn each_nth_packet_is_lost_or_overtaken() {
        let spec = PathSpec { buffer_bytes: 100_000, ..SPEC };
        let all = sent(spec, |path| path.lose(Lose { count: 2, every: 3 }), 9);
        let packets: Vec<u64> = all.into_iter().flat_map(|(_, packets)| packets).collect();
        assert_eq!(packets, [0, 1, 3, 4, 6, 7, 8]);
        let all = sent(spec, |path| path.reorder(Reorder { count: 1, every: 2, delay_us: 3500 }), 6);
        let packets: Vec<u64> = all.into_iter().flat_map(|(_, packets)| packets).collect();
        assert_eq!(packets, [0, 2, 3, 4, 1, 5]);
    }

    #[test]
    fn acks_come_together_after_two_packets_a_hold_or_a_stall() {
        assert_eq!(
            sent(PathSpec { ack_every: 2, ..SPEC }, |_| {}, 3),
            [(12_000, vec![0, 1]), (38_000, vec![2])]
        );
        let held = sent(PathSpec { ack_hold_us: 13_000, ..SPEC }, |_| {}, 4);
        assert_eq!(held, [(13_000, vec![0, 1, 2]), (26_000, vec![3])]);
        let stalled = sent(SPEC, |path| path.stall(12_500_000), 3);
        assert_eq!(stalled, [(12_500, vec![0, 1]), (13_000, vec![2])]);
    }

    #[test]
    fn a_policer_passes_its_burst_and_then_its_rate() {
        let policer = Policer { rate_Bps: 500_000, burst_bytes: 2000 };
        let mut path = Path::new(PathSpec { policer: Some(policer), buffer_bytes: 100_000, ..SPEC });
        for packet in 0..8 {
            path.send(packet * 1_000_000, packet, 1000); // at twice its rate
        }
        let packets: Vec<u64> = acks(&mut path).into_iter().flat_map(|(_, packets)| packets).collect();
        // 2000 + 500 a packet
        assert_eq!(packets, [0, 1, 2, 4, 6]);
    }
}
