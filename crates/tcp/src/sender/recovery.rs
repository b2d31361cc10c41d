//! Loss recovery: its begin, its transmissions, its end, and undo.
//!
//!   Open --SACKs--> Disorder --a packet is lost (RACK)--> Recovery --recovery point acknowledged--> Open
//!   any  --retransmission timeout--> Loss --recovery point acknowledged--> Open
//!   any  --loss repaired by a tail loss probe--> CWR --recovery point acknowledged--> Open
//!
//! (Linux: tcp_fastretrans_alert and the functions that it calls; PRR is RFC 9937, F-RTO RFC 5682, undo RFC
//! 3522 and RFC 3708.)

use fairpace_cc::{CaState, Event, INFINITE, Kind};

use super::Sender;
use super::state::{AckInfo, DUP_THRESH, REORDERING_PKTS, RecoveryAction, TIMEOUT_MIN_US, Timer};
use crate::control::Control;
use crate::rack::ReoWndInput;
use crate::time::{Nanos, US, expiry, jiffies};
use crate::wire::Ack;

impl<C: Control> Sender<C> {
    /// True in CWR and Recovery: PRR controls cwnd, unless the algorithm owns it.
    pub(super) fn in_cwnd_reduction(&self) -> bool {
        matches!(self.ca_state, CaState::Cwr | CaState::Recovery)
    }

    /// True if the retransmissions were spurious (Linux: tcp_may_undo).
    fn may_undo(&self, ack: &Ack) -> bool {
        self.config.undo
            && self.recovery.undo_marker.is_some()
            && (self.recovery.undo_retrans == Some(0) || self.packet_was_delayed(ack))
    }

    /// True if the ACK echoes a time before the first retransmission, or nothing was retransmitted: the
    /// original was delayed, not lost (Eifel, RFC 3522). Without SACK, this time is cleared at the recovery
    /// point, so there the answer is unknown (Linux: tcp_packet_delayed).
    fn packet_was_delayed(&self, ack: &Ack) -> bool {
        match self.recovery.retrans_ms {
            Some(first) => (ack.echo_ms.wrapping_sub(first) as i32) < 0,
            None => self.config.sack || self.board.una() < self.recovery.high_seq,
        }
    }

