//! The leaderboard: a Markdown page on all algorithms of a record, by section, without pictures.

use std::cmp::Reverse;

use crate::markdown::{markdown_table, paragraph};
use crate::record::{CriterionRecord, Record};
use crate::score::{Group, Score};

/// Explanation of the first table.
const IN_SHORT: &str = "\
    Criteria that an algorithm passes, of all, and by section. A criterion is passed if all of its cases \
    pass with the worst of their seeds. The column `cases` counts cases.";

impl Record {
    /// The generated part of the page: the ranking, the results of each criterion, and what each criterion
    /// asks.
    #[must_use]
    pub fn leaderboard(&self) -> String {
        let groups = self.groups();
        let names = self.ranked();
        let mut page = self.facts("");
        let (in_total, apart) = self.in_total_and_apart();
        page.push_str(&format!("\n## In short\n\n{}\n", paragraph(&self.about_overview(&apart))));
        page.push_str(&self.overview_by_section(&in_total, &apart, &names));
        for group in &groups {
            page.push_str(&format!("\n## {}\n\n{}\n", group.title, paragraph(group.about)));
            let (header, rows) = marks(&group.criteria, &names);
            page.push_str(&markdown_table(&header, &rows));
            group.criteria.iter().for_each(|criterion| page.push_str(&entry(criterion)));
        }
        page
    }

    /// Explanation of the first table: which sections and cases its columns count.
    fn about_overview(&self, apart: &[Group<'_>]) -> String {
        let mut about = IN_SHORT.to_owned();
        let titles: Vec<String> = apart.iter().map(|of| format!("`{}`", of.short())).collect();
        if !titles.is_empty() {
            let titles = titles.join(", ");
            about.push_str(&format!(
                " `passed` and `cases` are without {titles}: these sections are counted apart."
            ));
        }
        for name in self.counted() {
            about.push_str(&format!(
                " `{name}` counts, in all sections, the cases in which a condition of this name does not \
                 hold, of the cases with such a condition."
            ));
        }
        about
    }

    /// The names of all algorithms; the algorithm that passes most cases comes first.
    fn ranked(&self) -> Vec<&str> {
        let mut names = self.algorithms();
        names.sort_by_key(|cc| {
            let Score { passed, hold, .. } = self.total(cc);
            Reverse((passed, hold))
        });
        names
    }

    fn overview_by_section(&self, in_total: &[Group<'_>], apart: &[Group<'_>], names: &[&str]) -> String {
        let counted = self.counted();
        let mut header: Vec<String> =
            ["algorithm", "passed"].iter().chain(&counted).map(|of| (*of).to_owned()).collect();
        header.extend(in_total.iter().map(Group::short));
        header.push("cases".to_owned());
        header.extend(apart.iter().map(Group::short));
        let row = |cc: &&str| {
            let all = self.total(cc);
            let mut cells = vec![(*cc).to_owned(), all.of_criteria()];
            cells.extend(counted.iter().map(|name| {
                let (count, cases) = self.count(name, cc);
                format!("{count} of {cases}")
            }));
            cells.extend(in_total.iter().map(|of| of.score(cc).of_criteria()));
            cells.push(all.of_cases());
            cells.extend(apart.iter().map(|of| of.score(cc).of_criteria()));
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
