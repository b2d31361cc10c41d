//! Generic receive offload: packets that follow each other closely are received as one, which is acknowledged once
//! (Linux: tcp_gro_receive).

use super::Receiver;
use crate::wire::{AckWire, HEADER_BYTES};
use crate::{MSS_BYTES, Nanos, Segment};

/// What fits into an aggregate of 64 kB.
const MOST_PKTS: u64 = ((65_536 - HEADER_BYTES) / MSS_BYTES) as u64;

/// Packets in a row that will be received as one.
#[derive(Debug, Clone)]
pub(super) struct Aggregate {
    first: Segment,
    /// 0: nothing is held.
    pkts: u64,
    /// When it is received at the latest; `Nanos::MAX` when nothing is held.
    pub(super) until: Nanos,
}

impl Aggregate {
    pub(super) const NONE: Aggregate = Aggregate {
        first: Segment { seq: 0, sent: 0, echo_ms: 0, ect: false, cwr: false, ce: false },
        pkts: 0,
        until: Nanos::MAX,
    };

    /// Headers must be the same but for what counts on, the timestamp option and the ECN field included.
    fn takes(&self, segment: &Segment) -> bool {
        self.pkts > 0
            && segment.seq == self.first.seq + self.pkts
            && segment.timestamp_ms() == self.first.timestamp_ms()
            && segment.echo_ms == self.first.echo_ms
            && (segment.ect, segment.ce) == (self.first.ect, self.first.ce)
            && !segment.cwr
    }
}

impl Receiver {
    /// A segment arrived: it joins what is held, or ends it and is held in its turn.
    #[inline(never)]
    pub(super) fn merge(&mut self, now: Nanos, segment: Segment, wire: &mut impl AckWire) -> u64 {
        if now <= self.held.until && self.held.takes(&segment) {
            self.held.pkts += 1;
            return if self.held.pkts == MOST_PKTS { self.receive_held(now, wire) } else { 0 };
        }
        let available = self.receive_held(now, wire);
        if segment.seq == Segment::SYN || segment.cwr {
            return available + self.receive(now, &segment, 1, wire);
        }
        self.held = Aggregate { first: segment, pkts: 1, until: now + self.config.gro_ns };
        available
    }

    pub(super) fn receive_held(&mut self, now: Nanos, wire: &mut impl AckWire) -> u64 {
        match std::mem::replace(&mut self.held, Aggregate::NONE) {
            Aggregate { pkts: 0, .. } => 0,
            held => self.receive(now, &held.first, held.pkts, wire),
        }
    }
}
