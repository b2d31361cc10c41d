//! Charts from the pictures of a record: with the axes, order and dashes that the figure asks for, and
//! published points beside ours.

use fairpace_cc::Phase;
use fairpace_report::chart::{Axis, Bars, Change, Chart, Colour, Curve, Layer, Look};
use fairpace_scenario::Target;
use maud::{Markup, html};

use super::{BESIDE, Placed, WIDEST_SHOWN, bars, colours, most_possible};
use crate::figure::{Figure, Kind, Line, Plot, Stack};
use crate::record::{Drawn, Picture, Record};

/// Most points of a sweep whose line has marks. A line with more points is a curve of a model, which marks
/// would hide.
const MOST_DOTS: usize = 30;
/// Columns of a grid of small pictures.
const COLUMNS: usize = 3;

/// A picture before it is put on a page or into a file.
pub(crate) enum Drawing {
    /// A chart of curves.
    Chart(Chart),
    /// A chart of bars.
    Bars(Bars),
}

impl Drawing {
    /// The picture for a page that contains the style.
    fn figure(&self) -> Markup {
        match self {
            Self::Chart(chart) => chart.figure(),
            Self::Bars(bars) => bars.figure(),
        }
    }

    /// The picture as an SVG file.
    fn picture(&self) -> String {
        match self {
            Self::Chart(chart) => chart.picture(),
            Self::Bars(bars) => bars.picture(),
        }
    }
}

/// All pictures of a figure with one stack, in the figure's order. Neighbouring pictures over the same time
/// are in one column, as in the papers, so that simultaneous changes are aligned.
pub(super) fn all(record: &Record, stack: &Stack) -> Vec<Markup> {
    let plots: Vec<(usize, &Plot)> = record.figure.plots.iter().enumerate().collect();
    let span = |plot: &Plot| (plot.kind == Kind::Time).then_some((plot.from_s, plot.to_s));
    let groups = plots.chunk_by(|(_, a), (_, b)| span(a).is_some() && span(a) == span(b));
    groups
        .flat_map(
            |group| {
                if group.len() > 1 { aligned(record, stack, group) } else { single(record, stack, group) }
            },
        )
        .collect()
}

/// Whether the pictures of a figure are small multiples, three in a row as in the papers.
pub(super) fn is_grid(record: &Record) -> bool {
    let plots = &record.figure.plots;
    plots.len() >= COLUMNS
        && plots.len().is_multiple_of(COLUMNS)
        && plots.iter().all(|plot| plot.kind == Kind::Bars)
}

fn single(record: &Record, stack: &Stack, group: &[(usize, &Plot)]) -> Vec<Markup> {
    group
        .iter()
        .flat_map(|(i, plot)| of_plot(record, plot, &placed(record, stack, *i)))
        .map(|of| of.figure())
        .collect()
}

/// The first picture of each plot of a figure with its first stack, as SVG files.
#[must_use]
pub(crate) fn files(record: &Record) -> Vec<String> {
    let stack = record.stacks.first();
    let plots = record.figure.plots.iter().enumerate();
    let first = |(i, plot)| {
        of_plot(record, plot, &stack.map_or_else(Vec::new, |stack| placed(record, stack, i))).remove(0)
    };
    plots.map(|plot| first(plot).picture()).collect()
}

/// Neighbouring plots over the same time: a column for each place that measured one of them.
fn aligned(record: &Record, stack: &Stack, group: &[(usize, &Plot)]) -> Vec<Markup> {
    let of = |on: Target| {
        let drawn = |(i, plot): &(usize, &Plot)| {
            let all = placed(record, stack, *i);
            let shown: Vec<Placed> = all.iter().copied().filter(|(place, _)| *place == on).collect();
            let all = comparable(&record.figure, &shown, &all);
            (!shown.is_empty()).then(|| chart(&record.figure, plot, &shown, all).figure())
        };
        let charts: Vec<Markup> = group.iter().filter_map(drawn).collect();
        (!charts.is_empty()).then(|| html! { div.aligned { @for chart in charts { (chart) } } })
    };
    let columns: Vec<Markup> = [of(Target::Simulator), of(Target::Testbed)].into_iter().flatten().collect();
    if columns.is_empty() { single(record, stack, group) } else { columns }
}

/// The pictures of one plot with one stack, the simulator's first. Real flows have a picture only if they
/// drew a line of it: axes of quantities that only the simulator has would be empty.
fn placed<'a>(record: &'a Record, stack: &Stack, plot: usize) -> Vec<Placed<'a>> {
    let of = |on: Target| {
        let pictures = &record.at(stack, on)?.pictures;
        let picture = pictures.iter().find(|picture| picture.plot == plot)?;
        (on == Target::Simulator || has_real_flows(record, plot, picture)).then_some((on, picture))
    };
    [of(Target::Simulator), of(Target::Testbed)].into_iter().flatten().collect()
}

