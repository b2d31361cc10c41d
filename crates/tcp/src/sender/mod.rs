//! The sender. This file has the sender's state and the order of processing of an ACK, the order of Linux's
//! tcp_ack:
//!
//!   scoreboard (`ack.rs`) -> losses and recovery state (`recovery.rs`) -> rate sample -> congestion control
//!   (`congestion.rs`) -> transmission (`transmit.rs`)
//!
//! Timers are in `timers.rs`. ACKs of new data while nothing is lost take `fast_path.rs`, with the same
//! result.

mod ack;
mod congestion;
mod dup_acks;
mod ecn;
mod fast_path;
mod handshake;
mod info;
mod recovery;
mod state;
mod timers;
mod transmit;

use fairpace_cc::{CaState, INFINITE, Kind, Observation};
use fairpace_scenario::ns;

use crate::config::Sending;
use crate::control::Control;
use crate::pacer::Pacer;
use crate::rack::Rack;
use crate::rate::Rate;
use crate::rtt::Rtt;
use crate::scoreboard::Scoreboard;
use crate::time::{Nanos, US};
use crate::wire::{Ack, Wire};
use handshake::Handshake;
pub use info::SenderInfo;
use state::{AckCounts, CwndUse, EcnState, Recovery, RecoveryAction, Timer};

/// Counts of a sender since the start of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderStats {
    /// Number of data packets sent, retransmissions included.
    pub sent_pkts: u64,
    /// Number of data packets retransmitted.
    pub retransmitted_pkts: u64,
    /// Number of retransmission timeouts.
    pub timeouts: u64,
    /// Number of tail loss probes.
    pub probes: u64,
    /// Number of entries into fast recovery.
    pub recoveries: u64,
    /// Number of reductions of cwnd that were undone.
    pub undos: u64,
    /// Number of reductions of cwnd because of congestion marks.
    pub mark_reductions: u64,
}

/// Shift of the pacing rate: a TSO burst has `pacing_rate >> PACING_SHIFT` bytes, about 1 ms (Linux: the
/// default of `sk_pacing_shift`).
const PACING_SHIFT: u8 = 10;

/// The sender of a TCP connection. Every ACK reads the first fields, in this order: with hundreds of
/// connections, each of their cache lines is a miss.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Sender<C: Control> {
    timer: Timer,
    /// Time when the pacer allows the next burst, if the sender waits for the pacer only; else `Nanos::MAX`.
    pacing_timer: Nanos,
    /// End of the packets that the application has written: one past the last packet.
    written: u64,
    /// The end of rwnd: the first packet that the receiver does not accept.
    rwnd_end: u64,
    cwnd: u32,
    ssthresh: u32,
    /// Timestamp of the last ACK, which packets echo.
    echo_ms: u32,
    ca_state: CaState,
    kind: Kind,
    ecn: EcnState,
    pacer: Pacer,
    rate: Rate,
    rtt: Rtt,
    rack: Rack,
    board: Scoreboard,
    /// The algorithm; `None` until the connection is established.
    control: Option<C>,
    recovery: Recovery,
    config: Sending,
    /// Seed of the algorithm's generator.
    random: u32,
    cwnd_use: CwndUse,
    last_sent: Nanos,
    /// True if the application has written less than a full packet after the last packet.
    has_part: bool,
    stats: SenderStats,
    /// Buffer for [`Scoreboard::swap_losses`].
    loss_buffer: Vec<u64>,
    handshake: Handshake,
    /// The window field of the last ACK that changed it, see [`Ack::window`].
    window: u8,
    params: C::Params,
}

impl<C: Control> Sender<C> {
    /// Returns a sender without data that has not connected. It allocates nothing before it sends. `random`
    /// seeds the algorithm's own generator.
    pub fn new(config: Sending, random: u32, params: C::Params) -> Self {
        Sender::with_memory(config, random, params, Scoreboard::default(), Vec::new())
    }

    /// Resets to the state of [`Sender::new`], and keeps some of the allocated memory.
    pub fn reset(&mut self, config: Sending, random: u32, params: C::Params) {
        let mut board = std::mem::take(&mut self.board);
        board.reset();
        let loss_buffer = std::mem::take(&mut self.loss_buffer);
        *self = Sender::with_memory(config, random, params, board, loss_buffer);
    }

