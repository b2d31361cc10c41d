//! Bar charts: a row for each line of the plot or point of its sweep, with published values beside ours.

use fairpace_report::chart::{self, Axis, Bars, Colour, Look, Row, Strip};
use fairpace_scenario::Target;

use super::{BESIDE, Placed, WIDEST_SHOWN, colours, most_possible};
use crate::figure::{Line, Plot, Point};
use crate::record::{Drawn, Mean, Record};
use crate::text;

/// Number of ticks of the axis: as many fit below a small chart.
const TICKS: u32 = 3;

/// Heading above the bars of lines that are not in the paper.
const NOT_IN_THE_PAPER: &str = "not in the paper:";

/// A value, and half of its interval.
type Value = (f64, Option<f64>);

/// The text and the values of a bar.
struct Bar<'a> {
    point: Option<&'a Point>,
    published: Option<f64>,
    sim: Option<Value>,
    kernel: Option<Value>,
}

/// The bars of a line, and their look.
struct Series<'a> {
    line: &'a Line,
    colour: Colour,
    is_ours: bool,
    bars: Vec<Bar<'a>>,
}

/// The chart of a plot. Lines over the same points have their bars side by side, in a row for each point.
pub(super) fn chart(record: &Record, plot: &Plot, placed: &[Placed]) -> Bars {
    let colours = colours::of_lines(&record.figure, plot);
    let lines = plot.lines.iter().zip(colours).enumerate();
    let all: Vec<Series> =
        lines.map(|(index, (line, colour))| series(record, (index, line), colour, placed)).collect();
    let axis = axis(plot, &all);
    let side_by_side = all.len() > 1
        && all[0].bars.len() > 1
        && all.iter().all(|of| of.bars.iter().map(at).eq(all[0].bars.iter().map(at)));
    let drawn = |of: &Series, bar: &Bar, colour| drawn(axis, of, bar, colour);
    let rows = if side_by_side {
        let row = |i: usize| Row {
            above: String::new(),
            label: at(&all[0].bars[i]).unwrap_or_default().to_owned(),
            bars: all.iter().map(|of| drawn(of, &of.bars[i], toned(record, plot, of, &of.bars[i]))).collect(),
        };
        (0..all[0].bars.len()).map(row).collect()
    } else {
        let row = |of: &Series, bar: &Bar| Row {
            above: String::new(),
            label: match at(bar).filter(|_| of.bars.len() > 1) {
                None => of.line.label.clone(),
                // all are of the one line, which the axis names
                Some(at) if all.len() == 1 => at.to_owned(),
                Some(at) => format!("{}, {at}", of.line.label),
            },
            bars: vec![drawn(of, bar, plain(record, plot, of, bar))],
        };
        let rows = |of: &Series| of.bars.iter().map(|bar| row(of, bar)).collect::<Vec<Row>>();
        let (beside, paper): (Vec<&Series>, Vec<&Series>) = all.iter().partition(|of| of.is_ours);
        let mut beside: Vec<Row> = beside.into_iter().flat_map(rows).collect();
        if let Some(first) = beside.first_mut() {
            NOT_IN_THE_PAPER.clone_into(&mut first.above);
        }
        paper.into_iter().flat_map(rows).chain(beside).collect()
    };
    let key = |of: &Series| {
        let first = of.bars.first().map(|bar| toned(record, plot, of, bar));
        let same = of.bars.iter().all(|bar| Some(toned(record, plot, of, bar)) == first);
        let beside = if of.is_ours { BESIDE } else { "" };
        (format!("{}{beside}", of.line.label), first.filter(|_| same).or(Some(of.colour)))
    };
    let key = if side_by_side { all.iter().map(key).collect() } else { Vec::new() };
    Bars { title: plot.title.clone(), unit: plot.y.clone(), key, axis, rows }
}

fn at<'a>(bar: &Bar<'a>) -> Option<&'a str> {
    bar.point.map(|point| point.at.as_str())
}

/// Colour of a bar: the tone of its line, in the colour of the algorithm at its point.
fn toned(record: &Record, plot: &Plot, of: &Series, bar: &Bar) -> Colour {
    let own = colours::of_line(&record.figure, plot, of.line, bar.point);
    match of.colour {
        Colour::Algorithm { hue, tone, dashed } => Colour::Algorithm { hue: own.or(hue), tone, dashed },
        other @ Colour::Series(_) => other,
    }
}

/// Colour of a bar without the tone of its line, for charts whose rows have labels.
fn plain(record: &Record, plot: &Plot, of: &Series, bar: &Bar) -> Colour {
    Colour::plain(colours::of_line(&record.figure, plot, of.line, bar.point))
}

