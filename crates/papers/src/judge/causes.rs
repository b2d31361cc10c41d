//! The effects of suspected causes on a value that does not hold.

use super::{Rule, Span, beside_published};
use crate::figure::{Figure, Is, Value};
use crate::measure::{Measurement, Outcomes};
use crate::record::{Compared, Finding, Mean, Moved, Tried};

/// The value under each change of a cause; empty if the value itself is not measured. It is also empty in the
/// quick version, which leaves such runs out.
pub(super) fn measure(outcomes: &Outcomes<'_>, value: &Value, is_measured: bool) -> Vec<Tried> {
    let tried = value.causes.iter().map(|cause| outcomes.measure(&cause.measure).filter(|_| is_measured));
    let numbers = tried.map(|found| found.map(Measurement::numbers).unwrap_or_default());
    numbers.map(|numbers| Tried { numbers, ..Tried::default() }).collect()
}

/// Sets the effect of each change.
pub(super) fn find(figure: &Figure, rule: Rule, value: &Value, compared: &mut Compared) {
    let exact = figure.is_exact(&value.measure);
    let without = compared.ours().and_then(|ours| Some((ours, Span::of(ours, rule, exact)?)));
    for (cause, tried) in value.causes.iter().zip(&mut compared.tried) {
        let exact = figure.is_exact(&cause.measure);
        let ours = tried.numbers.ours.first().copied();
        let with = ours.and_then(|ours| Some((ours, Span::of(ours, rule, exact)?)));
        tried.moved = match (ours, with) {
            (None, _) => Moved::NotMeasured,
            (Some(_), None) => Moved::Unmoved,
            (Some(_), Some(with)) => moved(value, without, with, tried.numbers.complete),
        };
    }
}

fn moved(value: &Value, without: Option<(Mean, Span)>, (mean, span): (Mean, Span), complete: bool) -> Moved {
    if complete && beside_published(value, span) == Finding::Holds {
        return Moved::Reaches;
    }
    let Some((before, old)) = without.filter(|_| complete) else { return Moved::Unmoved };
    let apart = span.minus(old);
    if apart.low <= 0.0 && apart.high >= 0.0 {
        Moved::Unmoved
    } else if distance(value, mean) < distance(value, before) {
        Moved::Towards
    } else {
        Moved::Away
    }
}

/// Distance of a mean from the published value.
fn distance(value: &Value, ours: Mean) -> f64 {
    let beyond = ours.mean - value.published;
    match value.is {
        Is::About | Is::Apart => beyond.abs(),
        Is::Below => beyond.max(0.0),
        Is::Above => (-beyond).max(0.0),
    }
}
