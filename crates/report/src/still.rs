//! Charts as separate picture files: SVG with its text and style, for places that show a file without a style
//! sheet, such as a README. Its colours are dark where the reader prefers it.

use std::collections::BTreeMap;

use crate::chart::{Bar, Bars, Chart, Colour, LABEL_PX, Look, PLOT_PX, Row, Strip, bar_sampled, samples};
use crate::colour::{class, style};
use crate::letters::clip;
use crate::scale::{Axis, HEIGHT, WIDTH, spread, tick_text};
use crate::strip::drawn;
use crate::svg::{self, number, width};
use maud::{Markup, html};

/// Width of a picture, in pixels: about that of a column of text.
const WIDE: f64 = 760.0;
/// Space to the left of the plot for the numbers of the axis, in pixels.
const LEFT: f64 = 56.0;
/// Space to the right of the plot, in pixels.
const RIGHT: f64 = 20.0;
/// Height of a line of text, in pixels.
const LINE: f64 = 20.0;
/// Width of a letter of most labels, in pixels. Labels of wide letters get more: see [`space`].
const LETTER: f64 = 7.0;
/// Part of the gap after a label that wide letters may use, in pixels.
const SLACK: f64 = 8.0;
// Sizes of letters, as in picture.css: of labels at the ends of curves, and of names.
const LABEL: f64 = 12.0;
const NAME: f64 = 13.0;
/// The largest number of points of a curve over time.
const COLUMNS: usize = 1000;
// Bar charts: height of a row, and begin and end of its bar, in pixels.
const ROW: f64 = 28.0;
const BAR_FROM: f64 = 200.0;
const BAR_TO: f64 = 480.0;

impl Chart {
    /// The chart as an SVG file.
    #[must_use]
    pub fn picture(&self) -> String {
        let ends = self.ends();
        let label = self.curves.iter().map(|curve| space(&curve.label, LABEL)).fold(0.0, f64::max);
        let aside = if ends.is_some() { 24.0 + label } else { 0.0 };
        let key = if ends.is_none() && self.needs_key() { self.key() } else { Vec::new() };
        let rows = key.last().map_or(0.0, |(_, row, _)| row + 1.0);
        let (width, height) = match self.square {
            true => (1.5 * PLOT_PX, 1.5 * PLOT_PX),
            false => (WIDE - LEFT - RIGHT - aside, PLOT_PX),
        };
        let head = heading_height(&self.title, &self.note);
        let top = head + LINE * (1.0 + rows) + 8.0;
        let place = Place { x: LEFT, y: top, width, height };
        let inside = html! {
            (heading(&self.title, &self.note))
            text.muted x="8" y=(number(head + 16.0)) {
                (self.y_title) @if self.y.is_log() { " (logarithmic)" }
            }
            @for (curve, row, x) in &key {
                @let y = head + LINE * (row + 1.0);
                (samples(self.curves[*curve].look(), &class(self.curves[*curve].colour), &[[*x, y + 4.0]]))
                text.name x=(number(x + 24.0)) y=(number(y + 13.0)) { (self.curves[*curve].label) }
            }
            (place.frame(&self.inside(COLUMNS)))
            @for change in &self.changes {
                @let (x, y) = (place.x + place.width * self.x.place(change.x) + 3.0, place.y + 3.0);
                text.tick transform={ "translate(" (number(x)) "," (number(y)) ")rotate(90)" } { (change.to) }
            }
            @for tick in self.y.ticks() {
                text.tick.end x=(number(LEFT - 6.0))
                    y=(number(place.up(self.y.place(tick)) + 4.0)) { (tick_text(tick)) }
            }
            (place.across(&self.x))
            text.muted.end x=(number(place.x + width)) y=(number(top + height + 36.0)) {
                (self.x_title) @if self.x.is_log() { " (logarithmic)" }
            }
            @if let Some(ends) = &ends { (self.beside(ends, &place)) }
        };
        let name = if self.title.is_empty() { self.y_title.as_str() } else { &self.title };
        let labels: Vec<&str> = self.curves.iter().map(|curve| curve.label.as_str()).collect();
        let about = format!("{} over {}: {}", self.y_title, self.x_title, labels.join(", "));
        svg(name, &about, top + height + 46.0, &inside)
    }

