//! One run, in the simulator or on the running kernel.

use fairpace_results::{Monitor, Run};
use fairpace_scenario::{Scenario, Target};

use crate::failure::Failure;
use crate::progress::RunProgress;
use crate::signals::Signals;

/// The commit that this program was built from, with `+dirty` if tracked files differed from it.
pub const COMMIT: &str = env!("FAIRPACE_COMMIT");

/// Where a run took place, for people.
#[must_use]
pub const fn description(target: Target) -> &'static str {
    match target {
        Target::Simulator => "simulated",
        Target::Testbed => "on the kernel",
    }
}

/// Runs a scenario. `label` is shown beside its progress.
///
/// # Errors
/// The host refuses the scenario, the machine disturbed the run, or a signal ended it.
pub fn run(
    scenario: &Scenario,
    target: Target,
    label: &str,
    signals: &Signals,
    quiet: bool,
) -> Result<Run, Failure> {
    perform(label, signals, quiet, |progress| match target {
        Target::Simulator => simulate(scenario, progress),
        Target::Testbed => {
            let options = fairpace_testbed::Options { commit: COMMIT.to_owned(), ..Default::default() };
            let attempts = fairpace_testbed::ATTEMPTS;
            Ok(fairpace_testbed::run_with_retries(scenario, progress, &options, attempts)?)
        }
    })
}

/// Runs a scenario in the simulator.
///
/// # Errors
/// The simulator refuses the scenario, or the monitor stops the run.
pub fn simulate(scenario: &Scenario, monitor: &mut dyn Monitor) -> Result<Run, Failure> {
    let mut run = fairpace_sim::run(scenario, monitor)?;
    run.summary.commit = COMMIT.to_owned();
    Ok(run)
}

/// Performs one run of any kind: shows its progress beside `label`, and ends it when a signal arrives.
///
/// # Errors
/// The run's own, or a signal ended it.
pub fn perform<T>(
    label: &str,
    signals: &Signals,
    quiet: bool,
    run: impl FnOnce(&mut RunProgress<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let result = run(&mut RunProgress::new(signals, label, quiet));
    // an interrupted run returns its host's own error, or no error at all
    signals.received().map_or(result, |signal| Err(Failure::signal(signal)))
}
