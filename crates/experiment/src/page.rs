//! The record as a Markdown page, with a picture file for each criterion.

use std::fmt::Write as _;

use crate::heat::heat_map;
use crate::leaderboard::marks;
use crate::markdown::{markdown_table, paragraph};
use crate::record::{AlgorithmRecord, CaseRecord, CriterionRecord, Record};
use crate::score::score;

/// Explanation of the pictures of a page.
const PICTURES: &str = "In the pictures a cell is a case; the more it differs from the background, the \
                        further it is beyond its bounds.";

impl Record {
    /// The generated part of the page. `picture` returns the file name of a criterion's picture.
    #[must_use]
    pub fn page(&self, picture: impl Fn(&CriterionRecord) -> String) -> String {
        let mut page = self.facts(PICTURES);
        page.push_str("\n## In short\n\nCases in which all conditions hold, of all cases.\n\n");
        page.push_str(&self.overview());
        for criterion in &self.criteria {
            let CriterionRecord { id, title, asks, why, conditions, algorithms, .. } = criterion;
            let asks = paragraph(&format!("{asks} {why}"));
            let _ = write!(page, "\n## {id}: {title}\n\n{asks}\nIn each case must hold:\n\n");
            conditions.iter().for_each(|asked| page.push_str(&format!("- {}\n", asked.text)));
            let picture = picture(criterion);
            let _ = write!(page, "\n![{id}: which cases pass, for each algorithm]({picture})\n\n");
            page.push_str(&numbers(criterion));
            for AlgorithmRecord { cc, medians, .. } in algorithms {
                medians.iter().for_each(|of| page.push_str(&format!("\n{cc}: {}.\n", of.of_median())));
            }
            let asked = algorithms.iter().filter(|algorithm| self.asked.contains(&algorithm.cc));
            asked.for_each(|algorithm| page.push_str(&failures(algorithm)));
        }
        page
    }

    /// Each criterion with its picture.
    #[must_use]
    pub fn pictures(&self) -> Vec<(&CriterionRecord, String)> {
        self.criteria.iter().map(|criterion| (criterion, heat_map(criterion))).collect()
    }

    /// Tables of numbers, one for each criterion: a row for each algorithm, with the number of cases in which
    /// each condition holds, and each metric over the cases.
    #[must_use]
    pub fn numbers(&self) -> String {
        let of_one = |criterion: &CriterionRecord| {
            format!(
                "{}\n{}",
                paragraph(&format!("{}: {}", criterion.id, criterion.title)),
                numbers(criterion)
            )
        };
        format!("{}\n{}", self.facts(""), self.criteria.iter().map(of_one).collect::<Vec<_>>().join("\n"))
    }

    /// A table of the number of cases that pass, at each criterion and in total: a row for each algorithm.
    #[must_use]
    pub fn counts(&self) -> String {
        let names = self.algorithms();
        let (mut header, mut rows) = marks(&self.criteria.iter().collect::<Vec<_>>(), &names);
        let counted = self.counted();
        header.push("all".to_owned());
        header.extend(counted.iter().map(|name| format!("all {name}")));
        for (row, cc) in rows.iter_mut().zip(names) {
            let all = score(&self.criteria, cc);
            row.push(format!("{}/{}", all.hold, all.cases));
            row.extend(counted.iter().map(|name| {
                let (count, cases) = self.count(name, cc);
                format!("{count}/{cases}")
            }));
        }
        format!("{}\n{}", self.facts(""), markdown_table(&header, &rows))
    }

    /// A table of the cases that the first algorithm passes and another fails, and of the cases that the
    /// first fails and the other passes: a row for each criterion.
    #[must_use]
    pub fn only(&self) -> String {
        let names = self.algorithms();
        let Some((first, others)) = names.split_first() else { return String::new() };
        let mut header = vec!["criterion".to_owned(), "cases".to_owned()];
        for other in others {
            header.extend([format!("only {other}"), format!("only {first}, not {other}")]);
        }
        let mut sums = vec![0; 2 * others.len() + 1];
        let mut rows = Vec::new();
        for criterion in &self.criteria {
            let results = |cc: &str| criterion.of_algorithm(cc).map_or(&[][..], |of| &of.results);
            let own = results(first);
            let both = |cc: &&str| [only(results(cc), own), only(own, results(cc))];
            let counts = std::iter::once(own.len()).chain(others.iter().flat_map(both)).collect::<Vec<_>>();
            sums.iter_mut().zip(&counts).for_each(|(sum, count)| *sum += count);
            rows.push(
                std::iter::once(criterion.label()).chain(counts.iter().map(usize::to_string)).collect(),
            );
        }
        rows.push(std::iter::once("all".to_owned()).chain(sums.iter().map(usize::to_string)).collect());
        format!("{}\n{}", self.facts(""), markdown_table(&header, &rows))
    }

