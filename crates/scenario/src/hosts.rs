//! TCP settings of the sending and the receiving host. The defaults are Linux's.

use std::time::Duration;

use crate::field::{Field, words};
use crate::impairments::Steps;
use crate::key::{Kind, Relation, S, SIZE, TIME};
use crate::quantity::{Dimension, ETHERNET_BYTES};
use crate::row::{Access, Row, field};

/// Use of ECN by the connection, and the echo of marks by the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// No ECN.
    #[default]
    Off,
    /// RFC 3168: ECE on every ACK from a mark until CWR; a mark is answered like a loss, once per round trip.
    Classic,
    /// RFC 8257: ECE on an ACK says exactly whether the packets that it acknowledges were marked.
    Dctcp,
    /// RFC 9768: the count of packets that have arrived with CE is on every ACK of packets that have arrived
    /// with CE. Packets are ECT(0).
    Accurate,
    /// RFC 9768 with packets that are ECT(1), retransmissions too: L4S, RFC 9331.
    L4s,
}

words!(Ecn { Off = "off", Classic = "classic", Dctcp = "dctcp", Accurate = "accurate", L4s = "l4s" });

impl Ecn {
    /// Returns whether the receiver feeds back counts (RFC 9768) instead of ECE.
    #[must_use]
    pub fn is_accurate(self) -> bool {
        matches!(self, Ecn::Accurate | Ecn::L4s)
    }
}

/// Settings of the sending host beside the algorithm. `Default` is Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// ECN, which both ends take part in. With an algorithm that leaves reductions to the host, a mark is
    /// answered like a loss, once per round trip. Other algorithms get marks in their view, and set cwnd
    /// themselves.
    pub ecn: Ecn,
    /// Accurate ECN: ACKs have the AccECN option beside the ACE field, where the option fits (RFC 9768,
    /// section 3.2.3). Both ends take part in it.
    pub accecn_option: bool,
    /// Selective acknowledgments, RFC 2018, which both ends take part in. If false: NewReno, RFC 6582, and
    /// neither RACK nor TLP.
    pub sack: bool,
    /// RACK: losses are found by time, RFC 8985. If false: by three duplicate ACKs, RFC 6675, and the loss of
    /// a retransmission is found by timeout only.
    pub rack: bool,
    /// Tail loss probes, RFC 8985.
    pub tlp: bool,
    /// F-RTO: detection of needless timeouts, RFC 5682.
    pub frto: bool,
    /// Undo: needless reductions of cwnd are taken back. If false: F-RTO still avoids the retransmissions.
    pub undo: bool,
    /// Proportional rate reduction, RFC 9937, for algorithms that leave reductions to the host. If false:
    /// cwnd falls at once (RFC 5681).
    pub prr: bool,
    /// Restart after idle: cwnd decays while nothing is sent, RFC 2861.
    pub idle_restart: bool,
    /// TSO: several packets leave as one burst, sized by the pacing rate. If false: packet by packet.
    pub tso: bool,
    /// Pacing on or off, as with the fq queue discipline; `None`: as the algorithm requests.
    pub pacing: Option<bool>,
    /// The MTU of the path, bytes: a full packet with its IP header. The payload of the packet is
    /// [`Sending::mss_bytes`].
    pub mtu_bytes: u32,
    /// Initial window, packets; RFC 6928 has 10. 0 is taken as 1.
    pub initial_cwnd_pkts: u32,
    /// Least time by which the RTO exceeds the RTT, and a tail loss probe of a lone packet two RTTs.
    pub rto_min: Duration,
    /// Number of retransmissions of a SYN with a doubled RTO, before the connection fails.
    pub syn_retries: u32,
    /// Number of retransmissions of a SYN before these, a second apart.
    pub syn_linear_timeouts: u32,
}

/// Headers of a full packet within the MTU, bytes: 20 of IPv4 and 32 of TCP with timestamps (RFC 7323).
const HEADERS_BYTES: u32 = 20 + 32;

impl Sending {
    /// Payload of a full packet, bytes: the MTU less the headers of IPv4 and of TCP with timestamps. At least
    /// 1.
    #[must_use]
    pub const fn mss_bytes(&self) -> u32 {
        if self.mtu_bytes > HEADERS_BYTES { self.mtu_bytes - HEADERS_BYTES } else { 1 }
    }

    /// The payload of a full packet as a part of its length on the wire, with an Ethernet header: 0.956 with
    /// the default MTU.
    #[must_use]
    pub fn payload_ratio(&self) -> f64 {
        f64::from(self.mss_bytes()) / (f64::from(self.mtu_bytes) + ETHERNET_BYTES as f64)
    }
}

impl Default for Sending {
    fn default() -> Self {
        Sending {
            ecn: Ecn::Off,
            accecn_option: true,
            sack: true,
            rack: true,
            tlp: true,
            frto: true,
            undo: true,
            prr: true,
            idle_restart: true,
            tso: true,
            pacing: None,
            mtu_bytes: 1500,
            initial_cwnd_pkts: 10,
            rto_min: Duration::from_millis(200),
            syn_retries: 6,
            syn_linear_timeouts: 4,
        }
    }
}

