//! Tables and pages of how many cases of criteria algorithms pass, with the parameters that they have or with
//! others.

use std::path::{Path, PathBuf};

use fairpace_cc::Algorithm;
use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::new_file;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_experiment::evaluation::{Evaluation, EvaluationArgs, Keeping, Subject, chosen};
use fairpace_experiment::{Criterion, CriterionRecord, Record, Store, load};
use fairpace_scenario::{Scenario, Set, Target, hash_of_all};
use serde::Deserialize;

use super::identity::identity;
use crate::args::RunArgs;
use crate::marked_page::{MarkedPage, Page};

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Evaluations {
    title: String,
    /// The page of the tables, from the top of the checkout.
    page: PathBuf,
    /// The folder of the criteria, from there.
    criteria: PathBuf,
    #[serde(rename = "table")]
    tables: Vec<Table>,
}

/// What is measured, and how it is shown.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Its name, which the marks on the page have.
    name: String,
    show: Show,
    /// The algorithms; `all`: each one that controls congestion.
    #[serde(default)]
    cc: Vec<String>,
    /// Algorithms with other parameters, after those of `cc`.
    #[serde(default, rename = "with")]
    changed: Vec<Changed>,
    /// Those of `cc` to compare with: a page does not list their failed cases.
    #[serde(default)]
    beside: Vec<String>,
    /// Only these criteria.
    #[serde(default)]
    criterion: Vec<String>,
    /// Only the cases for a quick look.
    #[serde(default)]
    quick: bool,
    /// Seeds of each case; by default as its criterion says.
    seeds: Option<u32>,
    /// Instead of cases this many random paths, which follow from `draw`.
    paths: Option<u32>,
    draw: Option<String>,
}

/// An algorithm with other parameters.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Changed {
    cc: String,
    /// "exchange=false": parameters of the algorithm, without its name.
    set: Vec<String>,
}

/// How a record is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Show {
    /// All criteria by section, without pictures.
    Leaderboard,
    /// All numbers and a picture of each criterion.
    Page,
    /// The cases that pass, at each criterion.
    Counts,
    /// The cases in which each condition holds, and each metric.
    Numbers,
    /// The cases that the first algorithm passes and another one does not, and the other way round.
    Only,
}

/// A window or a rate that never changes, or that waits for an environment, is no congestion control.
const WITHOUT_CONTROL: [&str; 3] = ["fixed_cwnd", "fixed_rate", "agent"];

impl Evaluations {
    /// Reads a file.
    pub(super) fn read(path: &Path, text: &str) -> Result<Self, Failure> {
        toml::from_str(text).map_err(|error| {
            let message = format!("{}: {}", path.display(), error.to_string().trim());
            Failure::new(Exit::Usage, message, "crates/dev/src/run/evaluation.rs explains every key")
        })
    }

    /// Measures and shows its tables.
    pub(super) fn run(
        &self,
        path: &Path,
        args: &RunArgs,
        global: Global,
        signals: &Signals,
        out: &mut Output,
    ) -> Result<(), Failure> {
        let tables: Vec<_> = super::chosen(&self.tables, |table| &table.name, &args.table)?;
        let folder = args.dir.join(&self.criteria);
        let criteria = load(&folder)?;
        let to = args.dir.join(&self.page);
        for table in tables {
            let command = format!("run {} --table {}", super::named(path, args), table.name);
            let page = Page { command: &command, title: &self.title };
            let marked = match (args.write, args.check) {
                (true, _) => Some(MarkedPage::open(&to, page)?),
                (_, true) => Some(MarkedPage::read(&to, page)?),
                _ => None,
            };
            let measured = Measured { table, folder: &folder, criteria: &criteria, command: &command, args };
            let (evaluated, stale) = measured.record(marked.as_ref(), global, signals)?;
            match (evaluated, marked) {
                _ if stale => return Err(super::stale(&to, path)),
                (Some(record), _) if global.json => out.json(&record)?,
                (Some(record), None) => out.text(&format!("{}\n", text(&record, table.show, &to)))?,
                (Some(record), Some(marked)) => {
                    marked.write(&text(&record, table.show, &to))?;
                    if table.show == Show::Page {
                        pictures(&record, &to)?;
                    }
                }
                (None, _) => {}
            }
        }
        match args.write && !global.quiet && !global.json {
            true => out.line(&format!("the tables are in {}", to.display())),
            false => Ok(()),
        }
    }
}

