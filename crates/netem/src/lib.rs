//! Network elements without I/O: links with their queues and impairments, delay lines, applications, and the
//! meters on them.
//!
//! An [`Element`] takes packets with `push(now, packet)`, says with `next_event()` when to poll it, and
//! returns packets that have left with `poll(now)`. It never reads a clock, never sleeps and does not
//! allocate per packet. So the same elements run under the simulator's virtual clock and, with buffer handles
//! as payload, under the testbed's real one. Times passed to an element never go back, and everything due
//! before `now` is polled before a packet is pushed at `now`.
//!
//! [`build::network`] makes the elements and routes of a scenario; drivers add a clock and hosts. The meters
//! compute utilization, queueing delay, backlog shares and path RTTs, and [`record()`] makes a run's summary
//! and series of them.
//!
//! This crate has no sockets and no timers (`fairpace-testbed`), no TCP (`fairpace-tcp`), and no definitions
//! of derived metrics such as Jain's index (`fairpace-results`).

#![forbid(unsafe_code)]

pub mod aqm;
pub mod build;

mod aqm_queue;
mod completions;
mod delay_line;
mod duplication;
mod element;
mod fairness;
mod fifo;
mod flow_meter;
mod frames;
mod handover;
mod link;
mod link_meter;
mod loss;
mod media_meter;
mod network;
mod percentiles;
mod policer;
mod propagation;
mod random;
mod record;
mod reordering;
mod reordering_line;
mod schedule;
mod selective_drop;
mod source;
mod transmitter;
mod wifi;

pub use aqm_queue::AqmQueue;
pub use completions::{Ideal, Transfers};
pub use delay_line::DelayLine;
pub use duplication::Duplication;
pub use element::{Element, Pushed};
pub use fairpace_results::observer::EcnField;
pub use fairpace_scenario::{Burst, BurstLength, Limit};
pub use fifo::{Departure, Fifo};
pub use flow_meter::{FlowMeter, Sent};
pub use frames::Frames;
pub use handover::rate_steps;
pub use link::{Link, Transit};
pub use link_meter::LinkMeter;
pub use loss::{ImpossibleLoss, Loss};
pub use media_meter::{MediaMeter, part};
pub use network::{Direction, Hop, Network, OwnPath, Path};
pub use policer::Policer;
pub use propagation::Propagation;
pub use random::{Purpose, Random};
pub use record::{Measured, record};
pub use reordering::Reordering;
pub use reordering_line::ReorderingLine;
pub use schedule::{Boundaries, Boundary, Schedule};
pub use selective_drop::{Content, Payload, SelectiveDrop};
pub use source::{Offer, Pattern, Source};
pub use transmitter::Transmitter;

/// Time in nanoseconds since the start of the run.
pub type Nanos = u64;

/// One second in [`Nanos`].
pub const SECOND: Nanos = 1_000_000_000;

/// One millisecond in [`Nanos`].
pub const MS: Nanos = 1_000_000;

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