/// The receive window: the amount of data that the sender may have outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Window {
    /// A window that is always large enough.
    #[default]
    Ample,
    /// A window of this number of bytes of payload.
    Fixed(u64),
    /// Linux's autotuning: a window from 64 kB up to this number of bytes of payload.
    Autotuned(u64),
}

/// Settings of the receiving host: how it acknowledges. `Default` is Linux on a host without GRO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiving {
    /// The receive window.
    pub window: Window,
    /// Number of full packets per ACK. Above 2 a PSH causes no ACK, either.
    pub ack_every: u32,
    /// A packet with PSH is acknowledged as soon as the application has read it, as in Linux since 6.7.
    pub psh_ack: bool,
    /// Delayed ACKs: the receiver waits for `ack_every` packets, for up to 40 ms and more. If false: an ACK
    /// at once for each packet.
    pub delayed_ack: bool,
    /// SACK compression: SACKs are held back for up to 1 ms after three duplicate ACKs.
    pub sack_compression: bool,
    /// GRO: packets of a flow that arrive within this time of the first of them are received as one, up to 64
    /// kB.
    pub gro: Duration,
    /// Time for which the receiver holds every ACK back: the RTT seems longer than the path's.
    pub ack_delay: Duration,
    /// Later values of `ack_delay`.
    pub ack_delay_at: Steps<Duration>,
    /// Number of retransmissions of a SYN-ACK before the receiver gives up.
    pub syn_ack_retries: u32,
}

impl Default for Receiving {
    fn default() -> Self {
        Receiving {
            window: Window::Ample,
            ack_every: 2,
            psh_ack: true,
            delayed_ack: true,
            sack_compression: true,
            gro: Duration::ZERO,
            ack_delay: Duration::ZERO,
            ack_delay_at: Vec::new(),
            syn_ack_retries: 5,
        }
    }
}

const BOOL: Kind = Kind::Bool;
const NEEDS_SACK: &[Relation] = &[Relation::NeedsTrue("sack", "it works on selective acknowledgments")];

#[rustfmt::skip]
pub(crate) const WINDOW_KEYS: &[Row<Receiving>] = &[
    Row::flow("receive_buffer", SIZE, RECEIVE_BUFFER,
        "The receive window (rwnd): the sender never has more than this outstanding. Payload; whole packets \
         count, of 1448 bytes with an `mtu` of 1500.")
        .range(1448, 16_000_000_000).or("always large enough")
        .related(&[Relation::Excludes("receive_buffer_max")]),
    Row::flow("receive_buffer_max", SIZE, RECEIVE_BUFFER_MAX,
        "The receiver tunes the receive window, as Linux does: from 64 KiB up to this much payload.")
        .range(1 << 16, 16_000_000_000).or("always large enough"),
];