    /// A paragraph on what was run and how it is judged; `more` is a further sentence.
    pub(crate) fn facts(&self, more: &str) -> String {
        let Self { command, commit, scenarios_hash, runs, seed, form, folder, .. } = self;
        let how = format!(
            "The criteria `{folder}`, {form} form. Of the seeds of a case the worst is judged: one that \
             fails before one that passes, then the one with the lower Jain index. {more}"
        );
        let seeds = self.criteria.iter().map(|criterion| criterion.seeds).max().unwrap_or(1);
        let seeds = match seeds {
            1 => format!("seed {seed}"),
            _ => format!("seeds {seed} to {}", seed + u64::from(seeds) - 1),
        };
        format!(
            "{}\n| | |\n|---|---|\n| command | `{command}` |\n| simulations | {runs}, {seeds} |\n\
             | scenarios | `{scenarios_hash}` |\n| commit | `{commit}` |\n",
            paragraph(&how)
        )
    }

    fn overview(&self) -> String {
        let names = self.algorithms();
        let header: Vec<String> =
            ["criterion", "cases"].iter().chain(&names).map(|of| (*of).to_owned()).collect();
        let row = |criterion: &CriterionRecord, label: String, number: &dyn Fn(&AlgorithmRecord) -> usize| {
            let cases = criterion.algorithms.first().map_or(0, |algorithm| algorithm.cases);
            let cell =
                |cc: &&str| criterion.of_algorithm(cc).map_or(String::new(), |of| number(of).to_string());
            [label, cases.to_string()].into_iter().chain(names.iter().map(cell)).collect()
        };
        let mut rows = Vec::new();
        for criterion in &self.criteria {
            rows.push(row(criterion, criterion.label(), &|of| of.hold));
            for name in criterion.counted() {
                let number = |of: &AlgorithmRecord| of.counted.get(name).copied().unwrap_or_default();
                rows.push(row(criterion, format!("{}: {name}", criterion.label()), &number));
            }
        }
        markdown_table(&header, &rows)
    }
}

/// A table with a row for each algorithm: number of cases in which each condition holds, and median and worst
/// value of each metric.
fn numbers(criterion: &CriterionRecord) -> String {
    let Some(first) = criterion.algorithms.first() else { return String::new() };
    let mut header = vec!["".to_owned(), "pass".to_owned()];
    header.extend(first.counted.keys().cloned());
    header.extend(first.conditions.iter().map(|of| of.name.clone()));
    header.extend(first.metrics.iter().map(|of| format!("{}: median, worst", of.metric.name())));
    let row = |algorithm: &AlgorithmRecord| {
        let mut cells = vec![algorithm.cc.clone(), algorithm.hold.to_string()];
        cells.extend(algorithm.counted.values().map(usize::to_string));
        cells.extend(algorithm.conditions.iter().map(|of| of.hold.to_string()));
        cells.extend(algorithm.metrics.iter().map(|of| of.cell()));
        cells
    };
    markdown_table(&header, &criterion.algorithms.iter().map(row).collect::<Vec<_>>())
}

/// The number of cases that the first algorithm passes and the second fails.
fn only(passes: &[CaseRecord], fails: &[CaseRecord]) -> usize {
    let fails = |name: &str| fails.iter().any(|of| of.case == name && !of.holds);
    passes.iter().filter(|of| of.holds && fails(&of.case)).count()
}

/// A folded list of the failing cases by name.
fn failures(algorithm: &AlgorithmRecord) -> String {
    let failing: Vec<&CaseRecord> = algorithm.results.iter().filter(|result| !result.holds).collect();
    let count = match failing.len() {
        0 => return String::new(),
        1 => "1 case fails".to_owned(),
        count => format!("{count} cases fail"),
    };
    let width = failing.iter().map(|result| result.case.chars().count()).max().unwrap_or(0);
    let line = |result: &&CaseRecord| format!("{:width$}  {}\n", result.case, result.failed());
    let lines: String = failing.iter().map(line).collect();
    format!("\n<details><summary>{}: {count}</summary>\n\n```text\n{lines}```\n\n</details>\n", algorithm.cc)
}
