//! Loss recovery: when it begins, what it sends, when it ends, and when it was all a mistake.
//!
//!   Open --SACKs--> Disorder --a packet is lost (RACK)--> Recovery --recovery point acknowledged--> Open
//!   any  --retransmission timeout--> Loss --recovery point acknowledged--> Open
//!   any  --loss repaired by a tail loss probe--> CWR --recovery point acknowledged--> Open
//!
//! (Linux: tcp_fastretrans_alert and what it calls; PRR is RFC 9937, F-RTO RFC 5682, undo RFC 3522 and RFC 3708.)

use fairpace_cc::{CaState, Event, INFINITE, Kind};

use super::Sender;
use super::ack::News;
use super::timers::Timer;
use crate::control::Control;
use crate::rack::Situation;
use crate::wire::timestamp_ms;
use crate::{Ack, Block, Nanos, US};

/// Duplicates from which a packet is lost where time does not tell, RFC 5681 and RFC 6675.
pub(super) const DUP_THRESH: u64 = 3;
/// Duplicate-ACK threshold, and the reordering assumed before any has been seen (Linux: tcp_reordering).
pub(super) const REORDERING_PKTS: u64 = 3;
/// Linux's tcp_max_reordering.
pub(super) const REORDERING_MAX_PKTS: u64 = 300;
/// The RACK timer waits this much longer than RACK asks (Linux: TCP_TIMEOUT_MIN_US).
pub(super) const TIMEOUT_MIN_US: u64 = 2_000;

/// A tail loss probe that is out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Probe {
    pub(super) high_seq: u64,
    /// It was an old packet sent again.
    pub(super) resent: bool,
    /// That packet was sent for the first time in an app-limited period.
    pub(super) app_limited: bool,
}

/// What recovery remembers.
#[derive(Debug, Clone)]
pub(super) struct Recovery {
    /// The recovery point: what was next to send when the current state began.
    pub(super) high_seq: u64,
    pub(super) prior_cwnd: u32,
    /// ssthresh to come back to; `None`: undo is impossible.
    prior_ssthresh: Option<u32>,
    /// Oldest packet when the reduction began that could be undone.
    pub(super) undo_marker: Option<u64>,
    /// Retransmissions since then of which no D-SACK has told; `None`: there were none.
    pub(super) undo_retrans: Option<u64>,
    /// Timestamp of the first retransmission of the episode.
    retrans_ms: Option<u32>,
    frto: bool,
    prr_delivered: u32,
    pub(super) prr_out: u32,
    pub(super) probe: Option<Probe>,
    pub(super) timeouts_in_a_row: u32,
    /// Blocks of the last ACK, which need not be looked at again.
    pub(super) sacks_seen: [Block; 3],
    pub(super) dsack_pkts: u64,
    pub(super) reordering_pkts: u64,
}

/// What may be sent after an ACK in recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resend {
    Nothing,
    /// Lost packets.
    Lost,
    /// New data first, to find out whether the timeout was spurious (F-RTO).
    New,
}

impl Recovery {
    pub(super) fn new() -> Self {
        Recovery {
            high_seq: 0,
            prior_cwnd: 0,
            prior_ssthresh: None,
            undo_marker: None,
            undo_retrans: None,
            retrans_ms: None,
            frto: false,
            prr_delivered: 0,
            prr_out: 0,
            probe: None,
            timeouts_in_a_row: 0,
            sacks_seen: [Block::NONE; 3],
            dsack_pkts: 0,
            reordering_pkts: REORDERING_PKTS,
        }
    }

    /// Counts a retransmission for undo.
    pub(super) fn on_resend(&mut self, sent: Nanos, pkts: u64) {
        self.retrans_ms.get_or_insert(timestamp_ms(sent));
        self.undo_retrans = Some(self.undo_retrans.unwrap_or(0) + pkts);
    }

    /// The ACK echoes a time before the first retransmission: the original was only late (Eifel, RFC 3522).
    fn original_was_late(&self, ack: &Ack) -> bool {
        self.retrans_ms.is_none_or(|first| (ack.echo_ms.wrapping_sub(first) as i32) < 0)
    }

    fn was_needless(&self, ack: &Ack) -> bool {
        self.undo_marker.is_some() && (self.undo_retrans == Some(0) || self.original_was_late(ack))
    }

