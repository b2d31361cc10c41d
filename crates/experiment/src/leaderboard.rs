//! The leaderboard: a Markdown page on all algorithms of a record, by section, without pictures.

use std::cmp::Reverse;

use crate::markdown::{markdown_table, paragraph};
use crate::record::{CriterionRecord, Record};
use crate::score::{Group, Score, score};

/// Explanation of the first table.
const IN_SHORT: &str = "
## In short

Criteria that an algorithm passes, of all, and by section. A criterion is passed if all of its cases pass
with the worst of their seeds. The last column counts cases.

";

impl Record {
    /// The generated part of the page: the ranking, the results of each criterion, and what each criterion
    /// asks.
    #[must_use]
    pub fn leaderboard(&self) -> String {
        let groups = self.groups();
        let names = self.ranked();
        let mut page = self.facts("");
        page.push_str(IN_SHORT);
        page.push_str(&self.overview_by_section(&groups, &names));
        for group in &groups {
            page.push_str(&format!("\n## {}\n\n{}\n", group.title, paragraph(group.about)));
            let (header, rows) = marks(&group.criteria, &names);
            page.push_str(&markdown_table(&header, &rows));
            group.criteria.iter().for_each(|criterion| page.push_str(&entry(criterion)));
        }
        page
    }

    /// The names of all algorithms; the algorithm that passes most cases comes first.
    fn ranked(&self) -> Vec<&str> {
        let mut names = self.algorithms();
        names.sort_by_key(|cc| {
            let Score { passed, hold, .. } = score(&self.criteria, cc);
            Reverse((passed, hold))
        });
        names
    }

    fn overview_by_section(&self, groups: &[Group<'_>], names: &[&str]) -> String {
        let counted = self.counted();
        let mut header: Vec<String> =
            ["algorithm", "passed"].iter().chain(&counted).map(|of| (*of).to_owned()).collect();
        header.extend(groups.iter().map(short));
        header.push("cases".to_owned());
        let row = |cc: &&str| {
            let all = score(&self.criteria, cc);
            let mut cells = vec![(*cc).to_owned(), all.of_criteria()];
            cells.extend(counted.iter().map(|name| {
                let (count, cases) = self.count(name, cc);
                format!("{count} of {cases}")
            }));
            cells.extend(groups.iter().map(|of| score(of.criteria.iter().copied(), cc).of_criteria()));
            cells.push(all.of_cases());
            cells
        };
        markdown_table(&header, &names.iter().map(row).collect::<Vec<_>>())
    }
}

/// A table with a row for each algorithm and a column for each criterion, which the columns of what the
/// criterion counts follow.
pub(crate) fn marks(criteria: &[&CriterionRecord], names: &[&str]) -> (Vec<String>, Vec<Vec<String>>) {
    let heads = |of: &'_ &CriterionRecord| {
        std::iter::once(of.id.clone()).chain(of.counted().map(str::to_owned)).collect::<Vec<_>>()
    };
    let ids = criteria.iter().flat_map(heads);
    let of_one = |of: &CriterionRecord, cc: &str| {
        let counts = of.counted().map(|name| of.count(name, cc));
        std::iter::once(of.mark(cc)).chain(counts).collect::<Vec<_>>()
    };
    let marks = |cc: &str| criteria.iter().flat_map(|of| of_one(of, cc)).collect::<Vec<_>>();
    let rows = names.iter().map(|cc| [vec![(*cc).to_owned()], marks(cc)].concat());
    (std::iter::once(String::new()).chain(ids).collect(), rows.collect())
}

/// Entry of a criterion: what it asks, and what must hold.
fn entry(criterion: &CriterionRecord) -> String {
    let CriterionRecord { id, title, asks, fails, conditions, .. } = criterion;
    let fails = if fails.is_empty() { String::new() } else { format!(" If not: {fails}") };
    let mut text = format!("\n{}\n", paragraph(&format!("**{id} {title}.** {asks}{fails}")));
    for asked in conditions {
        let source = if asked.source.is_empty() { String::new() } else { format!(" ({})", asked.source) };
        text.push_str(&paragraph(&format!("- {}{source}", asked.text)).trim_end().replace('\n', "\n  "));
        text.push('\n');
    }
    text
}

/// Heading of a section's column: "5.1" for the folder 5.1-alone.
fn short(group: &Group<'_>) -> String {
    let section = group.criteria.first().and_then(|criterion| criterion.section.as_ref());
    let name = section.map_or("", |section| section.name.as_str());
    let number = name.split('-').next().filter(|first| first.starts_with(|c: char| c.is_ascii_digit()));
    number.unwrap_or(name).to_owned()
}
