//! The gallery: the pages of all papers on one HTML page, with every picture, that loads nothing and needs no
//! script. It shows records and judges nothing. Same records, same bytes.

mod bars;
mod colours;
pub(crate) mod pictures;

use fairpace_report::chart::{Axis, Bar, Bars, Colour, Look, Row, Strip, head, printable};
use fairpace_scenario::Target;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

use crate::figure::{Is, Measure, Take, Value};
use crate::page::{Place, parts};
use crate::record::{Mean, PaperRecords, Picture, Record};
use crate::text;

/// An interval wider than this part of its mean leaves the picture rather than flatten it.
const WIDEST_SHOWN: f64 = 0.5;
/// Behind the label of what is not in the paper.
const BESIDE: &str = " (not in the paper)";
/// Values farther from the published one, as a part of it, are drawn at the end of the axis.
const MOST_SHOWN: f64 = 3.0;

/// What one place drew.
type Placed<'a> = (Target, &'a Picture);

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
                header {
                    h1 { (title) }
                    p {
                        "A check holds if its whole confidence interval agrees with what was published, is "
                        "contradicted if none of it does, and is open otherwise. Dots, rings and squares are the "
                        "simulator, real flows, and what is published. This file loads nothing from the network."
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
                    @for base in &record.bases {
                        @if record.bases.len() > 1 { h4 { "With " (base.title) } }
                        div class={ "pictures" @if pictures::is_grid(record) { " grid" } } {
                            @for picture in pictures::all(record, base) { (picture) }
                        }
                    }
                }
            }
        }
    }
}

/// Where a figure stands on the page.
fn anchor(record: &Record) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("{}--{}", record.paper, record.id).chars().map(plain).collect()
}

/// A part of a paper's page. Its links lead from the folder of all papers; the gallery has pictures of its own.
fn markdown(text: &str, paper: &str) -> Markup {
    let mut is_picture = false;
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).filter_map(|event| {
        match &event {
            Event::Start(Tag::Image { .. }) => is_picture = true,
            Event::End(TagEnd::Image) => {
                is_picture = false;
                return None;
            }
            _ => {}
        }
        match event {
            _ if is_picture => None,
            Event::Html(text) | Event::InlineHtml(text) if text.trim_start().starts_with("<!--") => {
                let _ = text;
                None
            }
            Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = if dest_url.contains("://") {
                    dest_url
                } else {
                    CowStr::from(format!("{paper}/{dest_url}"))
                };
                Some(Event::Start(Tag::Link { link_type, dest_url, title, id }))
            }
            other => Some(other),
        }
    });
    let mut out = String::new();
    pulldown_cmark::html::push_html(&mut out, events);
    html! { (PreEscaped(out)) }
}

/// Ours beside each published value of a paper, as a part of it. A value of 0 has no such part.
pub(crate) fn published(of: &PaperRecords) -> Bars {
    let all = of
        .records
        .iter()
        .flat_map(|record| record.figure.values.iter().enumerate().map(move |(i, v)| (record, i, v)));
    let all: Vec<_> =
        all.filter(|(_, _, value)| value.published != 0.0 && value.by_construction.is_empty()).collect();
    let axis = Axis::between(0.0, MOST_SHOWN, 3);
    let row = |(record, index, value): &(&Record, usize, &Value)| {
        let colour = Some(Colour::plain(colours::of_measure(&record.figure, &value.measure)));
        let part = |ours: Mean| {
            let half = ours.half.map(|half| (half / value.published).abs());
            ((ours.mean / value.published).clamp(0.0, MOST_SHOWN), half)
        };
        let mark = |place: Place<'_>| {
            let look = if place.on == Target::Simulator { Look::Dots } else { Look::Rings };
            let (mean, half) = part(place.measured?.values[*index].ours()?);
            Some((look, mean, half, colour))
        };
        let room = (value.room() / value.published).abs();
        let allowed = match value.is {
            Is::About | Is::Apart => [1.0 - room, 1.0 + room],
            Is::Below => [0.0, 1.0],
            Is::Above => [1.0, MOST_SHOWN],
        };
        let square = (Look::Squares, 1.0, None, None);
        let marks = [square].into_iter().chain(record.places().filter_map(mark)).collect();
        let allowed = Some(allowed.map(|end| end.clamp(0.0, MOST_SHOWN)));
        let strip = Strip { axis, bar: None, allowed, marks, possible: [0.0, MOST_SHOWN] };
        let said = vec![(Look::Squares, format!("{} {}", text::number(value.published), value.unit))];
        let label = format!("{} {}", record.id, index + 1);
        Row { above: String::new(), label, bars: vec![Bar { colour, said, strip }] }
    };
    let rows = all.iter().map(row).collect();
    let unit = "ours as a part of the published value".to_owned();
    Bars { title: String::new(), unit, key: Vec::new(), axis, rows }
}

/// The most that a measure can be: of what is a part of a whole, the whole. Nothing that is measured is
/// negative.
fn most_possible(measure: &Measure) -> f64 {
    let what = measure.of.rsplit('.').next().unwrap_or_default();
    let is_part = matches!(what, "jain" | "share" | "utilization" | "share0" | "share1");
    let is_value = !matches!(measure.take, Some(Take::TimeAbove | Take::TimeBelow | Take::Variation));
    match (is_part && is_value, &measure.over) {
        (true, None) => measure.times.unwrap_or(1.0),
        _ => f64::INFINITY,
    }
}

/// The picture of a paper's published values beside ours, as an SVG file; `None`: it has none.
#[must_use]
pub fn values(of: &PaperRecords) -> Option<String> {
    let bars = published(of);
    (!bars.rows.is_empty()).then(|| bars.picture())
}

/// The first picture of each plot of a figure on its first base, as SVG files.
#[must_use]
pub fn files(record: &Record) -> Vec<String> {
    pictures::files(record)
}
