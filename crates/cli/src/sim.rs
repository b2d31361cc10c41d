//! `fairpace sim` and `fairpace testbed`: one run of a scenario file.

use fairpace_cli_core::beside;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host;
use fairpace_cli_core::output::note;
use fairpace_cli_core::place::Place;
use fairpace_cli_core::summary;
use fairpace_cli_core::virtual_time::VirtualKernel;
use fairpace_scenario::Target;

use crate::args::{RunArgs, SimArgs};
use crate::call::Call;
use crate::{scenarios, store, trace};

/// Performs `sim FILE`, with or without traces.
pub(crate) fn run(args: &SimArgs, call: Call<'_>) -> Result<(), Failure> {
    if args.trace.is_empty() && args.pcap.is_empty() {
        return file(&args.run, Place::Simulator, call);
    }
    if args.run.place.place(Place::Simulator)? != Place::Simulator {
        let message = "--trace and --pcap record simulations";
        return Err(Failure::new(Exit::Usage, message, "leave them out, or write --on sim"));
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
    dir.write(store::single(&scenario, &run, Place::Simulator, &records))?;
    out.record(&run.summary, global, |_| summary::of_run(&run, global.quiet) + &beside::of_records(&records))
}

/// Performs `testbed FILE`, and `sim FILE` without traces; `usual` is the command's own place.
pub(crate) fn file(args: &RunArgs, usual: Place, call: Call<'_>) -> Result<(), Failure> {
    let Call { global, signals, out } = call;
    let place = args.place.place(usual)?;
    let scenario = scenarios::load(&args.file, &args.changes.all_sets(), place.target(), global)?;
    let records = args.changes.records()?;
    let dir = args.changes.out_dir()?;
    let (label, quiet) = (&scenario.title, global.quiet);
    let run = match place {
        Place::Virtual(emulator) => {
            let scenarios = std::slice::from_ref(&scenario);
            let kernel = VirtualKernel::boot(args.place.wanted(emulator), scenarios, &signals, quiet)?;
            host::perform(label, &signals, quiet, |progress| kernel.run(&scenario, progress))?
        }
        Place::Simulator | Place::Kernel => host::run(&scenario, place.target(), label, &signals, quiet)?,
    };
    if let Some(dir) = dir {
        dir.write(store::single(&scenario, &run, place, &records))?;
    }
    out.record(&run.summary, global, |_| summary::of_run(&run, global.quiet) + &beside::of_records(&records))
}
