//! Judgement of a check: whether our measurement agrees with what the paper reports.
//!
//! A check holds only if the whole 95 % confidence interval of our measure agrees with it, and is
//! contradicted only if no point of the interval does. The whole interval must lie within a tolerance, not
//! only the mean: where seeds differ by more than the tolerance, no mean is close enough, and more seeds are
//! needed. Two sides differ by the gap between their intervals. A number from one run has no interval and
//! decides nothing; a number from equations is exact. Findings follow from recorded means, so that a rule or
//! a tolerance may change without a new run.

use fairpace_scenario::Target;

use crate::figure::{Along, Figure, Is, Measure, Shape, Value};
use crate::measure::{Measurement, Outcomes, round};
use crate::record::{Compared, Finding, Mean, Measured, Numbers, Verdict};
use crate::tally::Counted;

mod causes;

/// Tolerance for binary numbers, as a part of the larger side: two numbers with equal decimals may differ by
/// this much.
const EPSILON: f64 = 1e-9;

/// The rule by which a number is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The interval of the number is judged.
    Interval,
    /// The mean of the number is judged. The quick version has one seed, and so no interval. It confirms
    /// recorded findings and makes no new ones.
    Mean,
}

/// The numbers of all values and shapes of the figure.
pub(crate) fn numbers(outcomes: &Outcomes<'_>, on: Target) -> (Vec<Compared>, Vec<Compared>) {
    let Figure { values, shapes, .. } = outcomes.figure;
    let values = values.iter().map(|value| compare(outcomes, on, value)).collect();
    (values, shapes.iter().map(|shape| hold(outcomes, on, shape)).collect())
}

/// Sets the finding of each check, and the verdict on the figure.
pub(crate) fn find(figure: &Figure, rule: Rule, measured: &mut Measured) {
    for (value, compared) in figure.values.iter().zip(&mut measured.values) {
        compared.finding = of_value(figure, rule, value, &compared.numbers);
        causes::find(figure, rule, value, compared);
    }
    for (shape, held) in figure.shapes.iter().zip(&mut measured.shapes) {
        held.finding = of_shape(figure, rule, shape, &held.numbers);
    }
    measured.verdict = verdict(figure, measured);
}

fn verdict(figure: &Figure, measured: &Measured) -> Verdict {
    let counted = Counted::of(figure, Some(measured));
    let paper = counted.values + counted.shapes;
    let (all, hold) = (paper.all(), paper.of(Finding::Holds));
    if measured.findings().all(|finding| finding == Finding::NotMeasured) {
        Verdict::NotRun
    } else if all == 0 {
        Verdict::Ours
    } else if paper.of(Finding::NotMeasured) == all {
        Verdict::NotRun
    } else if hold == all {
        Verdict::Replicated
    } else if hold > 0 {
        Verdict::Partly
    } else {
        Verdict::Not
    }
}

fn compare(outcomes: &Outcomes<'_>, on: Target, value: &Value) -> Compared {
    let is_here = on == Target::Simulator || outcomes.ran(&value.measure);
    let found = outcomes.measure(&value.measure).filter(|_| is_here);
    let tried = causes::measure(outcomes, value, found.is_some());
    Compared { numbers: found.map(Measurement::numbers).unwrap_or_default(), tried, ..Compared::default() }
}

fn hold(outcomes: &Outcomes<'_>, on: Target, shape: &Shape) -> Compared {
    let ran = outcomes.ran(&shape.measure) || shape.than.as_ref().is_some_and(|than| outcomes.ran(than));
    let measured = match shape.along {
        _ if on == Target::Testbed && !ran => None,
        Some(_) => points(outcomes, shape),
        None => sides(outcomes, shape),
    };
    Compared { numbers: measured.unwrap_or_default(), ..Compared::default() }
}

/// The sides of a relation that have a mean, and whether every seed has a value; `None` if a side was not run
/// in this place.
fn sides(outcomes: &Outcomes<'_>, shape: &Shape) -> Option<Numbers> {
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
    let ours = left.mean.into_iter().chain(right.mean).collect();
    Some(Numbers { ours, complete: left.complete && right.complete })
}

/// The means of all points that were run, in the order of the sweep.
fn points(outcomes: &Outcomes<'_>, shape: &Shape) -> Option<Numbers> {
    let (_, run) = outcomes.run(&shape.measure.run)?;
    let points = run.points().iter();
    let found: Vec<Measurement> =
        points.filter_map(|point| outcomes.measure_at(&shape.measure, &point.at)).collect();
    let complete = found.iter().all(|found| found.complete);
    let enough = found.len() >= 2;
    let ours = found.into_iter().filter_map(|found| found.mean).collect();
    enough.then_some(Numbers { ours, complete })
}

/// The interval in which a number lies.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    low: f64,
    high: f64,
}

impl Span {
    /// The interval of a mean; `None` if it has none and the rule asks for one. A mean without runs is a
    /// constant.
    fn of(mean: Mean, rule: Rule, exact: bool) -> Option<Self> {
        let half = match rule {
            Rule::Mean => 0.0,
            Rule::Interval if exact || mean.n == 0 => 0.0,
            Rule::Interval => mean.half?,
        };
        Some(Self { low: mean.mean - half, high: mean.mean + half })
    }

