//! The record as text for the terminal.

use std::fmt::Write as _;

use crate::on_kernel;
use crate::record::{AlgorithmRecord, CriterionRecord, Record, Spread};

impl Record {
    /// The scorecard: a row for each criterion, a column for each algorithm. With `failing`, the numbers of
    /// each criterion and each failing case follow.
    #[must_use]
    pub fn text(&self, failing: bool) -> String {
        let mut text = String::new();
        for group in self.groups() {
            if !group.title.is_empty() {
                let _ = writeln!(text, "{}", group.title);
            }
            let _ = writeln!(text, "{}", self.scorecard_text(&group.criteria));
        }
        if failing {
            self.criteria.iter().for_each(|criterion| text.push_str(&numbers(criterion)));
        }
        text.push_str(&on_kernel::text(self));
        for criterion in &self.criteria {
            for algorithm in criterion.algorithms.iter().filter(|of| self.asked.contains(&of.cc)) {
                let said = algorithm.medians.iter().map(|of| of.of_median());
                said.for_each(|said| text.push_str(&format!("{} {}: {said}\n", criterion.id, algorithm.cc)));
            }
        }
        for cc in &self.asked {
            let sum = self.total(cc);
            let _ =
                writeln!(text, "{cc} passes {} criteria; {} cases pass", sum.of_criteria(), sum.of_cases());
            for group in self.in_total_and_apart().1 {
                let (of, name) = (group.score(cc), group.short());
                let (criteria, cases) = (of.of_criteria(), of.of_cases());
                let _ =
                    writeln!(text, "{cc}, counted apart: {name}: {criteria} criteria; {cases} cases pass");
            }
            for name in self.counted() {
                let (count, cases) = self.count(name, cc);
                let _ = writeln!(text, "{cc}: {name} in {count} of {cases} cases that count it");
            }
        }
        let Self { runs, simulated, wall_s, form, .. } = self;
        let _ = writeln!(
            text,
            "{form} form, the worst seed of each case judged; {runs} runs, {simulated} of them simulated \
             now, in {wall_s:.0} s"
        );
        text
    }

    /// The scorecard of criteria as text: "  5.1.1a Undelivered packets    ✓ 8   3/8".
    fn scorecard_text(&self, criteria: &[&CriterionRecord]) -> String {
        let names = self.algorithms();
        let aside = self.criteria.iter().map(|of| of.label().chars().count()).max().unwrap_or(0);
        let line = |label: &str, cells: Vec<String>| {
            let widths = names.iter().map(|cc| cc.chars().count().max(8) + 2);
            let cells: String =
                cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
            format!("  {label:aside$}{cells}\n")
        };
        let head = line("", names.iter().map(|cc| (*cc).to_owned()).collect());
        let mut text = head;
        for of in criteria {
            text.push_str(&line(&of.label(), names.iter().map(|cc| of.mark(cc)).collect()));
            for name in of.counted() {
                let cells = names.iter().map(|cc| of.count(name, cc)).collect();
                text.push_str(&line(&format!("  {name}"), cells));
            }
        }
        text
    }
}

/// The numbers of a criterion: a row for each algorithm, and below it each failing case.
fn numbers(criterion: &CriterionRecord) -> String {
    let asked: Vec<_> = criterion.conditions.iter().map(|asked| asked.text.as_str()).collect();
    let mut text = format!("{}: {}\n", criterion.label(), asked.join("; "));
    for algorithm in &criterion.algorithms {
        text.push_str(&row(algorithm));
        algorithm.medians.iter().for_each(|of| text.push_str(&format!("      {}\n", of.of_median())));
        text.push_str(&failures(algorithm));
    }
    text + "\n"
}

/// The row of an algorithm: "  bbr1      12 of 160  fair 45, full 158, short queue 20 | jain 0.720, 0.190 |
/// ..."
fn row(algorithm: &AlgorithmRecord) -> String {
    let AlgorithmRecord { cc, cases, hold, conditions, metrics, .. } = algorithm;
    let mut text = format!("  {cc:14}{hold:4} of {cases:3}");
    if conditions.len() > 1 {
        let counts: Vec<_> = conditions.iter().map(|of| format!("{} {}", of.name, of.hold)).collect();
        let _ = write!(text, "  {}", counts.join(", "));
    }
    let spread = |of: &Spread| format!("{} {}", of.metric.name(), of.cell());
    let _ = writeln!(text, " | {}", metrics.iter().map(spread).collect::<Vec<_>>().join(" | "));
    text
}

impl Spread {
    /// Text of a metric's spread: median and worst value; both ends if neither side is worse.
    pub(crate) fn cell(&self) -> String {
        let Self { metric, least, median, most } = self;
        let shown = |value: &f64| metric.shown(*value);
        match metric.lower_is_worse() {
            Some(lower) => format!("{}, {}", shown(median), shown(if lower { least } else { most })),
            None => format!("{}, {} to {}", shown(median), shown(least), shown(most)),
        }
    }
}

/// Text of the failing cases, the worst first.
fn failures(algorithm: &AlgorithmRecord) -> String {
    let failing = algorithm.failing();
    let width = failing.iter().map(|result| result.case.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for result in failing {
        let numbers = result.metrics.iter().map(|(of, value)| format!("{} {}", of.name(), of.shown(*value)));
        let numbers = numbers.collect::<Vec<_>>().join(", ");
        let (case, seed, failed) = (&result.case, result.seed, result.failed());
        let _ = writeln!(text, "      {case:width$}  {failed}  [seed {seed}: {numbers}]");
    }
    text
}
