//! The virtual-time driver: runs a scenario of `fairpace-netem` elements and `fairpace-tcp` connections as fast as the machine can.
//!
//! Same scenario and seed: the same summary and series, bit for bit, on every machine; only the cost differs. Links form any network. Each
//! flow has its route, and its ACKs may have one. A flow may be a workload, whose connections arrive at random and end.
//!
//! On a FIFO whose packets all go to their receivers, a packet's departure and arrival and the ACK are computed when it is sent (the fast
//! path); other elements have an event per departure. Connections run independently of each other for as long as the network's shortest
//! delay allows (epochs). The event queue has one entry per connection and per element, not one per packet. Nothing is allocated, hashed
//! or called through a pointer per packet.
//!
//! This crate has no files and no terminal (the CLI), no packet formats (`fairpace-trace`) and no real clock (`fairpace-testbed`).

mod ack_queue;
mod connection;
mod cost;
mod engine;
mod epochs;
mod error;
mod event_queue;
mod fast_path;
mod flow;
mod header;
mod host_view;
mod observe;
mod per_hop;
mod receiver_side;
mod record;
mod simulation;
mod workload;

pub use error::Error;

use fairpace_results::observer::{NullObserver, Observer};
use fairpace_results::{Monitor, Run};
use fairpace_scenario::Scenario;

/// Runs a scenario. `summary.commit` is left `unknown`: the caller knows what it was built from.
///
/// # Errors
/// See [`Error`].
pub fn run(scenario: &Scenario, monitor: &mut dyn Monitor) -> Result<Run, Error> {
    run_with(scenario, monitor, &mut NullObserver)
}

/// The same, with an observer of packets, ACKs and senders. It changes no result.
///
/// # Errors
/// See [`Error`].
pub fn run_with<O: Observer>(
    scenario: &Scenario,
    monitor: &mut dyn Monitor,
    observer: &mut O,
) -> Result<Run, Error> {
    engine::Engine::new(scenario, observer, false)?.run(scenario, monitor)
}

/// The same as [`run`], bit for bit, without the fast path: every departure from an element is an event. For tests of the fast path.
///
/// # Errors
/// See [`Error`].
pub fn run_per_hop(scenario: &Scenario, monitor: &mut dyn Monitor) -> Result<Run, Error> {
    engine::Engine::new(scenario, &mut NullObserver, true)?.run(scenario, monitor)
}
