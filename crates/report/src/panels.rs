//! The plots of a run and their contents.

use crate::path::{area, line, mean, steps, stripes};
use crate::plot::{Mark, Panel, Readout, Rule, caption, flow_class, x_axis};
use crate::scale::{Axis, HEIGHT, Scale, WIDTH, text, tick_text};
use crate::{Case, Study, beside};
use fairpace_results::{FlowSeries, FlowSummary};
use maud::{Markup, html};

/// End of the gain's axis: above 2.885 (= 2/ln 2) of STARTUP, the largest gain of an algorithm.
const LARGEST_GAIN: f64 = 3.0;

/// The value axes, common to all runs so that plots can be compared.
pub(crate) struct Axes {
    pub(crate) goodput: Axis,
    rtt: Axis,
    queue_delay: Axis,
    backlog: Axis,
    window: Axis,
    rate: Axis,
}

impl Axes {
    pub(crate) fn new(study: &Study) -> Axes {
        let flows = |of: fn(&FlowSeries) -> [&[f32]; 2]| {
            let values = |case: &Case| -> Vec<f64> {
                case.run.series.flows.iter().flat_map(of).flatten().map(|x| f64::from(*x)).collect()
            };
            study.largest(values)
        };
        let link_rate =
            study.largest(|case| case.run.summary.links.iter().map(|l| l.rate_mbps).collect::<Vec<_>>());
        let queue_delay = study.largest(|case| {
            let links = case.run.series.links.iter();
            links.flat_map(|link| &link.queue_delay_ms).map(|x| f64::from(*x)).collect::<Vec<_>>()
        });
        let backlog = study.largest(|case| {
            let totals = |link: &fairpace_results::LinkSeries| -> Vec<f64> {
                stack(&link.backlog_kb)
                    .last()
                    .map(|top| top.iter().map(|x| f64::from(*x)).collect())
                    .unwrap_or_default()
            };
            case.run.series.links.iter().flat_map(totals).collect::<Vec<_>>()
        });
        // Goodput exceeds the rate of the link only in the burst after a filled hole; this burst may leave
        // the plot.
        let goodput = if link_rate > 0.0 { link_rate } else { flows(|f| [&f.goodput_mbps, &[]]) };
        let goodput = goodput.max(beside::largest(study, |of| &of.goodput_mbps));
        // A gain of 2.885 on a first estimate is far above the link: such spikes would flatten the rest.
        let rate = flows(|f| [&f.pacing_mbps, &f.bw_mbps]).min(1.5 * link_rate.max(1e-6));
        Axes {
            goodput: Axis::holding(goodput, 5),
            rtt: Axis::holding(
                flows(|f| [&f.rtt_ms, &f.min_rtt_ms]).max(beside::largest(study, |of| &of.rtt_ms)),
                5,
            ),
            queue_delay: Axis::holding(queue_delay, 5),
            backlog: Axis::holding(backlog, 5),
            window: Axis::holding(
                flows(|f| [&f.cwnd_pkts, &f.inflight_pkts]).max(beside::largest(study, |of| &of.cwnd_pkts)),
                5,
            ),
            rate: Axis::holding(rate.max(link_rate), 5),
        }
    }
}

/// The plots of a run that have a value axis, in reading order.
pub(crate) fn panels(study: &Study, case: &Case, axes: &Axes) -> Vec<Panel> {
    let mut panels = vec![goodput(study, case, axes), rtt(study, case, axes)];
    panels.extend(
        (0..case.run.series.links.len())
            .flat_map(|l| [queue_delay(study, case, axes, l), backlog(study, case, axes, l)]),
    );
    panels.push(window(study, case, axes));
    panels.push(rate(study, case, axes));
    panels
}

/// A panel without data.
fn empty(study: &Study, key: &str, title: &str, unit: &'static str, value: Axis) -> Panel {
    Panel {
        key: key.into(),
        title: title.into(),
        unit,
        note: String::new(),
        scale: study.scale(value),
        marks: Vec::new(),
        rules: Vec::new(),
        readouts: Vec::new(),
    }
}

/// Iterates over the flows with their index, summary and series.
fn flows<'a>(case: &'a Case) -> impl Iterator<Item = (usize, &'a FlowSummary, &'a FlowSeries)> {
    let run = case.run;
    run.summary
        .flows
        .iter()
        .zip(&run.series.flows)
        .enumerate()
        .map(|(i, (summary, series))| (i, summary, series))
}

/// The mean of a series over the measurement window, as text.
fn window_mean(case: &Case, values: &[f32]) -> String {
    let [from, to] = case.run.summary.window_s;
    let inside = case.run.series.t_s.iter().zip(values).filter(|(t, _)| **t > from && **t <= to + 1e-9);
    text(mean(&inside.map(|(_, x)| *x).collect::<Vec<_>>()))
}

