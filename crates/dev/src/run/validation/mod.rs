//! Validation: runs scenarios in the simulator and on kernels, and checks whether the results agree with
//! those of the first kernel.
//!
//! A scenario file names its algorithms as the testbed does: `kernel:cubic` is the kernel's own CUBIC, and
//! the simulator runs our algorithm of the same name. A file may also draw many short flows from a seed, of
//! which the completion time is compared. `judge` defines when the results agree; `page` writes them as
//! Markdown.

mod cases;
mod draw;
mod judge;
mod kernels;
mod packets;
mod page;
mod record;

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::{self, COMMIT};
use fairpace_cli_core::output::Output;
use fairpace_results::{Run, Summary};
use fairpace_scenario::Scenario;
use serde::Deserialize;

use super::{Call, Experiment};
use crate::marked_page::publish;
use cases::Case;
use kernels::Listed;
use record::{Compared, OnKernel, Record, SCHEMA};

/// Least share of drawn flows that must agree, 0 to 1.
const LEAST_DRAWN_AGREE: f64 = 0.95;

/// The content of a file of the validation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    title: String,
    /// Path of the page with the tables, from the root of the checkout.
    page: PathBuf,
    validation: Validation,
}

/// The scenarios of the validation, and how often they run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Validation {
    /// Paths of scenario files, or of folders with scenario files, from the folder of this file. A file with
    /// a `[draw]` gives many scenarios.
    scenarios: Vec<PathBuf>,
    /// The kernels; by default the running one. The simulator is judged by the first one.
    #[serde(default)]
    kernels: Vec<Listed>,
    /// Number of runs of each scenario on a kernel that is not listed.
    #[serde(default = "three")]
    runs: NonZeroU32,
    /// Number of simulations of each scenario.
    #[serde(default = "five")]
    seeds: NonZeroU32,
    /// Number of simultaneous runs on the kernel. With more than one, packets leave some 20 us late, which
    /// does not affect short flows on slow links.
    #[serde(default = "one")]
    at_a_time: NonZeroUsize,
}

const fn one() -> NonZeroUsize {
    NonZeroUsize::MIN
}

const fn three() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(2)
}

const fn five() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(4)
}

impl Experiment for File {
    fn run(&self, call: Call<'_>, out: &mut Output) -> Result<(), Failure> {
        let page = call.page(&self.page, &call.command(), &self.title)?;
        let kernels = kernels::chosen(&self.validation.kernels, self.validation.runs, call)?;
        if call.args.check {
            // it is as old as its commit says: real flows are no function of their scenarios
            return Ok(());
        }
        let files: Vec<_> = self.validation.scenarios.iter().map(|of| call.folder().join(of)).collect();
        let mut cases = cases::load(&files)?;
        let only = &call.args.only;
        only.iter().try_for_each(|name| named(&cases, name).map(drop))?;
        cases.retain(|case| only.is_empty() || only.contains(&case.name));
        if let Some(name) = &call.args.packets {
            let case = named(&cases, name)?;
            let text = host::perform(name, call.signals, call.global.quiet, |progress| {
                packets::compare(case, progress)
            })?;
            return out.text(&text);
        }
        let record = self.validation.compare(&cases, &kernels, call, out)?;
        publish(page, &page::generated(&record), &record, call.global, out)?;
        judge_drawn(&record)
    }
}

