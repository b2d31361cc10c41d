//! `fairpace-dev soak`: loads, replaces and unloads algorithms while a thousand connections send checked
//! data.
//!
//! `path` has two hosts of our own, `traffic` the connections, `operator` the commands, of which some are
//! killed at a random moment. At the end all data must have arrived, the kernel's log must have no alarm, and
//! none of our algorithms may be left. The test affects only these two hosts: the BPF file system, too, is
//! their own.

mod acks;
mod flows;
pub mod kernel_log;
mod operator;
pub mod path;
pub mod reordering;
pub mod traffic;
pub(crate) mod warn_once;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fairpace_cc::Algorithm;
use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::{Output, note};
use fairpace_cli_core::signals::Signals;
use fairpace_scenario::Random;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::Serialize;

use crate::args::SoakArgs;
use crate::machine::{on_own_thread, program};
use kernel_log::KernelLog;
use operator::{Operations, Operator};
use traffic::Traffic;

/// Number of simultaneous connections.
const CONNECTIONS: usize = 1000;
/// Interval between lines of progress.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Time that the last transfers may take after the end. They share the link with all others.
const DRAIN_LIMIT: Duration = Duration::from_secs(60);
/// Time in which the kernel must free the memory of the last socket: it waits for an RCU grace period.
const RELEASE_LIMIT: Duration = Duration::from_secs(20);

/// The record of a soak: what was done, and which failures there were.
#[derive(Debug, Default, Serialize)]
struct SoakRecord {
    seed: u64,
    connections: usize,
    transfers: u64,
    bytes: u64,
    /// Number of transfers by the algorithm of the sending socket.
    transfers_by_algorithm: std::collections::BTreeMap<String, u64>,
    operations: Operations,
    failures: Vec<String>,
    /// Warnings of the kernel that skipped programs can cause: see [`kernel_log`].
    not_judged: Vec<String>,
}

/// Performs `fairpace-dev soak`.
///
/// # Errors
/// Returns an error if the kernel cannot load algorithms, if the hosts cannot be created, if a signal
/// arrived, or if a check failed.
pub fn run(args: &SoakArgs, global: Global, signals: &Signals, out: &mut Output) -> Result<(), Failure> {
    fairpace_kernel::Features::probe().require()?;
    if args.reordering {
        return reorder(args, global, signals, out);
    }
    allow_descriptors(args.connections.unwrap_or(CONNECTIONS))?;
    let program = program(args.program.as_deref())?;
    // the namespaces end with the thread that is in them
    let record = on_own_thread(|| soak(args, global, signals, &program))?;
    out.record(&record, global, text)?;
    if let Some(signal) = signals.received() {
        return Err(Failure::signal_with(signal, "what was done until then is above"));
    }
    let again = format!("`fairpace-dev soak --seed {}` makes the same choices again", args.seed);
    verdict(&record.failures, again)
}

/// Runs each algorithm for the given time over a path that reorders.
fn reorder(args: &SoakArgs, global: Global, signals: &Signals, out: &mut Output) -> Result<(), Failure> {
    let connections = args.connections.unwrap_or(reordering::REORDERED_CONNECTIONS);
    allow_descriptors(2 * connections)?;
    let mut results = Vec::new();
    let more = |result: reordering::Reordered| {
        if !global.quiet {
            note(result.text().trim_end());
        }
        results.push(result);
        Ok(signals.received().is_none())
    };
    let algorithms = algorithms(&args.cc)?;
    reordering::each(&algorithms, connections, args.time, more)
        .map_err(|error| failed("making the path", &error))?;
    out.record(&results, global, |results| results.iter().map(reordering::Reordered::text).collect())?;
    if let Some(signal) = signals.received() {
        return Err(Failure::signal_with(signal, "what was done until then is above"));
    }
    let failures: Vec<String> = results.iter().flat_map(|result| result.failures.clone()).collect();
    let failures: Vec<String> = failures.into_iter().chain(reordering::shows_nothing(&results)).collect();
    verdict(&failures, "--cc runs one algorithm again")
}

