//! The numbers of the pictures, from the outcomes of runs.

use fairpace_experiment::metric::series;
use fairpace_results::Run;

use crate::figure::{Kind, Line, Measure, Plot};
use crate::measure::{Gave, NEAR_S, Outcomes, round, within};
use crate::record::{Drawn, Picture};

/// Most points of a line; a screen shows fewer.
const MOST_POINTS: usize = 600;

/// A point before it is recorded: x and y. NaN is a gap.
type Point = (f64, f64);

/// All pictures of a figure.
pub(crate) fn pictures(outcomes: &Outcomes<'_>) -> Vec<Picture> {
    let plots = outcomes.figure.plots.iter().enumerate();
    plots
        .map(|(index, plot)| {
            let lines = plot.lines.iter().map(|line| drawn(outcomes, plot, line));
            Picture { plot: index, kind: plot.kind, lines: lines.collect() }
        })
        .collect()
}

fn drawn(outcomes: &Outcomes<'_>, plot: &Plot, line: &Line) -> Drawn {
    let measure = &line.measure;
    match plot.kind {
        Kind::Sweep => match curve(outcomes, measure) {
            Some(points) => plain(every(points)),
            None => along(outcomes, plot, measure),
        },
        Kind::Bars => bars(outcomes, measure),
        Kind::Time => {
            let shown = |(t_s, _): &Point| within(*t_s, plot.from_s, plot.to_s);
            let points = over_time(outcomes, measure).unwrap_or_default().into_iter().filter(shown);
            plain(extremes(points.collect()))
        }
        Kind::Phase => {
            let right = Measure { of: line.against.clone(), over: None, times: None, ..measure.clone() };
            let (up, right) = (over_time(outcomes, measure), over_time(outcomes, &right));
            let both = up.into_iter().flatten().zip(right.into_iter().flatten());
            let points = both.filter(|((t_s, _), _)| within(*t_s, plot.from_s, plot.to_s));
            plain(every(points.map(|((_, up), (_, right))| (right, up)).collect()))
        }
        Kind::Cdf => plain(every(distribution(outcomes, measure))),
    }
}

/// The curve of a model, if the measure names one.
fn curve(outcomes: &Outcomes<'_>, measure: &Measure) -> Option<Vec<Point>> {
    let Gave::Model(output) = outcomes.at(&measure.run, &measure.at)? else { return None };
    let points = output.curves.get(measure.of.strip_prefix("model.")?)?;
    let times = measure.times.unwrap_or(1.0);
    Some(points.iter().map(|[x, y]| (*x, y * times)).collect())
}

/// A line along a sweep: a number for each point. A run without a sweep is a horizontal line over the range
/// of the others.
fn along(outcomes: &Outcomes<'_>, plot: &Plot, measure: &Measure) -> Drawn {
    let Some((_, run)) = outcomes.run(&measure.run) else { return Drawn::default() };
    let places: Vec<(f64, &str)> = match &run.sweep {
        Some(sweep) => {
            let named = |at: &str| measure.at.is_empty() || measure.at == at;
            let points = sweep.points.iter().filter(|point| named(&point.at));
            points.map(|point| (point.x, point.at.as_str())).collect()
        }
        None => ends(outcomes, plot).into_iter().flatten().map(|x| (x, "")).collect(),
    };
    let mut drawn = Drawn::default();
    for (x, at) in places {
        let Some(found) = outcomes.measure_at(measure, at) else { continue };
        drawn.x.push(round(x));
        drawn.y.push(found.mean.map(|mean| mean.mean));
        drawn.half.push(found.mean.and_then(|mean| mean.half));
    }
    drawn
}

/// The lowest and the highest x of the sweeps of a plot.
fn ends(outcomes: &Outcomes<'_>, plot: &Plot) -> Option<[f64; 2]> {
    let runs = plot.lines.iter().filter_map(|line| outcomes.run(&line.measure.run));
    let xs: Vec<f64> = runs.flat_map(|(_, run)| run.points().iter().map(|point| point.x)).collect();
    let least = xs.iter().copied().reduce(f64::min)?;
    Some([least, xs.into_iter().reduce(f64::max)?])
}

/// The point of a measure; all points of its sweep if it names none.
fn places<'a>(outcomes: &Outcomes<'a>, measure: &'a Measure) -> Vec<&'a str> {
    match outcomes.run(&measure.run) {
        Some((_, run)) if measure.at.is_empty() && run.sweep.is_some() => {
            run.points().iter().map(|point| point.at.as_str()).collect()
        }
        _ => vec![measure.at.as_str()],
    }
}

