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

/// A change beyond so many blocks ends the compression of SACKs, Linux's TCP_SACK_BLOCKS_EXPECTED.
const BLOCKS_EXPECTED: usize = 2;

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
    /// An ACK is to be sent now: [`Receiver::ack`].
    pub ack: bool,
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
    answer_syn: bool,
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
            answer_syn: false,
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

    /// True when a delayed ACK or a compressed SACK is to be sent now: [`Receiver::ack`].
    pub fn on_timer(&mut self, now: Nanos) -> bool {
        if self.compressed_until.is_some_and(|t| t <= now) {
            return true;
        }
        if self.delayed_until.is_some_and(|t| t <= now) {
            self.ato = (self.ato * 2).min(ATO_MAX); // the delay was in vain: no second segment came
            return true;
        }
        false
    }

    /// A segment arrived.
    #[inline]
    pub fn on_segment(&mut self, now: Nanos, segment: Segment) -> Received {
        if segment.seq == Segment::SYN {
            self.answer_syn = true;
            self.echo_ms = segment.timestamp_ms();
            return Received { in_order_pkts: 0, ack: true };
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
            at_once = self.store_early(seq);
        }
        Received { in_order_pkts: self.next - before, ack: self.acknowledge(now, at_once) }
    }

    /// True when blocks that no ACK has told of would no longer fit into one.
    fn store_early(&mut self, seq: u64) -> bool {
        while seq + 1 - self.next > self.early.capacity() {
            self.early.grow(self.next..self.early_end.max(self.next));
        }
        self.early.set(seq);
        self.early_pkts += 1;
        self.early_end = self.early_end.max(seq + 1);
        self.note_block(Block { start: seq, end: seq + 1 }) >= BLOCKS_EXPECTED && self.compressed > 0
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

    /// Puts a block in front, merged with the one that it touches, and returns the place that it had or would have
    /// had behind all others (Linux: tcp_sack_new_ofo_skb).
    fn note_block(&mut self, new: Block) -> usize {
        let touching =
            self.blocks.iter().position(|b| !b.is_empty() && b.start <= new.end && new.start <= b.end);
        let place = touching.unwrap_or_else(|| self.blocks.iter().filter(|b| !b.is_empty()).count());
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
        place
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
    fn acknowledge(&mut self, now: Nanos, at_once: bool) -> bool {
        let full = self.next - self.acked >= u64::from(self.config.ack_every);
        if full || at_once || self.quick > 0 {
            return true;
        }
        if self.early_pkts == 0 && self.duplicate.is_none() {
            self.delayed_until.get_or_insert(now + self.ato);
            return false;
        }
        self.acknowledge_disorder(now)
    }

    /// The first three duplicate ACKs go at once, later ones are compressed (Linux: tcp_comp_sack_*).
    fn acknowledge_disorder(&mut self, now: Nanos) -> bool {
        if self.config.sack_delay_ns == 0 || self.compressed >= self.config.sack_delay_acks {
            return true;
        }
        if self.dup_acks_next != self.next {
            self.dup_acks_next = self.next;
            self.dup_acks = 0;
        }
        if self.dup_acks < DUP_ACKS {
            self.dup_acks += 1;
            return true;
        }
        self.compressed += 1;
        self.compressed_until.get_or_insert(now + self.config.sack_delay_ns);
        false
    }

    /// The ACK that tells of everything so far; nothing is held back any more.
    #[inline]
    pub fn ack(&mut self) -> Ack {
        self.acked = self.next;
        if !self.answer_syn {
            self.quick = self.quick.saturating_sub(1);
        }
        self.delayed_until = None;
        self.compressed = 0;
        self.compressed_until = None;
        let plain = self.early_pkts == 0 && self.duplicate.is_none() && !self.answer_syn;
        let blocks = if plain { [Block::NONE; 3] } else { self.take_blocks() };
        Ack { next: self.next, echo_ms: self.echo_ms, syn: std::mem::take(&mut self.answer_syn), blocks }
    }

    #[cold]
    fn take_blocks(&mut self) -> [Block; 3] {
        let mut blocks = [Block::NONE; 3];
        let reported = self.duplicate.take().into_iter().chain(self.blocks);
        for (to, b) in blocks.iter_mut().zip(reported.filter(|b| !b.is_empty())) {
            *to = b;
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// A receiver past its quick ACKs: it waits for packet 16.
    fn receiver() -> Receiver {
        let mut r = Receiver::new(ReceiverConfig::linux(50 * MS));
        for seq in 0..16 {
            let ack = answer(&mut r, 0, Segment { seq, sent: 0 });
            assert_eq!(ack.map(|a| a.next), Some(seq + 1), "the first 16 ACKs are quick");
        }
        r
    }

    /// What the receiver sends in answer to a segment.
    fn answer(r: &mut Receiver, now: Nanos, segment: Segment) -> Option<Ack> {
        r.on_segment(now, segment).ack.then(|| r.ack())
    }

    fn segment(seq: u64) -> Segment {
        Segment { seq, sent: seq * MS }
    }

    fn blocks(ack: &Ack) -> Vec<(u64, u64)> {
        ack.blocks.iter().filter(|b| !b.is_empty()).map(|b| (b.start, b.end)).collect()
    }

    #[test]
    fn every_second_segment_is_acknowledged() {
        let mut r = receiver();
        for seq in 16..26 {
            let ack = answer(&mut r, seq * MS, segment(seq));
            assert_eq!(ack.map(|a| a.next), (seq % 2 == 1).then_some(seq + 1));
        }
    }

    #[test]
    fn a_lone_segment_is_acknowledged_after_40_ms() {
        let mut r = receiver();
        assert_eq!(answer(&mut r, 100 * MS, segment(16)), None);
        assert_eq!(r.next_timer(), Some(140 * MS));
        assert_eq!(r.on_timer(140 * MS).then(|| r.ack()).map(|a| (a.next, a.echo_ms)), Some((17, 16)));
        assert_eq!(r.next_timer(), None);
    }

    #[test]
    fn the_timestamp_of_the_first_unacknowledged_segment_is_echoed() {
        let mut r = receiver();
        assert_eq!(answer(&mut r, 0, segment(16)), None);
        assert_eq!(answer(&mut r, 0, segment(17)).map(|a| a.echo_ms), Some(16));
    }

    #[test]
    fn out_of_order_segments_are_sacked_at_once_most_recent_first() {
        let mut r = receiver();
        let mut ack = |seq| answer(&mut r, 0, segment(seq)).unwrap();
        assert_eq!(blocks(&ack(18)), [(18, 19)]);
        assert_eq!(blocks(&ack(19)), [(18, 20)]);
        assert_eq!(blocks(&ack(22)), [(22, 23), (18, 20)]);
        assert_eq!(ack(16).next, 17);
        let filled = ack(17);
        assert_eq!((filled.next, blocks(&filled)), (20, vec![(22, 23)]));
    }

    #[test]
    fn touching_blocks_merge_and_the_oldest_is_forgotten() {
        let mut r = Receiver::new(ReceiverConfig { sack_delay_ns: 0, ..ReceiverConfig::linux(50 * MS) });
        let mut ack = |seq| blocks(&answer(&mut r, 0, segment(seq)).unwrap());
        for seq in [2, 4, 6, 8] {
            ack(seq);
        }
        assert_eq!(ack(10), [(10, 11), (8, 9), (6, 7)]);
        assert_eq!(ack(9), [(8, 11), (6, 7), (4, 5)]);
        assert_eq!(ack(7), [(6, 11), (4, 5)]);
    }

    #[test]
    fn the_last_hole_filled_is_acknowledged_at_once() {
        let mut r = receiver();
        r.on_segment(0, segment(17));
        let received = r.on_segment(0, segment(16));
        assert_eq!((received.in_order_pkts, received.ack), (2, true));
    }

    #[test]
    fn duplicates_are_reported_below_and_above_the_cumulative_ack() {
        let mut r = receiver();
        assert_eq!(blocks(&answer(&mut r, 0, segment(3)).unwrap()), [(3, 4)]);
        r.on_segment(0, segment(20));
        let again = answer(&mut r, 0, segment(20)).unwrap();
        assert_eq!(blocks(&again), [(20, 21), (20, 21)]);
        let next = answer(&mut r, 0, segment(21)).unwrap();
        assert_eq!(blocks(&next), [(20, 22)], "a D-SACK is sent once");
    }

    #[test]
    fn sacks_are_compressed_after_three_duplicate_acks() {
        let mut r = receiver();
        let sent: Vec<bool> = (20..30).map(|seq| answer(&mut r, 0, segment(seq)).is_some()).collect();
        assert_eq!(sent, [true, true, true, false, false, false, false, false, false, false]);
        assert_eq!(r.next_timer(), Some(MS));
        assert_eq!(r.on_timer(MS).then(|| blocks(&r.ack())), Some(vec![(20, 30)]));
        let held = (30..30 + 44).filter(|seq| answer(&mut r, MS, segment(*seq)).is_none()).count();
        assert_eq!(held, 44);
        assert!(answer(&mut r, MS, segment(80)).is_some(), "44 at most are held back");
    }

    #[test]
    fn a_syn_is_answered() {
        let mut r = Receiver::new(ReceiverConfig::linux(50 * MS));
        let ack = answer(&mut r, 7 * MS, Segment { seq: Segment::SYN, sent: 3 * MS });
        assert_eq!(ack.map(|a| (a.syn, a.echo_ms, a.next)), Some((true, 3, 0)));
    }
}
