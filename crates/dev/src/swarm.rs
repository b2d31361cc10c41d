//! `fairpace-dev swarm`: random scenarios, each checked against invariants that hold for every scenario.

use std::cell::RefCell;
use std::panic::catch_unwind;
use std::sync::Once;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::batch::Batch;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::{Output, note};
use fairpace_cli_core::progress::Progress;
use fairpace_cli_core::signals::Signals;
use fairpace_sim::swarm;
use serde::Serialize;

use crate::args::SwarmArgs;

/// The record of a scenario that failed.
#[derive(Debug, Clone, Serialize)]
struct Failed {
    seed: u64,
    /// The invariants that did not hold, or the message of a panic.
    wrong: Vec<String>,
}

/// The record that `--json` prints.
#[derive(Debug, Default, Serialize)]
struct Record {
    first_seed: u64,
    scenarios: u64,
    clean: u64,
    data_packets: u64,
    failed: Vec<Failed>,
}

/// Number of scenarios whose results are in memory at a time.
const CHUNK: u64 = 10_000;
/// The largest seed of a scenario file: TOML has signed integers.
const LARGEST_SEED: u64 = i64::MAX as u64;

pub(crate) fn run(
    args: &SwarmArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    if args.seed > LARGEST_SEED || args.count > LARGEST_SEED - args.seed {
        let message = format!("a seed is at most {LARGEST_SEED}, that of the last scenario too");
        return Err(Failure::new(Exit::Usage, message, "choose a smaller --seed or --count"));
    }
    record_panics();
    if args.count == 1 {
        // before the run, which may end the process
        store(args, args.seed, global)?;
    }
    let record = check_all(args, global, signals)?;
    if args.count > 1 {
        record.failed.iter().try_for_each(|failed| store(args, failed.seed, global))?;
    }
    match global.json {
        true => out.json(&record)?,
        false => out.text(&text(&record))?,
    }
    if record.failed.is_empty() {
        return Ok(());
    }
    let message = format!("{} of {} scenarios failed", record.failed.len(), record.scenarios);
    Err(Failure::new(Exit::Internal, message, "`make swarm SEED=... N=1` replays one"))
}

thread_local! {
    /// Message of the last panic in this thread, while it checks a scenario.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the messages of panics in checks for the report, instead of printing them during the run.
fn record_panics() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let is_checking = PANIC.with_borrow_mut(|message| {
                message.as_mut().map(|message| *message = info.to_string()).is_some()
            });
            if !is_checking {
                previous(info);
            }
        }));
    });
}

fn check_all(args: &SwarmArgs, global: Global, signals: &Signals) -> Result<Record, Failure> {
    let progress = Progress::counted("scenarios", args.count as usize, global.quiet);
    let batch = Batch { jobs: args.jobs.at_a_time, signals, progress: &progress };
    let end = args.seed + args.count;
    let mut record = Record { first_seed: args.seed, scenarios: args.count, ..Record::default() };
    for first in (args.seed..end).step_by(CHUNK as usize) {
        let seeds: Vec<u64> = (first..end.min(first + CHUNK)).collect();
        let checked = batch.map(&seeds, |seed, _| {
            let checked = check_one(*seed);
            if !checked.0.is_empty() {
                progress.count_failed();
                if !global.quiet {
                    progress.print(&format!("seed {seed} failed"));
                }
            }
            Ok(checked)
        })?;
        for (seed, (wrong, data_packets)) in seeds.into_iter().zip(checked) {
            record.data_packets += data_packets;
            record.clean += u64::from(wrong.is_empty());
            record.failed.extend((!wrong.is_empty()).then_some(Failed { seed, wrong }));
        }
    }
    Ok(record)
}

/// Draws and checks the scenario of a seed. Returns the failures, and the number of data packets.
fn check_one(seed: u64) -> (Vec<String>, u64) {
    PANIC.set(Some(String::new()));
    let checked = catch_unwind(|| match swarm::scenario(seed) {
        Ok(scenario) => swarm::check(&scenario),
        Err(invalid) => {
            let problems = invalid.problems.iter().map(|p| format!("{}: {}", p.key, p.message));
            let problems: Vec<String> = problems.collect();
            (vec![format!("the drawn scenario is not valid: {}", problems.join("; "))], 0)
        }
    });
    let panic = PANIC.take().unwrap_or_default();
    checked.unwrap_or_else(|_| (vec![panic], 0))
}

/// Writes the scenario of a seed to a file.
fn store(args: &SwarmArgs, seed: u64, global: Global) -> Result<(), Failure> {
    // a scenario that cannot be drawn is reported by its check
    let Ok(Ok(scenario)) = catch_unwind(|| swarm::scenario(seed)) else { return Ok(()) };
    let folder = args.out.join(seed.to_string());
    let failed = |error| Failure::file("cannot write", &folder, &error, "name another directory with --out");
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let path = swarm::write(&scenario, &folder).map_err(failed)?;
    if !global.quiet {
        note(&format!("the scenario of seed {seed}: {}", path.display()));
    }
    Ok(())
}

fn text(record: &Record) -> String {
    let mut text = String::new();
    for Failed { seed, wrong } in &record.failed {
        text.push_str(&format!("seed {seed} (replay: make swarm SEED={seed} N=1):\n"));
        wrong.iter().for_each(|what| text.push_str(&format!("  {what}\n")));
    }
    let Record { scenarios, clean, data_packets, first_seed, .. } = record;
    text.push_str(&format!(
        "{clean} of {scenarios} scenarios clean, from seed {first_seed} on; {data_packets} data packets\n"
    ));
    text
}
