//! ACKs on their way: queues of ACKs whose next time is known, and ACKs that are on links.

use std::collections::VecDeque;

use fairpace_netem::Nanos;
use fairpace_tcp::{Ack, Block, prefetch};

use crate::event_queue::NEVER;

/// ACKs that will reach a sender, or leave a receiver, at a known time: first in, first out.
///
/// On the fast path an ACK waits here from when its packet is sent, and there is an ACK for every other
/// packet in flight. So each ACK takes half a cache line; the SACK blocks, which few ACKs have, are kept
/// apart.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct AckQueue {
    /// Time when the first ACK is due. A copy of its field, which saves a cache miss.
    next: Nanos,
    due: VecDeque<Due>,
    /// SACK blocks of the ACKs that have any, in the order of the ACKs.
    blocks: VecDeque<[Block; 3]>,
}

#[derive(Debug, Clone, Copy)]
struct Due {
    at: Nanos,
    next: u64,
    echo_ms: u32,
    sent_ms: u32,
    rwnd_pkts: u32,
    window: u8,
    ce_pkts: u16,
    flags: Flags,
}

/// The flags of an ACK, in one byte.
#[derive(Debug, Clone, Copy)]
struct Flags(u8);

impl Flags {
    // One bit each: a SYN-ACK; ECE; SACK blocks are kept for it.
    const SYN: u8 = 1;
    const ECE: u8 = 2;
    const BLOCKS: u8 = 4;

    #[inline]
    fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

const _: () = assert!(size_of::<Due>() == 32);

impl Default for AckQueue {
    fn default() -> Self {
        AckQueue { next: NEVER, due: VecDeque::new(), blocks: VecDeque::new() }
    }
}

impl AckQueue {
    /// Adds an ACK that is due at `at`, not before the ACKs in the queue.
    #[inline(always)] // see docs/decisions/0005-segments-in-registers.md
    pub(crate) fn push(&mut self, at: Nanos, ack: &Ack) {
        let Ack { next, echo_ms, sent_ms, rwnd_pkts, window, syn, ece, ce_pkts, blocks } = *ack;
        let has_blocks = !blocks[0].is_empty();
        if has_blocks {
            self.blocks.push_back(blocks);
        }
        if self.due.is_empty() {
            self.next = at;
        }
        let bit = |is: bool, bit| if is { bit } else { 0 };
        let flags = bit(syn, Flags::SYN) | bit(ece, Flags::ECE) | bit(has_blocks, Flags::BLOCKS);
        self.due.push_back(Due {
            at,
            next,
            echo_ms,
            sent_ms,
            rwnd_pkts,
            window,
            ce_pkts,
            flags: Flags(flags),
        });
        prefetch::back(&self.due);
    }

    /// The time when the first ACK is due; [`NEVER`] if the queue is empty.
    #[inline]
    pub(crate) fn next_event(&self) -> Nanos {
        self.next
    }

    /// Removes the first ACK, if it is due by `now`, and returns it with its time.
    #[inline]
    pub(crate) fn pop(&mut self, now: Nanos) -> Option<(Nanos, Ack)> {
        if self.next > now {
            return None;
        }
        let Due { at, next, echo_ms, sent_ms, rwnd_pkts, window, ce_pkts, flags } = self.due.pop_front()?;
        self.next = self.due.front().map_or(NEVER, |due| due.at);
        prefetch::front(&self.due);
        let blocks = if flags.has(Flags::BLOCKS) { self.blocks.pop_front() } else { None };
        let blocks = blocks.unwrap_or([Block::NONE; 3]);
        let (syn, ece) = (flags.has(Flags::SYN), flags.has(Flags::ECE));
        Some((at, Ack { next, echo_ms, sent_ms, rwnd_pkts, window, syn, ece, ce_pkts, blocks }))
    }

    /// Discards all ACKs.
    pub(crate) fn clear(&mut self) {
        self.next = NEVER;
        self.due.clear();
        self.blocks.clear();
    }
}

/// ACKs that are on links, by number: only the number travels. ACKs of a connection that is over stay until
/// they are off the links, so that an observer of the links gets them.
#[derive(Debug, Default)]
pub(crate) struct AcksInTransit {
    first: u64,
    acks: VecDeque<AckInTransit>,
}

#[derive(Debug)]
struct AckInTransit {
    ack: Ack,
    /// Number of copies on links: more than one after a duplication. At 0 the ACK can be removed.
    copies: u32,
    has_arrived: bool,
}

impl AcksInTransit {
    /// Adds an ACK and returns its number.
    pub(crate) fn insert(&mut self, ack: Ack) -> u64 {
        self.acks.push_back(AckInTransit { ack, copies: 1, has_arrived: false });
        self.first + self.acks.len() as u64 - 1
    }

    /// The ACK of this number.
    pub(crate) fn get(&self, number: u64) -> Option<&Ack> {
        self.acks.get(number.checked_sub(self.first)? as usize).map(|in_transit| &in_transit.ack)
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut AckInTransit> {
        self.acks.get_mut(number.checked_sub(self.first)? as usize)
    }

    /// Records that a copy of an ACK arrives. Returns the ACK if this copy is the first.
    pub(crate) fn arrive(&mut self, number: u64) -> Option<Ack> {
        let in_transit = self.get_mut(number)?;
        let is_first = !std::mem::replace(&mut in_transit.has_arrived, true);
        is_first.then_some(in_transit.ack)
    }

    /// Records that a link duplicates an ACK.
    pub(crate) fn duplicate(&mut self, number: u64) {
        if let Some(in_transit) = self.get_mut(number) {
            in_transit.copies += 1;
        }
    }

    /// Records that a copy of an ACK is off the links.
    pub(crate) fn remove(&mut self, number: u64) {
        if let Some(in_transit) = self.get_mut(number) {
            in_transit.copies = in_transit.copies.saturating_sub(1);
        }
        while self.acks.front().is_some_and(|in_transit| in_transit.copies == 0) {
            self.acks.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acks_leave_in_order_and_when_due() {
        let block = |start| Block { start, end: start + 2 };
        let sack = |next, start| Ack {
            next,
            ece: true,
            rwnd_pkts: 7,
            window: 8,
            ce_pkts: 65_535,
            blocks: [block(start), Block::NONE, Block::NONE],
            ..Ack::default()
        };
        let all =
            [Ack { syn: true, ..Ack::default() }, sack(5, 9), Ack { next: 6, ..Ack::default() }, sack(6, 20)];
        let mut acks = AckQueue::default();
        assert_eq!((acks.next_event(), acks.pop(NEVER)), (NEVER, None));
        for (i, ack) in (0..).zip(&all) {
            acks.push(10 * i, ack);
        }
        assert_eq!(acks.pop(15), Some((0, all[0])));
        assert_eq!(acks.pop(15), Some((10, all[1])));
        assert_eq!((acks.next_event(), acks.pop(15)), (20, None));
        assert_eq!(acks.pop(20), Some((20, all[2])));
        assert_eq!(acks.pop(30), Some((30, all[3])));
        assert!(acks.due.is_empty() && acks.blocks.is_empty());
    }
}
