//! Why a scenario could not be simulated.

use fairpace_netem::build::ImpossibleLink;

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
        reason: fairpace_netem::ImpossibleLoss,
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

impl From<ImpossibleLink> for Error {
    fn from(ImpossibleLink { link, reason }: ImpossibleLink) -> Self {
        Error::Loss { link, reason }
    }
}