    /// The interval of the difference of two numbers.
    fn minus(self, other: Self) -> Self {
        Self { low: self.low - other.high, high: self.high - other.low }
    }

    fn largest(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }
}

/// The finding for a check without a value in some seeds: open, or contradicted if no seed has a value,
/// because the value should exist.
fn without(complete: bool, some: bool) -> Option<Finding> {
    match (complete, some) {
        (true, false) => Some(Finding::NotMeasured),
        (false, false) => Some(Finding::Contradicted),
        (false, true) => Some(Finding::Open),
        (true, true) => None,
    }
}

fn of_value(figure: &Figure, rule: Rule, value: &Value, numbers: &Numbers) -> Finding {
    let ours = numbers.ours.first();
    if let Some(finding) = without(numbers.complete, ours.is_some()) {
        return finding;
    }
    let exact = figure.is_exact(&value.measure);
    let ours = ours.and_then(|ours| Span::of(*ours, rule, exact));
    ours.map_or(Finding::Open, |ours| beside_published(value, ours))
}

/// The finding of a published value: whether our number agrees with it.
fn beside_published(value: &Value, ours: Span) -> Finding {
    let published = Span { low: value.published, high: value.published };
    relation(value.is, ours, published, value.room())
}

fn of_shape(figure: &Figure, rule: Rule, shape: &Shape, numbers: &Numbers) -> Finding {
    let Numbers { ours, complete } = numbers;
    let exact = |measure: &Measure| figure.is_exact(measure);
    let has_ours = if shape.along.is_some() { !ours.is_empty() } else { ours.len() == 2 };
    if let Some(finding) = without(*complete, has_ours) {
        return finding;
    }
    match (shape.along, ours.as_slice()) {
        // that seeds differ by less cannot be seen of one
        (None, _) if shape.is == Is::Apart && rule == Rule::Mean => Finding::NotMeasured,
        (Some(along), points) => {
            let exact = exact(&shape.measure);
            let spans: Option<Vec<Span>> = points.iter().map(|mean| Span::of(*mean, rule, exact)).collect();
            let mean = points.iter().map(|mean| mean.mean).sum::<f64>() / points.len() as f64;
            spans.map_or(Finding::Open, |spans| goes(along, &spans, mean, shape.tolerance_ratio))
        }
        (None, [left, right]) => {
            let left = Span::of(*left, rule, exact(&shape.measure));
            let span = Span::of(*right, rule, shape.than.as_ref().is_none_or(exact));
            let tolerance = shape.tolerance_ratio * right.mean.abs();
            let sides = left.zip(span);
            sides.map_or(Finding::Open, |(left, right)| relation(shape.is, left, right, tolerance))
        }
        (None, _) => Finding::Contradicted,
    }
}

/// The finding of a relation between two numbers. Sides that are not numbers contradict every relation.
fn relation(is: Is, left: Span, right: Span, tolerance: f64) -> Finding {
    let Span { low, high } = left.minus(right);
    let epsilon = EPSILON * left.largest().max(right.largest());
    let tolerance = tolerance + epsilon;
    if !(low.is_finite() && high.is_finite()) {
        return Finding::Contradicted;
    }
    let (agrees, disagrees) = match is {
        Is::About => (low >= -tolerance && high <= tolerance, low > tolerance || high < -tolerance),
        Is::Below => (high <= epsilon, low > epsilon),
        Is::Above => (low >= -epsilon, high < -epsilon),
        // intervals that meet are no evidence for a difference, and none against it
        Is::Apart => (low > tolerance || high < -tolerance, false),
    };
    match (agrees, disagrees) {
        (true, _) => Finding::Holds,
        (false, true) => Finding::Contradicted,
        (false, false) => Finding::Open,
    }
}

/// The finding of a course along a sweep: whether the numbers rise, fall or stay level. Numbers that rise
/// must also end higher than they begin.
fn goes(along: Along, points: &[Span], mean: f64, tolerance_ratio: f64) -> Finding {
    let [Some(first), Some(last)] = [points.first(), points.last()] else { return Finding::Contradicted };
    let steps = |is| points.windows(2).map(move |pair| relation(is, pair[1], pair[0], 0.0));
    let level = Span { low: mean, high: mean };
    let findings: Vec<Finding> = match along {
        Along::Rises => steps(Is::Above).collect(),
        Along::Falls => steps(Is::Below).collect(),
        Along::Level => {
            let about = |point: &Span| relation(Is::About, *point, level, tolerance_ratio * mean.abs());
            points.iter().map(about).collect()
        }
    };
    let ends = match along {
        Along::Rises if last.high <= first.low => Finding::Contradicted,
        Along::Falls if last.low >= first.high => Finding::Contradicted,
        _ => Finding::Holds,
    };
    // the order of findings is that from good to bad
    findings.into_iter().fold(ends, Finding::max)
}

#[cfg(test)]
mod tests;
