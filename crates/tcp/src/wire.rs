//! Segments and ACKs, and the interfaces through which sender and receiver send them.

use crate::time::Nanos;

/// Payload of a full segment with the default MTU, bytes: 1500 less 20 of IP and 32 of TCP with timestamps.
/// For other MTUs: [`Sending::mss_bytes`](crate::Sending::mss_bytes).
pub const MSS_BYTES: u32 = 1448;
/// Headers of a data packet, bytes: Ethernet (without FCS and preamble), IP, TCP with timestamps.
pub const HEADER_BYTES: u32 = 14 + 20 + 32;
/// Length of a SYN, bytes: Ethernet, IP, TCP with 20 bytes of options as in Linux.
pub const SYN_BYTES: u32 = 14 + 20 + 40;

/// The ECN field of a packet: RFC 3168, section 5, and RFC 9331. The network has its own type for this field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EcnField {
    /// Not-ECT: congestion can only drop the packet.
    #[default]
    NotEct,
    /// ECT(0): a queue may mark the packet instead of dropping it.
    Ect0,
    /// ECT(1): L4S.
    Ect1,
    /// CE: a queue has marked the packet.
    Ce,
}

/// A data packet of one MSS, a SYN, or the ACK of a SYN-ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Packet number; [`Segment::SYN`] or [`Segment::ACK`] if the segment is no data.
    pub seq: u64,
    /// Time when the segment was sent.
    pub sent: Nanos,
    /// Echo of the timestamp of the last ACK.
    pub echo_ms: u32,
    /// The ECN field. A SYN is Not-ECT, and so is a retransmission, except in L4S. The network sets CE before
    /// the segment arrives.
    pub ecn: EcnField,
    /// CWR: the sender has reduced cwnd after an ECE. On a SYN: the sender requests ECN.
    pub cwr: bool,
    /// PSH: the last packet of a burst of several packets, or the last of the data that the application has
    /// written.
    pub push: bool,
}

impl Segment {
    /// The `seq` of a SYN.
    pub const SYN: u64 = u64::MAX;
    /// The `seq` of the ACK of a SYN-ACK. A sender that has data sends the data instead.
    pub const ACK: u64 = u64::MAX - 1;

    /// True for a data packet.
    #[inline]
    pub fn is_data(&self) -> bool {
        self.seq < Segment::ACK
    }

    /// The timestamp option of the segment, ms (Linux: tcp_skb_timestamp_ts).
    pub(crate) fn timestamp_ms(&self) -> u32 {
        timestamp_ms(self.sent)
    }
}

/// Returns the timestamp clock, ms. It wraps after 49 days.
pub(crate) fn timestamp_ms(at: Nanos) -> u32 {
    (at / 1_000_000) as u32
}

/// A block of packets from `start` to `end`, exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Block {
    /// The first packet of the block.
    pub start: u64,
    /// One past the last packet of the block.
    pub end: u64,
}

impl Block {
    /// The empty block.
    pub const NONE: Block = Block { start: 0, end: 0 };

    /// True when the block holds no packet.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    pub(crate) fn contains(self, other: Block) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A pure ACK, a SYN-ACK, or a RST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// The cumulative ACK: the next packet that the receiver expects; [`Ack::RST`] for a RST.
    pub next: u64,
    /// Echo of a segment's timestamp, ms (TSecr, RFC 7323).
    pub echo_ms: u32,
    /// The ACK's own timestamp, ms (TSval).
    pub sent_ms: u32,
    /// The receive window: packets that the receiver accepts from `next` on. At least 1; `u32::MAX`: no
    /// limit.
    pub rwnd_pkts: u32,
    /// The low bits of the window field, by which a sender without SACK knows a duplicate: an ACK that opens
    /// rwnd is no duplicate (RFC 5681, section 2). The field is that of Linux's receive buffer, even where
    /// `rwnd_pkts` is without limit. 0 with SACK.
    pub window: u8,
    /// True for a SYN-ACK.
    pub syn: bool,
    /// ECE: a marked packet has arrived. On a SYN-ACK: the receiver agrees to ECN.
    pub ece: bool,
    /// Accurate ECN (RFC 9768): number of packets that have arrived with CE; wraps. The low three bits are
    /// the ACE field. The AccECN option has the rest, where it fits: see [`Ack::has_accecn_option`]. 0
    /// without accurate ECN.
    pub ce_pkts: u16,
    /// SACK blocks, RFC 2018, most recent first; the first block may be a D-SACK, RFC 2883. Three blocks fit
    /// beside timestamps.
    pub blocks: [Block; 3],
}

impl Ack {
    /// The `next` of a RST: the receiver does not know the connection.
    pub const RST: u64 = u64::MAX;

    /// Returns whether the AccECN option fits beside the other options. TCP has 40 bytes for options.
    /// Timestamps take 12 and SACK 12, 20 or 28, so the AccECN option does not fit beside three SACK blocks.
    /// RFC 9768, section 3.2.3.3, lets SACK come first up to two blocks, beside which the option fits; here
    /// SACK comes first with three blocks, too.
    #[inline]
    pub fn has_accecn_option(&self) -> bool {
        self.blocks[2].is_empty()
    }
}

impl Default for Ack {
    /// Returns an ACK that acknowledges nothing, with an rwnd without limit.
    fn default() -> Self {
        Ack {
            next: 0,
            echo_ms: 0,
            sent_ms: 0,
            rwnd_pkts: u32::MAX,
            window: 0,
            syn: false,
            ece: false,
            ce_pkts: 0,
            blocks: [Block::NONE; 3],
        }
    }
}

/// The network as a sender uses it.
pub trait Wire {
    /// Sends a packet now. The packet's length is [`HEADER_BYTES`] and, for data, its MSS, or [`SYN_BYTES`].
    fn send(&mut self, segment: Segment);

    /// Records that the connection has failed: see [`Sender::has_failed`](crate::Sender::has_failed).
    fn fail(&mut self) {}
}

impl Wire for Vec<Segment> {
    fn send(&mut self, segment: Segment) {
        self.push(segment);
    }
}

/// The network as a receiver uses it.
pub trait AckWire {
    /// Sends an ACK at the time `at`: now, or later with an artificial ACK delay. ACKs leave in order.
    fn send(&mut self, at: Nanos, ack: Ack);
}

impl AckWire for Vec<(Nanos, Ack)> {
    fn send(&mut self, at: Nanos, ack: Ack) {
        self.push((at, ack));
    }
}
