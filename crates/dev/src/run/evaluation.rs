//! Tables and pages of evaluations: how many cases of criteria algorithms pass, with their default parameters
//! or with others.

use std::path::{Path, PathBuf};

use fairpace_cc::Algorithm;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::new_file;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::place::Place;
use fairpace_experiment::evaluation::{Evaluation, EvaluationArgs, Keeping, Subject, chosen};
use fairpace_experiment::{CriterionRecord, Record, load};
use fairpace_scenario::{Set, hash_of_all};
use serde::Deserialize;

use super::{Call, Experiment, store};
use crate::args::RunArgs;

/// The content of a file of evaluations.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Evaluations {
    title: String,
    /// Path of the page with the tables, from the root of the checkout.
    page: PathBuf,
    /// Path of the folder of the criteria, from the root of the checkout.
    criteria: PathBuf,
    #[serde(rename = "table")]
    tables: Vec<Table>,
}

/// A table: the evaluation to measure, and how it is shown.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Name of the table, which the marks on the page contain.
    name: String,
    show: Show,
    /// Names of the algorithms; `all`: every algorithm that controls congestion.
    #[serde(default)]
    cc: Vec<String>,
    /// Algorithms with other parameters, after those of `cc`.
    #[serde(default, rename = "with")]
    changed: Vec<Changed>,
    /// Algorithms of `cc` that are there for comparison: a page does not list their failed cases.
    #[serde(default)]
    beside: Vec<String>,
    /// Criteria to which the evaluation is restricted; empty: all.
    #[serde(default)]
    criterion: Vec<String>,
    /// Whether only the cases for a quick look are run.
    #[serde(default)]
    quick: bool,
    /// Number of seeds of each case; the default is that of its criterion.
    seeds: Option<u32>,
    /// Number of random paths, drawn from `draw`, in place of cases.
    paths: Option<u32>,
    draw: Option<String>,
}

/// An algorithm with other parameters.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Changed {
    cc: String,
    /// Settings of the algorithm's parameters, without its name: "exchange=false".
    set: Vec<String>,
}

/// Form in which a record is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Show {
    /// All criteria by section, without pictures.
    Leaderboard,
    /// All numbers, and a picture of each criterion.
    Page,
    /// The number of cases that pass, at each criterion.
    Counts,
    /// The number of cases in which each condition holds, and each metric.
    Numbers,
    /// The cases that the first algorithm passes and another fails, and the cases that it fails and another
    /// passes.
    Only,
}

/// Algorithms without congestion control: their cwnd or rate never changes, or is set by an environment.
const WITHOUT_CONTROL: [&str; 3] = ["fixed_cwnd", "fixed_rate", "agent"];

impl Experiment for Evaluations {
    fn run(&self, call: Call<'_>, out: &mut Output) -> Result<(), Failure> {
        let Call { args, global, .. } = call;
        let folder = args.dir.join(&self.criteria);
        let criteria = load(&folder)?;
        for table in super::chosen(&self.tables, |table| &table.name, &args.table)? {
            let command = format!("{} --table {}", call.command(), table.name);
            let page = call.page(&self.page, &command, &self.title)?;
            let (arguments, subjects) = (table.arguments(args), table.subjects()?);
            let labels = subjects.iter().map(|of| of.label.clone());
            let evaluation = Evaluation {
                args: &arguments,
                criteria: &chosen(&criteria, &arguments, &folder.display().to_string())?,
                subjects: &subjects,
                asked: &labels.filter(|label| !table.beside.contains(label)).collect::<Vec<_>>(),
                on: Place::Simulator,
                series: None,
                folder: folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned(),
                command: format!("fairpace-dev {command}"),
                keeping: Keeping {
                    cache: &|scenario| store(store_folder(&folder), scenario),
                    folder: &folder,
                    another: "run it in a copy of the checkout",
                    contained: false,
                    fresh: args.fresh,
                    jobs: args.jobs,
                },
                global,
            };
            let works = evaluation.plan()?;
            let hash = hash_of_all(works.cases().map(|case| &case.scenario));
            if call.is_checked(page.as_ref(), &hash)? {
                continue;
            }
            let record = evaluation.measure(works, call.signals)?;
            match page {
                _ if global.json => out.json(&record)?,
                None => out.text(&format!("{}\n", text(&record, table.show, &self.page)))?,
                Some(page) => {
                    page.write(&text(&record, table.show, page.path()))?;
                    if table.show == Show::Page {
                        pictures(&record, page.path())?;
                    }
                }
            }
        }
        call.report_written(&self.page, out)
    }
}

impl Table {
    fn arguments(&self, args: &RunArgs) -> EvaluationArgs {
        let Self { criterion, quick, seeds, paths, draw, .. } = self.clone();
        EvaluationArgs {
            criterion,
            quick: quick || args.short,
            paths,
            draw,
            matching: String::new(),
            seeds: if args.short { Some(1) } else { seeds },
            seed: 1,
            sets: Vec::new(),
            failing: false,
            fresh: args.fresh,
            jobs: args.jobs,
        }
    }

    fn subjects(&self) -> Result<Vec<Subject>, Failure> {
        let all = || Algorithm::all().map(Algorithm::name).filter(|cc| !WITHOUT_CONTROL.contains(cc));
        let mut subjects = Vec::new();
        for name in self.cc.iter().chain(&self.beside) {
            match name.as_str() {
                "all" => subjects.extend(all().map(Subject::of)),
                cc => subjects.push(Subject::of(cc)),
            }
        }
        for Changed { cc, set } in &self.changed {
            let sets = set.iter().map(|set| format!("{cc}.{set}").parse::<Set>());
            let sets = sets.collect::<Result<_, _>>().map_err(|error| {
                let message = format!("table {}: {error}", self.name);
                Failure::new(Exit::Usage, message, "write PARAMETER=VALUE")
            })?;
            subjects.push(Subject { label: format!("{cc} {}", set.join(" ")), cc: cc.clone(), sets });
        }
        Ok(subjects)
    }
}

/// The folder of the store: for a section, that of all sections.
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

/// File name of a criterion's picture, which lies beside the page.
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
