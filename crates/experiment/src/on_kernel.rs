//! Results of cases on the kernel beside their simulations, for the terminal and for the report.

use std::fmt::Write as _;

use fairpace_cli_core::place::kernel_shown;
use maud::{Markup, html};

use crate::record::{AlgorithmRecord, CaseRecord, ConditionRecord, Record};

/// The conditions of all cases that ran on the kernel: the case, the condition in the simulator, and the text
/// of its result in the simulator and on the kernel.
fn both(algorithm: &AlgorithmRecord) -> Vec<(&str, &ConditionRecord, [String; 2])> {
    let said = |of: &ConditionRecord| {
        format!("{} {}", of.metric.shown(of.value), if of.holds { "passes" } else { "fails" })
    };
    let mut all = Vec::new();
    for CaseRecord { case, conditions, kernel, .. } in &algorithm.results {
        let Some(kernel) = kernel else { continue };
        for (index, simulated) in conditions.iter().enumerate() {
            // without one the machine disturbed all attempts
            let on_kernel = kernel.conditions.get(index).map(said);
            let on_kernel = on_kernel.unwrap_or_else(|| "not judged: the machine was too busy".to_owned());
            all.push((case.as_str(), simulated, [said(simulated), on_kernel]));
        }
    }
    all
}

/// Text with a line for each condition of each case; empty if no case ran on the kernel.
pub(crate) fn text(record: &Record) -> String {
    let Some(release) = &record.kernel else { return String::new() };
    let mut text = String::new();
    for criterion in &record.criteria {
        for algorithm in &criterion.algorithms {
            for (case, of, [simulated, kernel]) in both(algorithm) {
                let (id, cc, name, bounds) = (&criterion.id, &algorithm.cc, &of.name, of.bounds_shown());
                let _ = write!(text, "  {id:7} {cc:12} {case}: {name} ({bounds}): ");
                let _ = writeln!(text, "simulated {simulated}, kernel {kernel}");
            }
        }
    }
    if text.is_empty() { text } else { format!("On {}\n{text}\n", kernel_shown(release)) }
}

/// A table of the conditions of all cases of an algorithm; empty if no case ran on the kernel.
pub(crate) fn table(record: &Record, algorithm: &AlgorithmRecord) -> Markup {
    let all = both(algorithm);
    let Some(release) = record.kernel.as_ref().filter(|_| !all.is_empty()) else { return html! {} };
    html! {
        div.scroll {
            table.cases {
                thead { tr {
                    @for head in [&algorithm.cc, "condition", "bound", "simulated"] { th { (head) } }
                    th { (kernel_shown(release)) }
                } }
                tbody {
                    @for (case, of, said) in &all {
                        tr {
                            @let bounds = format!("{} {}", of.metric.name(), of.bounds_shown());
                            @for cell in [*case, &of.name, &bounds, &said[0], &said[1]] { td { (cell) } }
                        }
                    }
                }
            }
        }
    }
}
