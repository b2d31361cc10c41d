//! What can be switched on either end. The defaults are Linux's.

use std::sync::Arc;

use fairpace_cc::NO_RATE;

use crate::Nanos;

/// Does an end take part in ECN, and how does a receiver echo marks?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// It does not.
    #[default]
    Off,
    /// RFC 3168: ECE on every ACK from a mark until the sender says CWR.
    Classic,
    /// RFC 8257: ECE tells of each ACK whether what it acknowledges was marked. To a sender the same as `Classic`.
    Dctcp,
}

/// What can be set on a sender beside its algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderConfig {
    /// Seeds the algorithm's own generator.
    pub random: u32,
    /// The application's limit on the pacing rate, bytes per second; [`NO_RATE`]: none.
    pub max_pacing_rate_Bps: u64,
    /// A burst holds `pacing_rate >> burst_shift` bytes; Linux's sk_pacing_shift, 10: about 1 ms.
    pub burst_shift: u8,
    /// Paces, whether or not the algorithm asks for it, as a host with the fq queue discipline does, or never;
    /// `None`: if it asks.
    pub pacing: Option<bool>,
    /// Bursts of several packets leave as one, sized by the pacing rate. Without: packet by packet.
    pub tso: bool,
    /// Initial window, packets; RFC 6928 has 10. At least 1.
    pub initial_cwnd_pkts: u32,
    /// cwnd of algorithms that leave reductions to the host decays while nothing is sent, RFC 2861.
    pub idle_restart: bool,
    /// Asks for ECN. A mark is answered like a loss, once per round trip, for algorithms that leave reductions to
    /// the host; the others see it in their view.
    pub ecn: Ecn,
    /// Selective acknowledgments, RFC 2018, which the receiver must take part in. Without: NewReno, RFC 6582, which
    /// counts duplicate ACKs; neither RACK nor TLP.
    pub sack: bool,
    /// Losses are found by time, RFC 8985. Without: a packet is lost when three later ones were SACKed, RFC 6675,
    /// and the loss of a retransmission is found by timeout only.
    pub rack: bool,
    /// Tail loss probes, RFC 8985.
    pub tlp: bool,
    /// Needless timeouts are detected, RFC 5682.
    pub frto: bool,
    /// Reductions that turn out to have been needless are taken back. Without: F-RTO still spares the
    /// retransmissions.
    pub undo: bool,
    /// Proportional rate reduction, RFC 9937, for algorithms that leave reductions to the host. Without: cwnd falls
    /// to ssthresh at once, RFC 5681.
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

/// How much a receiver lets its sender have outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Window {
    /// Always enough.
    #[default]
    Ample,
    /// So many bytes of payload, in whole packets, at least one.
    Fixed(u64),
    /// Linux's autotuning: from 64 kB up to so many bytes of payload; whole packets, at least one.
    Autotuned(u64),
}

/// How a receiver acknowledges. `Default` is Linux on a path of 20 ms or more, without GRO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// What the sender may have outstanding.
    pub window: Window,
    /// Full segments per ACK: 2 as RFC 1122 and Linux. At least 1.
    pub ack_every: u32,
    /// Waits for `ack_every` segments at all, for up to 40 ms and more. Without: an ACK at once for each.
    pub delayed_ack: bool,
    /// Longest time that SACKs are held back after three duplicate ACKs: Linux's tcp_comp_sack_delay_ns, 1 ms, or
    /// 5 % of the RTT if that is less. 0: none is.
    pub sack_delay_ns: Nanos,
    /// Most ACKs that are held back so, Linux's tcp_comp_sack_nr.
    pub sack_delay_acks: u32,
    /// SACK and D-SACK, if the sender wants them too.
    pub sack: bool,
    /// Agrees to ECN if the sender asks.
    pub ecn: Ecn,
    /// Packets that arrive in order within this time of the first of them are received as one, up to 64 kB (GRO);
    /// what cannot join ends it. Linux ends it with the poll of the device. 0: none is.
    pub gro_ns: Nanos,
    /// Holds every ACK back for so long, so that the path seems longer than it is (Ma et al. 2017, section III-C).
    pub ack_delay_ns: Nanos,
    /// From these times on, in order: later values of `ack_delay_ns`.
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

    /// Some ACK is held back for show.
    pub(crate) fn delays_acks(&self) -> bool {
        self.ack_delay_ns > 0 || !self.ack_delay_at.is_empty()
    }
}
