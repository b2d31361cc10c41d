//! `fairpace panic`: removes all algorithms of ours from the kernel, in whatever state the machine is.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_kernel::{
    Entry, Error, Move, Moved, Namespace, Namespaces, Status, Walk, move_sockets, namespaces, users,
};
use serde::Serialize;

use super::config::Config;
use super::text::sentence;
use crate::args::{ConfigArgs, PanicArgs};
use crate::call::Call;

/// Algorithms that sockets of ours get instead: Linux's own default, else the one that every kernel has.
const REFUGES: [&str; 2] = ["cubic", "reno"];
/// Time for which sockets are searched again, and for which the kernel may take to free an algorithm without
/// users: some grace periods of RCU.
const LIMIT: Duration = Duration::from_secs(1);
/// Pause between two searches; to load an iterator takes longer.
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Default, Serialize)]
struct PanicRecord {
    defaults_restored: usize,
    sockets_moved: usize,
    /// Number of listeners that never chose an algorithm. They are not moved, because they follow the
    /// default.
    listeners_left: usize,
    /// Number of such listeners that were moved to free an algorithm. They do not follow the default until
    /// their services restart.
    listeners_moved: usize,
    unloaded: Vec<String>,
    /// Algorithms that listeners keep in the kernel.
    kept: Vec<String>,
    /// Algorithms that something else keeps, which was not found.
    kept_by_unknown: Vec<String>,
    /// Method by which sockets were found.
    walk: &'static str,
    /// Sockets that this method does not find.
    missed: &'static [&'static str],
    /// Places that were not searched, and the reasons.
    unseen: Vec<String>,
    /// Steps that failed.
    failures: Vec<String>,
}

/// Restores defaults, unloads algorithms, and moves live sockets. It continues after a failure, and reports
/// all failures.
///
/// The order matters: a listener that never chose an algorithm passes the default on to new connections, so
/// after the first step it accepts no connection with an algorithm of ours, and after the second step no
/// program can select one.
pub(crate) fn panic(args: &PanicArgs, Call { global, signals, out }: Call<'_>) -> Result<(), Failure> {
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
    record.missed = missed(walk);
    let mut names: Vec<&str> = ours.iter().map(|entry| entry.name.as_str()).collect();
    names.dedup();
    match REFUGES.into_iter().find(|refuge| is_offered(refuge)) {
        _ if names.is_empty() => {}
        Some(to) => {
            if let Err(error) =
                move_all(&Move { from: &names, to, frees: args.free }, walk, &all, &mut record)
            {
                record.failures.push(format!("live sockets keep their algorithm: {error}"));
            }
        }
        None => record.failures.push("the kernel offers neither cubic nor reno for live sockets".into()),
    }
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

/// Whether an administrator loaded the algorithm. Algorithms of a testbed run have a dot in their names, and
/// are unloaded when the run ends.
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

/// Moves sockets until none is left that can be moved: a program may have created a socket before the
/// defaults were restored, and connect it now.
fn move_all(plan: &Move<'_>, walk: Walk, all: &Namespaces, record: &mut PanicRecord) -> Result<(), Error> {
    let deadline = Instant::now() + LIMIT;
    loop {
        let moved = move_sockets(plan, walk, &all.found)?;
        record.sockets_moved += moved.moved;
        record.listeners_moved += moved.listeners_moved;
        let left = Left::of(&moved, all)?;
        if left.is_final() || Instant::now() > deadline {
            record.listeners_left = moved.listeners_left.values().sum();
            record.kept.extend(moved.listeners_left.into_keys());
            record.failures.extend(moved.failures.iter().map(ToString::to_string));
            left.report(all, record);
            return Ok(());
        }
        sleep(PAUSE);
    }
}

/// Unloaded algorithms that the kernel still has. The kernel counts sockets by their state in it, wherever
/// the sockets are.
#[derive(Default)]
struct Left {
    /// Number of sockets by name of the algorithm and inode of the network namespace.
    sockets: BTreeMap<(String, u32), usize>,
    /// Whether some sockets are in a network namespace that was found.
    is_reached: bool,
    /// Algorithms without sockets that are kept by something other than a listener: for a moment by RCU, else
    /// by something that was not found.
    kept_by_unknown: BTreeSet<String>,
}

impl Left {
    fn of(moved: &Moved, all: &Namespaces) -> Result<Left, Error> {
        let mut ours = fairpace_kernel::list()?;
        ours.retain(|entry| is_of_an_administrator(entry) && entry.status == Status::Draining);
        let mut left = Left::default();
        for (entry, users) in ours.iter().zip(users(&ours)?) {
            for (&inode, count) in &users.sockets {
                *left.sockets.entry((entry.name.clone(), inode)).or_default() += count;
                left.is_reached |= all.found.iter().any(|found| found.inode == inode);
            }
            if users.total() == 0 && !moved.listeners_left.contains_key(&entry.name) {
                left.kept_by_unknown.insert(entry.name.clone());
            }
        }
        Ok(left)
    }

    /// Whether further passes and more time would change nothing.
    fn is_final(&self) -> bool {
        !self.is_reached && self.kept_by_unknown.is_empty()
    }

    /// Adds the result to the record. Sockets of an algorithm that was unloaded before, in a network
    /// namespace that was not found, are not a failure of this command.
    fn report(self, all: &Namespaces, record: &mut PanicRecord) {
        for ((name, inode), count) in self.sockets {
            match all.found.iter().find(|found| found.inode == inode) {
                Some(found) => record.failures.push(format!("{count} sockets of {found} still use {name}")),
                None => {
                    let what =
                        format!("net:[{inode}], where {count} sockets still use {name}: it was not found");
                    let is_new = record.unloaded.contains(&name);
                    if is_new { &mut record.failures } else { &mut record.unseen }.push(what);
                }
            }
        }
        record.kept_by_unknown.extend(self.kept_by_unknown);
    }
}

/// Text on the sockets that a method of finding sockets misses.
fn missed(walk: Walk) -> &'static [&'static str] {
    match walk {
        Walk::Iterator => &[],
        Walk::Descriptors => &[
            "connections that are not accepted yet",
            "connections that a program has closed and that still send",
            "sockets of processes that may not be traced",
        ],
    }
}

