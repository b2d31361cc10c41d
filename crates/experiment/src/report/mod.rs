//! The record as one HTML page: a scorecard, then for each criterion what it asks, a picture, the failing
//! cases, and the command that repeats it. The page loads no other file.

mod criterion;
mod strips;

use fairpace_report::chart::{head, printable};
use maud::{DOCTYPE, Markup, html};

use crate::heat::{DEGREES, degree};
use crate::record::{CriterionRecord, Record};
use crate::score::Group;

impl Record {
    /// The HTML page. Its subject is the algorithms that the user asked for; the others are there for
    /// comparison.
    #[must_use]
    pub fn html(&self) -> String {
        let title = format!("Evaluation of {}", self.asked.join(" and "));
        let groups = self.groups();
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head(&title, include_str!("../../assets/report.css")))
                body {
                    header { h1 { (title) } (self.introduction()) }
                    main {
                        h2 #scorecard { "Scorecard" }
                        (legend())
                        div.scroll { (self.scorecard(&groups)) }
                        @for group in &groups {
                            h2 { (heading(group)) }
                            p { (group.about) }
                            @for criterion in &group.criteria { (criterion::section(self, criterion)) }
                        }
                        (self.repeat())
                    }
                    footer { p { "Written by Fairpace. This file loads nothing from the network." } }
                }
            }
        };
        printable(page.into_string())
    }

    fn introduction(&self) -> Markup {
        html! {
            p {
                "Each criterion is a set of simulated cases with bounds. A case is judged by the worst of "
                "its seeds; a criterion is passed if all of its cases pass. RFC 9743 gives the questions "
                "and no thresholds: the source of each bound is said below."
            }
            @for cc in &self.asked {
                @let sum = self.total(cc);
                dl.facts {
                    div { dt { "Algorithm" } dd { (cc) } }
                    div { dt { "Criteria passed" } dd { (sum.of_criteria()) } }
                    div { dt { "Cases that pass" } dd { (sum.of_cases()) } }
                    div { dt { "Form" } dd { (self.form) } }
                    div { dt { "Simulations" } dd { (self.runs) } }
                }
            }
        }
    }

    /// The scorecard: a row for each criterion, a column for each algorithm.
    fn scorecard(&self, groups: &[Group<'_>]) -> Markup {
        let names = self.algorithms();
        let columns = names.len() + 1;
        let class = |cc: &str| if self.asked.iter().any(|asked| asked == cc) { "asked" } else { "" };
        let sums = |name: &str, sum: &dyn Fn(&str) -> String| {
            html! { td.name { (name) } @for cc in &names { td class=(class(cc)) { (sum(cc)) } } }
        };
        html! {
            table.scores {
                thead { tr {
                    th.name { "Criterion" }
                    @for cc in &names { th class=(class(cc)) { (cc) } }
                } }
                tbody {
                    @for group in groups {
                        tr.section { th.name colspan=(columns) { (heading(group)) } }
                        @for criterion in &group.criteria {
                            tr {
                                td.name { a href={ "#" (anchor(criterion)) } { (criterion.label()) } }
                                @for cc in &names { (cell(criterion, cc, class(cc))) }
                            }
                            @for name in criterion.counted() {
                                tr { (sums(name, &|cc| criterion.count(name, cc))) }
                            }
                        }
                        @let of = |cc: &str| group.score(cc).of_criteria();
                        tr.sum { (sums("passed", &of)) }
                    }
                    tr.section { th.name colspan=(columns) { (self.heading_of_total()) } }
                    tr { (sums("passed", &|cc| self.total(cc).of_criteria())) }
                    tr { (sums("cases that pass", &|cc| self.total(cc).of_cases())) }
                    @for name in self.counted() {
                        @let of = |cc: &str| self.count(name, cc);
                        tr { (sums(name, &|cc| format!("{} of {}", of(cc).0, of(cc).1))) }
                    }
                }
            }
        }
    }

    /// Heading of the totals, which names the sections that are counted apart.
    fn heading_of_total(&self) -> String {
        let apart: Vec<String> = self.in_total_and_apart().1.iter().map(Group::short).collect();
        match &apart[..] {
            [] => "All criteria".to_owned(),
            names => format!("All criteria without {}", names.join(", ")),
        }
    }

    fn repeat(&self) -> Markup {
        html! {
            section #repeat {
                h2 { "Repeat it" }
                p {
                    "The same command gives the same numbers on any machine. Program: commit "
                    code { (self.commit) } ". All scenarios together: SHA-256 "
                    code { (self.scenarios_hash) } "."
                }
                pre { (self.command) }
            }
        }
    }
}

/// Heading of a group of criteria: "RFC 9743 section 5.1: ...", or a general title for criteria without a
/// section.
fn heading<'r>(group: &Group<'r>) -> &'r str {
    if group.title.is_empty() { "Criteria" } else { group.title }
}

/// The anchor of a criterion's section on the page.
pub(crate) fn anchor(criterion: &CriterionRecord) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("criterion-{}", criterion.id).chars().map(plain).collect()
}

fn cell(criterion: &CriterionRecord, cc: &str, class: &str) -> Markup {
    let Some(algorithm) = criterion.of_algorithm(cc) else { return html! { td class=(class) {} } };
    // conditions of medians have no case
    let degree = if algorithm.passes() { 0 } else { degree(algorithm.miss()).max(1) };
    let (cases, failing) = (algorithm.cases, algorithm.cases - algorithm.hold);
    html! {
        td class={ (class) " d" (degree) } title={ (cc) ": " (failing) " of " (cases) " cases fail" } {
            (algorithm.mark())
        }
    }
}

fn legend() -> Markup {
    html! {
        p.key {
            @for (index, (factor, _)) in DEGREES.iter().enumerate() {
                span class={ "d" (index) } {
                    @if index == 0 { "✓ all cases pass" }
                    @else if factor.is_finite() { "worst case beyond its bound by up to " (factor) "×" }
                    @else { "by more" }
                }
            }
        }
        p.note { "Numbers are cases that pass, of all cases. The colour is that of the worst case." }
    }
}