    /// Runs the state machine for an ACK (Linux: tcp_fastretrans_alert).
    pub(super) fn run_recovery(&mut self, now: Nanos, ack: &Ack, info: &mut AckInfo) -> RecoveryAction {
        let una = self.board.una();
        if info.ece {
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
                        return RecoveryAction::None;
                    }
                    self.end_cwnd_reduction(now);
                }
                _ => {}
            }
        }
        match self.ca_state {
            CaState::Recovery => self.in_recovery(now, ack, info),
            CaState::Loss => self.in_loss(now, ack, info),
            _ => self.may_enter_recovery(now, info),
        }
    }

    fn in_recovery(&mut self, now: Nanos, ack: &Ack, info: &mut AckInfo) -> RecoveryAction {
        if !info.una_advanced() {
            self.process_dup_ack(info);
        } else if self.undo_partially(now, ack, info.prior_una) {
            return RecoveryAction::None;
        }
        if self.undo_by_dsack(now) {
            self.try_to_open(now, info.ece);
        }
        self.detect_losses(now, info);
        if self.ca_state != CaState::Recovery {
            if self.board.lost_out() == 0 {
                return RecoveryAction::None;
            }
            self.enter_recovery(now, info.ece);
        }
        RecoveryAction::RetransmitLost
    }

    /// Processes an ACK after a timeout (Linux: tcp_process_loss).
    fn in_loss(&mut self, now: Nanos, ack: &Ack, info: &mut AckInfo) -> RecoveryAction {
        let action = self.leave_loss(now, ack, info);
        self.detect_losses(now, info);
        if self.ca_state == CaState::Open || info.lost_retransmission {
            return self.may_enter_recovery_after_loss(now, info, action);
        }
        action
    }

    fn may_enter_recovery_after_loss(
        &mut self,
        now: Nanos,
        info: &mut AckInfo,
        action: RecoveryAction,
    ) -> RecoveryAction {
        match self.may_enter_recovery(now, info) {
            RecoveryAction::None => action,
            more => more,
        }
    }

    fn leave_loss(&mut self, now: Nanos, ack: &Ack, info: &AckInfo) -> RecoveryAction {
        let recovered = self.board.una() >= self.recovery.high_seq;
        if info.una_advanced() && self.may_undo(ack) {
            self.undo_loss(now, false);
            return RecoveryAction::None;
        }
        if self.recovery.frto {
            if info.original_delivered {
                self.undo_loss(now, true); // RFC 5682, step 3b: a packet of before the timeout arrived
                return RecoveryAction::None;
            }
            if self.board.nxt() > self.recovery.high_seq {
                if info.sacked_any || info.is_dup_ack() {
                    self.recovery.frto = false; // step 3a: the loss was real
                }
            } else if info.una_advanced() && !recovered {
                self.recovery.high_seq = self.board.nxt();
                if self.board.nxt() < self.send_end() {
                    return RecoveryAction::SendNew; // step 2b
                }
                self.recovery.frto = false;
            }
        }
        if recovered {
            self.end_recovery(now, ack);
            return RecoveryAction::None;
        }
        if info.una_advanced() && !self.config.sack {
            self.board.set_dup_acks(0);
        } else if self.board.nxt() > self.recovery.high_seq {
            self.process_dup_ack(info); // packets sent since the timeout arrive and clock out the rest
        }
        RecoveryAction::RetransmitLost
    }

    fn may_enter_recovery(&mut self, now: Nanos, info: &mut AckInfo) -> RecoveryAction {
        if !self.config.sack {
            if info.una_advanced() {
                self.board.set_dup_acks(0);
            }
            self.process_dup_ack(info);
        }
        if self.ca_state <= CaState::Disorder {
            self.undo_by_dsack(now);
        }
        self.detect_losses(now, info);
        if self.board.lost_out() == 0 {
            self.try_to_open(now, info.ece);
            return RecoveryAction::None;
        }
        self.enter_recovery(now, info.ece);
        RecoveryAction::RetransmitLost
    }

    /// Marks lost packets by RACK, or by count (Linux: tcp_identify_packet_loss).
    fn detect_losses(&mut self, now: Nanos, info: &mut AckInfo) {
        if self.board.packets_out() == 0 {
            return;
        }
        if !self.config.sack || !self.config.rack {
            self.detect_losses_by_count(now, info);
            return;
        }
        if !self.rack.advanced {
            return;
        }
        self.rack.advanced = false;
        let prior_retrans = self.board.retrans_out();
        if self.mark_losses(now) {
            info.restart_timer = false;
        }
        info.lost_retransmission |= self.board.retrans_out() < prior_retrans;
    }

    fn detect_losses_by_count(&mut self, now: Nanos, info: &AckInfo) {
        if self.config.sack {
            self.board.detect_lost_by_sacks(DUP_THRESH);
        } else {
            self.detect_loss_by_dup_acks(info);
        }
        self.notify_losses(now);
    }

    /// Marks lost packets by RACK. Returns true if packets may be lost soon: then the reordering timer is
    /// armed.
    pub(super) fn mark_losses(&mut self, now: Nanos) -> bool {
        let age_us = self.rack.age_us(&ReoWndInput {
            in_recovery: self.ca_state >= CaState::Recovery,
            dupthresh_reached: u64::from(self.board.sacked_out()) >= self.recovery.reordering_pkts,
            min_rtt_us: self.rtt.min_us(),
            srtt_us: self.rtt.srtt_us(),
        });
        let wait_us = self.board.detect_lost(self.rack.delivered(), age_us, now / US);
        self.notify_losses(now);
        if let Some(us) = wait_us {
            self.timer = Timer::Reordering(expiry(now, jiffies(us + TIMEOUT_MIN_US)));
        }
        wait_us.is_some()
    }

    pub(super) fn enter_recovery(&mut self, now: Nanos, ece: bool) {
        self.stats.recoveries += 1;
        self.forget_retrans_time();
        self.recovery.prior_ssthresh = None;
        self.init_undo();
        if !self.in_cwnd_reduction() {
            self.recovery.prior_ssthresh = (!ece).then(|| self.current_ssthresh());
            self.begin_cwnd_reduction(now);
        }
        self.set_ca_state(now, CaState::Recovery);
    }

    /// Makes undo possible from here on. Retransmissions in flight may cause D-SACKs, a probe too (Linux:
    /// tcp_init_undo).
    fn init_undo(&mut self) {
        let probes = u64::from(self.recovery.probe.is_some_and(|probe| probe.retransmitted));
        self.recovery.undo_marker = Some(self.board.una());
        self.recovery.undo_retrans = Some(u64::from(self.board.retrans_out()) + probes).filter(|n| *n > 0);
    }

    /// Returns the ssthresh that undo restores: at least three quarters of cwnd (Linux:
    /// tcp_current_ssthresh).
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
        self.notify(now, Event::Reduce);
        self.set_cwr_due();
    }

    /// Reduces cwnd by proportional rate reduction, RFC 9937, section 6.2 (Linux: tcp_cwnd_reduction).
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
            // RecoverFS is the prior cwnd, as in Linux
            let whole = i64::from(self.ssthresh) * delivered;
            (whole + i64::from(r.prior_cwnd) - 1) / i64::from(r.prior_cwnd) - out
        } else {
            let safe = i64::from(una_advanced && lost_pkts == 0);
            ((delivered - out).max(i64::from(acked_pkts)) + safe).min(room)
        };
        let least = i64::from(out == 0); // the first retransmission is always sent
        self.cwnd = (in_flight + send.max(least)).max(1) as u32;
    }

    /// Reduces cwnd without PRR: cwnd is ssthresh at once, and the first retransmission is always sent (RFC
    /// 5681, section 3.2; RFC 6675, section 5).
    fn reduce_cwnd_at_once(&mut self) {
        // after undo the state stays, and ssthresh may be infinite
        if self.ssthresh < INFINITE {
            self.cwnd = self.ssthresh.max(1);
        }
        if self.ca_state == CaState::Recovery && self.recovery.prr_out == 0 {
            self.cwnd = self.cwnd.max(self.board.in_flight() + 1);
        }
    }

    /// Ends a reduction of cwnd (Linux: tcp_end_cwnd_reduction).
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

    /// Processes an ACK of the recovery point. Returns false if recovery continues (Linux:
    /// tcp_try_undo_recovery).
    fn end_recovery(&mut self, now: Nanos, ack: &Ack) -> bool {
        if self.may_undo(ack) {
            self.undo_reduction(now, false);
        } else {
            self.rack.reo_wnd_persist = self.rack.reo_wnd_persist.saturating_sub(1);
        }
        if self.must_wait_beyond() {
            return false;
        }
        self.set_ca_state(now, CaState::Open);
        true
    }

    /// True if the state stays until an ACK beyond the recovery point, as without SACK: duplicate ACKs may
    /// come from unnecessary retransmissions (RFC 6582, section 4.1; Linux:
    /// tcp_is_non_sack_preventing_reopen).
    fn must_wait_beyond(&mut self) -> bool {
        let waits = !self.config.sack && self.board.una() == self.recovery.high_seq;
        if waits {
            self.forget_retrans_time();
        }
        waits
    }

    /// Returns to Open or Disorder if no packet is lost (Linux: tcp_try_to_open).
    fn try_to_open(&mut self, now: Nanos, ece: bool) {
        self.forget_retrans_time();
        if ece {
            self.reduce_on_mark(now);
        }
        if self.ca_state != CaState::Cwr {
            self.keep_open(now);
        }
    }

    /// Clears the time when the first packet was retransmitted, unless this retransmission may be in flight
    /// (Linux: tcp_retrans_stamp_cleanup).
    fn forget_retrans_time(&mut self) {
        if !self.any_retrans_done() {
            self.recovery.retrans_ms = None;
        }
    }

    /// True while a retransmission may be in flight (Linux: tcp_any_retrans_done).
    fn any_retrans_done(&self) -> bool {
        self.board.retrans_out() > 0
            || (self.board.packets_out() > 0
                && self.board.marks(self.board.una()) & crate::scoreboard::mark::EVER_RETRANS != 0)
    }

    /// Enters Open, or Disorder while packets are SACKed or retransmitted (Linux: tcp_try_keep_open).
    pub(super) fn keep_open(&mut self, now: Nanos) {
        let left_out = self.board.sacked_out() + self.board.lost_out();
        let state = if left_out > 0 || self.any_retrans_done() { CaState::Disorder } else { CaState::Open };
        if state != self.ca_state {
            self.set_ca_state(now, state);
            self.recovery.high_seq = self.board.nxt();
        }
    }

    /// Undoes the reduction if a packet that was delayed, not lost, filled a hole. Returns true if more
    /// retransmissions are in flight: then the sender waits for their ACKs without marking more losses
    /// (Linux: tcp_try_undo_partial).
    fn undo_partially(&mut self, now: Nanos, ack: &Ack, prior_una: u64) -> bool {
        if !self.config.undo || self.recovery.undo_marker.is_none() || !self.packet_was_delayed(ack) {
            return false;
        }
        self.note_reordering(prior_una, self.board.fack());
        if self.board.retrans_out() > 0 {
            return true;
        }
        self.forget_retrans_time();
        self.undo_reduction(now, true);
        self.keep_open(now);
        false
    }

    /// Undoes the reduction if D-SACKs reported all retransmissions (Linux: tcp_try_undo_dsack).
    fn undo_by_dsack(&mut self, now: Nanos) -> bool {
        if !self.config.undo || self.recovery.undo_marker.is_none() || self.recovery.undo_retrans != Some(0) {
            return false;
        }
        self.rack.persist_longer();
        self.undo_reduction(now, false);
        true
    }

    /// Undoes a spurious timeout, which F-RTO or a timestamp has shown (Linux: tcp_try_undo_loss).
    fn undo_loss(&mut self, now: Nanos, by_frto: bool) {
        self.undo_reduction(now, true);
        self.recovery.timeouts_in_a_row = 0;
        if !self.must_wait_beyond() && (by_frto || self.config.sack) {
            self.set_ca_state(now, CaState::Open);
        }
    }

    /// Undoes a reduction of cwnd (Linux: tcp_undo_cwnd_reduction).
    fn undo_reduction(&mut self, now: Nanos, unmark_lost: bool) {
        if unmark_lost {
            self.board.unmark_lost();
        }
        if self.config.undo {
            self.stats.undos += 1;
            if let Some(prior) = self.recovery.prior_ssthresh {
                self.notify(now, Event::Undo);
                if prior > self.ssthresh {
                    self.ssthresh = prior;
                    self.ecn.cwr_due = false; // Linux: tcp_ecn_withdraw_cwr
                }
            }
        }
        self.cwnd_use.validated = now;
        self.recovery.undo_marker = None;
        self.rack.advanced = true; // detect losses again
    }

    pub(super) fn set_ca_state(&mut self, now: Nanos, state: CaState) {
        self.notify_state(now, state);
        self.ca_state = state;
    }

    /// Enters Loss after a retransmission timeout (Linux: tcp_enter_loss).
    pub(super) fn enter_loss(&mut self, now: Nanos) {
        let new_recovery = self.ca_state < CaState::Recovery;
        let by_time = self.config.sack && self.config.rack;
        self.board.set_dup_acks(0);
        self.board.mark_lost_by_timeout(if by_time { self.rack.rtt_us() } else { 0 }, now / US);
        self.notify_losses(now);
        let first_in_window = self.ca_state <= CaState::Disorder
            || self.recovery.high_seq <= self.board.una()
            || (self.ca_state == CaState::Loss && self.recovery.timeouts_in_a_row == 0);
        if first_in_window {
            self.recovery.prior_ssthresh = Some(self.current_ssthresh());
            self.recovery.prior_cwnd = self.cwnd;
            self.notify(now, Event::Reduce);
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
        self.set_cwr_due();
        self.recovery.frto = self.config.frto && (new_recovery || self.recovery.timeouts_in_a_row > 0);
    }

    /// Detects whether a tail loss probe repaired a loss, RFC 8985, section 7.4 (Linux: tcp_process_tlp_ack).
    pub(super) fn on_probe_ack(&mut self, now: Nanos, ack: &Ack, info: &mut AckInfo) {
        let Some(probe) = self.recovery.probe else { return };
        if ack.next < probe.high_seq {
            return;
        }
        let is_pure = info.is_pure() && !info.sacked_any; // both copies of the probe arrived
        if !probe.retransmitted || info.dsack_of_probe || (ack.next == probe.high_seq && is_pure) {
            self.recovery.probe = None;
        } else if ack.next > probe.high_seq {
            // Only one of the two arrived, so a packet was lost. The event comes first, as
            // CA_EVENT_TLP_RECOVERY does in google/bbr v3.
            self.notify_probe_repaired(now, probe.app_limited);
            self.begin_cwnd_reduction(now);
            self.set_ca_state(now, CaState::Cwr);
            self.end_cwnd_reduction(now);
            self.keep_open(now);
        } else {
            info.probe_acked = true; // of the original or of the probe: a later ACK decides
        }
    }
}
