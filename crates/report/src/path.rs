//! Time series as SVG path data: integers, relative moves, and at most a few points per pixel column.

use crate::scale::{HEIGHT, Scale, WIDTH};
use std::fmt::Write;
use std::ops::Range;

/// The largest number of columns that a plot can use: one per pixel of a wide screen.
const MOST_COLUMNS: usize = 1000;
/// The smallest number of columns that still shows a shape.
const LEAST_COLUMNS: usize = 250;
/// Most columns of all flows of all runs together. A column takes about 150 bytes, so this keeps a report
/// below 1.5 MB.
const COLUMNS_IN_ALL: usize = 10_000;

/// The number of columns per plot in a report with `flows` flows.
pub(crate) fn columns_for(flows: usize) -> usize {
    (COLUMNS_IN_ALL / flows.max(1)).clamp(LEAST_COLUMNS, MOST_COLUMNS)
}

/// Splits `points` indices into ranges of equal length: ranges of one point, or at most half of `most`
/// ranges, because each range is drawn as two points.
pub(crate) fn columns(points: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let size = if points <= most { 1 } else { points.div_ceil((most / 2).max(1)) };
    (0..points).step_by(size).map(move |from| from..points.min(from + size))
}

/// The mean of the finite values of a column; NaN if there is none.
pub(crate) fn mean(values: &[f32]) -> f64 {
    let finite = || values.iter().filter(|x| x.is_finite());
    finite().map(|x| f64::from(*x)).sum::<f64>() / finite().count() as f64
}

/// Means over bins of `bin_s` seconds: times (middle of the bin) and values.
pub(crate) fn rebin(t_s: &[f64], values: &[f32], bin_s: f64) -> (Vec<f64>, Vec<f32>) {
    let (mut times, mut means) = (Vec::new(), Vec::new());
    let mut from = 0;
    while from < t_s.len() {
        // t_s is the end of an interval: 1.0 belongs to the bin that ends at 1.0.
        let bin = (t_s[from] / bin_s - 1e-6).floor();
        let inside = |t: &&f64| (**t / bin_s - 1e-6).floor() == bin;
        let to = from + t_s[from..].iter().take_while(inside).count().max(1);
        times.push((bin + 0.5) * bin_s);
        means.push(mean(&values[from.min(values.len())..to.min(values.len())]) as f32);
        from = to;
    }
    (times, means)
}

/// Path data under construction.
#[derive(Default)]
struct Pen {
    data: String,
    at: Option<(i32, i32)>,
    /// Index in `data` and start of the last command, if it is a horizontal move, which the next command may
    /// extend.
    flat: Option<(usize, i32)>,
}

impl Pen {
    /// Draws a line to a point, or starts at the point after a gap.
    fn to(&mut self, x: i32, y: i32) {
        let flat = self.flat.take();
        // Writing to a String cannot fail.
        let _ = match self.at {
            None => write!(self.data, "M{x},{y}"),
            Some(at) if at == (x, y) => {
                self.flat = flat;
                return;
            }
            Some((x0, y0)) if y0 == y => {
                let (place, from) = flat.filter(|_| x > x0).unwrap_or((self.data.len(), x0));
                self.data.truncate(place);
                self.flat = (x > x0).then_some((place, from));
                write!(self.data, "h{}", x - from)
            }
            Some((x0, y0)) if x0 == x => write!(self.data, "v{}", y - y0),
            Some((x0, y0)) => write!(self.data, "l{},{}", x - x0, y - y0),
        };
        self.at = Some((x, y));
    }

    /// Adds a rectangle of full height.
    fn stripe(&mut self, from: i32, to: i32) {
        let _ = write!(self.data, "M{from},0h{}v{HEIGHT}h{}z", to - from, from - to);
    }
}

/// The vertices of a line: for each column the finite minimum and maximum, in the order of their occurrence.
/// `None` is a gap.
fn vertices(t_s: &[f64], values: &[f32], scale: &Scale) -> Vec<Option<(i32, i32)>> {
    let points = t_s.len().min(values.len());
    let mut out = Vec::with_capacity(points.min(scale.columns));
    for column in columns(points, scale.columns) {
        let finite = || column.clone().filter(|i| values[*i].is_finite() && t_s[*i].is_finite());
        let lowest = finite().min_by(|a, b| values[*a].total_cmp(&values[*b]));
        let highest = finite().max_by(|a, b| values[*a].total_cmp(&values[*b]));
        match lowest.zip(highest) {
            None => out.push(None),
            Some((a, b)) => {
                for i in [a.min(b), a.max(b)] {
                    out.push(Some((scale.x(t_s[i]), scale.y(f64::from(values[i])))));
                }
            }
        }
    }
    out
}

