//! The scoreboard: the state of every packet from the oldest unacknowledged packet to the next packet to
//! send.
//!
//! A packet is outstanding, SACKed, lost, or lost and retransmitted. Packets in flight are those sent and
//! neither delivered nor marked lost (RFC 6675, "pipe"). Linux keeps its queue in two orders, by sequence and
//! by time of sending. Here first transmissions are in both orders, and retransmissions are in a log in order
//! of sending. Two cursors that only move forward make the cost of loss detection independent of the number
//! of packets in flight.

use std::collections::VecDeque;

use crate::bits::Bits;
use crate::bursts::Bursts;
use crate::rate::Snapshot;

/// Bits that mark a packet (Linux: TCPCB_*).
pub(crate) mod mark {
    /// The packet is covered by a SACK block.
    pub(crate) const SACKED: u8 = 1;
    /// The packet is marked lost.
    pub(crate) const LOST: u8 = 2;
    /// The packet is lost and retransmitted, and the retransmission is in flight.
    pub(crate) const RETRANS: u8 = 4;
    /// The packet was retransmitted at some time, or sent again as a tail loss probe.
    pub(crate) const EVER_RETRANS: u8 = 8;
}

/// Capacity after the first packet: an initial window of 10, rounded up to a power of two.
const INITIAL_PKTS: usize = 16;
/// Largest capacity that is kept for the next connection, packets: at most 60 kB.
const KEPT_PKTS: usize = 1024;

/// A transmission of a packet. Transmissions are ordered by time of sending, and by sequence where times are
/// equal (RFC 8985, section 6.2: RACK_sent_after).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Transmission {
    pub(crate) sent_us: u64,
    pub(crate) seq: u64,
}

/// The scoreboard of a connection. The fields that a cumulative ACK reads are first.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub(crate) struct Scoreboard {
    /// The oldest unacknowledged packet, and the next packet to be sent for the first time.
    una: u64,
    nxt: u64,
    sacked_out: u32,
    lost_out: u32,
    retrans_out: u32,
    /// Number of outstanding packets that were ever retransmitted.
    ever_retrans_out: u32,
    /// Number of packets ever marked lost; wraps.
    lost_pkts: u32,
    /// Number of packets of `sacked_out` that only duplicate ACKs report: it is unknown which packets these
    /// are.
    dup_acks: u32,
    /// One past the highest packet SACKed, or `una`.
    fack: u64,
    /// Marks of each packet, indexed by its number modulo the capacity, a power of two; 0 for packets that
    /// are not outstanding.
    marks: Vec<u8>,
    bursts: Bursts,
    /// Packet number below which every packet was retransmitted, SACKed or marked lost.
    first_sent_from: u64,
    /// Packet number below which no packet is pending.
    pending_from: u64,
    /// Packets marked lost since the last [`Scoreboard::swap_losses`]; `None`: losses are not recorded.
    losses: Option<Vec<u64>>,
    /// A bit per packet with mark SACKED, to skip SACKed packets in steps of 64.
    sacked: Bits,
    /// The pending packets: lost and not retransmitted.
    pending: Bits,
    /// Retransmissions in order of sending. Entries of packets that were delivered or retransmitted again are
    /// stale.
    retransmitted: VecDeque<Transmission>,
}

impl Scoreboard {
    /// Resets to a new scoreboard, and keeps up to [`KEPT_PKTS`] of capacity.
    pub(crate) fn reset(&mut self) {
        let mut old = std::mem::take(self);
        if old.marks.len() <= KEPT_PKTS {
            old.sacked.reset(KEPT_PKTS as u64);
            old.pending.reset(KEPT_PKTS as u64);
            old.bursts.reset(KEPT_PKTS);
            old.marks.fill(0);
            old.retransmitted.clear();
            old.retransmitted.shrink_to(KEPT_PKTS);
            (self.bursts, self.marks) = (old.bursts, old.marks);
            (self.sacked, self.pending, self.retransmitted) = (old.sacked, old.pending, old.retransmitted);
        }
    }

