//! Runs on the kernel: the cases that real flows can run, beside their simulations.

use crate::{Case, KernelRecord, Record};
use fairpace_kernel::Features;
use fairpace_results::Summary;
use fairpace_scenario::{Scenario, Target};

use super::{Evaluation, Works};
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::host;
use fairpace_cli_core::signals::Signals;

/// Checks that this machine can run cases on its kernel.
pub(super) fn check() -> Result<(), Failure> {
    Ok(fairpace_testbed::check_machine(&fairpace_testbed::Options::default())?)
}

/// Release of the running kernel.
pub(super) fn release() -> String {
    Features::probe().release
}

/// Runs each case of each algorithm that the user asked for once, in real time, unless the store has its run.
/// A disturbed run is repeated; if every repetition is disturbed, its case is not judged.
pub(super) fn measure(
    evaluation: &Evaluation<'_>,
    works: &Works,
    record: &mut Record,
    signals: &Signals,
) -> Result<(), Failure> {
    let asked = || works.of_algorithms().filter(|(_, cc, _)| evaluation.asked.iter().any(|of| of == cc));
    let all: usize = asked().map(|(_, _, cases)| cases.len()).sum();
    let release = record.kernel.clone().unwrap_or_default();
    let mut number = 0;
    for (criterion, cc, cases) in asked() {
        let results = record.criteria[criterion].algorithms.iter_mut().find(|of| of.cc == cc);
        let results = results.map_or(&mut [][..], |of| &mut of.results);
        for (case, result) in cases.iter().zip(results) {
            number += 1;
            let label = format!("{number} of {all}: {cc} {}", case.scenario.title);
            let summary = one(evaluation, case, &release, &label, signals)?;
            result.kernel = Some(KernelRecord::of(case, summary.map(|summary| case.judged(&summary))));
        }
    }
    Ok(())
}

/// The run of one case on the kernel; `None` if every attempt was disturbed.
fn one(
    evaluation: &Evaluation<'_>,
    case: &Case,
    release: &str,
    label: &str,
    signals: &Signals,
) -> Result<Option<Summary>, Failure> {
    let on = Target::Testbed;
    let seed = evaluation.args.seed;
    let scenario = Scenario { seed, ..case.scenario.clone().sealed(on)? };
    let run = || host::run(&scenario, on, label, signals, evaluation.global.quiet);
    Ok(evaluation.keeping.on_kernel(&scenario, release, run)?.map(|run| run.summary))
}
