//! What travels through the network beside a packet's length: whose it is, and where on its route.

use fairpace_netem::{Ecn, Nanos, Packet};
use fairpace_tcp::{Ack, HEADER_BYTES, MSS_BYTES, SYN_BYTES, Segment};

/// TCP's SACK option: two bytes of padding, kind and length, then eight per block (RFC 2018).
const SACK_OPTION_BYTES: u32 = 4;
const SACK_BLOCK_BYTES: u32 = 8;

/// The simulator's payload of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parcel {
    /// The place of its connection among all. Connections of a workload have a place one after the other: the packet's own number
    /// tells which of them it is.
    pub(crate) slot: u32,
    /// Its place on its route: 0 is the first link.
    pub(crate) hop: u16,
    /// An ACK on the way back: `segment.seq` is its number in the connection's waiting room.
    pub(crate) is_ack: bool,
    /// How far `segment.sent` lies ahead of when it left, us, rounded up: probes and timeouts do not wait for the pacer, but bear the
    /// time at which it would have let them go, as Linux's do.
    pub(crate) ahead_us: u32,
    pub(crate) segment: Segment,
}

/// Queues hold many of them.
const _: () = assert!(size_of::<Packet<Parcel>>() == 56);

impl Parcel {
    /// How far ahead of `now` a segment is stamped.
    #[inline]
    pub(crate) fn ahead_us(segment: &Segment, now: Nanos) -> u32 {
        if segment.sent <= now {
            return 0;
        }
        u32::try_from((segment.sent - now).div_ceil(1_000)).unwrap_or(u32::MAX)
    }

    /// When it left its host.
    #[inline]
    pub(crate) fn left(&self) -> Nanos {
        before(self.segment.sent, self.ahead_us)
    }

    /// The same for a segment that was sent at `now`.
    #[inline]
    pub(crate) fn left_at(segment: &Segment, now: Nanos) -> Nanos {
        before(segment.sent, Parcel::ahead_us(segment, now))
    }
}

#[inline]
fn before(sent: Nanos, ahead_us: u32) -> Nanos {
    sent.saturating_sub(u64::from(ahead_us) * 1_000)
}

/// What senders and receivers have just let go.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// What goes to a link now.
    pub(crate) packets: Vec<Packet<Parcel>>,
    /// What goes there when all others have sent what they send in this window, see [`Windows`](crate::windows::Windows).
    pub(crate) leaving: Vec<Leaving>,
}

/// A segment that goes to its link when its window is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaving {
    pub(crate) segment: Segment,
    /// When it comes out of the line behind the link, once that is known.
    pub(crate) exit: Nanos,
}

/// A window has tens of thousands.
const _: () = assert!(size_of::<Leaving>() == 32);

/// The ECN field with which a segment leaves.
#[inline]
pub(crate) fn ecn(segment: &Segment) -> Ecn {
    if segment.ect { Ecn::Capable } else { Ecn::NotCapable }
}

/// A packet's segment as it arrives.
#[inline]
pub(crate) fn arriving(packet: &Packet<Parcel>) -> Segment {
    Segment { ce: packet.ecn == Ecn::Marked, ..packet.payload.segment }
}

/// Length of a data packet or SYN on the wire.
#[inline]
pub(crate) fn segment_bytes(segment: &Segment) -> u32 {
    if segment.seq == Segment::SYN { SYN_BYTES } else { MSS_BYTES + HEADER_BYTES }
}

/// Length of an ACK on the wire.
pub(crate) fn ack_bytes(ack: &Ack) -> u32 {
    if ack.syn {
        return SYN_BYTES;
    }
    match ack.blocks.iter().filter(|b| !b.is_empty()).count() as u32 {
        0 => HEADER_BYTES,
        n => HEADER_BYTES + SACK_OPTION_BYTES + n * SACK_BLOCK_BYTES,
    }
}