    /// Records packets marked lost from now on.
    pub(crate) fn record_losses(&mut self) {
        self.losses.get_or_insert_default();
    }

    /// True if packets were marked lost since the last [`Scoreboard::swap_losses`].
    #[inline]
    pub(crate) fn has_losses(&self) -> bool {
        self.losses.as_ref().is_some_and(|l| !l.is_empty())
    }

    /// Swaps the record of losses with `list`, which should be empty.
    pub(crate) fn swap_losses(&mut self, list: &mut Vec<u64>) {
        if let Some(losses) = &mut self.losses {
            std::mem::swap(losses, list);
        }
    }

    pub(crate) fn una(&self) -> u64 {
        self.una
    }
    pub(crate) fn nxt(&self) -> u64 {
        self.nxt
    }
    pub(crate) fn fack(&self) -> u64 {
        self.fack.max(self.una)
    }
    pub(crate) fn packets_out(&self) -> u32 {
        (self.nxt - self.una) as u32
    }
    pub(crate) fn sacked_out(&self) -> u32 {
        self.sacked_out
    }
    pub(crate) fn lost_out(&self) -> u32 {
        self.lost_out
    }
    pub(crate) fn retrans_out(&self) -> u32 {
        self.retrans_out
    }
    pub(crate) fn lost_pkts(&self) -> u32 {
        self.lost_pkts
    }
    pub(crate) fn in_flight(&self) -> u32 {
        self.packets_out() - self.sacked_out - self.lost_out + self.retrans_out
    }
    /// True if no outstanding packet is SACKed, lost or retransmitted.
    pub(crate) fn is_clean(&self) -> bool {
        self.sacked_out | self.lost_out | self.ever_retrans_out == 0
    }

    #[inline]
    fn index(&self, seq: u64) -> usize {
        seq as usize & (self.marks.len() - 1)
    }
    /// The snapshot of an outstanding packet's last transmission.
    #[inline]
    pub(crate) fn snapshot(&self, seq: u64) -> Snapshot {
        if self.ever_retrans_out > 0 && self.marks(seq) & mark::EVER_RETRANS != 0 {
            return self.bursts.retransmission(seq);
        }
        self.bursts.sent(seq)
    }
    #[inline]
    pub(crate) fn marks(&self, seq: u64) -> u8 {
        self.marks[self.index(seq)]
    }

    /// Adds a burst of `pkts` packets in their first transmission.
    #[inline]
    pub(crate) fn send(&mut self, pkts: u32, snapshot: Snapshot) {
        while self.packets_out() as usize + pkts as usize > self.marks.len() {
            self.grow();
        }
        let (lost_pkts, inflight_pkts) = (self.lost_pkts, self.in_flight() + 1);
        let alone = self.una == self.nxt;
        self.bursts.send(self.nxt, Snapshot { lost_pkts, inflight_pkts, ..snapshot }, alone);
        self.nxt += u64::from(pkts);
    }

    #[cold]
    fn grow(&mut self) {
        let old = self.marks.len();
        let new = (old * 2).max(INITIAL_PKTS);
        let mut marks = vec![0; new];
        for seq in self.una..self.nxt {
            marks[seq as usize & (new - 1)] = self.marks[seq as usize & (old - 1)];
        }
        self.marks = marks;
        self.bursts.grow(self.una..self.nxt, new);
        while self.sacked.capacity() < new as u64 {
            self.sacked.grow(self.una..self.nxt);
            self.pending.grow(self.una..self.nxt);
        }
    }

    /// Records the retransmission of packet `seq`, which is lost.
    pub(crate) fn retransmit(&mut self, seq: u64, snapshot: Snapshot) {
        self.send_again(seq, snapshot);
        let at = self.index(seq);
        debug_assert!(self.marks[at] & (mark::LOST | mark::RETRANS) == mark::LOST);
        self.marks[at] |= mark::RETRANS;
        self.retrans_out += 1;
        self.pending.clear(seq);
    }

