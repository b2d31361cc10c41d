//! The receiver: reassembly in this file, ACKs in `acks.rs`, rwnd in `window.rs`, GRO in `gro.rs` (Linux:
//! tcp_input.c, tcp_offload.c).

mod acks;
mod blocks;
mod gro;
mod handshake;
mod state;
#[cfg(test)]
mod tests;
mod window;

use crate::bits::Bits;
use crate::config::ReceiverConfig;
use crate::time::Nanos;
use crate::wire::{AckWire, Block, Segment};
use blocks::SackBlocks;
use handshake::Handshake;
use state::{Acks, GroPacket, QUICK_ACKS};
use window::{DataArrival, ReceiveWindow};

/// Number of blocks beyond which a change of the blocks ends SACK compression (Linux:
/// TCP_SACK_BLOCKS_EXPECTED).
const BLOCKS_EXPECTED: usize = 2;
/// The largest capacity for out-of-order packets that is kept for the next connection, packets.
const KEPT_PKTS: u64 = 1024;

/// The receiver of a TCP connection, whose application reads at once. The fields that a segment in order
/// needs are first.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Receiver {
    next: u64,
    /// True if delayed ACKs are the only mechanism in use: no GRO and no ECN, no packet out of order, no
    /// artificial delay.
    fast_path: bool,
    acks: Acks,
    /// The packet that GRO assembles.
    gro: GroPacket,
    window: ReceiveWindow,
    config: ReceiverConfig,
    handshake: Handshake,
    /// Packets received twice, which the next ACK reports as D-SACK.
    duplicate: Option<Block>,
    /// One past the highest packet received out of order.
    ooo_end: u64,
    /// Number of packets received out of order.
    ooo_pkts: u64,
    /// Packets in order that the application has not read yet.
    unread_pkts: u64,
    /// A bit per packet received out of order, from `next` to `ooo_end`.
    ooo: Bits,
    blocks: SackBlocks,
}

impl Receiver {
    /// Returns a receiver that expects packet 0. It allocates nothing before packets arrive out of order.
    pub fn new(config: ReceiverConfig) -> Self {
        Receiver::with_memory(config, Bits::default())
    }

    fn with_memory(config: ReceiverConfig, ooo: Bits) -> Self {
        let ack_every = if config.delayed_ack { config.ack_every.max(1) } else { 1 };
        Receiver {
            window: ReceiveWindow::new(config.window, config.mss_bytes),
            config: ReceiverConfig { ack_every, psh_ack: config.psh_ack && ack_every <= 2, ..config },
            next: 0,
            ooo,
            ooo_end: 0,
            ooo_pkts: 0,
            unread_pkts: 0,
            blocks: SackBlocks::default(),
            duplicate: None,
            acks: Acks::new(),
            handshake: Handshake::NONE,
            gro: GroPacket::NONE,
            fast_path: false,
        }
    }

    /// Resets to the state of [`Receiver::new`], and keeps some of the allocated memory.
    pub fn reset(&mut self, config: ReceiverConfig) {
        let mut ooo = std::mem::take(&mut self.ooo);
        ooo.reset(KEPT_PKTS);
        *self = Receiver::with_memory(config, ooo);
    }

    /// The next packet in order. All packets below were delivered to the application.
    pub fn rcv_nxt(&self) -> u64 {
        self.next
    }

    /// The time when [`Receiver::on_timer`] must be called next; `None`: no timer is armed.
    #[inline]
    pub fn next_timer(&self) -> Option<Nanos> {
        let next = self.acks.next_timer().min(self.gro.until);
        (next != Nanos::MAX).then_some(next)
    }

    /// Runs the timers that have expired: SYN-ACK, GRO, delayed ACK, SACK compression. Returns the number of
    /// packets that became available to the application.
    pub fn on_timer(&mut self, now: Nanos, wire: &mut impl AckWire) -> u64 {
        let mut available = 0;
        if !self.handshake.is_over() && self.acks.delayed_until <= now {
            self.on_syn_ack_timeout(now, wire);
        }
        if self.gro.until <= now {
            available = self.flush_gro(now, wire);
        }
        if self.handshake.is_over() && self.acks.on_timer(now) {
            self.send_ack(now, wire);
        }
        available
    }