/// Bars of a measure: one, or one for each point of the sweep.
fn bars(outcomes: &Outcomes<'_>, measure: &Measure) -> Drawn {
    let places = places(outcomes, measure);
    // a table has its points in order, also those that it has no rows of yet
    let places = places.into_iter().filter(|at| outcomes.at(&measure.run, at).is_some());
    let means = places.map(|at| outcomes.measure_at(measure, at).and_then(|found| found.mean));
    let (y, half) = means.map(|mean| (mean.map(|m| m.mean), mean.and_then(|m| m.half))).unzip();
    Drawn { x: Vec::new(), y, half }
}

/// A line over time: the series of the first seed, or the curve of a model. The series is divided by the
/// series of its divisor, unless the divisor is reduced to a number.
fn over_time(outcomes: &Outcomes<'_>, measure: &Measure) -> Option<Vec<Point>> {
    let mut points = match outcomes.at(&measure.run, &measure.at)? {
        Gave::Runs(runs) => of_run(measure, runs.first()?)?,
        Gave::Model(_) => curve(outcomes, &Measure { times: None, ..measure.clone() })?,
        Gave::Table { .. } | Gave::Cell { .. } => return None,
    };
    let times = measure.times.unwrap_or(1.0);
    points.iter_mut().for_each(|(t_s, y)| (*t_s, *y) = (*t_s + measure.later_s, *y * times));
    // without `at`, another measure is at the point of this one
    let at_point = |other: &Measure| {
        let at = if other.at.is_empty() { measure.at.clone() } else { other.at.clone() };
        Measure { at, ..other.clone() }
    };
    if let Some(plus) = &measure.plus {
        points = sums(&points, &over_time(outcomes, &at_point(plus))?);
    }
    if let Some(over) = &measure.over {
        let over = at_point(over);
        match over_time(outcomes, &over).filter(|by| over.take.is_none() && by.len() == points.len()) {
            Some(by) => points.iter_mut().zip(by).for_each(|((_, y), (_, by))| *y /= by),
            None => {
                let by = outcomes.measure(&over)?.mean?.mean;
                points.iter_mut().for_each(|(_, y)| *y /= by);
            }
        }
    }
    Some(if measure.mean_s > 0.0 { means(&points, measure.mean_s) } else { points })
}

/// The sum of two series, at the times that both series have.
fn sums(a: &[Point], b: &[Point]) -> Vec<Point> {
    let same = |t_s: f64| {
        let next = b.partition_point(|(other_s, _)| *other_s < t_s - NEAR_S);
        b.get(next).filter(|(other_s, _)| *other_s <= t_s + NEAR_S)
    };
    a.iter().filter_map(|(t_s, y)| same(*t_s).map(|(_, more)| (*t_s, y + more))).collect()
}

/// The mean of each span, placed in its middle. A point stands for the interval that ends there; a span
/// without numbers is a gap.
fn means(points: &[Point], span_s: f64) -> Vec<Point> {
    let span = |(t_s, _): &Point| ((t_s - NEAR_S) / span_s).floor();
    let spans = points.chunk_by(|a, b| span(a) == span(b));
    let mean = |of: &[Point]| {
        let finite: Vec<f64> = of.iter().map(|(_, y)| *y).filter(|y| y.is_finite()).collect();
        let mean = finite.iter().sum::<f64>() / finite.len() as f64; // NaN without numbers
        ((span(&of[0]) + 0.5) * span_s, mean)
    };
    spans.map(mean).collect()
}

fn of_run(measure: &Measure, run: &Run) -> Option<Vec<Point>> {
    let values = series(&measure.of, run)?;
    Some(run.series.t_s.iter().copied().zip(values).collect())
}

/// A distribution: values in ascending order, each with the part of the values that are at or below it. The
/// values are those of all seeds at all points; for completion times those of the transfers, which a run has
/// by percentile.
fn distribution(outcomes: &Outcomes<'_>, measure: &Measure) -> Vec<Point> {
    let places = places(outcomes, measure);
    let times = measure.times.unwrap_or(1.0);
    if measure.take.is_none() && measure.of.ends_with(".completion_ms") {
        let first = places.first().and_then(|at| outcomes.at(&measure.run, at));
        let Some(Gave::Runs(runs)) = first else { return Vec::new() };
        let percentiles = runs.first().and_then(|run| series(&measure.of, run)).unwrap_or_default();
        let all = percentiles.len().saturating_sub(1).max(1) as f64;
        return percentiles.iter().enumerate().map(|(i, ms)| (ms * times, i as f64 / all)).collect();
    }
    let found = places.iter().filter_map(|at| outcomes.values(measure, at)).flatten();
    let mut values: Vec<f64> = found.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let all = values.len() as f64;
    values.into_iter().enumerate().map(|(i, value)| (value, (i + 1) as f64 / all)).collect()
}

