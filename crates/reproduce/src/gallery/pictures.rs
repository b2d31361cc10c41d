//! From a record's pictures to charts: the axes, order and dashes that the figure asks for, published
//! points beside ours.

use fairpace_report::chart::{Axis, Chart, Curve, Layer, Look, Row, Strip, bars, bars_picture};
use fairpace_scenario::Target;
use maud::{Markup, html};

use super::tables;
use crate::figure::{Base, Figure, Kind, Line, Plot, Point};
use crate::record::{Drawn, Mean, Picture, Record};
use crate::results::Place;
use crate::text;

/// An interval wider than this part of its mean leaves the picture rather than flatten it.
const WIDEST_SHOWN: f64 = 0.5;
/// Rows of a small picture.
const MOST_STRIPS: usize = 8;
/// Colours of lines that are not in the paper: later ones are less easy to tell apart.
const BESIDE_COLOURS: std::ops::Range<usize> = 2..6;
/// Behind the label of what is not in the paper.
const BESIDE: &str = " (not in the paper)";

/// A picture before it is put on a page or into a file.
pub(crate) enum Drawing {
    /// Curves.
    Chart(Chart),
    /// Bars.
    Bars {
        /// Above it.
        title: String,
        /// Of the values.
        unit: String,
        /// Of all rows.
        axis: Axis,
        /// From above.
        rows: Vec<Row>,
    },
}

impl Drawing {
    /// Within a page that has the style.
    fn figure(&self) -> Markup {
        match self {
            Self::Chart(chart) => chart.figure(),
            Self::Bars { title, unit, axis, rows } => bars(title, unit, axis, rows),
        }
    }

    /// As an SVG file.
    pub(crate) fn picture(&self) -> String {
        match self {
            Self::Chart(chart) => chart.picture(),
            Self::Bars { title, unit, axis, rows } => bars_picture(title, unit, axis, rows),
        }
    }

    /// What it shows, for who does not see it.
    pub(crate) fn about(&self) -> String {
        let (title, shown) = match self {
            Self::Chart(chart) => (&chart.title, format!("{} over {}", chart.y_title, chart.x_title)),
            Self::Bars { title, unit, .. } => (title, unit.clone()),
        };
        if title.is_empty() { shown } else { format!("{title}: {shown}") }
    }
}

/// What one place drew.
type Placed<'a> = (Target, &'a Picture);

/// All pictures of a figure on a base, in its order. Neighbours over the same time are one column, as in the
/// papers: what happens at once stands one below the other.
pub(super) fn all(record: &Record, base: &Base) -> Vec<Markup> {
    let plots: Vec<(usize, &Plot)> = record.figure.plots.iter().enumerate().collect();
    let span = |plot: &Plot| (plot.kind == Kind::Time).then_some((plot.from_s, plot.to_s));
    let groups = plots.chunk_by(|(_, a), (_, b)| span(a).is_some() && span(a) == span(b));
    groups
        .flat_map(
            |group| if group.len() > 1 { aligned(record, base, group) } else { single(record, base, group) },
        )
        .collect()
}

fn single(record: &Record, base: &Base, group: &[(usize, &Plot)]) -> Vec<Markup> {
    group
        .iter()
        .flat_map(|(i, plot)| of_plot(record, plot, &placed(record, base, *i)))
        .map(|of| of.figure())
        .collect()
}

/// All pictures of a figure on a base one by one, in its order.
pub(crate) fn drawings(record: &Record, base: &Base) -> Vec<Drawing> {
    let plots = record.figure.plots.iter().enumerate();
    plots.flat_map(|(i, plot)| of_plot(record, plot, &placed(record, base, i))).collect()
}

/// A column for each place that measured any of the plots.
fn aligned(record: &Record, base: &Base, group: &[(usize, &Plot)]) -> Vec<Markup> {
    let of = |on: Target| {
        let drawn = |(i, plot): &(usize, &Plot)| {
            let all = placed(record, base, *i);
            let shown: Vec<Placed> = all.iter().copied().filter(|(place, _)| *place == on).collect();
            (!shown.is_empty()).then(|| chart(&record.figure, plot, &shown, &all).figure())
        };
        let charts: Vec<Markup> = group.iter().filter_map(drawn).collect();
        (!charts.is_empty()).then(|| html! { div.aligned { @for chart in charts { (chart) } } })
    };
    let columns: Vec<Markup> = [of(Target::Simulator), of(Target::Testbed)].into_iter().flatten().collect();
    if columns.is_empty() { single(record, base, group) } else { columns }
}

