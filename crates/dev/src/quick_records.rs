//! `fairpace-dev quick-records`: the results of quick cases that `fairpace` contains.

use std::fs;
use std::path::Path;

use fairpace_cli_core::args::{Global, parse};
use fairpace_cli_core::batch::Batch;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::place::Place;
use fairpace_cli_core::progress::Progress;
use fairpace_cli_core::signals::Signals;
use fairpace_experiment::contained::{FOLDER, criteria};
use fairpace_experiment::evaluation::{Evaluation, EvaluationArgs, Keeping, Subject, Works, chosen};
use fairpace_experiment::quick::{self, Key, Results};
use fairpace_experiment::{Case, Store};
use fairpace_scenario::Scenario;
use serde::Serialize;

use crate::args::QuickRecordsArgs;

/// Path of the packed results in the repository.
const PATH: &str = "crates/experiment/assets/quick.bin";

/// The record that `--json` prints.
#[derive(Debug, Serialize)]
struct Record {
    /// Number of results.
    results: usize,
    /// Number of runs that were simulated.
    simulated: usize,
    /// Length of the file that was written.
    bytes: Option<usize>,
}

pub(crate) fn run(
    args: &QuickRecordsArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let works = works(global)?;
    let all: Vec<(&Case, &Scenario)> = works.case_of_each().into_iter().zip(works.scenarios()).collect();
    if args.check {
        let checked = check(&all, args, global, signals)?;
        let record = Record { results: all.len(), simulated: checked, bytes: None };
        return out.record(&record, global, |of| {
            format!(
                "{} results are contained, {} of them were simulated again
",
                of.results, of.simulated
            )
        });
    }
    let kept = |(case, of): &(&Case, &Scenario)| {
        let key = quick::key(case, of.seed);
        let values = quick::contained().get(&key).filter(|_| args.missing)?;
        Some((key, values.clone()))
    };
    let mut results: Results = all.iter().filter_map(kept).collect();
    let open: Vec<_> =
        all.into_iter().filter(|(case, of)| !results.contains_key(&quick::key(case, of.seed))).collect();
    results.extend(measured(&open, args, global, signals)?);
    let packed = quick::pack(&results).map_err(|error| {
        Failure::new(Exit::Internal, format!("the results cannot be packed: {error}"), "please report this")
    })?;
    fs::write(args.dir.join(PATH), &packed).map_err(|error| {
        Failure::file("cannot write", Path::new(PATH), &error, "run this in a checkout of the repository")
    })?;
    let record = Record { results: results.len(), simulated: open.len(), bytes: Some(packed.len()) };
    out.record(&record, global, |of| {
        format!(
            "{PATH} is written: {} results, {} bytes
",
            of.results,
            packed.len()
        )
    })
}

/// The quick cases of the contained algorithms at the contained criteria.
fn works(global: Global) -> Result<Works, Failure> {
    let args: EvaluationArgs = parse(&["--quick".to_owned()])?;
    let (criteria, _unpacked) = criteria(None)?;
    let asked = quick::ALGORITHMS.map(str::to_owned);
    let none = |_: &Scenario| Store::new(Path::new(""), "", None);
    let evaluation = Evaluation {
        args: &args,
        criteria: &chosen(&criteria, &args, FOLDER)?,
        subjects: &quick::ALGORITHMS.map(Subject::of),
        asked: &asked,
        on: Place::Simulator,
        series: None,
        folder: FOLDER.to_owned(),
        command: String::new(),
        keeping: Keeping {
            cache: &none,
            folder: Path::new(""),
            another: "",
            contained: false,
            fresh: true,
            jobs: args.jobs,
        },
        global,
    };
    evaluation.plan()
}

/// Simulates cases; their results with their keys.
fn measured(
    cases: &[(&Case, &Scenario)],
    args: &QuickRecordsArgs,
    global: Global,
    signals: &Signals,
) -> Result<Vec<(Key, Vec<f64>)>, Failure> {
    let scenarios: Vec<&Scenario> = cases.iter().map(|(_, scenario)| *scenario).collect();
    let progress = Progress::of_scenarios(&scenarios, global.quiet);
    let batch = Batch { jobs: args.jobs.at_a_time, signals, progress: &progress };
    batch.simulate(&scenarios, |index, run| {
        let (case, scenario) = cases[index];
        Ok((quick::key(case, scenario.seed), quick::values(case, &run.summary)))
    })
}

/// Checks that each case has a result, and simulates some of them again; returns how many.
fn check(
    all: &[(&Case, &Scenario)],
    args: &QuickRecordsArgs,
    global: Global,
    signals: &Signals,
) -> Result<usize, Failure> {
    let stale = |why: String| {
        let help =
            "run `cargo run --release -p fairpace-dev -- quick-records` (two minutes) and commit the result";
        Failure::new(Exit::Internal, format!("the contained results are out of date: {why}"), help)
    };
    let contained = quick::contained();
    if let Some((case, _)) = all.iter().find(|(case, of)| !contained.contains_key(&quick::key(case, of.seed)))
    {
        return Err(stale(format!("there is none of {}", case.scenario.title)));
    }
    let some: Vec<_> = all.iter().copied().step_by(args.every as usize).collect();
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    for ((key, values), (case, _)) in measured(&some, args, global, signals)?.iter().zip(&some) {
        if contained.get(key).is_none_or(|known| bits(known) != bits(values)) {
            return Err(stale(format!("the simulator has another one of {}", case.scenario.title)));
        }
    }
    Ok(some.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contained_results_are_those_of_the_simulator() {
        let args = QuickRecordsArgs {
            check: true,
            every: 97,
            missing: false,
            dir: ".".into(),
            jobs: Default::default(),
        };
        let global = Global { quiet: true, ..Global::default() };
        run(&args, global, &Signals::default(), &mut Output::to(std::io::sink()))
            .unwrap_or_else(|failure| panic!("{failure}"));
    }
}
