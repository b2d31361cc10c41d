//! The interface to the algorithm: the view, the decision, and changes of cwnd by algorithm or host (Linux:
//! tcp_cong_control).

use fairpace_cc::{CaState, Decision, Event, Kind, NO_RATE, NO_RTT, View};

use super::state::{AckCounts, AckInfo, REORDERING_PKTS};
use super::{PACING_SHIFT, Sender};
use crate::control::Control;
use crate::rate::Sample;
use crate::time::{Nanos, US};

// Pacing rate of algorithms that do not set one, in per cent of cwnd per RTT: Linux's tcp_pacing_ss_ratio
// while cwnd is below half of ssthresh, then tcp_pacing_ca_ratio. It also determines the size of TSO bursts
// of unpaced senders.
const PACING_SLOW_START_PERCENT: u64 = 200;
const PACING_AVOIDANCE_PERCENT: u64 = 120;

impl<C: Control> Sender<C> {
    /// Returns TCP's sequence number of a packet. The SYN has 0.
    #[inline(always)]
    pub(super) fn sequence_number(&self, pkt: u64) -> u32 {
        (pkt as u32).wrapping_mul(self.pacer.mss_bytes).wrapping_add(1)
    }

    /// Returns the view between ACKs. If this function is not inlined, the view is copied for each ACK: 200
    /// instructions per packet.
    #[inline(always)]
    pub(super) fn view(&self, now: Nanos) -> View {
        let min_rtt_us = self.rtt.min_us() as u32;
        View {
            now_us: now / US,
            delivered_us: self.rate.delivered_us,
            pacing_rate_Bps: self.pacer.rate_Bps,
            max_pacing_rate_Bps: NO_RATE,
            mss_bytes: self.pacer.mss_bytes,
            cwnd_pkts: self.cwnd,
            prior_cwnd_pkts: self.recovery.prior_cwnd,
            ssthresh_pkts: self.ssthresh,
            inflight_pkts: self.board.in_flight(),
            delivered_pkts: self.rate.delivered_pkts,
            lost_pkts: self.board.lost_pkts(),
            delivered_ce_pkts: self.rate.delivered_ce_pkts,
            max_inflight_pkts: self.cwnd_use.max_packets_out,
            snd_una: self.sequence_number(self.board.una()),
            snd_nxt: self.sequence_number(self.board.nxt()),
            srtt_us: self.rtt.srtt_us() as u32,
            min_rtt_us: if min_rtt_us == u32::MAX { NO_RTT } else { min_rtt_us },
            departure_lead_us: (self.pacer.lead_ns(now) / US) as u32,
            ca_state: self.ca_state,
            pacing_shift: PACING_SHIFT,
            paced: self.pacer.enabled,
            cwnd_limited: self.cwnd_use.is_cwnd_limited,
            app_limited: self.rate.app_limited_until != 0,
            ecn: self.ecn.is_on(),
            ..View::default()
        }
    }

    #[inline]
    fn decision(&self) -> Decision {
        Decision {
            pacing_rate_Bps: self.pacer.rate_Bps,
            cwnd_pkts: self.cwnd,
            ssthresh_pkts: self.ssthresh,
            app_limited_until_pkts: 0,
            min_burst_pkts: self.pacer.min_burst_pkts,
        }
    }

    /// Applies a decision, which [`Control`] keeps within the bounds of `cc/lib/clamp.h`.
    #[inline]
    fn apply(&mut self, d: &Decision) {
        self.cwnd = d.cwnd_pkts;
        self.ssthresh = d.ssthresh_pkts;
        self.pacer.rate_Bps = d.pacing_rate_Bps;
        self.pacer.min_burst_pkts = d.min_burst_pkts;
        if d.app_limited_until_pkts != 0 {
            self.rate.app_limited_until = d.app_limited_until_pkts;
        }
    }

    pub(super) fn start_congestion_control(&mut self, now: Nanos) {
        let (view, mut d) = (View { random: self.random, ..self.view(now) }, self.decision());
        self.control = Some(C::start(&self.params, &view, &mut d));
        if C::tracks_sends(&self.params) {
            self.board.record_losses();
        }
        self.apply(&d);
        self.cwnd_use.validated = now;
        // Linux paces a socket if its algorithm sets SK_PACING_NEEDED; here, an algorithm requests it with a
        // rate.
        let requested = self.kind == Kind::OwnsCwnd && d.pacing_rate_Bps != NO_RATE;
        self.pacer.enabled = self.config.pacing.unwrap_or(requested);
    }

    pub(super) fn notify(&mut self, now: Nanos, event: Event) {
        let view = self.view(now);
        self.notify_with(event, &view);
    }

    pub(super) fn notify_state(&mut self, now: Nanos, state: CaState) {
        let view = View { ca_state: state, ..self.view(now) };
        self.notify_with(Event::CaState, &view);
    }

    pub(super) fn notify_with(&mut self, event: Event, view: &View) {
        let mut d = self.decision();
        if let Some(control) = &mut self.control {
            control.on_event(event, view, &mut d);
            self.apply(&d);
        }
    }

    /// Reports each loss since the last call, in the order in which packets were marked.
    #[inline]
    pub(super) fn notify_losses(&mut self, now: Nanos) {
        if self.board.has_losses() {
            self.notify_each_loss(now);
        }
    }

