//! One run, in the simulator or on the running kernel.

use fairpace_cc::Phase;
use fairpace_results::{Monitor, Run};
use fairpace_scenario::{Ecn, Scenario, Target};
use fairpace_trace::{FlowInfo, RunInfo};

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
        Target::Testbed => on_kernel(scenario, progress, true),
    })
}

/// Runs a scenario with real flows. `alone`: no other run uses this machine at the same time, so the emulator
/// may take most of a core to be punctual.
///
/// # Errors
/// The testbed refuses the scenario, the machine disturbed the run, or the monitor stopped it.
#[cfg(feature = "kernel")]
pub fn on_kernel(scenario: &Scenario, monitor: &mut dyn Monitor, alone: bool) -> Result<Run, Failure> {
    let commit = COMMIT.to_owned();
    let options = fairpace_testbed::Options { commit, wake_early: alone, ..Default::default() };
    Ok(fairpace_testbed::run_with_retries(scenario, monitor, &options, fairpace_testbed::ATTEMPTS)?)
}

/// Refuses a scenario with real flows.
///
/// # Errors
/// Always: this build has no testbed.
#[cfg(not(feature = "kernel"))]
pub fn on_kernel(_: &Scenario, _: &mut dyn Monitor, _: bool) -> Result<Run, Failure> {
    Err(without_kernel())
}

/// The error of a build that has only the simulator.
#[cfg(not(feature = "kernel"))]
pub(crate) fn without_kernel() -> Failure {
    use crate::failure::Exit;
    Failure::new(Exit::Unsupported, "this build has no testbed", "the command `fairpace` has one")
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

/// What traces and tables say about a run of this scenario.
#[must_use]
pub fn run_info(scenario: &Scenario) -> RunInfo {
    let flow = |(flow, route): (&fairpace_scenario::Flow, fairpace_scenario::Route)| FlowInfo {
        name: flow.name.clone(),
        cc: flow.cc.to_string(),
        route: route.forward,
        back: route.back,
        ecn: flow.sending.ecn != Ecn::Off,
        accurate_ecn: flow.sending.ecn.is_accurate(),
        is_workload: flow.arrivals.is_some(),
        mss_bytes: flow.sending.mss_bytes(),
    };
    RunInfo {
        title: scenario.title.clone(),
        hash: scenario.hash.clone(),
        seed: scenario.seed,
        commit: COMMIT.to_owned(),
        flows: scenario.flows.iter().zip(scenario.routes()).map(flow).collect(),
        links: scenario.links.iter().map(|link| link.name.clone()).collect(),
        phases: Phase::ALL.iter().map(|phase| phase.name()).collect(),
    }
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
