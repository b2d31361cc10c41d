//! `fairpace compare`: several algorithms on one path, one run each.

use fairpace_cli_core::comparison::Comparison;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::host;
use fairpace_cli_core::summary;
use fairpace_scenario::quantity::{Dimension, show, show_limit, show_time};
use fairpace_scenario::{Scenario, Target};

use crate::args::CompareArgs;
use crate::call::Call;
use crate::store::{self, Case};

pub(crate) fn run(args: &CompareArgs, Call { global, signals, out }: Call<'_>) -> Result<(), Failure> {
    let sets = args.changes.all_sets();
    let comparison = Comparison { path: &args.path, target: args.on, sets: &sets };
    let scenarios = comparison.scenarios(&args.cc)?;
    let dir = args.changes.out_dir()?;
    // a header's name, where --cc has its path
    let labels: Vec<String> =
        scenarios.iter().filter_map(|scenario| Some(scenario.flows.first()?.cc.to_string())).collect();
    let mut runs = Vec::new();
    for (scenario, cc) in scenarios.iter().zip(&labels) {
        runs.push(host::run(scenario, args.on, cc, &signals, global.quiet)?);
    }
    if let Some(dir) = dir {
        let cases =
            scenarios.iter().zip(&labels).map(|(scenario, cc)| Case::new(cc, scenario, args.on)).collect();
        dir.write(store::several(&links(&scenarios), cases, &runs, "")?)?;
    }
    if global.json {
        let summaries: Vec<_> = runs.iter().map(|run| &run.summary).collect();
        return out.json(&summaries);
    }
    if !global.quiet {
        out.line(&headline(&scenarios, args.on))?;
    }
    out.text(&summary::of_comparison(&runs))?;
    for (run, label) in runs.iter().zip(&labels).filter(|_| !global.quiet) {
        for note in &run.notes {
            out.line(&format!("note on {label}: {note}"))?;
        }
    }
    Ok(())
}

/// The path that the runs share.
fn links(scenarios: &[Scenario]) -> String {
    let links = scenarios.iter().take(1).flat_map(|scenario| &scenario.links);
    let texts = links
        .map(|link| format!("{}, buffer {}", show(link.rate_bps, Dimension::Rate), show_limit(link.buffer)));
    texts.collect::<Vec<_>>().join("; ")
}

/// Headline of a comparison: the path, the place of the runs, and the changed parameters.
fn headline(scenarios: &[Scenario], target: Target) -> String {
    let Some(Scenario { window: (from, to), .. }) = scenarios.first() else { return String::new() };
    let mut parts = vec![links(scenarios), host::description(target).to_owned()];
    parts.push(format!("measured from {} to {}", show_time(*from), show_time(*to)));
    let changed =
        scenarios.iter().filter_map(|s| s.flows.first()).filter(|flow| !flow.cc.settings().is_empty());
    parts.extend(changed.map(|flow| {
        let set: Vec<_> = flow.cc.settings().iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{} with {}", flow.cc, set.join(", "))
    }));
    parts.join("; ") + "\n"
}