fn has_real_flows(record: &Record, plot: usize, picture: &Picture) -> bool {
    let lines = record.figure.plots.get(plot).into_iter().flat_map(|plot| &plot.lines);
    let mut drawn = lines.zip(&picture.lines).filter(|(_, drawn)| drawn.y.iter().any(Option::is_some));
    drawn.any(|(line, _)| !line.is_drawn_as_published() && !record.figure.is_exact(&line.measure))
}

fn of_plot(record: &Record, plot: &Plot, placed: &[Placed]) -> Vec<Drawing> {
    let figure = &record.figure;
    let nothing = Picture { plot: 0, kind: plot.kind, lines: Vec::new() };
    match plot.kind {
        Kind::Bars => vec![Drawing::Bars(bars::chart(record, plot, placed))],
        // Points of real flows are few: they fit among the simulator's.
        Kind::Sweep => vec![Drawing::Chart(chart(figure, plot, placed, placed))],
        _ if placed.is_empty() => {
            vec![Drawing::Chart(chart(figure, plot, &[(Target::Simulator, &nothing)], &[]))]
        }
        _ => {
            let of = |one: &Placed| {
                let shown = [*one];
                Drawing::Chart(chart(figure, plot, &shown, comparable(figure, &shown, placed)))
            };
            placed.iter().map(of).collect()
        }
    }
}

/// A chart of the lines from the places `shown`. Its axes cover `all` places, so that neighbouring charts are
/// comparable.
fn chart(figure: &Figure, plot: &Plot, shown: &[Placed], all: &[Placed]) -> Chart {
    let (x, y) = axes(plot, all);
    let colours = colours::of_lines(figure, plot);
    let lines = plot.lines.iter().zip(colours).enumerate().filter(|(_, (line, _))| !marks_states(plot, line));
    let curves = lines.map(|(i, (line, colour))| curve(figure, plot, (i, colour), line, shown)).collect();
    Chart {
        title: plot.title.clone(),
        note: note(figure, plot, shown, all),
        x_title: plot.x.clone(),
        y_title: plot.y.clone(),
        x,
        y,
        curves,
        changes: changes(plot, shown),
        square: plot.kind == Kind::Phase,
        possible: possible(plot),
    }
}

