//! The receiving end: reassembly here, ACKs in `acks.rs`, the window that they advertise in `window.rs`, packets that
//! are received as one in `merge.rs` (Linux: tcp_input.c, tcp_offload.c).

mod acks;
mod blocks;
mod merge;
#[cfg(test)]
mod tests;
mod window;

use crate::bits::Bits;
use crate::config::ReceiverConfig;
use crate::wire::AckWire;
use crate::{Block, Nanos, Segment};
use acks::Acks;
use blocks::Blocks;
use merge::Aggregate;
use window::ReceiveWindow;

/// A change beyond so many blocks ends the compression of SACKs, Linux's TCP_SACK_BLOCKS_EXPECTED.
const BLOCKS_EXPECTED: usize = 2;
/// Room for packets out of order that a receiver keeps from one flow to the next.
const KEPT_PKTS: u64 = 1024;

/// A receiver whose application reads at once. What a segment in order asks for comes first.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Receiver {
    next: u64,
    /// Nothing but delayed ACKs is to be thought of: no GRO, ECN or tuning, nothing out of order, no ACK held back.
    plain: bool,
    acks: Acks,
    /// What GRO holds.
    held: Aggregate,
    window: ReceiveWindow,
    config: ReceiverConfig,
    duplicate: Option<Block>,
    early_end: u64,
    early_pkts: u64,
    /// Packets beyond `next` that have arrived, up to `early_end`.
    early: Bits,
    blocks: Blocks,
}

impl Receiver {
    /// A receiver that waits for packet 0. It allocates nothing before packets arrive out of order.
    pub fn new(config: ReceiverConfig) -> Self {
        Receiver::with_room(config, Bits::default())
    }

    fn with_room(config: ReceiverConfig, early: Bits) -> Self {
        let ack_every = if config.delayed_ack { config.ack_every.max(1) } else { 1 };
        Receiver {
            window: ReceiveWindow::new(config.window),
            config: ReceiverConfig { ack_every, ..config },
            next: 0,
            early,
            early_end: 0,
            early_pkts: 0,
            blocks: Blocks::default(),
            duplicate: None,
            acks: Acks::default(),
            held: Aggregate::NONE,
            plain: false,
        }
    }

    /// Becomes what [`Receiver::new`] would make, and keeps the memory that it has, within bounds.
    pub fn reset(&mut self, config: ReceiverConfig) {
        let mut early = std::mem::take(&mut self.early);
        early.reset(KEPT_PKTS);
        *self = Receiver::with_room(config, early);
    }

    /// Next packet in order: everything below has been delivered to the application.
    pub fn rcv_nxt(&self) -> u64 {
        self.next
    }

    /// When [`Receiver::on_timer`] wants to be called.
    #[inline]
    pub fn next_timer(&self) -> Option<Nanos> {
        let next = self.acks.next_timer().min(self.held.until);
        (next != Nanos::MAX).then_some(next)
    }

    /// Does what is due: what GRO held is received, ACKs that were delayed leave. Returns how many packets became
    /// available to the application.
    pub fn on_timer(&mut self, now: Nanos, wire: &mut impl AckWire) -> u64 {
        let mut available = 0;
        if self.held.until <= now {
            available = self.receive_held(now, wire);
        }
        if self.acks.on_timer(now) {
            self.send_ack(now, wire);
        }
        available
    }

    /// A segment arrived. Returns how many packets became available to the application, in order.
    #[inline]
    pub fn on_segment(&mut self, now: Nanos, segment: Segment, wire: &mut impl AckWire) -> u64 {
        if self.plain && segment.seq == self.next {
            self.acks.note_timestamp(&segment);
            self.next += 1;
            self.acknowledge_plainly(now, wire);
            return 1;
        }
        let available = match self.config.gro_ns {
            0 => self.receive(now, &segment, 1, wire),
            _ => self.merge(now, segment, wire),
        };
        self.plain = self.early_pkts == 0 && self.duplicate.is_none() && self.is_plain_host();
        available
    }

    fn is_plain_host(&self) -> bool {
        self.config.gro_ns == 0 && !self.config.delays_acks() && !self.acks.ecn && !self.window.is_tuned()
    }

    /// `pkts` packets from `segment` on are received as one.
    #[inline(never)]
    fn receive(&mut self, now: Nanos, segment: &Segment, pkts: u64, wire: &mut impl AckWire) -> u64 {
        if segment.seq == Segment::SYN {
            self.answer_syn(now, segment, wire);
            return 0;
        }
        self.acks.note_timestamp(segment);
        let mut at_once = self.acks.ecn && self.take_mark(now, segment, wire);
        let before = self.next;
        if segment.seq == self.next && self.early_pkts == 0 {
            self.next += pkts;
        } else {
            at_once |= self.on_disorder(segment.seq..segment.seq + pkts);
        }
        let early = if self.early_pkts > 0 { self.early_end - self.next } else { 0 };
        self.window.on_data(now, segment, pkts, (before, self.next), early);
        self.acknowledge(now, at_once, wire);
        self.next - before
    }

    /// Returns whether an ACK must go at once.
    #[cold]
    fn on_disorder(&mut self, pkts: std::ops::Range<u64>) -> bool {
        let mut at_once = false;
        let mut duplicate: Option<Block> = None;
        for seq in pkts {
            if seq < self.next || (seq < self.early_end && self.early.get(seq)) {
                duplicate = Some(Block { start: duplicate.map_or(seq, |b| b.start), end: seq + 1 });
                if seq < self.next {
                    self.acks.be_quick(); // a needless retransmission: tell at once, and be quick for a while
                    at_once = true;
                }
            } else if seq == self.next {
                self.advance();
                at_once |= self.early_pkts == 0; // a hole was filled: RFC 5681 section 4.2
            } else {
                at_once |= self.store_early(seq);
            }
        }
        if self.config.sack && duplicate.is_some() {
            self.duplicate = duplicate;
        }
        at_once
    }

    /// True when blocks that no ACK has told of would no longer fit into one.
    fn store_early(&mut self, seq: u64) -> bool {
        while seq + 1 - self.next > self.early.capacity() {
            self.early.grow(self.next..self.early_end.max(self.next));
        }
        self.early.set(seq);
        self.early_pkts += 1;
        self.early_end = self.early_end.max(seq + 1);
        let place = self.blocks.note(Block { start: seq, end: seq + 1 });
        place >= BLOCKS_EXPECTED && self.acks.any_compressed()
    }

    /// Takes packet `next` and all that follow without a gap.
    fn advance(&mut self) {
        self.next += 1;
        let end = self.early.next_clear(self.next, self.early_end).unwrap_or(self.early_end.max(self.next));
        for seq in self.next..end {
            self.early.clear(seq);
        }
        self.early_pkts -= end - self.next;
        self.next = end;
        self.blocks.forget_below(end);
    }
}
