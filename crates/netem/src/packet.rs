//! A packet, and how it leaves an element.

use fairpace_results::observer::EcnField;

use crate::time::Nanos;

/// A packet: its connection, its length on the wire, its ECN field and the driver's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<T> {
    /// Index of the flow, below the number of flows that the element was built for.
    pub flow: u32,
    /// Index of the connection within its flow, as ports tell on the wire; 0 if the flow is one connection.
    /// Fair queues distinguish connections, meters do not.
    pub connection: u32,
    /// Length on the link and in the buffer; below 2^31.
    pub bytes: u32,
    /// The ECN field of its IP header.
    pub ecn: EcnField,
    /// What the driver needs: a header in the simulator, a buffer handle in the testbed.
    pub payload: T,
}

/// A packet that has left an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departed<T> {
    /// When its last bit left.
    pub at: Nanos,
    /// How long it waited before its first bit left; on a line, all of its time there.
    pub waited_ns: Nanos,
    /// How it left.
    pub fate: Fate,
    /// The packet itself.
    pub packet: Packet<T>,
}

/// How a packet left an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It goes on to the next hop.
    Delivered,
    /// Its last bit left, but it is lost on the way.
    Lost,
    /// The queue dropped it after it had been enqueued; it never used the link.
    Dropped,
}
