//! The record of one algorithm in Markdown, for a report or a pull request.

use std::fmt::Write as _;

use crate::markdown::markdown_table;
use crate::record::{CriterionRecord, Record};

/// Most failing cases of a criterion that the fragment names; the HTML report names all.
const MOST_CASES: usize = 5;

impl Record {
    /// Scorecard and failing cases of an algorithm, beside the other algorithms of the record.
    #[must_use]
    pub fn fragment(&self, cc: &str) -> String {
        let others = self.algorithms().into_iter().filter(|name| *name != cc);
        let names: Vec<&str> = std::iter::once(cc).chain(others).collect();
        let sum = self.total(cc);
        let Self { command, commit, form, runs, scenarios_hash, .. } = self;
        let mut text = format!(
            "# {cc}: {} criteria passed, {} cases pass\n\n```sh\n{command}\n```\n\n\
             Commit `{commit}`, {form} form, {runs} simulations, scenarios `{scenarios_hash}`.\n",
            sum.of_criteria(),
            sum.of_cases()
        );
        for group in self.groups() {
            if !group.title.is_empty() {
                let _ = write!(text, "\n## {}\n", group.title);
            }
            let header: Vec<String> =
                std::iter::once("criterion").chain(names.clone()).map(str::to_owned).collect();
            let row = |label: String, cell: &dyn Fn(&str) -> String| {
                std::iter::once(label).chain(names.iter().map(|cc| cell(cc))).collect::<Vec<_>>()
            };
            let mut rows = Vec::new();
            for of in &group.criteria {
                rows.push(row(of.label(), &|cc| of.mark(cc)));
                let counts = |name| row(format!("{}: {name}", of.label()), &|cc| of.count(name, cc));
                rows.extend(of.counted().map(counts));
            }
            let _ = write!(text, "\n{}", markdown_table(&header, &rows));
            group.criteria.iter().for_each(|criterion| text.push_str(&failures(criterion, cc)));
        }
        text
    }
}

fn failures(criterion: &CriterionRecord, cc: &str) -> String {
    let failing = criterion.of_algorithm(cc).map(|algorithm| algorithm.failing()).unwrap_or_default();
    if failing.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}: {}\n\n", criterion.label(), criterion.asks);
    for case in failing.iter().take(MOST_CASES) {
        let (seeds, hold) = (case.seeds, case.seeds_hold);
        let _ = writeln!(text, "- {}: {}; {hold} of {seeds} seeds pass", case.case, case.failed());
    }
    if failing.len() > MOST_CASES {
        let _ = writeln!(text, "- and {} more", failing.len() - MOST_CASES);
    }
    text
}
