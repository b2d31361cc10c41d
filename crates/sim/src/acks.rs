//! ACKs that are about to reach a sender, or to leave a receiver: first in, first out.

use std::collections::VecDeque;

use fairpace_netem::Nanos;
use fairpace_tcp::{Ack, Block, prefetch};

use crate::queue::NEVER;

/// On a prompt link an ACK waits here from when the packet is sent until the ACK arrives, and there is one for every other packet in
/// flight. So it takes half a cache line; the SACK blocks that few ACKs have are elsewhere.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Acks {
    /// When the first is due: here, as what follows hangs on it and should not wait until that one has been fetched.
    next: Nanos,
    due: VecDeque<Due>,
    /// Of those that have any, in the same order.
    blocks: VecDeque<[Block; 3]>,
}

#[derive(Debug, Clone, Copy)]
struct Due {
    at: Nanos,
    next: u64,
    echo_ms: u32,
    sent_ms: u32,
    rwnd_pkts: u32,
    syn: bool,
    ece: bool,
    has_blocks: bool,
}

const _: () = assert!(size_of::<Due>() == 32);

impl Default for Acks {
    fn default() -> Self {
        Acks { next: NEVER, due: VecDeque::new(), blocks: VecDeque::new() }
    }
}

impl Acks {
    #[inline(always)] // see `Uplink::send`
    pub(crate) fn push(&mut self, at: Nanos, ack: &Ack) {
        let Ack { next, echo_ms, sent_ms, rwnd_pkts, syn, ece, blocks } = *ack;
        let has_blocks = !blocks[0].is_empty();
        if has_blocks {
            self.blocks.push_back(blocks);
        }
        if self.due.is_empty() {
            self.next = at;
        }
        self.due.push_back(Due { at, next, echo_ms, sent_ms, rwnd_pkts, syn, ece, has_blocks });
        prefetch::back(&self.due);
    }

    /// When the first is due; never, if there is none.
    #[inline]
    pub(crate) fn next_event(&self) -> Nanos {
        self.next
    }

    /// The first, if it is due by `now`, and when it was.
    #[inline]
    pub(crate) fn pop(&mut self, now: Nanos) -> Option<(Nanos, Ack)> {
        if self.next > now {
            return None;
        }
        let Due { at, next, echo_ms, sent_ms, rwnd_pkts, syn, ece, has_blocks } = self.due.pop_front()?;
        self.next = self.due.front().map_or(NEVER, |due| due.at);
        prefetch::front(&self.due);
        let blocks = if has_blocks { self.blocks.pop_front() } else { None };
        let blocks = blocks.unwrap_or([Block::NONE; 3]);
        Some((at, Ack { next, echo_ms, sent_ms, rwnd_pkts, syn, ece, blocks }))
    }

    pub(crate) fn clear(&mut self) {
        self.next = NEVER;
        self.due.clear();
        self.blocks.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acks_come_out_as_they_went_in_and_not_before_their_time() {
        let block = |start| Block { start, end: start + 2 };
        let sack = |next, start| Ack {
            next,
            ece: true,
            rwnd_pkts: 7,
            blocks: [block(start), Block::NONE, Block::NONE],
            ..Ack::default()
        };
        let all =
            [Ack { syn: true, ..Ack::default() }, sack(5, 9), Ack { next: 6, ..Ack::default() }, sack(6, 20)];
        let mut acks = Acks::default();
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
