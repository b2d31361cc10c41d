//! The leaderboard: a page in Markdown on all algorithms of a record, by section, without pictures.

use std::cmp::Reverse;
use std::fmt::Write as _;

use crate::markdown::markdown_table;
use crate::record::{GoalRecord, Record};
use crate::score::{Group, Score, score};

impl Record {
    /// The generated part of the page: who passes how much, each criterion, and what it asks.
    #[must_use]
    pub fn leaderboard(&self) -> String {
        let groups = self.groups();
        let names = self.ranked();
        let mut page = self.facts("");
        page.push_str(
            "\n## In short\n\nCriteria that an algorithm passes, of all, and by section. A criterion is passed \
             if all of its cases hold\nwith the worst of their seeds. The last column counts cases.\n\n",
        );
        page.push_str(&self.overview_by_section(&groups, &names));
        for group in &groups {
            let _ = write!(page, "\n## {}\n\n{}\n\n", group.title, group.about);
            page.push_str(&marks(group, &names));
            group.goals.iter().for_each(|goal| page.push_str(&entry(goal)));
        }
        page
    }

    /// The names of all algorithms, the one that passes most first.
    fn ranked(&self) -> Vec<&str> {
        let mut names = self.algorithms();
        names.sort_by_key(|cc| {
            let Score { passed, hold, .. } = score(&self.goals, cc);
            Reverse((passed, hold))
        });
        names
    }

    fn overview_by_section(&self, groups: &[Group<'_>], names: &[&str]) -> String {
        let mut header = vec!["algorithm".to_owned(), "passed".to_owned()];
        header.extend(groups.iter().map(|group| short(group.title)));
        header.push("cases".to_owned());
        let row = |cc: &&str| {
            let all = score(&self.goals, cc);
            let mut cells = vec![(*cc).to_owned(), format!("{} of {}", all.passed, all.goals)];
            for group in groups {
                let of_group = score(group.goals.iter().copied(), cc);
                cells.push(format!("{} of {}", of_group.passed, of_group.goals));
            }
            cells.push(format!("{} of {}", all.hold, all.cases));
            cells
        };
        markdown_table(&header, &names.iter().map(row).collect::<Vec<_>>())
    }
}

/// A row for each algorithm, a column for each goal of a section.
fn marks(group: &Group<'_>, names: &[&str]) -> String {
    let header: Vec<String> = std::iter::once("")
        .chain(group.goals.iter().map(|goal| goal.id.as_str()))
        .map(str::to_owned)
        .collect();
    let row = |cc: &&str| {
        let mark = |goal: &&GoalRecord| goal.of_algorithm(cc).map_or_else(String::new, |of| of.mark());
        std::iter::once((*cc).to_owned()).chain(group.goals.iter().map(mark)).collect()
    };
    markdown_table(&header, &names.iter().map(row).collect::<Vec<_>>())
}

/// What a goal asks, and what must hold.
fn entry(goal: &GoalRecord) -> String {
    let GoalRecord { id, title, asks, fails, conditions, .. } = goal;
    let fails = if fails.is_empty() { String::new() } else { format!(" If not: {fails}") };
    let mut text = format!("\n**{id} {title}.** {asks}{fails}\n\n");
    for asked in conditions {
        let source = if asked.source.is_empty() { String::new() } else { format!(" ({})", asked.source) };
        let _ = writeln!(text, "- {}{source}", asked.text);
    }
    text
}

/// "5.1" of "RFC 9743 section 5.1: one algorithm alone", else the first word.
fn short(title: &str) -> String {
    let section = title.split_once("section ").map(|(_, rest)| rest);
    match section.and_then(|rest| rest.split_once(':')) {
        Some((number, _)) => number.to_owned(),
        None => title.split([' ', ':']).next().unwrap_or(title).to_lowercase(),
    }
}
