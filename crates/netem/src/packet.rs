//! A packet, and its departure from an element.

use fairpace_results::observer::EcnField;

use crate::time::Nanos;

/// A packet: its connection, its length on the wire, its ECN field and the driver's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<T> {
    /// Index of the flow, below the number of flows that the element was built for.
    pub flow: u32,
    /// Index of the connection within its flow, as ports tell on the wire; 0 if the flow is a single
    /// connection. Fair queues distinguish connections, meters do not.
    pub connection: u32,
    /// Length of the packet on the link and in the buffer; below 2^31.
    pub bytes: u32,
    /// The ECN field of the packet's IP header.
    pub ecn: EcnField,
    /// Payload of the driver: a header in the simulator, a buffer handle in the testbed.
    pub payload: T,
}

/// A packet that has left an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departed<T> {
    /// Time when the packet's last bit left.
    pub at: Nanos,
    /// Time that the packet waited before its first bit left; on a line, all of its time there.
    pub waited_ns: Nanos,
    /// The packet's fate.
    pub fate: Fate,
    /// The packet itself.
    pub packet: Packet<T>,
}

/// The ways in which a packet leaves an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The packet goes on to the next hop.
    Delivered,
    /// The packet's last bit left, but it is lost on the way.
    Lost,
    /// The queue dropped the packet after it had been enqueued; the packet never used the link.
    Dropped,
}
