//! The errors of a run, and their remedies.

use fairpace_netem::build::ImpossibleNetwork;
use miette::Diagnostic;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// The reason why a run has no result.
#[derive(Debug, Error, Diagnostic)]
pub enum Error {
    /// The process may not create network namespaces.
    #[error("the testbed may not create a network namespace: {cause}")]
    #[diagnostic(
        code(fairpace::testbed::not_permitted),
        help(
            "run it as root (it needs CAP_SYS_ADMIN and CAP_NET_ADMIN; in a container, both must be \
             granted). \
             The same scenario runs without privileges in the simulator"
        )
    )]
    NotPermitted {
        /// Error of the kernel.
        cause: io::Error,
    },

    /// The TUN driver is missing.
    #[error("the testbed needs the TUN driver, but {} cannot be opened: {cause}", path.display())]
    #[diagnostic(
        code(fairpace::testbed::no_tun),
        help("load the driver with `modprobe tun`; in a container, pass the device in")
    )]
    NoTun {
        /// Path of the device node.
        path: PathBuf,
        /// Error of the kernel.
        cause: io::Error,
    },

    /// The kernel does not have a flow's congestion control.
    #[error("flow `{flow}`: this kernel has no congestion control named `{name}`")]
    #[diagnostic(
        code(fairpace::testbed::unknown_congestion_control),
        help("available now: {available}. Others may be modules that are not installed")
    )]
    UnknownCongestionControl {
        /// Name of the flow.
        flow: String,
        /// The kernel's name of the algorithm.
        name: String,
        /// Names of the algorithms that the kernel has.
        available: String,
    },

    /// The kernel does not have accurate ECN.
    #[error("this kernel has no accurate ECN (RFC 9768)")]
    #[diagnostic(
        code(fairpace::testbed::no_accurate_ecn),
        help(
            "it needs Linux 7.0; `ecn = \"dctcp\"` and `\"classic\"` need no new kernel, and the simulator \
             has every `ecn`"
        )
    )]
    NoAccurateEcn,

    /// An algorithm of Fairpace could not be loaded into the kernel.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Kernel(#[from] fairpace_kernel::Error),

    /// A link is faster than the emulator.
    #[error(
        "link `{link}` has {} Mbit/s, more than the emulator can carry ({} Mbit/s)",
        rate_bps / 1_000_000,
        ceiling_bps / 1_000_000
    )]
    #[diagnostic(
        code(fairpace::testbed::too_fast),
        help("lower the rate of the link, or run the scenario in the simulator")
    )]
    TooFast {
        /// Name of the link.
        link: String,
        /// Rate of the link.
        rate_bps: u64,
        /// The highest rate: [`crate::MAX_RATE_BPS`].
        ceiling_bps: u64,
    },

    /// The scenario has not been checked, and has no network.
    #[error(transparent)]
    #[diagnostic(
        code(fairpace::testbed::network),
        help("docs/reference/scenario.md says what its keys may be")
    )]
    Network(#[from] ImpossibleNetwork),

    /// The scenario is wrong, or sets a key that only the simulator has.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(#[from] fairpace_scenario::Invalid),

    /// A scenario that exceeds the address plan or the memory of the testbed.
    #[error("the scenario is too large for the testbed: {what}")]
    #[diagnostic(
        code(fairpace::testbed::too_large),
        help("use fewer flows, a smaller buffer or a shorter RTT, or run it in the simulator")
    )]
    TooLarge {
        /// The quantity, its value and its bound.
        what: String,
    },

    /// A step of the setup failed.
    #[error("the testbed could not {step}: {cause}")]
    #[diagnostic(
        code(fairpace::testbed::setup),
        help(
            "nothing is left behind. Check `ulimit -n`, free memory and that the kernel has network \
             namespaces"
        )
    )]
    Setup {
        /// Name of the step.
        step: String,
        /// Error of the kernel.
        cause: io::Error,
    },

    /// A flow's connection failed.
    #[error("flow `{flow}` broke down: {cause}")]
    #[diagnostic(
        code(fairpace::testbed::flow),
        help("the path may be too narrow or its buffer too small for a connection to live")
    )]
    Flow {
        /// Name of the flow.
        flow: String,
        /// Error of the kernel.
        cause: io::Error,
    },

    /// The emulator had to stop.
    #[error("the emulator stopped: {what}")]
    #[diagnostic(
        code(fairpace::testbed::emulator),
        help("this is unexpected: please report it with the scenario")
    )]
    Emulator {
        /// The reason for the stop.
        what: String,
    },

    /// The machine disturbed the run more than the scenario tolerates, or its kernel skipped an algorithm.
    #[error("the run was disturbed and is not judged: {why} ({lateness}; {attempts} attempt(s))")]
    #[diagnostic(
        code(fairpace::testbed::disturbed),
        help("{}", why.remedy())
    )]
    Disturbed {
        /// The bound that was exceeded.
        why: crate::Disturbance,
        /// Lateness of the emulator and the flows. Boxed: it is larger than all other errors.
        lateness: Box<crate::Lateness>,
        /// The number of attempts.
        attempts: u32,
    },

    /// The monitor stopped the run.
    #[error("interrupted")]
    #[diagnostic(
        code(fairpace::testbed::interrupted),
        help("nothing is left behind, and no result was written")
    )]
    Interrupted,
}

impl Error {
    pub(crate) fn setup(step: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let step = step.into();
        move |cause| Error::Setup { step, cause }
    }
}
