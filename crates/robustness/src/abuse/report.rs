//! Violations in groups, each with the commands that replay it.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::Serialize;

use super::case::{Entry, quoted};
use super::judge::Violation;
use super::{Ran, Session};
use crate::args::AbuseClass;

/// Number of replays of a group that are listed.
const REPLAYS: usize = 3;

/// A group: invocations that violate a rule in the same way.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Group {
    rule: &'static str,
    what: String,
    invocations: u64,
    /// Description of the first replay's invocation.
    example: String,
    replays: Vec<String>,
}

/// The record that `--json` prints.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    pub(super) seed: u64,
    pub(super) invocations: u64,
    pub(super) seconds: f64,
    /// Number of invocations of each class.
    pub(super) classes: BTreeMap<String, u64>,
    /// Number of stories in the kernel, by what happened in them.
    pub(super) stories: BTreeMap<&'static str, u64>,
    /// Classes that this machine or this user cannot run, with the reasons.
    pub(super) skipped: Vec<String>,
    pub(super) violations: Vec<Group>,
}

/// The violations that were found up to now.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) classes: BTreeMap<String, u64>,
    groups: BTreeMap<(AbuseClass, Violation), Found>,
}

#[derive(Default)]
struct Found {
    invocations: u64,
    /// Index and description of the first invocations of the group.
    first: BTreeMap<u64, String>,
}

impl Findings {
    /// Counts an invocation, or the several of a story.
    pub(super) fn add(&mut self, class: AbuseClass, index: u64, ran: &[Ran]) {
        *self.classes.entry(class.name()).or_default() += 1;
        let mut found = BTreeMap::new();
        for ran in ran {
            let example: String = ran.case.what.chars().take(100).collect();
            found.extend(ran.violations.iter().map(|violation| (violation.clone(), example.clone())));
        }
        for (violation, example) in found {
            let group = self.groups.entry((class, violation)).or_default();
            group.invocations += 1;
            group.first.insert(index, example);
            if group.first.len() > REPLAYS {
                group.first.pop_last();
            }
        }
    }

    pub(super) fn groups(&self) -> usize {
        self.groups.len()
    }

    pub(super) fn record(
        &self,
        seed: u64,
        seconds: f64,
        stories: BTreeMap<&'static str, u64>,
        skipped: &[String],
        program: Option<&str>,
    ) -> Record {
        let replay = |class: AbuseClass, index: &u64| {
            let program = program.map(|program| format!(" --program {program}")).unwrap_or_default();
            format!("fairpace-dev abuse --seed {seed} --only {} --index {index}{program}", class.name())
        };
        let group = |((class, violation), found): (&(AbuseClass, Violation), &Found)| Group {
            rule: violation.rule,
            what: violation.what.clone(),
            invocations: found.invocations,
            example: found.first.values().next().cloned().unwrap_or_default(),
            replays: found.first.keys().map(|index| replay(*class, index)).collect(),
        };
        Record {
            seed,
            invocations: self.classes.values().sum(),
            seconds,
            classes: self.classes.clone(),
            stories,
            skipped: skipped.to_vec(),
            violations: self.groups.iter().map(group).collect(),
        }
    }
}

pub(super) fn text(record: &Record) -> String {
    let mut text = String::new();
    for Group { rule, what, invocations, example, replays } in &record.violations {
        text.push_str(&format!("{rule}: {what}\n  {invocations} times, first: {example}\n"));
        replays.iter().for_each(|replay| text.push_str(&format!("  {replay}\n")));
    }
    record.skipped.iter().for_each(|skipped| text.push_str(&format!("SKIPPED: {skipped}\n")));
    fn counts(counts: &BTreeMap<impl Display, u64>) -> String {
        counts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
    }
    if !record.stories.is_empty() {
        text.push_str(&format!("in the kernel: {}\n", counts(&record.stories)));
    }
    let Record { seed, invocations, seconds, classes, violations, .. } = record;
    let (classes, groups) = (counts(classes), violations.len());
    text + &format!(
        "seed {seed}: {invocations} invocations in {seconds:.0} s ({classes}), {groups} groups of \
         violations\n"
    )
}

/// Full text on one invocation: its files, its command, its output, its judgement.
pub(super) fn replay(session: &Session, ran: &Ran) -> String {
    let Ran { case, seen, violations } = ran;
    let mut text = format!("# {}\n", case.what);
    for (path, entry) in case.files.iter().chain(&case.then) {
        text.push_str(&format!("{}: {}\n", path.to_string_lossy().escape_debug(), describe(entry)));
    }
    for args in &case.before {
        text.push_str(&format!("before: fairpace {}\n", quoted(args)));
    }
    let user = case.unprivileged && session.rights.is_root;
    let command = case.command("fairpace".as_ref(), user.then_some(65_534));
    let command: String = quoted(&command).chars().take(2_000).collect();
    text.push_str(&format!("$ {command}\n"));
    for (after, act) in &case.during {
        text.push_str(&format!("after {} ms: {act:?}\n", after.as_millis()));
    }
    for (name, bytes) in [("stdout", &seen.stdout), ("stderr", &seen.stderr)] {
        if !bytes.is_empty() {
            text.push_str(&format!("{name}, {} bytes:\n{}", bytes.len(), excerpt(bytes, 60)));
        }
    }
    let end = match (seen.code, seen.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no end".into(),
    };
    text.push_str(&format!("{end} after {:.2} s, {} MB\n", seen.wall.as_secs_f64(), seen.peak_kb / 1_000));
    seen.left.iter().for_each(|path| text.push_str(&format!("left behind: {}\n", path.escape_debug())));
    seen.lost.iter().for_each(|path| text.push_str(&format!("lost or changed: {}\n", path.escape_debug())));
    for Violation { rule, what } in violations {
        text.push_str(&format!("VIOLATED {rule}: {what}\n"));
    }
    text
}

fn describe(entry: &Entry) -> String {
    match entry {
        Entry::File(content) => format!("a file of {} bytes:\n{}", content.len(), excerpt(content, 25)),
        Entry::Locked(content) => format!("a file of {} bytes without permissions", content.len()),
        Entry::Dir => "a directory".into(),
        Entry::LockedDir => "a directory that may not be written to".into(),
        Entry::Link(target) => format!("a link to {target}"),
        Entry::Fifo => "a named pipe".into(),
    }
}

/// The first lines of a text, with all characters escaped that a terminal would act on.
fn excerpt(bytes: &[u8], most: usize) -> String {
    /// Columns of a line.
    const WIDTH: usize = 160;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(100_000)]).into_owned();
    let mut lines: Vec<String> = text
        .lines()
        .take(most + 1)
        .map(|line| {
            let safe = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
            let line: String = line.chars().take(WIDTH).map(safe).collect();
            format!("  | {line}\n")
        })
        .collect();
    if lines.len() > most {
        lines[most] = "  | ...\n".into();
    }
    lines.concat()
}
