//! The gallery: one HTML page with the pages of all papers and every picture. The page loads no file and
//! needs no script. It shows records and judges nothing. The same records give the same bytes.

mod bars;
pub(crate) mod colours;
pub(crate) mod pictures;

use fairpace_report::chart::{head, printable};
use fairpace_scenario::Target;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

use crate::figure::{Measure, Take};
use crate::page::parts;
use crate::record::{PaperRecords, Picture, Record};
use crate::values::published;

/// Largest half of an interval that an axis includes, as a part of the mean. A larger one would flatten the
/// picture, so it extends beyond the edge.
const WIDEST_SHOWN: f64 = 0.5;
/// Suffix of the label of a line that is not in the paper.
const BESIDE: &str = " (not in the paper)";

/// A picture with the place that drew it.
type Placed<'a> = (Target, &'a Picture);

/// The page on `papers`, in their order. Every string of a paper is escaped; the page states what was not
/// measured.
#[must_use]
pub fn page(papers: &[PaperRecords]) -> String {
    let title = "Every figure of five papers on BBR, run again, and questions that they leave open";
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, include_str!("../../assets/gallery.css")))
            body {
                header {
                    h1 { (title) }
                    p {
                        "A check holds if its whole confidence interval agrees with what was published, is "
                        "contradicted if none of it does, and is open otherwise. Dots, rings and squares are "
                        "the simulator, real flows, and what is published. This file loads nothing."
                    }
                    nav aria-label="All figures" {
                        @for record in papers.iter().flat_map(|paper| &paper.records) {
                            a href={ "#" (anchor(record)) } title=(record.figure.title) { (record.id) } " "
                        }
                    }
                }
                main { @for paper in papers { (section(paper)) } }
            }
        }
    };
    printable(page.into_string())
}

fn section(paper: &PaperRecords) -> Markup {
    let (head, figures) = parts(paper);
    let values = published(paper);
    html! {
        section.paper {
            (markdown(&head, &paper.id))
            @if !values.rows.is_empty() { (values.figure()) }
            @for (record, text) in paper.records.iter().zip(&figures) {
                article.figure id=(anchor(record)) {
                    (markdown(text, &paper.id))
                    @for stack in &record.stacks {
                        @if record.stacks.len() > 1 { h4 { "With " (stack.title) } }
                        div class={ "pictures" @if pictures::is_grid(record) { " grid" } } {
                            @for picture in pictures::all(record, stack) { (picture) }
                        }
                    }
                }
            }
        }
    }
}

/// The anchor of a figure on the page.
fn anchor(record: &Record) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("{}--{}", record.paper, record.id).chars().map(plain).collect()
}

/// Markdown of a paper's page as HTML. Links of the text are relative to the folder of all papers; the
/// gallery's own pictures replace those of the page.
fn markdown(text: &str, paper: &str) -> Markup {
    let mut is_picture = false;
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Start(Tag::Image { .. }) => {
            is_picture = true;
            None
        }
        Event::End(TagEnd::Image) => {
            is_picture = false;
            None
        }
        _ if is_picture => None,
        Event::Html(text) | Event::InlineHtml(text) => {
            (!text.trim_start().starts_with("<!--")).then_some(Event::Text(text))
        }
        Event::Start(Tag::Link { link_type, dest_url, title, id }) if !dest_url.contains("://") => {
            let dest_url = CowStr::from(format!("{paper}/{dest_url}"));
            Some(Event::Start(Tag::Link { link_type, dest_url, title, id }))
        }
        other => Some(other),
    });
    let mut out = String::new();
    pulldown_cmark::html::push_html(&mut out, events);
    html! { (PreEscaped(out)) }
}

/// The largest possible value of a measure: for a part of a whole, the whole. No measured number is negative.
fn most_possible(measure: &Measure) -> f64 {
    let what = measure.of.rsplit('.').next().unwrap_or_default();
    let is_part = matches!(what, "jain" | "share" | "utilization" | "share0" | "share1");
    let is_value = !matches!(measure.take, Some(Take::TimeAbove | Take::TimeBelow | Take::Variation));
    match (is_part && is_value, &measure.over) {
        (true, None) => measure.times.unwrap_or(1.0),
        _ => f64::INFINITY,
    }
}

/// The first picture of each plot of a figure with its first stack, as SVG files.
#[must_use]
pub fn files(record: &Record) -> Vec<String> {
    pictures::files(record)
}
