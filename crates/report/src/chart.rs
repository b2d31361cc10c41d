//! Charts of any quantity over any other, for pages about more than one run: curves with intervals, measured
//! and published points, labels at the ends of the curves. The text around a chart is HTML, so its size does
//! not change with the drawing.

use crate::change;
use crate::colour::{class, style};
use crate::path::{area, line, steps};
use crate::plot::{asset, percent, x_axis, y_axis};
use crate::scale::{HEIGHT, Scale, WIDTH, spread, tick_text};
use crate::svg::{number, width};
use maud::{Markup, PreEscaped, html};

pub use crate::change::Change;
pub use crate::colour::{Colour, Hue, Tone};
pub use crate::scale::Axis;
pub use crate::strip::Strip;

/// Height of a chart in pixels, as in chart.css.
pub(crate) const PLOT_PX: f64 = 260.0;
/// Height of a label at the end of a curve in pixels, as in chart.css.
pub(crate) const LABEL_PX: f64 = 16.0;
/// Size of the letters of a label at the end of a curve in pixels, as in chart.css.
const LABEL: f64 = 13.0;
/// Space before a label for a line to its curve in pixels, as in chart.css.
const BEFORE_LABEL: f64 = 20.0;
/// The largest number of labels that fit beside the curves. Otherwise the labels are above the chart.
const MOST_LABELS: usize = 8;
/// The largest number of letters in a label that fits beside the curves.
const LONGEST_LABEL: usize = 26;
/// Most points of a line of normal width. A line with more is thinner, as it is a series, not a few means.
const FINE_FROM: usize = 150;
/// The last part of the horizontal axis, whose values determine the height of a label.
const LABELLED_PART: f64 = 0.1;

/// How values are drawn. A look means the same in every chart, strip and legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Look {
    /// A line through the points, with the interval as a band.
    Line,
    /// A step curve: a value applies until the next.
    Steps,
    /// A dashed line: a reference for comparison.
    Dashed,
    /// A line of dashes and dots through the points, with the interval as a band: for results that are not in
    /// the paper.
    Broken,
    /// Filled circles, with the interval as whiskers.
    Dots,
    /// Open circles, with the interval as whiskers.
    Rings,
    /// Open squares, with the interval as whiskers.
    Squares,
    /// Filled squares, with the interval as whiskers: for results that are not in the paper.
    Boxes,
}

/// A set of values with the same look.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// The look of the values.
    pub look: Look,
    /// Horizontal values.
    pub x: Vec<f64>,
    /// Vertical values; NaN is a gap.
    pub y: Vec<f64>,
    /// Half of the interval of each value; NaN or missing for a value without one.
    pub half: Vec<f64>,
}

/// The layers of one entry in the legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Text of the entry.
    pub label: String,
    /// Colour of the curve; `None` is the colour of text.
    pub colour: Option<Colour>,
    /// The layers of the curve, from back to front.
    pub layers: Vec<Layer>,
}

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Title of the chart.
    pub title: String,
    /// Text beside the title, such as the place of the measurement.
    pub note: String,
    /// Title of the horizontal axis, with its unit.
    pub x_title: String,
    /// Title of the vertical axis, with its unit.
    pub y_title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves, in the order of the legend.
    pub curves: Vec<Curve>,
    /// Grey vertical lines behind the curves.
    pub changes: Vec<Change>,
    /// Whether both axes have the same length. A curve may then turn back, because neither axis is time.
    pub square: bool,
    /// Possible range of the vertical quantity: no interval is drawn beyond it.
    pub possible: [f64; 2],
}

/// The possible range of a quantity without limits.
pub const ANY: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

/// The head of a page with charts, with additional style. Such a page loads no file and has no script.
#[must_use]
pub fn head(title: &str, page_style: &'static str) -> Markup {
    crate::page::head(
        title,
        false,
        &html! {
            (asset(include_str!("../assets/chart.css"))) (PreEscaped(style())) (asset(page_style))
        },
    )
}

