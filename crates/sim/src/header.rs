//! The simulator's payload of a packet: its connection, its next hop, and its TCP segment.

use fairpace_netem::{Content, Direction, EcnField, Hop, Nanos, Packet, Payload};
use fairpace_scenario as scenario;
use fairpace_tcp::{Ack, HEADER_BYTES, SYN_BYTES, Segment};

/// Length of TCP's SACK option without blocks: two bytes of padding, kind and length (RFC 2018).
const SACK_OPTION_BYTES: u32 = 4;
/// Length of one SACK block (RFC 2018).
const SACK_BLOCK_BYTES: u32 = 8;
/// Headers of a datagram, bytes: Ethernet, IP, UDP, and RTP without extensions (RFC 3550, section 5.1).
pub(crate) const DATAGRAM_HEADER_BYTES: u32 = 14 + 20 + 8 + 12;
/// Length of a RST, bytes: Ethernet, IP, TCP without options (Linux: tcp_v4_send_reset).
const RST_BYTES: u32 = 14 + 20 + 20;
/// Length of the AccECN option with its three counters, padded to whole words (RFC 9768, section 3.2.3).
const ACCECN_OPTION_BYTES: u32 = 12;
/// Length of the AccECN option with the two counters that fit beside two SACK blocks, bytes.
const SHORT_ACCECN_OPTION_BYTES: u32 = 8;

/// The kind of a simulated packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A data segment or a SYN.
    Segment,
    /// A part of a frame instead of a TCP segment; `segment.seq` is its number.
    Datagram,
    /// A pure ACK.
    Ack,
    /// A SYN-ACK.
    SynAck,
}

/// The fields of a simulated packet beside its flow, its length and its ECN field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// The slot of the packet's connection. Connections of a workload use a slot one after the other;
    /// `Packet::connection` distinguishes them.
    pub(crate) slot: u32,
    /// The next hop. A packet in the direction [`Direction::Back`] is an ACK; `segment.seq` is then its
    /// number in [`AcksInTransit`](crate::ack_queue::AcksInTransit).
    pub(crate) hop: Hop,
    /// Time by which `segment.sent` is ahead of the time at which the segment left, us, rounded up. Probes
    /// and timeouts do not wait for the pacer, but carry the time at which it would have released them, as in
    /// Linux.
    pub(crate) ahead_us: u32,
    /// True if the packet came to its last link with CE. Kept only for an observer, and not on the fast path.
    pub(crate) arrived_ce: bool,
    pub(crate) kind: Kind,
    pub(crate) segment: Segment,
}

impl Payload for Header {
    fn segment_length(_flow: &scenario::Flow) -> u64 {
        1 // packets are numbered
    }

    fn content(&self) -> Content {
        match self.kind {
            Kind::Ack => Content::Ack,
            Kind::SynAck => Content::SynAck,
            Kind::Segment if self.segment.seq == Segment::SYN => Content::Syn,
            Kind::Segment if self.segment.seq == Segment::ACK => Content::Other,
            Kind::Segment | Kind::Datagram => Content::Data { begin: self.segment.seq, length: 1 },
        }
    }
}

/// Checks the size of a packet. Queues hold many packets: larger packets cost cache misses.
const _: () = assert!(size_of::<Packet<Header>>() == 56);

impl Header {
    /// Returns the time by which the stamp of a segment is ahead of `now`, us.
    #[inline]
    pub(crate) fn ahead_us(segment: &Segment, now: Nanos) -> u32 {
        if segment.sent <= now {
            return 0;
        }
        u32::try_from((segment.sent - now).div_ceil(1_000)).unwrap_or(u32::MAX)
    }

    /// The time when the segment left its host.
    #[inline]
    pub(crate) fn left(&self) -> Nanos {
        before(self.segment.sent, self.ahead_us)
    }

    /// Returns the time when a segment that was sent at `now` left its host.
    #[inline]
    pub(crate) fn left_at(segment: &Segment, now: Nanos) -> Nanos {
        before(segment.sent, Header::ahead_us(segment, now))
    }

    /// Returns whether the packet is an ACK on its reverse route.
    #[inline]
    pub(crate) fn is_ack(&self) -> bool {
        self.hop.direction == Direction::Back
    }
}

#[inline]
fn before(sent: Nanos, ahead_us: u32) -> Nanos {
    sent.saturating_sub(u64::from(ahead_us) * 1_000)
}

/// A segment that enters its link when the senders' part of its epoch is over, see
/// [`Epochs`](crate::epochs::Epochs).
#[derive(Debug, Clone, Copy)]
pub(crate) struct EpochSegment {
    pub(crate) segment: Segment,
    /// Time when the segment has passed the propagation behind the link, once this is known.
    pub(crate) leaves: Nanos,
}

/// Checks the size of a segment, of which an epoch has tens of thousands.
const _: () = assert!(size_of::<EpochSegment>() == 32);

/// Returns the ECN field with which a segment leaves its host.
#[inline]
pub(crate) fn ecn(segment: &Segment) -> EcnField {
    match segment.ecn {
        fairpace_tcp::EcnField::NotEct => EcnField::NotEct,
        fairpace_tcp::EcnField::Ect0 => EcnField::Ect0,
        fairpace_tcp::EcnField::Ect1 => EcnField::Ect1,
        fairpace_tcp::EcnField::Ce => EcnField::Ce,
    }
}

/// Returns a packet's segment as it arrives, with the mark of the path.
#[inline]
pub(crate) fn arriving(packet: &Packet<Header>) -> Segment {
    Segment { ecn: arriving_ecn(packet.ecn), ..packet.payload.segment }
}

/// Returns the ECN field of the network in the type of a receiver.
#[inline]
pub(crate) fn arriving_ecn(field: EcnField) -> fairpace_tcp::EcnField {
    match field {
        EcnField::NotEct => fairpace_tcp::EcnField::NotEct,
        EcnField::Ect0 => fairpace_tcp::EcnField::Ect0,
        EcnField::Ect1 => fairpace_tcp::EcnField::Ect1,
        EcnField::Ce => fairpace_tcp::EcnField::Ce,
    }
}

/// Returns the length on the wire of a packet that a sender sends. `data_bytes`: the length of the flow's
/// full packets.
#[inline]
pub(crate) fn segment_bytes(segment: &Segment, data_bytes: u32) -> u32 {
    match segment.seq {
        _ if segment.is_data() => data_bytes,
        Segment::SYN => SYN_BYTES,
        _ => HEADER_BYTES,
    }
}

/// Returns the length of an ACK on the wire; `accecn`: with the AccECN option, if it fits.
pub(crate) fn ack_bytes(ack: &Ack, accecn: bool) -> u32 {
    if ack.syn {
        return SYN_BYTES;
    }
    if ack.next == Ack::RST {
        return RST_BYTES;
    }
    let blocks = ack.blocks.iter().filter(|b| !b.is_empty()).count() as u32;
    let sacks = if blocks == 0 { 0 } else { SACK_OPTION_BYTES + blocks * SACK_BLOCK_BYTES };
    let counters = match blocks {
        _ if !accecn || !ack.has_accecn_option() => 0,
        2 => SHORT_ACCECN_OPTION_BYTES,
        _ => ACCECN_OPTION_BYTES,
    };
    HEADER_BYTES + sacks + counters
}