/// The pictures of one plot on a base, the simulator's first.
fn placed<'a>(record: &'a Record, base: &Base, plot: usize) -> Vec<Placed<'a>> {
    let of = |on: Target| {
        let pictures = &record.at(base, on)?.pictures;
        pictures.iter().find(|picture| picture.plot == plot).map(|picture| (on, picture))
    };
    [of(Target::Simulator), of(Target::Testbed)].into_iter().flatten().collect()
}

fn of_plot(record: &Record, plot: &Plot, placed: &[Placed]) -> Vec<Drawing> {
    let figure = &record.figure;
    let nothing = Picture { plot: 0, kind: plot.kind, lines: Vec::new() };
    match plot.kind {
        Kind::Bars => {
            let (axis, rows) = rows(record, plot, placed);
            vec![Drawing::Bars { title: plot.title.clone(), unit: plot.y.clone(), axis, rows }]
        }
        // Points of real flows are few: they fit among the simulator's.
        Kind::Sweep => vec![Drawing::Chart(chart(figure, plot, placed, placed))],
        _ if placed.is_empty() => {
            vec![Drawing::Chart(chart(figure, plot, &[(Target::Simulator, &nothing)], &[]))]
        }
        _ => placed.iter().map(|one| Drawing::Chart(chart(figure, plot, &[*one], placed))).collect(),
    }
}

/// For the contact sheet: the first picture on the first base, or what there is of values.
pub(super) fn thumbnail(record: &Record) -> Markup {
    let Some(plot) = record.figure.plots.first() else { return values(record) };
    let placed = record.bases.first().map_or_else(Vec::new, |base| placed(record, base, 0));
    if placed.is_empty() && plot.lines.iter().all(|line| line.published.is_empty()) {
        return html! { span.nothing { "nothing measured" } };
    }
    match plot.kind {
        Kind::Bars => {
            let (_, rows) = rows(record, plot, &placed);
            let strips: Vec<Strip> = rows.into_iter().map(|row| row.strip).take(MOST_STRIPS).collect();
            Strip::stack(&strips)
        }
        Kind::Sweep => chart(&record.figure, plot, &placed, &placed).thumbnail(),
        _ => chart(&record.figure, plot, &placed[..placed.len().min(1)], &placed).thumbnail(),
    }
}

fn values(record: &Record) -> Markup {
    let places: Vec<Place> =
        record.places().filter(|place| Some(place.base) == record.bases.first()).collect();
    let values = record.figure.values.iter().enumerate().take(MOST_STRIPS);
    let strips: Vec<Strip> = values.map(|(i, value)| tables::strip(value, &places, i)).collect();
    html! { @if strips.is_empty() { span.nothing { "no picture" } } @else { (Strip::stack(&strips)) } }
}

/// One chart of what the `shown` places drew; its axes hold what is in `all`, so that charts beside each
/// other compare.
fn chart(figure: &Figure, plot: &Plot, shown: &[Placed], all: &[Placed]) -> Chart {
    let (x, y) = axes(plot, all);
    let curves = plot.lines.iter().enumerate().map(|(i, line)| curve(figure, plot, i, line, shown)).collect();
    Chart {
        title: plot.title.clone(),
        note: note(plot, shown, all),
        x_title: plot.x.clone(),
        y_title: plot.y.clone(),
        x,
        y,
        curves,
        square: plot.kind == Kind::Phase,
    }
}

