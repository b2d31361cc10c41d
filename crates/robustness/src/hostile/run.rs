//! `fairpace-dev hostile`: hostile headers on the running kernel, one after the other.

use std::fs;
use std::time::Duration;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::{Output, note};
use fairpace_cli_core::signals::Signals;
use fairpace_kernel::{Features, Testing};
use serde::{Deserialize, Serialize};

use super::flows::{Hosts, Outcome};
use super::{Hostile, Objects, write_headers};
use crate::args::HostileArgs;
use crate::machine::on_own_thread;
use crate::soak::kernel_log::KernelLog;
use crate::soak::warn_once;

/// Number of stalls of a header that are listed as failures; its record has all stalls.
const STALLS_SHOWN: usize = 3;

/// The results of all headers.
#[derive(Debug, Default, Serialize)]
pub struct Record {
    /// Description of the link that the flows shared.
    pub link: String,
    /// The result of each header.
    pub headers: Vec<HeaderRecord>,
    /// Failures, a sentence each.
    pub failures: Vec<String>,
    /// Observations that would be failures on a kernel that runs all BPF programs and logs all its messages.
    pub not_judged: Vec<String>,
}

/// The result of one header.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderRecord {
    /// The number of the header.
    pub number: u32,
    /// Name of its algorithm, which is that of the header's kind.
    pub name: String,
    /// Values of its parameters `values`, `seed` and `calls`.
    pub settings: [u32; 3],
    /// The result of its flows.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Failures, a sentence each.
    pub failures: Vec<String>,
    /// Observations that would be failures on a kernel that runs all BPF programs and logs all its messages.
    pub not_judged: Vec<String>,
}

/// Settings of a header's run.
#[derive(Debug, Clone, Copy)]
pub struct How {
    /// Change of the object's behaviour, for a control.
    pub testing: Option<Testing>,
    /// Number of simultaneous flows.
    pub flows: usize,
    /// Duration of the run.
    pub time: Duration,
}

/// Runs one header and judges it. On a kernel that skips programs, the only failures are algorithms that are
/// left in the kernel, and messages of the kernel that skipping does not explain.
#[must_use]
pub fn one(hosts: &Hosts, objects: &Objects, number: u32, hostile: Hostile, how: How) -> HeaderRecord {
    let [(_, values), (_, seed), (_, calls)] = hostile.settings();
    let name = hostile.name().to_owned();
    let mut record =
        HeaderRecord { number, name, settings: [values, seed, calls], ..HeaderRecord::default() };
    record.not_judged.extend(warn_once::arm().err());
    let log = KernelLog::open();
    let ran = hostile.object(objects).map_err(|failure| failure.to_string()).and_then(|object| {
        hosts.run(&object, how.testing, how.flows, how.time).map_err(|error| error.to_string())
    });
    match ran {
        Ok(outcome) => record.outcome = outcome,
        Err(error) => record.failures.push(error),
    }
    let alarms = log.alarms();
    record.failures.extend(alarms.failures);
    record.not_judged.extend(alarms.not_judged);
    if record.outcome.left {
        record.failures.push("it is still offered after it was unloaded".to_owned());
    }
    let mut of_flows = first_stalls(&record.outcome.stalls);
    if how.testing.is_none() && calls == u32::MAX && record.outcome.clamps == 0 {
        of_flows.push("no clamp was counted".to_owned());
    }
    let skips = Features::probe().skips_programs();
    if skips { &mut record.not_judged } else { &mut record.failures }.extend(of_flows);
    record
}

/// The first stalls of a list that may have thousands.
fn first_stalls(stalls: &[String]) -> Vec<String> {
    let mut first: Vec<String> = stalls.iter().take(STALLS_SHOWN).cloned().collect();
    if stalls.len() > STALLS_SHOWN {
        first.push(format!("and {} more stalls", stalls.len() - STALLS_SHOWN));
    }
    first
}

