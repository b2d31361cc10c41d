//! The section of the HTML report on one criterion.

use maud::{Markup, html};

use super::anchor;
use super::strips::strips;
use crate::on_kernel::table;
use crate::record::{AlgorithmRecord, CriterionRecord, Record};

/// Headings of the table of failing cases.
const HEADS: [&str; 6] = ["case", "condition", "worst seed", "median seed", "bound", "seeds that pass"];

/// The section of a criterion: what it asks, its picture, and the failing cases.
pub(super) fn section(record: &Record, criterion: &CriterionRecord) -> Markup {
    let asked: Vec<&AlgorithmRecord> =
        record.asked.iter().filter_map(|cc| criterion.of_algorithm(cc)).collect();
    html! {
        section.criterion id=(anchor(criterion)) {
            h3 { (criterion.label()) }
            p { (criterion.asks) " " (criterion.why) }
            @if !criterion.fails.is_empty() { p { "What it means to fail: " (criterion.fails) } }
            ul {
                @for condition in &criterion.conditions {
                    li {
                        (condition.text)
                        @if !condition.source.is_empty() { small { " (" (condition.source) ")" } }
                    }
                }
            }
            @for algorithm in &asked { (verdict(algorithm)) }
            (strips(record, criterion))
            @for algorithm in &asked { (failing(algorithm)) (table(record, algorithm)) }
            pre { (record.command_of(criterion)) }
        }
    }
}

fn verdict(algorithm: &AlgorithmRecord) -> Markup {
    let AlgorithmRecord { cc, cases, hold, medians, results, .. } = algorithm;
    let at_median = results.iter().filter(|result| 2 * result.seeds_hold > result.seeds).count();
    html! {
        p.verdict {
            @if algorithm.passes() { (cc) " passes: all " (cases) " cases pass." }
            @else { (cc) " fails: " (hold) " of " (cases) " cases pass, " (at_median) " with most seeds." }
        }
        @for of in medians { p { (of.of_median()) } }
    }
}

/// A table of the failing cases, the worst first.
fn failing(algorithm: &AlgorithmRecord) -> Markup {
    let failing = algorithm.failing();
    if failing.is_empty() {
        return html! {};
    }
    html! {
        details {
            summary { (algorithm.cc) ": the " (failing.len()) " cases that fail, the worst first" }
            div.scroll {
                table.cases {
                    thead { tr { @for head in HEADS { th { (head) } } } }
                    tbody {
                        @for case in failing {
                            @for of in case.conditions.iter().filter(|of| !of.holds) {
                                tr {
                                    td { (case.case) }
                                    td { (of.name) }
                                    td.number { (of.metric.shown(of.value)) }
                                    td.number { (of.metric.shown(of.median)) }
                                    td { (of.metric.name()) " " (of.bounds_shown()) }
                                    td.number { (case.seeds_hold) " of " (case.seeds) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
