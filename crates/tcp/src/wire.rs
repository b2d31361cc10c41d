//! What passes between sender and receiver.

use crate::Nanos;

/// Payload of a full segment: 1500 bytes of IP, less 20 of IP and 32 of TCP with timestamps.
pub const MSS_BYTES: u32 = 1448;
/// What a data packet weighs beside its payload: Ethernet (without FCS and preamble), IP, TCP with timestamps.
pub const HEADER_BYTES: u32 = 14 + 20 + 32;
/// What a SYN weighs: Ethernet, IP, TCP with all its options.
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
    /// ECT(0): a queue may mark it instead of dropping it, RFC 3168. Never a SYN, never a retransmission.
    pub ect: bool,
    /// CWR: the sender has answered the receiver's ECE. On a SYN: it asks for ECN.
    pub cwr: bool,
    /// CE: a queue on the path has marked it. Who carries the segment sets this before it arrives.
    pub ce: bool,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// The next packet that the receiver waits for.
    pub next: u64,
    /// Echo of the timestamp of the segment that this ACK is for.
    pub echo_ms: u32,
    /// Its own timestamp.
    pub sent_ms: u32,
    /// The receive window: the receiver has room for so many packets from `next` on. At least 1; `u32::MAX`: no limit.
    pub rwnd_pkts: u32,
    /// True for the answer to a SYN.
    pub syn: bool,
    /// ECE: a mark has arrived. In the answer to a SYN: the receiver agrees to ECN.
    pub ece: bool,
    /// SACK blocks, RFC 2018, most recent first; the first may be a D-SACK, RFC 2883. Three fit beside timestamps.
    pub blocks: [Block; 3],
}

impl Default for Ack {
    /// Acknowledges nothing, with a window without limit.
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

/// Where a receiver puts its ACKs.
pub trait AckWire {
    /// One ACK leaves the host `at` a time that is now or, if ACKs are held back, later. ACKs leave in order.
    fn send(&mut self, at: Nanos, ack: Ack);
}

impl AckWire for Vec<(Nanos, Ack)> {
    fn send(&mut self, at: Nanos, ack: Ack) {
        self.push((at, ack));
    }
}