    /// The entries of the legend, each with its row and its position in the row.
    fn key(&self) -> Vec<(usize, f64, f64)> {
        let (mut row, mut x) = (0.0, LEFT);
        let mut places = Vec::new();
        for (i, curve) in self.curves.iter().enumerate() {
            let width = 40.0 + space(&curve.label, NAME);
            if x > LEFT && x + width > WIDE {
                (row, x) = (row + 1.0, LEFT);
            }
            places.push((i, row, x));
            x += width;
        }
        places
    }

    /// The labels at the ends of the curves, each with a line to its curve.
    fn beside(&self, ends: &[f64], place: &Place) -> Markup {
        let half = LABEL_PX / PLOT_PX / 2.0;
        let places = spread(ends, 2.0 * half, half, 1.0 - half);
        let right = place.x + place.width;
        html! {
            @for ((curve, end), label) in self.curves.iter().zip(ends).zip(&places) {
                @let (from, to) = (place.up(*end), place.up(*label));
                path class={ "thin " (class(curve.colour)) }
                    d={ "M" (number(right + 2.0)) "," (number(from))
                        "L" (number(right + 16.0)) "," (number(to)) } {}
                text class={ "label " (class(curve.colour)) } x=(number(right + 20.0))
                    y=(number(to + 4.0)) { (curve.label) }
            }
        }
    }
}

impl Bars {
    /// The bar chart as an SVG file, like [`Chart::picture`].
    #[must_use]
    pub fn picture(&self) -> String {
        let head = heading_height(&self.title, "");
        let top = head + LINE + 8.0;
        let unit =
            if self.axis.is_log() { format!("{} (logarithmic)", self.unit) } else { self.unit.clone() };
        // A line for each heading and each bar.
        let lines: Vec<(&str, Option<&Bar>)> = self.rows.iter().flat_map(lines).collect();
        let place = |i: usize| Place {
            x: BAR_FROM,
            y: top + ROW * i as f64,
            width: BAR_TO - BAR_FROM,
            height: ROW - 4.0,
        };
        let bars: Vec<(usize, &Bar)> =
            lines.iter().enumerate().filter_map(|(i, (_, bar))| Some((i, (*bar)?))).collect();
        let down = |i: usize| (ROW * i as f64 * f64::from(HEIGHT) / (ROW - 4.0)).round() as i32;
        let strips: Vec<(i32, &Strip)> = bars.iter().map(|(i, bar)| (down(*i), &bar.strip)).collect();
        let mut said = Vec::new();
        for (i, bar) in &bars {
            for (n, (look, text)) in bar.said.iter().enumerate() {
                let corner = [BAR_TO + 10.0 + 135.0 * n as f64, place(*i).up(0.5) - 4.0];
                said.push((*look, bar.of(*look), corner, text.as_str()));
            }
        }
        let inside = html! {
            (heading(&self.title, ""))
            text.muted x="8" y=(number(head + 16.0)) { (unit) }
            @for (i, (label, colour)) in self.key.iter().enumerate() {
                @let x = BAR_FROM + 180.0 * i as f64;
                @let (x_text, y_text) = (number(x), number(head + 8.0));
                g transform={ "translate(" (x_text) "," (y_text) ")" } { (bar_sampled(*colour)) }
                text.name x=(number(x + 22.0)) y=(number(head + 16.0)) { (label) }
            }
            (place(0).frame(&drawn(&strips)))
            @for (i, (text, bar)) in lines.iter().enumerate().filter(|(_, (text, _))| !text.is_empty()) {
                @let y = number(place(i).up(0.5) + 4.0);
                @if bar.is_some() {
                    @let label = clip(text, BAR_FROM - 14.0, |text| width(text, NAME));
                    text.name.end x=(number(BAR_FROM - 10.0)) y=(y) { (label) }
                }
                @else { text.muted x=(number(BAR_FROM)) y=(y) { (text) } }
            }
            (keyed(&said))
            (place(lines.len().saturating_sub(1)).across(&self.axis))
        };
        let labels: Vec<&str> = self.rows.iter().map(|row| row.label.as_str()).collect();
        let name = if self.title.is_empty() { unit.as_str() } else { &self.title };
        let height = top + ROW * lines.len() as f64 + 30.0;
        svg(name, &format!("{unit}: {}", labels.join(", ")), height, &inside)
    }
}