/// Path of a line through the points. The line breaks where a value is missing. A single point becomes a
/// short dash.
pub(crate) fn line(t_s: &[f64], values: &[f32], scale: &Scale) -> String {
    draw(&vertices(t_s, values, scale), |pen, x, y| pen.to(x, y))
}

/// Path of a step curve: like [`line()`], but a value applies until the next one.
pub(crate) fn steps(t_s: &[f64], values: &[f32], scale: &Scale) -> String {
    draw(&vertices(t_s, values, scale), |pen, x, y| {
        if let Some((_, y0)) = pen.at {
            pen.to(x, y0);
        }
        pen.to(x, y);
    })
}

fn draw(vertices: &[Option<(i32, i32)>], mut to: impl FnMut(&mut Pen, i32, i32)) -> String {
    let mut pen = Pen::default();
    let mut drawn_since_gap = 0;
    for (i, vertex) in vertices.iter().enumerate() {
        let Some((x, y)) = *vertex else {
            (pen.at, drawn_since_gap) = (None, 0);
            continue;
        };
        if pen.at != Some((x, y)) {
            drawn_since_gap += 1;
        }
        to(&mut pen, x, y);
        let last = vertices.get(i + 1).is_none_or(Option::is_none);
        if last && drawn_since_gap == 1 {
            pen.to((x + 2).min(WIDTH), y);
            pen.to((x - 2).max(0), y);
        }
    }
    pen.data
}

/// Path of the area between two series. Missing values count as zero, because an area needs both edges.
pub(crate) fn area(t_s: &[f64], lower: &[f32], upper: &[f32], scale: &Scale) -> String {
    let edge = |values: &[f32]| -> Vec<(i32, i32)> {
        columns(t_s.len().min(values.len()), scale.columns)
            .filter(|column| t_s[column.start].is_finite())
            .map(|column| {
                let value = mean(&values[column.clone()]);
                (scale.x(t_s[column.start]), scale.y(if value.is_nan() { 0.0 } else { value }))
            })
            .collect()
    };
    let mut pen = Pen::default();
    edge(upper).into_iter().for_each(|(x, y)| pen.to(x, y));
    edge(lower).into_iter().rev().for_each(|(x, y)| pen.to(x, y));
    if !pen.data.is_empty() {
        pen.data.push('z');
    }
    pen.data
}

