//! The picture of a criterion: a panel for each algorithm, a cell for each case. A cell differs the more from
//! the background, the further it is beyond its bounds, so that the picture is readable without colours. All
//! cells of one degree in a panel are one SVG path: with one element for each of a thousand cells a picture
//! had 300 kB.

use fairpace_report::svg::{self, bold_width, number, width};
use maud::{Markup, PreEscaped, html};

use crate::item::first_of_each;
use crate::record::{AlgorithmRecord, CaseRecord, CriterionRecord};

/// Width of the picture, in pixels.
const WIDE: f64 = 1200.0;
/// Size of a cell, in pixels.
const CELL: (f64, f64) = (22.0, 16.0);
/// Size of the letters of labels, in pixels.
const LABEL: f64 = 11.0;
/// Size of the letters of an algorithm's name, in pixels.
const NAME: f64 = 13.0;
/// Least width of a panel, in pixels.
const LEAST_PANEL: f64 = 150.0;
/// Height of a line of text, in pixels.
const LINE: f64 = 15.0;
/// Space between panels, in pixels.
const GAP: f64 = 18.0;

/// Space between groups of columns, in pixels.
const BETWEEN: f64 = 5.0;

/// Degrees of failure: an upper limit on the largest factor by which a value is beyond its bound, and the
/// words for the degree.
pub(crate) const DEGREES: [(f64, &str); 5] = [
    (1.0, "passes"),
    (1.1, "beyond a bound by a factor up to 1.1"),
    (1.5, "up to 1.5"),
    (3.0, "up to 3"),
    (f64::INFINITY, "more"),
];

/// The heat map of a criterion as an SVG file.
#[must_use]
pub fn heat_map(criterion: &CriterionRecord) -> String {
    let layout = Layout::of(criterion);
    let height = layout.height(criterion.algorithms.len());
    let about = format!("{}: {} Each cell is a case.", criterion.title, criterion.asks);
    svg::file(html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(WIDE) height=(number(height))
            viewBox={ "0 0 " (WIDE) " " (number(height)) } role="img" aria-labelledby="t d" {
            title #t { (criterion.label()) }
            desc #d { (about) }
            style { (PreEscaped(STYLE)) }
            rect.paper width="100%" height="100%" {}
            @for (index, algorithm) in criterion.algorithms.iter().enumerate() {
                (layout.panel(index, algorithm))
            }
            (legend(height - LINE - 6.0))
        }
    })
}

const STYLE: &str = "\
    text{font:11px system-ui,sans-serif;fill:#1b1f24}\
    .name{font-weight:600;font-size:13px}.end{text-anchor:end}.middle{text-anchor:middle}\
    .paper{fill:#fff}path,rect{stroke:#fff;stroke-width:1}.paper{stroke:none}\
    .d0{fill:#e3ecf5}.d1{fill:#fbd9a0}.d2{fill:#f0a04b}.d3{fill:#c4501a}.d4{fill:#5f1d02}\
    @media(prefers-color-scheme:dark){.paper{fill:#14181d}path,rect{stroke:#14181d}.paper{stroke:none}\
    text{fill:#e4e8ed}.d0{fill:#24384d}.d1{fill:#7a5a24}.d2{fill:#c07a2c}.d3{fill:#f0a05a}.d4{fill:#ffe3cf}}";

/// Layout of rows and columns, which all panels of a criterion share.
struct Layout<'r> {
    rows: Vec<&'r str>,
    columns: Vec<&'r [String]>,
    /// Width of the labels of the rows.
    aside: f64,
    /// Left end of each column in a panel, and the right end of the last column.
    places: Vec<f64>,
    /// Number of panels beside each other, and the width of a panel.
    across: usize,
    panel: f64,
}

impl<'r> Layout<'r> {
    fn of(criterion: &'r CriterionRecord) -> Self {
        let cases = || criterion.algorithms.iter().flat_map(|algorithm| &algorithm.results);
        let rows = first_of_each(cases().map(|case| case.row.as_str()));
        let columns = cases().map(|case| case.column.as_slice()).filter(|column| !column.is_empty());
        let columns = first_of_each(columns);
        let aside = 14.0 + widest(rows.iter().copied());
        let places = places(&columns);
        // the name and the count of an algorithm need some width, too
        let names = criterion.algorithms.iter().map(|of| bold_width(&name(of), NAME));
        let panel = names.chain(places.last().copied()).fold(LEAST_PANEL - GAP, f64::max) + GAP;
        let across = (((WIDE - aside) / panel) as usize).clamp(1, 8);
        Self { rows, columns, aside, places, across, panel }
    }

    fn levels(&self) -> usize {
        self.columns.iter().map(|column| column.len()).max().unwrap_or(0)
    }

    /// Height of the labels of the columns: a line for each level, except the last level, whose labels are
    /// upright and take the length of their text.
    fn head(&self) -> f64 {
        let last = self.columns.iter().filter_map(|column| column.last());
        LINE * (1 + self.levels().saturating_sub(1)) as f64 + widest(last.map(String::as_str)) + 14.0
    }

    fn panel_height(&self) -> f64 {
        self.head() + CELL.1 * self.rows.len() as f64 + GAP
    }

    fn height(&self, panels: usize) -> f64 {
        self.panel_height() * panels.div_ceil(self.across) as f64 + LINE + 20.0
    }

