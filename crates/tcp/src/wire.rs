//! What passes between sender and receiver.

use crate::Nanos;

/// Payload of a full segment: 1500 bytes of IP, less 20 of IP and 32 of TCP with timestamps.
pub const MSS_BYTES: u32 = 1448;
/// What a data packet weighs beside its payload: Ethernet (without FCS and preamble), IP, TCP with timestamps.
pub const HEADER_BYTES: u32 = 14 + 20 + 32;
/// What a SYN weighs: Ethernet, IP, TCP with all its options.
pub const SYN_BYTES: u32 = 14 + 20 + 40;

/// A data packet of one MSS, or a SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Packet number; [`Segment::SYN`] for the SYN.
    pub seq: u64,
    /// When it was sent.
    pub sent: Nanos,
}

impl Segment {
    /// The `seq` of a SYN.
    pub const SYN: u64 = u64::MAX;

    /// TCP timestamp option: Linux counts milliseconds.
    pub(crate) fn timestamp_ms(&self) -> u32 {
        timestamp_ms(self.sent)
    }
}

/// The value of the timestamp clock at a time.
pub(crate) fn timestamp_ms(at: Nanos) -> u32 {
    (at / 1_000_000) as u32
}

/// Packets from `start` up to, not including, `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Block {
    /// First packet.
    pub start: u64,
    /// The one after the last.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ack {
    /// The next packet that the receiver waits for.
    pub next: u64,
    /// Echo of the timestamp of the segment that this ACK is for.
    pub echo_ms: u32,
    /// True for the answer to a SYN.
    pub syn: bool,
    /// SACK blocks, RFC 2018, most recent first; the first may be a D-SACK, RFC 2883. Three fit beside timestamps.
    pub blocks: [Block; 3],
}

/// Where a sender puts its packets.
pub trait Wire {
    /// One packet leaves the host now. Its length is [`HEADER_BYTES`] + MSS, or [`SYN_BYTES`].
    fn send(&mut self, segment: Segment);
}

impl Wire for Vec<Segment> {
    fn send(&mut self, segment: Segment) {
        self.push(segment);
    }
}