/// Performs `fairpace-dev hostile`.
///
/// # Errors
/// Returns an error if the kernel cannot load algorithms, if there is no compiler, if the hosts cannot be
/// created, if a signal arrived, or if a header has a failure.
pub fn run(args: &HostileArgs, global: Global, signals: &Signals, out: &mut Output) -> Result<(), Failure> {
    if let Some(folder) = &args.write {
        let failed = |error: std::io::Error| {
            Failure::new(Exit::Internal, format!("{}: {error}", folder.display()), "check the folder")
        };
        fs::create_dir_all(folder).map_err(failed)?;
        write_headers(folder).map_err(failed)?;
        return Objects::compile()?.write(folder);
    }
    Features::probe().require()?;
    let objects = args.objects.as_deref().map_or_else(Objects::compile, Objects::read)?;
    let record = on_own_thread(|| perform(args, &objects, global, signals))?;
    out.record(&record, global, text)?;
    if record.failures.is_empty() {
        return Ok(());
    }
    let message = format!("{} faults with hostile headers", record.failures.len());
    let help = "the header of a number is the same in each call: --first, --count 1";
    Err(Failure::new(Exit::Internal, message, help))
}

fn perform(
    args: &HostileArgs,
    objects: &Objects,
    global: Global,
    signals: &Signals,
) -> Result<Record, Failure> {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Failure::new(Exit::Internal, format!("{what}: {error}"), "run it as root, where `ip` and `tc` work")
    };
    let hosts = Hosts::enter().map_err(|error| failed("making two hosts", &error))?;
    let mut record = Record { link: hosts.link().to_owned(), ..Record::default() };
    let testing = args.without_clamps.then_some(Testing::NoClamps);
    let how = How { testing, flows: args.flows, time: args.time.max(Duration::from_secs(1)) };
    let numbers = args.first..args.first.saturating_add(args.count);
    let headers = numbers.map(|number| (number, Hostile::of(number)));
    let control = args.without_clamps.then(|| (u32::MAX, Hostile::reduces_to_zero()));
    for (number, hostile) in headers.chain(control) {
        if signals.received().is_some() {
            break;
        }
        let header = one(&hosts, objects, number, hostile, how);
        let Outcome { clamps, stalls, .. } = &header.outcome;
        if !global.quiet {
            note(&format!("header {number}: {clamps} clamps, {} stalls", stalls.len()));
        }
        record.failures.extend(header.failures.iter().map(|what| format!("header {number}: {what}")));
        for what in &header.not_judged {
            if !record.not_judged.contains(what) {
                record.not_judged.push(what.clone());
            }
        }
        record.headers.push(header);
    }
    Ok(record)
}

fn text(record: &Record) -> String {
    let mut out = format!("{}\n", record.link);
    for header in &record.headers {
        let HeaderRecord { number, name, settings: [values, seed, calls], outcome, .. } = header;
        out.push_str(&format!(
            "{number:>6} {name:<10} values={values} seed={seed} calls={calls:#x}: {} packets, cwnd up to {}, \
             {} clamps, {} heals, {} pauses with all dropped, {} late\n",
            outcome.delivered_pkts,
            outcome.cwnd_most_pkts,
            outcome.clamps,
            outcome.heals,
            outcome.all_dropped,
            outcome.late
        ));
    }
    record.failures.iter().for_each(|what| out.push_str(&format!("FAILED: {what}\n")));
    record.not_judged.iter().for_each(|what| out.push_str(&format!("NOT JUDGED: {what}\n")));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_stalls_the_first_are_shown_and_the_others_counted() {
        let stalls: Vec<String> = (0..5).map(|number| number.to_string()).collect();
        assert_eq!(first_stalls(&stalls[..3]), ["0", "1", "2"]);
        assert_eq!(first_stalls(&stalls), ["0", "1", "2", "and 2 more stalls"]);
    }
}
