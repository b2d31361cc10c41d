//! `fairpace conformance`: the same scenarios in the simulator and on the kernel, side by side, and judged.
//!
//! A scenario's file names its algorithms as the testbed does: `kernel:cubic` is the kernel's own, which the simulator answers with
//! the algorithm of the same name. What counts as the same is in `judge.rs`; the page in `page.rs`.

mod cases;
mod judge;
mod keep;
mod page;

use serde::Serialize;

use crate::args::{ConformanceArgs, Global};
use crate::batch;
use crate::failure::{Exit, Failure};
use crate::monitor::Signals;
use crate::output::Output;
use crate::place::COMMIT;
use crate::target::{Page, Target};
use cases::Case;
use judge::Quantity;
use keep::Keep;

/// Version of the record that `--json` prints.
const SCHEMA: &str = "fairpace.conformance/1";

const PAGE: Page = Page { command: "conformance", title: "The simulator against the kernel" };

/// All that was measured.
#[derive(Debug, Serialize)]
struct Record {
    schema: &'static str,
    commit: &'static str,
    /// Of the running kernel, as `uname -r` tells it.
    kernel: String,
    /// Undisturbed runs of each scenario on the kernel, if all went well.
    kernel_runs: u32,
    /// Simulations of each scenario, with the seeds 1, 2, ...
    seeds: u32,
    scenarios: Vec<Compared>,
}

/// One scenario in both worlds.
#[derive(Debug, Serialize)]
struct Compared {
    /// Its file, without folder and ending.
    name: String,
    title: String,
    hash: String,
    window_s: [f64; 2],
    /// Runs on the kernel that were disturbed and repeated, or given up.
    disturbed: u32,
    quantities: Vec<Quantity>,
}

impl Compared {
    /// Every quantity that is judged agrees. `None`: the kernel gave nothing to judge by.
    fn agrees(&self) -> Option<bool> {
        let verdicts = self.quantities.iter().filter(|q| q.allowed.is_some()).map(|q| q.agrees);
        verdicts.collect::<Option<Vec<_>>>().map(|all| all.into_iter().all(|agrees| agrees))
    }
}

pub(crate) fn run(
    args: &ConformanceArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let cases = cases::load(&args.files)?;
    // told before a long run, not after it
    let target = args.out.as_deref().map(|path| Target::open(path, PAGE)).transpose()?;
    let keep = Keep::open(args.keep.as_deref(), &kernel_release())?;
    fairpace_testbed::check_machine(&fairpace_testbed::Options::default())?;
    let simulated = simulate(&cases, args.seeds, signals, global.quiet)?;
    let mut record = Record {
        schema: SCHEMA,
        commit: COMMIT,
        kernel: kernel_release(),
        kernel_runs: args.runs,
        seeds: args.seeds,
        scenarios: Vec::new(),
    };
    for (case, simulated) in cases.iter().zip(&simulated) {
        let (measured, disturbed) = case.measure(args.runs, &keep, signals, global.quiet)?;
        let compared = Compared {
            name: case.name.clone(),
            title: case.kernel.title.clone(),
            hash: case.kernel.hash.clone(),
            window_s: [case.kernel.window.0.as_secs_f64(), case.kernel.window.1.as_secs_f64()],
            disturbed,
            quantities: judge::compare(&measured, simulated),
        };
        if !global.json && !global.quiet {
            out.line(&page::line(&compared))?;
        }
        record.scenarios.push(compared);
    }
    let page = page::generated(&record);
    if let Some(target) = target {
        target.write(&page)?;
    }
    match &args.out {
        _ if global.json => out.json(&record),
        None => out.text(&page),
        Some(path) if !global.quiet => out.line(&format!("the tables are in {}", path.display())),
        Some(_) => Ok(()),
    }
}

/// All seeds of all scenarios, before the kernel's runs: these need a quiet machine.
fn simulate(
    cases: &[Case],
    seeds: u32,
    signals: &Signals,
    quiet: bool,
) -> Result<Vec<Vec<fairpace_results::Summary>>, Failure> {
    let scenarios: Vec<_> = cases.iter().flat_map(|case| case.simulations(seeds)).collect();
    let summaries = batch::all(&scenarios, None, signals, quiet, |_, run| run.summary)?;
    Ok(summaries.chunks(seeds as usize).map(<[_]>::to_vec).collect())
}

fn kernel_release() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    release.map_or_else(|_| "unknown".to_owned(), |release| release.trim().to_owned())
}

/// There is nothing to compare.
fn no_cases(place: &str) -> Failure {
    Failure::told(
        Exit::Usage,
        format!("there is no scenario in {place}"),
        "name scenario files, or a folder of them; `conformance` is the repository's",
    )
}
