//! `fairpace compare`: several algorithms on one path, one run each.

use std::num::NonZeroUsize;

use fairpace_cli_core::args::Jobs;
use fairpace_cli_core::batch::Batch;
use fairpace_cli_core::beside;
use fairpace_cli_core::comparison::Comparison;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::host;
use fairpace_cli_core::output::to_json;
use fairpace_cli_core::place::Place;
use fairpace_cli_core::progress::{Progress, expected_packets};
use fairpace_cli_core::summary;
use fairpace_cli_core::table::prose;
use fairpace_cli_core::virtual_time::{VirtualKernel, Wanted};
use fairpace_results::{Cost, Run, ScenarioId};
use fairpace_scenario::quantity::{Dimension, show, show_limit, show_time};
use fairpace_scenario::{Cc, Scenario};

use crate::args::CompareArgs;
use crate::call::Call;
use crate::store::{self, Case};

pub(crate) fn run(args: &CompareArgs, call: Call<'_>) -> Result<(), Failure> {
    let sets = args.changes.all_sets();
    let place = args.place.place(Place::Simulator)?;
    let comparison = Comparison { path: &args.path, target: place.target(), sets: &sets };
    let scenarios = comparison.scenarios(&args.algorithms())?;
    let records = args.changes.records()?;
    let dir = args.changes.out_dir()?;
    let compared = match place {
        Place::Simulator => simulated(&scenarios, args.jobs, &call)?,
        Place::Kernel => on_kernel(&scenarios, |scenario, cc| {
            host::run(scenario, place.target(), cc, &call.signals, call.global.quiet)
        })?,
        Place::Virtual(emulator) => {
            in_virtual_time(&scenarios, args.place.wanted(emulator), args.jobs.at_a_time, &call)?
        }
    };
    let Compared { runs, unchanged, .. } = &compared;
    let Call { global, out, .. } = call;
    let done: Vec<(&Scenario, &Run)> =
        scenarios.iter().zip(runs).filter_map(|(scenario, run)| Some((scenario, run.as_ref()?))).collect();
    if let Some(dir) = dir {
        let cases = done.iter().map(|(scenario, _)| Case::new(label(scenario), scenario, place)).collect();
        let runs: Vec<Run> = done.iter().map(|(_, run)| (*run).clone()).collect();
        dir.write(store::several(&links(&scenarios), cases, &runs, "", &records)?)?;
    }
    if global.json {
        out.json(&done.iter().map(|(_, run)| &run.summary).collect::<Vec<_>>())?;
    } else {
        if !global.quiet {
            out.line(&prose(&headline(&scenarios, place)))?;
        }
        let labels: Vec<String> = scenarios.iter().map(label).collect();
        let rows = runs.iter().zip(&labels).map(|(run, label)| run.as_ref().ok_or(label.as_str()));
        out.text(&summary::of_comparison(rows))?;
        out.text(&beside::of_records(&records))?;
        let notes =
            done.iter().flat_map(|(scenario, run)| run.notes.iter().map(|note| (label(scenario), note)));
        for (label, note) in notes.chain(unchanged.iter().map(|(of, note)| (label(&scenarios[*of]), note))) {
            if !global.quiet {
                out.line(&prose(&format!("note on {label}: {note}")))?;
            }
        }
    }
    compared.failure.map_or(Ok(()), Err)
}

/// Name of the algorithm that a scenario of a comparison is for: a header's name, where the arguments have
/// its path.
fn label(scenario: &Scenario) -> String {
    scenario.flows.first().map_or_else(String::new, |flow| flow.cc.to_string())
}

/// What a comparison measured.
struct Compared {
    /// The run of each scenario; `None`: the machine disturbed every attempt.
    runs: Vec<Option<Run>>,
    /// Scenarios, by index, whose changed parameters changed nothing, and a note on these.
    unchanged: Vec<(usize, String)>,
    /// The failure that some runs are missing.
    failure: Option<Failure>,
}

/// Simulates all scenarios, on all cores; and, where parameters are changed, the same with the defaults.
fn simulated(scenarios: &[Scenario], jobs: Jobs, call: &Call<'_>) -> Result<Compared, Failure> {
    let mut all: Vec<Scenario> = scenarios.to_vec();
    let mut pairs = Vec::new();
    for (index, scenario) in scenarios.iter().enumerate() {
        let Some(usual) = with_defaults(scenario) else { continue };
        let is_it = |other: &Scenario| other.flows[0].cc.is_same(&usual.flows[0].cc);
        let at = all.iter().position(is_it).unwrap_or(all.len());
        if at == all.len() {
            all.push(usual);
        }
        pairs.push((index, at));
    }
    let progress = Progress::of_scenarios(&all.iter().collect::<Vec<_>>(), call.global.quiet);
    let batch = Batch { jobs: jobs.at_a_time, signals: &call.signals, progress: &progress };
    let mut runs = batch.map(&all, |scenario, job| host::simulate(scenario, job))?;
    let mut unchanged = Vec::new();
    for (index, usual) in pairs {
        if outcome(&runs[index])? == outcome(&runs[usual])? {
            let set = settings(&scenarios[index].flows[0].cc);
            let note = format!("{set} changed no byte of the result: on this path nothing depends on it");
            unchanged.push((index, note));
        }
    }
    runs.truncate(scenarios.len());
    Ok(Compared { runs: runs.into_iter().map(Some).collect(), unchanged, failure: None })
}

