//! What all pictures share: what of a line is drawn, and how far.

use fairpace_scenario::Target;

use crate::figure::{Measure, Take};
use crate::record::Picture;

/// An interval wider than this part of its mean leaves the picture rather than flatten it.
pub(super) const WIDEST_SHOWN: f64 = 0.5;
/// Behind the label of what is not in the paper.
pub(super) const BESIDE: &str = " (not in the paper)";

/// What one place drew.
pub(super) type Placed<'a> = (Target, &'a Picture);

/// The most that a measure can be: of what is a part of a whole, the whole. Nothing that is measured is
/// negative.
pub(super) fn most_possible(measure: &Measure) -> f64 {
    let what = measure.of.rsplit('.').next().unwrap_or_default();
    let is_part = matches!(what, "jain" | "share" | "utilization" | "share0" | "share1");
    let is_value = !matches!(measure.take, Some(Take::TimeAbove | Take::TimeBelow | Take::Variation));
    match (is_part && is_value, &measure.over) {
        (true, None) => measure.times.unwrap_or(1.0),
        _ => f64::INFINITY,
    }
}