/// The spans of each phase: phase and path of full-height stripes, in the order of the phases. A column has
/// the phase of its last point. Negative (unknown) phases are left out.
pub(crate) fn stripes(t_s: &[f64], phase: &[i8], scale: &Scale) -> Vec<(i8, String)> {
    let mut pens: Vec<(i8, Pen)> = Vec::new();
    let mut stripe: Option<(i8, i32, i32)> = None; // phase, from, to
    let mut flush = |stripe: Option<(i8, i32, i32)>| {
        let Some((phase, from, to)) = stripe.filter(|(phase, from, to)| *phase >= 0 && to > from) else {
            return;
        };
        let place = pens.iter().position(|(p, _)| *p == phase).unwrap_or_else(|| {
            pens.push((phase, Pen::default()));
            pens.len() - 1
        });
        pens[place].1.stripe(from, to);
    };
    let mut left = 0;
    for column in columns(t_s.len().min(phase.len()), scale.columns) {
        let last = column.end - 1;
        let right = scale.x(t_s[last]);
        stripe = match stripe {
            Some((p, from, to)) if p == phase[last] && to == left => Some((p, from, right)),
            old => {
                flush(old);
                Some((phase[last], left, right))
            }
        };
        left = right;
    }
    flush(stripe);
    pens.sort_by_key(|(phase, _)| *phase);
    pens.into_iter().map(|(phase, pen)| (phase, pen.data)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Axis;

    /// A scale that is ten seconds wide and ten units high: 120 x 400 plot units each.
    fn scale() -> Scale {
        Scale { time: Axis::ending_at(10.0, 5), value: Axis::holding(10.0, 5), columns: MOST_COLUMNS }
    }

    #[test]
    fn a_line_breaks_where_a_value_is_missing() {
        let data = line(&[1.0, 2.0, 3.0, 4.0, 5.0], &[0.0, 10.0, f32::NAN, 5.0, 5.0], &scale());
        assert_eq!(data, "M120,4000l120,-4000M480,2000h120");
    }

    #[test]
    fn steps_hold_a_value_until_the_next() {
        assert_eq!(steps(&[0.0, 1.0, 2.0], &[10.0, 0.0, 0.0], &scale()), "M0,0h120v4000h120");
    }

    #[test]
    fn equal_values_become_one_command() {
        let data = line(&[0.0, 1.0, 2.0, 3.0, 4.0], &[5.0, 5.0, 5.0, 0.0, 0.0], &scale());
        assert_eq!(data, "M0,2000h240l120,2000h120");
    }

    #[test]
    fn a_lone_point_is_visible() {
        assert_eq!(line(&[5.0], &[5.0], &scale()), "M600,2000h2h-4");
        assert_eq!(line(&[1.0, 5.0, 6.0], &[f32::NAN, 5.0, f32::NAN], &scale()), "M600,2000h2h-4");
        assert_eq!(line(&[], &[], &scale()), "");
        assert_eq!(line(&[1.0], &[f32::NAN], &scale()), "");
    }

    #[test]
    fn a_long_series_keeps_its_extremes_and_stays_small() {
        let points = 100_000;
        let t_s: Vec<f64> = (0..points).map(|i| f64::from(i) * 10.0 / f64::from(points)).collect();
        let mut values: Vec<f32> = (0..points).map(|i| 5.0 + (i % 7) as f32 / 10.0).collect();
        values[43_210] = 10.0;
        values[76_543] = 0.0;
        let data = line(&t_s, &values, &scale());
        assert!(data.len() < 30_000, "{} bytes", data.len());
        let y = |data: &str| -> Vec<i32> {
            // Follow the moves.
            let (mut y, mut all) = (0, Vec::new());
            for part in data.split_inclusive(|c: char| c.is_ascii_alphabetic()).collect::<Vec<_>>().windows(2)
            {
                let command = part[0].chars().last().unwrap_or(' ');
                let numbers: Vec<i32> = part[1]
                    .trim_end_matches(|c: char| c.is_ascii_alphabetic())
                    .split(',')
                    .filter_map(|n| n.parse().ok())
                    .collect();
                match command {
                    'M' => y = numbers[1],
                    'l' => y += numbers[1],
                    'v' => y += numbers[0],
                    _ => {}
                }
                all.push(y);
            }
            all
        };
        let ys = y(&data);
        assert!(ys.contains(&0) && ys.contains(&HEIGHT), "extremes are lost");
    }

    #[test]
    fn an_area_is_closed_and_reads_missing_as_zero() {
        let data = area(&[0.0, 10.0], &[0.0, 0.0], &[5.0, f32::NAN], &scale());
        assert_eq!(data, "M0,2000l1200,2000h-1200z");
        assert_eq!(area(&[], &[], &[], &scale()), "");
    }

    #[test]
    fn stripes_join_equal_neighbours_and_skip_unknown() {
        let found = stripes(&[1.0, 2.0, 3.0, 4.0, 5.0], &[3, 3, 0, -1, 3], &scale());
        let expected = [(0, "M240,0h120v4000h-120z"), (3, "M0,0h240v4000h-240zM480,0h120v4000h-120z")];
        assert_eq!(found.iter().map(|(p, d)| (*p, d.as_str())).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn bins_are_means_of_what_is_there() {
        let (t, v) = rebin(&[0.5, 1.0, 1.5, 2.0, 3.5], &[1.0, 3.0, f32::NAN, f32::NAN, 7.0], 1.0);
        assert_eq!(t, [0.5, 1.5, 3.5]);
        assert!(v[0] == 2.0 && v[1].is_nan() && v[2] == 7.0, "{v:?}");
        let (t, _) = rebin(&[f64::NAN, 1.0], &[], 1.0);
        assert_eq!(t.len(), 2);
    }
}