/// Text of the record. `asked`: the user chose the method of finding sockets.
fn text(record: &PanicRecord, walk: Walk, asked: bool) -> Vec<String> {
    let mut lines: Vec<String> = record.unloaded.iter().map(|name| format!("{name} is unloaded")).collect();
    lines.push(format!("{} sockets were moved to another algorithm", record.sockets_moved));
    if record.listeners_moved > 0 {
        lines.push(format!(
            "of these, listeners that never chose an algorithm: {}. What they accept has the default of now, \
             and does not follow the default until their services restart",
            record.listeners_moved
        ));
    }
    if record.listeners_left > 0 {
        lines.push(format!(
            "left alone, listeners that never chose an algorithm: {}. What they accept follows the default. \
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
            false => "since a walk over all sockets can panic kernels of this version (`fairpace doctor`)",
        };
        lines.push(format!(
            "sockets were found by the descriptors of processes, {why}. This misses {}",
            record.missed.join(", ")
        ));
    }
    lines.extend(record.unseen.iter().map(|what| format!("not looked at: {what}")));
    lines
}

fn is_offered(name: &str) -> bool {
    let offered = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    offered.is_ok_and(|offered| offered.split_whitespace().any(|other| other == name))
}

/// Text on the algorithms that the configuration still loads at the next boot.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn said(record: &PanicRecord, walk: Walk, asked: bool) -> String {
        text(record, walk, asked).join("\n")
    }

    #[test]
    fn listeners_are_counted_with_what_becomes_of_them() {
        let none = said(&PanicRecord::default(), Walk::Iterator, false);
        assert_eq!(none, "0 sockets were moved to another algorithm");
        let kept = vec!["fp_bbr3".to_owned(), "fp_reno".to_owned()];
        let left = PanicRecord { listeners_left: 3, kept, ..PanicRecord::default() };
        let left = said(&left, Walk::Iterator, false);
        assert!(left.contains("never chose an algorithm: 3. What they accept follows the default"), "{left}");
        assert!(left.contains("they keep fp_bbr3, fp_reno in the kernel"), "{left}");
        let moved = PanicRecord { listeners_moved: 2, ..PanicRecord::default() };
        let moved = said(&moved, Walk::Iterator, false);
        assert!(moved.contains("never chose an algorithm: 2."), "{moved}");
        assert!(moved.contains("does not follow the default until their services restart"), "{moved}");
    }

    #[test]
    fn without_the_iterator_it_says_why_and_what_that_misses() {
        for (asked, why) in [(true, "as --walk asks"), (false, "can panic kernels of this version")] {
            let record = PanicRecord { missed: missed(Walk::Descriptors), ..PanicRecord::default() };
            let said = said(&record, Walk::Descriptors, asked);
            for words in [why, "not accepted yet", "has closed and that still send", "may not be traced"] {
                assert!(said.contains(words), "{said}");
            }
        }
    }

    #[test]
    fn what_was_not_found_and_not_looked_at_is_named() {
        let kept_by_unknown = vec!["fp_bbq".to_owned()];
        let unseen = vec!["the descriptors of process 7 (x)".to_owned()];
        let said =
            said(&PanicRecord { kept_by_unknown, unseen, ..PanicRecord::default() }, Walk::Iterator, false);
        assert!(said.contains("something that was not found keeps fp_bbq in the kernel"), "{said}");
        assert!(said.ends_with("not looked at: the descriptors of process 7 (x)"), "{said}");
    }
}
