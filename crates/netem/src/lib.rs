//! Network elements without I/O: links with their queues and faults, delay lines, applications, and the
//! meters on them.
//!
//! An element has `push(now, packet)`, `next_event()` and `poll(now)`. It never reads a clock, never sleeps
//! and does not allocate per packet, so the same element runs under the simulator's virtual clock and, with
//! buffer handles as payload, under the testbed's real one. Times passed to an element never go back, and
//! what is due before `now` is polled before something is pushed at `now`.
//!
//! The meters are the one source of utilization, queueing delay, backlog shares and path RTTs for both
//! drivers. What is not here: sockets and timers (the testbed), TCP (`fairpace-tcp`), and the definitions of
//! derived metrics such as Jain's index (`fairpace-results`).

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
mod line;
mod link;
mod link_meter;
mod loss;
mod network;
mod percentiles;
mod policer;
mod random;
mod record;
mod reordering;
mod reordering_line;
mod schedule;
mod source;
mod transmitter;

pub use aqm_queue::AqmQueue;
pub use completions::{Ideal, Transfers};
pub use delay_line::DelayLine;
pub use duplication::Duplication;
pub use element::{Element, Pushed};
pub use fifo::{Fifo, Limit};
pub use flow_meter::{FlowMeter, Sent};
pub use line::Line;
pub use link::{Link, Transit};
pub use link_meter::LinkMeter;
pub use loss::{Burst, ImpossibleLoss, Loss};
pub use network::{Direction, Hop, Network, OwnPath, Path};
pub use policer::Policer;
pub use random::{Purpose, Random};
pub use record::{Measured, record};
pub use reordering::Reordering;
pub use reordering_line::ReorderingLine;
pub use schedule::{Boundaries, Boundary, Schedule};
pub use source::{Offer, Pattern, Source};
pub use transmitter::Transmitter;

/// Time in nanoseconds since the start of the run.
pub type Nanos = u64;

/// One second in [`Nanos`].
pub const SECOND: Nanos = 1_000_000_000;

/// What travels: whose it is, its length on the wire, and what the driver needs to know it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<T> {
    /// Index of the flow, below the number of flows that the element was built for.
    pub flow: u32,
    /// Which of the flow's connections: what ports say on the wire. A flow that is one connection has the
    /// number 0, a workload numbers its own. Fair queues tell connections apart; meters do not.
    pub connection: u32,
    /// Length that occupies the link and the buffer; below 2^31.
    pub bytes: u32,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// The driver's own: a header in the simulator, a buffer handle in the testbed.
    pub payload: T,
}

/// The ECN field of an IP header, RFC 3168.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Its ends do not take part: congestion can only drop it.
    #[default]
    NotCapable,
    /// Congestion may mark it.
    Capable,
    /// Congestion was experienced.
    Marked,
}

/// A packet that has left an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departed<T> {
    /// When its last bit left.
    pub at: Nanos,
    /// How long it waited before its first bit was sent; on a delay line, all of its time there.
    pub waited_ns: Nanos,
    /// What became of it.
    pub fate: Fate,
    /// The packet itself.
    pub packet: Packet<T>,
}

/// How a packet left an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// On its way to what follows.
    Delivered,
    /// Its last bit left, but nobody will get it: it was lost on the line.
    Lost,
    /// It was dropped by the queue after it had been let in; it never used the link.
    Dropped,
}
