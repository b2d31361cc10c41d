//! The top of the page: what it is, how many of each verdict, and every figure as a small picture.

use fairpace_report::chart::{Colour, Hue, Look, sample};
use fairpace_scenario::Target;
use maud::{Markup, html};

use super::{VERDICTS, anchor, pictures, section::badge, sign};
use crate::record::{Measured, PaperRecords, Record, Verdict};
use crate::text;

/// What each verdict means.
fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Replicated => "every published value and every stated shape holds",
        Verdict::Partly => "some of them hold",
        Verdict::Not => "none of them holds",
        Verdict::Ours => "our own question: the paper states nothing that is checked",
        Verdict::NotRun => "nothing was measured",
    }
}

/// What algorithms are called on the page, and by the table of colours, in the order of the papers.
const ALGORITHMS: [(&str, &str); 14] = [
    ("BBR (BBRv1)", "bbr1"),
    ("CUBIC", "cubic"),
    ("Reno", "reno"),
    ("first cut of BBQ", "bbq_firstcut"),
    ("BBQ", "bbq"),
    ("BBR with the drain patch", "bbr1_drain"),
    ("improved latency", "nyu_latency"),
    ("improved latency and fairness", "nyu"),
    ("BBRv2", "bbr2"),
    ("BBRv3", "bbr3"),
    ("BBRv3 e1", "bbr3e1"),
    ("BBRv3 e2", "bbr3e2"),
    ("BBRv3 e3", "bbr3e3"),
    ("LEVEL", "level"),
];

/// What the page is, counts, what it cost, and the signs that all pictures share.
pub(super) fn introduction(papers: &[PaperRecords]) -> Markup {
    let records: Vec<&Record> = papers.iter().flat_map(|paper| &paper.records).collect();
    let count = |of: Verdict| records.iter().filter(|record| record.verdict() == of).count();
    html! {
        p.why {
            "Every figure and table of the papers, drawn again from our own runs: in the simulator, and with "
            "real flows of the Linux kernel where one machine can have them. Published numbers stand beside "
            "ours, with the sentence that reports them. "
            "A check holds if its whole confidence interval agrees with what was published, is contradicted "
            "if none of it does, and is open otherwise. REPRODUCTION.md counts the checks and says what each "
            "word means."
        }
        ul.counts {
            @for of in VERDICTS { li { b { (count(of)) } " " (badge(of)) " " small { (meaning(of)) } } }
        }
        @for (on, name) in [(Target::Simulator, "The simulator"), (Target::Testbed, "Real flows")] {
            (cost(&records, on, name))
        }
        p.signs {
            span { (sample(Look::Dots, None)) " simulator, or a model" }
            span { (sample(Look::Rings, None)) " real flows" }
            span { (sample(Look::Squares, None)) " published" }
            span { (sample(Look::Dashed, None)) " a curve to compare with" }
            span {
                (sample(Look::Broken, None)) " " (sample(Look::Boxes, None))
                " an algorithm of ours, not in the paper"
            }
            span { i.grey {} " tolerance" }
            span { "± and whiskers: 95 % confidence interval of the mean over seeds or repeats" }
        }
        p.signs.colours {
            @for (shown, name) in ALGORITHMS {
                span { (sample(Look::Line, Some(Colour::plain(Hue::of(name))))) " " (shown) }
            }
            span { (sample(Look::Line, Some(Colour::plain(None)))) " a model, or no algorithm" }
            span { "Tones and dashes: flows of the same algorithm" }
        }
    }
}

/// What all figures of one place took together.
fn cost(records: &[&Record], on: Target, name: &str) -> Markup {
    let all: Vec<&Measured> = records.iter().flat_map(|r| &r.measured).filter(|m| m.on == on).collect();
    let runs: u64 = all.iter().map(|m| u64::from(m.runs)).sum();
    let packets = all.iter().fold(0u64, |sum, m| sum.saturating_add(m.packets));
    let cpu_s: f64 = all.iter().map(|m| m.cpu_s).sum();
    html! {
        @if !all.is_empty() {
            p.where {
                (name) ": " (text::of(runs, "run")) ", " (text::of(packets, "packet")) " delivered, "
                (text::duration(cpu_s)) " of CPU time."
            }
        }
    }
}

/// The contact sheet.
pub(super) fn contacts(papers: &[PaperRecords]) -> Markup {
    html! {
        nav.contacts aria-label="All figures" {
            @for paper in papers {
                @if !paper.records.is_empty() {
                    h2 { (paper.paper.title) " " small { (paper.paper.authors) } }
                    div.sheet { @for record in &paper.records { (contact(record)) } }
                }
            }
        }
    }
}

fn contact(record: &Record) -> Markup {
    let verdict = record.verdict();
    let (sign, class) = sign(verdict);
    html! {
        a class={ "contact " (class) } href={ "#" (anchor(record)) }
            title={ (record.figure.title) ": " (verdict) } {
            span.thumb aria-hidden="true" { (pictures::thumbnail(record)) }
            span.id { (record.id) span.sign { (sign) " " (verdict) } }
            span.what { (record.figure.title) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_of_the_legend_has_a_colour() {
        for (shown, name) in ALGORITHMS {
            assert!(Hue::of(name).is_some(), "{shown}");
        }
    }
}
