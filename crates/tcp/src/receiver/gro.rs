//! Generic receive offload: packets that arrive closely together are received as one, with one ACK (Linux:
//! tcp_gro_receive).

use super::Receiver;
use super::state::GroPacket;
use crate::time::Nanos;
use crate::wire::{AckWire, HEADER_BYTES, Segment};

/// The longest packet that GRO assembles, bytes: 64 KiB (Linux: GRO_LEGACY_MAX_SIZE), less headers.
const MAX_BYTES: u64 = 65_536 - HEADER_BYTES as u64;

impl Receiver {
    /// Adds a segment to the packet that GRO assembles, or receives the assembled packet and starts a new
    /// one. A PSH ends a packet. Returns the number of packets that became available to the application.
    #[inline(never)]
    pub(super) fn receive_gro(&mut self, now: Nanos, segment: Segment, wire: &mut impl AckWire) -> u64 {
        if now <= self.gro.until && self.gro.takes(&segment) {
            self.gro.pkts += 1;
            self.gro.first.push = segment.push;
            return if segment.push || (self.gro.pkts + 1) * u64::from(self.config.mss_bytes) > MAX_BYTES {
                self.flush_gro(now, wire)
            } else {
                0
            };
        }
        let available = self.flush_gro(now, wire);
        if !segment.is_data() || segment.cwr || segment.push {
            return available + self.receive(now, &segment, 1, wire);
        }
        self.gro = GroPacket { first: segment, pkts: 1, until: now + self.config.gro_ns };
        available
    }

    /// Receives the packet that GRO assembles, if it holds any segment.
    pub(super) fn flush_gro(&mut self, now: Nanos, wire: &mut impl AckWire) -> u64 {
        match std::mem::replace(&mut self.gro, GroPacket::NONE) {
            GroPacket { pkts: 0, .. } => 0,
            gro => self.receive(now, &gro.first, gro.pkts, wire),
        }
    }
}