    fn with_memory(
        config: Sending,
        random: u32,
        params: C::Params,
        board: Scoreboard,
        loss_buffer: Vec<u64>,
    ) -> Self {
        Sender {
            kind: C::kind(&params),
            config,
            random,
            params,
            control: None,
            board,
            rate: Rate::default(),
            rtt: Rtt::new(ns(config.rto_min) / US),
            rack: Rack::new(),
            pacer: Pacer::new(false, config.mss_bytes()),
            recovery: Recovery::new(),
            timer: Timer::Off,
            pacing_timer: Nanos::MAX,
            ca_state: CaState::Open,
            cwnd: config.initial_cwnd_pkts.max(1),
            ssthresh: INFINITE,
            written: 0,
            rwnd_end: 0,
            cwnd_use: CwndUse::default(),
            last_sent: 0,
            has_part: false,
            handshake: Handshake::default(),
            window: 0,
            echo_ms: 0,
            ecn: EcnState::default(),
            loss_buffer,
            stats: SenderStats::default(),
        }
    }

    /// Takes `pkts` packets that the application writes; `u64::MAX` for a transfer without end.
    pub fn write(&mut self, now: Nanos, pkts: u64, wire: &mut impl Wire) {
        self.has_part = false;
        self.write_on(now, pkts, wire);
    }

    /// Takes `pkts` packets from an application that has also written less than a full packet after them, and
    /// waits for more data.
    pub fn write_with_part(&mut self, now: Nanos, pkts: u64, wire: &mut impl Wire) {
        self.has_part = true;
        self.write_on(now, pkts, wire);
    }

    fn write_on(&mut self, now: Nanos, pkts: u64, wire: &mut impl Wire) {
        self.written = self.written.saturating_add(pkts);
        if self.control.is_some() {
            self.check_app_limited(now);
            self.restart_after_idle(now);
            self.transmit_new(now, wire);
        }
    }

    /// Withdraws all data of the application that has not been sent.
    pub fn stop(&mut self) {
        self.written = self.board.nxt();
    }

    /// True when all data written has been acknowledged, or the connection has failed.
    pub fn is_idle(&self) -> bool {
        self.board.una() == self.written
    }

    /// The time when [`Sender::on_timer`] must be called next; `None`: no timer is armed.
    #[inline]
    pub fn next_timer(&self) -> Option<Nanos> {
        let next = self.timer.at().min(self.pacing_timer);
        (next != Nanos::MAX).then_some(next)
    }

    /// Processes an ACK (Linux: tcp_ack, then tcp_data_snd_check).
    pub fn on_ack(&mut self, now: Nanos, ack: &Ack, wire: &mut impl Wire) {
        if ack.syn {
            self.on_syn_ack(now, ack, wire);
            return;
        }
        if self.control.is_none() || ack.next > self.board.nxt() {
            // not connected, or an ACK of data that was never sent, or a RST
            if ack.next == Ack::RST {
                self.fail(wire);
            }
            return;
        }
        self.echo_ms = ack.sent_ms;
        let prior_end = self.rwnd_end;
        self.rwnd_end = prior_end.max(ack.next + u64::from(ack.rwnd_pkts));
        self.check_app_limited(now);
        if self.is_fast_path(ack) {
            self.process_ack_fast(now, ack.next);
        } else {
            let rwnd_opened = self.opens_rwnd(ack) || self.rwnd_end > prior_end;
            let action = self.process_ack_slow(now, ack, rwnd_opened);
            self.transmit_recovery(now, action, wire);
        }
        self.transmit_new(now, wire);
        #[cfg(debug_assertions)]
        self.board.check();
    }

    /// True if the ACK opens rwnd without SACK, and so is no duplicate (Linux: tcp_may_update_window).
    fn opens_rwnd(&mut self, ack: &Ack) -> bool {
        let opens = ack.window.wrapping_sub(self.window) as i8 > 0;
        if opens || ack.next > self.board.una() {
            self.window = ack.window;
        }
        opens
    }

