//! Records of other programs, drawn beside the flows of each run.
//!
//! A flow of a record is drawn in every run's plots of goodput, RTT and cwnd, with a dashed line and the
//! record's name in the legend. Times of a record count from its start, as times of a run do.

use fairpace_results::{Record, RecordFlow, RecordSeries};
use maud::{Markup, html};

use crate::path::{line, mean};
use crate::plot::{Mark, Panel, Readout, swatch};
use crate::scale::{Scale, fixed, text};
use crate::{Case, Study};

/// Index of the first flow of a record in colours: those from 8 on have dashes.
const FIRST_DASHED: usize = 8;

/// Selects a series of a record.
pub(crate) type Select = fn(&RecordSeries) -> &Vec<f32>;

/// A flow of a record.
pub(crate) struct Beside<'a> {
    /// Number of the flow in colours and buttons, behind the flows of all runs.
    pub(crate) index: usize,
    /// The record's name, and the flow's name if the record has several.
    pub(crate) label: String,
    pub(crate) flow: &'a RecordFlow,
}

/// The flows of all records.
pub(crate) fn flows<'a>(study: &Study<'a>) -> Vec<Beside<'a>> {
    let own = study.most_flows();
    let first = if own < FIRST_DASHED { FIRST_DASHED + own } else { own };
    let all =
        study.context.beside.iter().flat_map(|record| record.flows.iter().map(move |flow| (record, flow)));
    all.zip(first..)
        .map(|((record, flow), index)| Beside { index, label: label(record, flow), flow })
        .collect()
}

fn label(record: &Record, flow: &RecordFlow) -> String {
    match record.flows.len() {
        1 => record.name.clone(),
        _ => format!("{}: {}", record.name, flow.name),
    }
}

/// The largest value of a series of any record, for a common axis; 0 without records.
pub(crate) fn largest(study: &Study, select: Select) -> f64 {
    let records = study.context.beside.iter().flat_map(|record| &record.flows);
    let values = records.flat_map(|flow| select(&flow.series)).filter(|value| value.is_finite());
    values.fold(0.0, |most, value| most.max(f64::from(*value)))
}

/// The lines of a series of all records.
pub(crate) fn marks(study: &Study, scale: &Scale, select: Select) -> Vec<Mark> {
    let drawn = |beside: &Beside| {
        // times beyond the end of the plot would be drawn at its edge
        let inside = beside.flow.series.t_s.iter().take_while(|t| **t <= scale.time.max).count();
        let values = select(&beside.flow.series);
        let inside = inside.min(values.len());
        let path = line(&beside.flow.series.t_s[..inside], &values[..inside], scale);
        Mark { kind: "line", flow: Some(beside.index), path }
    };
    flows(study).iter().map(drawn).filter(|mark| !mark.path.is_empty()).collect()
}

/// Adds a series of all records to a panel of a run.
pub(crate) fn add(study: &Study, case: &Case, panel: &mut Panel, select: Select) {
    panel.marks.extend(marks(study, &panel.scale, select));
    let [from, to] = case.run.summary.window_s;
    for beside in flows(study) {
        let series = &beside.flow.series;
        let values = select(series);
        if values.is_empty() {
            continue;
        }
        let inside = series.t_s.iter().zip(values).filter(|(t, _)| **t > from && **t <= to + 1e-9);
        let in_window = mean(&inside.map(|(_, value)| *value).collect::<Vec<_>>());
        panel.readouts.push(Readout {
            label: beside.label,
            flow: Some(beside.index),
            text: text(in_window),
            series: vec![at_times(&case.run.series.t_s, &series.t_s, values)],
        });
    }
}

/// The values of a record at the times of a run: each of its values holds from the time before to its own.
fn at_times(t_s: &[f64], record_t_s: &[f64], values: &[f32]) -> Vec<f32> {
    let at = |t: &f64| {
        let index = record_t_s.partition_point(|end| *end < *t - 1e-9);
        values.get(index).copied().unwrap_or(f32::NAN)
    };
    t_s.iter().map(at).collect()
}

/// The cell of a value that no record has.
const NO_VALUE: &str = "\u{2013}";

/// Rows of the records for the table of flows. `published` says whether the table has that column.
pub(crate) fn rows(study: &Study, published: bool) -> Markup {
    let all = flows(study);
    let mut all = all.iter();
    html! {
        @for record in &study.context.beside {
            tbody {
                @for (i, (flow, beside)) in record.flows.iter().zip(all.by_ref()).enumerate() {
                    tr {
                        @if i == 0 { th scope="rowgroup" rowspan=(record.flows.len()) { (record.name) } }
                        td.name { (swatch(Some(beside.index))) (flow.name) }
                        td { (flow.cc.as_deref().unwrap_or(NO_VALUE)) }
                        td.number { b { (fixed(flow.goodput_mbps, 1)) } }
                        @if published { td.number.published { (NO_VALUE) } }
                        @for _ in ["share", "Jain's index"] { td.number { (NO_VALUE) } }
                        td.number { (fixed(flow.rtt_mean_ms, 1)) }
                        @for _ in ["p50", "p95", "p99", "lost"] { td.number { (NO_VALUE) } }
                        td.number { (flow.retransmits.map_or(NO_VALUE.to_owned(), |n| n.to_string())) }
                        @for _ in ["base RTT", "start"] { td.number { (NO_VALUE) } }
                    }
                }
            }
        }
    }
}

/// The source of each record, and its remarks.
pub(crate) fn sources(study: &Study) -> Markup {
    html! {
        @for record in &study.context.beside {
            p.source {
                (record.name) ": measured by " (record.tool) ", from " (record.source)
                ". Its row covers its whole measurement; plots and their means count its time from its start."
            }
            @if !record.notes.is_empty() { ul.notes { @for note in &record.notes { li { (note) } } } }
        }
    }
}

/// Buttons that hide the flows of records.
pub(crate) fn chips(study: &Study) -> Markup {
    html! {
        @for beside in flows(study) {
            button type="button" aria-pressed="true" data-toggle=(beside.index)
                title="Show or hide this record in all plots" {
                (swatch(Some(beside.index))) (beside.label)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_a_record_holds_until_its_time() {
        let values = at_times(&[0.5, 1.0, 1.5, 2.0, 2.5], &[1.0, 2.0], &[10.0, 20.0]);
        assert_eq!(values[..4], [10.0, 10.0, 20.0, 20.0]);
        assert!(values[4].is_nan());
    }
}
