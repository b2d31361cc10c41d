//! The receiving end: reassembly, delayed ACKs, SACK and D-SACK (Linux: tcp_input.c, __tcp_ack_snd_check).

use crate::bits::Bits;
use crate::wire::timestamp_ms;
use crate::{Ack, Block, Nanos, Segment};

/// Least delay of a delayed ACK, Linux's TCP_ATO_MIN.
const ATO_MIN: Nanos = 40_000_000;
/// Most delay of a delayed ACK, Linux's TCP_DELACK_MAX.
const ATO_MAX: Nanos = 200_000_000;
/// ACKs that are sent at once at the start and after duplicates, Linux's TCP_MAX_QUICKACKS.
const QUICK_ACKS: u32 = 16;
/// Duplicate ACKs before SACKs are compressed; RFC 5681's threshold.
const DUP_ACKS: u32 = 3;
/// Blocks that are remembered, Linux's TCP_NUM_SACKS.
const BLOCKS: usize = 4;

/// How a receiver acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Full segments per ACK: 2 as RFC 1122 and Linux without GRO, 1 for an ACK per packet. At least 1.
    pub ack_every: u32,
    /// Longest time that SACKs are held back after three duplicate ACKs: Linux's tcp_comp_sack_delay_ns, 1 ms, or
    /// 5 % of the RTT if that is less. 0: none is.
    pub sack_delay_ns: Nanos,
    /// Most ACKs that are held back so, Linux's tcp_comp_sack_nr.
    pub sack_delay_acks: u32,
}

impl ReceiverConfig {
    /// Linux's defaults on a path of this RTT.
    pub fn linux(rtt_ns: Nanos) -> Self {
        ReceiverConfig { ack_every: 2, sack_delay_ns: (rtt_ns / 20).min(1_000_000), sack_delay_acks: 44 }
    }
}

/// What a segment brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Received {
    /// Packets that became available to the application, in order.
    pub in_order_pkts: u64,
    /// An ACK to send now.
    pub ack: Option<Ack>,
}

/// A receiver whose application reads at once.
#[derive(Debug, Clone)]
pub struct Receiver {
    config: ReceiverConfig,
    next: u64,
    /// Packets beyond `next` that have arrived, and one past the highest.
    early: Bits,
    early_end: u64,
    early_pkts: u64,
    /// Most recent first, empty ones last.
    blocks: [Block; BLOCKS],
    duplicate: Option<Block>,
    /// `next` in the last ACK sent.
    acked: u64,
    /// Timestamp to echo: of the segment that advanced, or would have advanced, the last ACK.
    echo_ms: u32,
    quick: u32,
    ato: Nanos,
    delayed_until: Option<Nanos>,
    compressed: u32,
    compressed_until: Option<Nanos>,
    dup_acks: u32,
    dup_acks_next: u64,
}

impl Receiver {
    /// A receiver that waits for packet 0.
    pub fn new(config: ReceiverConfig) -> Self {
        Receiver {
            config: ReceiverConfig { ack_every: config.ack_every.max(1), ..config },
            next: 0,
            early: Bits::new(64),
            early_end: 0,
            early_pkts: 0,
            blocks: [Block::NONE; BLOCKS],
            duplicate: None,
            acked: 0,
            echo_ms: 0,
            quick: QUICK_ACKS,
            ato: ATO_MIN,
            delayed_until: None,
            compressed: 0,
            compressed_until: None,
            dup_acks: 0,
            dup_acks_next: 0,
        }
    }