    /// The reduction is called for, whatever comes.
    pub(super) fn forbid_undo(&mut self) {
        self.prior_ssthresh = None;
    }

    pub(super) fn end_frto(&mut self) {
        self.frto = false;
    }
}

impl<C: Control> Sender<C> {
    /// PRR is at work, or would be if the algorithm did not own cwnd.
    pub(super) fn in_cwnd_reduction(&self) -> bool {
        matches!(self.ca_state, CaState::Cwr | CaState::Recovery)
    }

    fn may_undo(&self, ack: &Ack) -> bool {
        self.config.undo && self.recovery.was_needless(ack)
    }

    /// Runs the state machine for an ACK. Linux: tcp_fastretrans_alert.
    pub(super) fn run_recovery(&mut self, now: Nanos, ack: &Ack, news: &mut News) -> Resend {
        let una = self.board.una();
        if news.ece {
            self.recovery.forbid_undo();
        }
        if self.ca_state == CaState::Open {
            self.recovery.retrans_ms = None;
        } else if una >= self.recovery.high_seq {
            match self.ca_state {
                CaState::Cwr if una != self.recovery.high_seq => {
                    self.end_cwnd_reduction(now);
                    self.set_ca_state(now, CaState::Open);
                }
                CaState::Recovery => {
                    if !self.config.sack {
                        self.board.set_dup_acks(0);
                    }
                    if !self.end_recovery(now, ack) {
                        return Resend::Nothing;
                    }
                    self.end_cwnd_reduction(now);
                }
                _ => {}
            }
        }
        match self.ca_state {
            CaState::Recovery => self.in_recovery(now, ack, news),
            CaState::Loss => self.in_loss(now, ack, news),
            _ => self.may_enter_recovery(now, news),
        }
    }

    fn in_recovery(&mut self, now: Nanos, ack: &Ack, news: &mut News) -> Resend {
        if !news.una_advanced() {
            self.take_dup_ack(news);
        } else if self.undo_partially(now, ack, news.prior_una) {
            return Resend::Nothing;
        }
        if self.undo_by_dsack(now) {
            self.try_to_open(now, news.ece);
        }
        self.detect_losses(now, news);
        if self.ca_state != CaState::Recovery {
            if self.board.lost_out() == 0 {
                return Resend::Nothing;
            }
            self.enter_recovery(now, news.ece);
        }
        Resend::Lost
    }

    /// After a timeout. Linux: tcp_process_loss.
    fn in_loss(&mut self, now: Nanos, ack: &Ack, news: &mut News) -> Resend {
        let resend = self.leave_loss(now, ack, news);
        self.detect_losses(now, news);
        if self.ca_state == CaState::Open || news.lost_retransmission {
            return self.may_enter_recovery_after_loss(now, news, resend);
        }
        resend
    }

    fn may_enter_recovery_after_loss(&mut self, now: Nanos, news: &mut News, resend: Resend) -> Resend {
        match self.may_enter_recovery(now, news) {
            Resend::Nothing => resend,
            more => more,
        }
    }

    fn leave_loss(&mut self, now: Nanos, ack: &Ack, news: &News) -> Resend {
        let recovered = self.board.una() >= self.recovery.high_seq;
        if news.una_advanced() && self.may_undo(ack) {
            self.undo_loss(now);
            return Resend::Nothing;
        }
        if self.recovery.frto {
            if news.original_delivered {
                self.undo_loss(now); // RFC 5682 step 3b: not all was lost
                return Resend::Nothing;
            }
            if self.board.nxt() > self.recovery.high_seq {
                if news.sacked_any || news.dup_ack || (self.config.sack && !news.una_advanced()) {
                    self.recovery.frto = false; // step 3a: the loss was real
                }
            } else if news.una_advanced() && !recovered {
                self.recovery.high_seq = self.board.nxt();
                if self.board.nxt() < self.send_end() {
                    return Resend::New; // step 2b
                }
                self.recovery.frto = false;
            }
        }
        if recovered {
            self.end_recovery(now, ack);
            return Resend::Nothing;
        }
        if news.una_advanced() && !self.config.sack {
            self.board.set_dup_acks(0);
        } else if self.board.nxt() > self.recovery.high_seq {
            self.take_dup_ack(news); // what was sent since the timeout arrives: it clocks out the rest
        }
        Resend::Lost
    }

