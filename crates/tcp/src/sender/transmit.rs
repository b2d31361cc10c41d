//! Transmission: new data in bursts as cwnd, rwnd and the pacer allow; in recovery, lost packets first
//! (Linux: tcp_write_xmit, tcp_xmit_retransmit_queue, tcp_tso_should_defer). Queues below TCP in the host
//! (TSQ) are not modelled.

use fairpace_cc::{CaState, Event, Kind};

use super::PACING_SHIFT;
use super::Sender;
use super::state::{RecoveryAction, Timer};
use crate::control::Control;
use crate::time::{Nanos, US};
use crate::wire::{Segment, Wire};

/// Longest time since the last burst left after which a burst may be deferred: 1 ms (Linux:
/// tcp_tso_should_defer).
const DEFER_NS: Nanos = 1_000_000;
/// Divisor of cwnd: a burst of at least cwnd over this is never deferred (Linux: tcp_tso_win_divisor).
const DEFER_CWND_DIVISOR: u32 = 3;

/// The reason for which new data is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// Data that cwnd, rwnd and the pacer allow.
    Data,
    /// A tail loss probe: one burst, of one packet if cwnd is full.
    Probe,
}

impl<C: Control> Sender<C> {
    /// Sends new data if the application has written any and the pacer allows it now.
    #[inline]
    pub(super) fn transmit_new(&mut self, now: Nanos, wire: &mut impl Wire) {
        if self.board.nxt() >= self.send_end() {
            return;
        }
        if self.pacer.blocks(now) && self.board.in_flight() < self.cwnd {
            self.pacing_timer = self.pacer.departure();
            return;
        }
        self.transmit(now, Reason::Data, wire);
    }

    /// Sends new data (Linux: tcp_write_xmit).
    pub(super) fn transmit(&mut self, now: Nanos, reason: Reason, wire: &mut impl Wire) {
        let end = self.send_end();
        if self.board.nxt() >= end {
            return;
        }
        let burst = self.burst_pkts();
        let (mut sent, mut cwnd_limited) = (0, false);
        while self.board.nxt() < end {
            let mut quota = self.quota();
            if quota == 0 {
                if reason == Reason::Data {
                    break;
                }
                quota = 1;
            }
            if self.must_wait_for_pacer(now) {
                break;
            }
            quota = quota.min(burst);
            if reason == Reason::Data && self.defers(now, burst) {
                cwnd_limited = self.cwnd_room() < self.rwnd_room();
                break;
            }
            let pkts = u64::from(quota).min(end - self.board.nxt()) as u32;
            self.send_burst(now, pkts, wire);
            sent += pkts;
            if reason == Reason::Probe {
                break;
            }
        }
        cwnd_limited |= self.board.in_flight() >= self.cwnd;
        if sent > 0 || cwnd_limited {
            self.validate_cwnd(now, cwnd_limited);
        }
        if sent > 0 {
            if self.in_cwnd_reduction() {
                self.recovery.prr_out += sent;
            }
            if reason == Reason::Data {
                self.schedule_probe(now, false);
            }
        }
    }

    /// Returns the number of packets in a full TSO burst.
    fn burst_pkts(&self) -> u32 {
        if self.config.tso { self.pacer.burst_pkts(PACING_SHIFT, self.rtt.min_us()) } else { 1 }
    }

    /// Returns the number of packets that cwnd allows in one burst: at most half of cwnd, to keep two bursts
    /// in flight (Linux: tcp_cwnd_test).
    fn quota(&self) -> u32 {
        let in_flight = self.board.in_flight();
        if in_flight >= self.cwnd { 0 } else { (self.cwnd / 2).max(1).min(self.cwnd - in_flight) }
    }

    /// Room in cwnd, packets.
    fn cwnd_room(&self) -> u32 {
        self.cwnd.saturating_sub(self.board.in_flight())
    }

    /// Room in rwnd, packets.
    fn rwnd_room(&self) -> u32 {
        let room = self.rwnd_end.saturating_sub(self.board.nxt());
        u32::try_from(room).unwrap_or(u32::MAX)
    }

