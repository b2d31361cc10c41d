//! Sending of ACKs and their content: delayed ACKs, SACK compression, the echo or the count of ECN marks
//! (Linux: __tcp_ack_snd_check, tcp_data_ecn_check, dctcp_ece_ack_update).

use super::Receiver;
use super::state::QUICK_ACKS_ON_MARK;
use crate::config::Ecn;
use crate::time::Nanos;
use crate::wire::{Ack, AckWire, Block, EcnField, Segment, timestamp_ms};

/// Number of duplicate ACKs that are sent before SACK compression begins: the threshold of RFC 5681 (Linux:
/// TCP_FASTRETRANS_THRESH).
const DUP_ACKS: u32 = 3;

impl Receiver {
    /// Processes the ECN field of `pkts` packets that are received as one. Returns true if an ACK must be
    /// sent at once.
    pub(super) fn process_mark(
        &mut self,
        now: Nanos,
        segment: &Segment,
        pkts: u64,
        wire: &mut impl AckWire,
    ) -> bool {
        let is_ce = segment.ecn == EcnField::Ce;
        if self.config.ecn.is_accurate() {
            return self.acks.count_marks(is_ce, pkts);
        }
        if segment.ecn == EcnField::NotEct {
            if self.acks.ect_seen {
                self.acks.enter_quickack(QUICK_ACKS_ON_MARK, self.window.pkts());
            }
            return false;
        }
        self.acks.ect_seen = true;
        if self.config.ecn == Ecn::Dctcp {
            return self.process_mark_dctcp(now, is_ce, wire) || segment.cwr;
        }
        if segment.cwr {
            self.acks.ece = false; // RFC 3168, section 6.1.3
        }
        if is_ce && !self.acks.ece {
            self.acks.enter_quickack(QUICK_ACKS_ON_MARK, self.window.pkts());
            self.acks.ece = true;
        }
        segment.cwr // the sender's cwnd may be so small that it waits for this ACK
    }

    /// Processes a packet's mark: an ACK never acknowledges both marked and unmarked packets (RFC 8257,
    /// section 3.2).
    fn process_mark_dctcp(&mut self, now: Nanos, marked: bool, wire: &mut impl AckWire) -> bool {
        if marked == self.acks.ece {
            return false;
        }
        if self.acks.delayed_until != Nanos::MAX {
            self.send_ack(now, wire); // of the packets before
        }
        self.acks.ece = marked;
        true
    }

    /// Sends an ACK, delays it, or compresses it.
    #[inline]
    pub(super) fn acknowledge(&mut self, now: Nanos, at_once: bool, push: bool, wire: &mut impl AckWire) {
        let full = self.next - self.acks.acked >= u64::from(self.config.ack_every);
        if full || at_once || self.acks.quickacks > 0 {
            self.send_ack(now, wire);
        } else if self.ooo_pkts == 0 && self.duplicate.is_none() {
            self.acks.delay(now, push & self.config.psh_ack);
        } else if !self.compresses(now) {
            self.send_ack(now, wire);
        }
    }

    /// Sends or delays an ACK, without out-of-order packets, ECN and artificial delay.
    #[inline]
    pub(super) fn acknowledge_fast(&mut self, now: Nanos, push: bool, wire: &mut impl AckWire) {
        let acks = &mut self.acks;
        let full = self.next - acks.acked >= u64::from(self.config.ack_every);
        if !full && acks.quickacks == 0 {
            acks.delay(now, push & self.config.psh_ack);
            return;
        }
        acks.acked = self.next;
        acks.lower_quickacks();
        acks.delayed_until = Nanos::MAX;
        let ack = Ack {
            next: self.next,
            echo_ms: acks.echo_ms,
            sent_ms: timestamp_ms(now),
            rwnd_pkts: self.window.pkts(),
            ..Ack::default()
        };
        wire.send(now, ack);
    }

    /// True if the ACK is compressed. The first three duplicate ACKs are not compressed (Linux:
    /// tcp_comp_sack_*).
    fn compresses(&mut self, now: Nanos) -> bool {
        let config = &self.config;
        let acks = &mut self.acks;
        if config.sack_delay_ns == 0 || !config.sack || acks.compressed >= config.sack_delay_acks {
            return false;
        }
        if acks.dup_acks_next != self.next {
            acks.dup_acks_next = self.next;
            acks.dup_acks = 0;
        }
        if acks.dup_acks < DUP_ACKS {
            acks.dup_acks += 1;
            return false;
        }
        acks.compressed += 1;
        if acks.compressed_until == Nanos::MAX {
            acks.compressed_until = now + config.sack_delay_ns;
        }
        true
    }

    /// Sends an ACK of all packets received. After it no ACK is delayed or compressed.
    #[inline]
    pub(super) fn send_ack(&mut self, now: Nanos, wire: &mut impl AckWire) {
        let acks = &mut self.acks;
        acks.acked = self.next;
        acks.lower_quickacks();
        acks.delayed_until = Nanos::MAX;
        acks.compressed = 0;
        acks.compressed_until = Nanos::MAX;
        acks.unreported_ce_pkts = 0;
        let plain = (self.ooo_pkts == 0 && self.duplicate.is_none()) || !self.config.sack;
        let (rwnd_pkts, window) = self.advertise(false);
        let ack = Ack {
            next: self.next,
            echo_ms: self.acks.echo_ms,
            sent_ms: timestamp_ms(now),
            rwnd_pkts,
            window,
            ece: self.acks.ece,
            ce_pkts: self.acks.ce_pkts,
            blocks: if plain { [Block::NONE; 3] } else { self.report_blocks() },
            ..Ack::default()
        };
        let leaves = self.departure(now);
        wire.send(leaves, ack);
    }

    /// Returns `rwnd_pkts` and `window` of an ACK that leaves now.
    #[inline]
    pub(super) fn advertise(&mut self, syn: bool) -> (u32, u8) {
        if self.config.sack && self.window.is_constant() {
            return (self.window.pkts(), 0);
        }
        let (rwnd_pkts, window) = self.window.advertise(self.next, self.unread_pkts + self.ooo_pkts, syn);
        (rwnd_pkts, if self.config.sack { 0 } else { window })
    }

    #[cold]
    fn report_blocks(&mut self) -> [Block; 3] {
        self.blocks.report(self.duplicate.take())
    }

    /// Returns the time when an ACK that is created now leaves.
    #[inline]
    pub(super) fn departure(&mut self, now: Nanos) -> Nanos {
        let config = &self.config;
        if !config.delays_acks() {
            return now;
        }
        let acks = &mut self.acks;
        while config.ack_delay_at.get(acks.delay_steps).is_some_and(|(at, _)| *at <= now) {
            acks.delay_steps += 1;
        }
        let passed = &config.ack_delay_at[..acks.delay_steps];
        acks.last_departure =
            acks.last_departure.max(now + passed.last().map_or(config.ack_delay_ns, |(_, delay)| *delay));
        acks.last_departure
    }
}
