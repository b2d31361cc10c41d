//! When an ACK is sent, and what it says: delayed and quick ACKs, compressed SACKs, the echo of ECN marks (Linux:
//! __tcp_ack_snd_check, tcp_data_ecn_check, dctcp_ece_ack_update).

use super::Receiver;
use crate::config::Ecn;
use crate::wire::{AckWire, timestamp_ms};
use crate::{Ack, Block, Nanos, Segment};

/// Least delay of a delayed ACK, Linux's TCP_ATO_MIN.
const ATO_MIN: Nanos = 40_000_000;
/// Most delay of a delayed ACK, Linux's TCP_DELACK_MAX.
const ATO_MAX: Nanos = 200_000_000;
/// ACKs that are sent at once at the start and after duplicates, Linux's TCP_MAX_QUICKACKS.
const QUICK_ACKS: u32 = 16;
/// ACKs that are sent at once when the sender's window may be small after a mark.
const QUICK_ACKS_ON_MARK: u32 = 2;
/// Duplicate ACKs before SACKs are compressed; RFC 5681's threshold.
const DUP_ACKS: u32 = 3;

/// What is held back and why.
#[derive(Debug, Clone)]
pub(super) struct Acks {
    /// Both ends agreed on ECN.
    pub(super) ecn: bool,
    /// ECE of the next ACK.
    echo_mark: bool,
    /// ECN-capable packets have arrived, so one that is not has probably been sent again.
    capable_seen: bool,
    syn_seen: bool,
    answer_syn: bool,
    /// `next` in the last ACK sent.
    acked: u64,
    /// Timestamp to echo: of the segment that advanced, or would have advanced, the last ACK.
    echo_ms: u32,
    quick: u32,
    ato: Nanos,
    /// Deadlines of a delayed ACK and of compressed SACKs; `Nanos::MAX`: there are none.
    delayed_until: Nanos,
    compressed_until: Nanos,
    compressed: u32,
    dup_acks: u32,
    dup_acks_next: u64,
    /// When the last ACK left, and how many steps of `ack_delay_at` are over.
    left: Nanos,
    delay_steps: usize,
}

impl Default for Acks {
    fn default() -> Self {
        Acks {
            ecn: false,
            echo_mark: false,
            capable_seen: false,
            syn_seen: false,
            answer_syn: false,
            acked: 0,
            echo_ms: 0,
            quick: QUICK_ACKS,
            ato: ATO_MIN,
            delayed_until: Nanos::MAX,
            compressed_until: Nanos::MAX,
            compressed: 0,
            dup_acks: 0,
            dup_acks_next: 0,
            left: 0,
            delay_steps: 0,
        }
    }
}

impl Acks {
    #[inline]
    pub(super) fn next_timer(&self) -> Nanos {
        self.delayed_until.min(self.compressed_until)
    }

    /// True when what was held back must go.
    pub(super) fn on_timer(&mut self, now: Nanos) -> bool {
        if self.compressed_until <= now {
            return true;
        }
        if self.delayed_until <= now {
            self.ato = (self.ato * 2).min(ATO_MAX); // the delay was in vain: no second segment came
            return true;
        }
        false
    }

    #[inline]
    pub(super) fn note_timestamp(&mut self, segment: &Segment) {
        if segment.seq <= self.acked {
            self.echo_ms = segment.timestamp_ms();
        }
    }

    pub(super) fn any_compressed(&self) -> bool {
        self.compressed > 0
    }

    /// No delay for a while.
    pub(super) fn be_quick(&mut self) {
        self.quick = self.quick.max(QUICK_ACKS);
        self.ato = ATO_MIN;
    }

    fn be_quick_on_mark(&mut self) {
        self.quick = self.quick.max(QUICK_ACKS_ON_MARK);
        self.ato = ATO_MIN;
    }
}

impl Receiver {
    pub(super) fn answer_syn(&mut self, now: Nanos, segment: &Segment, wire: &mut impl AckWire) {
        if !self.acks.syn_seen {
            self.acks.syn_seen = true;
            self.acks.ecn = segment.cwr && self.config.ecn != Ecn::Off;
            self.window.start(now);
        }
        self.acks.answer_syn = true;
        self.acks.echo_ms = segment.timestamp_ms();
        self.send_ack(now, wire);
    }

