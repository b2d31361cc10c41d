//! One plot: the drawing, which the page and the picture share, and the page's frame around it.

use crate::scale::{HEIGHT, Scale, WIDTH, tick_text};
use maud::{Markup, PreEscaped, html};

/// Colours and dashes repeat after these many flows; together they tell 24 flows apart.
const COLOURS: usize = 8;
const DASHES: usize = 3;

/// Class names that give a flow (or, without one, a link) its colour and dash.
pub(crate) fn flow_class(flow: Option<usize>) -> String {
    match flow {
        Some(i) => format!("c{} d{}", i % COLOURS, i / COLOURS % DASHES),
        None => "link".into(),
    }
}

/// Something drawn over time: a path and what it belongs to.
pub(crate) struct Mark {
    /// `line`, `thin`, `faint` or `area`.
    pub(crate) kind: &'static str,
    pub(crate) flow: Option<usize>,
    pub(crate) path: String,
}

/// A constant that something is compared with: a dashed horizontal line.
pub(crate) struct Rule {
    pub(crate) value: f64,
    pub(crate) flow: Option<usize>,
    /// Shown at the line in the page; empty for none.
    pub(crate) label: String,
}

/// What is said about a flow or link above a plot: over the window at first, then where the cursor is.
pub(crate) struct Readout {
    pub(crate) label: String,
    pub(crate) flow: Option<usize>,
    /// Mean over the window, as text.
    pub(crate) text: String,
    /// The values for the cursor; several are shown with a slash between them.
    pub(crate) series: Vec<Vec<f32>>,
}

/// A plot with its title and legend.
pub(crate) struct Panel {
    /// Finds the values that belong to this panel in the data of the run.
    pub(crate) key: String,
    pub(crate) title: String,
    /// Unit of the values.
    pub(crate) unit: &'static str,
    /// What the line styles mean, if that needs saying.
    pub(crate) note: String,
    pub(crate) scale: Scale,
    pub(crate) marks: Vec<Mark>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) readouts: Vec<Readout>,
}

/// The inside of a plot: what is not measured, grid, rules, marks. In plot units; lines keep their width when the
/// plot is stretched.
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

/// A place in percent of a plot's width or height.
pub(crate) fn percent(part: f64) -> String {
    let text = format!("{:.2}", part * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The page's frame: caption with readout, plot, axes as text beside it, so that text keeps its size.
pub(crate) fn figure(run: usize, panel: &Panel, window_s: [f64; 2], aside: &Markup) -> Markup {
    let description =
        panel.readouts.iter().map(|r| format!("{} {}", r.label, r.text)).collect::<Vec<_>>().join(", ");
    html! {
        figure.panel tabindex="0" data-run=(run) data-panel=(panel.key) data-max=(panel.scale.value.max) {
            (caption(&panel.title, panel.unit, &panel.note, &panel.readouts))
            div.frame {
                div.yaxis aria-hidden="true" {
                    @for tick in panel.scale.value.ticks() {
                        span style={ "bottom:" (percent(panel.scale.value.place(tick))) } { (tick_text(tick)) }
                    }
                }
                div.plot {
                    svg.drawing viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" {
                        title { (panel.title) " over time, " (panel.unit) }
                        desc { "Means over the measurement window: " (description) "." }
                        (drawing(&panel.scale, window_s, &panel.marks, &panel.rules))
                    }
                    @for rule in panel.rules.iter().filter(|rule| !rule.label.is_empty()) {
                        span.rulelabel data-flow=[rule.flow] data-value=(rule.value) style={ "bottom:" (percent(panel.scale.value.place(rule.value))) } { (rule.label) }
                    }
                    div.cursor hidden {}
                }
                (aside)
                (time_axis(&panel.scale))
            }
        }
    }
}

/// Title, unit and the readout of a panel.
pub(crate) fn caption(title: &str, unit: &str, note: &str, readouts: &[Readout]) -> Markup {
    html! {
        figcaption {
            span.title { (title) }
            @if !unit.is_empty() { span.unit { (unit) } }
            @if !note.is_empty() { span.note { (note) } }
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

/// The labels under a plot; the script writes them anew when it changes the span of time.
pub(crate) fn time_axis(scale: &Scale) -> Markup {
    html! {
        div.xaxis aria-hidden="true" {
            @for tick in scale.time.ticks() {
                span style={ "left:" (percent(scale.time.place(tick))) } { (tick_text(tick)) }
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

/// A file that belongs to the page, put in as it is.
pub(crate) fn asset(text: &'static str) -> PreEscaped<&'static str> {
    PreEscaped(text)
}