    fn may_enter_recovery(&mut self, now: Nanos, news: &mut News) -> Resend {
        if !self.config.sack {
            if news.una_advanced() {
                self.board.set_dup_acks(0);
            }
            self.take_dup_ack(news);
        }
        if self.ca_state <= CaState::Disorder {
            self.undo_by_dsack(now);
        }
        self.detect_losses(now, news);
        if self.board.lost_out() == 0 {
            self.try_to_open(now, news.ece);
            return Resend::Nothing;
        }
        self.enter_recovery(now, news.ece);
        Resend::Lost
    }

    /// RACK marks what is lost; what may be lost soon is left to a timer. Linux: tcp_identify_packet_loss.
    fn detect_losses(&mut self, now: Nanos, news: &mut News) {
        if self.board.packets_out() == 0 {
            return;
        }
        if !self.config.sack || !self.config.rack {
            self.detect_losses_by_count(now, news);
            return;
        }
        if !self.rack.advanced {
            return;
        }
        self.rack.advanced = false;
        let prior_retrans = self.board.retrans_out();
        if self.mark_losses(now) {
            news.restart_timer = false;
        }
        news.lost_retransmission |= self.board.retrans_out() < prior_retrans;
    }

    fn detect_losses_by_count(&mut self, now: Nanos, news: &News) {
        if self.config.sack {
            self.board.detect_overtaken(DUP_THRESH);
        } else {
            self.detect_loss_by_dup_acks(news);
        }
        self.tell_losses(now);
    }

    /// True when the reordering timer was armed.
    pub(super) fn mark_losses(&mut self, now: Nanos) -> bool {
        let age_us = self.rack.age_us(&Situation {
            in_recovery: self.ca_state >= CaState::Recovery,
            dupthresh_reached: u64::from(self.board.sacked_out()) >= self.recovery.reordering_pkts,
            min_rtt_us: self.rtt.min_us(),
            srtt_us: self.rtt.srtt_us(),
        });
        let wait_us = self.board.detect_lost(self.rack.delivered(), age_us, now / US);
        self.tell_losses(now);
        if let Some(us) = wait_us {
            self.timer = Timer::Reordering(now + (us + TIMEOUT_MIN_US) * US);
        }
        wait_us.is_some()
    }

    pub(super) fn enter_recovery(&mut self, now: Nanos, ece: bool) {
        self.stats.recoveries += 1;
        if self.board.retrans_out() == 0 {
            self.recovery.retrans_ms = None;
        }
        self.recovery.prior_ssthresh = None;
        self.init_undo();
        if !self.in_cwnd_reduction() {
            self.recovery.prior_ssthresh = (!ece).then(|| self.current_ssthresh());
            self.begin_cwnd_reduction(now);
        }
        self.set_ca_state(now, CaState::Recovery);
    }

    fn init_undo(&mut self) {
        self.recovery.undo_marker = Some(self.board.una());
        self.recovery.undo_retrans = match self.board.retrans_out() {
            0 => None,
            n => Some(u64::from(n)),
        };
    }

    /// ssthresh as it would be restored: the window was at least three quarters useful (Linux: tcp_current_ssthresh).
    pub(super) fn current_ssthresh(&self) -> u32 {
        if self.in_cwnd_reduction() {
            return self.ssthresh;
        }
        self.ssthresh.max((self.cwnd >> 1) + (self.cwnd >> 2))
    }

    pub(super) fn begin_cwnd_reduction(&mut self, now: Nanos) {
        self.recovery.high_seq = self.board.nxt();
        self.recovery.probe = None;
        self.recovery.prior_cwnd = self.cwnd;
        self.recovery.prr_delivered = 0;
        self.recovery.prr_out = 0;
        self.tell(now, Event::Reduce);
        self.owe_cwr();
    }