    /// True if the sender waits for the next ACK to send a full burst (Linux: tcp_tso_should_defer).
    fn defers(&self, now: Nanos, burst: u32) -> bool {
        if self.ca_state >= CaState::Recovery || now > self.pacer.departure() + DEFER_NS {
            return false;
        }
        let room = self.cwnd_room().min(self.rwnd_room());
        let most = self.cwnd.min(self.rwnd_room().saturating_add(self.board.packets_out()));
        if room >= burst || room >= most / DEFER_CWND_DIVISOR || self.board.packets_out() == 0 {
            return false;
        }
        // only if the next ACK is due within half an RTT and a millisecond
        let srtt_ns = self.rtt.srtt_us() * US;
        let ack_due = self.board.snapshot(self.board.una()).sent_us * US + srtt_ns;
        ack_due <= now + (srtt_ns / 2).min(DEFER_NS)
    }

    fn send_burst(&mut self, now: Nanos, pkts: u32, wire: &mut impl Wire) {
        let sent = self.depart(now, u64::from(pkts));
        let first = self.board.packets_out() == 0;
        let snapshot = self.rate.on_send(sent / US, first);
        let nxt = self.board.nxt();
        self.board.send(pkts, snapshot);
        let end = nxt + u64::from(pkts);
        let pushes = self.pushes(end, pkts);
        for seq in nxt..end {
            wire.send(Segment { push: pushes && seq + 1 == end, ..self.new_segment(seq, sent) });
        }
        self.stats.sent_pkts += u64::from(pkts);
        if first || matches!(self.timer, Timer::Probe(_)) {
            self.rearm_rto(now);
        }
    }

    /// True if the last packet of a burst that ends before `end` carries PSH. It does in a burst of several
    /// packets, so that the receiver's offloads do not wait (Linux: __tcp_transmit_skb), and at the end of
    /// the data that the application has written (Linux: tcp_push). If a part of the data waits, the PSH
    /// waits with it (Linux: tso_fragment).
    fn pushes(&self, end: u64, pkts: u32) -> bool {
        pkts > 1 || (end == self.written && !self.has_part)
    }

    /// Schedules a burst with the pacer and notifies the algorithm when transmission resumes (Linux:
    /// tcp_event_data_sent). Returns the time of sending.
    fn depart(&mut self, now: Nanos, pkts: u64) -> Nanos {
        if self.board.in_flight() == 0 {
            self.notify(now, Event::Restart);
        }
        let sent = self.pacer.schedule(now, pkts);
        self.last_sent = sent;
        sent
    }

    /// Retransmits `pkts` lost packets from `seq` on (Linux: tcp_retransmit_skb).
    pub(super) fn retransmit(&mut self, now: Nanos, seq: u64, pkts: u32, wire: &mut impl Wire) {
        let sent = self.depart(now, u64::from(pkts));
        let end = seq + u64::from(pkts);
        let pushes = self.pushes(end, pkts);
        for seq in seq..end {
            let snapshot = self.rate.on_send(sent / US, false);
            self.board.retransmit(seq, snapshot);
            wire.send(Segment { push: pushes && seq + 1 == end, ..self.retransmitted_segment(seq, sent) });
        }
        self.stats.sent_pkts += u64::from(pkts);
        self.stats.retransmitted_pkts += u64::from(pkts);
        self.recovery.on_retransmit(sent, u64::from(pkts));
    }

    /// Sends the last packet again. It is not marked lost: the counts of packets in flight, undo and the time
    /// of the first retransmission do not include it (Linux: __tcp_retransmit_skb).
    pub(super) fn send_last_again(&mut self, now: Nanos, wire: &mut impl Wire) {
        let (seq, sent) = (self.board.nxt() - 1, self.depart(now, 1));
        let snapshot = self.rate.on_send(sent / US, false);
        self.board.send_again(seq, snapshot);
        wire.send(Segment { push: self.pushes(seq + 1, 1), ..self.retransmitted_segment(seq, sent) });
        self.stats.sent_pkts += 1;
        self.stats.retransmitted_pkts += 1;
    }

    /// Retransmits lost packets, lowest first (Linux: tcp_xmit_retransmit_queue).
    pub(super) fn transmit_lost(&mut self, now: Nanos, wire: &mut impl Wire) {
        if self.board.packets_out() == 0 {
            return;
        }
        let burst = self.burst_pkts();
        let mut restart = false;
        while self.board.in_flight() < self.cwnd {
            let room = (self.cwnd - self.board.in_flight()).min(burst);
            let Some(seq) = self.board.next_pending() else { break };
            if self.must_wait_for_pacer(now) {
                break;
            }
            let pkts = self.board.pending_run(seq, room);
            self.retransmit(now, seq, pkts, wire);
            if self.in_cwnd_reduction() {
                self.recovery.prr_out += pkts;
            }
            restart |= seq == self.board.una() && !matches!(self.timer, Timer::Reordering(_));
        }
        if restart {
            self.restart_rto(now);
        }
    }