/// Where a chart was measured, and what has no place on its axes.
fn note(plot: &Plot, shown: &[Placed], all: &[Placed]) -> String {
    let place = match (plot.kind, shown) {
        (_, []) => "not measured",
        (Kind::Sweep, [(Target::Simulator, _), ..]) => "",
        (Kind::Sweep, _) | (Kind::Cdf, [(Target::Testbed, _), ..]) => "real flows",
        (Kind::Cdf, _) => "simulator",
        (_, [(Target::Testbed, _), ..]) => "real flows, first run",
        (_, [(Target::Simulator, picture), ..]) if picture.lines.is_empty() => "not measured",
        _ => "simulator, first seed",
    };
    let drawn = || all.iter().flat_map(|(_, picture)| &picture.lines);
    let outside = (plot.log_x && drawn().any(|d| d.x.iter().any(|x| *x <= 0.0)))
        || (plot.log_y && drawn().any(|d| d.y.iter().flatten().any(|y| *y <= 0.0)));
    let edge = if outside { "zero lies on the edge of a logarithmic axis" } else { "" };
    let end = if plot.kind == Kind::Phase { "dots: the end" } else { "" };
    let parts: Vec<&str> = [place, end, edge].into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

fn is_shown(plot: &Plot, x: f64) -> bool {
    let window = plot.kind == Kind::Time && plot.to_s > plot.from_s;
    x.is_finite() && (!window || (plot.from_s..=plot.to_s).contains(&x))
}

/// The points of a line that the plot shows; a gap is not a number.
fn points<'a>(plot: &'a Plot, drawn: &'a Drawn) -> impl Iterator<Item = [f64; 3]> + 'a {
    let half = |i: usize| drawn.half.get(i).copied().flatten().unwrap_or(f64::NAN);
    let points = drawn.x.iter().zip(&drawn.y).enumerate();
    points
        .filter(|(_, (x, _))| is_shown(plot, **x))
        .map(move |(i, (x, y))| [*x, y.unwrap_or(f64::NAN), half(i)])
}

/// Axes that hold everything that is drawn or published.
fn axes(plot: &Plot, all: &[Placed]) -> (Axis, Axis) {
    let drawn = all.iter().flat_map(|(_, picture)| &picture.lines);
    let mut points: Vec<[f64; 3]> = drawn.flat_map(|drawn| points(plot, drawn)).collect();
    points.extend(plot.lines.iter().flat_map(|line| &line.published).map(|[x, y]| [*x, *y, f64::NAN]));
    let x = || points.iter().map(|point| point[0]);
    let y = || {
        points.iter().flat_map(|[_, y, half]| {
            let half = if half.is_finite() { half.min(WIDEST_SHOWN * y.abs()) } else { 0.0 };
            [*y, y - half, y + half]
        })
    };
    let zero = (matches!(plot.kind, Kind::Phase | Kind::Cdf)).then_some(0.0);
    let linear_x = || match plot.kind {
        Kind::Time if plot.to_s > plot.from_s => Axis::between(plot.from_s, plot.to_s, 6),
        Kind::Time => {
            let (least, most) =
                x().filter(|x| x.is_finite()).fold((0.0f64, 0.0f64), |(a, b), x| (a.min(x), b.max(x)));
            Axis::between(least, most, 6)
        }
        _ => Axis::around(x().chain(zero.filter(|_| plot.kind == Kind::Phase)), 5),
    };
    let log_x = if plot.log_x { Axis::log(x()) } else { None };
    let log_y = if plot.log_y { Axis::log(y()) } else { None };
    (log_x.unwrap_or_else(linear_x), log_y.unwrap_or_else(|| Axis::around(y().chain(zero), 5)))
}

/// Measured lines have the colours in their order. References repeat them, or have none if there is but one.
/// Lines that are not in the paper follow, at the earliest with the third: that is theirs in most pictures.
fn colour(figure: &Figure, plot: &Plot, index: usize) -> Option<usize> {
    let kind = |line: &Line| (line.reference, figure.is_beside(&line.measure));
    let count = |of, lines: &[Line]| lines.iter().filter(|line| kind(line) == of).count();
    let own = kind(&plot.lines[index]);
    let before = count(own, &plot.lines[..index]);
    match own {
        (true, _) => (count(own, &plot.lines) > 1).then_some(before),
        (false, false) => Some(before),
        (false, true) => Some(before + count((false, false), &plot.lines).max(BESIDE_COLOURS.start))
            .filter(|colour| BESIDE_COLOURS.contains(colour)),
    }
}

fn curve(figure: &Figure, plot: &Plot, index: usize, line: &Line, shown: &[Placed]) -> Curve {
    let beside = figure.is_beside(&line.measure);
    let of = shown.iter().filter_map(|&(on, picture)| Some((on, picture.lines.get(index)?)));
    let drawn: Vec<(Target, &Drawn)> = of.filter(|(_, drawn)| !drawn.x.is_empty()).collect();
    let mut layers: Vec<Layer> =
        drawn.iter().flat_map(|(on, drawn)| layers(plot, line, beside, *on, drawn)).collect();
    let published = line.published.iter().filter(|[x, _]| is_shown(plot, *x));
    let (x, y): (Vec<f64>, Vec<f64>) = published.map(|[x, y]| (*x, *y)).unzip();
    let missing = if drawn.is_empty() { " (not measured)" } else { "" };
    if plot.kind == Kind::Time {
        layers.extend(levels(&x, &y));
    }
    if !x.is_empty() {
        layers.push(Layer::plain(Look::Squares, x, y));
    }
    let label = format!("{}{}{missing}", line.label, if beside { BESIDE } else { "" });
    Curve { label, colour: colour(figure, plot, index), layers }
}

/// Neighbouring published points of the same value mean that value all the time between them.
fn levels(x: &[f64], y: &[f64]) -> Option<Layer> {
    let pairs = (1..y.len()).filter(|i| y[*i] == y[i - 1]);
    let (x, y) = pairs.flat_map(|i| [(x[i - 1], y[i]), (x[i], y[i]), (x[i], f64::NAN)]).unzip();
    Some(Layer::plain(Look::Dashed, x, y)).filter(|layer| !layer.x.is_empty())
}

/// How one place's part of a line is drawn.
fn layers(plot: &Plot, line: &Line, beside: bool, on: Target, drawn: &Drawn) -> Vec<Layer> {
    let points: Vec<[f64; 3]> = points(plot, drawn).collect();
    let column = |i: usize| points.iter().map(|point| point[i]).collect::<Vec<f64>>();
    let layer = |look: Look| Layer { look, x: column(0), y: column(1), half: column(2) };
    if line.reference {
        return vec![layer(Look::Dashed)];
    }
    let (through, points_as) = if beside { (Look::Broken, Look::Boxes) } else { (Look::Line, Look::Dots) };
    match plot.kind {
        Kind::Sweep if on == Target::Testbed => vec![layer(Look::Rings)],
        Kind::Sweep => {
            let finite = points.iter().filter(|point| point[1].is_finite()).count();
            let mut dots = layer(points_as);
            // Two points have a band between them; one alone needs whiskers.
            dots.half.retain(|_| finite < 2);
            vec![layer(through), dots]
        }
        Kind::Cdf => {
            let mut steps = layer(Look::Steps);
            if let Some(first) = steps.x.first().copied() {
                steps.x.insert(0, first);
                steps.y.insert(0, 0.0);
            }
            vec![steps]
        }
        Kind::Phase => {
            let end = points.iter().rfind(|point| point[1].is_finite());
            let end = end.map(|[x, y, _]| Layer::plain(points_as, vec![*x], vec![*y]));
            [Some(Layer::plain(through, column(0), column(1))), end].into_iter().flatten().collect()
        }
        Kind::Time | Kind::Bars => vec![Layer::plain(through, column(0), column(1))],
    }
}

/// A bar: its value and half of its interval.
type Bar = (f64, Option<f64>);

/// The bars of a line, each with the point of the sweep that it belongs to, if there is one.
fn bars_of<'a>(
    record: &'a Record,
    line: &Line,
    on: Target,
    drawn: &Drawn,
) -> Vec<(Option<&'a Point>, Option<Bar>)> {
    let run = record.figure.runs.iter().find(|run| run.name == line.measure.run);
    let at = &line.measure.at;
    let only = record.figure.kernel.as_ref().map_or(&[][..], |kernel| &kernel.at);
    let measured = |point: &&Point| {
        (at.is_empty() || point.at == *at)
            && (on == Target::Simulator || only.is_empty() || only.contains(&point.at))
    };
    let points: Vec<&Point> = run
        .and_then(|run| run.sweep.as_ref())
        .map_or(&[][..], |sweep| &sweep.points)
        .iter()
        .filter(measured)
        .collect();
    let bar = |i: usize| {
        let value = drawn.y.get(i).copied().flatten().filter(|y| y.is_finite())?;
        Some((value, drawn.half.get(i).copied().flatten().filter(|half| *half > 0.0)))
    };
    (0..drawn.y.len()).map(|i| (points.get(i).copied(), bar(i))).collect()
}

