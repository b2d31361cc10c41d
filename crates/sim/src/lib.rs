//! The virtual-time driver: runs a scenario of `fairpace-netem` elements and `fairpace-tcp` connections as
//! fast as the machine can.
//!
//! The same scenario and seed give the same summary and series, bit for bit, on every machine; only the cost
//! differs. Links form any network. Each flow has its route, and its ACKs may have one. A flow may be a
//! workload, whose connections arrive at random and end.
//!
//! On a FIFO whose packets all go to their receivers, a packet's departure and arrival and the ACK are
//! computed when it is sent (the fast path); other elements have an event per departure. Connections run
//! independently of each other for as long as the shortest propagation delay from a link to a receiver allows
//! (epochs). The event queue has one entry per connection and per element, not one per packet. Nothing is
//! allocated, hashed or called through a pointer per packet.
//!
//! Simulate a scenario and read the result:
//!
//! ```
//! use std::time::Duration;
//!
//! use fairpace_results::Silent;
//! use fairpace_scenario::{Cc, Flow, Link, Scenario, Target};
//!
//! let bbr: Cc = "bbr1".parse()?;
//! let scenario = Scenario {
//!     title: "two RTTs on 10 Mbit/s".to_owned(),
//!     why: String::new(),
//!     seed: 1,
//!     duration: Duration::from_secs(10),
//!     window: (Duration::from_secs(5), Duration::from_secs(10)),
//!     interval: Duration::from_millis(100),
//!     links: vec![Link::new("bottleneck", 10_000_000, 100_000)],
//!     flows: vec![
//!         Flow::new("short", bbr.clone(), Duration::from_millis(10)),
//!         Flow::new("long", bbr, Duration::from_millis(50)),
//!     ],
//!     hash: String::new(),
//! };
//! let scenario = scenario.sealed(Target::Simulator)?;
//! let run = fairpace_sim::run(&scenario, &mut Silent)?;
//! for flow in &run.summary.flows {
//!     println!("{} {:.2} Mbit/s", flow.name, flow.goodput_mbps);
//! }
//! assert!(run.summary.links[0].utilization > 0.9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate has no files and no terminal (the CLI), no packet formats (`fairpace-trace`) and no real clock
//! (`fairpace-testbed`).

#![forbid(unsafe_code)]

mod ack_queue;
mod barriers;
mod connection;
mod cost;
mod engine;
mod epochs;
mod error;
mod event_queue;
mod events;
mod fast_path;
mod flow;
mod header;
mod host_view;
#[cfg(feature = "testing")]
pub mod loads;
mod observe;
mod receiver_side;
mod record;
#[cfg(feature = "testing")]
pub mod recording;
mod round;
mod simulation;
mod slot;
mod stepper;
#[cfg(feature = "testing")]
pub mod swarm;
mod workload;

pub use error::Error;
pub use record::decides_by_itself;
pub use stepper::{FlowPoint, LinkPoint, Stepper};

use fairpace_results::observer::{NullObserver, Observer};
use fairpace_results::{Monitor, Run};
use fairpace_scenario::Scenario;

/// Simulates a scenario and returns its summary and time series. The scenario must have been checked: by
/// [`load`](fairpace_scenario::load), [`parse`](fairpace_scenario::parse) or [`Scenario::sealed`].
///
/// `monitor` is called a few times per second of wall-clock time with the simulated time in seconds, and can
/// stop the run. `summary.commit` is left `unknown`: the caller sets it.
///
/// # Errors
/// [`Error::Empty`] without a link or a flow, [`Error::KernelOnly`] for a flow with one of the kernel's own
/// algorithms, [`Error::Network`] for an unchecked scenario without a network, [`Error::Stopped`] when the
/// monitor stopped the run.
pub fn run(scenario: &Scenario, monitor: &mut dyn Monitor) -> Result<Run, Error> {
    engine::Engine::new(scenario, NullObserver, false)?.run(scenario, monitor)
}

/// Simulates like [`run`], with an observer of packets, ACKs and senders, which changes no result.
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

/// Simulates like [`run`], with equal results bit for bit, without fast path and epochs: every departure from
/// an element is an event.
///
/// # Errors
/// See [`Error`].
#[cfg(feature = "testing")]
pub fn run_per_hop(scenario: &Scenario, monitor: &mut dyn Monitor) -> Result<Run, Error> {
    engine::Engine::new(scenario, NullObserver, true)?.run(scenario, monitor)
}