    /// Proportional rate reduction: RFC 9937 section 6.2. Linux: tcp_cwnd_reduction.
    pub(super) fn reduce_cwnd(&mut self, acked_pkts: u32, lost_pkts: u32, una_advanced: bool) {
        if !self.config.prr {
            self.reduce_cwnd_at_once();
            return;
        }
        if acked_pkts == 0 || self.recovery.prior_cwnd == 0 {
            return;
        }
        let r = &mut self.recovery;
        let in_flight = i64::from(self.board.in_flight());
        r.prr_delivered += acked_pkts;
        let (delivered, out) = (i64::from(r.prr_delivered), i64::from(r.prr_out));
        let room = i64::from(self.ssthresh) - in_flight;
        let send = if room < 0 {
            // RecoverFS: the window before
            let whole = i64::from(self.ssthresh) * delivered;
            (whole + i64::from(r.prior_cwnd) - 1) / i64::from(r.prior_cwnd) - out
        } else {
            let safe = i64::from(una_advanced && lost_pkts == 0);
            ((delivered - out).max(i64::from(acked_pkts)) + safe).min(room)
        };
        let least = i64::from(out == 0); // the first retransmission always goes
        self.cwnd = (in_flight + send.max(least)).max(1) as u32;
    }

    /// RFC 5681 section 3.2, RFC 6675 section 5: cwnd is ssthresh from the first, and a first retransmission always
    /// goes.
    fn reduce_cwnd_at_once(&mut self) {
        // of a reduction that was taken back nothing is left but the state, and ssthresh may be without bound
        if self.ssthresh < INFINITE {
            self.cwnd = self.ssthresh.max(1);
        }
        if self.ca_state == CaState::Recovery && self.recovery.prr_out == 0 {
            self.cwnd = self.cwnd.max(self.board.in_flight() + 1);
        }
    }

    /// Linux: tcp_end_cwnd_reduction.
    fn end_cwnd_reduction(&mut self, now: Nanos) {
        if self.kind == Kind::OwnsCwnd {
            return;
        }
        if self.ssthresh < INFINITE && (self.ca_state == CaState::Cwr || self.recovery.undo_marker.is_some())
        {
            self.cwnd = self.ssthresh;
            self.cwnd_use.validated = now;
        }
    }

    /// The recovery point was acknowledged. Returns false when that is not enough. Linux: tcp_try_undo_recovery.
    fn end_recovery(&mut self, now: Nanos, ack: &Ack) -> bool {
        if self.may_undo(ack) {
            self.undo_reduction(now, false);
        } else {
            self.rack.reo_wnd_persist = self.rack.reo_wnd_persist.saturating_sub(1);
        }
        if !self.config.sack && self.board.una() == self.recovery.high_seq {
            // Duplicate ACKs may be of what was sent again needlessly: only an ACK beyond tells (RFC 6582 section 4.1).
            if !self.any_resent() {
                self.recovery.retrans_ms = None;
            }
            return false;
        }
        self.set_ca_state(now, CaState::Open);
        true
    }

    /// Linux: tcp_try_to_open and tcp_try_keep_open.
    fn try_to_open(&mut self, now: Nanos, ece: bool) {
        if !self.any_resent() {
            self.recovery.retrans_ms = None;
        }
        if ece {
            self.answer_mark(now);
        }
        if self.ca_state != CaState::Cwr {
            self.keep_open(now);
        }
    }

    fn any_resent(&self) -> bool {
        self.board.retrans_out() > 0
            || (self.board.packets_out() > 0
                && self.board.marks(self.board.una()) & crate::scoreboard::mark::EVER_RESENT != 0)
    }

    pub(super) fn keep_open(&mut self, now: Nanos) {
        let left_out = self.board.sacked_out() + self.board.lost_out();
        let state = if left_out > 0 || self.any_resent() { CaState::Disorder } else { CaState::Open };
        if state != self.ca_state {
            self.set_ca_state(now, state);
            self.recovery.high_seq = self.board.nxt();
        }
    }

    /// A hole was filled by a packet that was only late. True: wait for the rest without marking more.
    fn undo_partially(&mut self, now: Nanos, ack: &Ack, prior_una: u64) -> bool {
        if !self.config.undo || self.recovery.undo_marker.is_none() || !self.recovery.original_was_late(ack) {
            return false;
        }
        self.note_reordering(prior_una, self.board.fack());
        if self.board.retrans_out() > 0 {
            return true;
        }
        if !self.any_resent() {
            self.recovery.retrans_ms = None;
        }
        self.undo_reduction(now, true);
        self.keep_open(now);
        false
    }

