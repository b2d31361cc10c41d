//! Live observation of a simulation: packets at links, ACKs and sender states, as plain data.
//!
//! The simulator takes an [`Observer`] as a type parameter. With [`NullObserver`] the compiler removes the
//! calls, so an unobserved run takes no more time. An observer cannot change a run. `fairpace-trace` writes
//! files from an observer.
//!
//! The types are here, beside the record of a run, so that a writer of traces depends on this crate and not
//! on the simulator.

/// Identifies a TCP connection of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ConnectionId {
    /// Index of the connection's flow in the scenario.
    pub flow: u32,
    /// Index of the connection within its flow, in order of start. Flows other than workloads have only
    /// connection 0.
    pub index: u32,
}

/// An event of a packet at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEvent {
    /// The packet entered the queue.
    Enqueued,
    /// The packet was dropped on arrival: the buffer was full, or a policer or the AQM dropped it.
    Refused,
    /// The packet was dropped from the queue, after it had been enqueued.
    Dropped,
    /// The queue set CE on the packet instead of dropping it. Reported when the packet leaves the link or is
    /// dropped. If the packet came with CE, RED, CoDel, PIE and DualPI2 count one more mark, as Linux
    /// does, but nothing is reported.
    Marked,
    /// The last bit of the packet left the link.
    Departed,
    /// The packet left the link and was lost on the wire.
    Lost,
}

/// The ECN field of an IP header, RFC 3168, section 5, and RFC 9331.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EcnField {
    /// Not-ECT: congestion can only drop the packet.
    #[default]
    NotEct,
    /// ECT(0): congestion may mark the packet, in place of dropping it.
    Ect0,
    /// ECT(1): L4S. A queue may mark the packet at a delay at which it would not drop a Classic packet, RFC
    /// 9331.
    Ect1,
    /// CE: congestion was experienced.
    Ce,
}

/// A packet at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The connection that sent the packet.
    pub connection: ConnectionId,
    /// Length of the packet on the wire, link-layer header included.
    pub bytes: u32,
    /// ECN field of the packet.
    pub ecn: EcnField,
    /// Time when the packet left its host, ns since the start of the run.
    pub sent_ns: u64,
    /// Content of the packet.
    pub content: Content,
}

/// Content of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A SYN from the sender of data.
    Syn,
    /// The ACK of a SYN-ACK, from a sender that has no data to send yet.
    HandshakeAck,
    /// A segment of data.
    Data {
        /// Number of the segment; the first segment of a connection is 0. A retransmission has the number of
        /// the original.
        seq: u64,
        /// CWR of RFC 3168: the sender has reduced its cwnd.
        cwr: bool,
        /// PSH: the last packet of a burst of several packets, or the last of the data that the application
        /// has written.
        push: bool,
    },
    /// A part of a frame of audio or video, in RTP over UDP.
    Datagram {
        /// Number of the packet, over all frames; the first packet of a flow is 0.
        number: u64,
    },
    /// A pure ACK.
    Ack(Ack),
}

/// The fields of an ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ack {
    /// True for a SYN-ACK.
    pub syn: bool,
    /// True for a RST: the receiver does not know the connection.
    pub rst: bool,
    /// The cumulative ACK: the next segment that the receiver expects.
    pub next: u64,
    /// SACK blocks: the first segment of each, and the segment after its last. The first block may be a
    /// D-SACK. Unused blocks are at the end and empty.
    pub blocks: [(u64, u64); 3],
    /// ECN-Echo, RFC 3168.
    pub ece: bool,
    /// Number of packets that have arrived with CE, if both ends use accurate ECN, RFC 9768; wraps.
    pub ce_pkts: u16,
    /// The echoed timestamp: the sender's clock, ms (TSecr of RFC 7323).
    pub echo_ms: u32,
    /// The receive window in segments from `next` on; `u64::MAX`: unlimited.
    pub rwnd_pkts: u64,
}

