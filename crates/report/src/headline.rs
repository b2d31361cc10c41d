//! The headline of a report: goodput over time, one plot for each run, on common axes, with published values
//! dashed. This file has the parts that the page and the picture (`picture.rs`) share, and the headline of
//! the page.

use crate::panels::Axes;
use crate::path::{line, rebin};
use crate::plot::{Mark, Panel, Readout, Rule, figure, flow_class, percent};
use crate::scale::{Scale, centred, fixed, tick_text};
use crate::words::explained;
use crate::{Case, Study, beside};
use maud::{Markup, html};

/// Largest number of flows for which a number for each flow fits beside the plot.
const LABELLED_FLOWS: usize = 4;
/// Number of plots in a row; a row has one more if that plot would be alone in the next row.
const IN_ROW: usize = 3;
/// Approximate number of points in a trend line.
const TREND_POINTS: f64 = 120.0;

/// Width of a bin of the trend line: one second, or more in a long run.
fn bin_s(study: &Study) -> f64 {
    (study.time.max / TREND_POINTS).ceil().max(1.0)
}

/// The samples of every flow with the trend line above them.
pub(crate) fn marks(study: &Study, case: &Case, scale: &Scale) -> Vec<Mark> {
    let t_s = &case.run.series.t_s;
    let goodputs: Vec<Vec<f32>> =
        (0..case.run.series.flows.len()).map(|i| case.goodput_since_start(i)).collect();
    let all = goodputs.iter().enumerate();
    let samples =
        all.clone().map(|(i, values)| Mark { kind: "faint", flow: Some(i), path: line(t_s, values, scale) });
    let trends = all.clone().map(|(i, values)| {
        let (t_s, values) = rebin(t_s, values, bin_s(study));
        Mark { kind: "line", flow: Some(i), path: line(&t_s, &values, scale) }
    });
    samples.chain(trends).chain(beside::marks(study, scale, |of| &of.goodput_mbps)).collect()
}

pub(crate) fn rules(case: &Case) -> Vec<Rule> {
    let flows = 0..case.run.summary.flows.len();
    let rule = |i| case.published_mbps(i).map(|value| Rule { value, flow: Some(i), label: String::new() });
    flows.filter_map(rule).collect()
}

/// A number beside a plot, at the height of its value: the mean goodput of a flow, or the published one, at
/// its dashed line.
pub(crate) struct Label {
    pub(crate) flow: usize,
    pub(crate) text: String,
    pub(crate) is_published: bool,
    /// Height of the label's middle above the axis, as a part of the height of the plot.
    pub(crate) place: f64,
}

/// The numbers beside a plot. `line` is the height of a line of text as a part of the height of the plot.
pub(crate) fn labels(case: &Case, scale: &Scale, line: f64) -> Vec<Label> {
    let flows = &case.run.summary.flows;
    if flows.len() > LABELLED_FLOWS {
        return Vec::new();
    }
    let name = case.context.published.as_ref().map_or("", |p| p.label.as_str());
    let label = |flow, value, is_published: bool| {
        let number = fixed(Some(value), 1);
        let text = if is_published { format!("{name} {number}").trim().to_owned() } else { number };
        Label { flow, text, is_published, place: scale.value.place(value) }
    };
    let means = flows.iter().enumerate().map(|(flow, of)| label(flow, of.goodput_mbps, false));
    let published = (0..flows.len()).filter_map(|flow| Some(label(flow, case.published_mbps(flow)?, true)));
    let mut labels: Vec<Label> = means.chain(published).collect();
    let wanted: Vec<f64> = labels.iter().map(|label| label.place).collect();
    for (label, place) in labels.iter_mut().zip(centred(&wanted, line, line / 2.0, 1.0 - line / 2.0)) {
        label.place = place;
    }
    labels
}

/// A subtitle such as "Jain 0.57 · mean queueing delay 37.5 ms".
pub(crate) fn subtitle(case: &Case) -> String {
    let jain = case.run.summary.jain.map(|x| format!("Jain {}", fixed(Some(x), 2)));
    let delay = case.run.summary.links.first().and_then(|link| link.queue_delay_mean_ms);
    let queue = delay.map(|x| format!("mean queueing delay {} ms", fixed(Some(x), 1)));
    [jain, queue].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Explanation of the lines.
pub(crate) fn legend(study: &Study) -> String {
    let published = study.runs.iter().filter_map(|case| case.context.published.as_ref()).next();
    let dashed = published.map_or_else(String::new, |p| format!("; dashed: {}", p.label));
    format!(
        "goodput in Mbit/s over time in s; bold: means of {} s{dashed}; \
         shaded: outside of the measurement window",
        tick_text(bin_s(study))
    )
}

/// The runs in rows. A row has at most four runs, all from the same place (simulator or kernel).
pub(crate) fn rows<'s, 'a>(study: &'s Study<'a>) -> Vec<Vec<&'s Case<'a>>> {
    let groups = study.runs.chunk_by(|a, b| a.run.summary.on == b.run.summary.on);
    let in_row = |group: &[Case]| if group.len() == IN_ROW + 1 { IN_ROW + 1 } else { IN_ROW };
    groups.flat_map(|group| group.chunks(in_row(group))).map(|row| row.iter().collect()).collect()
}

/// The headline as a section of the page.
pub(crate) fn section(study: &Study, axes: &Axes) -> Markup {
    let scale = study.scale(axes.goodput);
    let rows = rows(study);
    let columns = rows.iter().map(Vec::len).max().unwrap_or(1);
    html! {
        p.legend { (explained(&legend(study))) }
        @for row in rows {
            div.multiples style={ "--columns:" (columns) } {
                @for case in row { (multiple(study, case, scale)) }
            }
        }
    }
}

fn multiple(study: &Study, case: &Case, scale: Scale) -> Markup {
    let flows = case.run.summary.flows.iter().enumerate();
    let readouts = flows.map(|(i, flow)| Readout {
        label: flow.name.clone(),
        flow: Some(i),
        text: fixed(Some(flow.goodput_mbps), 1),
        series: Vec::new(),
    });
    let beside = beside::flows(study).into_iter().filter(|of| !of.flow.series.goodput_mbps.is_empty());
    let readouts = readouts.chain(beside.map(|of| Readout {
        text: fixed(of.flow.goodput_mbps, 1),
        label: of.label,
        flow: Some(of.index),
        series: Vec::new(),
    }));
    let panel = Panel {
        key: "goodput".into(),
        title: case.label.clone(),
        unit: "",
        note: subtitle(case),
        scale,
        marks: marks(study, case, &scale),
        rules: rules(case),
        readouts: readouts.collect(),
    };
    // A line of text is 16 pixels of the 220 of a plot: see page.css.
    let labels = labels(case, &scale, 16.0 / 220.0);
    let aside = html! {
        @if !labels.is_empty() {
            div.aside aria-hidden="true" {
                @for label in labels {
                    span class=(flow_class(Some(label.flow))) data-flow=(label.flow)
                        style={ "bottom:" (percent(label.place)) } {
                        @if label.is_published { (label.text) } @else { b { (label.text) } }
                    }
                }
            }
        }
    };
    figure(case.index, &panel, case.run.summary.window_s, &aside)
}
