//! What an ACK says about packets: the scoreboard, RACK's clock, RTT samples, the reference for the rate sample
//! (Linux: tcp_sacktag_write_queue, tcp_clean_rtx_queue, tcp_ack_update_rtt).

use super::Sender;
use crate::control::Control;
use crate::rate::{Reference, Snapshot};
use crate::scoreboard::mark;
use crate::wire::timestamp_ms;
use crate::{Ack, Block, Nanos, US};

/// What one ACK brought; Linux's flags of tcp_ack.
#[derive(Debug, Clone, Default)]
pub(super) struct News {
    /// The oldest unacknowledged packet before.
    pub(super) prior_una: u64,
    pub(super) reference: Reference,
    /// RTT of the newest packet delivered that was never sent again, for the algorithm.
    pub(super) rtt_us: Option<u64>,
    /// Packets acknowledged cumulatively.
    pub(super) acked_pkts: u32,
    pub(super) sacked_any: bool,
    /// Without SACK: a duplicate ACK.
    pub(super) dup_ack: bool,
    /// It echoes a congestion mark.
    pub(super) ece: bool,
    pub(super) dsack: bool,
    /// The D-SACK is for the tail loss probe.
    pub(super) dsack_of_probe: bool,
    /// Something sent before the recovery point was delivered in its first transmission.
    pub(super) original_delivered: bool,
    /// A retransmission was marked lost.
    pub(super) lost_retransmission: bool,
    pub(super) restart_timer: bool,
    /// It acknowledges up to a tail loss probe that was an old packet sent again, and no further.
    pub(super) probe_acked: bool,
    resent_acked: bool,
    /// Send times of packets in their first transmission: first and last that this ACK acknowledged or SACKed.
    acked_sent_us: Option<(u64, u64)>,
    sacked_sent_us: Option<(u64, u64)>,
    /// The lowest packet that arrived after a higher one, unless it was sent again.
    reordered_from: Option<u64>,
}

impl News {
    pub(super) fn una_advanced(&self) -> bool {
        self.acked_pkts > 0
    }

    /// True when recovery must look at the ACK although the state is Open (Linux: tcp_ack_is_dubious).
    pub(super) fn is_dubious(&self) -> bool {
        self.acked_pkts == 0 || self.sacked_any || self.dsack || self.ece
    }

    fn note_reordering(&mut self, seq: u64) {
        self.reordered_from = Some(self.reordered_from.map_or(seq, |low| low.min(seq)));
    }
}

fn extend(times: &mut Option<(u64, u64)>, sent_us: u64) {
    *times = Some((times.map_or(sent_us, |(first, _)| first), sent_us));
}

impl<C: Control> Sender<C> {
    /// Carries the ACK into the scoreboard and takes the RTT.
    pub(super) fn take_ack(&mut self, now: Nanos, ack: &Ack) -> News {
        let mut news = News { prior_una: self.board.una(), ece: ack.ece && self.ecn.on, ..News::default() };
        if ack.next > news.prior_una {
            self.recovery.timeouts_in_a_row = 0;
        }
        let prior_fack = self.board.fack();
        if !ack.blocks[0].is_empty() && self.config.sack {
            self.take_sacks(now, ack, &mut news);
        }
        self.take_cumulative_ack(now, ack, &mut news, prior_fack);
        self.take_rtt(now, ack, &mut news);
        self.sample_for_growth(now, &news);
        news
    }

