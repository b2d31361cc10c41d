//! The congestion control of each flow: its name in the kernel, and its state.

use crate::telemetry::AlgorithmState;
use crate::{Error, sockopt};
use fairpace_cc::Params;
use fairpace_kernel::{BuiltIn, Counters, DctcpEcho, LoadOptions, Loaded, load};
use fairpace_scenario::{Cc, Ecn, Flow, Scenario};
use std::os::fd::BorrowedFd;

/// A flow's congestion control.
#[derive(Debug, Clone, PartialEq)]
enum Control {
    /// One of the kernel's own algorithms, by its name.
    Kernel(String),
    /// An algorithm of Fairpace: its index in [`Controls::ours`].
    Ours(usize),
}

/// An algorithm of Fairpace in the kernel.
enum Ours {
    /// Loaded as eBPF.
    Loaded(Loaded),
    /// A part of the kernel: that of `--on virtual:uml` has them.
    BuiltIn(BuiltIn),
}

impl Ours {
    fn prepare(params: &Params) -> Result<Self, fairpace_kernel::Error> {
        match BuiltIn::is_there() {
            true => BuiltIn::add(params).map(Self::BuiltIn),
            false => load(params, &LoadOptions::unique()).map(Self::Loaded),
        }
    }

    fn kernel_name(&self) -> &str {
        match self {
            Self::Loaded(loaded) => loaded.kernel_name(),
            Self::BuiltIn(built_in) => built_in.kernel_name(),
        }
    }

    fn observe(&self, fd: BorrowedFd<'_>) -> Option<AlgorithmState> {
        match self {
            Self::Loaded(loaded) => loaded.observe(fd).ok()??.observation.map(AlgorithmState::from),
            Self::BuiltIn(_) => sockopt::built_in_info(fd)?.observation().map(AlgorithmState::from),
        }
    }

    /// The name of what its counters are of.
    fn counted_name(&self) -> &str {
        match self {
            Self::Loaded(loaded) => loaded.kernel_name(),
            Self::BuiltIn(built_in) => built_in.code(),
        }
    }

    fn counters(&self) -> Result<Counters, fairpace_kernel::Error> {
        match self {
            Self::Loaded(loaded) => loaded.counters(),
            Self::BuiltIn(built_in) => built_in.counters(),
        }
    }
}

/// The flows' congestion controls. Algorithms of Fairpace are loaded for this run only, under unique names.
/// The kernel unloads them when this value is dropped or the process ends.
pub(crate) struct Controls {
    of_flow: Vec<Control>,
    ours: Vec<Ours>,
    /// For the receivers of flows with the ECN of DCTCP.
    echo: Option<DctcpEcho>,
}

impl Controls {
    /// Loads the scenario's algorithms. Flows of one algorithm with the same parameters share a loaded
    /// object.
    ///
    /// # Errors
    /// [`Error::Kernel`].
    pub(crate) fn prepare(scenario: &Scenario) -> Result<Self, Error> {
        let mut settings: Vec<Params> = Vec::new();
        let mut of_flow = Vec::with_capacity(scenario.flows.len());
        for flow in &scenario.flows {
            of_flow.push(match &flow.cc {
                Cc::Kernel(name) => Control::Kernel(name.clone()),
                // a scenario of the testbed has none of these: its check refuses them
                Cc::Uncontrolled => Control::Kernel(flow.cc.to_string()),
                Cc::Ours(ours) => {
                    let known = settings.iter().position(|params| params == ours.params());
                    Control::Ours(known.unwrap_or_else(|| {
                        settings.push(*ours.params());
                        settings.len() - 1
                    }))
                }
            });
        }
        let ours = settings.iter().map(Ours::prepare).collect::<Result<_, _>>()?;
        let echoes = scenario.flows.iter().any(|flow| flow.sending.ecn == Ecn::Dctcp);
        let echo = if echoes { Some(DctcpEcho::load()?) } else { None };
        Ok(Controls { of_flow, ours, echo })
    }

    /// The kernel's name of the congestion control of the flow's receiver; `None`: the kernel's default.
    pub(crate) fn of_receiver(&self, flow: &Flow) -> Option<&str> {
        self.echo.as_ref().filter(|_| flow.sending.ecn == Ecn::Dctcp).map(DctcpEcho::kernel_name)
    }

    /// The kernel's name of the flow's algorithm.
    pub(crate) fn kernel_name(&self, flow: usize) -> &str {
        match &self.of_flow[flow] {
            Control::Kernel(name) => name,
            Control::Ours(index) => self.ours[*index].kernel_name(),
        }
    }

    /// The state of the flow's algorithm on this socket. A state that cannot be read is not an error of the
    /// run.
    pub(crate) fn observe(&self, flow: usize, fd: BorrowedFd<'_>) -> AlgorithmState {
        match &self.of_flow[flow] {
            Control::Kernel(name) if name == "bbr" => sockopt::bbr_info(fd).map(AlgorithmState::from),
            Control::Kernel(_) => None,
            Control::Ours(index) => self.ours[*index].observe(fd),
        }
        .unwrap_or(AlgorithmState::UNKNOWN)
    }

    /// Returns notes on the algorithms for a reader of the results.
    pub(crate) fn notes(&self) -> Vec<String> {
        let notes = |ours: &Ours| {
            let unread = |error| vec![format!("its counters could not be read: {error}")];
            let sentences = ours.counters().map_or_else(unread, |counters| counters.sentences());
            let name = ours.counted_name().to_owned();
            sentences.into_iter().map(move |sentence| format!("{name}: {sentence}")).collect::<Vec<_>>()
        };
        let mut all: Vec<String> = self.ours.iter().flat_map(notes).collect();
        // what is counted together
        all.dedup();
        all
    }
}