impl Validation {
    /// Runs all cases on all hosts.
    fn compare(
        &self,
        cases: &[Case],
        kernels: &[Listed],
        call: Call<'_>,
        out: &mut Output,
    ) -> Result<Record, Failure> {
        let seeds = self.seeds.get();
        // what is missing for a later kernel is an error before the runs of the first
        let scenarios = |kernel: &Listed| -> Vec<Scenario> {
            cases.iter().map(|case| case.on_kernel(kernel.is_virtual()).clone()).collect()
        };
        kernels.iter().try_for_each(|kernel| kernel.check(&scenarios(kernel)))?;
        let simulated = cases::simulate(cases, seeds, call)?;
        let (mut ran, mut measured) = (Vec::new(), Vec::new());
        for kernel in kernels {
            let kernel = kernel.open(&scenarios(kernel), call)?;
            measured.push((kernel.runs.get() as usize, cases::measure(cases, self, &kernel, call)?));
            let (name, runs) = (kernel.label, kernel.runs.get());
            ran.push(OnKernel { name, kernel: kernel.host.description(), runs });
        }
        let bounds =
            if kernels.first().is_some_and(Listed::is_virtual) { &judge::VIRTUAL } else { &judge::REAL };
        let mut compared = Vec::new();
        for (index, (case, simulated)) in cases.iter().zip(simulated.chunks(seeds as usize)).enumerate() {
            let Case { name, kind, .. } = case;
            let kernel = case.on_kernel(kernels.first().is_some_and(Listed::is_virtual));
            let of_case = measured.iter().map(|(runs, all)| &all[index * runs..][..*runs]);
            let summaries = |runs: &[Option<Run>]| -> Vec<Summary> {
                runs.iter().flatten().map(|run| run.summary.clone()).collect()
            };
            let runs: Vec<Vec<Summary>> = of_case.clone().map(summaries).collect();
            let scenario = Compared {
                name: name.clone(),
                kind: kind.clone(),
                title: kernel.title.clone(),
                hash: kernel.hash.clone(),
                window_s: [kernel.window.0.as_secs_f64(), kernel.window.1.as_secs_f64()],
                runs: runs.iter().map(|runs| runs.len() as u32).collect(),
                disturbed: of_case.flatten().map(cases::disturbed).sum(),
                quantities: judge::compare(&runs, simulated, kind.is_some(), bounds),
            };
            if !call.global.json && !call.global.quiet {
                out.line(&page::line(&scenario))?;
            }
            compared.push(scenario);
        }
        Ok(Record { schema: SCHEMA, commit: COMMIT, kernels: ran, seeds, scenarios: compared })
    }
}

/// Returns an error if fewer of the drawn flows agree than [`LEAST_DRAWN_AGREE`]: then the simulator does not
/// model short flows.
fn judge_drawn(record: &Record) -> Result<(), Failure> {
    let (drawn, agree) = record.drawn();
    if agree as f64 >= LEAST_DRAWN_AGREE * drawn as f64 {
        return Ok(());
    }
    let message = format!("only {agree} of {drawn} drawn flows agree: at least 95 % must");
    Err(Failure::new(Exit::Internal, message, "--packets NAME shows the first packet of a flow that differs"))
}

fn named<'a>(cases: &'a [Case], name: &str) -> Result<&'a Case, Failure> {
    cases.iter().find(|case| case.name == *name).ok_or_else(|| {
        let message = format!("there is no scenario `{name}` among these {}", cases.len());
        Failure::new(Exit::Usage, message, "name one by its file, or a drawn flow like `short-007`")
    })
}

#[cfg(test)]
mod tests {
    use fairpace_experiment::Range;

    use super::*;

    fn judged_as(agrees: bool) -> judge::Quantity {
        let (kernels, sim) = (vec![None], Range::of(&[0.0]));
        let (of, what, unit) = ("a".to_owned(), "completion time", "ms");
        let (difference, beyond, allowed) = (None, None, Some(0.0));
        judge::Quantity { of, what, unit, kernels, sim, difference, beyond, allowed, agrees: Some(agrees) }
    }

    #[test]
    fn of_drawn_flows_nineteen_of_twenty_must_agree() {
        let scenario = |kind: Option<&str>, agrees| Compared {
            name: "a".into(),
            kind: kind.map(str::to_owned),
            title: String::new(),
            hash: String::new(),
            window_s: [0.0, 1.0],
            runs: vec![1],
            disturbed: 0,
            quantities: vec![judged_as(agrees)],
        };
        let judged = |outside: usize, kind| {
            let scenarios = (0..20).map(|index| scenario(kind, index >= outside)).collect();
            judge_drawn(&Record { schema: SCHEMA, commit: "c", kernels: Vec::new(), seeds: 1, scenarios })
        };
        assert!(judged(1, Some("short")).is_ok());
        assert!(judged(2, Some("short")).is_err());
        assert!(judged(20, None).is_ok(), "files have a page, which says so");
    }
}
