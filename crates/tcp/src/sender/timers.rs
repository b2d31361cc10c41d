//! Retransmission timeout, tail loss probe and the timer for reordering share one timer, as in Linux; the pacer's
//! wake-up is beside it (Linux: tcp_timer.c, tcp_schedule_loss_probe, tcp_rearm_rto).

use fairpace_cc::{CaState, Kind};

use super::Sender;
use super::recovery::{Probe, TIMEOUT_MIN_US};
use super::transmit::Reason;
use crate::control::Control;
use crate::rtt::RTO_MIN_US;
use crate::{Nanos, US, Wire};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    Off,
    /// RTO, RFC 6298.
    Retransmit(Nanos),
    /// TLP, RFC 8985 section 7.
    Probe(Nanos),
    /// RACK's reordering window, RFC 8985 section 6.3.
    Reordering(Nanos),
}

impl Timer {
    #[inline]
    pub(super) fn at(self) -> Nanos {
        match self {
            Timer::Off => Nanos::MAX,
            Timer::Retransmit(at) | Timer::Probe(at) | Timer::Reordering(at) => at,
        }
    }
}

impl<C: Control> Sender<C> {
    /// Does what is due, if [`Sender::next_timer`] is not after `now`.
    pub fn on_timer(&mut self, now: Nanos, wire: &mut impl Wire) {
        match self.timer {
            Timer::Retransmit(at) if at <= now => self.on_timeout(now, wire),
            Timer::Probe(at) if at <= now => self.send_probe(now, wire),
            Timer::Reordering(at) if at <= now => self.on_reordering_timer(now, wire),
            _ => {}
        }
        if self.wake_up <= now {
            self.wake_up = Nanos::MAX;
            self.transmit_after_pacing(now, wire);
        }
    }

    /// After an ACK of new data: a probe if one makes sense, else the RTO.
    pub(super) fn set_timer(&mut self, now: Nanos) {
        if !self.schedule_probe(now, true) {
            self.rearm_rto(now);
        }
    }

    /// The RTO counts from when the oldest packet was sent.
    fn until_rto(&self, now: Nanos) -> i64 {
        let sent_us = self.board.snapshot(self.board.una()).sent_us;
        (sent_us + self.rtt.rto_us()) as i64 - (now / US) as i64
    }

    pub(super) fn rearm_rto(&mut self, now: Nanos) {
        if self.board.packets_out() == 0 {
            self.timer = Timer::Off;
            return;
        }
        let after_us = match self.timer {
            Timer::Probe(_) | Timer::Reordering(_) => self.until_rto(now).max(1) as u64,
            _ => self.rtt.rto_us(),
        };
        self.timer = Timer::Retransmit(now + after_us * US + self.pacer.lead_ns(now));
    }

    /// Restarts the RTO from now on.
    pub(super) fn restart_rto(&mut self, now: Nanos) {
        self.timer = Timer::Retransmit(now + self.rtt.rto_ns() + self.pacer.lead_ns(now));
    }

    /// Arms a tail loss probe after 2 RTTs; false when none may be sent. `fresh`: the RTO would restart now.
    pub(super) fn schedule_probe(&mut self, now: Nanos, fresh: bool) -> bool {
        let may =
            matches!(self.ca_state, CaState::Open | CaState::Cwr) && self.config.tlp && self.config.sack;
        if self.board.packets_out() == 0 || !may {
            return false;
        }
        let alone = self.board.packets_out() == 1; // its ACK may be delayed
        let probe_us = 2 * self.rtt.srtt_us() + if alone { RTO_MIN_US } else { TIMEOUT_MIN_US };
        let rto_us = if fresh { self.rtt.rto_us() as i64 } else { self.until_rto(now) };
        let after_us = if rto_us > 0 { probe_us.min(rto_us as u64) } else { probe_us };
        self.timer = Timer::Probe(now + after_us * US + self.pacer.lead_ns(now));
        true
    }

    /// New data if there is any, else the last packet again. RFC 8985 section 7.3.
    fn send_probe(&mut self, now: Nanos, wire: &mut impl Wire) {
        if self.recovery.probe.is_none() && self.board.packets_out() > 0 {
            let nxt = self.board.nxt();
            let resent = nxt >= self.send_end();
            let app_limited = resent && self.board.snapshot(nxt - 1).app_limited();
            if resent {
                self.resend(now, nxt - 1, 1, wire);
            } else {
                self.transmit(now, Reason::Probe, wire);
            }
            if resent || self.board.nxt() > nxt {
                self.stats.probes += 1;
                self.recovery.probe = Some(Probe { high_seq: self.board.nxt(), resent, app_limited });
                self.timer = Timer::Off; // the RTO starts anew
            }
        }
        self.rearm_rto(now);
    }

    fn on_reordering_timer(&mut self, now: Nanos, wire: &mut impl Wire) {
        let prior_in_flight = self.board.in_flight();
        let prior_lost = self.board.lost_pkts();
        self.timer = Timer::Off;
        self.mark_losses(now);
        if self.board.in_flight() != prior_in_flight {
            if self.ca_state != CaState::Recovery {
                self.enter_recovery(now, false);
                if self.kind == Kind::GrowsCwnd {
                    self.reduce_cwnd(1, self.board.lost_pkts().wrapping_sub(prior_lost), false);
                }
            }
            self.transmit_lost(now, wire);
        }
        if !matches!(self.timer, Timer::Retransmit(_)) {
            self.timer = Timer::Reordering(now); // counts as one for rearm_rto: the RTO began earlier
            self.rearm_rto(now);
        }
    }

    fn on_timeout(&mut self, now: Nanos, wire: &mut impl Wire) {
        self.rtt.back_off();
        if self.control.is_none() {
            self.syn_resent = true;
            self.connect(now, wire);
            return;
        }
        if self.board.packets_out() == 0 {
            self.timer = Timer::Off;
            return;
        }
        self.stats.timeouts += 1;
        self.enter_loss(now);
        self.recovery.timeouts_in_a_row += 1;
        self.resend(now, self.board.una(), 1, wire);
        self.timer = Timer::Retransmit(now + self.rtt.rto_ns());
    }
}
