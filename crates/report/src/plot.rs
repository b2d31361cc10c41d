//! One plot: the drawing, which the page and the picture share, and its frame in the page.

use crate::scale::{Axis, HEIGHT, Scale, WIDTH, tick_text};
use crate::words::explained;
use maud::{Markup, PreEscaped, html};

// Colours and dashes repeat after these many flows; together they distinguish 24 flows.
const COLOURS: usize = 8;
const DASHES: usize = 3;

/// The CSS classes for the colour and dash of a flow, or of a link if there is no flow.
pub(crate) fn flow_class(flow: Option<usize>) -> String {
    match flow {
        Some(i) => format!("c{} d{}", i % COLOURS, i / COLOURS % DASHES),
        None => "link".into(),
    }
}

/// A path that is drawn over time, with the flow that it belongs to.
pub(crate) struct Mark {
    /// CSS class: `line`, `thin`, `faint` or `area`.
    pub(crate) kind: &'static str,
    pub(crate) flow: Option<usize>,
    pub(crate) path: String,
}

/// A dashed horizontal line at a constant value, for comparison.
pub(crate) struct Rule {
    pub(crate) value: f64,
    pub(crate) flow: Option<usize>,
    /// Text at the line, only in the page; empty for none.
    pub(crate) label: String,
}

/// The text about a flow or link above a plot: the mean over the measurement window, or the values at the
/// cursor.
pub(crate) struct Readout {
    pub(crate) label: String,
    pub(crate) flow: Option<usize>,
    /// Mean over the measurement window, as text.
    pub(crate) text: String,
    /// The values at the cursor; several values are shown with slashes between them.
    pub(crate) series: Vec<Vec<f32>>,
}

/// A plot with its title and legend.
pub(crate) struct Panel {
    /// The key of this panel's values in the data of the run.
    pub(crate) key: String,
    pub(crate) title: String,
    /// Unit of the values.
    pub(crate) unit: &'static str,
    /// The meaning of the line styles, if it needs an explanation.
    pub(crate) note: String,
    pub(crate) scale: Scale,
    pub(crate) marks: Vec<Mark>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) readouts: Vec<Readout>,
}

/// The content of a plot: time outside the measurement window, grid, rules, marks, in plot units. Lines keep
/// their width when the plot is stretched.
pub(crate) fn drawing(scale: &Scale, window_s: [f64; 2], marks: &[Mark], rules: &[Rule]) -> Markup {
    let (from, to) = (scale.x(window_s[0]), scale.x(window_s[1]));
    let grid: String = scale.value.ticks().map(|tick| format!("M0,{}h{WIDTH}", scale.y(tick))).collect();
    html! {
        @if from > 0 { rect class="outside" width=(from) height=(HEIGHT) {} }
        @if to < WIDTH && to > from { rect class="outside" x=(to) width=(WIDTH - to) height=(HEIGHT) {} }
        path class="grid" d=(grid) {}
        @for mark in marks {
            @if !mark.path.is_empty() {
                path class={ (mark.kind) " " (flow_class(mark.flow)) } data-flow=[mark.flow] d=(mark.path) {}
            }
        }
        @for rule in rules {
            path class={ "rule " (flow_class(rule.flow)) } data-flow=[rule.flow]
                d={ "M0," (scale.y(rule.value)) "h" (WIDTH) } {}
        }
    }
}

/// A position as a percentage of the width or height of a plot.
pub(crate) fn percent(part: f64) -> String {
    let text = format!("{:.2}", part * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The frame of a plot in the page: caption with readout, plot, and axes as HTML text beside it, so that the
/// size of the text does not change.
pub(crate) fn figure(run: usize, panel: &Panel, window_s: [f64; 2], aside: &Markup) -> Markup {
    let description =
        panel.readouts.iter().map(|r| format!("{} {}", r.label, r.text)).collect::<Vec<_>>().join(", ");
    html! {
        figure.panel tabindex="0" data-run=(run) data-panel=(panel.key) data-max=(panel.scale.value.max) {
            (caption(&panel.title, panel.unit, &panel.note, &panel.readouts))
            div.frame {
                (y_axis(&panel.scale.value))
                div.plot {
                    svg.drawing viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
                        preserveAspectRatio="none" role="img" {
                        title { (panel.title) " over time" @if !panel.unit.is_empty() { ", " (panel.unit) } }
                        desc { "Means over the measurement window: " (description) "." }
                        (drawing(&panel.scale, window_s, &panel.marks, &panel.rules))
                    }
                    @for rule in panel.rules.iter().filter(|rule| !rule.label.is_empty()) {
                        span class={ "rulelabel " (flow_class(rule.flow)) }
                            data-flow=[rule.flow] data-value=(rule.value)
                            style={ "bottom:" (percent(panel.scale.value.place(rule.value))) }
                            { (rule.label) }
                    }
                    div.cursor hidden {}
                }
                (aside)
                (x_axis(&panel.scale.time, tick_text))
            }
        }
    }
}

/// Title, unit and readout of a panel.
pub(crate) fn caption(title: &str, unit: &str, note: &str, readouts: &[Readout]) -> Markup {
    html! {
        figcaption {
            // a plot without a unit has the title of a user
            span.title { @if unit.is_empty() { (title) } @else { (explained(title)) } }
            @if !unit.is_empty() { span.unit { (unit) } }
            @if !note.is_empty() { span.note { (explained(note)) } }
            span.readouts {
                @for readout in readouts {
                    span.readout data-flow=[readout.flow] {
                        (swatch(readout.flow))
                        @if !readout.label.is_empty() { (readout.label) " " }
                        b { (readout.text) }
                    }
                }
            }
        }
    }
}

/// The labels at the left of a plot.
pub(crate) fn y_axis(axis: &Axis) -> Markup {
    html! {
        div.yaxis aria-hidden="true" {
            @for tick in axis.ticks() {
                span style={ "bottom:" (percent(axis.place(tick))) } { (tick_text(tick)) }
            }
        }
    }
}

/// The labels under a plot. The script replaces those of an axis of time when it changes the span.
pub(crate) fn x_axis(axis: &Axis, text: fn(f64) -> String) -> Markup {
    html! {
        div.xaxis aria-hidden="true" {
            @for tick in axis.ticks() {
                span style={ "left:" (percent(axis.place(tick))) } { (text(tick)) }
            }
        }
    }
}

/// A short sample of a flow's line.
pub(crate) fn swatch(flow: Option<usize>) -> Markup {
    html! {
        svg.swatch viewBox="0 0 16 8" aria-hidden="true" {
            path class={ "line " (flow_class(flow)) } d="M0,4h16" {}
        }
    }
}

/// A file that becomes a part of the page, unescaped.
pub(crate) fn asset(text: &'static str) -> PreEscaped<&'static str> {
    PreEscaped(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::width;

    /// `--axis` and the space behind a tick in page.css, and the size of its text.
    #[test]
    fn the_numbers_of_an_axis_fit_beside_it() {
        for largest in (-2..8).flat_map(|power| [1.0, 1.4, 2.5, 5.0, 9.9].map(|x| x * 10_f64.powi(power))) {
            for tick in Axis::holding(largest, 5).ticks().map(tick_text) {
                assert!(width(&tick, 12.0) + 6.0 <= 44.0, "{tick}");
            }
        }
    }
}