/// The bars of a line in one place, each with the point of its sweep.
fn placed_bars<'a>(
    record: &'a Record,
    line: &Line,
    on: Target,
    drawn: &Drawn,
) -> Vec<(Option<&'a Point>, Option<Value>)> {
    let run = record.figure.runs.iter().find(|run| run.name == line.measure.run);
    let at = &line.measure.at;
    let only = record.figure.kernel.as_ref().map_or(&[][..], |kernel| &kernel.at);
    let measured = |point: &&Point| {
        (at.is_empty() || point.at == *at)
            && (on == Target::Simulator || only.is_empty() || only.contains(&point.at))
    };
    let points = run.into_iter().flat_map(|run| run.points());
    let points: Vec<&Point> = points.filter(measured).collect();
    let value = |i: usize| {
        let value = drawn.y.get(i).copied().flatten().filter(|y| y.is_finite())?;
        Some((value, drawn.half.get(i).copied().flatten().filter(|half| *half > 0.0)))
    };
    (0..drawn.y.len()).map(|i| (points.get(i).copied(), value(i))).collect()
}

/// The bars of a line: one, or one for each point of its sweep. A bar that was not measured has only its
/// published value.
fn series<'a>(
    record: &'a Record,
    (index, line): (usize, &'a Line),
    colour: Colour,
    placed: &[Placed],
) -> Series<'a> {
    let of = |on: Target| {
        let drawn = placed.iter().find(|(place, _)| *place == on);
        let drawn = drawn.and_then(|(_, picture)| picture.lines.get(index));
        drawn.map_or_else(Vec::new, |drawn| placed_bars(record, line, on, drawn))
    };
    let is_ours = record.figure.is_beside(&line.measure);
    let (sim, kernel) = (of(Target::Simulator), of(Target::Testbed));
    let first = if sim.is_empty() { &kernel } else { &sim };
    let mut points: Vec<Option<&Point>> = first.iter().map(|(point, _)| *point).collect();
    if points.is_empty() {
        points.push(None);
    }
    let alone = points.len() == 1;
    let bar = |(i, point): (usize, &Option<&'a Point>)| {
        let of = |bars: &[(Option<&Point>, Option<Value>)]| {
            let is_it = |other: Option<&Point>| other.map(|other| &other.at) == point.map(|point| &point.at);
            let same = bars.iter().find(|(other, _)| is_it(*other));
            if point.is_some() { same } else { bars.get(i) }.and_then(|(_, bar)| *bar)
        };
        let published =
            line.published.iter().rfind(|[x, _]| alone || point.is_some_and(|point| point.x == *x));
        Bar { point: *point, published: published.map(|[_, y]| *y), sim: of(&sim), kernel: of(&kernel) }
    };
    let bars = points.iter().enumerate().map(bar).collect();
    Series { line, colour, is_ours, bars }
}

/// The axis: from zero to the largest drawn or published value. For a part of a whole it ends at the whole,
/// so that neighbouring charts are comparable.
fn axis(plot: &Plot, all: &[Series]) -> Axis {
    let end = |of: &Series, (y, half): Value| {
        let end = y + half.unwrap_or(0.0).min(WIDEST_SHOWN * y.abs());
        [y, end.min(most_possible(&of.line.measure))]
    };
    let values = |of: &Series| {
        let of_bar = |bar: &Bar| {
            let measured = [bar.sim, bar.kernel].into_iter().flatten().flat_map(|value| end(of, value));
            measured.chain(bar.published).collect::<Vec<f64>>()
        };
        of.bars.iter().flat_map(of_bar).collect::<Vec<f64>>()
    };
    let values: Vec<f64> = all.iter().flat_map(values).collect();
    let log = if plot.log_y { Axis::log(values.iter().copied()) } else { None };
    let whole = all.iter().map(|of| most_possible(&of.line.measure)).reduce(f64::max);
    let whole = whole.filter(|whole| *whole == 1.0);
    log.unwrap_or_else(|| Axis::around(values.iter().copied().chain([0.0]).chain(whole), TICKS))
}

fn drawn(axis: Axis, of: &Series, bar: &Bar, colour: Colour) -> chart::Bar {
    let colour = Some(colour);
    let said = |(value, half): Value| text::mean(Mean { n: 1, mean: value, half });
    let simulated = if of.is_ours { Look::Boxes } else { Look::Dots };
    let marks = [
        bar.sim.map(|(x, half)| (simulated, x, half, colour)),
        bar.kernel.map(|(x, half)| (Look::Rings, x, half, colour)),
        bar.published.map(|x| (Look::Squares, x, None, None)),
    ];
    let said = [bar.sim.map(said), bar.kernel.map(said), bar.published.map(text::number)];
    let strip = Strip {
        axis,
        bar: bar.sim.or(bar.kernel).map(|(value, _)| (value, colour)),
        allowed: None,
        // What is published lies below what is measured, which has whiskers.
        marks: marks.iter().rev().flatten().copied().collect(),
        possible: [0.0, most_possible(&of.line.measure)],
    };
    let said = marks.into_iter().zip(said).filter_map(|(mark, said)| Some((mark?.0, said?)));
    chart::Bar { colour, said: said.collect(), strip }
}
