//! `fairpace-dev run`: runs experiments that are files.

mod csv_file;
mod duels;
mod duels_page;
mod evaluation;
pub(crate) mod figures;
mod tables;
mod validation;

use std::path::{Path, PathBuf};

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_experiment::evaluation::Keeping;
use fairpace_experiment::{Source, Store, paths_in};
use fairpace_papers::tables::Tables;
use fairpace_results::Run;
use fairpace_scenario::{Scenario, Target};

use crate::args::RunArgs;
use crate::marked_page::{MarkedPage, Page};
use evaluation::Evaluations;
use fairpace_experiment::sources::identity;
use figures::Figures;

/// Runs the experiments in the named files.
pub(crate) fn run(
    args: &RunArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    // what is wrong with a later file is an error before the runs of the first
    let files = files(&args.files, "experiment")?.into_iter().map(|path| Ok((read(&path)?, path)));
    let files = files.collect::<Result<Vec<_>, Failure>>()?;
    if let Some((_, path)) = files.iter().find(|(of, _)| args.short && args.write && !of.records_short()) {
        let message = format!("{}: of figures alone the short version is recorded", path.display());
        return Err(Failure::new(Exit::Usage, message, "leave --short or --write out"));
    }
    files.iter().try_for_each(|(of, path)| of.run(Call { path, args, global, signals }, out))
}

/// An experiment, as a file declares it.
trait Experiment {
    /// Performs the missing runs, and prints the numbers or writes them to their page; or checks the page.
    fn run(&self, call: Call<'_>, out: &mut Output) -> Result<(), Failure>;

    /// Whether the experiment supports --short together with --write.
    fn records_short(&self) -> bool {
        false
    }
}

/// The file of an experiment, and the options with which it is run.
#[derive(Clone, Copy)]
struct Call<'a> {
    path: &'a Path,
    args: &'a RunArgs,
    global: Global,
    signals: &'a Signals,
}

impl<'a> Call<'a> {
    /// The folder of the file.
    fn folder(self) -> &'a Path {
        self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// The command that the marks name, with the path of the file in the checkout.
    fn command(self) -> String {
        format!("run {}", self.path.strip_prefix(&self.args.dir).unwrap_or(self.path).display())
    }

    /// Opens the page to write or to check, so that an unusable page is an error before a long run.
    fn page(self, page: &Path, command: &str, title: &str) -> Result<Option<MarkedPage>, Failure> {
        let (to, page) = (self.args.dir.join(page), Page { command, title });
        match (self.args.write, self.args.check) {
            (true, _) => MarkedPage::open(&to, page).map(Some),
            (_, true) => MarkedPage::read(&to, page).map(Some),
            _ => Ok(None),
        }
    }

    /// With `--check`, checks that the page has the tables of runs with this hash. `false`: there is nothing
    /// to check.
    fn is_checked(self, page: Option<&MarkedPage>, hash: &str) -> Result<bool, Failure> {
        match page.filter(|_| self.args.check) {
            Some(page) if !page.says(hash) => {
                let (page, file) = (page.path().display(), self.path.display());
                let message = format!("{page} has tables of other runs than {file} has");
                Err(Failure::new(Exit::Internal, message, format!("fairpace-dev run {file} --write")))
            }
            page => Ok(page.is_some()),
        }
    }

    /// Prints the path of the page, after `--write`.
    fn report_written(self, page: &Path, out: &mut Output) -> Result<(), Failure> {
        match self.args.write && !self.global.quiet && !self.global.json {
            true => out.line(&format!("the tables are in {}", self.args.dir.join(page).display())),
            false => Ok(()),
        }
    }

    /// Simulates the runs that are not stored below `folder`, and stores of each what `part` returns.
    fn simulate<'s>(
        self,
        scenarios: impl Iterator<Item = &'s Scenario>,
        folder: &Path,
        part: impl Fn(Run) -> Run + Sync,
    ) -> Result<(), Failure> {
        let cache = |of: &Scenario| store(folder, of);
        let keeping = self.keeping(folder, &cache);
        let missing = keeping.missing(scenarios, Target::Simulator);
        keeping.simulate(&missing, part, self.signals, self.global.quiet)
    }

    /// Where finished runs are stored below `folder`; `cache` returns the store of a scenario.
    fn keeping<'k>(self, folder: &'k Path, cache: &'k (dyn Fn(&Scenario) -> Store + Sync)) -> Keeping<'k> {
        let RunArgs { fresh, jobs, .. } = *self.args;
        Keeping { cache, folder, another: "run a copy of the folder", contained: false, fresh, jobs }
    }
}

/// The store for a run of this scenario.
fn store(folder: &Path, scenario: &Scenario) -> Store {
    Store::new(folder, &identity(scenario), None)
}

/// Reads the experiment in a file.
fn read(path: &Path) -> Result<Box<dyn Experiment>, Failure> {
    if let Some(figures) = Figures::read(path)? {
        return Ok(Box::new(figures));
    }
    let source = Source::read(
        path,
        "experiment",
        "name a file or a folder of experiments, as docs/experiments.md explains them",
    )?;
    let keys: toml::Table = source.parse()?;
    let has = |key| keys.contains_key(key);
    Ok(match () {
        () if has("criteria") => Box::new(source.parse::<Evaluations>()?),
        () if has("duels") => Box::new(source.parse::<duels::File>()?),
        () if has("validation") => Box::new(source.parse::<validation::File>()?),
        () => Box::new(Tables::read(path)?),
    })
}

/// The tables with these names; all tables if there is no name.
fn chosen<'a, T>(all: &'a [T], name: impl Fn(&T) -> &str, names: &[String]) -> Result<Vec<&'a T>, Failure> {
    if let Some(unknown) = names.iter().find(|wanted| !all.iter().any(|table| name(table) == **wanted)) {
        let known: Vec<&str> = all.iter().map(name).collect();
        let message = format!("there is no table `{unknown}`");
        return Err(Failure::new(Exit::Usage, message, format!("there are {}", known.join(", "))));
    }
    let is_wanted = |table: &&T| names.is_empty() || names.iter().any(|wanted| name(table) == wanted);
    Ok(all.iter().filter(is_wanted).collect())
}

/// The named files, and the files in the named folders; `what` names the content of the files in errors.
fn files(named: &[PathBuf], what: &'static str) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in named {
        let mut inside = match path.is_dir() {
            true => paths_in(path, what, "name its files")?,
            false => Vec::new(),
        };
        let holds_papers =
            |path: &PathBuf| path.join("paper.toml").is_file() || path.join("figure.toml").is_file();
        if !path.is_dir() || holds_papers(path) || inside.iter().any(holds_papers) {
            files.push(path.clone());
            continue;
        }
        inside.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        if inside.is_empty() {
            let message = format!("there is no {what} in {}", path.display());
            return Err(Failure::new(
                Exit::Usage,
                message,
                format!("{what}s are files with the ending .toml"),
            ));
        }
        files.append(&mut inside);
    }
    Ok(files)
}