/// The state of a sender. Counts are since the start of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SenderState {
    /// The algorithm's phase, as its number in `cc/contract`; -1 before the connection is established.
    pub phase: i8,
    /// Loss recovery state: the number of Linux's `TCP_CA_*`, 0 (open) to 4 (loss).
    pub ca_state: u8,
    /// Congestion window of the sender.
    pub cwnd_pkts: u32,
    /// Slow start threshold; `u32::MAX`: none.
    pub ssthresh_pkts: u32,
    /// Number of packets sent and neither acknowledged nor marked lost.
    pub inflight_pkts: u32,
    /// Pacing rate in force, bytes per second; `None`: the sender does not pace.
    pub pacing_rate_Bps: Option<u64>,
    /// The algorithm's estimate of the bottleneck bandwidth, bytes per second; 0: none.
    pub bw_Bps: u64,
    /// The algorithm's estimate of the propagation RTT; `None`: none.
    pub min_rtt_us: Option<u32>,
    /// Smoothed RTT; 0: no sample yet.
    pub srtt_us: u64,
    /// Pacing gain, 256 is 1.0; 0: none.
    pub pacing_gain_256: u32,
    /// cwnd gain, 256 is 1.0; 0: none.
    pub cwnd_gain_256: u32,
    /// Number of data packets sent, retransmissions included.
    pub sent_pkts: u64,
    /// Number of data packets retransmitted.
    pub retransmitted_pkts: u64,
    /// Number of retransmission timeouts.
    pub timeouts: u64,
    /// Number of reductions of cwnd that were undone.
    pub undos: u64,
}

/// Receives the events of a simulation. Every method has a default body that does nothing.
///
/// Times are ns since the start of the run. Events of one kind at one link come in order of time. A departure
/// may be reported before its time, when the simulator has already computed it.
pub trait Observer {
    /// True for all observers but [`NullObserver`]: the simulator gathers data for an observer only if this
    /// constant is true.
    const ON: bool = true;

    /// `event` happened to `packet` at the link with the index `link` in the scenario.
    #[inline]
    fn packet(&mut self, _at_ns: u64, _link: u32, _event: LinkEvent, _packet: &Packet) {}

    /// A sender sent a SYN or a segment, which has not reached the network yet.
    #[inline]
    fn sent(&mut self, _at_ns: u64, _connection: ConnectionId, _content: &Content) {}

    /// An ACK reached its sender, which has not processed it yet.
    #[inline]
    fn ack(&mut self, _at_ns: u64, _connection: ConnectionId, _ack: &Ack) {}

    /// A sender has started, stopped, processed an ACK or run a timer. `state` computes its state; an
    /// observer that does not need the state does not call it.
    #[inline]
    fn sender(&mut self, _at_ns: u64, _connection: ConnectionId, _state: impl FnOnce() -> SenderState) {}

    /// The last byte of a transfer (a flow of finite size, a response, a connection of a workload) arrived.
    #[inline]
    fn completed(&mut self, _at_ns: u64, _connection: ConnectionId, _bytes: u64, _took_ns: u64) {}
}

impl<O: Observer> Observer for &mut O {
    const ON: bool = O::ON;

    #[inline]
    fn packet(&mut self, at_ns: u64, link: u32, event: LinkEvent, packet: &Packet) {
        (**self).packet(at_ns, link, event, packet);
    }

    #[inline]
    fn sent(&mut self, at_ns: u64, connection: ConnectionId, content: &Content) {
        (**self).sent(at_ns, connection, content);
    }

    #[inline]
    fn ack(&mut self, at_ns: u64, connection: ConnectionId, ack: &Ack) {
        (**self).ack(at_ns, connection, ack);
    }

    #[inline]
    fn sender(&mut self, at_ns: u64, connection: ConnectionId, state: impl FnOnce() -> SenderState) {
        (**self).sender(at_ns, connection, state);
    }

    #[inline]
    fn completed(&mut self, at_ns: u64, connection: ConnectionId, bytes: u64, took_ns: u64) {
        (**self).completed(at_ns, connection, bytes, took_ns);
    }
}

/// The observer of an unobserved run.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullObserver;

impl Observer for NullObserver {
    const ON: bool = false;
}