impl Chart {
    /// Renders the chart with its title, legend and axes as HTML.
    #[must_use]
    pub fn figure(&self) -> Markup {
        let ends = self.ends();
        let class = match (self.square, &ends) {
            (true, _) => "chart square",
            (_, Some(_)) => "chart direct",
            _ => "chart",
        };
        html! {
            figure class=(class) {
                figcaption {
                    @if !self.title.is_empty() { span.title { (self.title) } }
                    @if !self.note.is_empty() { span.note { (self.note) } }
                    @if self.needs_key() { span.readouts.key {
                        @for curve in &self.curves { span.readout { (swatch(curve)) " " (curve.label) } }
                    } }
                    span.unit { (self.y_title) @if self.y.is_log() { " (logarithmic)" } }
                }
                div.frame {
                    (y_axis(&self.y))
                    div.plot.still {
                        (self.drawing(2000))
                        (change::names(&self.changes, &self.x))
                    }
                    @if let Some(ends) = &ends { (self.labels(ends)) }
                    (x_axis(&self.x, tick_text))
                    div.xtitle { (self.x_title) @if self.x.is_log() { " (logarithmic)" } }
                }
            }
        }
    }

    /// Whether the chart needs a legend. A single curve named like the axis needs none.
    pub(crate) fn needs_key(&self) -> bool {
        let y_title = self.y_title.to_lowercase();
        !matches!(self.curves.as_slice(), [only] if y_title.starts_with(&only.label.to_lowercase()))
    }

    /// The SVG element of the drawing, with at most about `columns` points of a curve over time.
    fn drawing(&self, columns: usize) -> Markup {
        let labels: Vec<&str> = self.curves.iter().map(|curve| curve.label.as_str()).collect();
        html! {
            svg.drawing viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" {
                title { (self.y_title) " over " (self.x_title) }
                desc { (labels.join(", ")) }
                (self.inside(columns))
            }
        }
    }

    /// The content of the chart's SVG element, in plot units.
    pub(crate) fn inside(&self, columns: usize) -> Markup {
        let columns = if self.square { usize::MAX } else { columns / self.curves.len().clamp(1, 4) };
        let scale = Scale { time: self.x, value: self.y, columns };
        let horizontal = self.y.ticks().map(|tick| format!("M0,{}h{WIDTH}", scale.y(tick)));
        let vertical = self.x.ticks().map(|tick| format!("M{},0v{HEIGHT}", scale.x(tick)));
        let grid: String = horizontal.chain(vertical.filter(|_| self.square || self.x.is_log())).collect();
        html! {
            path class="grid" d=(grid) {}
            (change::lines(&self.changes, &scale))
            // All lines are below all points.
            @for points in [false, true] {
                @for curve in self.back_to_front() {
                    @for layer in curve.layers.iter().filter(|layer| layer.look.is_points() == points) {
                        (layer.drawing(&scale, self.possible, &class(curve.colour)))
                    }
                }
            }
        }
    }

    /// The curves from back to front. Curves that turn back hide each other: the first is in front.
    fn back_to_front(&self) -> Vec<&Curve> {
        if self.square { self.curves.iter().rev().collect() } else { self.curves.iter().collect() }
    }

    /// The heights of the curve ends, if each curve has a label that fits there.
    pub(crate) fn ends(&self) -> Option<Vec<f64>> {
        let short = |curve: &Curve| curve.label.chars().count() <= LONGEST_LABEL;
        let many = self.square || self.curves.len() < 2 || self.curves.len() > MOST_LABELS;
        if many
            || !self.curves.iter().all(short)
            || self.curves.iter().any(|c| c.layers.iter().any(|l| l.look == Look::Steps))
        {
            return None;
        }
        self.curves.iter().map(|curve| curve.end(&self.x, &self.y)).collect()
    }

    /// The labels at the ends of the curves, each with a line to its curve.
    fn labels(&self, ends: &[f64]) -> Markup {
        let half = LABEL_PX / PLOT_PX / 2.0;
        let label = self.curves.iter().map(|curve| width(&curve.label, LABEL)).fold(0.0, f64::max);
        let places = spread(ends, 2.0 * half, half, 1.0 - half);
        let y = |part: f64| HEIGHT - (part * f64::from(HEIGHT)).round() as i32;
        html! {
            div.ends aria-hidden="true" style={ "width:" (number(BEFORE_LABEL + label)) "px" } {
                svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" {
                    @for ((curve, end), place) in self.curves.iter().zip(ends).zip(&places) {
                        path class={ "thin " (class(curve.colour)) }
                            d={ "M0," (y(*end)) "L" (WIDTH) "," (y(*place)) } {}
                    }
                }
                @for (curve, place) in self.curves.iter().zip(&places) {
                    span class=(class(curve.colour))
                        style={ "bottom:" (percent(*place)) } { (curve.label) }
                }
            }
        }
    }
}