    /// Records another transmission of packet `seq`, without any mark: the transmission of a tail loss probe,
    /// which is not in flight beside the packet that it repeats (Linux: tcp_send_loss_probe calls
    /// __tcp_retransmit_skb; it is tcp_retransmit_skb that counts in retrans_out).
    pub(crate) fn send_again(&mut self, seq: u64, snapshot: Snapshot) {
        let at = self.index(seq);
        let (lost_pkts, inflight_pkts) = (self.lost_pkts, self.in_flight() + 1);
        let room = self.marks.len();
        self.bursts.retransmit(seq, Snapshot { lost_pkts, inflight_pkts, ..snapshot }, room);
        if self.marks[at] & mark::EVER_RETRANS == 0 {
            self.marks[at] |= mark::EVER_RETRANS;
            self.ever_retrans_out += 1;
        }
        self.retransmitted.push_back(Transmission { sent_us: snapshot.sent_us, seq });
    }

    /// Returns the lowest packet that is lost and not retransmitted.
    pub(crate) fn next_pending(&mut self) -> Option<u64> {
        if self.retrans_out >= self.lost_out {
            return None;
        }
        self.pending_from = self.pending_from.max(self.una);
        let found = self.pending.next_set(self.pending_from, self.nxt);
        self.pending_from = found.unwrap_or(self.nxt);
        found
    }

    /// Returns the number of consecutive pending packets from `seq` on, up to `most`.
    pub(crate) fn pending_run(&self, seq: u64, most: u32) -> u32 {
        let end = (seq + u64::from(most)).min(self.nxt);
        (self.pending.next_clear(seq, end).unwrap_or(end) - seq) as u32
    }

    /// Marks a packet SACKed and returns its marks before. The packet must be outstanding and not SACKed.
    pub(crate) fn sack(&mut self, seq: u64) -> u8 {
        let at = self.index(seq);
        let had = self.marks[at];
        debug_assert!(had & mark::SACKED == 0 && (self.una..self.nxt).contains(&seq));
        if had & mark::LOST != 0 {
            self.lost_out -= 1;
            if had & mark::RETRANS != 0 {
                self.retrans_out -= 1;
                self.marks[at] &= !mark::RETRANS;
            }
            self.marks[at] &= !mark::LOST;
            self.pending.clear(seq);
        }
        self.marks[at] |= mark::SACKED;
        self.sacked.set(seq);
        self.sacked_out += 1;
        self.fack = self.fack.max(seq + 1);
        had
    }

    /// Counts a duplicate ACK as a packet that has arrived, without SACK. Returns the number of packets newly
    /// counted, 1 or 0: the count cannot exceed the outstanding packets less the lost packets (Linux:
    /// tcp_add_reno_sack, tcp_limit_reno_sacked).
    pub(crate) fn add_dup_ack(&mut self) -> u32 {
        let prior = self.sacked_out;
        self.sacked_out += 1;
        self.dup_acks += 1;
        self.limit_dup_acks();
        self.sacked_out - prior.min(self.sacked_out)
    }

    /// Counts `acked` more acknowledged packets, without SACK. Duplicate ACKs have reported all of them but
    /// the hole. Returns the number of packets newly delivered.
    pub(crate) fn remove_dup_acks(&mut self, acked: u32) -> u32 {
        let delivered = acked.saturating_sub(self.dup_acks).max(1);
        self.set_dup_acks(self.dup_acks.saturating_sub(acked - 1));
        self.limit_dup_acks();
        delivered
    }

    pub(crate) fn set_dup_acks(&mut self, pkts: u32) {
        self.sacked_out = self.sacked_out - self.dup_acks + pkts;
        self.dup_acks = pkts;
    }

    fn limit_dup_acks(&mut self) {
        let out = self.packets_out();
        let holes = self.lost_out.max(1).min(out);
        self.set_dup_acks(self.dup_acks.min(out - holes));
    }

    /// Returns the first packet in `from..to` that has not been SACKed.
    pub(crate) fn next_unsacked(&self, from: u64, to: u64) -> Option<u64> {
        self.sacked.next_clear(from, to)
    }