/// Note below a chart: where it was measured, and which points are outside its axes.
fn note(figure: &Figure, plot: &Plot, shown: &[Placed], all: &[Placed]) -> String {
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
    let marked = plot.lines.iter().find(|line| marks_states(plot, line));
    let marked = marked.map_or(String::new(), |line| format!("grey lines: {}", line.label));
    let is_of_real_flows = matches!(shown, [(Target::Testbed, _)]);
    let rate = rate_of_real_flows(figure).filter(|_| is_of_real_flows).unwrap_or("");
    let parts: Vec<&str> =
        [place, rate, end, edge, &marked].into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

/// The places whose points determine the axes of a chart: all places, or only the shown ones if real flows
/// had a link of another rate.
fn comparable<'a>(figure: &Figure, shown: &'a [Placed<'a>], all: &'a [Placed<'a>]) -> &'a [Placed<'a>] {
    if rate_of_real_flows(figure).is_some() { shown } else { all }
}

/// The setting that gives real flows a link of another rate, if there is one.
fn rate_of_real_flows(figure: &Figure) -> Option<&str> {
    let set = figure.kernel.iter().flat_map(|kernel| &kernel.set);
    set.map(String::as_str).find(|set| set.starts_with("link.rate="))
}

fn is_shown(plot: &Plot, x: f64) -> bool {
    let window = plot.kind == Kind::Time && plot.to_s > plot.from_s;
    x.is_finite() && (!window || (plot.from_s..=plot.to_s).contains(&x))
}

/// The points of a line that are within the plot's range, without gaps.
fn points<'a>(plot: &'a Plot, drawn: &'a Drawn) -> impl Iterator<Item = [f64; 3]> + 'a {
    let half = |i: usize| drawn.half.get(i).copied().flatten().unwrap_or(f64::NAN);
    let points = drawn.x.iter().zip(&drawn.y).enumerate();
    points
        .filter(|(_, (x, _))| is_shown(plot, **x))
        .map(move |(i, (x, y))| [*x, y.unwrap_or(f64::NAN), half(i)])
}

/// Whether a line is drawn as marks at the changes of its state, not as a curve.
fn marks_states(plot: &Plot, line: &Line) -> bool {
    plot.kind == Kind::Time && line.is_phase()
}

/// The changes of state of the plot's algorithms, within the plot's range of time.
fn changes(plot: &Plot, shown: &[Placed]) -> Vec<Change> {
    let drawn = |i: usize| shown.iter().filter_map(move |(_, picture)| picture.lines.get(i));
    let lines = plot.lines.iter().enumerate().filter(|(_, line)| marks_states(plot, line));
    let of_line = |drawn: &Drawn| {
        let mut before = "";
        let states = drawn.x.iter().zip(&drawn.y).filter(|(x, _)| is_shown(plot, **x));
        let begin = states.filter_map(|(x, phase)| {
            let state = state(*phase);
            let is_new = state != before && !state.is_empty();
            before = state;
            is_new.then(|| Change { x: *x, to: state.to_owned() })
        });
        begin.collect::<Vec<Change>>()
    };
    lines.flat_map(|(i, _)| drawn(i)).flat_map(of_line).collect()
}

/// The state to which a phase belongs: UP, DOWN, CRUISE and REFILL are phases of PROBE_BW. Empty if the phase
/// is unknown.
fn state(phase: Option<f64>) -> &'static str {
    const PROBE_BW: &str = "PROBE_BW";
    let phase = phase.filter(|phase| *phase >= 0.0).and_then(|phase| Phase::from_number(phase as u32));
    let name = phase.map_or("", Phase::name);
    if name.starts_with(PROBE_BW) { PROBE_BW } else { name }
}

/// Axes that contain every drawn or published point.
fn axes(plot: &Plot, all: &[Placed]) -> (Axis, Axis) {
    let lines = all.iter().flat_map(|(_, picture)| plot.lines.iter().zip(&picture.lines));
    let drawn = lines.filter(|(line, _)| !marks_states(plot, line)).map(|(_, drawn)| drawn);
    let mut points: Vec<[f64; 3]> = drawn.flat_map(|drawn| points(plot, drawn)).collect();
    points.extend(plot.lines.iter().flat_map(|line| &line.published).map(|[x, y]| [*x, *y, f64::NAN]));
    let [least, most] = possible(plot);
    let x = || points.iter().map(|point| point[0]);
    let y = || {
        points.iter().flat_map(|[_, y, half]| {
            let half = if half.is_finite() { half.min(WIDEST_SHOWN * y.abs()) } else { 0.0 };
            [*y, (y - half).max(least), (y + half).min(most)]
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
    let linear_y = || Axis::around(y().chain(zero), 5);
    if plot.kind == Kind::Phase && unit(&plot.x) == unit(&plot.y) {
        let both = Axis::around(x().chain(y()).chain(zero), 5);
        return (both, both);
    }
    (log_x.unwrap_or_else(linear_x), log_y.unwrap_or_else(linear_y))
}

/// The unit in the title of an axis: "rate of flow 1, Mbit/s" gives "Mbit/s".
fn unit(title: &str) -> &str {
    title.rsplit(", ").next().unwrap_or(title)
}

/// The possible range of the vertical quantity of a plot.
fn possible(plot: &Plot) -> [f64; 2] {
    let most = plot.lines.iter().map(|line| most_possible(&line.measure)).fold(0.0, f64::max);
    [0.0, most]
}

fn curve(
    figure: &Figure,
    plot: &Plot,
    (index, colour): (usize, Colour),
    line: &Line,
    shown: &[Placed],
) -> Curve {
    let beside = figure.is_beside(&line.measure);
    // equations are the same wherever they are computed
    let is_own = |on: Target| on == Target::Simulator || !figure.is_exact(&line.measure);
    let shown = shown.iter().filter(|(on, _)| is_own(*on));
    let of = shown.filter_map(|&(on, picture)| Some((on, picture.lines.get(index)?)));
    let drawn: Vec<(Target, &Drawn)> = of.filter(|(_, drawn)| !drawn.x.is_empty()).collect();
    let mut layers: Vec<Layer> =
        drawn.iter().flat_map(|(on, drawn)| layers(plot, line, beside, *on, drawn)).collect();
    if line.is_drawn_as_published() {
        let (x, y) = line.published.iter().map(|[x, y]| (*x, *y)).unzip();
        let layers = vec![Layer::plain(Look::Dashed, x, y)];
        return Curve { label: line.label.clone(), colour: Some(colour), layers };
    }
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
    Curve { label, colour: Some(colour), layers }
}

/// Horizontal lines between neighbouring published points of equal value, as that value holds all the time
/// between them.
fn levels(x: &[f64], y: &[f64]) -> Option<Layer> {
    let pairs = (1..y.len()).filter(|i| y[*i] == y[i - 1]);
    let (x, y) = pairs.flat_map(|i| [(x[i - 1], y[i]), (x[i], y[i]), (x[i], f64::NAN)]).unzip();
    Some(Layer::plain(Look::Dashed, x, y)).filter(|layer| !layer.x.is_empty())
}

/// The layers that draw a line from one place.
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
            let (mut through, mut dots) = (layer(through), layer(points_as));
            // Two points have a band between them; one alone needs whiskers.
            dots.half.retain(|_| finite < 2);
            // Of a median's interval only the farther end is on record.
            through.half.retain(|_| !line.measure.median);
            if finite > MOST_DOTS { vec![through] } else { vec![through, dots] }
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