/// A line without intervals. NaN is a gap.
fn plain(points: Vec<Point>) -> Drawn {
    let finite = |y: f64| y.is_finite().then(|| round(y));
    Drawn {
        x: points.iter().map(|(x, _)| round(*x)).collect(),
        y: points.iter().map(|(_, y)| finite(*y)).collect(),
        half: vec![None; points.len()],
    }
}

/// Every n-th point and the last point. Points without an x are left out.
fn every(points: Vec<Point>) -> Vec<Point> {
    let points: Vec<Point> = points.into_iter().filter(|(x, _)| x.is_finite()).collect();
    let step = points.len().div_ceil(MOST_POINTS - 1).max(1);
    let last = points.len().saturating_sub(1);
    points.into_iter().enumerate().filter(|(i, _)| i % step == 0 || *i == last).map(|(_, p)| p).collect()
}

/// The lowest and the highest point of each stretch, in their order, so that no spike is lost. A stretch
/// without numbers is a gap.
fn extremes(points: Vec<Point>) -> Vec<Point> {
    if points.len() <= MOST_POINTS {
        return points;
    }
    let length = points.len().div_ceil(MOST_POINTS / 2);
    let of = |stretch: &[Point]| {
        let finite = || stretch.iter().filter(|(_, y)| y.is_finite());
        let least = finite().min_by(|a, b| a.1.total_cmp(&b.1));
        let most = finite().max_by(|a, b| a.1.total_cmp(&b.1));
        let (Some(least), Some(most)) = (least, most) else { return stretch[..1].to_vec() };
        if least.0 <= most.0 { vec![*least, *most] } else { vec![*most, *least] }
    };
    points.chunks(length).flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_spikes_and_ends_within_the_limit() {
        let mut points: Vec<Point> = (0..10_001).map(|i| (f64::from(i), 1.0)).collect();
        points[7_777].1 = 50.0;
        points[3_333].1 = -50.0;
        let thin = extremes(points.clone());
        assert!(thin.len() <= MOST_POINTS, "{}", thin.len());
        assert!(thin.contains(&(7_777.0, 50.0)) && thin.contains(&(3_333.0, -50.0)));
        assert!(thin.windows(2).all(|pair| pair[0].0 <= pair[1].0), "time goes on");
        let some = every(points.clone());
        assert!(some.len() <= MOST_POINTS && some.first() == points.first() && some.last() == points.last());
    }

    #[test]
    fn series_add_up_where_both_have_a_time() {
        let (delivered, inflight) =
            ([(0.1 + 0.2, 5.0), (0.4, 6.0), (0.5, 7.0)], [(0.3, 2.0), (0.5, f64::NAN)]);
        let sums = sums(&delivered, &inflight);
        assert_eq!(sums[0], (0.1 + 0.2, 7.0), "times are sums of rounded numbers");
        assert!(sums.len() == 2 && sums[1].0 == 0.5 && sums[1].1.is_nan());
    }

    #[test]
    fn means_of_spans_stand_in_their_middle() {
        let points = [(0.5, 1.0), (1.0, 3.0), (1.5, f64::NAN), (2.5, 4.0), (3.0, f64::NAN)];
        let means = means(&points, 1.0);
        assert_eq!([means[0], means[2]], [(0.5, 2.0), (2.5, 4.0)], "a point at the end of a span is in it");
        assert!(means.len() == 3 && means[1].0 == 1.5 && means[1].1.is_nan());
    }

    #[test]
    fn a_stretch_without_numbers_is_a_gap() {
        let points = (0..10_000).map(|i| (f64::from(i), if i < 5_000 { f64::NAN } else { 2.0 })).collect();
        let drawn = plain(extremes(points));
        assert_eq!(drawn.y.first(), Some(&None));
        assert_eq!(drawn.y.last(), Some(&Some(2.0)));
        assert_eq!((drawn.x.len(), drawn.half.len()), (drawn.y.len(), drawn.y.len()));
    }
}
