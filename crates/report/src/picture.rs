//! The picture for a README: goodput over time of every run as one SVG.

use crate::headline::{labels, legend, marks, rows, rules, subtitle};
use crate::panels::Axes;
use crate::plot::{drawing, flow_class};
use crate::scale::{HEIGHT, Scale, WIDTH, tick_text};
use crate::svg::{self, number};
use crate::{Case, Study, beside};
use maud::{Markup, html};

/// Dimensions of the picture, in its units, which are about pixels in a README.
mod layout {
    /// Width of the picture, about that of a README.
    pub(super) const WIDTH: usize = 900;
    /// Number of plots that are stacked, because side by side they would be too small for a phone.
    pub(super) const STACKED: usize = 2;
    /// Width of a picture of [`STACKED`] plots: that of a README on a phone of 390 pixels, less its margins.
    pub(super) const STACKED_WIDTH: usize = 358;
    /// Letters of the explanation in a line of [`STACKED_WIDTH`]: a letter of 11.5 pixels is about 6 wide.
    pub(super) const STACKED_LETTERS: usize = 54;
    /// Least width of a plot with its axis and numbers, in which the subtitle fits. Four plots in a row widen
    /// the picture.
    pub(super) const LEAST_CELL: usize = 275;
    /// Height of a row of plots with their titles and axes.
    pub(super) const CELL_HEIGHT: usize = 236;
    /// Space above the first row for the title and the key.
    pub(super) const TOP: usize = 78;
    /// Space to the left of a plot for the numbers of the axis.
    pub(super) const PLOT_X: usize = 38;
    /// Space above a plot for the name of the run and its subtitle.
    pub(super) const PLOT_Y: usize = 44;
    /// Space to the right of a plot for the numbers.
    pub(super) const ASIDE: usize = 76;
    /// Height of a plot.
    pub(super) const PLOT_HEIGHT: usize = 156;
    /// Height of a line of text.
    pub(super) const LINE: f64 = 15.0;
    /// Height of a line of the explanation below the plots.
    pub(super) const LEGEND_LINE: usize = 15;
    /// Largest width of a letter of the title.
    pub(super) const HEAD_LETTER: usize = 11;
}
use layout::*;

/// The picture as an SVG document.
pub(crate) fn svg(study: &Study) -> String {
    let axes = Axes::new(study);
    let scale = study.scale(axes.goodput);
    let stacked = study.runs.len() == STACKED;
    let rows = if stacked { study.runs.iter().map(|case| vec![case]).collect() } else { rows(study) };
    let columns = rows.iter().map(Vec::len).max().unwrap_or(1);
    let least_width = if stacked { STACKED_WIDTH } else { layout::WIDTH };
    let cell_width = (least_width / columns).max(LEAST_CELL);
    let width = least_width.max(columns * cell_width);
    let legend = legend(study);
    let legend = if stacked { parts(&legend, STACKED_LETTERS) } else { vec![legend] };
    let plots_end = TOP + rows.len().max(1) * CELL_HEIGHT;
    let height = plots_end + 13 + legend.len() * LEGEND_LINE;
    let description: Vec<String> =
        study.runs.iter().map(|case| format!("{}: {}", case.label, subtitle(case))).collect();
    let styles = [
        include_str!("../assets/palette.css"),
        include_str!("../assets/dark.css"),
        include_str!("../assets/plot.css"),
        include_str!("../assets/picture.css"),
    ];
    let drawing = html! {
        rect.paper width="100%" height="100%" rx="6" {}
        text.head x=(PLOT_X) y="30" { (clip(study.title, width / HEAD_LETTER)) }
        (key(study, width))
        @for (r, row) in rows.iter().enumerate() {
            @for (c, case) in row.iter().enumerate() {
                g transform={ "translate(" (c * cell_width) "," (TOP + r * CELL_HEIGHT) ")" } {
                    (cell(study, case, &scale, cell_width - PLOT_X - ASIDE))
                }
            }
        }
        @for (i, line) in legend.iter().enumerate() {
            text.muted x=(if stacked { LEGEND_LINE } else { PLOT_X })
                y=(plots_end + 14 + i * LEGEND_LINE) { (line) }
        }
    };
    svg::file(html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height)
            viewBox={ "0 0 " (width) " " (height) } role="img" aria-labelledby="t d" {
            title #t { (study.title) }
            desc #d { "Goodput over time. " (description.join("; ")) "." }
            style { (svg::style(&styles, &drawing.0)) }
            (drawing)
        }
    })
}