    fn take_cumulative_ack(&mut self, now: Nanos, ack: &Ack, news: &mut News, prior_fack: u64) {
        while self.board.una() < ack.next {
            let seq = self.board.una();
            let snapshot = self.board.snapshot(seq);
            let had = self.board.ack_one();
            news.acked_pkts += 1;
            if had & mark::EVER_RESENT != 0 {
                news.resent_acked = true;
            } else if had & mark::SACKED == 0 {
                extend(&mut news.acked_sent_us, snapshot.sent_us);
                if seq < prior_fack {
                    news.note_reordering(seq);
                }
                news.original_delivered |= seq < self.recovery.high_seq;
            }
            if had & mark::SACKED == 0 {
                self.on_delivered(now, ack, news, seq, &snapshot, had);
            }
        }
        if news.acked_pkts > 0 && !self.config.sack {
            let delivered = self.board.remove_dup_acks(news.acked_pkts);
            self.rate.count(delivered, news.ece);
            // nobody can tell which copy of a packet made the ACK advance
            news.original_delivered &= !news.resent_acked;
        }
        if news.acked_pkts > 0 && news.reordered_from.is_some_and(|low| low < prior_fack) {
            self.note_reordering(news.reordered_from.unwrap_or(0), prior_fack);
        }
    }

    /// A packet was delivered that no earlier ACK had told of.
    fn on_delivered(
        &mut self,
        now: Nanos,
        ack: &Ack,
        news: &mut News,
        seq: u64,
        snapshot: &Snapshot,
        had: u8,
    ) {
        self.rate.on_delivered(&mut news.reference, snapshot, seq);
        if !self.config.sack {
            return; // counted with the duplicate ACKs
        }
        self.rate.count(1, news.ece);
        let resent = had & mark::EVER_RESENT != 0;
        // An echo from before the retransmission tells that the original arrived (Linux: tcp_skb_spurious_retrans).
        let spurious = resent && (ack.echo_ms.wrapping_sub(timestamp_ms(snapshot.sent_us * US)) as i32) < 0;
        if !spurious {
            self.rack.on_delivered(now / US, snapshot.sent_us, seq, resent, self.rtt.min_us());
        }
    }

    fn take_sacks(&mut self, now: Nanos, ack: &Ack, news: &mut News) {
        let nxt = self.board.nxt();
        let mut blocks = ack.blocks.map(|b| Block { start: b.start, end: b.end.min(nxt) });
        if is_duplicate(ack) {
            self.take_dsack(blocks[0], news);
            if blocks[0].end <= ack.next {
                blocks[0] = Block::NONE;
            }
        }
        // in order of sequence, as the RTT of the last packet is wanted
        blocks.sort_unstable_by_key(|b| b.start);
        let known = self.recovery.sacks_seen;
        for b in blocks.into_iter().filter(|b| !b.is_empty()) {
            let mut from = b.start.max(ack.next).max(self.board.una());
            if let Some(k) = known.iter().find(|k| k.start <= from && from < k.end) {
                from = k.end; // told before
            }
            self.take_sack(now, news, from, b.end);
        }
        self.recovery.sacks_seen = blocks;
        if let Some(low) = news.reordered_from {
            self.note_reordering(low, self.board.fack());
        }
    }

    fn take_sack(&mut self, now: Nanos, news: &mut News, from: u64, to: u64) {
        let mut seq = from;
        while seq < to {
            let Some(next) = self.board.next_unsacked(seq, to) else { return };
            seq = next;
            let snapshot = self.board.snapshot(seq);
            let fack = self.board.fack();
            let had = self.board.sack(seq);
            news.sacked_any = true;
            if had & mark::EVER_RESENT == 0 {
                if seq < fack {
                    news.note_reordering(seq);
                }
                news.original_delivered |= seq < self.recovery.high_seq;
                extend(&mut news.sacked_sent_us, snapshot.sent_us);
            }
            self.rate.count(1, news.ece);
            self.rate.on_delivered(&mut news.reference, &snapshot, seq);
            let resent = had & mark::EVER_RESENT != 0;
            self.rack.on_delivered(now / US, snapshot.sent_us, seq, resent, self.rtt.min_us());
            seq += 1;
        }
    }

