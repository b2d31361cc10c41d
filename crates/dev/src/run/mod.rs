//! `fairpace-dev run`: experiments that are files.

mod csv_file;
mod duels;
mod duels_page;
mod evaluation;
pub(crate) mod figures;
pub(crate) mod identity;
mod tables;
mod validation;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_experiment::Store;
use fairpace_experiment::evaluation::Keeping;
use fairpace_papers::tables::Tables;
use fairpace_results::Run;
use fairpace_scenario::{Scenario, Target};
use serde::de::DeserializeOwned;

use crate::args::RunArgs;
use crate::marked_page::{MarkedPage, Page};
use evaluation::Evaluations;
use figures::Figures;
use identity::identity;

/// Runs the files that are named.
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

/// What a file says.
trait Experiment {
    /// Runs what is missing, and prints its numbers or puts them on their page; or checks the page.
    fn run(&self, call: Call<'_>, out: &mut Output) -> Result<(), Failure>;

    /// Whether --short with --write has a meaning.
    fn records_short(&self) -> bool {
        false
    }
}

/// How a file is run.
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

    /// The command, which the marks name, with the file as it is called in the checkout.
    fn command(self) -> String {
        format!("run {}", self.path.strip_prefix(&self.args.dir).unwrap_or(self.path).display())
    }

    /// The page to write to or to check: an unusable one is an error before a long run.
    fn page(self, page: &Path, command: &str, title: &str) -> Result<Option<MarkedPage>, Failure> {
        let (to, page) = (self.args.dir.join(page), Page { command, title });
        match (self.args.write, self.args.check) {
            (true, _) => MarkedPage::open(&to, page).map(Some),
            (_, true) => MarkedPage::read(&to, page).map(Some),
            _ => Ok(None),
        }
    }

    /// With `--check`: whether the page has the tables of runs with this hash. `false`: nothing is to be
    /// checked.
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

    /// Says where the tables are, after `--write`.
    fn report_written(self, page: &Path, out: &mut Output) -> Result<(), Failure> {
        match self.args.write && !self.global.quiet && !self.global.json {
            true => out.line(&format!("the tables are in {}", self.args.dir.join(page).display())),
            false => Ok(()),
        }
    }

    /// Simulates what is not kept below `folder`, and keeps there what `part` leaves of it.
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

    /// How finished runs are kept below `folder`, which has these stores.
    fn keeping<'k>(self, folder: &'k Path, cache: &'k (dyn Fn(&Scenario) -> Store + Sync)) -> Keeping<'k> {
        let RunArgs { fresh, jobs, .. } = *self.args;
        Keeping { cache, folder, another: "run a copy of the folder", fresh, jobs }
    }
}

/// Where a run is kept.
fn store(folder: &Path, scenario: &Scenario) -> Store {
    Store::new(folder, &identity(scenario), None)
}

/// What a file is.
fn read(path: &Path) -> Result<Box<dyn Experiment>, Failure> {
    if let Some(figures) = Figures::read(path)? {
        return Ok(Box::new(figures));
    }
    let text = fs::read_to_string(path).unwrap_or_default(); // `Tables` says what is wrong
    let keys = toml::from_str::<toml::Table>(&text).unwrap_or_default();
    let has = |key| keys.contains_key(key);
    Ok(match () {
        () if has("criteria") => Box::new(parse::<Evaluations>(path, &text, "evaluation.rs")?),
        () if has("duels") => Box::new(parse::<duels::File>(path, &text, "duels.rs")?),
        () if has("validation") => Box::new(parse::<validation::File>(path, &text, "validation/mod.rs")?),
        () => Box::new(Tables::read(path)?),
    })
}

/// A file whose keys a module here explains.
fn parse<T: DeserializeOwned>(path: &Path, text: &str, module: &str) -> Result<T, Failure> {
    toml::from_str(text).map_err(|error| {
        let message = format!("{}: {}", path.display(), error.to_string().trim());
        Failure::new(Exit::Usage, message, format!("crates/dev/src/run/{module} explains every key"))
    })
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

/// The files that are named, and those in the folders that are named; `what` is in them.
fn files(named: &[PathBuf], what: &str) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in named {
        let holds_papers =
            |path: &Path| path.join("paper.toml").is_file() || path.join("figure.toml").is_file();
        let mut below = path.read_dir().into_iter().flatten().flatten();
        if !path.is_dir() || holds_papers(path) || below.any(|entry| holds_papers(&entry.path())) {
            files.push(path.clone());
            continue;
        }
        let inside =
            path.read_dir().and_then(|all| all.map(|of| Ok(of?.path())).collect::<io::Result<Vec<_>>>());
        let mut inside =
            inside.map_err(|error| Failure::file("cannot read", path, &error, "name its files"))?;
        inside.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        inside.sort();
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
