//! `fairpace-dev run`: experiments that are files.

mod csv_file;
mod duels;
mod duels_page;
mod evaluation;
pub(crate) mod figures;
pub(crate) mod identity;
mod tables;
mod validation;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fairpace_cli_core::args::Global;
use fairpace_cli_core::batch::Batch;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::progress::Progress;
use fairpace_cli_core::signals::Signals;
use fairpace_experiment::Store;
use fairpace_papers::tables::Tables;
use fairpace_results::Run;
use fairpace_scenario::{Scenario, Target};

use crate::args::RunArgs;
use evaluation::Evaluations;
use figures::Figures;
use identity::identity;

pub(crate) fn run(
    args: &RunArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    // what is wrong with a later file is an error before the runs of the first
    let files = files(&args.files)?.into_iter().map(|path| Ok((Experiment::read(&path)?, path)));
    let files = files.collect::<Result<Vec<_>, Failure>>()?;
    let is_figure = |of: &Experiment| matches!(of, Experiment::Figures(_));
    if let Some((_, path)) = files.iter().find(|(of, _)| args.short && args.write && !is_figure(of)) {
        let message = format!("{}: of figures alone the short version is recorded", path.display());
        return Err(Failure::new(Exit::Usage, message, "leave --short or --write out"));
    }
    files.iter().try_for_each(|(of, path)| match of {
        Experiment::Tables(of) => tables::run(path, of, args, global, signals, out),
        Experiment::Evaluations(of) => of.run(path, args, global, signals, out),
        Experiment::Duels(of) => of.run(path, args, global, signals, out),
        Experiment::Validation(of) => of.run(path, args, global, signals, out),
        Experiment::Figures(of) => of.run(args, global, signals, out),
    })
}

/// Simulates what is not kept below `folder`, and keeps there what `part` leaves of it.
fn simulate<'a>(
    scenarios: impl Iterator<Item = &'a Scenario>,
    folder: &Path,
    part: impl Fn(Run) -> Run + Sync,
    args: &RunArgs,
    global: Global,
    signals: &Signals,
) -> Result<(), Failure> {
    let store = |scenario: &Scenario| store(folder, scenario);
    let on = Target::Simulator;
    let mut seen = HashSet::new();
    let is_missing = |scenario: &&Scenario| args.fresh || !store(scenario).has(scenario, on);
    let missing: Vec<&Scenario> =
        scenarios.filter(|of| seen.insert((&of.hash, of.seed))).filter(is_missing).collect();
    let progress = Progress::of_scenarios(&missing, global.quiet);
    let batch = Batch { jobs: args.jobs.at_a_time, signals, progress: &progress };
    let done = batch.simulate(&missing, |index, run| {
        store(missing[index]).put(missing[index], on, &part(run)).map_err(|error| unkept(folder, &error))
    });
    done.map(drop).map_err(|failure| match failure.is_interruption() {
        true => failure.with_help("finished runs are kept: the same command goes on from there"),
        false => failure,
    })
}

/// The finished runs of a scenario of an experiment.
fn store(folder: &Path, scenario: &Scenario) -> Store {
    Store::new(folder, &identity(scenario), None)
}

fn unkept(folder: &Path, error: &io::Error) -> Failure {
    Failure::file("finished runs cannot be kept below", folder, error, "run a copy of the folder")
}

/// What a file is.
enum Experiment {
    /// Tables of what runs measure.
    Tables(Tables),
    /// Algorithms at criteria.
    Evaluations(Evaluations),
    /// Every algorithm against every other one.
    Duels(duels::File),
    /// The simulator beside the running kernel.
    Validation(validation::File),
    /// Figures of papers.
    Figures(Figures),
}

impl Experiment {
    fn read(path: &Path) -> Result<Self, Failure> {
        if let Some(figures) = Figures::read(path)? {
            return Ok(Self::Figures(figures));
        }
        let text = fs::read_to_string(path).unwrap_or_default(); // `Tables` says what is wrong
        let keys = toml::from_str::<toml::Table>(&text).unwrap_or_default();
        if keys.contains_key("criteria") {
            return Ok(Self::Evaluations(Evaluations::read(path, &text)?));
        }
        if keys.contains_key("duels") {
            return Ok(Self::Duels(duels::File::read(path, &text)?));
        }
        if keys.contains_key("validation") {
            return Ok(Self::Validation(validation::File::read(path, &text)?));
        }
        Ok(Self::Tables(Tables::read(path)?))
    }
}

/// The tables of these names; without names all.
fn chosen<'a, T>(all: &'a [T], name: impl Fn(&T) -> &str, names: &[String]) -> Result<Vec<&'a T>, Failure> {
    if let Some(unknown) = names.iter().find(|wanted| !all.iter().any(|table| name(table) == **wanted)) {
        let known: Vec<&str> = all.iter().map(name).collect();
        let message = format!("there is no table `{unknown}`");
        return Err(Failure::new(Exit::Usage, message, format!("there are {}", known.join(", "))));
    }
    let is_wanted = |table: &&T| names.is_empty() || names.iter().any(|wanted| name(table) == wanted);
    Ok(all.iter().filter(is_wanted).collect())
}

/// The file as it is called in the checkout, which the marks name.
fn named(path: &Path, args: &RunArgs) -> String {
    path.strip_prefix(&args.dir).unwrap_or(path).display().to_string()
}

/// A page has tables of other runs than its file.
fn stale(page: &Path, file: &Path) -> Failure {
    let message = format!("{} has tables of other runs than {} has", page.display(), file.display());
    Failure::new(Exit::Internal, message, format!("fairpace-dev run {} --write", file.display()))
}

/// The files that are named, and those in the folders that are named.
fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in named {
        let holds_papers =
            |path: &Path| path.join("paper.toml").is_file() || path.join("figure.toml").is_file();
        let mut below = path.read_dir().into_iter().flatten().flatten();
        if !path.is_dir() || holds_papers(path) || below.any(|entry| holds_papers(&entry.path())) {
            files.push(path.clone());
            continue;
        }
        let failed = |error| Failure::file("cannot read", path, &error, "name a file of an experiment");
        let first = files.len();
        for entry in path.read_dir().map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                files.push(path);
            }
        }
        if files.len() == first {
            let message = format!("there is no experiment in {}", path.display());
            return Err(Failure::new(Exit::Usage, message, "experiments are files with the ending .toml"));
        }
        files[first..].sort();
    }
    Ok(files)
}
