//! Validation: the same scenarios in the simulator and on the kernel, and whether the results agree.
//!
//! A scenario file names its algorithms as the testbed does: `kernel:cubic` is the kernel's own CUBIC, and
//! the simulator runs our algorithm of the same name. A file may also draw many short flows from a seed, of
//! which the completion time is compared. `judge` defines when the results agree; `page` writes them as
//! Markdown.

mod cases;
mod draw;
mod judge;
mod packets;
mod page;
mod record;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use fairpace_cli_core::args::Global;
use fairpace_cli_core::batch;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::{self, COMMIT};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_kernel::Features;

use fairpace_experiment::Store;
use fairpace_scenario::Scenario;
use serde::Deserialize;

use super::identity::identity;
use crate::args::RunArgs;
use crate::marked_page::{MarkedPage, Page, publish};
use cases::{Case, Host, Measured};
use record::{Compared, Record, SCHEMA};

/// Share of drawn flows that must agree.
const LEAST_DRAWN_AGREE: f64 = 0.95;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    title: String,
    /// The page of the tables, from the top of the checkout.
    page: PathBuf,
    validation: Validation,
}

/// What is run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Validation {
    /// Scenario files, or folders of them, from the folder of this file. A file may have a `[draw]` of many.
    scenarios: Vec<PathBuf>,
    /// Runs of each on the kernel.
    #[serde(default = "three")]
    runs: u32,
    /// Simulations of each.
    #[serde(default = "five")]
    seeds: u32,
    /// Runs on the kernel at a time. With more than one, packets leave some 20 us late, which short flows on
    /// slow links bear.
    #[serde(default = "one")]
    at_a_time: NonZeroUsize,
}

fn one() -> NonZeroUsize {
    NonZeroUsize::MIN
}

fn three() -> u32 {
    3
}

fn five() -> u32 {
    5
}

impl File {
    /// Reads a file.
    pub(super) fn read(path: &Path, text: &str) -> Result<Self, Failure> {
        let wrong = |message: String| {
            let help = "crates/dev/src/run/validation/mod.rs explains every key";
            Failure::new(Exit::Usage, format!("{}: {message}", path.display()), help)
        };
        let file: Self = toml::from_str(text).map_err(|error| wrong(error.to_string().trim().to_owned()))?;
        match file.validation.runs.min(file.validation.seeds) {
            0 => Err(wrong("`runs` and `seeds` are at least 1".to_owned())),
            _ => Ok(file),
        }
    }