fn verdict(failures: &[String], help: impl Into<String>) -> Result<(), Failure> {
    let Some(first) = failures.first() else { return Ok(()) };
    let message = format!("{} failures, the first: {first}", failures.len());
    Err(Failure::new(Exit::Internal, message, help))
}

/// The algorithms with these names; all algorithms if there is no name.
fn algorithms(names: &[String]) -> Result<Vec<Algorithm>, Failure> {
    if names.is_empty() {
        return Ok(Algorithm::all().collect());
    }
    names.iter().map(|name| Ok(Algorithm::by_name(name)?)).collect()
}

fn soak(args: &SoakArgs, global: Global, signals: &Signals, program: &Path) -> Result<SoakRecord, Failure> {
    let receiver = path::enter().map_err(|error| failed("making two hosts", &error))?;
    let armed = warn_once::arm();
    let log = KernelLog::open();
    let connections = args.connections.unwrap_or(CONNECTIONS);
    let traffic = Traffic::start(connections, args.seed, &receiver)
        .map_err(|error| failed("starting the connections", &error))?;
    let mut operator =
        Operator::new(program, args.seed).map_err(|error| failed("preparing the commands", &error))?;
    let (begun, mut line) = (Instant::now(), Instant::now());
    while begun.elapsed() < args.time && signals.received().is_none() {
        operator.step(&traffic.offered);
        if line.elapsed() >= LINE_EVERY && !global.quiet {
            line = Instant::now();
            let transfers = traffic.transfers.load(Ordering::Relaxed);
            let left = args.time.saturating_sub(begun.elapsed()).as_secs();
            note(&format!("{} commands, {transfers} transfers, {left} s left", operator.operations.total()));
        }
    }
    let mut record = SoakRecord { seed: args.seed, connections, ..SoakRecord::default() };
    operator.calm_down();
    traffic.finish(DRAIN_LIMIT, &mut record);
    record.failures.append(&mut operator.failures);
    record.failures.extend(operator.left_behind(RELEASE_LIMIT));
    let alarms = log.alarms();
    record.failures.extend(alarms.failures);
    record.not_judged = alarms.not_judged;
    record.not_judged.extend(armed.err());
    record.operations = operator.operations;
    Ok(record)
}

/// Raises the limit of open files: two for each connection and some more.
fn allow_descriptors(connections: usize) -> Result<(), Failure> {
    let wanted = connections as u64 * 2 + 256;
    let limit = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((0, 0));
    if limit.0 < wanted && setrlimit(Resource::RLIMIT_NOFILE, wanted, limit.1.max(wanted)).is_err() {
        let message = format!("{connections} connections need {wanted} open files; the limit is {}", limit.0);
        return Err(Failure::new(Exit::Usage, message, "take fewer --connections"));
    }
    Ok(())
}

fn failed(what: &str, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Internal, format!("{what}: {error}"), "`fairpace doctor` checks this machine")
}

fn text(record: &SoakRecord) -> String {
    let mut out = format!(
        "{} transfers of {:.1} GB in all over {} connections at a time, each checked\n",
        record.transfers,
        record.bytes as f64 / 1e9,
        record.connections
    );
    for (algorithm, transfers) in &record.transfers_by_algorithm {
        out.push_str(&format!("  {transfers:>8} by {algorithm}\n"));
    }
    out.push_str(&record.operations.text());
    for warning in &record.not_judged {
        out.push_str(&format!("NOT JUDGED, as this kernel skips BPF programs in process 1: {warning}\n"));
    }
    for failure in &record.failures {
        out.push_str(&format!("failure: {failure}\n"));
    }
    out
}

/// A random number below `n`.
fn below(random: &mut Random, n: usize) -> usize {
    random.below(n as u64) as usize
}
