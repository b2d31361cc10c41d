//! Performs one run, in the simulator or on the running kernel.

use fairpace_cc::Phase;
use fairpace_results::{FlowSummary, Monitor, Run};
use fairpace_scenario::{Ecn, Flow, Scenario, Target};
use fairpace_trace::{FlowInfo, RunInfo};
#[cfg(feature = "kernel")]
use sha2::{Digest, Sha256};

use crate::failure::{Exit, Failure};
use crate::progress::RunProgress;
use crate::signals::Signals;

/// The commit that this program was built from, with `+dirty` if tracked files differed from it.
pub const COMMIT: &str = env!("FAIRPACE_COMMIT");

/// What a report of a fault needs to know about this build: the commit, and a hash of the objects that it
/// loads into the kernel.
#[cfg(feature = "kernel")]
#[must_use]
pub fn build() -> String {
    let mut sum = Sha256::new();
    let objects = fairpace_kernel::contained_objects();
    for (name, elf) in &objects {
        // the lengths keep the parts apart
        for part in [name.as_bytes(), elf] {
            sum.update((part.len() as u64).to_le_bytes());
            sum.update(part);
        }
    }
    let digest: String = sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let objects = match objects.len() {
        0 => "none: it was built without clang".to_owned(),
        count => format!("{count}, sha256:{digest}"),
    };
    format!("commit {COMMIT}\nkernel objects {objects}\n")
}

/// Text for the place of a run.
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
/// Returns an error if the host refuses the scenario, the machine disturbed the run, or a signal ended it.
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
/// Returns an error if the testbed refuses the scenario, the machine disturbed the run, or the monitor
/// stopped it.
#[cfg(feature = "kernel")]
pub fn on_kernel(scenario: &Scenario, monitor: &mut dyn Monitor, alone: bool) -> Result<Run, Failure> {
    let commit = COMMIT.to_owned();
    let options = fairpace_testbed::Options { commit, wake_early: alone, ..Default::default() };
    Ok(fairpace_testbed::run_with_retries(scenario, monitor, &options, fairpace_testbed::ATTEMPTS)?)
}

/// Refuses a scenario with real flows, for which this build has no testbed.
///
/// # Errors
/// Always returns an error: this build has no testbed.
#[cfg(not(feature = "kernel"))]
pub fn on_kernel(_: &Scenario, _: &mut dyn Monitor, _: bool) -> Result<Run, Failure> {
    Err(without_kernel())
}

/// The error of a build that has only the simulator.
#[cfg(not(feature = "kernel"))]
#[must_use]
pub fn without_kernel() -> Failure {
    Failure::new(Exit::Unsupported, "this build has no testbed", "the command `fairpace` has one")
}

/// Runs a scenario in the simulator.
///
/// # Errors
/// Returns an error if the simulator refuses the scenario, or if the monitor stops the run.
pub fn simulate(scenario: &Scenario, monitor: &mut dyn Monitor) -> Result<Run, Failure> {
    let mut run = fairpace_sim::run(scenario, monitor)?;
    run.summary.commit = COMMIT.to_owned();
    Ok(run)
}

/// Runs a scenario for a record. A run is refused if the host had to change a decision of a listed algorithm,
/// because the record would attribute the result to the algorithm; [`simulate`] only adds a note.
///
/// # Errors
/// Returns the errors of [`simulate`], and an error in place of such a note.
pub fn simulate_within_bounds(scenario: &Scenario, monitor: &mut dyn Monitor) -> Result<Run, Failure> {
    within_bounds(scenario, simulate(scenario, monitor)?)
}

fn within_bounds(scenario: &Scenario, run: Run) -> Result<Run, Failure> {
    let flows = scenario.flows.iter().zip(&run.summary.flows);
    match flows.filter(|(flow, _)| fairpace_sim::decides_by_itself(&flow.cc)).find_map(changed) {
        None => Ok(run),
        Some(message) => Err(Failure::new(
            Exit::Internal,
            format!("scenario {}: {message}", scenario.hash),
            concat!("it is a defect of Fairpace: report it at ", env!("CARGO_PKG_REPOSITORY"), "/issues"),
        )),
    }
}

fn changed((flow, summary): (&Flow, &FlowSummary)) -> Option<String> {
    let clamped = summary.clamped.as_ref()?;
    Some(format!("decisions of {} in flow {} were out of bounds: {clamped:?}", flow.cc, flow.name))
}

/// Description of a run of this scenario for traces and tables.
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
/// Returns the error of the run itself, or the failure that a signal ended it.
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

#[cfg(test)]
mod tests {
    use fairpace_results::{ClampSummary, Silent};

    use super::*;

    #[test]
    fn a_listed_algorithm_that_was_out_of_bounds_is_not_recorded() {
        let recorded = |cc: &str, clamped| {
            let text = format!(
                "title = \"t\"\nduration = \"1s\"\n\
                 [[link]]\nname = \"a\"\nrate = \"1mbit\"\nbuffer = \"10kB\"\n\
                 [[flow]]\nname = \"b\"\ncc = \"{cc}\"\nrtt = \"10ms\"\n"
            );
            let scenario = fairpace_scenario::parse("a.toml", &text, &[], Target::Simulator).unwrap();
            let mut run = simulate(&scenario, &mut Silent).unwrap();
            run.summary.flows[0].clamped = clamped;
            within_bounds(&scenario, run).map_err(|failure| failure.to_string())
        };
        let clamped = Some(ClampSummary { ssthresh: 802, ..ClampSummary::default() });
        assert!(recorded("cubic", None).is_ok());
        let failure = recorded("cubic", clamped).unwrap_err();
        assert!(failure.contains("decisions of cubic in flow b") && failure.contains("802"), "{failure}");
        // its rate is the user's
        assert!(recorded("fixed_rate", clamped).is_ok());
    }
}
