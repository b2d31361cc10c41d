//! Looking on while a simulation runs: packets at links, ACKs and senders, as plain data.
//!
//! The engine takes a [`Tap`] as a type parameter, so that what a tap does not want costs nothing: with [`NoTap`] the
//! calls are gone. A tap only looks; it cannot change a run. What is written from here is in `fairpace-trace`.

/// Whose packet or sender it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Who {
    /// The flow's index in the scenario.
    pub flow: u32,
    /// Which of its connections, from 0 on: a workload has many, other flows have one.
    pub connection: u32,
}

/// What happens to a packet at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happening {
    /// It came and was taken in.
    Enqueued,
    /// It came and was dropped: there was no room, or a policer or the discipline refused it.
    Refused,
    /// It was dropped out of the queue, some time after it was enqueued.
    Dropped,
    /// The queue marked it (ECN); it stays.
    Marked,
    /// Its last bit left.
    Departed,
    /// It left, but the line lost it.
    Lost,
}

/// The ECN field of an IP header, RFC 3168.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EcnField {
    /// Not-ECT.
    #[default]
    NotCapable,
    /// ECT(0).
    Capable,
    /// CE.
    Marked,
}

/// A packet as an onlooker at a link sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Whose it is.
    pub who: Who,
    /// Length on the wire, link-layer header included.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: EcnField,
    /// When it left its host.
    pub sent_ns: u64,
    /// What it is.
    pub content: Content,
}

/// What a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// It asks for a connection.
    Syn,
    /// Data: one segment.
    Data {
        /// Its number; a connection's first is 0. Retransmissions have the number of the original.
        number: u64,
        /// The sender tells that it has reduced its window (CWR, RFC 3168).
        reduced: bool,
    },
    /// A pure ACK.
    Ack(Ack),
}

/// An ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ack {
    /// It answers a SYN.
    pub syn: bool,
    /// The next segment that the receiver waits for.
    pub next: u64,
    /// SACK blocks, segments from and up to, not including; the first may be a D-SACK. Empty ones at the end.
    pub blocks: [(u64, u64); 3],
    /// ECN-Echo, RFC 3168.
    pub echoes_mark: bool,
    /// The timestamp that it echoes: the sender's clock, ms.
    pub echo_ms: u32,
    /// Segments that the receiver has room for, from `next` on; `u64::MAX`: always enough.
    pub window_pkts: u64,
}

/// A sender at a moment. Counts are since the start of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SenderState {
    /// The algorithm's phase, by its number in `cc/contract`; -1 before there is a connection.
    pub phase: i8,
    /// Loss recovery state: Linux's `TCP_CA_*`, 0 (open) to 4 (loss).
    pub ca_state: u8,
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Slow start threshold; `u32::MAX`: none.
    pub ssthresh_pkts: u32,
    /// Sent, neither acknowledged nor believed lost.
    pub inflight_pkts: u32,
    /// Pacing rate in force, bytes per second; `None`: it does not pace.
    pub pacing_rate_Bps: Option<u64>,
    /// The algorithm's estimate of the bottleneck, bytes per second; 0: none.
    pub bw_Bps: u64,
    /// The algorithm's estimate of the propagation RTT; `None`: none.
    pub min_rtt_us: Option<u32>,
    /// Smoothed RTT; 0: no sample yet.
    pub srtt_us: u64,
    /// Pacing gain, 256 is 1.0; 0: none.
    pub pacing_gain_256: u32,
    /// Window gain, 256 is 1.0; 0: none.
    pub cwnd_gain_256: u32,
    /// Data packets sent, again ones included.
    pub sent_pkts: u64,
    /// Data packets sent again.
    pub resent_pkts: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Reductions that were taken back.
    pub undos: u64,
}

/// Somebody who looks on. Every method has a body that does nothing.
///
/// Times are ns since the start. A link's happenings of one kind come in order of time; a departure may be told before its time, when
/// the engine knows it.
pub trait Tap {
    /// False only for [`NoTap`]: the engine asks before it gathers anything.
    const ON: bool = true;

    /// Something happened to a packet at a link, by its index in the scenario.
    #[inline]
    fn packet(&mut self, _at_ns: u64, _link: u32, _what: Happening, _packet: &Packet) {}

    /// An ACK reached its sender, which has not looked at it yet.
    #[inline]
    fn ack(&mut self, _at_ns: u64, _who: Who, _ack: &Ack) {}

    /// A sender has done something: taken an ACK, seen a timer fire, started or stopped. `state` is called only by those who look.
    #[inline]
    fn sender(&mut self, _at_ns: u64, _who: Who, _state: impl FnOnce() -> SenderState) {}

    /// The last byte of a transfer (a flow of finite size, an answer, a flow of a workload) arrived.
    #[inline]
    fn completed(&mut self, _at_ns: u64, _who: Who, _bytes: u64, _took_ns: u64) {}
}

/// Nobody looks on.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTap;

impl Tap for NoTap {
    const ON: bool = false;
}