/// What a row of bars says.
struct Group {
    label: String,
    colour: Option<usize>,
    is_ours: bool,
    published: Option<f64>,
    sim: Option<Bar>,
    kernel: Option<Bar>,
}

/// A row per line, or per point of a line's sweep; one that was not measured has its published value alone.
fn groups(record: &Record, plot: &Plot, placed: &[Placed]) -> Vec<Group> {
    let of = |on: Target, index: usize| {
        let drawn =
            placed.iter().find(|(place, _)| *place == on).and_then(|(_, picture)| picture.lines.get(index));
        drawn.map_or_else(Vec::new, |drawn| bars_of(record, &plot.lines[index], on, drawn))
    };
    let rows = |(index, line): (usize, &Line)| {
        let is_ours = record.figure.is_beside(&line.measure);
        let name = format!("{}{}", line.label, if is_ours { BESIDE } else { "" });
        let (sim, kernel) = (of(Target::Simulator, index), of(Target::Testbed, index));
        let first = if sim.is_empty() { &kernel } else { &sim };
        let mut points: Vec<Option<&Point>> = first.iter().map(|(point, _)| *point).collect();
        if points.is_empty() {
            points.push(None);
        }
        let alone = points.len() == 1;
        let row = |(i, point): (usize, &Option<&Point>)| {
            let beside = |bars: &[(Option<&Point>, Option<Bar>)]| {
                let same = bars.iter().find(|(other, _)| other.map(|p| &p.at) == point.map(|p| &p.at));
                if point.is_some() { same } else { bars.get(i) }.and_then(|(_, bar)| *bar)
            };
            let published =
                line.published.iter().rfind(|[x, _]| alone || point.is_some_and(|point| point.x == *x));
            Group {
                label: match point.filter(|_| !alone) {
                    None => name.clone(),
                    // all are of the one line, which the axis names
                    Some(point) if plot.lines.len() == 1 => point.at.clone(),
                    Some(point) => format!("{name}, {}", point.at),
                },
                colour: colour(&record.figure, plot, index),
                is_ours,
                published: published.map(|[_, y]| *y),
                sim: beside(&sim),
                kernel: beside(&kernel),
            }
        };
        points.iter().enumerate().map(row).collect::<Vec<Group>>()
    };
    plot.lines.iter().enumerate().flat_map(rows).collect()
}