    /// Records that a D-SACK reports an unnecessary retransmission, which is then not in flight any more.
    pub(crate) fn clear_retrans(&mut self, seq: u64) {
        let at = self.index(seq);
        if self.marks[at] & mark::RETRANS != 0 {
            self.marks[at] &= !mark::RETRANS;
            self.retrans_out -= 1;
            if self.marks[at] & (mark::LOST | mark::SACKED) == mark::LOST {
                self.set_pending(seq);
            }
        }
    }

    /// Removes all packets below `next`. The scoreboard must be clean, see [`Scoreboard::is_clean`].
    #[inline]
    pub(crate) fn ack_clean(&mut self, next: u64) {
        debug_assert!(self.is_clean() && next <= self.nxt);
        self.una = next;
        self.bursts.forget(next);
    }

    /// Removes the oldest packet and returns its marks.
    pub(crate) fn ack_one(&mut self) -> u8 {
        let seq = self.una;
        let at = self.index(seq);
        let had = self.marks[at];
        if had & mark::SACKED != 0 {
            self.sacked_out -= 1;
            self.sacked.clear(seq);
        }
        if had & mark::LOST != 0 {
            self.lost_out -= 1;
            self.pending.clear(seq);
        }
        if had & mark::RETRANS != 0 {
            self.retrans_out -= 1;
        }
        if had & mark::EVER_RETRANS != 0 {
            self.ever_retrans_out -= 1;
        }
        self.marks[at] = 0;
        self.una += 1;
        self.bursts.forget(self.una);
        had
    }

    /// Marks a packet or its retransmission lost. Returns false if the packet is SACKed or marked already.
    pub(crate) fn mark_lost(&mut self, seq: u64) -> bool {
        let at = self.index(seq);
        let had = self.marks[at];
        if had & mark::SACKED != 0 || had & (mark::LOST | mark::RETRANS) == mark::LOST {
            return false;
        }
        if had & mark::RETRANS != 0 {
            self.marks[at] &= !mark::RETRANS;
            self.retrans_out -= 1;
        }
        if had & mark::LOST == 0 {
            self.marks[at] |= mark::LOST;
            self.lost_out += 1;
        }
        self.lost_pkts = self.lost_pkts.wrapping_add(1);
        if let Some(losses) = &mut self.losses {
            losses.push(seq);
        }
        self.set_pending(seq);
        true
    }

    fn set_pending(&mut self, seq: u64) {
        self.pending.set(seq);
        self.pending_from = self.pending_from.min(seq);
    }

    /// Removes all LOST marks, since the losses were spurious.
    pub(crate) fn unmark_lost(&mut self) {
        for seq in self.una..self.nxt {
            let at = self.index(seq);
            self.marks[at] &= !mark::LOST;
        }
        self.pending.clear_all();
        self.lost_out = 0;
        self.first_sent_from = self.una;
    }

    /// Marks packets lost that were sent before `delivered` and are older than `age_us`. If packets sent
    /// before `delivered` are not old enough yet: returns the time until all of them are old enough, us.
    pub(crate) fn detect_lost(&mut self, delivered: Transmission, age_us: u64, now_us: u64) -> Option<u64> {
        let first = self.detect_lost_in_first_transmission(delivered, age_us, now_us);
        first.max(self.detect_lost_retransmissions(delivered, age_us, now_us))
    }

    /// Marks packets in their first transmission lost if `dup_thresh` higher packets were SACKed: IsLost() of
    /// RFC 6675.
    pub(crate) fn detect_lost_by_sacks(&mut self, dup_thresh: u64) {
        let Some(end) = self.sacked.nth_set_from_above(self.una, self.nxt, dup_thresh - 1) else { return };
        let mut seq = self.first_sent_from.max(self.una);
        while let Some(next) = self.sacked.next_clear(seq, end) {
            if self.marks(next) & (mark::LOST | mark::RETRANS) == 0 {
                self.mark_lost(next);
            }
            seq = next + 1;
        }
        self.first_sent_from = self.first_sent_from.max(end);
    }

