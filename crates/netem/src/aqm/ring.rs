//! Parts of all disciplines: the report of drops and marks, and a FIFO with a limit.

use std::collections::VecDeque;

use crate::packet::Packet;
use crate::time::Nanos;
use fairpace_results::observer::EcnField;
use fairpace_scenario::Limit;

/// Length of a full packet with its Ethernet header: Linux's MTU of an Ethernet device (`psched_mtu`), bytes.
pub(super) const MTU_BYTES: u64 = 1514;

/// The reason for which a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// The discipline signals congestion.
    Early,
    /// The queue held more than its limit.
    Full,
}

/// Receives the drops and marks of a discipline.
pub trait Sink<T> {
    /// The discipline dropped a packet.
    fn dropped(&mut self, packet: Packet<T>, reason: DropReason);
    /// The discipline set CE on a packet instead of dropping it.
    fn marked(&mut self, packet: &Packet<T>);
}

/// A packet in a queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting<T> {
    pub(super) since: Nanos,
    pub(super) packet: Packet<T>,
}

/// A FIFO with a limit.
#[derive(Debug, Clone)]
pub(super) struct Ring<T> {
    pub(super) waiting: VecDeque<Waiting<T>>,
    pub(super) bytes: u64,
    limit: Limit,
}

impl<T> Ring<T> {
    pub(super) fn new(limit: Limit) -> Self {
        Ring { waiting: VecDeque::new(), bytes: 0, limit }
    }

    #[inline]
    pub(super) fn has_room(&self, bytes: u32) -> bool {
        let pkts = self.waiting.len() as u64;
        pkts == 0 || !self.limit.is_exceeded_by(self.bytes + u64::from(bytes), pkts + 1)
    }

    #[inline]
    pub(super) fn push(&mut self, now: Nanos, packet: Packet<T>) {
        self.bytes += u64::from(packet.bytes);
        self.waiting.push_back(Waiting { since: now, packet });
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Waiting<T>> {
        let waiting = self.waiting.pop_front()?;
        self.bytes -= u64::from(waiting.packet.bytes);
        Some(waiting)
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

/// Marks a packet, if it is ECN-capable. A packet that was marked upstream is counted as marked again.
#[inline]
pub(super) fn mark<T>(packet: &mut Packet<T>, sink: &mut impl Sink<T>) -> bool {
    if packet.ecn == EcnField::NotEct {
        return false;
    }
    packet.ecn = EcnField::Ce;
    sink.marked(packet);
    true
}