impl Curve {
    /// The look of the curve in a legend: the look of its line, or of its marks if it has no line.
    pub(crate) fn look(&self) -> Look {
        let lines = self.layers.iter().map(|layer| layer.look).find(|look| !look.is_points());
        let points = self.layers.first().map_or(Look::Line, |layer| layer.look);
        lines.unwrap_or(points)
    }

    /// The height of the curve's end, if the curve reaches the right part of the chart.
    fn end(&self, x: &Axis, y: &Axis) -> Option<f64> {
        let layer = self.layers.iter().find(|layer| !matches!(layer.look, Look::Squares))?;
        let finite = layer.x.iter().zip(&layer.y).filter(|(x, y)| x.is_finite() && y.is_finite());
        let places: Vec<(f64, f64)> = finite.map(|(a, b)| (x.place(*a), y.place(*b))).collect();
        let last = places.iter().map(|(x, _)| *x).fold(0.0, f64::max);
        let mut near: Vec<f64> =
            places.iter().filter(|(x, _)| *x >= last - LABELLED_PART / 2.0).map(|(_, y)| *y).collect();
        near.sort_by(f64::total_cmp);
        (last > 0.9).then(|| near.get(near.len() / 2).copied()).flatten()
    }
}

impl Look {
    fn is_points(self) -> bool {
        matches!(self, Look::Dots | Look::Rings | Look::Squares | Look::Boxes)
    }

    /// CSS class of the look.
    fn class(self) -> &'static str {
        match self {
            Look::Line | Look::Steps => "line",
            Look::Dashed => "rule",
            Look::Broken => "line broken",
            Look::Dots => "dot",
            Look::Rings => "ring",
            Look::Squares => "square",
            Look::Boxes => "box",
        }
    }
}

impl Layer {
    /// A layer without intervals.
    #[must_use]
    pub fn plain(look: Look, x: Vec<f64>, y: Vec<f64>) -> Layer {
        Layer { look, x, y, half: Vec::new() }
    }

    fn half(&self, i: usize) -> f64 {
        self.half.get(i).copied().filter(|half| half.is_finite() && *half > 0.0).unwrap_or(f64::NAN)
    }

    fn drawing(&self, scale: &Scale, possible: [f64; 2], colour: &str) -> Markup {
        let y: Vec<f32> = self.y.iter().map(|y| *y as f32).collect();
        if self.look.is_points() {
            return self.points(scale, possible, colour);
        }
        let path = match self.look {
            Look::Steps => steps(&self.x, &y, scale),
            _ => line(&self.x, &y, scale),
        };
        let has_band = matches!(self.look, Look::Line | Look::Broken);
        let band = if has_band { self.band(scale, possible) } else { String::new() };
        let fine = if y.len() > FINE_FROM { " fine" } else { "" };
        html! {
            @if !band.is_empty() { path class={ "band " (colour) } d=(band) {} }
            @if !path.is_empty() { path class={ (self.look.class()) (fine) " " (colour) } d=(path) {} }
        }
    }

