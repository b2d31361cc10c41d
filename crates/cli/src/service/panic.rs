//! `fairpace panic`: everything of ours out, whatever state the machine is in.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_kernel::{
    Entry, Move, Moved, Namespace, Namespaces, Status, Users, Walk, move_sockets, namespaces, users,
};
use serde::Serialize;

use super::config::Config;
use super::text::sentence;
use crate::args::{ConfigArgs, PanicArgs};

/// What sockets of ours get instead: Linux's own choice, else the one that every kernel has.
const REFUGES: [&str; 2] = ["cubic", "reno"];
/// How long the kernel may take to free what no socket uses any more: some grace periods of RCU.
const FREEING: Duration = Duration::from_secs(2);

#[derive(Default, Serialize)]
struct PanicRecord {
    defaults_restored: usize,
    sockets_moved: usize,
    /// Listeners that never chose an algorithm: left alone, they follow the default.
    listeners_left: usize,
    /// Those that were moved to free an algorithm: they do not follow the default until their services restart.
    listeners_moved: usize,
    unloaded: Vec<String>,
    /// Algorithms that these listeners keep in the kernel.
    kept: Vec<String>,
    /// Those that something keeps which was not found.
    kept_by_unknown: Vec<String>,
    /// How sockets were found.
    walk: &'static str,
    /// What was not looked at, and why.
    unseen: Vec<String>,
    /// What could not be done.
    failures: Vec<String>,
}