    /// Processes an ACK of any kind, up to transmission. While nothing is outstanding only a D-SACK matters:
    /// it may show that a reduction or a tail loss probe was needless (Linux: tcp_ack, no_queue).
    #[inline(never)]
    fn process_ack_slow(&mut self, now: Nanos, ack: &Ack, rwnd_opened: bool) -> RecoveryAction {
        let nothing_out = self.board.packets_out() == 0;
        let prior_inflight_pkts = self.board.in_flight();
        let prior_lost = self.board.lost_pkts();
        let prior_delivered = self.rate.delivered_pkts;
        let mut info = self.process_ack(now, ack, rwnd_opened);
        let prior_snapshot = info.reference.snapshot().map(|s| s.delivered_pkts);
        self.rack.update_reo_wnd(prior_snapshot, self.rate.delivered_pkts);
        self.on_probe_ack(now, ack, &mut info);
        let mut action = RecoveryAction::None;
        if nothing_out && !info.dsack {
            return action;
        }
        if info.is_dubious() || self.ca_state != CaState::Open {
            action = self.run_recovery(now, ack, &mut info);
        }
        if nothing_out {
            return RecoveryAction::None;
        }
        if info.restart_timer {
            self.set_timer(now);
        }
        let acked_pkts = self.rate.delivered_pkts.wrapping_sub(prior_delivered);
        let lost_pkts = self.board.lost_pkts().wrapping_sub(prior_lost);
        let sample = self.rate.sample(now / US, acked_pkts, &info.reference, self.rtt.min_us());
        let counts = AckCounts { acked_pkts, lost_pkts, prior_inflight_pkts };
        self.run_congestion_control(now, &info, &sample, counts);
        action
    }

    /// Returns the first packet that the sender must not send: the application has not written it, or it is
    /// beyond rwnd. A sender that rwnd stops is neither application-limited nor cwnd-limited.
    #[inline]
    fn send_end(&self) -> u64 {
        self.written.min(self.rwnd_end)
    }

    /// Starts an application-limited period if cwnd has room but there is no data (Linux:
    /// tcp_rate_check_app_limited).
    fn check_app_limited(&mut self, now: Nanos) {
        let unsent = self.written - self.board.nxt().min(self.written);
        if unsent == 0
            && !self.pacer.blocks(now)
            && self.board.in_flight() < self.cwnd
            && self.board.lost_out() <= self.board.retrans_out()
        {
            self.rate.app_limited_until =
                self.rate.delivered_pkts.wrapping_add(self.board.in_flight()).max(1);
        }
    }

    /// The congestion window, packets.
    pub fn cwnd_pkts(&self) -> u32 {
        self.cwnd
    }

    /// The slow start threshold, packets; [`INFINITE`]: none.
    pub fn ssthresh_pkts(&self) -> u32 {
        self.ssthresh
    }

    /// Number of packets sent and neither acknowledged nor marked lost.
    pub fn inflight_pkts(&self) -> u32 {
        self.board.in_flight()
    }

    /// The oldest unacknowledged packet.
    pub fn snd_una(&self) -> u64 {
        self.board.una()
    }

    /// The pacing rate in force, whether or not the sender paces; [`NO_RATE`](fairpace_cc::NO_RATE): none.
    pub fn pacing_rate_Bps(&self) -> u64 {
        self.pacer.rate_Bps
    }

    /// True when the sender paces.
    pub fn is_paced(&self) -> bool {
        self.pacer.enabled
    }

    /// The state of loss recovery.
    pub fn ca_state(&self) -> CaState {
        self.ca_state
    }

    /// The smoothed RTT; 0: no sample yet.
    pub fn srtt_us(&self) -> u64 {
        self.rtt.srtt_us()
    }

    /// The algorithm's observation; `None` before the connection is established.
    pub fn observe(&self) -> Option<Observation> {
        self.control.as_ref().map(C::observe)
    }

    /// The algorithm; `None` before the connection is established.
    pub fn control(&self) -> Option<&C> {
        self.control.as_ref()
    }

    /// The algorithm, to change it; `None` before the connection is established.
    pub fn control_mut(&mut self) -> Option<&mut C> {
        self.control.as_mut()
    }

    /// Counts since the start of the connection.
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }
}