/// The names of the flows with their lines. The numbers beside the plots have the same colours.
fn key(study: &Study, width: usize) -> Markup {
    let own = (0..study.most_flows().min(6)).map(|i| (i, clip(&study.flow_name(i), 16)));
    let records = beside::flows(study).into_iter().map(|of| (of.index, clip(&of.label, 16)));
    let (indices, names): (Vec<usize>, Vec<String>) = own.chain(records).unzip();
    // Space for a line, a name with about seven units per letter, and a gap.
    let place =
        |count: usize| PLOT_X + names[..count].iter().map(|n| 44 + 7 * n.chars().count()).sum::<usize>();
    let fit = (0..names.len()).take_while(|i| place(i + 1) <= width).count();
    html! {
        @for (i, name) in names[..fit].iter().enumerate() {
            path class={ "line " (flow_class(Some(indices[i]))) } d={ "M" (place(i)) ",48h18" } {}
            text.name x=(place(i) + 24) y="52" { (name) }
        }
    }
}

fn cell(study: &Study, case: &Case, scale: &Scale, plot_width: usize) -> Markup {
    let below = |part: f64| PLOT_Y as f64 + PLOT_HEIGHT as f64 * (1.0 - part);
    let right = PLOT_X + plot_width + 8;
    html! {
        text.run x=(PLOT_X) y="18" { (clip(&case.label, 30)) }
        text.muted x=(PLOT_X) y="34" { (subtitle(case)) }
        svg x=(PLOT_X) y=(PLOT_Y) width=(plot_width) height=(PLOT_HEIGHT)
            viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
            preserveAspectRatio="none" {
            (drawing(scale, case.run.summary.window_s, &marks(study, case, scale), &rules(case)))
        }
        @for tick in scale.value.ticks() {
            text.tick.end x=(PLOT_X - 6)
                y=(number(below(scale.value.place(tick)) + 4.0)) { (tick_text(tick)) }
        }
        @for tick in scale.time.ticks() {
            text.tick.middle x=(number(PLOT_X as f64 + scale.time.place(tick) * plot_width as f64))
                y=(PLOT_Y + PLOT_HEIGHT + 16) {
                (tick_text(tick))
            }
        }
        @for label in labels(case, scale, LINE / PLOT_HEIGHT as f64) {
            @let middle = below(label.place);
            @let lift = if label.published.is_some() { LINE / 2.0 } else { 0.0 };
            text class={ "value " (flow_class(Some(label.flow))) } x=(right)
                y=(number(middle - lift + 5.0)) { (label.mean) }
            @if let Some(published) = &label.published {
                text.muted x=(right) y=(number(middle + lift + 4.0)) { (clip(published, 12)) }
            }
        }
    }
}

/// Splits a text into lines of about `length` characters, which end after a semicolon.
fn parts(text: &str, length: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in text.split_inclusive("; ") {
        match lines.last_mut() {
            Some(line) if line.chars().count() + part.trim_end().chars().count() <= length => {
                line.push_str(part);
            }
            _ => lines.push(part.to_owned()),
        }
    }
    lines
}

/// Cuts the text to at most `length` characters, because SVG text does not wrap.
fn clip(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        text.into()
    } else {
        text.chars().take(length - 1).chain(['…']).collect()
    }
}
