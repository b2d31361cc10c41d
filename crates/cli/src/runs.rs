//! `sim`, `testbed` and `compare`: runs, and where their results go.

use fairpace_results::Run;
use fairpace_scenario::quantity::{Dimension, show, show_limit, show_time};
use fairpace_scenario::{Scenario, Set, Target};

use crate::args::{Changes, CompareArgs, Global, Place, RunArgs, SimArgs};
use crate::compare::Plan;
use crate::failure::{Exit, Failure};
use crate::monitor::Signals;
use crate::outdir::OutDir;
use crate::output::Output;
use crate::store::{self, Case};
use crate::{place, table, traced};

impl Changes {
    /// `--set` and `--seed`.
    pub(crate) fn all_sets(&self) -> Vec<Set> {
        let seed = self.seed.as_ref().map(|seed| Set::argument("--seed", "seed", seed));
        self.sets.iter().cloned().chain(seed).collect()
    }

    pub(crate) fn out_dir(&self) -> Result<Option<OutDir>, Failure> {
        self.out.as_deref().map(OutDir::prepare).transpose()
    }
}

/// `sim FILE`, with traces if some are asked for.
pub(crate) fn simulate(
    args: &SimArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    if args.trace.is_empty() && args.pcap.is_empty() {
        return file(&args.run, Place::Sim, global, signals, out);
    }
    let changes = &args.run.changes;
    let scenario = fairpace_scenario::load(&args.run.file, &changes.all_sets(), Target::Simulator)?;
    let wanted = traced::wanted(args, &scenario)?;
    let Some(mut dir) = changes.out_dir()? else {
        return Err(Failure::told(Exit::Usage, "traces need a place", "write --out DIR too"));
    };
    let run = traced::run(&scenario, &wanted, dir.stage()?, signals, global.quiet)?;
    dir.write(&store::single(&scenario, &run, Place::Sim))?;
    if global.json { out.json(&run.summary) } else { out.text(&table::run(&run, global.quiet)) }
}

/// `testbed FILE`, and `sim FILE` without traces.
pub(crate) fn file(
    args: &RunArgs,
    place: Place,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let scenario = fairpace_scenario::load(&args.file, &args.changes.all_sets(), place.target())?;
    let dir = args.changes.out_dir()?;
    let run = place::run(&scenario, place, &scenario.title, signals, global.quiet)?;
    if let Some(dir) = dir {
        dir.write(&store::single(&scenario, &run, place))?;
    }
    if global.json { out.json(&run.summary) } else { out.text(&table::run(&run, global.quiet)) }
}

/// `compare`.
pub(crate) fn compare(
    args: &CompareArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let sets = args.changes.all_sets();
    let scenarios = Plan::new(args, &sets).scenarios(&args.cc)?;
    let dir = args.changes.out_dir()?;
    let mut runs = Vec::new();
    for (scenario, cc) in scenarios.iter().zip(&args.cc) {
        runs.push(place::run(scenario, args.on, cc, signals, global.quiet)?);
    }
    if let Some(dir) = dir {
        let cases =
            scenarios.iter().zip(&args.cc).map(|(scenario, cc)| Case::new(cc, scenario, args.on)).collect();
        dir.write(&store::several("Comparison", cases, &runs, "")?)?;
    }
    if global.json {
        let summaries: Vec<_> = runs.iter().map(|run| &run.summary).collect();
        return out.json(&summaries);
    }
    if !global.quiet {
        out.line(&headline(&scenarios, args.on))?;
    }
    out.text(&table::compare(&runs))?;
    notes(&runs, &args.cc, global, out)
}

/// The path that the runs share, and the parameters that were changed.
fn headline(scenarios: &[Scenario], place: Place) -> String {
    let Some(Scenario { links, window: (from, to), .. }) = scenarios.first() else { return String::new() };
    let links = links
        .iter()
        .map(|link| format!("{}, buffer {}", show(link.rate_bps, Dimension::Rate), show_limit(link.buffer)));
    let mut parts: Vec<_> = links.collect();
    parts.push(place.explained().to_owned());
    parts.push(format!("measured from {} to {}", show_time(*from), show_time(*to)));
    let changed =
        scenarios.iter().filter_map(|s| s.flows.first()).filter(|flow| !flow.cc.settings().is_empty());
    parts.extend(changed.map(|flow| {
        let set: Vec<_> = flow.cc.settings().iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{} with {}", flow.cc, set.join(", "))
    }));
    parts.join("; ") + "\n"
}

fn notes(runs: &[Run], labels: &[String], global: Global, out: &mut Output) -> Result<(), Failure> {
    if global.quiet {
        return Ok(());
    }
    for (run, label) in runs.iter().zip(labels) {
        for note in &run.notes {
            out.line(&format!("note on {label}: {note}"))?;
        }
    }
    Ok(())
}