    fn panel(&self, index: usize, algorithm: &AlgorithmRecord) -> Markup {
        let (row, place) = (index / self.across, index % self.across);
        let (x, y) = (self.aside + self.panel * place as f64, self.panel_height() * row as f64);
        html! {
            g transform={ "translate(" (number(x)) "," (number(y)) ")" } {
                text.name y=(LINE) { (name(algorithm)) }
                @if index == 0 { g #c { (self.heads()) } } @else { use href="#c" {} }
                @if place == 0 {
                    @for (index, row) in self.rows.iter().enumerate() {
                        @let y = self.head() + CELL.1 * index as f64 + 12.0;
                        text.end x="-6" y=(number(y)) { (row) }
                    }
                }
                @for degree in 0..DEGREES.len() { (self.cells(degree, &algorithm.results)) }
            }
        }
    }

    /// Labels of the columns. Neighbours with an equal label share it; the labels of the last level are
    /// upright.
    fn heads(&self) -> Markup {
        let last = self.levels().saturating_sub(1);
        html! {
            @for level in 0..last {
                @for (from, to) in self.groups(level) {
                    @let middle = (self.places[from] + self.places[to - 1] + CELL.0) / 2.0;
                    text.middle x=(number(middle)) y=(number(LINE * (level + 2) as f64)) {
                        (self.columns[from].get(level).map_or("", String::as_str))
                    }
                }
            }
            @for (place, column) in self.places.iter().zip(&self.columns) {
                @let (x, y) = (number(place + 15.0), number(self.head() - 4.0));
                text transform={ "translate(" (x) "," (y) ")rotate(-90)" } {
                    (column.last().map_or("", String::as_str))
                }
            }
        }
    }

    /// Begin and end of neighbouring columns whose labels are equal down to a level.
    fn groups(&self, level: usize) -> Vec<(usize, usize)> {
        let mut groups: Vec<(usize, usize)> = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            match groups.last_mut() {
                Some((from, to)) if self.columns[*from].get(..=level) == column.get(..=level) => {
                    *to = index + 1
                }
                _ => groups.push((index, index + 1)),
            }
        }
        groups
    }

    /// The cells of one degree as one path. Each cell begins relative to the cell before.
    fn cells(&self, of_degree: usize, results: &[CaseRecord]) -> Markup {
        let (mut path, mut last) = (String::new(), None);
        for case in results.iter().filter(|case| degree(case.miss) == of_degree) {
            let row = self.rows.iter().position(|row| *row == case.row).unwrap_or(0);
            let column = self.columns.iter().position(|column| *column == case.column.as_slice());
            let end = self.places.last().copied().unwrap_or(CELL.0);
            let (x, width) = column.map_or((0.0, end), |at| (self.places[at], CELL.0));
            let y = self.head() + CELL.1 * row as f64;
            let (start, by) = last.map_or(("M", (x, y)), |(x0, y0)| ("m", (x - x0, y - y0)));
            let [right, down, width, height] = [by.0, by.1, width, CELL.1].map(|x| number(x).0);
            path.push_str(&format!("{start}{right},{down}h{width}v{height}h-{width}z"));
            last = Some((x, y));
        }
        html! { @if !path.is_empty() { path class={ "d" (of_degree) } d=(path) {} } }
    }
}

/// The name of a panel: the algorithm, and in how many of its cases all conditions hold.
fn name(AlgorithmRecord { cc, cases, hold, .. }: &AlgorithmRecord) -> String {
    format!("{cc} {hold}/{cases}")
}

/// Width of the widest label.
fn widest<'t>(labels: impl Iterator<Item = &'t str>) -> f64 {
    labels.map(|label| width(label, LABEL)).fold(0.0, f64::max)
}

/// Left end of each column, with a space before each group of the first level, and the right end of the last
/// column.
fn places(columns: &[&[String]]) -> Vec<f64> {
    let mut places = vec![0.0];
    let mut x = 0.0;
    for (index, column) in columns.iter().enumerate() {
        x += CELL.0;
        let next = columns.get(index + 1);
        if next.is_some_and(|next| column.len() > 1 && next.first() != column.first()) {
            x += BETWEEN;
        }
        places.push(x);
    }
    if columns.is_empty() {
        places.push(CELL.0);
    }
    places
}

/// Index of a miss in [`DEGREES`]; 0 if and only if all conditions hold.
pub(crate) fn degree(miss: f64) -> usize {
    if miss > 0.0 && 1.0 + miss <= DEGREES[0].0 {
        return 1;
    }
    DEGREES.iter().position(|(factor, _)| 1.0 + miss <= *factor).unwrap_or(DEGREES.len() - 1)
}

fn legend(y: f64) -> Markup {
    let mut places = vec![10.0];
    for (_, name) in DEGREES {
        let last = places.last().copied().unwrap_or_default();
        places.push(last + CELL.0 + 26.0 + width(name, LABEL));
    }
    html! {
        @for (index, ((_, name), x)) in DEGREES.iter().zip(&places).enumerate() {
            @let x = *x;
            rect class={ "d" (index) } x=(number(x)) y=(number(y)) width=(CELL.0) height=(CELL.1) {}
            text x=(number(x + CELL.0 + 6.0)) y=(number(y + 11.0)) { (name) }
        }
    }
}