/// The scenario with the default parameters of its algorithm; `None` if it has these.
fn with_defaults(scenario: &Scenario) -> Option<Scenario> {
    let Cc::Ours(ours) = &scenario.flows.first()?.cc else { return None };
    let usual = Cc::from(ours.algorithm());
    if usual.is_same(&scenario.flows[0].cc) {
        return None;
    }
    let mut scenario = scenario.clone();
    scenario.flows.iter_mut().for_each(|flow| flow.cc = usual.clone());
    Some(scenario)
}

/// Everything that was measured, as text: without the names of the scenario and of the algorithms, and
/// without the time that the run took.
fn outcome(run: &Run) -> Result<String, Failure> {
    let mut run = run.clone();
    run.summary.scenario = ScenarioId::default();
    run.summary.cost = Cost::default();
    for flow in &mut run.summary.flows {
        flow.cc.clear();
        flow.set.clear();
    }
    to_json(&run)
}

/// Runs all scenarios on a kernel in virtual time, on all cores. Nothing can disturb one.
fn in_virtual_time(
    scenarios: &[Scenario],
    wanted: Wanted<'_>,
    jobs: Option<NonZeroUsize>,
    call: &Call<'_>,
) -> Result<Compared, Failure> {
    let Call { global, signals, .. } = call;
    let kernel = VirtualKernel::boot(wanted, scenarios, signals, global.quiet)?;
    let progress = Progress::of_virtual_runs(scenarios.iter().map(expected_packets).collect(), global.quiet);
    let batch = Batch { jobs, signals, progress: &progress };
    let runs = batch.map(scenarios, |scenario, job| kernel.run(scenario, job))?;
    Ok(Compared { runs: runs.into_iter().map(Some).collect(), unchanged: Vec::new(), failure: None })
}

/// Performs real runs one after the other. A disturbed run has no result; the others do.
fn on_kernel(
    scenarios: &[Scenario],
    run: impl Fn(&Scenario, &str) -> Result<Run, Failure>,
) -> Result<Compared, Failure> {
    let (mut runs, mut missing, mut failure) = (Vec::new(), Vec::new(), None);
    for scenario in scenarios {
        let cc = label(scenario);
        match run(scenario, &cc) {
            Ok(run) => runs.push(Some(run)),
            Err(disturbed) if disturbed.is_disturbance() => {
                runs.push(None);
                missing.push(cc);
                failure = Some(disturbed);
            }
            Err(failure) => return Err(failure),
        }
    }
    match failure {
        // nothing is there to show
        Some(failure) if missing.len() == runs.len() => Err(failure),
        failure => {
            let part = format!("no result of {}", missing.join(", "));
            let failure = failure.map(|failure| failure.of_part(&part).leaving("what finished is printed"));
            Ok(Compared { runs, unchanged: Vec::new(), failure })
        }
    }
}

/// The path that the runs share.
fn links(scenarios: &[Scenario]) -> String {
    let links = scenarios.iter().take(1).flat_map(|scenario| &scenario.links);
    let texts = links
        .map(|link| format!("{}, buffer {}", show(link.rate_bps, Dimension::Rate), show_limit(link.buffer)));
    texts.collect::<Vec<_>>().join("; ")
}

/// Headline of a comparison: the path, the place of the runs, and the changed parameters.
fn headline(scenarios: &[Scenario], place: Place) -> String {
    let Some(Scenario { window: (from, to), .. }) = scenarios.first() else { return String::new() };
    let mut parts = vec![links(scenarios), place.description().to_owned()];
    parts.push(format!("measured from {} to {}", show_time(*from), show_time(*to)));
    let changed =
        scenarios.iter().filter_map(|s| s.flows.first()).filter(|flow| !flow.cc.settings().is_empty());
    let changed = changed.filter(|flow| !flow.cc.is_variant());
    parts.extend(changed.map(|flow| format!("{} with {}", flow.cc, settings(&flow.cc))));
    parts.join("; ") + "\n"
}

/// The changed parameters: "beta=0.5, gain=2".
fn settings(cc: &Cc) -> String {
    let set: Vec<_> = cc.settings().iter().map(|(name, value)| format!("{name}={value}")).collect();
    set.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpace_cli_core::failure::Exit;
    use fairpace_results::Silent;

    fn scenario(cc: &str) -> Scenario {
        let text = format!(
            "duration = \"1s\"\n[[link]]\nrate = \"1mbit\"\nbuffer = \"10kB\"\n\
             [[flow]]\ncc = \"{cc}\"\nrtt = \"10ms\"\n"
        );
        fairpace_scenario::parse("a.toml", &text, &[], Place::Simulator.target()).expect("it is right")
    }

    #[test]
    fn a_disturbed_run_leaves_the_others_and_the_exit_code() {
        let scenarios = ["reno", "cubic", "bbr1"].map(scenario);
        let run = |disturbed: &'static [&'static str]| {
            on_kernel(&scenarios, move |scenario, cc| match disturbed.contains(&cc) {
                true => Err(Failure::new(Exit::Disturbed, "too late", "wait")),
                false => host::simulate(scenario, &mut Silent),
            })
        };
        let some = run(&["cubic"]).expect("two have finished");
        assert_eq!(some.runs.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
        let failure = some.failure.expect("one has not");
        assert_eq!((failure.code(), failure.to_string()), (4, "no result of cubic: too late".to_owned()));
        assert!(failure.rendered(true).contains("what finished is printed"));
        assert!(run(&[]).expect("all have finished").failure.is_none());
        let none = run(&["reno", "cubic", "bbr1"]).map(drop).expect_err("nothing has finished");
        assert_eq!((none.code(), none.to_string()), (4, "too late".to_owned()));
    }
}