    /// Runs, compares and shows it.
    pub(super) fn run(
        &self,
        path: &Path,
        args: &RunArgs,
        global: Global,
        signals: &Signals,
        out: &mut Output,
    ) -> Result<(), Failure> {
        let command = format!("run {}", super::named(path, args));
        let page = Page { command: &command, title: &self.title };
        let to = args.dir.join(&self.page);
        if args.check {
            // it is as old as its commit says: real flows are no function of their scenarios
            return MarkedPage::read(&to, page).map(drop);
        }
        let marked = if args.write { Some(MarkedPage::open(&to, page)?) } else { None };
        let folder = path.parent().filter(|of| !of.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let files: Vec<PathBuf> = self.validation.scenarios.iter().map(|of| folder.join(of)).collect();
        let mut cases = cases::load(&files)?;
        if !args.only.is_empty() {
            args.only.iter().try_for_each(|name| named(&cases, name).map(drop))?;
            cases.retain(|case| args.only.contains(&case.name));
        }
        if let Some(name) = &args.packets {
            return show_packets(&cases, name, global, signals, out);
        }
        let record = compare(&self.validation, &cases, folder, args, global, signals, out)?;
        publish(marked, &page::generated(&record), &record, global, out)?;
        judge_drawn(&record)
    }
}

/// Runs all cases on both hosts.
fn compare(
    of: &Validation,
    cases: &[Case],
    folder: &Path,
    args: &RunArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<Record, Failure> {
    let kernel = Features::probe().release;
    // runs on another release are not used
    let store = |scenario: &Scenario| Store::new(folder, &identity(scenario), None).with(&kernel);
    fairpace_testbed::check_machine(&fairpace_testbed::Options::default())?;
    let simulated = simulate(cases, of.seeds, signals, global.quiet)?;
    let mut record = Record {
        schema: SCHEMA,
        commit: COMMIT,
        kernel: kernel.clone(),
        kernel_runs: of.runs,
        seeds: of.seeds,
        scenarios: Vec::new(),
    };
    let host = Host { store: &store, at_a_time: of.at_a_time, fresh: args.fresh };
    let measured = cases::measure(cases, of.runs, &host, signals, global.quiet)?;
    for ((case, Measured { runs, disturbed }), simulated) in cases.iter().zip(measured).zip(&simulated) {
        let compared = Compared {
            name: case.name.clone(),
            kind: case.kind.clone(),
            title: case.kernel.title.clone(),
            hash: case.kernel.hash.clone(),
            window_s: [case.kernel.window.0.as_secs_f64(), case.kernel.window.1.as_secs_f64()],
            runs: runs.len() as u32,
            disturbed,
            quantities: match case.kind {
                None => judge::compare(&runs, simulated),
                Some(_) => judge::compare_completion(&runs, simulated),
            },
        };
        if !global.json && !global.quiet {
            out.line(&page::line(&compared))?;
        }
        record.scenarios.push(compared);
    }
    Ok(record)
}

/// A simulator of which fewer of the drawn flows are as the kernel's is not right about short flows.
fn judge_drawn(record: &Record) -> Result<(), Failure> {
    let (drawn, agree) = record.drawn();
    if agree as f64 >= LEAST_DRAWN_AGREE * drawn as f64 {
        return Ok(());
    }
    let message = format!("only {agree} of {drawn} drawn flows agree: at least 95 % must");
    Err(Failure::new(Exit::Internal, message, "--packets NAME shows the first packet of a flow that differs"))
}

/// Shows the first packet of a case that differs.
fn show_packets(
    cases: &[Case],
    name: &str,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let case = named(cases, name)?;
    let text = host::perform(name, signals, global.quiet, |progress| packets::compare(case, progress))?;
    out.text(&text)
}

fn named<'a>(cases: &'a [Case], name: &str) -> Result<&'a Case, Failure> {
    cases.iter().find(|case| case.name == *name).ok_or_else(|| {
        let message = format!("there is no scenario `{name}` among these {}", cases.len());
        Failure::new(Exit::Usage, message, "name one by its file, or a drawn flow like `short-007`")
    })
}

/// All seeds of all scenarios, before the kernel's runs: these need a quiet machine.
fn simulate(
    cases: &[Case],
    seeds: u32,
    signals: &Signals,
    quiet: bool,
) -> Result<Vec<Vec<fairpace_results::Summary>>, Failure> {
    let scenarios: Vec<_> = cases.iter().flat_map(|case| case.simulations(seeds)).collect();
    let summaries = batch::simulate_all(&scenarios, None, signals, quiet, |_, run| run.summary)?;
    Ok(summaries.chunks(seeds as usize).map(<[_]>::to_vec).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_drawn_flows_nineteen_of_twenty_must_agree() {
        let scenario = |kind: Option<&str>, agrees| Compared {
            name: "a".into(),
            kind: kind.map(str::to_owned),
            title: String::new(),
            hash: String::new(),
            window_s: [0.0, 1.0],
            runs: 1,
            disturbed: 0,
            quantities: vec![judge::Quantity::judged(agrees)],
        };
        let judged = |outside: usize, kind| {
            let scenarios = (0..20).map(|index| scenario(kind, index >= outside)).collect();
            judge_drawn(&Record {
                schema: SCHEMA,
                commit: "c",
                kernel: String::new(),
                kernel_runs: 1,
                seeds: 1,
                scenarios,
            })
        };
        assert!(judged(1, Some("short")).is_ok());
        assert!(judged(2, Some("short")).is_err());
        assert!(judged(20, None).is_ok(), "files have a page, which says so");
    }
}
