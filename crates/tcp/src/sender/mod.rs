//! The sending end. `mod.rs` holds the state and the order of work on an ACK, as Linux's tcp_ack has it:
//!
//!   scoreboard (`ack.rs`) -> losses and recovery state (`recovery.rs`) -> rate sample -> congestion control
//!   (`control.rs`) -> sending (`transmit.rs`); timers are in `timers.rs`. ACKs that bring nothing unusual, which are
//!   nearly all, take the short way through `common.rs`, with the same result.

mod ack;
mod common;
mod congestion;
mod dup_acks;
mod ecn;
mod recovery;
mod timers;
mod transmit;

use fairpace_cc::{CaState, INFINITE, Kind, Observation};

use crate::config::{Ecn, SenderConfig};
use crate::control::Control;
use crate::pacer::Pacer;
use crate::rack::Rack;
use crate::rate::Rate;
use crate::rtt::Rtt;
use crate::scoreboard::Scoreboard;
use crate::{Ack, Nanos, Segment, US, Wire};
use recovery::Recovery;
use timers::Timer;

/// What an onlooker may count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderStats {
    /// Data packets sent, again ones included.
    pub sent_pkts: u64,
    /// Data packets sent again.
    pub retransmitted_pkts: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Entries into fast recovery.
    pub recoveries: u64,
    /// Reductions that were taken back.
    pub undos: u64,
    /// Reductions in answer to congestion marks.
    pub mark_reductions: u64,
}

/// One sender of a bulk or application-limited stream. What every ACK asks for comes first, in this order: of hundreds of flows each
/// cache line of it is one to wait for.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Sender<C: Control> {
    timer: Timer,
    /// When the pacer lets the next burst go, if that is all it waits for; else `Nanos::MAX`.
    wake_up: Nanos,
    /// Packets that the application has given, or will: the first that it has not.
    supply: u64,
    /// The end of the receiver's window: the first packet for which it has no room.
    window_end: u64,
    cwnd: u32,
    ssthresh: u32,
    /// Timestamp of the last ACK, to echo.
    echo_ms: u32,
    ca_state: CaState,
    kind: Kind,
    ecn: EcnState,
    pacer: Pacer,
    rate: Rate,
    rtt: Rtt,
    rack: Rack,
    board: Scoreboard,
    /// `None` until the handshake is done.
    control: Option<C>,
    recovery: Recovery,
    config: SenderConfig,
    cwnd_use: CwndUse,
    last_sent: Nanos,
    stats: SenderStats,
    /// Room for [`Scoreboard::swap_losses`].
    told_losses: Vec<u64>,
    syn_sent: Nanos,
    syn_resent: bool,
    params: C::Params,
}

/// ECN on this connection.
#[derive(Debug, Clone, Copy, Default)]
struct EcnState {
    /// Both ends agreed.
    on: bool,
    /// The next new packet says CWR.
    cwr_due: bool,
}

/// How much of cwnd the sender uses (Linux: tcp_cwnd_validate).
#[derive(Debug, Clone, Default)]
struct CwndUse {
    /// cwnd stopped the sender during the last window of data.
    is_cwnd_limited: bool,
    /// The most packets outstanding during the last window of data.
    max_packets_out: u32,
    /// The last window of data ends before this packet (Linux: cwnd_usage_seq).
    until: u64,
    /// The most packets outstanding since `validated` (Linux: snd_cwnd_used).
    used_pkts: u32,
    /// When cwnd was last full, changed, or adjusted on an ACK (Linux: snd_cwnd_stamp).
    validated: Nanos,
}

impl<C: Control> Sender<C> {
    /// A sender with nothing to send that has not connected. It allocates nothing before it sends.
    pub fn new(config: SenderConfig, params: C::Params) -> Self {
        Sender::with_room(config, params, Scoreboard::default(), Vec::new())
    }