fn goodput(study: &Study, case: &Case, axes: &Axes) -> Panel {
    let mut panel = empty(study, "goodput", "Goodput", "Mbit/s", axes.goodput);
    for (i, summary, series) in flows(case) {
        panel.marks.push(mark(
            "line",
            i,
            line(&case.run.series.t_s, &case.goodput_since_start(i), &panel.scale),
        ));
        let text = text(summary.goodput_mbps);
        panel.readouts.push(readout(summary, i, text, &[&series.goodput_mbps]));
        if let Some(value) = case.published_mbps(i) {
            let label =
                case.context.published.as_ref().map(|p| format!("{} {}", p.label, crate::scale::text(value)));
            panel.rules.push(Rule { value, flow: Some(i), label: label.unwrap_or_default() });
        }
    }
    beside::add(study, case, &mut panel, |of| &of.goodput_mbps);
    panel
}

/// A function that draws a series of a flow, and a function that selects the series.
type Drawn = (fn(&[f64], &[f32], &Scale) -> String, fn(&FlowSeries) -> &Vec<f32>);

/// Draws two series of each flow. The readout begins with the mean of the bold series, or with the text that
/// `first` returns.
fn pair(
    case: &Case,
    mut panel: Panel,
    bold: Drawn,
    thin: Drawn,
    first: fn(&FlowSummary) -> Option<f64>,
) -> Panel {
    let t_s = &case.run.series.t_s;
    for (i, summary, series) in flows(case) {
        let [(draw_bold, bold), (draw_thin, thin)] = [bold, thin].map(|(draw, of)| (draw, of(series)));
        panel.marks.push(mark("thin", i, draw_thin(t_s, thin, &panel.scale)));
        panel.marks.push(mark("line", i, draw_bold(t_s, bold, &panel.scale)));
        let first = first(summary).map_or_else(|| window_mean(case, bold), text);
        let text = format!("{first} / {}", window_mean(case, thin));
        panel.readouts.push(readout(summary, i, text, &[bold, thin]));
    }
    panel
}

fn rtt(study: &Study, case: &Case, axes: &Axes) -> Panel {
    let note = "bold: path; thin: the algorithm's min_rtt".into();
    let panel = Panel { note, ..empty(study, "rtt", "Round-trip time", "ms", axes.rtt) };
    let mean = |summary: &FlowSummary| Some(summary.rtt_mean_ms.unwrap_or(f64::NAN));
    let mut panel = pair(case, panel, (line, |of| &of.rtt_ms), (steps, |of| &of.min_rtt_ms), mean);
    beside::add(study, case, &mut panel, |of| &of.rtt_ms);
    panel
}

fn window(study: &Study, case: &Case, axes: &Axes) -> Panel {
    let note = "bold: cwnd; thin: inflight".into();
    let panel = empty(study, "window", "Congestion window and inflight", "packets", axes.window);
    let (bold, thin): (Drawn, Drawn) = ((line, |of| &of.cwnd_pkts), (line, |of| &of.inflight_pkts));
    let mut panel = pair(case, Panel { note, ..panel }, bold, thin, |_| None);
    beside::add(study, case, &mut panel, |of| &of.cwnd_pkts);
    panel
}

fn rate(study: &Study, case: &Case, axes: &Axes) -> Panel {
    let note = "bold: estimate; thin: pacing".into();
    let panel = empty(study, "rate", "Bandwidth estimate and pacing rate", "Mbit/s", axes.rate);
    pair(case, Panel { note, ..panel }, (steps, |of| &of.bw_mbps), (line, |of| &of.pacing_mbps), |_| None)
}

fn queue_delay(study: &Study, case: &Case, axes: &Axes, link: usize) -> Panel {
    let (summary, series) = (case.run.summary.links.get(link), &case.run.series.links[link]);
    let name = summary.map(|l| l.name.as_str()).unwrap_or_default();
    let title = format!("Queueing delay{}", of_link(case, name));
    let mut panel = empty(study, &format!("queue-delay-{link}"), &title, "ms", axes.queue_delay);
    let path = line(&case.run.series.t_s, &series.queue_delay_ms, &panel.scale);
    panel.marks.push(Mark { kind: "line", flow: None, path });
    let mean = summary.and_then(|l| l.queue_delay_mean_ms).unwrap_or(f64::NAN);
    panel.readouts.push(Readout {
        label: String::new(),
        flow: None,
        text: text(mean),
        series: vec![series.queue_delay_ms.clone()],
    });
    let published = case.context.published.as_ref().filter(|_| link == 0);
    if let Some((published, value)) = published.and_then(|p| Some((p, p.queue_delay_mean_ms?))) {
        panel.rules.push(Rule { value, flow: None, label: format!("{} {}", published.label, text(value)) });
    }
    panel
}

