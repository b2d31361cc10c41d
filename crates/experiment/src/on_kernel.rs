//! Cases that ran on the kernel, beside their simulations, for a terminal and for the report.

use std::fmt::Write as _;

use maud::{Markup, html};

use crate::record::{AlgorithmRecord, CaseRecord, ConditionRecord, Record};

/// A condition of a case in both places.
struct Both<'r> {
    case: &'r str,
    simulated: &'r ConditionRecord,
    /// `None` if the machine disturbed all attempts.
    kernel: Option<&'r ConditionRecord>,
}

impl Both<'_> {
    /// "12.3 passes".
    fn said(of: &ConditionRecord) -> String {
        format!("{} {}", of.metric.shown(of.value), if of.holds { "passes" } else { "fails" })
    }

    fn kernel(&self) -> String {
        self.kernel.map_or_else(|| "not judged: the machine was too busy".to_owned(), Self::said)
    }
}

/// The conditions of all cases that ran on the kernel.
fn both(algorithm: &AlgorithmRecord) -> Vec<Both<'_>> {
    let of_case = |result: &CaseRecord| result.kernel.is_some();
    let mut all = Vec::new();
    for result in algorithm.results.iter().filter(|result| of_case(result)) {
        let kernel = result.kernel.as_ref().map_or(&[][..], |of| &of.conditions);
        for (index, simulated) in result.conditions.iter().enumerate() {
            all.push(Both { case: &result.case, simulated, kernel: kernel.get(index) });
        }
    }
    all
}

/// A line for each condition of each case; empty if none ran on the kernel.
pub(crate) fn text(record: &Record) -> String {
    let Some(release) = &record.kernel else { return String::new() };
    let mut text = String::new();
    for criterion in &record.criteria {
        for algorithm in &criterion.algorithms {
            for one in both(algorithm) {
                let Both { case, simulated, .. } = &one;
                let _ = writeln!(
                    text,
                    "  {:7} {:12} {case}: {} ({}): simulated {}, kernel {}",
                    criterion.id,
                    algorithm.cc,
                    simulated.name,
                    simulated.bounds_shown(),
                    Both::said(simulated),
                    one.kernel()
                );
            }
        }
    }
    if text.is_empty() { text } else { format!("On Linux {release}\n{text}\n") }
}

/// A table of the conditions of all cases of an algorithm; nothing if none ran on the kernel.
pub(crate) fn table(record: &Record, algorithm: &AlgorithmRecord) -> Markup {
    let all = both(algorithm);
    let Some(release) = record.kernel.as_ref().filter(|_| !all.is_empty()) else { return html! {} };
    html! {
        div.scroll {
            table.cases {
                thead { tr {
                    @for head in [&algorithm.cc, "condition", "bound", "simulated"] { th { (head) } }
                    th { "Linux " (release) }
                } }
                tbody {
                    @for one in &all {
                        tr {
                            td { (one.case) }
                            td { (one.simulated.name) }
                            td { (one.simulated.metric.name()) " " (one.simulated.bounds_shown()) }
                            td { (Both::said(one.simulated)) }
                            td { (one.kernel()) }
                        }
                    }
                }
            }
        }
    }
}