    /// Transmits after an ACK in recovery (Linux: tcp_xmit_recovery).
    pub(super) fn transmit_recovery(&mut self, now: Nanos, action: RecoveryAction, wire: &mut impl Wire) {
        match action {
            RecoveryAction::None => return,
            RecoveryAction::RetransmitLost => {}
            RecoveryAction::SendNew => {
                self.transmit_new(now, wire);
                if self.board.nxt() > self.recovery.high_seq {
                    return;
                }
                self.recovery.end_frto();
            }
        }
        self.transmit_lost(now, wire);
    }

    /// True if the pacer does not allow to send now; arms the pacing timer then.
    fn must_wait_for_pacer(&mut self, now: Nanos) -> bool {
        let blocked = self.pacer.blocks(now);
        if blocked {
            self.pacing_timer = self.pacer.departure();
        }
        blocked
    }

    /// Transmits when the pacing timer expires (Linux: tcp_tsq_write).
    pub(super) fn transmit_after_pacing(&mut self, now: Nanos, wire: &mut impl Wire) {
        if self.board.lost_out() > self.board.retrans_out() && self.board.in_flight() < self.cwnd {
            self.transmit_lost(now, wire);
        }
        self.transmit_new(now, wire);
    }

    /// Records how much of cwnd is used, RFC 2861 (Linux: tcp_cwnd_validate).
    fn validate_cwnd(&mut self, now: Nanos, cwnd_limited: bool) {
        let u = &mut self.cwnd_use;
        let packets_out = self.board.packets_out();
        if self.board.una() >= u.until
            || cwnd_limited
            || (!u.is_cwnd_limited && packets_out > u.max_packets_out)
        {
            u.is_cwnd_limited = cwnd_limited;
            u.max_packets_out = packets_out;
            u.until = self.board.nxt();
        }
        if self.kind == Kind::GrowsCwnd {
            self.shrink_unused_cwnd(now);
        }
    }

    /// Halves the unused part of a cwnd that was not full for an RTO. Every ACK on which the algorithm may
    /// grow cwnd restarts this time, so a sender whose ACKs come in time keeps its cwnd, however little of it
    /// the application uses (Linux: tcp_cwnd_validate and tcp_cwnd_application_limited; tcp_cong_avoid sets
    /// snd_cwnd_stamp).
    fn shrink_unused_cwnd(&mut self, now: Nanos) {
        let u = &mut self.cwnd_use;
        let slow_start = self.cwnd < self.ssthresh;
        if u.is_cwnd_limited || (slow_start && self.cwnd < 2 * u.max_packets_out) {
            (u.used_pkts, u.validated) = (0, now);
            return;
        }
        u.used_pkts = u.used_pkts.max(self.board.packets_out());
        if !self.config.idle_restart || now < u.validated + self.rtt.rto_ns() {
            return;
        }
        u.validated = now;
        // With unsent data, the application is not the limit (Linux: SOCK_NOSPACE).
        if self.ca_state != CaState::Open || self.board.nxt() < self.written {
            return;
        }
        let used = std::mem::take(&mut u.used_pkts).max(self.config.initial_cwnd_pkts.max(1));
        if used < self.cwnd {
            self.ssthresh = self.current_ssthresh();
            self.cwnd = (self.cwnd + used) / 2;
        }
    }

    /// Reduces cwnd after an idle time, RFC 2861 (Linux: tcp_slow_start_after_idle_check, tcp_cwnd_restart).
    pub(super) fn restart_after_idle(&mut self, now: Nanos) {
        let off = !self.config.idle_restart || self.kind == Kind::OwnsCwnd;
        if off || self.board.packets_out() > 0 || self.last_sent == 0 {
            return;
        }
        let rto = self.rtt.rto_ns();
        let mut idle = now.saturating_sub(self.last_sent);
        if idle <= rto {
            return;
        }
        self.ssthresh = self.current_ssthresh();
        let least = self.config.initial_cwnd_pkts.max(1).min(self.cwnd);
        while idle > rto && self.cwnd > least {
            self.cwnd = (self.cwnd / 2).max(least);
            idle -= rto;
        }
        (self.cwnd_use.used_pkts, self.cwnd_use.validated) = (0, now);
    }
}