fn backlog(study: &Study, case: &Case, axes: &Axes, link: usize) -> Panel {
    let series = &case.run.series.links[link];
    let name = case.run.summary.links.get(link).map(|l| l.name.as_str()).unwrap_or_default();
    let title = format!("Backlog by flow{}", of_link(case, name));
    let mut panel = empty(study, &format!("backlog-{link}"), &title, "kB, stacked", axes.backlog);
    let tops = stack(&series.backlog_kb);
    let mut floor = vec![0.0; tops.first().map_or(0, Vec::len)];
    for (i, (top, own)) in tops.into_iter().zip(&series.backlog_kb).enumerate() {
        let Some(summary) = case.run.summary.flows.get(i) else { continue };
        panel.marks.push(mark("area", i, area(&case.run.series.t_s, &floor, &top, &panel.scale)));
        panel.readouts.push(readout(summary, i, window_mean(case, own), &[own]));
        floor = top;
    }
    panel
}

/// The key of the panel that [`lanes`] draws.
pub(crate) const LANES: &str = "phase";

/// The lanes of a run: pacing gain over the colour of the phase, a lane for each flow, and the legend of the
/// phases that occur.
pub(crate) fn lanes(study: &Study, case: &Case) -> Markup {
    let scale = study.scale(Axis::ending_at(LARGEST_GAIN, 3));
    let lanes: Vec<_> = flows(case)
        .map(|(i, summary, series)| {
            (i, summary, stripes(&case.run.series.t_s, &series.phase, &scale), series)
        })
        .collect();
    let mut seen: Vec<i8> = lanes.iter().flat_map(|(_, _, stripes, _)| stripes.iter().map(|s| s.0)).collect();
    seen.sort_unstable();
    seen.dedup();
    let readouts: Vec<Readout> =
        lanes.iter().map(|(i, summary, ..)| readout(summary, *i, String::new(), &[])).collect();
    html! {
        figure.panel.lanes tabindex="0" data-run=(case.index) data-panel=(LANES) data-max=(LARGEST_GAIN) {
            (caption("Pacing gain and phase", "0 to 3", "line: gain, dotted at 1", &readouts))
            div.frame style={ "--lanes:" (lanes.len()) } {
                div.yaxis.names aria-hidden="true" {
                    @for (_, summary, ..) in &lanes { span { (summary.name) } }
                }
                div.plot {
                    @for (i, summary, stripes, series) in &lanes {
                        svg.drawing viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
                            preserveAspectRatio="none" role="img"
                            data-flow=(i) {
                            title { "Pacing gain and phase of " (summary.name) " over time" }
                            @for (phase, path) in stripes { path class={ "phase p" (phase) } d=(path) {} }
                            path.neutral d={ "M0," (scale.y(1.0)) "h" (WIDTH) } {}
                            path class={ "gain " (flow_class(None)) }
                                d=(steps(&case.run.series.t_s, &series.pacing_gain, &scale)) {}
                        }
                    }
                    @if lanes.is_empty() {
                        svg.drawing viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" {}
                    }
                    div.cursor hidden {}
                }
                (x_axis(&scale.time, tick_text))
            }
            p.phases {
                @for phase in seen {
                    span { i class={ "p" (phase) } {} (study.phase_name(phase)) }
                }
            }
        }
    }
}

fn mark(kind: &'static str, flow: usize, path: String) -> Mark {
    Mark { kind, flow: Some(flow), path }
}

fn readout(summary: &FlowSummary, flow: usize, text: String, series: &[&Vec<f32>]) -> Readout {
    Readout {
        label: summary.name.clone(),
        flow: Some(flow),
        text,
        series: series.iter().map(|values| (*values).clone()).collect(),
    }
}

/// Text that names a link, " at NAME", if there are several links; empty otherwise.
fn of_link(case: &Case, name: &str) -> String {
    if case.run.series.links.len() > 1 { format!(" at {name}") } else { String::new() }
}

/// Running sums over flows for each point. A missing value counts as zero.
fn stack(rows: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let points = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut total = vec![0.0; points];
    let add = |row: &Vec<f32>| {
        for (sum, x) in total.iter_mut().zip(row) {
            *sum += if x.is_finite() { *x } else { 0.0 };
        }
        total.clone()
    };
    rows.iter().map(add).collect()
}