/// The lines of a row: its heading, and its bars, the first bar with the label.
fn lines(row: &Row) -> Vec<(&str, Option<&Bar>)> {
    let above = Some((row.above.as_str(), None)).filter(|(above, _)| !above.is_empty());
    let label = |i: usize| if i == 0 { row.label.as_str() } else { "" };
    above.into_iter().chain(row.bars.iter().enumerate().map(|(i, bar)| (label(i), Some(bar)))).collect()
}

/// The space of a label, in pixels.
fn space(label: &str, size: f64) -> f64 {
    (LETTER * label.chars().count() as f64).max(width(label, size) - SLACK)
}

/// The position and size of a plot.
struct Place {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Place {
    /// The vertical coordinate of a part of the plot's height.
    fn up(&self, part: f64) -> f64 {
        self.y + self.height * (1.0 - part)
    }

    /// Stretches content in plot units to the position and size of this plot.
    fn frame(&self, inside: &Markup) -> Markup {
        html! {
            svg x=(number(self.x)) y=(number(self.y)) width=(number(self.width)) height=(number(self.height))
                viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
                    preserveAspectRatio="none" overflow="visible" { (inside) }
        }
    }

    /// The numbers below the plot.
    fn across(&self, axis: &Axis) -> Markup {
        html! {
            @for tick in axis.ticks() {
                text.tick.middle x=(number(self.x + self.width * axis.place(tick)))
                    y=(number(self.y + self.height + 17.0)) { (tick_text(tick)) }
            }
        }
    }
}

/// Height of title and note; 0 if there is neither.
fn heading_height(title: &str, note: &str) -> f64 {
    if title.is_empty() && note.is_empty() { 4.0 } else { 1.4 * LINE }
}

fn heading(title: &str, note: &str) -> Markup {
    let between = if title.is_empty() || note.is_empty() { "" } else { " · " };
    html! {
        @if !(title.is_empty() && note.is_empty()) {
            text.run x="8" y="20" { (title) tspan.muted { (between) (note) } }
        }
    }
}

/// Texts, each with a sample of its look in front: look, colour, upper left corner of the sample, text.
fn keyed(entries: &[(Look, Option<Colour>, [f64; 2], &str)]) -> Markup {
    let mut alike = BTreeMap::<_, Vec<[f64; 2]>>::new();
    for (look, colour, corner, _) in entries {
        alike.entry((*look, class(*colour))).or_default().push(*corner);
    }
    html! {
        @for ((look, colour), corners) in alike { (samples(look, &colour, &corners)) }
        @for (_, _, [x, y], text) in entries { text.name x=(number(x + 22.0)) y=(number(y + 8.0)) { (text) } }
    }
}

fn svg(title: &str, about: &str, height: f64, inside: &Markup) -> String {
    let colours = style();
    let styles = [
        include_str!("../assets/palette.css"),
        include_str!("../assets/dark.css"),
        include_str!("../assets/plot.css"),
        include_str!("../assets/picture.css"),
        &colours,
    ];
    let drawing = html! { rect.paper width="100%" height="100%" rx="6" {} (inside) };
    svg::file(html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(WIDE) height=(number(height))
            viewBox={ "0 0 " (WIDE) " " (number(height)) } role="img" aria-labelledby="t d" {
            title #t { (title) }
            desc #d { (about) }
            style { (svg::style(&styles, &drawing.0)) }
            (drawing)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{ANY, Change, Curve, Hue, Layer, Strip};

    fn chart(labels: &[&str]) -> Chart {
        let layer = || Layer { look: Look::Line, x: vec![1.0, 2.0], y: vec![1.0, 3.0], half: vec![0.5, 0.5] };
        let curve = |(i, label): (usize, &&str)| Curve {
            label: (*label).into(),
            colour: Some(Colour::Series(i)),
            layers: vec![layer()],
        };
        Chart {
            title: "a < b".into(),
            note: "simulator".into(),
            x_title: "RTT, ms".into(),
            y_title: "share".into(),
            x: Axis::around([1.0, 2.0], 4),
            y: Axis::around([0.0, 3.0], 4),
            curves: labels.iter().enumerate().map(curve).collect(),
            changes: Vec::new(),
            square: false,
            possible: ANY,
        }
    }

    #[test]
    fn a_picture_is_xml_with_all_of_its_text() {
        let many: Vec<String> = (0..12).map(|i| format!("a rather long label {i}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for labels in [&["one", "two"][..], &["share"], &many] {
            let picture = chart(labels).picture();
            let document = roxmltree::Document::parse(&picture).unwrap();
            let text: String = document.descendants().filter_map(|node| node.text()).collect();
            for part in ["a < b", "simulator", "RTT, ms"].iter().chain(labels) {
                assert!(text.contains(part), "{part} is not in {text}");
            }
            assert!(picture.contains("prefers-color-scheme: dark"), "it has a dark scheme");
        }
    }

    #[test]
    fn a_change_is_a_line_with_its_name() {
        let change = Change { x: 1.5, to: "DRAIN".into() };
        let picture = Chart { changes: vec![change], ..chart(&["one", "two"]) }.picture();
        let document = roxmltree::Document::parse(&picture).unwrap();
        assert!(document.descendants().any(|node| node.text() == Some("DRAIN")), "{picture}");
        let lines = document.descendants().filter(|node| node.attribute("class") == Some("change"));
        assert_eq!(lines.map(|node| node.attribute("d").unwrap()).collect::<Vec<_>>().len(), 1);
    }

    /// The texts of a picture with the places of their left and right ends and their heights, in DejaVu Sans.
    fn placed(picture: &str) -> Vec<(String, f64, f64, f64)> {
        let document = roxmltree::Document::parse(picture).unwrap();
        let texts = document.descendants().filter(|node| node.has_tag_name("text"));
        let placed = texts.map(|node| {
            let text: String =
                node.descendants().filter(|of| of.is_text()).filter_map(|of| of.text()).collect();
            let at = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
            let class = node.attribute("class").unwrap_or_default();
            let size = if class.contains("label") { LABEL } else { NAME };
            let (x, wide) = (at("x"), width(&text, size));
            let left = match class {
                of if of.contains("end") => x - wide,
                of if of.contains("middle") => x - wide / 2.0,
                _ => x,
            };
            (text, left, left + wide, at("y"))
        });
        placed.collect()
    }

    #[test]
    fn nothing_lies_outside_of_a_picture() {
        let many: Vec<String> = (0..30).map(|i| format!("a rather long label {i}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        // the second is at the ends of its curves
        for labels in [&many[..], &["WWWWWWWWWWWWWWWWWWWWWWWW", "MMMMMMMMMM"]] {
            let picture = chart(labels).picture();
            let document = roxmltree::Document::parse(&picture).unwrap();
            let height: f64 = document.root_element().attribute("height").unwrap().parse().unwrap();
            for (text, left, right, y) in placed(&picture) {
                let inside = left >= 0.0 && right <= WIDE && (0.0..=height).contains(&y);
                assert!(inside, "{text}: {left} to {right}, {y}");
            }
        }
    }

    #[test]
    fn bars_have_a_row_each() {
        let axis = Axis::holding(1.0, 4);
        let colour = Some(Colour::plain(Hue::of("bbr")));
        let strip = Strip {
            axis,
            bar: Some((0.5, colour)),
            allowed: None,
            marks: vec![(Look::Dots, 0.5, None, colour)],
            possible: ANY,
        };
        let bar = Bar { colour, said: vec![(Look::Dots, "0.5".into())], strip };
        let row = |label: &str| Row {
            above: String::new(),
            label: label.into(),
            bars: vec![bar.clone(), bar.clone()],
        };
        let (title, unit) = (String::new(), "Jain's index".to_owned());
        let key = Vec::new();
        let picture =
            Bars { title, unit, key, axis, rows: vec![row("v1"), row(&"wide".repeat(20))] }.picture();
        assert!(placed(&picture).iter().all(|(_, left, ..)| *left >= 0.0), "{picture}");
        let document = roxmltree::Document::parse(&picture).unwrap();
        let bars = document
            .descendants()
            .find(|node| node.attribute("class").is_some_and(|class| class.starts_with("bar ")));
        assert_eq!(bars.and_then(|bars| bars.attribute("d")).unwrap().matches('M').count(), 4);
    }
}
