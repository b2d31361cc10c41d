//! Internal: only Fairpace's own crates use it. Network elements without I/O: links with their queues and
//! impairments, delay lines, applications, and the meters on them.
//!
//! An [`Element`] takes packets with `push(now, packet)`, says with `next_event()` when to poll it, and
//! returns packets that have left with `poll(now)`. It never reads a clock, never sleeps and does not
//! allocate per packet. So the same elements run under the simulator's virtual clock and, with buffer handles
//! as payload, under the testbed's real one. Times passed to an element never go back, and every packet due
//! before `now` is polled before a packet is pushed at `now`.
//!
//! This crate has no sockets and no timers (`fairpace-testbed`), no TCP (`fairpace-tcp`), and no definitions
//! of derived metrics such as Jain's index (`fairpace-results`).
//!
//! Its source has four folders, and no file in them reads a [`Scenario`](fairpace_scenario::Scenario):
//!
//! - `elements`: what packets pass, and its parts;
//! - [`aqm`]: the queue disciplines of a link;
//! - `meters`: what is measured, and when;
//! - `traffic`: what applications write.
//!
//! The files beside the folders are what all of them use (`packet`, `time`, `random`), and what joins them:
//! [`build::network`] makes the elements and routes of a scenario, drivers add a clock and hosts, and
//! [`record()`] makes a run's summary and series of what the meters have measured.

#![forbid(unsafe_code)]

pub mod aqm;
pub mod build;

mod cellular;
mod elements;
mod fairness;
mod handover;
mod meters;
mod network;
mod packet;
mod purpose;
mod record;
mod time;
mod traffic;

pub use elements::aqm_queue::AqmQueue;
pub use elements::delay_line::DelayLine;
pub use elements::duplication::Duplication;
pub use elements::element::{Element, Pushed};
pub use elements::fifo::{Departure, Fifo};
pub use elements::link::{Link, Transit};
pub use elements::loss::{ImpossibleLoss, Loss};
pub use elements::policer::Policer;
pub use elements::propagation::Propagation;
pub use elements::reordering::Reordering;
pub use elements::reordering_line::ReorderingLine;
pub use elements::selective_drop::{Content, Payload, SelectiveDrop};
pub use elements::transmitter::Transmitter;
pub use fairpace_results::observer::EcnField;
pub use fairpace_scenario::{Burst, BurstLength, Limit};
pub use handover::rate_steps;
pub use meters::completions::{Ideal, Transfers};
pub use meters::flow_meter::{FlowMeter, Sent};
pub use meters::link_meter::LinkMeter;
pub use meters::media_meter::{MediaMeter, part};
pub use meters::schedule::{Boundaries, Boundary, Schedule};
pub use network::{Direction, Hop, Network, OwnPath, Path};
pub use packet::{Departed, Fate, Packet};
pub use purpose::Purpose;
pub use record::{Measured, record};
pub use time::{MS, Nanos, SECOND};
pub use traffic::frames::Frames;
pub use traffic::source::{Offer, Pattern, Source};