    /// Becomes what [`Sender::new`] would make, and keeps the memory that it has, within bounds.
    pub fn reset(&mut self, config: SenderConfig, params: C::Params) {
        let mut board = std::mem::take(&mut self.board);
        board.reset();
        let told_losses = std::mem::take(&mut self.told_losses);
        *self = Sender::with_room(config, params, board, told_losses);
    }

    fn with_room(config: SenderConfig, params: C::Params, board: Scoreboard, told_losses: Vec<u64>) -> Self {
        Sender {
            kind: C::kind(&params),
            config,
            params,
            control: None,
            board,
            rate: Rate::default(),
            rtt: Rtt::new(),
            rack: Rack::new(),
            pacer: Pacer::new(false),
            recovery: Recovery::new(),
            timer: Timer::Off,
            wake_up: Nanos::MAX,
            ca_state: CaState::Open,
            cwnd: config.initial_cwnd_pkts.max(1),
            ssthresh: INFINITE,
            supply: 0,
            window_end: 0,
            cwnd_use: CwndUse::default(),
            last_sent: 0,
            syn_sent: 0,
            syn_resent: false,
            echo_ms: 0,
            ecn: EcnState::default(),
            told_losses,
            stats: SenderStats::default(),
        }
    }

    /// Opens the connection: sends a SYN.
    pub fn connect(&mut self, now: Nanos, wire: &mut impl Wire) {
        self.syn_sent = now;
        self.timer = Timer::Retransmit(now + self.rtt.rto_ns());
        // RFC 3168 section 6.1.1.1: a SYN that was sent again does not ask for ECN, in case that was why
        let asks_for_ecn = self.config.ecn != Ecn::Off && !self.syn_resent;
        wire.send(Segment { seq: Segment::SYN, sent: now, cwr: asks_for_ecn, ..Segment::default() });
    }

    /// The application has `pkts` more packets; `u64::MAX` for a bulk transfer without end.
    pub fn write(&mut self, now: Nanos, pkts: u64, wire: &mut impl Wire) {
        self.supply = self.supply.saturating_add(pkts);
        if self.control.is_some() {
            self.check_app_limited(now);
            self.restart_after_idle(now);
            self.transmit_new(now, wire);
        }
    }

    /// The application has no more than what has been sent already.
    pub fn stop(&mut self) {
        self.supply = self.board.nxt();
    }

    /// True when everything supplied has been acknowledged.
    pub fn is_idle(&self) -> bool {
        self.board.una() == self.supply
    }

    /// When [`Sender::on_timer`] wants to be called.
    #[inline]
    pub fn next_timer(&self) -> Option<Nanos> {
        let next = self.timer.at().min(self.wake_up);
        (next != Nanos::MAX).then_some(next)
    }

    /// An ACK arrived. Linux: tcp_ack, then tcp_data_snd_check.
    pub fn on_ack(&mut self, now: Nanos, ack: &Ack, wire: &mut impl Wire) {
        if ack.syn {
            self.establish(now, ack, wire);
            return;
        }
        if self.control.is_none() || ack.next > self.board.nxt() {
            return; // not yet connected, or an ACK for what was never sent
        }
        self.echo_ms = ack.sent_ms;
        let prior_end = self.window_end;
        self.window_end = prior_end.max(ack.next + u64::from(ack.rwnd_pkts));
        self.check_app_limited(now);
        if self.is_common(ack) {
            self.take_common_ack(now, ack.next);
        } else if self.board.packets_out() > 0 {
            let window_opened = self.window_end > prior_end;
            let resend = self.take_any_ack(now, ack, window_opened);
            self.transmit_recovery(now, resend, wire);
        }
        self.transmit_new(now, wire);
        #[cfg(debug_assertions)]
        self.board.check();
    }

