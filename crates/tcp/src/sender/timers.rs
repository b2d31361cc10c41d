//! Timers. Retransmission timeout, tail loss probe and RACK's reordering timer share one timer, as in Linux;
//! the pacing timer is separate (Linux: tcp_timer.c, tcp_schedule_loss_probe, tcp_rearm_rto).

use fairpace_cc::{CaState, Kind};

use super::Sender;
use super::state::{Probe, TIMEOUT_MIN_US, Timer};
use super::transmit::Reason;
use crate::control::Control;
use crate::time::{JIFFY_US, Nanos, US, expiry, jiffies};
use crate::wire::Wire;

impl<C: Control> Sender<C> {
    /// Runs the timers that have expired, see [`Sender::next_timer`].
    pub fn on_timer(&mut self, now: Nanos, wire: &mut impl Wire) {
        match self.timer {
            Timer::Retransmit(at) if at <= now => self.on_timeout(now, wire),
            Timer::Probe(at) if at <= now => self.send_probe(now, wire),
            Timer::Reordering(at) if at <= now => self.on_reordering_timer(now, wire),
            _ => {}
        }
        if self.pacing_timer <= now {
            self.pacing_timer = Nanos::MAX;
            self.transmit_after_pacing(now, wire);
        }
    }

    /// Arms a tail loss probe if a probe is possible, else the RTO (Linux: tcp_set_xmit_timer).
    pub(super) fn set_timer(&mut self, now: Nanos) {
        if !self.schedule_probe(now, true) {
            self.rearm_rto(now);
        }
    }

    /// Time until the RTO of the oldest packet, us (Linux: tcp_rto_delta_us).
    fn until_rto(&self, now: Nanos) -> i64 {
        let sent_us = self.board.snapshot(self.board.una()).sent_us;
        (sent_us + self.rtt.rto_us()) as i64 - (now / US) as i64
    }

    /// Returns the time when a timer fires that is set to `after_us` after the next departure (Linux:
    /// tcp_reset_xmit_timer, tcp_pacing_delay).
    fn expiry_paced(&self, now: Nanos, after_us: u64) -> Nanos {
        let lead = self.pacer.lead_ns(now);
        let lead_jiffies = if lead < JIFFY_US * US { 0 } else { lead / (JIFFY_US * US) };
        expiry(now, jiffies(after_us) + lead_jiffies)
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
        self.timer = Timer::Retransmit(self.expiry_paced(now, after_us));
    }

    /// Restarts the RTO at `now`.
    pub(super) fn restart_rto(&mut self, now: Nanos) {
        self.timer = Timer::Retransmit(self.expiry_paced(now, self.rtt.rto_us()));
    }

    /// Arms a tail loss probe after 2 RTTs. Returns false if no probe may be sent. `fresh`: the RTO restarts
    /// at `now` (Linux: tcp_schedule_loss_probe).
    pub(super) fn schedule_probe(&mut self, now: Nanos, fresh: bool) -> bool {
        let may =
            matches!(self.ca_state, CaState::Open | CaState::Cwr) && self.config.tlp && self.config.sack;
        if self.board.packets_out() == 0 || !may {
            return false;
        }
        let alone = self.board.packets_out() == 1; // its ACK may be delayed
        let probe_us = 2 * self.rtt.srtt_us() + if alone { self.rtt.rto_min_us() } else { TIMEOUT_MIN_US };
        let rto_us = if fresh { self.rtt.rto_us() as i64 } else { self.until_rto(now) };
        let after_us = if rto_us > 0 { probe_us.min(rto_us as u64) } else { probe_us };
        self.timer = Timer::Probe(self.expiry_paced(now, after_us));
        true
    }

    /// Sends new data as a tail loss probe if there is any, else retransmits the last packet (RFC 8985,
    /// section 7.3).
    fn send_probe(&mut self, now: Nanos, wire: &mut impl Wire) {
        if self.recovery.probe.is_none() && self.board.packets_out() > 0 {
            let nxt = self.board.nxt();
            let retransmitted = nxt >= self.send_end();
            let app_limited = retransmitted && self.board.snapshot(nxt - 1).app_limited();
            if retransmitted {
                self.send_last_again(now, wire);
            } else {
                self.transmit(now, Reason::Probe, wire);
            }
            if retransmitted || self.board.nxt() > nxt {
                self.stats.probes += 1;
                self.recovery.probe = Some(Probe { high_seq: self.board.nxt(), retransmitted, app_limited });
                self.timer = Timer::Off; // the RTO restarts
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
            self.timer = Timer::Reordering(now); // so that rearm_rto counts from the time of sending
            self.rearm_rto(now);
        }
    }

    fn on_timeout(&mut self, now: Nanos, wire: &mut impl Wire) {
        if self.control.is_none() {
            self.on_syn_timeout(now, wire);
            return;
        }
        self.rtt.back_off();
        if self.board.packets_out() == 0 {
            self.timer = Timer::Off;
            return;
        }
        self.stats.timeouts += 1;
        self.enter_loss(now);
        self.recovery.timeouts_in_a_row += 1;
        self.retransmit(now, self.board.una(), 1, wire);
        self.timer = Timer::Retransmit(expiry(now, jiffies(self.rtt.rto_us())));
    }
}