    /// Takes note of a mark; true when an ACK must go at once.
    pub(super) fn take_mark(&mut self, now: Nanos, segment: &Segment, wire: &mut impl AckWire) -> bool {
        if !segment.ect && !segment.ce {
            if self.acks.capable_seen {
                self.acks.be_quick_on_mark();
            }
            return false;
        }
        self.acks.capable_seen = true;
        if self.config.ecn == Ecn::Dctcp {
            return self.take_exact_mark(now, segment.ce, wire) || segment.cwr;
        }
        if segment.cwr {
            self.acks.echo_mark = false; // RFC 3168 section 6.1.3
        }
        if segment.ce && !self.acks.echo_mark {
            self.acks.be_quick_on_mark();
            self.acks.echo_mark = true;
        }
        segment.cwr // the sender's window may be so small that it waits for this
    }

    /// RFC 8257 section 3.2: an ACK never tells of both marked and unmarked packets.
    fn take_exact_mark(&mut self, now: Nanos, marked: bool, wire: &mut impl AckWire) -> bool {
        if marked == self.acks.echo_mark {
            return false;
        }
        if self.acks.delayed_until != Nanos::MAX {
            self.send_ack(now, wire); // of what came before
        }
        self.acks.echo_mark = marked;
        true
    }

    /// Sends an ACK now, or decides to send it later, or together with others.
    #[inline]
    pub(super) fn acknowledge(&mut self, now: Nanos, at_once: bool, wire: &mut impl AckWire) {
        let full = self.next - self.acks.acked >= u64::from(self.config.ack_every);
        if full || at_once || self.acks.quick > 0 {
            self.send_ack(now, wire);
        } else if self.early_pkts == 0 && self.duplicate.is_none() {
            if self.acks.delayed_until == Nanos::MAX {
                self.acks.delayed_until = now + self.acks.ato;
            }
        } else if !self.compresses(now) {
            self.send_ack(now, wire);
        }
    }

    /// The same when nothing is out of order, marked or delayed for show.
    #[inline]
    pub(super) fn acknowledge_plainly(&mut self, now: Nanos, wire: &mut impl AckWire) {
        let acks = &mut self.acks;
        let full = self.next - acks.acked >= u64::from(self.config.ack_every);
        if !full && acks.quick == 0 {
            if acks.delayed_until == Nanos::MAX {
                acks.delayed_until = now + acks.ato;
            }
            return;
        }
        acks.acked = self.next;
        acks.quick = acks.quick.saturating_sub(1);
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

    /// The first three duplicate ACKs go at once, later ones are compressed (Linux: tcp_comp_sack_*).
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

    /// Sends the ACK that tells of everything so far; nothing is held back any more.
    #[inline]
    pub(super) fn send_ack(&mut self, now: Nanos, wire: &mut impl AckWire) {
        let acks = &mut self.acks;
        acks.acked = self.next;
        let syn = std::mem::take(&mut acks.answer_syn);
        if !syn {
            acks.quick = acks.quick.saturating_sub(1);
        }
        acks.delayed_until = Nanos::MAX;
        acks.compressed = 0;
        acks.compressed_until = Nanos::MAX;
        let plain = (self.early_pkts == 0 && self.duplicate.is_none() && !syn) || !self.config.sack;
        let ack = Ack {
            next: self.next,
            echo_ms: acks.echo_ms,
            sent_ms: timestamp_ms(now),
            rwnd_pkts: self.window.pkts(),
            syn,
            ece: if syn { acks.ecn } else { acks.echo_mark },
            blocks: if plain { [Block::NONE; 3] } else { self.report_blocks() },
        };
        let leaves = self.leaves(now);
        wire.send(leaves, ack);
    }

    #[cold]
    fn report_blocks(&mut self) -> [Block; 3] {
        self.blocks.report(self.duplicate.take())
    }

    /// When an ACK made now leaves.
    #[inline]
    fn leaves(&mut self, now: Nanos) -> Nanos {
        let config = &self.config;
        if !config.delays_acks() {
            return now;
        }
        let acks = &mut self.acks;
        while config.ack_delay_at.get(acks.delay_steps).is_some_and(|(at, _)| *at <= now) {
            acks.delay_steps += 1;
        }
        let over = &config.ack_delay_at[..acks.delay_steps];
        acks.left = acks.left.max(now + over.last().map_or(config.ack_delay_ns, |(_, delay)| *delay));
        acks.left
    }
}
