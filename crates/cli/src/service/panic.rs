//! `fairpace panic`: everything of ours out, whatever state the machine is in.

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_kernel::{Entry, Moved, Mover, Namespace, Status, namespaces};
use serde::Serialize;

use super::config::Config;
use super::text::{place, sentence};
use crate::args::ConfigArgs;

/// What sockets of ours get instead: Linux's own choice, else the one that every kernel has.
const REFUGES: [&str; 2] = ["cubic", "reno"];

#[derive(Default, Serialize)]
struct PanicRecord {
    defaults_restored: usize,
    sockets_moved: usize,
    unloaded: Vec<String>,
    /// What could not be done.
    failures: Vec<String>,
}

/// Restores defaults, moves live sockets, unloads. It goes on after a failure, and reports all of them.
pub(crate) fn panic(
    args: &ConfigArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let mut record = PanicRecord::default();
    let mut lines = Vec::new();
    if let Err(error) = fairpace_kernel::repair(&|| signals.received().is_some()) {
        record.failures.push(error.to_string());
    }
    let all = namespaces()?;
    restore_defaults(&all, &mut record, &mut lines);
    let entries = fairpace_kernel::list()?;
    let ours: Vec<&Entry> = entries.iter().filter(|entry| is_of_an_administrator(entry)).collect();
    move_sockets(&all, &ours, &mut record);
    for entry in ours.iter().filter(|entry| entry.status != Status::Draining) {
        match fairpace_kernel::unload(&entry.name) {
            Ok(()) => record.unloaded.push(entry.name.clone()),
            Err(error) => record.failures.push(format!("{} is not unloaded: {error}", entry.name)),
        }
    }
    if global.json {
        out.json(&record)?;
    } else {
        lines.push(format!("{} sockets were moved to another algorithm", record.sockets_moved));
        lines.extend(record.unloaded.iter().map(|name| format!("{name} is unloaded")));
        lines.extend(next_boot(args));
        lines.iter().try_for_each(|line| out.line(line))?;
    }
    if record.failures.is_empty() {
        return Ok(());
    }
    let message = format!("not everything could be undone:\n  {}", record.failures.join("\n  "));
    Err(Failure::new(Exit::Internal, message, "do what the lines above say, and run `fairpace panic` again"))
}

/// A run of the testbed has a dot in its names, and ends by itself.
fn is_of_an_administrator(entry: &Entry) -> bool {
    fairpace_kernel::is_ours(&entry.name)
        && !entry.name.contains('.')
        && !matches!(entry.status, Status::Held { .. })
}

fn restore_defaults(all: &[Namespace], record: &mut PanicRecord, lines: &mut Vec<String>) {
    for (number, namespace) in all.iter().enumerate() {
        match namespace.enter(fairpace_kernel::restore_default).and_then(|result| result) {
            Ok(None) => {}
            Ok(Some(change)) => {
                record.defaults_restored += 1;
                lines.push(match number {
                    0 => sentence(&change),
                    _ => format!(
                        "the default of {} is {}; it was {}",
                        place(namespace),
                        change.after,
                        change.before
                    ),
                });
            }
            Err(error) => record.failures.push(format!("the default of {}: {error}", place(namespace))),
        }
    }
}

fn move_sockets(all: &[Namespace], ours: &[&Entry], record: &mut PanicRecord) {
    let mut names: Vec<&str> = ours.iter().map(|entry| entry.name.as_str()).collect();
    names.dedup();
    if names.is_empty() {
        return;
    }
    let mover = REFUGES.iter().find_map(|refuge| is_offered(refuge).then(|| Mover::new(&names, refuge)));
    let mover = match mover {
        Some(Ok(mover)) => mover,
        Some(Err(error)) => {
            return record.failures.push(format!("live sockets keep their algorithm: {error}"));
        }
        None => {
            return record.failures.push("the kernel offers neither cubic nor reno for live sockets".into());
        }
    };
    for namespace in all {
        match namespace.enter(|| mover.run()).and_then(|result| result) {
            Ok(Moved { moved, refused, errno }) => {
                record.sockets_moved += moved;
                if refused > 0 {
                    let why = std::io::Error::from_raw_os_error(errno);
                    record.failures.push(format!(
                        "{refused} sockets of {} keep their algorithm: {why}",
                        place(namespace)
                    ));
                }
            }
            Err(error) => record.failures.push(format!("live sockets of {}: {error}", place(namespace))),
        }
    }
}

fn is_offered(name: &str) -> bool {
    let offered = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    offered.is_ok_and(|offered| offered.split_whitespace().any(|other| other == name))
}

/// What the configuration still wants.
fn next_boot(args: &ConfigArgs) -> Option<String> {
    match Config::read(&args.path) {
        Ok(config) if config.load.is_empty() => None,
        Ok(config) => {
            let names: Vec<String> = config.load.iter().map(|wanted| wanted.kernel_name()).collect();
            let names = names.join(" ");
            Some(format!("the next boot loads {names} again; `fairpace disable {names}` prevents that"))
        }
        Err(_) => Some(format!("{} cannot be read: the next boot loads nothing", args.path.display())),
    }
}
