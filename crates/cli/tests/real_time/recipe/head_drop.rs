//! Head drop: a full queue drops its oldest packets, so that senders learn of it one queueing delay earlier
//! (Lakshman, Neidhardt and Ott, "The drop from front strategy in TCP and in TCP over ATM", INFOCOM 1996).

use super::ring::{DropReason, Ring, Sink, Waiting};
use crate::packet::Packet;
use crate::time::Nanos;
use fairpace_scenario::Limit;

/// A FIFO that drops from its head.
#[derive(Debug, Clone)]
pub(super) struct HeadDropQueue<T> {
    ring: Ring<T>,
}

impl<T> HeadDropQueue<T> {
    pub(super) fn new(limit: Limit) -> Self {
        HeadDropQueue { ring: Ring::new(limit) }
    }

    pub(super) fn enqueue(
        &mut self,
        now: Nanos,
        packet: Packet<T>,
        sink: &mut impl Sink<T>,
    ) -> Result<(), (Packet<T>, DropReason)> {
        while !self.ring.has_room(packet.bytes) {
            let Some(oldest) = self.ring.pop() else { break };
            sink.dropped(oldest.packet, DropReason::Full);
        }
        self.ring.push(now, packet);
        Ok(())
    }

    pub(super) fn dequeue(&mut self, _now: Nanos, _sink: &mut impl Sink<T>) -> Option<Waiting<T>> {
        self.ring.pop()
    }

    pub(super) fn backlog_bytes(&self) -> u64 {
        self.ring.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }
}
