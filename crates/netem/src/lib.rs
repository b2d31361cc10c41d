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
mod packet;
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
mod time;
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
pub use packet::{Departed, Fate, Packet};
pub use policer::Policer;
pub use propagation::Propagation;
pub use random::{Purpose, Random};
pub use record::{Measured, record};
pub use reordering::Reordering;
pub use reordering_line::ReorderingLine;
pub use schedule::{Boundaries, Boundary, Schedule};
pub use selective_drop::{Content, Payload, SelectiveDrop};
pub use source::{Offer, Pattern, Source};
pub use time::{MS, Nanos, SECOND};
pub use transmitter::Transmitter;