    /// The path of the interval around a line, wherever two neighbouring points have an interval.
    fn band(&self, scale: &Scale, possible: [f64; 2]) -> String {
        let points = self.x.len().min(self.y.len());
        let has = |i: &usize| self.x[*i].is_finite() && self.y[*i].is_finite() && self.half(*i).is_finite();
        let all: Vec<usize> = (0..points).collect();
        let edge = |run: &[usize], sign: f64| -> Vec<f32> {
            run.iter().map(|i| within(self.y[*i] + sign * self.half(*i), possible) as f32).collect()
        };
        let runs = all.chunk_by(|a, b| has(a) == has(b)).filter(|run| has(&run[0]) && run.len() > 1);
        runs.map(|run| {
            area(
                &run.iter().map(|i| self.x[*i]).collect::<Vec<_>>(),
                &edge(run, -1.0),
                &edge(run, 1.0),
                scale,
            )
        })
        .collect()
    }

    /// Marks as lines of length zero: the stroke sets their width, so stretching the drawing does not change
    /// it.
    fn points(&self, scale: &Scale, possible: [f64; 2], colour: &str) -> Markup {
        let points = self.x.iter().zip(&self.y).enumerate();
        let finite = points.filter(|(_, (x, y))| x.is_finite() && y.is_finite());
        let (mut marks, mut whiskers) = (String::new(), String::new());
        for (i, (x, y)) in finite {
            marks += &format!("M{},{}h0", scale.x(*x), scale.y(*y));
            if self.half(i).is_finite() {
                let end = |sign: f64| scale.y(within(*y + sign * self.half(i), possible));
                let (top, bottom) = (end(1.0), end(-1.0));
                whiskers += &format!("M{},{top}V{bottom}", scale.x(*x));
            }
        }
        marked(self.look, colour, &marks, &whiskers)
    }
}

/// The end of an interval, limited to the possible range.
pub(crate) fn within(end: f64, [least, most]: [f64; 2]) -> f64 {
    end.clamp(least, most)
}

/// Marks with their whiskers. Open marks are drawn twice, the second time smaller and in the background
/// colour.
pub(crate) fn marked(look: Look, colour: &str, marks: &str, whiskers: &str) -> Markup {
    html! {
        @if !whiskers.is_empty() { path class={ "whisker " (colour) } d=(whiskers) {} }
        @if !marks.is_empty() {
            path class={ "mark " (look.class()) " " (colour) } d=(marks) {}
            @if matches!(look, Look::Rings | Look::Squares) {
                path class={ "mark hole " (look.class()) } d=(marks) {}
            }
        }
    }
}

/// A sample of a curve for a legend.
fn swatch(curve: &Curve) -> Markup {
    sample(curve.look(), curve.colour)
}

/// A sample of a look for a legend.
#[must_use]
pub fn sample(look: Look, colour: Option<Colour>) -> Markup {
    html! { svg.swatch viewBox="0 0 16 8" aria-hidden="true" { (sampled(look, colour)) } }
}

/// The content of a sample, 16 wide and 8 high.
fn sampled(look: Look, colour: Option<Colour>) -> Markup {
    samples(look, &class(colour), &[[0.0, 0.0]])
}

/// Samples of one look and colour, given their left upper corners.
pub(crate) fn samples(look: Look, colour: &str, corners: &[[f64; 2]]) -> Markup {
    let of = |[x, y]: &[f64; 2]| match look.is_points() {
        true => format!("M{},{}h0", number(x + 8.0).0, number(y + 4.0).0),
        false => format!("M{},{}h16", number(*x).0, number(y + 4.0).0),
    };
    let path: String = corners.iter().map(of).collect();
    html! {
        @if look.is_points() { (marked(look, colour, &path, "")) }
        @else { path class={ (look.class()) " " (colour) } d=(path) {} }
    }
}

/// A row of a bar chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// A heading above the row; empty for none.
    pub above: String,
    /// Label in front of the row.
    pub label: String,
    /// The bars of the row, from above: one, or one for each entry of the legend.
    pub bars: Vec<Bar>,
}

