//! One run on one of the two hosts: the simulator, or the running kernel.

use clap::ValueEnum;
use fairpace_results::Run;
use fairpace_scenario::{Scenario, Target};

use crate::failure::Failure;
use crate::progress::RunProgress;
use crate::signals::Signals;

/// The commit that this program was built from, with `+dirty` if tracked files differed from it.
pub const COMMIT: &str = env!("FAIRPACE_COMMIT");

/// What runs the algorithms of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Host {
    /// The simulator.
    Sim,
    /// The running kernel, on the testbed.
    Kernel,
}

impl Host {
    /// What a scenario is checked for.
    #[must_use]
    pub const fn target(self) -> Target {
        match self {
            Self::Sim => Target::Simulator,
            Self::Kernel => Target::Testbed,
        }
    }

    /// For people.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Sim => "simulated",
            Self::Kernel => "on the kernel",
        }
    }

    /// The subcommand of `fairpace` that runs a scenario file on this host.
    #[must_use]
    pub const fn command(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Kernel => "testbed",
        }
    }
}

/// Runs a scenario. `label` is shown beside its progress.
///
/// # Errors
/// The host refuses the scenario, the machine disturbed the run, or a signal ended it.
pub fn run(
    scenario: &Scenario,
    host: Host,
    label: &str,
    signals: &Signals,
    quiet: bool,
) -> Result<Run, Failure> {
    let mut progress = RunProgress::new(signals, label, quiet);
    let result = match host {
        Host::Sim => fairpace_sim::run(scenario, &mut progress).map_err(Failure::from),
        Host::Kernel => {
            let options = fairpace_testbed::Options { commit: COMMIT.to_owned(), ..Default::default() };
            fairpace_testbed::run_with_retries(scenario, &mut progress, &options, fairpace_testbed::ATTEMPTS)
                .map_err(Failure::from)
        }
    };
    drop(progress);
    // an interrupted run returns its host's own error, or no error at all
    if let Some(signal) = signals.received() {
        return Err(Failure::signal(signal));
    }
    let mut run = result?;
    run.summary.commit = COMMIT.to_owned();
    Ok(run)
}
