//! Segments and ACKs, and where sender and receiver put them.

use crate::time::Nanos;

/// Payload of a full segment, bytes: an MTU of 1500 less 20 of IP and 32 of TCP with timestamps.
pub const MSS_BYTES: u32 = 1448;
/// Headers of a data packet, bytes: Ethernet (without FCS and preamble), IP, TCP with timestamps.
pub const HEADER_BYTES: u32 = 14 + 20 + 32;
/// Length of a SYN, bytes: Ethernet, IP, TCP with 20 bytes of options as in Linux.
pub const SYN_BYTES: u32 = 14 + 20 + 40;

/// A data packet of one MSS, or a SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Packet number; [`Segment::SYN`] for the SYN.
    pub seq: u64,
    /// When it was sent.
    pub sent: Nanos,
    /// Echo of the timestamp of the last ACK.
    pub echo_ms: u32,
    /// ECT(0), RFC 3168: a queue may mark the packet instead of dropping it. False for a SYN and for
    /// retransmissions.
    pub ect: bool,
    /// CWR: the sender has reduced cwnd after an ECE. On a SYN: it requests ECN.
    pub cwr: bool,
    /// CE: a queue has marked the packet. The network sets this before the segment arrives.
    pub ce: bool,
}

impl Segment {
    /// The `seq` of a SYN.
    pub const SYN: u64 = u64::MAX;

    /// The timestamp option of the segment, ms (Linux: tcp_skb_timestamp_ts).
    pub(crate) fn timestamp_ms(&self) -> u32 {
        timestamp_ms(self.sent)
    }
}

/// The timestamp clock, ms. It wraps after 49 days.
pub(crate) fn timestamp_ms(at: Nanos) -> u32 {
    (at / 1_000_000) as u32
}

/// Packets from `start` to `end`, exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Block {
    /// First packet.
    pub start: u64,
    /// One past the last packet.
    pub end: u64,
}

impl Block {
    /// The empty block.
    pub const NONE: Block = Block { start: 0, end: 0 };

    /// True when it holds no packet.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    pub(crate) fn contains(self, other: Block) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A pure ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// The cumulative ACK: the next packet that the receiver expects.
    pub next: u64,
    /// Echo of a segment's timestamp, ms (TSecr, RFC 7323).
    pub echo_ms: u32,
    /// Its own timestamp, ms (TSval).
    pub sent_ms: u32,
    /// rwnd: packets that the receiver accepts from `next` on. At least 1; `u32::MAX`: no limit.
    pub rwnd_pkts: u32,
    /// True for a SYN-ACK.
    pub syn: bool,
    /// ECE: a marked packet has arrived. On a SYN-ACK: the receiver agrees to ECN.
    pub ece: bool,
    /// SACK blocks, RFC 2018, most recent first; the first may be a D-SACK, RFC 2883. Three fit beside
    /// timestamps.
    pub blocks: [Block; 3],
}

impl Default for Ack {
    /// Acknowledges nothing, with an rwnd without limit.
    fn default() -> Self {
        Ack {
            next: 0,
            echo_ms: 0,
            sent_ms: 0,
            rwnd_pkts: u32::MAX,
            syn: false,
            ece: false,
            blocks: [Block::NONE; 3],
        }
    }
}

/// The network as a sender uses it.
pub trait Wire {
    /// Sends a packet now. Its length is [`HEADER_BYTES`] + [`MSS_BYTES`], or [`SYN_BYTES`].
    fn send(&mut self, segment: Segment);
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