#[rustfmt::skip]
pub(crate) const SENDING_KEYS: &[Row<Sending>] = &[
    Row::flow("ecn", Kind::Choice(Ecn::NAMES), field!(Sending, ecn),
        "ECN: not used; `classic` (RFC 3168: a mark is answered like a loss, once per round trip); with the \
         exact echo of marks of `dctcp` (RFC 8257); `accurate`, with a count of marks on every ACK (AccECN, \
         RFC 9768); or `l4s`, the same with packets that are ECT(1) (RFC 9331). On the testbed `accurate` \
         and `l4s` need Linux 7.0, and `dctcp` makes ACKs ECN-capable.")
        .optional(),
    Row::flow("accecn_option", BOOL, field!(Sending, accecn_option),
        "ACKs of `ecn = \"accurate\"` and `\"l4s\"` have the AccECN option, where it fits. Without, as where \
         a middlebox strips it: only the three bits of the ACE field, which is ambiguous when ACKs are lost. \
         On the testbed all flows have one sending host, and so the same value.")
        .optional().related(&[Relation::Needs("ecn")]),
    Row::flow("sack", BOOL, field!(Sending, sack),
        "Selective acknowledgments (RFC 2018). Without: NewReno (RFC 6582), without `rack` and `tlp`. On the \
         testbed all flows have one sending host, and so the same value.")
        .optional(),
    Row::flow("rack", BOOL, field!(Sending, rack),
        "Losses are found by time (RFC 8985). Without: by three duplicates (RFC 6675).")
        .optional().related(NEEDS_SACK).simulator_only(),
    Row::flow("tlp", BOOL, field!(Sending, tlp), "Tail loss probes (RFC 8985).")
        .optional().related(NEEDS_SACK).simulator_only(),
    Row::flow("frto", BOOL, field!(Sending, frto), "Detection of spurious timeouts (RFC 5682).")
        .optional().simulator_only(),
    Row::flow("undo", BOOL, field!(Sending, undo),
        "Reductions are undone when they turn out to be spurious.")
        .optional().simulator_only(),
    Row::flow("prr", BOOL, field!(Sending, prr),
        "Proportional rate reduction (RFC 9937), for algorithms that leave reductions to the host. Without: \
         cwnd falls at once.")
        .optional().simulator_only(),
    Row::flow("idle_restart", BOOL, field!(Sending, idle_restart),
        "cwnd decays while nothing is sent (RFC 2861).")
        .optional().simulator_only(),
    Row::flow("tso", BOOL, field!(Sending, tso),
        "Packets leave in TSO bursts that are sized by the pacing rate. Without: one by one. On the testbed \
         all flows have one sending host, and so the same value.")
        .optional(),
    Row::flow("pacing", BOOL, field!(Sending, pacing),
        "Pacing on or off, whatever the algorithm requests. The testbed refuses `false` for an algorithm \
         that requests it: Linux has no switch against it.")
        .or("as the algorithm requests"),
    Row::flow("initial_cwnd", Kind::Integer, field!(Sending, initial_cwnd_pkts),
        "Initial cwnd, packets (RFC 6928).")
        .range(1, 1_000).optional().simulator_only(),
    Row::flow("mtu", Kind::Integer, field!(Sending, mtu_bytes),
        "MTU of the flow's path, bytes: 1280 to 1420 in tunnels, 9000 in data centres. A full packet has 52 \
         bytes less of payload, and 14 more on the wire. Buffers and token buckets on its route must hold \
         one. Queue disciplines take 1514 bytes for a full packet, whatever the MTU of flows is.")
        .range(576, 9_000).optional(),
    Row::flow("rto_min", TIME, field!(Sending, rto_min),
        "The retransmission timeout is at least this longer than the smoothed RTT (Linux: `tcp_rto_min_us`). \
         A tail loss probe of a lone packet, whose ACK may be delayed, follows after this and two RTTs.")
        .range(1_000, 120 * S).optional(),
    Row::flow("syn_retries", Kind::Integer, field!(Sending, syn_retries),
        "Times that a SYN is sent again at doubled intervals before the connection fails (Linux: \
         `tcp_syn_retries`).")
        .range(1, 127).optional(),
    Row::flow("syn_linear_timeouts", Kind::Integer, field!(Sending, syn_linear_timeouts),
        "Times that a SYN is sent again before that, 1 s apart (Linux: `tcp_syn_linear_timeouts`). As in \
         Linux, the connection fails earlier if the time of all `syn_retries` alone has passed. On the \
         testbed all flows have one sending host, and so the same value.")
        .range(0, 127).optional(),
];

#[rustfmt::skip]
pub(crate) const RECEIVING_KEYS: &[Row<Receiving>] = &[
    Row::flow("ack_every", Kind::Integer, field!(Receiving, ack_every),
        "Full packets per ACK. Above 2 a PSH causes none, either.")
        .range(1, 1_000).optional()
        .related(&[Relation::NeedsTrue("delayed_ack", "each packet is acknowledged at once")])
        .simulator_only(),
    Row::flow("psh_ack", BOOL, field!(Receiving, psh_ack),
        "A packet with PSH, as the last of a burst has it, is acknowledged as soon as the application has \
         read it: Linux since 6.7. Without: like any other.")
        .optional().simulator_only(),
    Row::flow("delayed_ack", BOOL, field!(Receiving, delayed_ack),
        "Delayed ACKs: the receiver waits for `ack_every` packets, for 40 ms and more. Without: it \
         acknowledges each at once.")
        .optional().simulator_only(),
    Row::flow("sack_compression", BOOL, field!(Receiving, sack_compression),
        "The receiver holds SACKs back for up to 1 ms after three duplicate ACKs, as Linux does.")
        .optional().simulator_only(),
    Row::flow("gro", TIME, field!(Receiving, gro),
        "Packets that arrive within this time of the first of them are received as one, up to 64 kB.")
        .range(0, S).optional().simulator_only(),
    Row::flow("ack_delay", TIME, field!(Receiving, ack_delay),
        "The receiver holds every ACK back for this long: the path seems longer than it is.")
        .range(0, 10 * S).optional(),
    Row::flow("ack_delay_at", Kind::Steps(Dimension::Time), field!(Receiving, ack_delay_at),
        "Later values of `ack_delay`.")
        .range(0, 10 * S).or("`ack_delay` never changes"),
    Row::flow("synack_retries", Kind::Integer, field!(Receiving, syn_ack_retries),
        "Times that a SYN-ACK is sent again at doubled intervals before the receiver forgets the connection \
         (Linux: `tcp_synack_retries`). On the testbed all flows have one receiving host, and so the same \
         value.")
        .range(0, 255).optional(),
];

const RECEIVE_BUFFER: Access<Receiving> = Access {
    get: |receiving| if let Window::Fixed(bytes) = &receiving.window { bytes.value() } else { None },
    set: |receiving, value, _| receiving.window = Window::Fixed(value.number()),
};
const RECEIVE_BUFFER_MAX: Access<Receiving> = Access {
    get: |receiving| if let Window::Autotuned(bytes) = &receiving.window { bytes.value() } else { None },
    set: |receiving, value, _| receiving.window = Window::Autotuned(value.number()),
};
