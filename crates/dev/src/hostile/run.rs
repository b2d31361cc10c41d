//! `fairpace-dev hostile`: hostile headers on the running kernel, one after the other.

use std::fs;
use std::time::Duration;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::{Output, note};
use fairpace_cli_core::signals::Signals;
use fairpace_kernel::{Features, Testing};
use serde::Serialize;

use super::flows::{Hosts, Outcome};
use super::{Hostile, Objects, write_headers};
use crate::args::HostileArgs;
use crate::soak::kernel_log::KernelLog;
use crate::soak::warn_once;

/// What the headers did.
#[derive(Debug, Default, Serialize)]
struct Record {
    link: String,
    headers: Vec<HeaderRecord>,
    /// What must not be: a sentence each.
    failures: Vec<String>,
    /// What would be one on a kernel that runs all programs and says all it has to.
    not_judged: Vec<String>,
}

#[derive(Debug, Serialize)]
struct HeaderRecord {
    number: u32,
    name: &'static str,
    settings: [(&'static str, u32); 3],
    #[serde(flatten)]
    outcome: Outcome,
}

pub(crate) fn run(
    args: &HostileArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
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
    let record = std::thread::scope(|scope| {
        // the namespaces end with the thread that is in them
        let work = scope.spawn(|| perform(args, &objects, global, signals));
        work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    if global.json {
        out.json(&record)?
    } else {
        out.text(&text(&record))?
    }
    if record.failures.is_empty() {
        return Ok(());
    }
    let message = format!("{} faults with hostile headers", record.failures.len());
    Err(Failure::new(
        Exit::Internal,
        message,
        "the header of a number is the same in each call: --first, --count 1",
    ))
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
    let numbers = args.first..args.first.saturating_add(args.count);
    let headers = numbers.map(|number| (number, Hostile::of(number)));
    let control = args.without_clamps.then(|| (u32::MAX, Hostile::reduces_to_zero()));
    for (number, hostile) in headers.chain(control) {
        if signals.received().is_some() {
            break;
        }
        if let Err(why) = warn_once::arm()
            && !record.not_judged.contains(&why)
        {
            record.not_judged.push(why);
        }
        let log = KernelLog::open();
        let time = args.time.max(Duration::from_secs(1));
        let outcome = hosts
            .run(&hostile.object(objects)?, testing, args.flows, time)
            .map_err(|error| failed(&format!("header {number}"), &error))?;
        judge(&mut record, number, &outcome, log);
        if !global.quiet {
            note(&format!("header {number}: {} clamps, {} stalls", outcome.clamps, outcome.stalls.len()));
        }
        record.headers.push(HeaderRecord {
            number,
            name: hostile.name(),
            settings: hostile.settings(),
            outcome,
        });
    }
    Ok(record)
}

fn judge(record: &mut Record, number: u32, outcome: &Outcome, log: KernelLog) {
    let mut fail = |what: &str| record.failures.push(format!("header {number}: {what}"));
    if outcome.left {
        fail("it is still offered after it was unloaded");
    }
    let alarms = log.alarms();
    alarms.failures.iter().for_each(|alarm| fail(alarm));
    outcome.stalls.iter().for_each(|stall| fail(stall));
    record.not_judged.extend(alarms.not_judged);
}

fn text(record: &Record) -> String {
    let mut out = format!("{}\n", record.link);
    for header in &record.headers {
        let HeaderRecord { number, name, settings, outcome } = header;
        let [(_, values), (_, seed), (_, calls)] = settings;
        out.push_str(&format!(
            "{number:>6} {name:<10} values={values} seed={seed} calls={calls:#x}: {} packets, cwnd up to {}, \
             {} clamps, {} heals, {} late\n",
            outcome.delivered_pkts, outcome.cwnd_most_pkts, outcome.clamps, outcome.heals, outcome.late
        ));
    }
    record.failures.iter().for_each(|what| out.push_str(&format!("FAILED: {what}\n")));
    record.not_judged.iter().for_each(|what| out.push_str(&format!("NOT JUDGED: {what}\n")));
    out
}
