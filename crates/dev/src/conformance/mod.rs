//! `fairpace-dev conformance`: runs the same scenarios in the simulator and on the kernel and compares the
//! results.
//!
//! A scenario file names its algorithms as the testbed does: `kernel:cubic` is the kernel's own CUBIC, and
//! the simulator runs our algorithm of the same name. A file may also draw many short flows from a seed, of
//! which the completion time is compared. `judge` defines when the results agree; `page` writes them as
//! Markdown.

mod cases;
mod draw;
mod judge;
mod keep;
mod packets;
mod page;
mod record;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::batch;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::{self, COMMIT};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_kernel::Features;

use crate::args::ConformanceArgs;
use crate::marked_page::{Page, publish};
use cases::{Case, Measured};
use keep::Keep;
use record::{Compared, Record, SCHEMA};

/// Share of drawn flows that must agree.
const LEAST_DRAWN_AGREE: f64 = 0.95;

const PAGE: Page = Page { command: "conformance", title: "The simulator against the kernel" };

pub(crate) fn run(
    args: &ConformanceArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let mut cases = cases::load(&args.files)?;
    if !args.only.is_empty() {
        args.only.iter().try_for_each(|name| named(&cases, name).map(drop))?;
        cases.retain(|case| args.only.contains(&case.name));
    }
    if let Some(name) = &args.packets {
        return show_packets(&cases, name, global, signals, out);
    }
    let marked = args.out.open(PAGE)?;
    let kernel = Features::probe().release;
    let keep = Keep::open(args.keep.as_deref(), &kernel)?;
    fairpace_testbed::check_machine(&fairpace_testbed::Options::default())?;
    let simulated = simulate(&cases, args.seeds, signals, global.quiet)?;
    let mut record = Record {
        schema: SCHEMA,
        commit: COMMIT,
        kernel,
        kernel_runs: args.runs,
        seeds: args.seeds,
        scenarios: Vec::new(),
    };
    let measured = cases::measure(&cases, args.runs, args.jobs, &keep, signals, global.quiet)?;
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
    publish(marked, &page::generated(&record), &record, global, out)?;
    judge_drawn(&record)
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