    /// All retransmissions were reported as duplicates. Linux: tcp_try_undo_dsack.
    fn undo_by_dsack(&mut self, now: Nanos) -> bool {
        if !self.config.undo || self.recovery.undo_marker.is_none() || self.recovery.undo_retrans != Some(0) {
            return false;
        }
        self.rack.persist_longer();
        self.undo_reduction(now, false);
        true
    }

    fn undo_loss(&mut self, now: Nanos) {
        self.undo_reduction(now, true);
        self.recovery.timeouts_in_a_row = 0;
        self.set_ca_state(now, CaState::Open);
    }

    /// Linux: tcp_undo_cwnd_reduction.
    fn undo_reduction(&mut self, now: Nanos, unmark_lost: bool) {
        if unmark_lost {
            self.board.unmark_lost();
        }
        if self.config.undo {
            self.stats.undos += 1;
            if let Some(prior) = self.recovery.prior_ssthresh {
                self.tell(now, Event::Undo);
                if prior > self.ssthresh {
                    self.ssthresh = prior;
                    self.ecn.cwr_due = false; // Linux: tcp_ecn_withdraw_cwr
                }
            }
        }
        self.cwnd_use.validated = now;
        self.recovery.undo_marker = None;
        self.rack.advanced = true; // look for losses anew
    }

    pub(super) fn set_ca_state(&mut self, now: Nanos, state: CaState) {
        self.tell_state(now, state);
        self.ca_state = state;
    }

    /// A retransmission timeout: everything may be lost. Linux: tcp_enter_loss.
    pub(super) fn enter_loss(&mut self, now: Nanos) {
        let new_recovery = self.ca_state < CaState::Recovery;
        let by_time = self.config.sack && self.config.rack;
        self.board.set_dup_acks(0);
        self.board.mark_lost_by_timeout(if by_time { self.rack.rtt_us() } else { 0 }, now / US);
        self.tell_losses(now);
        let first_in_window = self.ca_state <= CaState::Disorder
            || self.recovery.high_seq <= self.board.una()
            || (self.ca_state == CaState::Loss && self.recovery.timeouts_in_a_row == 0);
        if first_in_window {
            self.recovery.prior_ssthresh = Some(self.current_ssthresh());
            self.recovery.prior_cwnd = self.cwnd;
            self.tell(now, Event::Reduce);
            self.init_undo();
        }
        self.cwnd = self.board.in_flight() + 1;
        self.cwnd_use.validated = now;
        if self.ca_state <= CaState::Disorder && u64::from(self.board.sacked_out()) >= REORDERING_PKTS {
            self.recovery.reordering_pkts = REORDERING_PKTS;
        }
        self.set_ca_state(now, CaState::Loss);
        self.recovery.high_seq = self.board.nxt();
        self.recovery.probe = None;
        self.owe_cwr();
        self.recovery.frto = self.config.frto && (new_recovery || self.recovery.timeouts_in_a_row > 0);
    }

    /// Was the loss that a tail loss probe repaired a real one? RFC 8985 section 7.4. Linux: tcp_process_tlp_ack.
    pub(super) fn on_probe_ack(&mut self, now: Nanos, ack: &Ack, news: &mut News) {
        let Some(probe) = self.recovery.probe else { return };
        if ack.next < probe.high_seq {
            return;
        }
        let both_arrived = news.dsack_of_probe || (!news.una_advanced() && !news.sacked_any);
        if !probe.resent || (ack.next == probe.high_seq && both_arrived) || news.dsack_of_probe {
            self.recovery.probe = None;
        } else if ack.next > probe.high_seq {
            // Only one of the two arrived, so a packet was lost. The event comes first, as CA_EVENT_TLP_RECOVERY does
            // in google/bbr v3.
            self.tell_probe_repaired(now, probe.app_limited);
            self.begin_cwnd_reduction(now);
            self.set_ca_state(now, CaState::Cwr);
            self.end_cwnd_reduction(now);
            self.keep_open(now);
        } else {
            news.probe_acked = true; // the original or the probe: later ACKs will tell
        }
    }
}
