//! `fairpace-dev run`: experiments that are files.

mod duels;
mod duels_page;
mod evaluation;
pub(crate) mod identity;
mod tables;
mod validation;

use std::fs;
use std::path::{Path, PathBuf};

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_papers::tables::Tables;

use crate::args::RunArgs;
use evaluation::Evaluations;

pub(crate) fn run(
    args: &RunArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    // what is wrong with a later file is an error before the runs of the first
    let files = files(&args.files)?.into_iter().map(|path| Ok((Experiment::read(&path)?, path)));
    let files = files.collect::<Result<Vec<_>, Failure>>()?;
    files.iter().try_for_each(|(of, path)| match of {
        Experiment::Tables(of) => tables::run(path, of, args, global, signals, out),
        Experiment::Evaluations(of) => of.run(path, args, global, signals, out),
        Experiment::Duels(of) => of.run(path, args, global, signals, out),
        Experiment::Validation(of) => of.run(path, args, global, signals, out),
    })
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
}

impl Experiment {
    fn read(path: &Path) -> Result<Self, Failure> {
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
        if !path.is_dir() {
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
