//! The picture of a paper's published values beside ours.

use fairpace_report::chart::{Axis, Bar, Bars, Colour, Look, Row, Strip};
use fairpace_scenario::Target;

use crate::figure::{Is, Value};
use crate::gallery::colours;
use crate::places::Place;
use crate::record::{Mean, PaperRecords, Record};
use crate::text;

/// Largest distance from the published value that is drawn, as a part of that value. A value farther away is
/// drawn at the end of the axis.
const MOST_SHOWN: f64 = 3.0;

/// Bars of our values beside each published value of a paper, as a part of it. A value of 0 has no such part.
pub(crate) fn published(of: &PaperRecords) -> Bars {
    let all = of
        .records
        .iter()
        .flat_map(|record| record.figure.values.iter().enumerate().map(move |(i, v)| (record, i, v)));
    let all: Vec<_> =
        all.filter(|(_, _, value)| value.published != 0.0 && value.by_construction.is_empty()).collect();
    let axis = Axis::between(0.0, MOST_SHOWN, 3);
    let row = |(record, index, value): &(&Record, usize, &Value)| {
        let colour = Some(Colour::plain(colours::of_measure(&record.figure, &value.measure)));
        let part = |ours: Mean| {
            let half = ours.half.map(|half| (half / value.published).abs());
            ((ours.mean / value.published).clamp(0.0, MOST_SHOWN), half)
        };
        let mark = |place: Place<'_>| {
            let look = if place.on == Target::Simulator { Look::Dots } else { Look::Rings };
            let (mean, half) = part(place.measured?.values[*index].ours()?);
            Some((look, mean, half, colour))
        };
        let room = (value.room() / value.published).abs();
        let allowed = match value.is {
            Is::About | Is::Apart => [1.0 - room, 1.0 + room],
            Is::Below => [0.0, 1.0],
            Is::Above => [1.0, MOST_SHOWN],
        };
        let square = (Look::Squares, 1.0, None, None);
        let marks = [square].into_iter().chain(record.places().filter_map(mark)).collect();
        let allowed = Some(allowed.map(|end| end.clamp(0.0, MOST_SHOWN)));
        let strip = Strip { axis, bar: None, allowed, marks, possible: [0.0, MOST_SHOWN] };
        let said = vec![(Look::Squares, format!("{} {}", text::number(value.published), value.unit))];
        let label = format!("{} {}", record.id, index + 1);
        Row { above: String::new(), label, bars: vec![Bar { colour, said, strip }] }
    };
    let rows = all.iter().map(row).collect();
    let unit = "ours as a part of the published value".to_owned();
    Bars { title: String::new(), unit, key: Vec::new(), axis, rows }
}

/// The picture of a paper's published values beside ours, as an SVG file; `None` if the paper has no such
/// value.
#[must_use]
pub fn values(of: &PaperRecords) -> Option<String> {
    let bars = published(of);
    (!bars.rows.is_empty()).then(|| bars.picture())
}
