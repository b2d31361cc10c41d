//! The picture of a criterion: for each condition a row per algorithm, with a mark per case at the factor by
//! which its value is beyond the bound.

use fairpace_report::chart::{ANY, Axis, Bar, Bars, Colour, Look, Row, Strip};
use maud::{Markup, html};

use crate::judge::{Bound, Side};
use crate::record::{AlgorithmRecord, ConditionRecord, CriterionRecord, Record};

/// Ends of the axis; a factor beyond an end is drawn at the end.
const ENDS: [f64; 2] = [0.05, 20.0];

/// The pictures of all conditions of a criterion.
pub(super) fn strips(record: &Record, criterion: &CriterionRecord) -> Markup {
    let count = criterion.algorithms.first().map_or(0, |algorithm| algorithm.conditions.len());
    html! { @for index in 0..count { (picture(record, criterion, index)) } }
}

fn picture(record: &Record, criterion: &CriterionRecord, index: usize) -> Markup {
    let Some(axis) = Axis::log(ENDS) else { return html! {} };
    let row = |algorithm: &AlgorithmRecord| {
        let of_case: Vec<&ConditionRecord> =
            algorithm.results.iter().filter_map(|result| result.conditions.get(index)).collect();
        let own = record.asked.iter().position(|asked| *asked == algorithm.cc);
        let colour = Some(Colour::Series(if own.is_some() { 1 } else { 7 }));
        let mark = |of: &&ConditionRecord| (Look::Dots, factor(of), None, colour);
        let hold = of_case.iter().filter(|of| of.holds).count();
        let worst = of_case.iter().copied().reduce(|a, b| if factor(b) > factor(a) { b } else { a });
        let said = worst.map_or_else(String::new, |of| {
            format!("{hold} of {} pass, worst {}", of_case.len(), of.metric.shown(of.value))
        });
        let strip = Strip {
            axis,
            bar: None,
            allowed: Some([ENDS[0], 1.0]),
            marks: of_case.iter().map(mark).collect(),
            possible: ANY,
        };
        Row {
            above: String::new(),
            label: algorithm.cc.clone(),
            bars: vec![Bar { colour, said: vec![(Look::Dots, said)], strip }],
        }
    };
    let rows = criterion.algorithms.iter().map(row).collect();
    let title = criterion.conditions.get(index).map_or_else(String::new, |asked| asked.text.clone());
    let unit = "factor beyond the bound; a mark for each case; shaded: passes".to_owned();
    Bars { title, unit, key: Vec::new(), axis, rows }.figure()
}

/// Factor by which a value is beyond its bounds: 1 at the bound, below 1 within the bounds.
fn factor(of: &ConditionRecord) -> f64 {
    let of_bound = |bound: &Bound| match bound.side {
        Side::AtLeast => bound.value / of.value.max(0.0),
        Side::AtMost | Side::Below => of.value / bound.value,
    };
    let factor = of.bounds.iter().map(of_bound).fold(0.0, f64::max);
    if factor.is_nan() { ENDS[1] } else { factor.clamp(ENDS[0], ENDS[1]) }
}