/// Restores defaults, unloads, moves live sockets. It goes on after a failure, and reports all of them.
///
/// In this order: a listener that never chose passes the default on, so from the first step on it accepts
/// nothing of ours, and from the second on nothing can select ours.
pub(crate) fn panic(
    args: &PanicArgs,
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
    record.unseen.clone_from(&all.unseen);
    record
        .failures
        .extend(all.closed.iter().map(|which| format!("a network namespace is not reached: {which}")));
    restore_defaults(&all.found, &mut record, &mut lines);
    let entries = fairpace_kernel::list()?;
    let ours: Vec<&Entry> = entries.iter().filter(|entry| is_of_an_administrator(entry)).collect();
    for entry in ours.iter().filter(|entry| entry.status != Status::Draining) {
        match fairpace_kernel::unload(&entry.name) {
            Ok(()) => record.unloaded.push(entry.name.clone()),
            Err(error) => record.failures.push(format!("{} is not unloaded: {error}", entry.name)),
        }
    }
    let walk = args.walk.map_or_else(Walk::of_this_kernel, Walk::from);
    record.walk = name_of(walk);
    let keepers = move_all(&ours, walk, args.free, &all.found, &mut record);
    what_is_left(&all, &keepers, &mut record)?;
    if global.json {
        out.json(&record)?;
    } else {
        lines.extend(text(&record, walk, args.walk.is_some()));
        lines.extend(next_boot(&args.config));
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

fn name_of(walk: Walk) -> &'static str {
    match walk {
        Walk::Iterator => "iterator",
        Walk::Descriptors => "descriptors",
    }
}

fn restore_defaults(all: &[Namespace], record: &mut PanicRecord, lines: &mut Vec<String>) {
    for (number, namespace) in all.iter().enumerate() {
        match namespace.enter(fairpace_kernel::restore_default).and_then(|result| result) {
            Ok(None) => {}
            Ok(Some(change)) => {
                record.defaults_restored += 1;
                lines.push(match number {
                    0 => sentence(&change),
                    _ => format!("the default of {namespace} is {}; it was {}", change.after, change.before),
                });
            }
            Err(error) => record.failures.push(format!("the default of {namespace}: {error}")),
        }
    }
}

/// The algorithms that listeners keep which were left alone.
fn move_all(
    ours: &[&Entry],
    walk: Walk,
    frees: bool,
    all: &[Namespace],
    record: &mut PanicRecord,
) -> Vec<String> {
    let mut names: Vec<&str> = ours.iter().map(|entry| entry.name.as_str()).collect();
    names.dedup();
    if names.is_empty() {
        return Vec::new();
    }
    let Some(to) = REFUGES.into_iter().find(|refuge| is_offered(refuge)) else {
        record.failures.push("the kernel offers neither cubic nor reno for live sockets".into());
        return Vec::new();
    };
    match move_sockets(&Move { from: &names, to, frees }, walk, all) {
        Ok(Moved { moved, listeners_moved, listeners_left, failures }) => {
            record.sockets_moved = moved;
            record.listeners_moved = listeners_moved;
            record.listeners_left = listeners_left.values().sum();
            record.failures.extend(failures.iter().map(ToString::to_string));
            listeners_left.into_keys().collect()
        }
        Err(error) => {
            record.failures.push(format!("live sockets keep their algorithm: {error}"));
            Vec::new()
        }
    }
}

/// Sockets that still use ours, by the state that they have in the kernel, which shows them wherever they are;
/// and what the kernel still has though no socket sends by it.
fn what_is_left(all: &Namespaces, keepers: &[String], record: &mut PanicRecord) -> Result<(), Failure> {
    let deadline = Instant::now() + FREEING;
    let (ours, used) = loop {
        let mut ours = fairpace_kernel::list()?;
        ours.retain(|entry| is_of_an_administrator(entry) && entry.status == Status::Draining);
        let used = users(&ours)?;
        let is_freed_soon =
            |(entry, users): (&Entry, &Users)| users.total() == 0 && !keepers.contains(&entry.name);
        if !ours.iter().zip(&used).any(is_freed_soon) || Instant::now() > deadline {
            break (ours, used);
        }
        sleep(Duration::from_millis(20));
    };
    let mut sockets: BTreeMap<(u32, &str), usize> = BTreeMap::new();
    for (entry, users) in ours.iter().zip(&used) {
        for (&inode, count) in &users.sockets {
            *sockets.entry((inode, &entry.name)).or_default() += count;
        }
        if users.total() == 0 {
            let kept =
                if keepers.contains(&entry.name) { &mut record.kept } else { &mut record.kept_by_unknown };
            kept.push(entry.name.clone());
        }
    }
    for ((inode, name), count) in sockets {
        let place = all.found.iter().find(|namespace| namespace.inode == inode);
        let place = place.map_or_else(
            || format!("the network namespace net:[{inode}], which was not found"),
            ToString::to_string,
        );
        record.failures.push(format!("{count} sockets of {place} still use {name}"));
    }
    Ok(())
}

/// What was done, for people.
fn text(record: &PanicRecord, walk: Walk, asked: bool) -> Vec<String> {
    let mut lines: Vec<String> = record.unloaded.iter().map(|name| format!("{name} is unloaded")).collect();
    lines.push(format!("{} sockets were moved to another algorithm", record.sockets_moved));
    if record.listeners_moved > 0 {
        lines.push(format!(
            "{} of them are listeners that never chose an algorithm: what they accept has the default of now, and \
             does not follow the default until their services restart",
            record.listeners_moved
        ));
    }
    if record.listeners_left > 0 {
        lines.push(format!(
            "{} listeners that never chose an algorithm are left alone: what they accept follows the default. \
             Until their services restart they keep {} in the kernel, where nothing is sent by it; `fairpace \
             panic --free` frees it, and they do not follow the default then",
            record.listeners_left,
            record.kept.join(", ")
        ));
    }
    if !record.kept_by_unknown.is_empty() {
        lines.push(format!(
            "something that was not found keeps {} in the kernel: the default of a network namespace, or a \
             socket that is not connected",
            record.kept_by_unknown.join(", ")
        ));
    }
    if walk == Walk::Descriptors {
        let why = match asked {
            true => "as --walk asks",
            false => {
                "since this kernel's version is one that a walk over all sockets can panic (`fairpace doctor`)"
            }
        };
        lines.push(format!(
            "sockets were found by the descriptors of processes, {why}: this misses connections that are not \
             accepted yet, those that a program has closed and that still send, and sockets of processes that \
             may not be traced"
        ));
    }
    lines.extend(record.unseen.iter().map(|what| format!("not looked at: {what}")));
    lines
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
