//! The snapshots of packets in flight.
//!
//! Packets of a burst have the same snapshot but for the packets in flight, so there is one [`Snapshot`] per
//! burst: with hundreds of connections, a snapshot per packet would not fit the processor's cache. A
//! retransmission has its own.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;

use crate::prefetch;
use crate::rate::Snapshot;

/// A burst: packets that were sent together.
#[derive(Debug, Clone, Copy, Default)]
struct Burst {
    /// The first packet of the burst.
    first: u64,
    /// The snapshot of the first packet.
    snapshot: Snapshot,
}

/// The bursts in flight. The fields that a cumulative ACK reads are first.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Bursts {
    /// The oldest burst with outstanding packets. It is outside the queue since ACKs read it most often.
    oldest: Burst,
    /// The first packet of the next burst; `u64::MAX`: there is no further burst.
    next: u64,
    /// Index in `later` where the last search ended, since SACKs and loss detection proceed packet by packet.
    near: Cell<usize>,
    /// The bursts after the oldest, in order.
    later: VecDeque<Burst>,
    /// Snapshots of retransmissions, by packet number modulo the length, a power of two. Empty before the
    /// first retransmission.
    retransmissions: Vec<Snapshot>,
}

impl Default for Bursts {
    fn default() -> Self {
        Bursts {
            oldest: Burst::default(),
            next: u64::MAX,
            later: VecDeque::new(),
            near: Cell::new(0),
            retransmissions: Vec::new(),
        }
    }
}

impl Bursts {
    /// Removes all bursts, and keeps a capacity of at most `kept`.
    pub(crate) fn reset(&mut self, kept: usize) {
        self.later.clear();
        self.later.shrink_to(kept);
        *self = Bursts { later: std::mem::take(&mut self.later), ..Bursts::default() };
    }

    /// Adds a burst from packet `seq` on, which is above all packets before. `alone`: no other packet is
    /// outstanding.
    #[inline]
    pub(crate) fn send(&mut self, seq: u64, snapshot: Snapshot, alone: bool) {
        if alone {
            debug_assert!(self.later.is_empty());
            self.oldest = Burst { first: seq, snapshot };
            return;
        }
        self.next = self.next.min(seq);
        self.later.push_back(Burst { first: seq, snapshot });
        prefetch::back(&self.later);
    }

    /// Sets the snapshot of a retransmission. `room`: the capacity for outstanding packets, a power of two.
    pub(crate) fn retransmit(&mut self, seq: u64, snapshot: Snapshot, room: usize) {
        if self.retransmissions.is_empty() {
            self.retransmissions = vec![Snapshot::default(); room];
        }
        debug_assert_eq!(self.retransmissions.len(), room);
        self.retransmissions[seq as usize & (room - 1)] = snapshot;
    }

    /// Grows to a capacity of `room` packets; `outstanding` is the range of outstanding packets.
    pub(crate) fn grow(&mut self, outstanding: Range<u64>, room: usize) {
        let old = self.retransmissions.len();
        if old == 0 {
            return;
        }
        let mut retransmissions = vec![Snapshot::default(); room];
        for seq in outstanding {
            retransmissions[seq as usize & (room - 1)] = self.retransmissions[seq as usize & (old - 1)];
        }
        self.retransmissions = retransmissions;
    }

    /// Removes the bursts below `una`.
    #[inline]
    pub(crate) fn forget(&mut self, una: u64) {
        while self.next <= una {
            self.oldest = self.later.pop_front().unwrap_or_default();
            prefetch::front(&self.later);
            self.next = self.later.front().map_or(u64::MAX, |burst| burst.first);
            self.near.set(self.near.get().saturating_sub(1));
        }
    }

    /// The snapshot of packet `seq` at its first transmission. The packet must be outstanding.
    #[inline]
    pub(crate) fn sent(&self, seq: u64) -> Snapshot {
        let Burst { first, snapshot } = if seq < self.next { &self.oldest } else { self.find(seq) };
        Snapshot { inflight_pkts: snapshot.inflight_pkts + (seq - first) as u32, ..*snapshot }
    }

    fn find(&self, seq: u64) -> &Burst {
        let begins = |at: usize| self.later.get(at).map_or(u64::MAX, |burst| burst.first);
        let mut at = self.near.get();
        if seq >= begins(at + 1) {
            at += 1;
        }
        if seq < begins(at) || seq >= begins(at + 1) {
            at = self.later.partition_point(|burst| burst.first <= seq) - 1;
        }
        self.near.set(at);
        &self.later[at]
    }

    /// The snapshot of packet `seq` at its last retransmission.
    pub(crate) fn retransmission(&self, seq: u64) -> Snapshot {
        self.retransmissions[seq as usize & (self.retransmissions.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sent_us: u64) -> Snapshot {
        Snapshot { sent_us, inflight_pkts: 1, ..Snapshot::default() }
    }

    #[test]
    fn packets_of_a_burst_differ_in_the_packets_in_flight_only() {
        let mut bursts = Bursts::default();
        for (seq, sent_us) in [(0, 10), (3, 20), (4, 30), (9, 40)] {
            bursts.send(seq, at(sent_us), seq == 0);
        }
        let found: Vec<_> =
            (0..11).map(|seq| bursts.sent(seq)).map(|s| (s.sent_us, s.inflight_pkts)).collect();
        let burst = |us, pkts: u32| (1..=pkts).map(move |n| (us, n));
        let expected: Vec<_> =
            burst(10, 3).chain(burst(20, 1)).chain(burst(30, 5)).chain(burst(40, 2)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_burst_is_kept_until_its_last_packet_is_acknowledged() {
        let mut bursts = Bursts::default();
        bursts.send(0, at(10), true);
        bursts.send(4, at(20), false);
        bursts.forget(3);
        assert_eq!((bursts.sent(3).sent_us, bursts.sent(4).sent_us), (10, 20));
        bursts.forget(4);
        assert_eq!((bursts.later.len(), bursts.sent(5).sent_us), (0, 20));
    }

    #[test]
    fn a_retransmission_keeps_both_snapshots_when_the_capacity_grows() {
        let mut bursts = Bursts::default();
        bursts.send(0, at(10), true);
        bursts.retransmit(6, at(50), 8);
        bursts.retransmit(9, at(60), 8);
        bursts.grow(5..11, 16);
        assert_eq!((bursts.retransmission(6).sent_us, bursts.retransmission(9).sent_us), (50, 60));
        assert_eq!(bursts.sent(6).sent_us, 10);
    }
}
