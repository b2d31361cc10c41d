//! The gallery: everything that was reproduced on one HTML page that loads nothing and needs no script.
//!
//! It shows records and judges nothing: verdicts, means and intervals are taken as they are. Same records,
//! same bytes.

mod bars;
mod colours;
pub(crate) mod pictures;
mod section;
mod sheet;
pub(crate) mod shown;
pub(crate) mod tables;

use fairpace_report::chart::{head, printable};
use maud::{DOCTYPE, html};

use crate::record::{PaperRecords, Record, Verdict};

/// The page on all `papers`, in their order. Every string of theirs is escaped; what is not measured is
/// said to be so.
#[must_use]
pub fn page(papers: &[PaperRecords]) -> String {
    let title = "Every figure of five papers on BBR, run again, and questions that they leave open";
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, include_str!("../../assets/gallery.css")))
            body {
                header { h1 { (title) } (sheet::introduction(papers)) }
                main {
                    (sheet::contacts(papers))
                    @for paper in papers { (section::paper(paper)) }
                }
                footer {
                    p {
                        "Written by Fairpace from the records of its runs. This file is complete: "
                        "it loads nothing from the network."
                    }
                }
            }
        }
    };
    printable(page.into_string())
}

/// Sign of a verdict and its class in the style. The colour is never the only difference.
fn sign(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Replicated => ("✓", "holds"),
        Verdict::Partly => ("≈", "open"),
        Verdict::Not => ("✗", "contradicted"),
        Verdict::Ours => ("○", "notrun"),
        Verdict::NotRun => ("·", "notrun"),
    }
}

/// In the order in which they are counted.
const VERDICTS: [Verdict; 5] =
    [Verdict::Replicated, Verdict::Partly, Verdict::Not, Verdict::Ours, Verdict::NotRun];

/// Where a figure stands on the page.
fn anchor(record: &Record) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("{}--{}", record.paper, record.id).chars().map(plain).collect()
}
