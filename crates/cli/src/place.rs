//! One run, in the simulator or on the kernel.

use fairpace_results::Run;
use fairpace_scenario::Scenario;

use crate::args::Place;
use crate::failure::Failure;
use crate::monitor::{Signals, Watch};

/// The commit that built this program.
pub(crate) const COMMIT: &str = env!("FAIRPACE_COMMIT");

/// Runs a scenario. `label` is shown beside its progress.
pub(crate) fn run(
    scenario: &Scenario,
    place: Place,
    label: &str,
    signals: &Signals,
    quiet: bool,
) -> Result<Run, Failure> {
    let mut watch = Watch::new(signals, label, quiet);
    let result = match place {
        Place::Sim => fairpace_sim::run(scenario, &mut watch).map_err(Failure::from),
        Place::Kernel => {
            let options = fairpace_testbed::Options { commit: COMMIT.to_owned(), ..Default::default() };
            fairpace_testbed::run_with_retries(scenario, &mut watch, &options, fairpace_testbed::ATTEMPTS)
                .map_err(Failure::from)
        }
    };
    drop(watch);
    // a run that was told to end says so in its own words, or ends early without an error
    if let Some(signal) = signals.received() {
        return Err(Failure::signal(signal));
    }
    let mut run = result?;
    run.summary.commit = COMMIT.to_owned();
    Ok(run)
}
