//! Errors of a simulation.

use fairpace_netem::build::ImpossibleNetwork;

/// The reason for which a scenario could not be run to its end.
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
        /// The algorithms that can be simulated.
        known: Vec<&'static str>,
    },
    /// The scenario has not been checked, and has no network.
    #[error(transparent)]
    Network(#[from] ImpossibleNetwork),
    /// The scenario has no link or no flow.
    #[error("the scenario has no {what}; add at least one")]
    Empty {
        /// The missing part: `links` or `flows`; `algorithms`, which no build is without.
        what: &'static str,
    },
    /// The monitor stopped the run. There is no partial result, since the measurement window is not complete.
    #[error("stopped at {at_s:.1} s of {total_s:.1} s")]
    Stopped {
        /// Simulated time reached.
        at_s: f64,
        /// Length of the scenario.
        total_s: f64,
    },
}
