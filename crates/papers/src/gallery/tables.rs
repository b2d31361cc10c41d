//! Published values beside ours, and the relations that make the shape.

use fairpace_report::chart::{Axis, Colour, Look, Strip};
use fairpace_scenario::Target;
use maud::{Markup, html};

use super::colours;
use super::shown::{WIDEST_SHOWN, most_possible};
use crate::figure::{Cause, Claim, Is, Shape, Value};
use crate::record::{Compared, Finding, Held, Mean, Moved, Record, Tried};
use crate::results::Place;
use crate::text::{self, mean, number};

/// Of places that fit beside names and published values at any width of the window.
const MOST_COLUMNS: usize = 2;

/// Over a column of what it measured.
fn heading(record: &Record, place: &Place<'_>) -> String {
    host_and_base(record, place, ["Simulator", "Real flows"])
}

/// The same within a line: "simulator, TSO bursts".
fn inline_heading(record: &Record, place: &Place<'_>) -> String {
    host_and_base(record, place, ["simulator", "real flows"])
}

fn host_and_base(record: &Record, place: &Place<'_>, [simulator, real]: [&str; 2]) -> String {
    let host = if place.on == Target::Simulator { simulator } else { real };
    record.with_base(host, place.base)
}

/// The larger of the two tolerances, in the unit.
pub(super) fn tolerance(value: &Value) -> f64 {
    value.tolerance.max(value.tolerance_ratio * value.published.abs())
}

/// The table of values; nothing without any.
pub(super) fn values(record: &Record) -> Markup {
    let places: Vec<Place> = record.places().collect();
    html! {
        @if !record.figure.values.is_empty() {
            table class={ "values" @if places.len() > MOST_COLUMNS { " wide" } } {
                thead { tr {
                    th scope="col" { "Value" }
                    th.number scope="col" { "Published" }
                    @for place in &places { th.number scope="col" { (heading(record, place)) } }
                    th scope="col" { span.hidden { "Drawn" } }
                } }
                tbody {
                    @for (i, value) in record.figure.values.iter().enumerate() {
                        tr {
                            th scope="row" {
                                (value.what)
                                @let tolerance = tolerance_of_value(value);
                                (source(&value.quote, &value.by_construction, false, &tolerance))
                            }
                            td.number data-label="Published" {
                                b { (number(value.published)) } " " (value.unit) br;
                                small { (allowed(value)) }
                            }
                            @for place in &places {
                                td.number data-label=(heading(record, place)) {
                                    (ours_cell(place.compared(i), &value.unit))
                                }
                            }
                            td.drawn {
                                @for of in places.chunk_by(|a, b| a.base == b.base) {
                                    (strip(record, value, of, i).drawing())
                                }
                            }
                        }
                        @for (cause, of) in value.causes.iter().enumerate() {
                            (changed(record, &places, (i, cause), value, of))
                        }
                    }
                }
            }
        }
    }
}

fn tried<'a>(place: &Place<'a>, value: usize, cause: usize) -> Option<&'a Tried> {
    place.compared(value)?.tried.get(cause).filter(|tried| tried.moved != Moved::NotMeasured)
}