    /// Next packet in order: everything below has been delivered to the application.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// When [`Receiver::on_timer`] wants to be called.
    #[inline]
    pub fn next_timer(&self) -> Option<Nanos> {
        match (self.delayed_until, self.compressed_until) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// A delayed ACK or a compressed SACK is due, if [`Receiver::next_timer`] is not after `now`.
    pub fn on_timer(&mut self, now: Nanos) -> Option<Ack> {
        if self.compressed_until.is_some_and(|t| t <= now) {
            return Some(self.ack());
        }
        if self.delayed_until.is_some_and(|t| t <= now) {
            self.ato = (self.ato * 2).min(ATO_MAX); // the delay was in vain: no second segment came
            return Some(self.ack());
        }
        None
    }

    /// A segment arrived.
    #[inline]
    pub fn on_segment(&mut self, now: Nanos, segment: Segment) -> Received {
        if segment.seq == Segment::SYN {
            let ack = Ack { syn: true, echo_ms: segment.timestamp_ms(), ..Ack::default() };
            return Received { in_order_pkts: 0, ack: Some(ack) };
        }
        if segment.seq <= self.acked {
            self.echo_ms = timestamp_ms(segment.sent);
        }
        if segment.seq == self.next && self.early_pkts == 0 {
            self.next += 1;
            return Received { in_order_pkts: 1, ack: self.acknowledge(now, false) };
        }
        self.on_disorder(now, segment.seq)
    }

    #[cold]
    fn on_disorder(&mut self, now: Nanos, seq: u64) -> Received {
        let before = self.next;
        let mut at_once = false;
        if seq < self.next || (seq < self.early_end && self.early.get(seq)) {
            self.duplicate = Some(Block { start: seq, end: seq + 1 });
            if seq < self.next {
                // a needless retransmission: tell at once, and be quick for a while
                self.quick = self.quick.max(QUICK_ACKS);
                self.ato = ATO_MIN;
                at_once = true;
            }
        } else if seq == self.next {
            self.advance();
            at_once = self.early_pkts == 0; // a hole was filled: RFC 5681 section 4.2
        } else {
            self.store_early(seq);
        }
        Received { in_order_pkts: self.next - before, ack: self.acknowledge(now, at_once) }
    }

    fn store_early(&mut self, seq: u64) {
        while seq + 1 - self.next > self.early.capacity() {
            self.early.grow(self.next..self.early_end.max(self.next));
        }
        self.early.set(seq);
        self.early_pkts += 1;
        self.early_end = self.early_end.max(seq + 1);
        self.note_block(Block { start: seq, end: seq + 1 });
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
        let next = self.next;
        self.keep_blocks(|b| b.end > next);
    }

    /// Puts a block in front, merged with the one that it touches (Linux: tcp_sack_new_ofo_skb).
    fn note_block(&mut self, new: Block) {
        let touching =
            self.blocks.iter().position(|b| !b.is_empty() && b.start <= new.end && new.start <= b.end);
        let front = match touching {
            Some(i) => {
                let b = self.blocks[i];
                self.blocks[..=i].rotate_right(1);
                Block { start: b.start.min(new.start), end: b.end.max(new.end) }
            }
            None => {
                self.blocks.rotate_right(1); // the oldest is forgotten
                new
            }
        };
        self.blocks[0] = front;
        // the merged block may now touch another one
        if let Some(i) = (1..BLOCKS).find(|&i| {
            let b = self.blocks[i];
            !b.is_empty() && b.start <= front.end && front.start <= b.end
        }) {
            let b = self.blocks[i];
            self.blocks[0] = Block { start: b.start.min(front.start), end: b.end.max(front.end) };
            self.blocks[i] = Block::NONE;
            self.keep_blocks(|b| !b.is_empty());
        }
    }

    fn keep_blocks(&mut self, keep: impl Fn(Block) -> bool) {
        let mut kept = [Block::NONE; BLOCKS];
        for (to, b) in kept.iter_mut().zip(self.blocks.into_iter().filter(|b| !b.is_empty() && keep(*b))) {
            *to = b;
        }
        self.blocks = kept;
    }

    /// Decides whether to send an ACK now, later, or together with others.
    #[inline]
    fn acknowledge(&mut self, now: Nanos, at_once: bool) -> Option<Ack> {
        let full = self.next - self.acked >= u64::from(self.config.ack_every);
        if full || at_once || self.quick > 0 {
            return Some(self.ack());
        }
        if self.early_pkts == 0 && self.duplicate.is_none() {
            self.delayed_until.get_or_insert(now + self.ato);
            return None;
        }
        self.acknowledge_disorder(now)
    }

    /// The first three duplicate ACKs go at once, later ones are compressed (Linux: tcp_comp_sack_*).
    fn acknowledge_disorder(&mut self, now: Nanos) -> Option<Ack> {
        if self.config.sack_delay_ns == 0 || self.compressed >= self.config.sack_delay_acks {
            return Some(self.ack());
        }
        if self.dup_acks_next != self.next {
            self.dup_acks_next = self.next;
            self.dup_acks = 0;
        }
        if self.dup_acks < DUP_ACKS {
            self.dup_acks += 1;
            return Some(self.ack());
        }
        self.compressed += 1;
        self.compressed_until.get_or_insert(now + self.config.sack_delay_ns);
        None
    }

    #[inline]
    fn ack(&mut self) -> Ack {
        self.acked = self.next;
        self.quick = self.quick.saturating_sub(1);
        self.delayed_until = None;
        self.compressed = 0;
        self.compressed_until = None;
        let mut ack = Ack { next: self.next, echo_ms: self.echo_ms, ..Ack::default() };
        if self.early_pkts > 0 || self.duplicate.is_some() {
            let reported = self.duplicate.take().into_iter().chain(self.blocks);
            for (to, b) in ack.blocks.iter_mut().zip(reported.filter(|b| !b.is_empty())) {
                *to = b;
            }
        }
        ack
    }
}
