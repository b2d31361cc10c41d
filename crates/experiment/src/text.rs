//! The record as text for a terminal.

use std::fmt::Write as _;

use crate::on_kernel;
use crate::record::{AlgorithmRecord, CaseRecord, ConditionRecord, CriterionRecord, Record, Spread};
use crate::score::score;

impl Record {
    /// A scorecard: a row for each criterion, a column for each algorithm. With `failing`, then the numbers
    /// of each criterion and each case that fails.
    #[must_use]
    pub fn text(&self, failing: bool) -> String {
        let mut text = String::new();
        for group in self.groups() {
            if !group.title.is_empty() {
                let _ = writeln!(text, "{}", group.title);
            }
            text.push_str(&self.scorecard_text(&group.criteria));
            text.push('\n');
        }
        if failing {
            self.criteria.iter().for_each(|criterion| text.push_str(&numbers(criterion)));
        }
        text.push_str(&on_kernel::text(self));
        text.push_str(&self.medians());
        for cc in &self.asked {
            let sum = score(&self.criteria, cc);
            let _ = writeln!(
                text,
                "{cc} passes {} of {} criteria; {} of {} cases pass",
                sum.passed, sum.criteria, sum.hold, sum.cases
            );
        }
        let Self { runs, simulated, wall_s, form, .. } = self;
        let _ = writeln!(
            text,
            "{form} form, the worst seed of each case judged; {runs} runs, {simulated} of them simulated \
             now, in {wall_s:.0} s"
        );
        text
    }

    /// The conditions of medians, of the algorithms that were asked for.
    fn medians(&self) -> String {
        let of_asked = |criterion: &CriterionRecord| {
            let asked = criterion.algorithms.iter().filter(|algorithm| self.asked.contains(&algorithm.cc));
            let said = |of: &ConditionRecord, cc: &str| format!("{} {cc}: {}\n", criterion.id, median(of));
            asked.flat_map(|algorithm| algorithm.medians.iter().map(|of| said(of, &algorithm.cc))).collect()
        };
        self.criteria.iter().map(|criterion| -> String { of_asked(criterion) }).collect()
    }

    /// "  5.1.1a Undelivered packets    ✓ 8   3/8".
    fn scorecard_text(&self, criteria: &[&CriterionRecord]) -> String {
        let names = self.algorithms();
        let label = |criterion: &CriterionRecord| format!("{} {}", criterion.id, criterion.title);
        let aside = self.criteria.iter().map(|criterion| label(criterion).chars().count()).max().unwrap_or(0);
        let width = |cc: &&str| cc.chars().count().max(8) + 2;
        let mut text = format!("  {:aside$}", "");
        names.iter().for_each(|cc| text.push_str(&format!("{cc:>0$}", width(cc))));
        text.push('\n');
        for criterion in criteria {
            let _ = write!(text, "  {:aside$}", label(criterion));
            for cc in &names {
                let mark = criterion.of_algorithm(cc).map_or_else(String::new, |algorithm| algorithm.mark());
                let _ = write!(text, "{mark:>0$}", width(cc));
            }
            text.push('\n');
        }
        text
    }
}

/// A row for each algorithm, and below it each case that fails.
fn numbers(criterion: &CriterionRecord) -> String {
    let asked: Vec<_> = criterion.conditions.iter().map(|asked| asked.text.as_str()).collect();
    let mut text = format!("{} {}: {}\n", criterion.id, criterion.title, asked.join("; "));
    for algorithm in &criterion.algorithms {
        text.push_str(&row(algorithm));
        algorithm.medians.iter().for_each(|of| text.push_str(&format!("      {}\n", median(of))));
        text.push_str(&failures(algorithm));
    }
    text + "\n"
}

/// "  bbr1      12 of 160  fair 45, full 158, short queue 20 | jain 0.720, 0.190 | ..."
fn row(algorithm: &AlgorithmRecord) -> String {
    let AlgorithmRecord { cc, cases, hold, conditions, metrics, .. } = algorithm;
    let mut text = format!("  {cc:14}{hold:4} of {cases:3}");
    if conditions.len() > 1 {
        let counts: Vec<_> = conditions.iter().map(|of| format!("{} {}", of.name, of.hold)).collect();
        let _ = write!(text, "  {}", counts.join(", "));
    }
    let _ = writeln!(text, " | {}", metrics.iter().map(spread).collect::<Vec<_>>().join(" | "));
    text
}

/// "jain 0.720, 0.190": median and worst; both ends where neither is the worse one.
fn spread(of: &Spread) -> String {
    format!("{} {}", of.metric.name(), of.cell())
}

impl Spread {
    /// Median and worst; both ends where neither is the worse one.
    pub(crate) fn cell(&self) -> String {
        let Self { metric, least, median, most } = self;
        let shown = |value: &f64| metric.shown(*value);
        match metric.lower_is_worse() {
            Some(lower) => format!("{}, {}", shown(median), shown(if lower { least } else { most })),
            None => format!("{}, {} to {}", shown(median), shown(least), shown(most)),
        }
    }
}

/// The cases that fail, the worst first.
fn failures(algorithm: &AlgorithmRecord) -> String {
    let mut failing: Vec<&CaseRecord> = algorithm.results.iter().filter(|result| !result.holds).collect();
    failing.sort_by(|a, b| b.miss.total_cmp(&a.miss));
    let width = failing.iter().map(|result| result.case.chars().count()).max().unwrap_or(0);
    let line = |result: &&CaseRecord| {
        let conditions: Vec<_> = result.conditions.iter().filter(|of| !of.holds).map(failed).collect();
        let numbers: Vec<_> = result
            .metrics
            .iter()
            .map(|(metric, value)| format!("{} {}", metric.name(), metric.shown(*value)))
            .collect();
        format!(
            "      {:width$}  {}  [seed {}: {}]\n",
            result.case,
            conditions.join(", "),
            result.seed,
            numbers.join(", ")
        )
    };
    failing.iter().map(line).collect()
}

/// "median over all cases: short queue passes, queue_ms 3.30 (< 5)".
pub(crate) fn median(of: &ConditionRecord) -> String {
    let ends = if of.holds { "passes" } else { "fails" };
    let value = of.metric.shown(of.value);
    format!("median over all cases: {} {ends}, {} {value} ({})", of.name, of.metric.name(), of.bounds_shown())
}

/// "fair 0.812 (>= 0.95)".
pub(crate) fn failed(of: &ConditionRecord) -> String {
    format!("{} {} ({})", of.name, of.metric.shown(of.value), of.bounds_shown())
}