    /// All that an ACK may bring but sending.
    #[inline(never)]
    fn take_any_ack(&mut self, now: Nanos, ack: &Ack, window_opened: bool) -> recovery::Resend {
        let prior_in_flight = self.board.in_flight();
        let prior_lost = self.board.lost_pkts();
        let prior_delivered = self.rate.delivered_pkts;
        let mut news = self.take_ack(now, ack);
        news.dup_ack = self.is_dup_ack(ack, &news) && !window_opened;
        let prior_snapshot = news.reference.snapshot().map(|s| s.delivered_pkts);
        self.rack.update_reo_wnd(prior_snapshot, self.rate.delivered_pkts);
        self.on_probe_ack(now, ack, &mut news);
        let mut resend = recovery::Resend::Nothing;
        if news.is_dubious() || self.ca_state != CaState::Open {
            resend = self.run_recovery(now, ack, &mut news);
        }
        if news.restart_timer {
            self.set_timer(now);
        }
        let acked = self.rate.delivered_pkts.wrapping_sub(prior_delivered);
        let lost = self.board.lost_pkts().wrapping_sub(prior_lost);
        let sample = self.rate.sample(now / US, acked, &news.reference, self.rtt.min_us());
        self.run_congestion_control(now, &news, &sample, [acked, lost, prior_in_flight]);
        resend
    }

    fn establish(&mut self, now: Nanos, ack: &Ack, wire: &mut impl Wire) {
        if self.control.is_some() {
            return; // a second answer
        }
        self.echo_ms = ack.sent_ms;
        self.window_end = u64::from(ack.rwnd_pkts);
        self.ecn.on = ack.ece && self.config.ecn != Ecn::Off && !self.syn_resent;
        let rtt_us = (now - self.syn_sent) / US;
        self.rtt.sample(rtt_us, 0, 0);
        self.rtt.sample_min(now, rtt_us);
        self.rate.delivered_pkts = 1; // the SYN
        self.rate.delivered_us = now / US;
        self.timer = Timer::Off;
        self.start_congestion_control(now);
        self.transmit_new(now, wire);
    }

    /// The first packet that may not be sent: the application has not given it, or the receiver has no room for it.
    /// Being held by the receiver is not being limited by the application, nor by cwnd.
    #[inline]
    fn send_end(&self) -> u64 {
        self.supply.min(self.window_end)
    }

    /// Marks what follows as limited by the application when there is room but no data (Linux:
    /// tcp_rate_check_app_limited).
    fn check_app_limited(&mut self, now: Nanos) {
        let unsent = self.supply - self.board.nxt().min(self.supply);
        if unsent == 0
            && !self.pacer.blocks(now)
            && self.board.in_flight() < self.cwnd
            && self.board.lost_out() <= self.board.retrans_out()
        {
            self.rate.app_limited_until =
                self.rate.delivered_pkts.wrapping_add(self.board.in_flight()).max(1);
        }
    }

    /// Congestion window, packets.
    pub fn cwnd_pkts(&self) -> u32 {
        self.cwnd
    }

    /// Slow start threshold, packets; [`INFINITE`]: none.
    pub fn ssthresh_pkts(&self) -> u32 {
        self.ssthresh
    }

    /// Sent, neither acknowledged nor believed lost.
    pub fn inflight_pkts(&self) -> u32 {
        self.board.in_flight()
    }

    /// Oldest packet that has not been acknowledged.
    pub fn snd_una(&self) -> u64 {
        self.board.una()
    }

    /// The pacing rate in force, whether or not the sender paces; [`NO_RATE`]: none.
    pub fn pacing_rate_Bps(&self) -> u64 {
        self.pacer.rate_Bps
    }

    /// True when the sender paces.
    pub fn is_paced(&self) -> bool {
        self.pacer.enabled
    }

    /// Recovery state.
    pub fn ca_state(&self) -> CaState {
        self.ca_state
    }

    /// Smoothed RTT; 0: no sample yet.
    pub fn srtt_us(&self) -> u64 {
        self.rtt.srtt_us()
    }

    /// What the algorithm shows; `None` before the connection is established.
    pub fn observe(&self) -> Option<Observation> {
        self.control.as_ref().map(C::observe)
    }

    /// Counts.
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }
}
