//! Types and functions for tests of all disciplines.

use super::ring::{DropReason, Sink};
use crate::packet::Packet;
use fairpace_results::observer::EcnField;

/// A sink that records all reports of a discipline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recorded<T> {
    pub(super) dropped: Vec<(Packet<T>, DropReason)>,
    pub(super) marked: Vec<Packet<T>>,
}

impl<T> Default for Recorded<T> {
    fn default() -> Self {
        Recorded { dropped: Vec::new(), marked: Vec::new() }
    }
}

impl<T: Copy> Sink<T> for Recorded<T> {
    fn dropped(&mut self, packet: Packet<T>, reason: DropReason) {
        self.dropped.push((packet, reason));
    }

    fn marked(&mut self, packet: &Packet<T>) {
        self.marked.push(*packet);
    }
}

/// Returns a packet of flow 0.
pub(super) fn packet(bytes: u32, payload: u32) -> Packet<u32> {
    Packet { flow: 0, connection: 0, bytes, ecn: EcnField::NotEct, payload }
}