    #[cold]
    fn notify_each_loss(&mut self, now: Nanos) {
        let mut losses = std::mem::take(&mut self.loss_buffer);
        self.board.swap_losses(&mut losses);
        let before = self.board.lost_pkts().wrapping_sub(losses.len() as u32);
        for (n, seq) in (1..).zip(losses.drain(..)) {
            let sent = self.board.snapshot(seq);
            let lost_pkts = before.wrapping_add(n);
            let view = View {
                lost_pkts,
                is_app_limited: sent.app_limited(),
                losses_pkts: 1,
                sample_prior_delivered_pkts: sent.delivered_pkts,
                sample_inflight_pkts: sent.inflight_pkts,
                sample_lost_pkts: lost_pkts.wrapping_sub(sent.lost_pkts),
                sample_end_seq: self.sequence_number(seq + 1),
                ..self.view(now)
            };
            self.notify_with(Event::Lost, &view);
        }
        self.loss_buffer = losses;
    }

    /// Reports that a tail loss probe repaired a loss (google/bbr v3: CA_EVENT_TLP_RECOVERY).
    pub(super) fn notify_probe_repaired(&mut self, now: Nanos, is_app_limited: bool) {
        if C::tracks_sends(&self.params) {
            let view = View { is_app_limited, ..self.view(now) };
            self.notify_with(Event::ProbeRepaired, &view);
        }
    }

    /// Reports the RTT sample of an ACK, before recovery, to algorithms that only grow cwnd (Linux:
    /// pkts_acked).
    pub(super) fn sample_for_growth(&mut self, now: Nanos, info: &AckInfo) {
        if self.kind == Kind::GrowsCwnd {
            let view = View {
                acked_pkts: info.acked_pkts,
                rtt_us: signed(info.rtt_us),
                is_ece: info.ece,
                ..self.view(now)
            };
            self.notify_with(Event::Sample, &view);
        }
    }

    /// Calls the algorithm for an ACK, or reduces cwnd for an algorithm that leaves reductions to the host.
    pub(super) fn run_congestion_control(
        &mut self,
        now: Nanos,
        info: &AckInfo,
        sample: &Sample,
        counts: AckCounts,
    ) {
        if self.kind == Kind::GrowsCwnd {
            self.grow_or_reduce(now, info, counts);
            return;
        }
        let sent = info.reference.snapshot();
        let view = View {
            is_app_limited: sample.is_app_limited,
            is_ece: info.ece,
            is_probe_ack: info.probe_acked,
            sample_delivered_pkts: signed(sample.delivered_pkts),
            sample_interval_us: signed(sample.interval_us),
            rtt_us: signed(info.rtt_us),
            sample_prior_delivered_pkts: sample.prior_delivered_pkts,
            prior_inflight_pkts: counts.prior_inflight_pkts,
            acked_pkts: counts.acked_pkts,
            losses_pkts: counts.lost_pkts,
            sample_inflight_pkts: sent.map_or(0, |s| s.inflight_pkts),
            sample_lost_pkts: sent.map_or(0, |s| self.board.lost_pkts().wrapping_sub(s.lost_pkts)),
            sample_delivered_ce_pkts: sent.map_or(0, |s| s.marks_since(self.rate.delivered_ce_pkts)),
            sample_end_seq: sent.map_or(0, |_| self.sequence_number(info.reference.seq + 1)),
            ..self.view(now)
        };
        self.call_on_ack(&view);
    }

    #[inline(never)] // the calls within it are inlined then: five instructions per packet fewer
    pub(super) fn call_on_ack(&mut self, view: &View) {
        let mut d = self.decision();
        if let Some(control) = &mut self.control {
            control.on_ack(view, &mut d);
            self.apply(&d);
        }
    }

    fn grow_or_reduce(&mut self, now: Nanos, info: &AckInfo, counts: AckCounts) {
        let AckCounts { acked_pkts, lost_pkts, .. } = counts;
        if self.in_cwnd_reduction() {
            self.reduce_cwnd(acked_pkts, lost_pkts, info.una_advanced());
        } else if self.may_raise_cwnd(info) {
            let view = View { acked_pkts, is_ece: info.ece, ..self.view(now) };
            self.call_on_ack(&view);
            self.cwnd_use.validated = now;
        }
        self.set_default_pacing_rate();
    }

    /// Returns whether the algorithm may raise cwnd on this ACK (Linux: tcp_may_raise_cwnd).
    fn may_raise_cwnd(&self, info: &AckInfo) -> bool {
        let reordered = self.recovery.reordering_pkts > REORDERING_PKTS;
        info.una_advanced() || (reordered && info.sacked_any)
    }

    /// Sets the default pacing rate (Linux: tcp_update_pacing_rate).
    pub(super) fn set_default_pacing_rate(&mut self) {
        let srtt_us = self.rtt.srtt_us();
        if srtt_us == 0 {
            return;
        }
        let slow_start = self.cwnd < self.ssthresh / 2;
        let percent = if slow_start { PACING_SLOW_START_PERCENT } else { PACING_AVOIDANCE_PERCENT };
        let pkts = u64::from(self.cwnd.max(self.board.packets_out()));
        let rate = pkts * u64::from(self.pacer.mss_bytes) * 10_000 * percent / srtt_us; // 10^6 us/s, 10^2 %
        self.pacer.rate_Bps = rate;
    }
}

/// Returns a field of the view in which -1 means no value.
pub(super) fn signed<T: Into<u64>>(x: Option<T>) -> i32 {
    x.map_or(-1, |x| i32::try_from(x.into()).unwrap_or(i32::MAX))
}
