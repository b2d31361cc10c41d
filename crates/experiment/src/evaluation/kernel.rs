//! Runs on a kernel: the cases that real flows can run, beside their simulations.

use std::num::NonZeroUsize;

use crate::{Case, KernelRecord, Record};
use fairpace_results::Summary;
use fairpace_scenario::{Scenario, Target};

use super::{Evaluation, Works};
use fairpace_cli_core::batch::Batch;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::kernel_host::KernelHost;
use fairpace_cli_core::place::Place;
use fairpace_cli_core::signals::Signals;

/// Checks that this machine can run these scenarios on the kernel of a place.
pub(super) fn check(place: Place, series: Option<&str>, scenarios: &[Scenario]) -> Result<(), Failure> {
    KernelHost::check(place, series, scenarios)
}

/// Runs each case of each algorithm that the user asked for once, unless the store has its run. A run that
/// the machine disturbed is repeated; if every repetition is disturbed, its case is not judged.
pub(super) fn measure(
    evaluation: &Evaluation<'_>,
    works: &Works,
    record: &mut Record,
    signals: &Signals,
) -> Result<(), Failure> {
    let asked = || works.of_algorithms().filter(|(_, cc, _)| evaluation.asked.iter().any(|of| of == cc));
    let scenarios = asked().flat_map(|(_, _, cases)| cases).map(|case| scenario(evaluation, case));
    let scenarios = scenarios.collect::<Result<Vec<_>, Failure>>()?;
    let quiet = evaluation.global.quiet;
    let host = KernelHost::open(evaluation.on, evaluation.series, &scenarios, signals, quiet)?;
    let summaries = run_all(evaluation, &host, &scenarios, signals)?;
    record.kernel = Some(host.description());
    let mut summaries = summaries.into_iter();
    for (criterion, cc, cases) in asked() {
        let results = record.criteria[criterion].algorithms.iter_mut().find(|of| of.cc == cc);
        let results = results.map_or(&mut [][..], |of| &mut of.results);
        for (case, result) in cases.iter().zip(results) {
            let summary = summaries.next().flatten();
            result.kernel = Some(KernelRecord::of(case, summary.map(|summary| case.judged(&summary))));
        }
    }
    Ok(())
}

/// The scenario of a case on a kernel.
fn scenario(evaluation: &Evaluation<'_>, case: &Case) -> Result<Scenario, Failure> {
    Ok(Scenario { seed: evaluation.args.seed, ..case.scenario.clone().sealed(Target::Testbed)? })
}

/// The runs of these scenarios; `None` where every attempt was disturbed.
fn run_all(
    evaluation: &Evaluation<'_>,
    host: &KernelHost,
    scenarios: &[Scenario],
    signals: &Signals,
) -> Result<Vec<Option<Summary>>, Failure> {
    let progress = host.progress(&scenarios.iter().collect::<Vec<_>>(), evaluation.global.quiet);
    let jobs = host.at_a_time(NonZeroUsize::MIN, evaluation.args.jobs.at_a_time);
    let release = host.description();
    Batch { jobs, signals, progress: &progress }.map(scenarios, |scenario, job| {
        let run = evaluation.keeping.on_kernel(scenario, &release, || host.run(scenario, job, true))?;
        Ok(run.map(|run| run.summary))
    })
}
