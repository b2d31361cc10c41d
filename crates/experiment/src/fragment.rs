//! The record of one algorithm in Markdown, to be pasted into a report or a pull request.

use std::fmt::Write as _;

use crate::markdown::markdown_table;
use crate::record::{CaseRecord, CriterionRecord, Record};
use crate::score::score;
use crate::text::failed;

/// Failing cases of a criterion that are named; the report has all.
const MOST_CASES: usize = 5;

impl Record {
    /// Scorecard and failing cases of an algorithm, beside the others of the record.
    #[must_use]
    pub fn fragment(&self, cc: &str) -> String {
        let names: Vec<&str> =
            std::iter::once(cc).chain(self.algorithms().into_iter().filter(|name| *name != cc)).collect();
        let sum = score(&self.criteria, cc);
        let Self { command, commit, form, runs, scenarios_hash, .. } = self;
        let mut text = format!(
            "# {cc}: {} of {} criteria passed, {} of {} cases pass\n\n```sh\n{command}\n```\n\n\
             Commit `{commit}`, {form} form, {runs} simulations, scenarios `{scenarios_hash}`.\n",
            sum.passed, sum.criteria, sum.hold, sum.cases
        );
        for group in self.groups() {
            if !group.title.is_empty() {
                let _ = write!(text, "\n## {}\n", group.title);
            }
            text.push('\n');
            text.push_str(&table(&group.criteria, &names));
            group.criteria.iter().for_each(|criterion| text.push_str(&failures(criterion, cc)));
        }
        text
    }
}

/// A row for each criterion with the mark of each algorithm.
pub(crate) fn table(criteria: &[&CriterionRecord], names: &[&str]) -> String {
    let header: Vec<String> =
        std::iter::once("criterion").chain(names.iter().copied()).map(str::to_owned).collect();
    let row = |criterion: &&CriterionRecord| {
        let mark =
            |cc: &&str| criterion.of_algorithm(cc).map_or_else(String::new, |algorithm| algorithm.mark());
        let name = format!("{} {}", criterion.id, criterion.title);
        std::iter::once(name).chain(names.iter().map(mark)).collect()
    };
    markdown_table(&header, &criteria.iter().map(row).collect::<Vec<_>>())
}

fn failures(criterion: &CriterionRecord, cc: &str) -> String {
    let Some(algorithm) = criterion.of_algorithm(cc) else { return String::new() };
    let mut failing: Vec<&CaseRecord> = algorithm.results.iter().filter(|result| !result.holds).collect();
    if failing.is_empty() {
        return String::new();
    }
    failing.sort_by(|a, b| b.miss.total_cmp(&a.miss));
    let mut text = format!("\n{} {}: {}\n\n", criterion.id, criterion.title, criterion.asks);
    for case in failing.iter().take(MOST_CASES) {
        let conditions: Vec<_> = case.conditions.iter().filter(|of| !of.holds).map(failed).collect();
        let _ = writeln!(
            text,
            "- {}: {}; {} of {} seeds pass",
            case.case,
            conditions.join(", "),
            case.seeds_hold,
            case.seeds
        );
    }
    if failing.len() > MOST_CASES {
        let _ = writeln!(text, "- and {} more", failing.len() - MOST_CASES);
    }
    text
}
