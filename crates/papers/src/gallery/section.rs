//! A paper, and below it each of its figures.

use fairpace_scenario::Target;
use maud::{Markup, html};

use super::{VERDICTS, anchor, pictures, sign, tables};
use crate::figure::Paper;
use crate::index::{BASES, HOSTS};
use crate::record::{Measured, PaperRecords, Record, Verdict};
use crate::text;

/// Digits of a hash that are shown.
const LONGEST_HASH: usize = 12;

/// Sign and word of a verdict.
pub(super) fn badge(verdict: Verdict) -> Markup {
    let (sign, class) = sign(verdict);
    html! { span class={ "badge " (class) } { (sign) " " (verdict) } }
}

/// The paper with all its figures.
pub(super) fn paper(of: &PaperRecords) -> Markup {
    let count = |of_this: Verdict| of.records.iter().filter(|record| record.verdict() == of_this).count();
    html! {
        section.paper {
            h2 { (of.paper.title) }
            p.where { (of.paper.authors) ". " (of.paper.published) }
            (paragraphs("about", &of.paper.about))
            (bases(&of.paper))
            p.tally { @for v in VERDICTS { @if count(v) > 0 { span { (count(v)) " " (badge(v)) } } } }
            @for record in &of.records { (figure(record)) }
        }
    }
}

/// The bases that a paper declares, and why.
fn bases(of: &Paper) -> Markup {
    html! {
        @if !of.hosts.is_empty() {
            p {
                (HOSTS) " " (with_code(of.hosts.why.trim()))
                @for set in &of.hosts.set { " " code { (set) } }
            }
        }
        @if of.bases.len() > 1 {
            p { (BASES) }
            ul { @for base in &of.bases {
                li {
                    b { (base.title) } ": " (with_code(base.why.trim()))
                    @for set in &base.set { " " code { (set) } }
                }
            } }
        }
    }
}

fn figure(record: &Record) -> Markup {
    let figure = &record.figure;
    html! {
        article.figure id=(anchor(record)) {
            header {
                h3 { (figure.title) @for base in &record.bases { " " (badge(record.verdict_on(base))) } }
                p.where { b { (record.id) } " · " (figure.source) }
            }
            div.body {
                div.shown {
                    @for base in &record.bases {
                        @if record.bases.len() > 1 { h4 { "On the base: " (base.title) } }
                        div class={ "pictures" @if pictures::is_grid(record) { " grid" } } {
                            @for picture in pictures::all(record, base) { (picture) }
                        }
                    }
                    div.numbers { (tables::values(record)) (tables::shapes(record)) (repeat(record)) }
                }
                div.words {
                    h4 { "What was done" } (paragraphs("setup", &figure.setup))
                    h4 { "What to expect, and why" } (paragraphs("expect", &figure.expect))
                    @if !figure.differs.trim().is_empty() {
                        h4 { "Where ours differs" }
                        (paragraphs("differs", &figure.differs))
                    }
                    (tables::claims(record))
                    (real_flows(record))
                }
            }
        }
    }
}

/// Blank lines part paragraphs.
fn paragraphs(class: &str, text: &str) -> Markup {
    html! {
        @for part in text.split("\n\n").map(str::trim).filter(|part| !part.is_empty()) {
            p class=(class) { (with_code(part)) }
        }
    }
}

/// What stands between backticks is code; one without its other half stays as it is.
fn with_code(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    let is_paired = parts.len() % 2 == 1;
    html! {
        @if is_paired {
            @for (i, part) in parts.iter().enumerate() { @if i % 2 == 1 { code { (part) } } @else { (part) } }
        } @else { (text) }
    }
}

/// Why there are no numbers of real flows, where there are none.
fn real_flows(record: &Record) -> Markup {
    let measured = record.on(Target::Testbed).is_some();
    let why = record.figure.no_kernel.trim();
    html! {
        @if !measured {
            h4 { "Real flows" }
            p.nokernel {
                @if record.figure.kernel.is_some() { "Not measured yet; the command below does." }
                @else if why.is_empty() { "Not measured." }
                @else { (with_code(why)) }
            }
        }
    }
}

/// How to have it again, and what it took.
fn repeat(record: &Record) -> Markup {
    let command = record.command();
    html! {
        div.repeat {
            pre { (command) @if record.figure.kernel.is_some() { "\n" (command) " --on kernel" } }
            @for measured in &record.measured { p.where { (provenance(record, measured)) } }
        }
    }
}

/// As much of a hash as is needed; what follows it, as "+dirty", stays.
fn shortened(hash: &str) -> Markup {
    let digits: String = hash.chars().take_while(char::is_ascii_hexdigit).collect();
    html! { code title=(hash) { (digits.get(..LONGEST_HASH).unwrap_or(&digits)) (&hash[digits.len()..]) } }
}

fn provenance(record: &Record, of: &Measured) -> Markup {
    let kernel = record.figure.kernel.as_ref().filter(|_| of.on == Target::Testbed);
    let place = if of.on == Target::Simulator { "Simulator" } else { "Real flows" };
    let place = record.base(of).map_or(place.to_owned(), |base| record.with_base(place, base));
    html! {
        (place) ": " (of.verdict) ", " (text::cost(of))
        @for set in kernel.into_iter().flat_map(|kernel| &kernel.set) { ", with " code { (set) } }
        "; commit " (shortened(&of.commit))
        ", scenarios " (shortened(&of.scenarios_hash)) "."
    }
}