    /// Receives a segment. Returns the number of packets that became available to the application, in order.
    #[inline]
    pub fn on_segment(&mut self, now: Nanos, segment: Segment, wire: &mut impl AckWire) -> u64 {
        if self.fast_path
            && segment.seq == self.next
            && self.window.is_settled(now, segment.echo_ms, segment.seq + 1)
        {
            self.acks.note_timestamp(&segment);
            self.next += 1;
            self.acks.note_data(now, self.window.pkts());
            self.acknowledge_fast(now, segment.push, wire);
            return 1;
        }
        let available = match self.config.gro_ns {
            0 => self.receive(now, &segment, 1, wire),
            _ => self.receive_gro(now, segment, wire),
        };
        self.fast_path = self.ooo_pkts == 0
            && self.duplicate.is_none()
            && self.handshake.is_over()
            && self.allows_fast_path();
        available
    }

    fn allows_fast_path(&self) -> bool {
        self.config.gro_ns == 0
            && !self.config.delays_acks()
            && !self.acks.ecn
            && self.config.sack
            && self.window.is_constant()
    }

    /// Receives `pkts` consecutive packets from `segment` on as one.
    #[inline(never)]
    fn receive(&mut self, now: Nanos, segment: &Segment, pkts: u64, wire: &mut impl AckWire) -> u64 {
        if !(segment.is_data() & self.handshake.is_over()) && !self.shake_hands(now, segment, wire) {
            return 0;
        }
        self.acks.note_timestamp(segment);
        let mut at_once = self.acks.ecn && self.process_mark(now, segment, pkts, wire);
        let (before, waiting_pkts) = (self.next, self.ooo_pkts);
        if segment.seq == self.next && self.ooo_pkts == 0 {
            self.next += pkts;
        } else {
            at_once |= self.on_disorder(segment.seq..segment.seq + pkts);
        }
        let in_order = self.next > before;
        if in_order {
            self.acks.note_data(now, self.window.pkts());
        }
        let data = DataArrival { pkts, prior_next: before, next: self.next, waiting_pkts };
        // without SACK rwnd stays while packets are out of order, since their ACKs count as duplicates only
        // then
        let opens = in_order || (self.config.sack && segment.seq > self.next);
        if self.window.on_data(now, segment.echo_ms, data, opens) {
            self.acks.rwnd_opened();
        }
        self.unread_pkts = self.next - before;
        self.acknowledge(now, at_once, segment.push, wire);
        self.unread_pkts = 0;
        let ooo_pkts = if self.ooo_pkts > 0 { self.ooo_end - self.next } else { 0 };
        if !in_order && ooo_pkts > 0 {
            self.window.on_disorder(ooo_pkts);
        }
        if in_order {
            let first_end = (segment.seq + pkts).min(self.next);
            self.window.on_read(now, first_end, self.next, ooo_pkts);
        }
        self.next - before
    }

    /// Receives packets that are not all the next in order, or that arrive while others are out of order.
    /// Returns true if an ACK must be sent at once.
    #[cold]
    fn on_disorder(&mut self, pkts: std::ops::Range<u64>) -> bool {
        let mut at_once = false;
        let mut duplicate: Option<Block> = None;
        for seq in pkts {
            if seq < self.next || (seq < self.ooo_end && self.ooo.get(seq)) {
                duplicate = Some(Block { start: duplicate.map_or(seq, |b| b.start), end: seq + 1 });
                if seq < self.next {
                    // an unnecessary retransmission (Linux: tcp_send_dupack)
                    self.acks.enter_quickack(QUICK_ACKS, self.window.pkts());
                    at_once = true;
                }
            } else if seq == self.next {
                self.advance();
                at_once |= self.ooo_pkts == 0; // a hole was filled: RFC 5681, section 4.2
            } else {
                at_once |= self.store_ooo(seq);
            }
        }
        if self.config.sack && duplicate.is_some() {
            self.duplicate = duplicate;
        }
        at_once
    }

    /// Stores a packet received out of order. Returns true if the SACK blocks not yet reported no longer fit
    /// into one ACK.
    fn store_ooo(&mut self, seq: u64) -> bool {
        while seq + 1 - self.next > self.ooo.capacity() {
            self.ooo.grow(self.next..self.ooo_end.max(self.next));
        }
        self.ooo.set(seq);
        self.ooo_pkts += 1;
        self.ooo_end = self.ooo_end.max(seq + 1);
        let rank = self.blocks.insert(Block { start: seq, end: seq + 1 });
        rank >= BLOCKS_EXPECTED && self.acks.any_compressed()
    }

    /// Receives packet `next`, and delivers the out-of-order packets that follow without a gap.
    fn advance(&mut self) {
        self.next += 1;
        let end = self.ooo.next_clear(self.next, self.ooo_end).unwrap_or(self.ooo_end.max(self.next));
        for seq in self.next..end {
            self.ooo.clear(seq);
        }
        self.ooo_pkts -= end - self.next;
        self.next = end;
        self.blocks.forget_below(end);
    }
}