    /// The receiver got something twice (RFC 2883; Linux: tcp_check_dsack, tcp_dsack_seen).
    fn take_dsack(&mut self, b: Block, news: &mut News) {
        let pkts = b.end - b.start;
        self.recovery.dsack_pkts += pkts;
        if self.recovery.dsack_pkts > self.stats.retransmitted_pkts {
            return; // the network duplicates
        }
        news.dsack = true;
        news.dsack_of_probe = self.recovery.probe.is_some_and(|p| p.resent && b.end == p.high_seq);
        if self.rack.reordering_seen && !news.dsack_of_probe {
            self.rack.dsack_seen = true;
        }
        for seq in b.start.max(self.board.una())..b.end.min(self.board.nxt()) {
            self.board.retract_resent(seq);
        }
        if self.recovery.undo_marker.is_some_and(|m| b.end > m) {
            self.recovery.undo_retrans = self.recovery.undo_retrans.map(|n| n.saturating_sub(pkts));
        }
    }

    /// A packet arrived after one that was sent `fack - low` later (Linux: tcp_check_sack_reordering).
    pub(super) fn note_reordering(&mut self, low: u64, fack: u64) {
        if low < fack {
            self.recovery.reordering_pkts =
                self.recovery.reordering_pkts.max((fack - low).min(super::recovery::REORDERING_MAX_PKTS));
            self.rack.reordering_seen = true;
        }
    }

    /// RTT by the times of sending; only if those are ambiguous (Karn) by the timestamp option.
    fn take_rtt(&mut self, now: Nanos, ack: &Ack, news: &mut News) {
        let now_us = now / US;
        let since = |sent_us: u64| now_us.saturating_sub(sent_us);
        let acked = news.acked_sent_us.filter(|_| !news.resent_acked);
        let mut smoothed = acked.map(|(first, _)| since(first));
        let mut newest = acked.map(|(_, last)| since(last));
        if let Some((first, last)) = news.sacked_sent_us {
            smoothed = smoothed.or(Some(since(first)));
            newest = Some(since(last));
        }
        if smoothed.is_none() && news.una_advanced() {
            smoothed = since_echo_us(now, ack.echo_ms);
            newest = smoothed;
        }
        news.rtt_us = newest;
        if let (Some(smoothed), Some(newest)) = (smoothed, newest) {
            self.rtt.sample_min(now, newest);
            self.rtt.sample(smoothed, self.board.una(), self.board.nxt());
        }
        news.restart_timer = news.una_advanced() || self.sack_restarts_timer(news);
    }

    /// SACKs push the timer back only while they are for data sent after the oldest packet was (re)sent.
    fn sack_restarts_timer(&self, news: &News) -> bool {
        let Some((first, _)) = news.sacked_sent_us else { return false };
        self.board.packets_out() > 0 && first < self.board.snapshot(self.board.una()).sent_us
    }
}

/// How long ago the echoed timestamp was, to a millisecond; `None` if it is in the future: what did not wait for the pacer bears the
/// time at which it would have left (Linux: tcp_rtt_tsopt_us).
fn since_echo_us(now: Nanos, echo_ms: u32) -> Option<u64> {
    const MS_US: u32 = 1000;
    let ms = timestamp_ms(now).wrapping_sub(echo_ms);
    (ms < i32::MAX as u32 / MS_US).then(|| u64::from(ms.max(1)) * u64::from(MS_US))
}

/// The first block is a D-SACK when it lies below the cumulative ACK or inside the second block (RFC 2883).
fn is_duplicate(ack: &Ack) -> bool {
    let [first, second, _] = ack.blocks;
    first.start < ack.next || (!second.is_empty() && second.contains(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_is_so_many_milliseconds_old_at_least_one_and_from_the_future_it_says_nothing() {
        let at = |ms: u64| ms * 1000 * US;
        assert_eq!(since_echo_us(at(500), timestamp_ms(at(430))), Some(70_000));
        assert_eq!(since_echo_us(at(500), timestamp_ms(at(500))), Some(1_000));
        assert_eq!(since_echo_us(at(500), timestamp_ms(at(501))), None);
        let wrapped = at(1 << 32);
        assert_eq!(since_echo_us(wrapped + at(5), timestamp_ms(wrapped - at(5))), Some(10_000));
    }
}
