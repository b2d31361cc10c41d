//! `fairpace sim` and `fairpace testbed`: one run of a scenario file.

use fairpace_cli_core::beside;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host;
use fairpace_cli_core::output::note;
use fairpace_cli_core::summary;
use fairpace_scenario::Target;

use crate::args::{RunArgs, SimArgs};
use crate::call::Call;
use crate::{scenarios, store, trace};

/// Performs `sim FILE`, with or without traces.
pub(crate) fn run(args: &SimArgs, call: Call<'_>) -> Result<(), Failure> {
    if args.trace.is_empty() && args.pcap.is_empty() {
        return file(&args.run, Target::Simulator, call);
    }
    let Call { global, signals, out } = call;
    let changes = &args.run.changes;
    let scenario = scenarios::load(&args.run.file, &changes.all_sets(), Target::Simulator, global)?;
    let wanted = trace::config(args, &scenario)?;
    let records = changes.records()?;
    let Some(dir) = changes.out_dir()? else {
        return Err(Failure::new(Exit::Usage, "traces need a directory", "add --out DIR"));
    };
    let says = !global.quiet && !global.json;
    if says {
        note(&trace::announcement(&wanted, &scenario));
    }
    let run = trace::run(&scenario, &wanted, &dir.staged(), &signals, global.quiet)?;
    if says {
        note(&trace::sizes(&dir.staged()));
    }
    dir.write(store::single(&scenario, &run, Target::Simulator, &records))?;
    out.record(&run.summary, global, |_| summary::of_run(&run, global.quiet) + &beside::of_records(&records))
}

/// Performs `testbed FILE`, and `sim FILE` without traces.
pub(crate) fn file(args: &RunArgs, target: Target, call: Call<'_>) -> Result<(), Failure> {
    let Call { global, signals, out } = call;
    let scenario = scenarios::load(&args.file, &args.changes.all_sets(), target, global)?;
    let records = args.changes.records()?;
    let dir = args.changes.out_dir()?;
    let run = host::run(&scenario, target, &scenario.title, &signals, global.quiet)?;
    if let Some(dir) = dir {
        dir.write(store::single(&scenario, &run, target, &records))?;
    }
    out.record(&run.summary, global, |_| summary::of_run(&run, global.quiet) + &beside::of_records(&records))
}