/// A table, and what it is measured with.
struct Measured<'a> {
    table: &'a Table,
    folder: &'a Path,
    criteria: &'a [Criterion],
    command: &'a str,
    args: &'a RunArgs,
}

impl Measured<'_> {
    /// The record; none with `--check`, which only tells whether the page has another one's.
    fn record(
        &self,
        page: Option<&MarkedPage>,
        global: Global,
        signals: &Signals,
    ) -> Result<(Option<Record>, bool), Failure> {
        let Self { table, folder, criteria, args, .. } = self;
        let arguments = self.arguments();
        let subjects = self.subjects()?;
        let is_asked = |of: &&Subject| !table.beside.contains(&of.label);
        let asked: Vec<String> = subjects.iter().filter(is_asked).map(|of| of.label.clone()).collect();
        let place = store_folder(folder);
        let store = |scenario: &Scenario| Store::new(place, &identity(scenario), None);
        let evaluation = Evaluation {
            args: &arguments,
            criteria: &chosen(criteria, &arguments, &folder.display().to_string())?,
            subjects: &subjects,
            asked: &asked,
            on: Target::Simulator,
            folder: folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned(),
            command: format!("fairpace-dev {}", self.command),
            keeping: Keeping {
                cache: &store,
                folder,
                another: "run it in a copy of the checkout",
                fresh: args.fresh,
                jobs: args.jobs,
            },
            global,
        };
        let works = evaluation.plan()?;
        if let Some(page) = page.filter(|_| args.check) {
            let hash = hash_of_all(works.cases().map(|case| &case.scenario));
            return Ok((None, !page.says(&hash)));
        }
        Ok((Some(evaluation.measure(works, signals)?), false))
    }

    fn arguments(&self) -> EvaluationArgs {
        let Table { criterion, quick, seeds, paths, draw, .. } = self.table.clone();
        EvaluationArgs {
            criterion,
            quick: quick || self.args.short,
            paths,
            draw,
            matching: String::new(),
            seeds: if self.args.short { Some(1) } else { seeds },
            seed: 1,
            sets: Vec::new(),
            failing: false,
            fresh: self.args.fresh,
            jobs: self.args.jobs,
        }
    }

    fn subjects(&self) -> Result<Vec<Subject>, Failure> {
        let mut subjects = Vec::new();
        for name in self.table.cc.iter().chain(&self.table.beside) {
            let all = Algorithm::all().map(|algorithm| algorithm.name());
            match name.as_str() {
                "all" => subjects.extend(all.filter(|cc| !WITHOUT_CONTROL.contains(cc)).map(Subject::of)),
                cc => subjects.push(Subject::of(cc)),
            }
        }
        for Changed { cc, set } in &self.table.changed {
            let sets = set.iter().map(|set| format!("{cc}.{set}").parse::<Set>());
            let sets = sets.collect::<Result<_, _>>().map_err(|error| {
                Failure::new(
                    Exit::Usage,
                    format!("table {}: {error}", self.table.name),
                    "write PARAMETER=VALUE",
                )
            })?;
            subjects.push(Subject { label: format!("{cc} {}", set.join(" ")), cc: cc.clone(), sets });
        }
        Ok(subjects)
    }
}

/// The folder in which runs are kept: that of all sections, for one of them.
fn store_folder(folder: &Path) -> &Path {
    let is_section = folder.join("section.toml").is_file();
    folder.parent().filter(|_| is_section).unwrap_or(folder)
}

fn text(record: &Record, show: Show, page: &Path) -> String {
    match show {
        Show::Leaderboard => record.leaderboard(),
        Show::Page => record.page(|criterion| picture(criterion, page)),
        Show::Counts => record.counts(),
        Show::Numbers => record.numbers(),
        Show::Only => record.only(),
    }
}

/// The name of a criterion's picture, beside the page.
fn picture(criterion: &CriterionRecord, page: &Path) -> String {
    let stem = page.file_stem().unwrap_or_default().to_string_lossy();
    format!("{stem}-{}.svg", criterion.name)
}

fn pictures(record: &Record, page: &Path) -> Result<(), Failure> {
    record.pictures().into_iter().try_for_each(|(criterion, svg)| {
        let path = page.with_file_name(picture(criterion, page));
        new_file::write(&path, &svg)
            .map_err(|error| Failure::file("cannot write", &path, &error, "name another page in the file"))
    })
}
