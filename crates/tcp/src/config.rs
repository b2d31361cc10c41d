//! Configuration of sender and receiver. The defaults are Linux's.

use std::sync::Arc;
use std::time::Duration;

pub use fairpace_scenario::{Ecn, Sending, Window};
use fairpace_scenario::{Receiving, ns};

use crate::Nanos;
use crate::wire::MSS_BYTES;

/// Configuration of a receiver. `Default` is Linux on a path of 20 ms or more, without GRO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// The receive window.
    pub window: Window,
    /// Number of full segments per ACK, at least 1: 2 in RFC 1122 and Linux. Above 2 a PSH causes no ACK,
    /// either.
    pub ack_every: u32,
    /// PSH: a segment with PSH is acknowledged as soon as the application has read it (Linux since 6.7).
    pub psh_ack: bool,
    /// Delayed ACKs: the receiver waits for `ack_every` segments, at least 40 ms and at most 200 ms. If
    /// false: an ACK per segment.
    pub delayed_ack: bool,
    /// SACK compression: the longest delay of an ACK after three duplicate ACKs. In Linux
    /// tcp_comp_sack_delay_ns, 1 ms, or 5 % of the RTT if that is less. 0: no compression.
    pub sack_delay_ns: Nanos,
    /// The most ACKs that are compressed into one (Linux: tcp_comp_sack_nr).
    pub sack_delay_acks: u32,
    /// SACK and D-SACK, if the sender uses them, too.
    pub sack: bool,
    /// ECN: the receiver agrees if the sender requests it.
    pub ecn: Ecn,
    /// Accurate ECN: ACKs have the AccECN option, where the option fits.
    pub accecn_option: bool,
    /// Payload of a full segment: equal to the sender's, bytes.
    pub mss_bytes: u32,
    /// GRO: packets that arrive in order within this time of the first packet are received as one, up to 64
    /// kB. Linux receives the packet at the end of the device's poll. 0: no GRO.
    pub gro_ns: Nanos,
    /// Number of retransmissions of a SYN-ACK before the receiver gives up.
    pub syn_ack_retries: u32,
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
            psh_ack: true,
            delayed_ack: true,
            sack_delay_ns: 1_000_000,
            sack_delay_acks: 44,
            sack: true,
            ecn: Ecn::Off,
            accecn_option: true,
            mss_bytes: MSS_BYTES,
            gro_ns: 0,
            syn_ack_retries: Receiving::default().syn_ack_retries,
            ack_delay_ns: 0,
            ack_delay_at: Arc::default(),
        }
    }
}

impl ReceiverConfig {
    /// Returns Linux's defaults on a path of this RTT.
    pub fn linux(rtt_ns: Nanos) -> Self {
        ReceiverConfig { sack_delay_ns: (rtt_ns / 20).min(1_000_000), ..ReceiverConfig::default() }
    }

    /// Returns a receiver with these settings, on a path of this RTT. It uses SACK and ECN as its sender
    /// does.
    pub fn new(receiving: &Receiving, sending: &Sending, rtt: Duration) -> Self {
        let linux = ReceiverConfig::linux(ns(rtt));
        ReceiverConfig {
            window: receiving.window,
            ack_every: receiving.ack_every,
            psh_ack: receiving.psh_ack,
            delayed_ack: receiving.delayed_ack,
            sack_delay_ns: if receiving.sack_compression { linux.sack_delay_ns } else { 0 },
            sack: sending.sack,
            ecn: sending.ecn,
            accecn_option: sending.accecn_option,
            mss_bytes: sending.mss_bytes(),
            gro_ns: ns(receiving.gro),
            syn_ack_retries: receiving.syn_ack_retries,
            ack_delay_ns: ns(receiving.ack_delay),
            ack_delay_at: receiving.ack_delay_at.iter().map(|(at, delay)| (ns(*at), ns(*delay))).collect(),
            ..linux
        }
    }

    /// True if some ACK has an artificial delay.
    pub(crate) fn delays_acks(&self) -> bool {
        self.ack_delay_ns > 0 || !self.ack_delay_at.is_empty()
    }
}