/// The value under a change of a suspected cause, in a row of its own.
fn changed(
    record: &Record,
    places: &[Place<'_>],
    (value, cause): (usize, usize),
    of: &Value,
    changes: &Cause,
) -> Markup {
    let tried: Vec<(&Place<'_>, &Tried)> =
        places.iter().filter_map(|place| Some((place, tried(place, value, cause)?))).collect();
    html! {
        tr.cause {
            th scope="row" colspan=(places.len() + 3) {
                (changes.what.trim()) ": "
                @for (i, (place, tried)) in tried.iter().enumerate() {
                    @if i > 0 { "; " }
                    @if let Some(ours) = tried.ours { b { (mean(ours)) } " " (of.unit) " " }
                    (record.with_base("", place.base).trim_start_matches(", ")) " " i { (tried.moved) }
                }
                @if tried.is_empty() { "not measured" }
            }
        }
    }
}

/// What the tolerance allows: "± 5", "at most 26".
pub(crate) fn allowed(value: &Value) -> String {
    let tolerance = tolerance(value);
    match value.is {
        // no value is only apart from another: that is for shapes
        Is::About | Is::Apart => format!("± {}", number(rounded(tolerance))),
        Is::Below => format!("at most {}", number(value.published)),
        Is::Above => format!("at least {}", number(value.published)),
    }
}

/// Three significant digits are enough for a bound that people chose.
fn rounded(x: f64) -> f64 {
    format!("{x:.2e}").parse().unwrap_or(x)
}

fn ours_cell(of: Option<&Compared>, unit: &str) -> Markup {
    // a value can be contradicted without a number, such as a time that never comes
    let finding = of.map_or(Finding::NotMeasured, |of| of.finding);
    html! {
        @if let Some(ours) = of.and_then(|of| of.ours) { b { (mean(ours)) } " " (unit) br; }
        (tick(finding))
    }
}

/// A finding as a sign with a word.
fn tick(finding: Finding) -> Markup {
    let (sign, class) = match finding {
        Finding::Holds => ("✓", "holds"),
        Finding::Open => ("?", "open"),
        Finding::Contradicted => ("✗", "contradicted"),
        Finding::NotMeasured => ("·", "notrun"),
    };
    html! { span class={ "tick " (class) } { (sign) " " (finding) } }
}

/// The value with what is allowed and what was measured on a base, from zero.
pub(super) fn strip(record: &Record, value: &Value, places: &[Place<'_>], index: usize) -> Strip {
    let colour = Some(Colour::plain(colours::of_measure(&record.figure, &value.measure)));
    let most = most_possible(&value.measure);
    let tolerance = tolerance(value);
    let look = |on| if on == Target::Simulator { Look::Dots } else { Look::Rings };
    let ours = |place: &Place<'_>| Some((look(place.on), place.compared(index)?.ours?));
    let measured = places.iter().filter_map(ours);
    let marks: Vec<_> = measured.map(|(look, of)| (look, of.mean, of.half, colour)).collect();
    let ends = marks.iter().flat_map(|(_, mean, half, _)| {
        let half = half.unwrap_or(0.0).min(WIDEST_SHOWN * mean.abs());
        [mean - half, (mean + half).min(most)]
    });
    let published = [0.0, value.published - tolerance, value.published + tolerance];
    let axis =
        Axis::around(published.into_iter().filter(|x| *x >= 0.0 || value.published < 0.0).chain(ends), 4);
    let allowed = match value.is {
        Is::About | Is::Apart => [value.published - tolerance, value.published + tolerance],
        Is::Below => [f64::NEG_INFINITY, value.published + tolerance],
        Is::Above => [value.published - tolerance, f64::INFINITY],
    };
    let square = (Look::Squares, value.published, None, None);
    Strip {
        axis,
        bar: None,
        allowed: Some(allowed),
        marks: [square].into_iter().chain(marks).collect(),
        possible: [f64::NEG_INFINITY, most],
    }
}

/// The tolerance with its reason; empty without one.
fn tolerance_said(allowed: &str, why: &str) -> String {
    if why.trim().is_empty() { String::new() } else { format!("{allowed}: {}", why.trim()) }
}

fn tolerance_of_value(value: &Value) -> String {
    tolerance_said(&allowed(value), &value.tolerance_why)
}

fn tolerance_of_shape(shape: &Shape) -> String {
    tolerance_said(&format!("within {} %", number(100.0 * shape.tolerance_ratio)), &shape.tolerance_why)
}

/// What counts a check as the paper's, or why it does not count.
fn source(quote: &str, by_construction: &str, is_ours: bool, tolerance: &str) -> Markup {
    html! {
        @if is_ours { " " small { "(ours, not of the paper)" } }
        @if !by_construction.is_empty() {
            " " small { "(cannot fail, not counted: " (by_construction.trim()) ")" }
        }
        @if !quote.trim().is_empty() {
            details { summary { "the paper's words" } q { (quote.trim()) } (tolerance) }
        } @else if !tolerance.is_empty() {
            " " small { (tolerance) }
        }
    }
}

/// Sentences of the paper that no check tests; nothing without any.
pub(super) fn claims(record: &Record) -> Markup {
    html! {
        @if !record.figure.claims.is_empty() {
            h4 { "What is not checked" }
            ul {
                @for Claim { quote, why } in &record.figure.claims {
                    li { q { (quote.trim()) } " " (why.trim()) }
                }
            }
        }
    }
}

/// The relations with their ticks; nothing without any.
pub(super) fn shapes(record: &Record) -> Markup {
    let places: Vec<Place> = record.places().collect();
    html! {
        @if !record.figure.shapes.is_empty() {
            ul.shapes {
                @for (i, shape) in record.figure.shapes.iter().enumerate() {
                    li {
                        span.what {
                            (shape.what)
                            @let tolerance = tolerance_of_shape(shape);
                            (source(&shape.quote, &shape.by_construction, shape.ours, &tolerance))
                        }
                        @for place in &places {
                            @let held = place.held(i);
                            span.held {
                                (tick(held.map_or(Finding::NotMeasured, |held| held.finding)))
                                @if let Some(held) = held.filter(|held| !held.ours.is_empty()) {
                                    " " span.relation { (relation(shape, held)) }
                                }
                                @if places.len() > 1 { " " small { (inline_heading(record, place)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What was claimed of which numbers, or the way along a sweep. A tick or a cross stands before it.
fn relation(shape: &Shape, held: &Held) -> Markup {
    match shape.along {
        Some(_) => along(&held.ours),
        // a unit stays with its number
        None => html! { (text::relation(shape, held).replace(" %", "\u{a0}%")) },
    }
}

/// First and last value with the way between them.
fn along(ours: &[Mean]) -> Markup {
    let axis = Axis::around([0.0].into_iter().chain(ours.iter().map(|of| of.mean)), 4);
    let x: Vec<f64> = (0..ours.len()).map(|i| i as f64).collect();
    let path =
        fairpace_report::chart::sparkline(axis, &x, &ours.iter().map(|of| of.mean).collect::<Vec<_>>());
    html! {
        @if let Some(first) = ours.first() { (number(first.mean)) }
        (path)
        @if let Some(last) = ours.last() { (number(last.mean)) }
    }
}
