//! The record as text for a terminal.

use std::fmt::Write as _;

use crate::judge::Bound;
use crate::record::{AlgorithmRecord, CaseRecord, ConditionRecord, Record, Spread};

impl Record {
    /// A row per goal and algorithm; with `failing`, below it each case that does not hold.
    #[must_use]
    pub fn text(&self, failing: bool) -> String {
        let mut text = String::new();
        for goal in &self.goals {
            let _ = writeln!(text, "{} {}: {}", goal.id, goal.title, goal.conditions.join("; "));
            for algorithm in &goal.algorithms {
                text.push_str(&row(algorithm));
                algorithm.medians.iter().for_each(|of| text.push_str(&format!("      {}\n", median(of))));
                if failing {
                    text.push_str(&failures(algorithm));
                }
            }
            text.push('\n');
        }
        let Self { runs, simulated, wall_s, seeds, form, .. } = self;
        let _ = writeln!(
            text,
            "{form} form; per metric: median, worst case; worst of {seeds} seeds judged; {runs} runs, \
             {simulated} of them simulated now, in {wall_s:.0} s"
        );
        text
    }
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

/// The cases that do not hold, the worst first.
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

/// "median over all cases: short queue holds, queue_ms 3.30 (< 5)".
pub(crate) fn median(of: &ConditionRecord) -> String {
    let holds = if of.holds { "holds" } else { "does not hold" };
    let value = of.metric.shown(of.value);
    format!("median over all cases: {} {holds}, {} {value} ({})", of.name, of.metric.name(), bounds(of))
}

/// "fair 0.812 (>= 0.95)".
pub(crate) fn failed(of: &ConditionRecord) -> String {
    format!("{} {} ({})", of.name, of.metric.shown(of.value), bounds(of))
}

fn bounds(of: &ConditionRecord) -> String {
    let bound = |bound: &Bound| format!("{} {}", bound.side.sign(), short(bound.value));
    of.bounds.iter().map(bound).collect::<Vec<_>>().join(", ")
}

/// What holds and what does not, in a case.
pub(crate) fn sentence(case: &CaseRecord) -> String {
    let said = |of: &ConditionRecord| match of.holds {
        true => format!("{} holds, {} {}", of.name, of.metric.name(), of.metric.shown(of.value)),
        false => format!("not {}", failed(of)),
    };
    case.conditions.iter().map(said).collect::<Vec<_>>().join("; ")
}

/// At most four decimals.
fn short(value: f64) -> String {
    ((value * 1e4).round() / 1e4).to_string()
}
