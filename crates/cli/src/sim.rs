//! `fairpace sim` and `fairpace testbed`: one run of a scenario file.

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_cli_core::summary;
use fairpace_scenario::Target;

use crate::args::{RunArgs, SimArgs};
use crate::{store, trace};

/// `sim FILE`, with or without traces.
pub(crate) fn run(
    args: &SimArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    if args.trace.is_empty() && args.pcap.is_empty() {
        return file(&args.run, Target::Simulator, global, signals, out);
    }
    let changes = &args.run.changes;
    let scenario = fairpace_scenario::load(&args.run.file, &changes.all_sets(), Target::Simulator)?;
    let wanted = trace::config(args, &scenario)?;
    let Some(dir) = changes.out_dir()? else {
        return Err(Failure::new(Exit::Usage, "traces need a directory", "add --out DIR"));
    };
    let run = trace::run(&scenario, &wanted, &dir.staged(), signals, global.quiet)?;
    dir.write(store::single(&scenario, &run, Target::Simulator))?;
    if global.json { out.json(&run.summary) } else { out.text(&summary::of_run(&run, global.quiet)) }
}

/// `testbed FILE`, and `sim FILE` without traces.
pub(crate) fn file(
    args: &RunArgs,
    target: Target,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let scenario = fairpace_scenario::load(&args.file, &args.changes.all_sets(), target)?;
    let dir = args.changes.out_dir()?;
    let run = host::run(&scenario, target, &scenario.title, signals, global.quiet)?;
    if let Some(dir) = dir {
        dir.write(store::single(&scenario, &run, target))?;
    }
    if global.json { out.json(&run.summary) } else { out.text(&summary::of_run(&run, global.quiet)) }
}
