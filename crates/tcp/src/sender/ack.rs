//! Processing of an ACK's report on packets: scoreboard, RACK's newest delivery, RTT samples, the reference
//! of the delivery rate sample (Linux: tcp_sacktag_write_queue, tcp_clean_rtx_queue, tcp_ack_update_rtt).

use super::Sender;
use super::state::{AckInfo, Delivered, REORDERING_MAX_PKTS, SentTimes};
use crate::control::Control;
use crate::rtt::since_echo_us;
use crate::scoreboard::{Transmission, mark};
use crate::time::{Nanos, US};
use crate::wire::{Ack, Block, timestamp_ms};

impl<C: Control> Sender<C> {
    /// Applies the ACK to the scoreboard and samples the RTT.
    pub(super) fn process_ack(&mut self, now: Nanos, ack: &Ack, rwnd_opened: bool) -> AckInfo {
        let ece = ack.ece && self.ecn.is_on();
        let mut info = AckInfo { prior_una: self.board.una(), rwnd_opened, ece, ..AckInfo::default() };
        let (prior_delivered, prior_out) = (self.rate.delivered_pkts, self.board.packets_out());
        if ack.next > info.prior_una {
            self.recovery.timeouts_in_a_row = 0;
        }
        let prior_fack = self.board.fack();
        if !ack.blocks[0].is_empty() && self.config.sack {
            self.process_sacks(now, ack, &mut info);
        }
        self.process_cumulative_ack(now, ack, &mut info, prior_fack);
        info.ece |= self.count_marks(ack, self.rate.delivered_pkts.wrapping_sub(prior_delivered));
        self.sample_rtt(now, ack, &mut info);
        if prior_out > 0 {
            self.sample_for_growth(now, &info);
        }
        info
    }

    fn process_cumulative_ack(&mut self, now: Nanos, ack: &Ack, info: &mut AckInfo, prior_fack: u64) {
        while self.board.una() < ack.next {
            let seq = self.board.una();
            let snapshot = self.board.snapshot(seq);
            let had = self.board.ack_one();
            let retransmitted = had & mark::EVER_RETRANS != 0;
            info.acked_pkts += 1;
            if retransmitted {
                info.retransmitted_acked = true;
            } else if had & mark::SACKED == 0 {
                SentTimes::extend(&mut info.acked_sent, snapshot.sent_us);
                if seq < prior_fack {
                    info.note_reordering(seq);
                }
                info.original_delivered |= seq < self.recovery.high_seq;
            }
            if had & mark::SACKED == 0 {
                self.on_cumulatively_delivered(now, ack, info, Delivered { seq, snapshot, retransmitted });
            }
        }
        if info.acked_pkts > 0 && !self.config.sack {
            let delivered = self.board.remove_dup_acks(info.acked_pkts);
            self.rate.count(delivered, info.ece);
            // without SACK, it is unknown which copy of a packet advanced the ACK
            info.original_delivered &= !info.retransmitted_acked;
        }
        if info.acked_pkts > 0 && info.reordered_from.is_some_and(|low| low < prior_fack) {
            self.note_reordering(info.reordered_from.unwrap_or(0), prior_fack);
        }
    }

    /// Records that the cumulative ACK delivers a packet that no earlier ACK has SACKed.
    fn on_cumulatively_delivered(&mut self, now: Nanos, ack: &Ack, info: &mut AckInfo, packet: Delivered) {
        let Delivered { seq, snapshot, retransmitted } = packet;
        self.rate.on_delivered(&mut info.reference, &snapshot, seq);
        if !self.config.sack {
            return; // counted with the duplicate ACKs
        }
        self.rate.count(1, info.ece);
        // An echo from before the retransmission means that the original arrived (Linux:
        // tcp_skb_spurious_retrans).
        let sent_ms = timestamp_ms(snapshot.sent_us * US);
        let spurious = retransmitted && (ack.echo_ms.wrapping_sub(sent_ms) as i32) < 0;
        if !spurious {
            let sent = Transmission { sent_us: snapshot.sent_us, seq };
            self.rack.on_delivered(now / US, sent, retransmitted, self.rtt.min_us());
        }
    }

    fn process_sacks(&mut self, now: Nanos, ack: &Ack, info: &mut AckInfo) {
        let nxt = self.board.nxt();
        let mut blocks = ack.blocks.map(|b| Block { start: b.start, end: b.end.min(nxt) });
        if has_dsack(ack) {
            self.process_dsack(blocks[0], info);
            if blocks[0].end <= ack.next {
                blocks[0] = Block::NONE;
            }
        }
        // in order of sequence, since the RTT sample is of the highest packet
        blocks.sort_unstable_by_key(|b| b.start);
        let known = self.recovery.last_sacks;
        for b in blocks.into_iter().filter(|b| !b.is_empty()) {
            let mut from = b.start.max(ack.next).max(self.board.una());
            if let Some(k) = known.iter().find(|k| k.start <= from && from < k.end) {
                from = k.end; // processed with the last ACK
            }
            self.process_sack_block(now, info, from, b.end);
        }
        self.recovery.last_sacks = blocks;
        if let Some(low) = info.reordered_from {
            self.note_reordering(low, self.board.fack());
        }
    }

