//! `fairpace duels`: every algorithm against every other one on one link, and the page that shows it.

mod page;
mod plan;

use fairpace_cc::Algorithm;
use fairpace_scenario::quantity::show_time;
use serde::Serialize;

use crate::args::{DuelsArgs, Global};
use crate::batch;
use crate::failure::{Exit, Failure};
use crate::monitor::Signals;
use crate::output::Output;
use crate::target::{Page, Target};
use plan::Plan;

/// Version of the record that `--json` prints.
const SCHEMA: &str = "fairpace.duels/1";

const PAGE: Page = Page { command: "duels", title: "Duels" };

/// All that was measured, and what reproduces it.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    schema: &'static str,
    commit: &'static str,
    /// The command that measures the same again.
    command: String,
    /// Of the first repetition; each further one takes the next number.
    seed: u64,
    /// Repetitions of each duel in each order.
    seeds: u32,
    /// SHA-256 over the hashes of all scenarios.
    scenarios_hash: String,
    rate_mbps: f64,
    rtt_ms: f64,
    window_s: [f64; 2],
    buffers: Vec<Buffer>,
    algorithms: Vec<Fighter>,
    duels: Vec<Duel>,
}

#[derive(Debug, Serialize)]
struct Buffer {
    /// As it was written.
    name: String,
    bytes: u64,
}

/// An algorithm and the parameters that it was given.
#[derive(Debug, Serialize)]
struct Fighter {
    name: String,
    set: Vec<(String, String)>,
}

/// Two algorithms at one buffer: means over all runs.
#[derive(Debug, Serialize)]
struct Duel {
    buffer: String,
    row: String,
    column: String,
    /// Of `row`, in the sum of both goodputs. Where both are the same: of the flow that started first.
    share: Option<f64>,
    /// The least and the most of all runs.
    share_range: Option<[f64; 2]>,
    loss_rate: Option<f64>,
    queue_delay_mean_ms: Option<f64>,
    utilization: f64,
    runs: usize,
}

pub(crate) fn run(
    args: &DuelsArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let names = names(&args.cc)?;
    let plan = Plan::new(args, &names)?;
    // told before a long run, not after it
    let target = args.out.as_deref().map(|path| Target::open(path, PAGE)).transpose()?;
    let outcomes = batch::all(plan.scenarios(), args.jobs, signals, global.quiet, |_, run| run.summary)?;
    let record = plan.record(command(args), &outcomes);
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

/// Those that were named, or all.
fn names(asked: &[String]) -> Result<Vec<String>, Failure> {
    if asked.is_empty() {
        return Ok(Algorithm::all().map(|algorithm| algorithm.name().to_owned()).collect());
    }
    match asked.iter().enumerate().find(|(index, name)| asked[..*index].contains(name)) {
        Some((_, twice)) => Err(Failure::told(
            Exit::Usage,
            format!("--cc names {twice} twice"),
            "each algorithm meets itself anyway",
        )),
        None => Ok(asked.to_vec()),
    }
}

/// What was asked for, defaults spelled out; not where the page goes nor how many threads there were, which change nothing.
fn command(args: &DuelsArgs) -> String {
    let DuelsArgs { cc, rate, rtt, buffer, duration, warmup, stagger, seeds, seed, sets, out: _, jobs: _ } =
        args;
    let mut words = vec!["fairpace duels".to_owned()];
    if !cc.is_empty() {
        words.push(format!("--cc {}", cc.join(",")));
    }
    words.push(format!("--rate {rate} --rtt {rtt} --buffer {}", buffer.join(",")));
    words.push(format!("--duration {duration} --warmup {warmup} --stagger {}", show_time(*stagger)));
    words.push(format!("--seeds {seeds} --seed {seed}"));
    words.extend(sets.iter().map(|set| format!("--set {set}")));
    words.join(" ")
}