/// The rows of a chart of bars, and their common axis.
fn rows(record: &Record, plot: &Plot, placed: &[Placed]) -> (Axis, Vec<Row>) {
    let groups = groups(record, plot, placed);
    let ends = |bar: &Option<Bar>| {
        bar.map(|(y, half)| [y, y + half.unwrap_or(0.0).min(WIDEST_SHOWN * y.abs())]).into_iter().flatten()
    };
    let all: Vec<f64> =
        groups.iter().flat_map(|g| ends(&g.sim).chain(ends(&g.kernel)).chain(g.published)).collect();
    let log = if plot.log_y { Axis::log(all.iter().copied()) } else { None };
    let axis = log.unwrap_or_else(|| Axis::around(all.iter().copied().chain([0.0]), 5));
    let said = |(value, half): Bar| text::mean(Mean { n: 1, mean: value, half });
    let row = |group: Group| {
        let simulated = if group.is_ours { Look::Boxes } else { Look::Dots };
        let marks = [
            group.sim.map(|(x, half)| (simulated, x, half, group.colour)),
            group.kernel.map(|(x, half)| (Look::Rings, x, half, group.colour)),
            group.published.map(|x| (Look::Squares, x, None, None)),
        ];
        let said = [group.sim.map(said), group.kernel.map(said), group.published.map(text::number)];
        let strip = Strip {
            axis,
            bar: group.sim.or(group.kernel).map(|(value, _)| (value, group.colour)),
            allowed: None,
            // What is published lies below what is measured, which has whiskers.
            marks: marks.iter().rev().flatten().copied().collect(),
        };
        let said = marks.into_iter().zip(said).filter_map(|(mark, said)| Some((mark?.0, said?)));
        Row { label: group.label, colour: group.colour, said: said.collect(), strip }
    };
    (axis, groups.into_iter().map(row).collect())
}
