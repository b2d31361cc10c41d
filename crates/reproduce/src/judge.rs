//! Whether what we measure is what the paper reports.
//!
//! Means are compared as they are recorded. What is missing never holds; what this place did not run is not judged.

use crate::figure::{Along, Figure, Is, Shape, Value};
use crate::measure::{Measurement, Outcomes, round};
use crate::record::{Compared, Held, Mean, On, Verdict};

/// Of the larger side: two numbers that are written the same in decimals may differ by so much in binary.
const EPSILON: f64 = 1e-9;

/// All values and shapes of the figure, and what they come to.
pub(crate) fn judge(outcomes: &Outcomes<'_>, on: On) -> (Vec<Compared>, Vec<Held>, Verdict) {
    let figure = outcomes.figure;
    let values: Vec<Compared> = (0..figure.values.len()).map(|value| compare(outcomes, on, value)).collect();
    let shapes: Vec<Held> = (0..figure.shapes.len()).map(|shape| hold(outcomes, on, shape)).collect();
    let verdict = verdict(figure, &values, &shapes);
    (values, shapes, verdict)
}

fn verdict(figure: &Figure, values: &[Compared], shapes: &[Held]) -> Verdict {
    let of_values = || values.iter().filter_map(|value| value.holds);
    let of_shapes = || shapes.iter().filter_map(|shape| shape.holds);
    if of_values().chain(of_shapes()).next().is_none() {
        return Verdict::NotRun;
    }
    if of_shapes().any(|holds| !holds) {
        return Verdict::Differs;
    }
    // where the paper has numbers, its shape alone does not reproduce it
    let some = figure.values.is_empty() || of_values().next().is_some();
    match some && of_values().all(|holds| holds) {
        true => Verdict::Reproduced,
        // without a shape that holds there is none to be alike
        false if of_shapes().next().is_none() => Verdict::Differs,
        false => Verdict::ShapeOnly,
    }
}

fn compare(outcomes: &Outcomes<'_>, on: On, index: usize) -> Compared {
    let nothing = Compared { value: index, ours: None, holds: None };
    let Some(value) = outcomes.figure.values.get(index) else { return nothing };
    if on == On::Kernel && !outcomes.ran(&value.measure) {
        return nothing;
    }
    let Some(Measurement { mean, complete }) = outcomes.measure(&value.measure) else { return nothing };
    let holds = complete && mean.is_some_and(|ours| value_holds(value, ours.mean));
    Compared { value: index, ours: mean, holds: Some(holds) }
}

fn value_holds(value: &Value, ours: f64) -> bool {
    let slack = value.tolerance.max(value.tolerance_ratio * value.published.abs());
    relation(value.is, ours, value.published, slack)
}

/// Sides that are not numbers stand in no relation.
fn relation(is: Is, left: f64, right: f64, slack: f64) -> bool {
    let slack = slack + EPSILON * left.abs().max(right.abs());
    match is {
        Is::About => (left - right).abs() <= slack,
        Is::Below => left <= right + slack,
        Is::Above => left >= right - slack,
    }
}

fn hold(outcomes: &Outcomes<'_>, on: On, index: usize) -> Held {
    let nothing = Held { shape: index, ours: Vec::new(), holds: None };
    let Some(shape) = outcomes.figure.shapes.get(index) else { return nothing };
    let ran = outcomes.ran(&shape.measure) || shape.than.as_ref().is_some_and(|than| outcomes.ran(than));
    if on == On::Kernel && !ran {
        return nothing;
    }
    let judged = match shape.along {
        Some(along) => hold_along(outcomes, shape, along),
        None => hold_relation(outcomes, shape),
    };
    judged.map_or(nothing, |(ours, holds)| Held { shape: index, ours, holds: Some(holds) })
}

/// Means that are there, and whether the relation holds; `None`: a side was not run here.
fn hold_relation(outcomes: &Outcomes<'_>, shape: &Shape) -> Option<(Vec<Mean>, bool)> {
    let left = outcomes.measure(&shape.measure)?;
    let right = match &shape.than {
        Some(than) => {
            let scaled = |mean: Mean| Mean {
                n: mean.n,
                mean: round(mean.mean * shape.factor),
                half: mean.half.map(|half| round((half * shape.factor).abs())),
            };
            let than = outcomes.measure(than)?;
            Measurement { mean: than.mean.map(scaled), ..than }
        }
        None => Measurement { mean: Some(Mean { n: 0, mean: shape.factor, half: None }), complete: true },
    };
    let holds = left.complete
        && right.complete
        && left.mean.zip(right.mean).is_some_and(|(left, right)| {
            relation(shape.is, left.mean, right.mean, shape.tolerance_ratio * right.mean.abs())
        });
    Some((left.mean.into_iter().chain(right.mean).collect(), holds))
}

/// The means of all points that were run, in order.
fn hold_along(outcomes: &Outcomes<'_>, shape: &Shape, along: Along) -> Option<(Vec<Mean>, bool)> {
    let (_, run) = outcomes.run(&shape.measure.run)?;
    let points = run.sweep.iter().flat_map(|sweep| &sweep.points);
    let found: Vec<Measurement> =
        points.filter_map(|point| outcomes.measure_at(&shape.measure, &point.at)).collect();
    if found.len() < 2 {
        return None;
    }
    let means: Vec<Mean> = found.iter().filter_map(|found| found.mean).collect();
    let numbers: Vec<f64> = means.iter().map(|mean| mean.mean).collect();
    let complete = found.iter().all(|found| found.complete);
    Some((means, complete && goes(along, &numbers, shape.tolerance_ratio)))
}

/// Whether numbers go that way. What rises must also end higher than it begins.
fn goes(along: Along, numbers: &[f64], tolerance_ratio: f64) -> bool {
    let [Some(first), Some(last)] = [numbers.first(), numbers.last()] else { return false };
    let steps = |is| {
        let mut pairs = numbers.windows(2);
        pairs.all(|pair| relation(is, pair[1], pair[0], tolerance_ratio * pair[0].abs()))
    };
    match along {
        Along::Rises => last > first && steps(Is::Above),
        Along::Falls => last < first && steps(Is::Below),
        Along::Level => {
            let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
            numbers.iter().all(|x| relation(Is::About, *x, mean, tolerance_ratio * mean.abs()))
        }
    }
}
