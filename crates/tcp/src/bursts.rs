//! What each packet in flight remembers of when it was last sent.
//!
//! Packets that left together remember the same but for their number, so a burst takes one [`Snapshot`] and not one per
//! packet: of hundreds of flows, those in flight would not fit a processor's cache. A packet sent again has its own.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;

use crate::prefetch;
use crate::rate::Snapshot;

/// What an ACK of the oldest packets asks for comes first.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Bursts {
    /// The oldest burst of which packets are outstanding: the number of its first packet, and what that packet remembers. ACKs
    /// ask for it most, so it is at hand.
    oldest: (u64, Snapshot),
    /// The first packet of the burst after that; `u64::MAX`: there is none.
    next: u64,
    /// Where the last search ended in `later`: SACKs and loss detection go up packet by packet.
    near: Cell<usize>,
    /// The bursts after the oldest, in order.
    later: VecDeque<(u64, Snapshot)>,
    /// Of packets sent again, by number modulo the length, a power of two. Empty until one is.
    again: Vec<Snapshot>,
}

impl Default for Bursts {
    fn default() -> Self {
        Bursts {
            oldest: (0, Snapshot::default()),
            next: u64::MAX,
            later: VecDeque::new(),
            near: Cell::new(0),
            again: Vec::new(),
        }
    }
}

impl Bursts {
    /// Becomes empty and keeps room for so many bursts at most.
    pub(crate) fn reset(&mut self, kept: usize) {
        self.later.clear();
        self.later.shrink_to(kept);
        *self = Bursts { later: std::mem::take(&mut self.later), ..Bursts::default() };
    }

    /// A burst leaves, from packet `seq` on; its number is above all others, which are done with when it is `alone`.
    #[inline]
    pub(crate) fn send(&mut self, seq: u64, snapshot: Snapshot, alone: bool) {
        if alone {
            debug_assert!(self.later.is_empty());
            self.oldest = (seq, snapshot);
            return;
        }
        self.next = self.next.min(seq);
        self.later.push_back((seq, snapshot));
        prefetch::back(&self.later);
    }

    /// Packet `seq` leaves again, of up to `room` that may be outstanding, a power of two.
    pub(crate) fn resend(&mut self, seq: u64, snapshot: Snapshot, room: usize) {
        if self.again.is_empty() {
            self.again = vec![Snapshot::default(); room];
        }
        debug_assert_eq!(self.again.len(), room);
        self.again[seq as usize & (room - 1)] = snapshot;
    }

    /// There will be up to `room` outstanding; `outstanding` are.
    pub(crate) fn grow(&mut self, outstanding: Range<u64>, room: usize) {
        let old = self.again.len();
        if old == 0 {
            return;
        }
        let mut again = vec![Snapshot::default(); room];
        for seq in outstanding {
            again[seq as usize & (room - 1)] = self.again[seq as usize & (old - 1)];
        }
        self.again = again;
    }

    /// Nothing below `una` matters any more.
    #[inline]
    pub(crate) fn forget(&mut self, una: u64) {
        while self.next <= una {
            self.oldest = self.later.pop_front().unwrap_or_default();
            prefetch::front(&self.later);
            self.next = self.later.front().map_or(u64::MAX, |(seq, _)| *seq);
            self.near.set(self.near.get().saturating_sub(1));
        }
    }

    /// What packet `seq` remembers of its first transmission. It must not be forgotten.
    #[inline]
    pub(crate) fn sent(&self, seq: u64) -> Snapshot {
        let (first, snapshot) = if seq < self.next { &self.oldest } else { self.find(seq) };
        Snapshot { inflight_pkts: snapshot.inflight_pkts + (seq - first) as u32, ..*snapshot }
    }

    fn find(&self, seq: u64) -> &(u64, Snapshot) {
        let begins = |at: usize| self.later.get(at).map_or(u64::MAX, |(first, _)| *first);
        let mut at = self.near.get();
        if seq >= begins(at + 1) {
            at += 1;
        }
        if seq < begins(at) || seq >= begins(at + 1) {
            at = self.later.partition_point(|(first, _)| *first <= seq) - 1;
        }
        self.near.set(at);
        &self.later[at]
    }

    /// What it remembers of when it was last sent again.
    pub(crate) fn sent_again(&self, seq: u64) -> Snapshot {
        self.again[seq as usize & (self.again.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sent_us: u64) -> Snapshot {
        Snapshot { sent_us, inflight_pkts: 1, ..Snapshot::default() }
    }

    #[test]
    fn packets_of_a_burst_remember_the_same_but_for_their_number() {
        let mut bursts = Bursts::default();
        for (seq, sent_us) in [(0, 10), (3, 20), (4, 30), (9, 40)] {
            bursts.send(seq, at(sent_us), seq == 0);
        }
        let told: Vec<_> =
            (0..11).map(|seq| bursts.sent(seq)).map(|s| (s.sent_us, s.inflight_pkts)).collect();
        let burst = |us, pkts: u32| (1..=pkts).map(move |n| (us, n));
        let expected: Vec<_> =
            burst(10, 3).chain(burst(20, 1)).chain(burst(30, 5)).chain(burst(40, 2)).collect();
        assert_eq!(told, expected);
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
    fn what_was_sent_again_keeps_both_and_moves_when_there_is_more_room() {
        let mut bursts = Bursts::default();
        bursts.send(0, at(10), true);
        bursts.resend(6, at(50), 8);
        bursts.resend(9, at(60), 8);
        bursts.grow(5..11, 16);
        assert_eq!((bursts.sent_again(6).sent_us, bursts.sent_again(9).sent_us), (50, 60));
        assert_eq!(bursts.sent(6).sent_us, 10);
    }
}
