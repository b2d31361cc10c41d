//! The picture for a README: goodput over time of every run as one SVG.

use crate::headline::{labels, legend, marks, rows, rules, subtitle};
use crate::letters::clip;
use crate::panels::Axes;
use crate::plot::{drawing, flow_class};
use crate::scale::{HEIGHT, Scale, WIDTH, tick_text};
use crate::svg::{self, bold_width, number, width as text_width};
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
    /// Space between a plot and its numbers.
    pub(super) const BESIDE: usize = 8;
    /// Height of a plot.
    pub(super) const PLOT_HEIGHT: usize = 156;
    /// Height of a line of text.
    pub(super) const LINE: f64 = 15.0;
    /// Height of a line of the explanation below the plots.
    pub(super) const LEGEND_LINE: usize = 15;
    /// Size of the letters of the title, as in picture.css.
    pub(super) const HEAD: f64 = 18.0;
    /// Size of the letters of a run's name, as in picture.css.
    pub(super) const RUN: f64 = 14.0;
    /// Size of the letters of a name in the key, as in picture.css.
    pub(super) const NAME: f64 = 13.0;
    /// Size of the letters of a published value, as in picture.css.
    pub(super) const LABEL: f64 = 12.0;
    /// Largest width of a name in the key.
    pub(super) const LONGEST_NAME: f64 = 125.0;
    /// Width of a line and of the gaps around it in the key.
    pub(super) const KEY_LINE: f64 = 44.0;
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
        text.head x=(PLOT_X) y="30" {
            (clip(study.title, (width - PLOT_X) as f64, |text| bold_width(text, HEAD))) }
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
    let of_name = |text: &str| text_width(text, NAME);
    let short = |name: &str| clip(name, LONGEST_NAME, of_name);
    let own = (0..study.most_flows().min(6)).map(|i| (i, short(&study.flow_name(i))));
    let records = beside::flows(study).into_iter().map(|of| (of.index, short(&of.label)));
    let (indices, names): (Vec<usize>, Vec<String>) = own.chain(records).unzip();
    let place =
        |count: usize| PLOT_X as f64 + names[..count].iter().map(|n| KEY_LINE + of_name(n)).sum::<f64>();
    let fit = (0..names.len()).take_while(|i| place(i + 1) <= width as f64).count();
    html! {
        @for (i, name) in names[..fit].iter().enumerate() {
            path class={ "line " (flow_class(Some(indices[i]))) } d={ "M" (number(place(i))) ",48h18" } {}
            text.name x=(number(place(i) + 24.0)) y="52" { (name) }
        }
    }
}

fn cell(study: &Study, case: &Case, scale: &Scale, plot_width: usize) -> Markup {
    let below = |part: f64| PLOT_Y as f64 + PLOT_HEIGHT as f64 * (1.0 - part);
    let right = PLOT_X + plot_width + BESIDE;
    html! {
        text.run x=(PLOT_X) y="18" {
            (clip(&case.label, (plot_width + ASIDE) as f64, |text| bold_width(text, RUN))) }
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
            @let (class, down) = if label.is_published { ("label ", 4.0) } else { ("value ", 5.0) };
            text class={ (class) (flow_class(Some(label.flow))) } x=(right)
                y=(number(below(label.place) + down))
                { (clip(&label.text, (ASIDE - BESIDE) as f64, |text| text_width(text, LABEL))) }
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