    fn detect_lost_in_first_transmission(
        &mut self,
        delivered: Transmission,
        age_us: u64,
        now_us: u64,
    ) -> Option<u64> {
        let mut wait = None;
        let mut seq = self.first_sent_from.max(self.una);
        while let Some(next) = self.sacked.next_clear(seq, self.nxt) {
            seq = next;
            let sent_us = self.snapshot(seq).sent_us;
            let watched = self.marks(seq) & (mark::LOST | mark::EVER_RETRANS) == 0;
            if watched && (Transmission { sent_us, seq }) >= delivered {
                break;
            }
            if watched && sent_us + age_us > now_us {
                wait = wait.max(Some(sent_us + age_us - now_us));
            } else if watched {
                self.mark_lost(seq);
            }
            seq += 1;
            if wait.is_none() {
                self.first_sent_from = seq;
            }
        }
        wait
    }

    fn detect_lost_retransmissions(
        &mut self,
        delivered: Transmission,
        age_us: u64,
        now_us: u64,
    ) -> Option<u64> {
        let mut wait = None;
        let mut at = 0;
        while let Some(&sent) = self.retransmitted.get(at) {
            let Transmission { sent_us, seq } = sent;
            if sent >= delivered {
                break;
            }
            let stale = seq < self.una || self.is_out_of_watch(seq) || self.snapshot(seq).sent_us != sent_us;
            if !stale && sent_us + age_us > now_us {
                wait = wait.max(Some(sent_us + age_us - now_us));
                at += 1;
                continue;
            }
            if !stale {
                self.mark_lost(seq);
            }
            if at == 0 {
                self.retransmitted.pop_front();
            } else {
                at += 1;
            }
        }
        wait
    }

    /// True for a packet that is SACKed, or lost and not retransmitted: loss detection skips it. A tail loss
    /// probe is not skipped, although its packet is not marked lost.
    fn is_out_of_watch(&self, seq: u64) -> bool {
        let marks = self.marks(seq);
        marks & mark::SACKED != 0 || marks & (mark::LOST | mark::RETRANS) == mark::LOST
    }

    /// Marks packets lost after a timeout: the oldest packet, and every packet that is older than `age_us`.
    pub(crate) fn mark_lost_by_timeout(&mut self, age_us: u64, now_us: u64) {
        for seq in self.una..self.nxt {
            if seq == self.una || self.snapshot(seq).sent_us + age_us <= now_us {
                self.mark_lost(seq);
            }
        }
    }

    /// Recounts all packets and asserts that the counters agree. This is done on some ACKs only, since it is
    /// slow.
    #[cfg(debug_assertions)]
    pub(crate) fn check(&self) {
        let every = if self.packets_out() < 64 { 4 } else { 64 };
        if !self.una.is_multiple_of(every) {
            return;
        }
        let (mut sacked, mut lost, mut retrans, mut ever_retrans) = (0, 0, 0, 0);
        // In one pass: tests spend a seventh of their time here.
        for seq in self.una..self.nxt {
            let m = self.marks(seq);
            sacked += u32::from(m & mark::SACKED != 0);
            lost += u32::from(m & mark::LOST != 0);
            retrans += u32::from(m & mark::RETRANS != 0);
            ever_retrans += u32::from(m & mark::EVER_RETRANS != 0);
            let pending = m & (mark::LOST | mark::RETRANS) == mark::LOST;
            assert_eq!(self.pending.get(seq), pending, "packet {seq}");
            assert_eq!(self.sacked.get(seq), m & mark::SACKED != 0, "packet {seq}");
            assert!(!pending || seq >= self.pending_from, "packet {seq} is below the cursor");
            assert!(
                m & (mark::SACKED | mark::LOST) != mark::SACKED | mark::LOST,
                "packet {seq} is SACKed and lost"
            );
        }
        assert_eq!(self.sacked_out, sacked + self.dup_acks);
        assert_eq!((self.lost_out, self.retrans_out), (lost, retrans));
        assert_eq!(self.ever_retrans_out, ever_retrans);
    }
}
