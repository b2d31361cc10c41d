//! `fairpace-dev pair`: flows of one algorithm over one bottleneck on the kernel, once, whatever disturbs
//! the run.

use fairpace_cli_core::args::Global;
use fairpace_cli_core::comparison::Comparison;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::host::{self, COMMIT};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_cli_core::summary;
use fairpace_scenario::Target;
use fairpace_testbed::{Options, Outcome, measure};

use crate::args::PairArgs;

pub(crate) fn run(
    args: &PairArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let comparison = Comparison { path: &args.path, target: Target::Testbed, sets: &[] };
    let scenario = comparison.scenario(&args.cc)?;
    let options = Options { commit: COMMIT.to_owned(), ..Options::default() };
    let Outcome { mut run, disturbed, .. } =
        host::perform(&scenario.title, signals, global.quiet, |progress| {
            Ok(measure(&scenario, progress, &options)?)
        })?;
    run.notes.extend(disturbed.map(|why| why.to_string()));
    if global.json { out.json(&run.summary) } else { out.text(&summary::of_run(&run, global.quiet)) }
}