    fn process_sack_block(&mut self, now: Nanos, info: &mut AckInfo, from: u64, to: u64) {
        let mut seq = from;
        while seq < to {
            let Some(next) = self.board.next_unsacked(seq, to) else { return };
            seq = next;
            let snapshot = self.board.snapshot(seq);
            let fack = self.board.fack();
            let had = self.board.sack(seq);
            let retransmitted = had & mark::EVER_RETRANS != 0;
            info.sacked_any = true;
            if !retransmitted {
                if seq < fack {
                    info.note_reordering(seq);
                }
                info.original_delivered |= seq < self.recovery.high_seq;
                SentTimes::extend(&mut info.sacked_sent, snapshot.sent_us);
            }
            self.rate.count(1, info.ece);
            self.rate.on_delivered(&mut info.reference, &snapshot, seq);
            let sent = Transmission { sent_us: snapshot.sent_us, seq };
            self.rack.on_delivered(now / US, sent, retransmitted, self.rtt.min_us());
            seq += 1;
        }
    }

    /// Processes a D-SACK: the receiver got a packet twice, so another packet was delivered (RFC 2883; Linux:
    /// tcp_check_dsack, tcp_dsack_seen).
    fn process_dsack(&mut self, b: Block, info: &mut AckInfo) {
        let pkts = b.end - b.start;
        info.dsack_of_probe = pkts == 1 && self.recovery.probe.is_some_and(|p| b.end == p.high_seq);
        self.recovery.dsack_pkts += pkts;
        if self.recovery.dsack_pkts > self.stats.retransmitted_pkts {
            return; // the network duplicates packets
        }
        info.dsack = true;
        self.rate.count(pkts as u32, info.ece);
        if self.rack.reordering_seen && !info.dsack_of_probe {
            self.rack.dsack_seen = true;
        }
        let una = self.board.una();
        let mut retransmitted = if b.end <= una { pkts } else { 0 };
        for seq in b.start.max(una)..b.end.min(self.board.nxt()) {
            retransmitted += u64::from(self.board.marks(seq) & mark::EVER_RETRANS != 0);
            self.board.clear_retrans(seq);
        }
        if self.recovery.undo_marker.is_some_and(|m| b.end > m) {
            self.recovery.undo_retrans = self.recovery.undo_retrans.map(|n| n.saturating_sub(retransmitted));
        }
    }

    /// Records that packet `low` arrived after a higher packet: `fack` is one past the highest packet SACKed
    /// before (Linux: tcp_check_sack_reordering).
    pub(super) fn note_reordering(&mut self, low: u64, fack: u64) {
        if low < fack {
            let pkts = (fack - low).min(REORDERING_MAX_PKTS);
            self.recovery.reordering_pkts = self.recovery.reordering_pkts.max(pkts);
            self.rack.reordering_seen = true;
        }
    }

    /// Samples the RTT from times of sending, or by the timestamp option where these times are ambiguous
    /// (Karn's algorithm, RFC 6298, section 3).
    fn sample_rtt(&mut self, now: Nanos, ack: &Ack, info: &mut AckInfo) {
        let now_us = now / US;
        let since = |sent_us: u64| now_us.saturating_sub(sent_us);
        let acked = info.acked_sent.filter(|_| !info.retransmitted_acked);
        let mut smoothed = acked.map(|sent| since(sent.first_us));
        let mut newest = acked.map(|sent| since(sent.last_us));
        if let Some(sent) = info.sacked_sent {
            smoothed = smoothed.or(Some(since(sent.first_us)));
            newest = Some(since(sent.last_us));
        }
        if smoothed.is_none() && info.una_advanced() {
            smoothed = since_echo_us(now, ack.echo_ms);
            newest = smoothed;
        }
        info.rtt_us = newest;
        if let (Some(smoothed), Some(newest)) = (smoothed, newest) {
            self.rtt.sample_min(now, newest);
            self.rtt.sample(smoothed, self.board.una(), self.board.nxt());
        }
        info.restart_timer = info.una_advanced() || self.sack_restarts_timer(info);
    }

    /// True if the ACK SACKs a packet that was sent before the last transmission of the oldest packet. SACKs
    /// of later packets do not restart the timer, since they would postpone the RTO throughout recovery.
    fn sack_restarts_timer(&self, info: &AckInfo) -> bool {
        let Some(sent) = info.sacked_sent else { return false };
        self.board.packets_out() > 0 && sent.first_us < self.board.snapshot(self.board.una()).sent_us
    }
}

/// True if the first block is a D-SACK: it lies below the cumulative ACK or inside the second block (RFC
/// 2883).
fn has_dsack(ack: &Ack) -> bool {
    let [first, second, _] = ack.blocks;
    first.start < ack.next || (!second.is_empty() && second.contains(first))
}
