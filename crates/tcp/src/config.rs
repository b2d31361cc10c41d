//! The configuration of sender and receiver. Defaults are those of Linux 6.18.

use std::sync::Arc;

use fairpace_cc::NO_RATE;

use crate::time::Nanos;

/// Whether an end uses ECN, and how a receiver echoes marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// No ECN.
    #[default]
    Off,
    /// RFC 3168: every ACK from a mark until CWR has ECE.
    Classic,
    /// RFC 8257: an ACK has ECE if the packets that it acknowledges were marked. For a sender the same as
    /// `Classic`.
    Dctcp,
}

/// Configuration of a sender, apart from its algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderConfig {
    /// Seed of the algorithm's random generator.
    pub random: u32,
    /// The application's limit on the pacing rate, bytes per second; [`NO_RATE`]: none.
    pub max_pacing_rate_Bps: u64,
    /// A burst has `pacing_rate >> burst_shift` bytes: about 1 ms for 10 (Linux: sk_pacing_shift).
    pub burst_shift: u8,
    /// `Some(true)`: always paces, as a Linux host with the fq qdisc; `Some(false)`: never; `None`: if the
    /// algorithm sets a pacing rate.
    pub pacing: Option<bool>,
    /// TSO: packets leave in bursts whose size follows the pacing rate. Without: one by one.
    pub tso: bool,
    /// Initial window, packets; RFC 6928 has 10. At least 1.
    pub initial_cwnd_pkts: u32,
    /// cwnd decays while it is unused, RFC 2861, for algorithms that leave reductions to the host (Linux:
    /// tcp_slow_start_after_idle).
    pub idle_restart: bool,
    /// Requests ECN. For algorithms that leave reductions to the host, a mark reduces cwnd like a loss, once
    /// per round; the others get it in their view.
    pub ecn: Ecn,
    /// SACK, RFC 2018, which the receiver must use too. Without: NewReno, RFC 6582, which counts duplicate
    /// ACKs, and neither RACK nor TLP.
    pub sack: bool,
    /// RACK, RFC 8985. Without: a packet is lost when three higher ones were SACKed, RFC 6675, and only a
    /// timeout detects a lost retransmission.
    pub rack: bool,
    /// Tail loss probes, RFC 8985.
    pub tlp: bool,
    /// F-RTO: spurious timeouts are detected, RFC 5682.
    pub frto: bool,
    /// Spurious reductions of cwnd are undone. Without: F-RTO still avoids the retransmissions.
    pub undo: bool,
    /// Proportional rate reduction, RFC 9937, for algorithms that leave reductions to the host. Without: cwnd
    /// falls to ssthresh at once, RFC 5681.
    pub prr: bool,
}

impl Default for SenderConfig {
    fn default() -> Self {
        SenderConfig {
            random: 0,
            max_pacing_rate_Bps: NO_RATE,
            burst_shift: 10,
            pacing: None,
            tso: true,
            initial_cwnd_pkts: 10,
            idle_restart: true,
            ecn: Ecn::Off,
            sack: true,
            rack: true,
            tlp: true,
            frto: true,
            undo: true,
            prr: true,
        }
    }
}

/// The receive window (rwnd).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Window {
    /// Unlimited.
    #[default]
    Ample,
    /// A constant number of bytes of payload, in whole packets, at least one.
    Fixed(u64),
    /// Linux's autotuning, from 64 kB up to this number of bytes of payload, in whole packets, at least one.
    Autotuned(u64),
}

/// Configuration of a receiver. `Default` is Linux on a path of 20 ms or more, without GRO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// The receive window.
    pub window: Window,
    /// Full segments per ACK, at least 1: 2 in RFC 1122 and Linux.
    pub ack_every: u32,
    /// Delayed ACKs: waits for `ack_every` segments, at least 40 ms and at most 200 ms. Without: an ACK per
    /// segment.
    pub delayed_ack: bool,
    /// SACK compression: the longest delay of an ACK after three duplicate ACKs. In Linux
    /// tcp_comp_sack_delay_ns, 1 ms, or 5 % of the RTT if that is less. 0: no compression.
    pub sack_delay_ns: Nanos,
    /// The most ACKs that are compressed into one (Linux: tcp_comp_sack_nr).
    pub sack_delay_acks: u32,
    /// SACK and D-SACK, if the sender uses them too.
    pub sack: bool,
    /// Agrees to ECN if the sender requests it.
    pub ecn: Ecn,
    /// GRO: packets that arrive in order within this time of the first are received as one, up to 64 kB.
    /// Linux receives the packet at the end of the device's poll. 0: no GRO.
    pub gro_ns: Nanos,
    /// Artificial delay of every ACK, which makes the RTT seem longer (Ma et al. 2017, section III-C).
    pub ack_delay_ns: Nanos,
    /// Later values of `ack_delay_ns`: (time, value), in order of time.
    pub ack_delay_at: Arc<[(Nanos, Nanos)]>,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        ReceiverConfig {
            window: Window::Ample,
            ack_every: 2,
            delayed_ack: true,
            sack_delay_ns: 1_000_000,
            sack_delay_acks: 44,
            sack: true,
            ecn: Ecn::Off,
            gro_ns: 0,
            ack_delay_ns: 0,
            ack_delay_at: Arc::default(),
        }
    }
}

impl ReceiverConfig {
    /// Linux's defaults on a path of this RTT.
    pub fn linux(rtt_ns: Nanos) -> Self {
        ReceiverConfig { sack_delay_ns: (rtt_ns / 20).min(1_000_000), ..ReceiverConfig::default() }
    }

    /// True if some ACK has an artificial delay.
    pub(crate) fn delays_acks(&self) -> bool {
        self.ack_delay_ns > 0 || !self.ack_delay_at.is_empty()
    }
}