/// A bar, or marks in its place, with numbers after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Colour of the bar's marks.
    pub colour: Option<Colour>,
    /// The numbers after the bar, one for each mark.
    pub said: Vec<(Look, String)>,
    /// Drawing of the bar and its marks.
    pub strip: Strip,
}

/// A bar chart: bars or marks on a common axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// Title of the chart.
    pub title: String,
    /// Unit of the values.
    pub unit: String,
    /// The legend: names and colours of the bars of a row, from above; empty if each row has one bar.
    pub key: Vec<(String, Option<Colour>)>,
    /// The axis of all rows.
    pub axis: Axis,
    /// The rows, from above.
    pub rows: Vec<Row>,
}

/// Longest label, in letters, that stands beside its bars where the page is narrow; a longer one is above.
const LONGEST_BESIDE: usize = 12;
/// Longest text of numbers, in letters, beside its bars where the page is narrow; a longer one is below.
const LONGEST_SAID: usize = 26;
/// Longest label, in letters, that has one line; a longer one has two.
const WIDEST_BESIDE: usize = 26;
/// Space of a mark in front of its number, in letters.
const MARK: usize = 4;

impl Bars {
    /// Renders the chart as HTML.
    #[must_use]
    pub fn figure(&self) -> Markup {
        let label = self.rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
        let letters = |bar: &Bar| bar.said.iter().map(|(_, text)| text.chars().count() + MARK).sum::<usize>();
        let said = self.rows.iter().flat_map(|row| &row.bars).map(letters).max().unwrap_or(0);
        let class = match (label > LONGEST_BESIDE, said > LONGEST_SAID) {
            (_, true) => "chart bars long",
            (true, false) => "chart bars tall",
            _ => "chart bars",
        };
        // A letter is at most about 0.62 of the size of the text, a digit of the smaller numbers 0.53.
        let em = |letters: usize, width: f64| format!("{:.1}em", letters as f64 * width);
        let widths = format!("--label:{};--said:{}", em(label.min(WIDEST_BESIDE), 0.62), em(said, 0.53));
        html! {
            figure class=(class) style=(widths) {
                figcaption {
                    @if !self.title.is_empty() { span.title { (self.title) } }
                    @if !self.key.is_empty() { span.readouts.key {
                        @for (label, colour) in &self.key {
                            span.readout { (bar_sample(*colour)) " " (label) }
                        }
                    } }
                    span.unit { (self.unit) @if self.axis.is_log() { " (logarithmic)" } }
                }
                @for row in &self.rows { (row.figure()) }
                div.row { (x_axis(&self.axis, tick_text)) }
            }
        }
    }
}

impl Row {
    fn figure(&self) -> Markup {
        html! {
            @if !self.above.is_empty() { div.above { (self.above) } }
            div class={ "row" @if self.bars.len() > 1 { " many" } } {
                span.label style={ "--bars:" (self.bars.len()) } { (self.label) }
                @for bar in &self.bars {
                    (bar.strip.drawing())
                    span.said {
                        @for (look, text) in &bar.said { span { (sample(*look, bar.of(*look))) " " (text) } }
                    }
                }
            }
        }
    }
}

impl Bar {
    /// Colour of a mark: a published value has the colour of text.
    pub(crate) fn of(&self, look: Look) -> Option<Colour> {
        self.colour.filter(|_| look != Look::Squares)
    }
}

/// A sample of a bar for a legend.
fn bar_sample(colour: Option<Colour>) -> Markup {
    html! { svg.swatch viewBox="0 0 16 8" aria-hidden="true" { (bar_sampled(colour)) } }
}

/// The content of a sample of a bar, 16 wide and 8 high.
pub(crate) fn bar_sampled(colour: Option<Colour>) -> Markup {
    html! { rect class={ "bar " (class(colour)) } width="16" height="8" {} }
}

/// Replaces characters that XML does not allow, so that a text may appear in a page.
#[must_use]
pub fn printable(text: String) -> String {
    crate::printable(text)
}
