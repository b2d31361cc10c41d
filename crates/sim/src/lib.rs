//! The virtual-time driver: runs a scenario of `fairpace-netem` elements and `fairpace-tcp` flows, as fast as the
//! machine can, and the same on every machine.
//!
//! Its speed comes from its shape. On a FIFO that everybody leaves for his receiver, a packet's departure and arrival and the ACK are computed
//! when it is sent, and as far ahead as nothing can reach a flow it runs on its own; other links have an event per departure. The event queue
//! holds one entry per flow and per element, not one per packet. Nothing is allocated, hashed or called through a pointer per packet. Same
//! scenario and seed: the same summary and series, bit for bit; only the cost differs.
//!
//! Links form any network; each flow has its route, and its ACKs may have one. A workload's connections come and go. What is not here: files
//! and terminals (the CLI), packet formats (`fairpace-trace`), the real clock (the testbed).

mod acks;
mod cost;
mod engine;
mod entry;
mod flow;
mod host_view;
mod network;
mod observe;
mod parcel;
mod queue;
mod record;
mod route;
mod windows;

use fairpace_results::observer::{NullObserver, Observer};
use fairpace_results::{Monitor, Run};
use fairpace_scenario::Scenario;

/// Why a scenario could not be run to its end.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A flow names one of the running kernel's algorithms.
    #[error(
        "flow \"{flow}\": \"{cc}\" is an algorithm of the running kernel and cannot be simulated; \
         run the scenario on the testbed, or name one of {}", .known.join(", ")
    )]
    KernelOnly {
        /// The flow's name.
        flow: String,
        /// The algorithm's name as written.
        cc: String,
        /// What can be simulated.
        known: Vec<&'static str>,
    },
    /// A link asks for a random loss that cannot be.
    #[error("link \"{link}\": {reason}")]
    Loss {
        /// The link's name.
        link: String,
        /// What is in the way.
        reason: fairpace_netem::NoSuchLoss,
    },
    /// There is nothing to simulate.
    #[error("the scenario has no {what}; add at least one")]
    Empty {
        /// `links` or `flows`.
        what: &'static str,
    },
    /// The monitor asked to stop. Nothing of such a run is returned, since its window is not complete.
    #[error("stopped at {at_s:.1} s of {total_s:.1} s")]
    Stopped {
        /// Simulated time reached.
        at_s: f64,
        /// Simulated time wanted.
        total_s: f64,
    },
}

/// Runs a scenario. `summary.commit` is left `unknown`: the caller knows what it was built from.
///
/// # Errors
/// See [`Error`].
pub fn run(scenario: &Scenario, monitor: &mut dyn Monitor) -> Result<Run, Error> {
    run_with(scenario, monitor, &mut NullObserver)
}

/// The same with an observer.
///
/// # Errors
/// See [`Error`].
pub fn run_with<T: Observer>(
    scenario: &Scenario,
    monitor: &mut dyn Monitor,
    observer: &mut T,
) -> Result<Run, Error> {
    engine::Engine::new(scenario, observer, false)?.run(scenario, monitor)
}

/// The same as [`run`], bit for bit, with every departure from a link as an event: how `run` is checked.
///
/// # Errors
/// See [`Error`].
pub fn run_patiently(scenario: &Scenario, monitor: &mut dyn Monitor) -> Result<Run, Error> {
    engine::Engine::new(scenario, &mut NullObserver, true)?.run(scenario, monitor)
}
