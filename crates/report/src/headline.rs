//! The picture that says it: goodput over time, one plot per run, all on the same axes, published values dashed.
//! Once as part of the page, once as a picture of its own.

use crate::panels::Axes;
use crate::path::{line, rebin};
use crate::plot::{Mark, Panel, Readout, Rule, asset, drawing, figure, flow_class, percent};
use crate::scale::{HEIGHT, Scale, WIDTH, fixed, spread, tick_text};
use crate::{Case, Study};
use maud::{Markup, PreEscaped, html};

/// With more flows than this there is no room for a number per flow beside the plot.
const LABELLED_FLOWS: usize = 4;
/// A trend needs about this many points.
const TREND_POINTS: f64 = 120.0;

/// Width of a bin of the trend line: a second, or more on a long run.
fn bin_s(study: &Study) -> f64 {
    (study.time.max / TREND_POINTS).ceil().max(1.0)
}

/// The trend of every flow over its samples.
fn marks(study: &Study, case: &Case, scale: &Scale) -> Vec<Mark> {
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
    samples.chain(trends).collect()
}

fn rules(case: &Case) -> Vec<Rule> {
    let flows = 0..case.run.summary.flows.len();
    let rule = |i| case.published_mbps(i).map(|value| Rule { value, flow: Some(i), label: String::new() });
    flows.filter_map(rule).collect()
}

/// A number beside a plot: a flow's mean goodput, and the published one.
struct Label {
    flow: usize,
    mean: String,
    published: Option<String>,
    /// Height of its middle above the axis as a part of the plot's height.
    place: f64,
}

/// The numbers beside a plot. `line` is the height of a line of text as a part of the plot's height.
fn labels(case: &Case, scale: &Scale, line: f64) -> Vec<Label> {
    let flows = &case.run.summary.flows;
    if flows.len() > LABELLED_FLOWS {
        return Vec::new();
    }
    let wanted: Vec<f64> = flows.iter().map(|flow| scale.value.place(flow.goodput_mbps)).collect();
    let lines = if rules(case).is_empty() { 1.0 } else { 2.0 };
    let places = spread(&wanted, line * lines, line * lines / 2.0, 1.0 - line * lines / 2.0);
    let label = case.context.published.as_ref().map_or("", |p| p.label.as_str());
    let published =
        |i| case.published_mbps(i).map(|x| format!("{label} {}", fixed(Some(x), 1)).trim().to_owned());
    let all = flows.iter().zip(places).enumerate();
    all.map(|(flow, (f, place))| Label {
        flow,
        mean: fixed(Some(f.goodput_mbps), 1),
        published: published(flow),
        place,
    })
    .collect()
}

/// "Jain 0.57 · queue 37.5 ms".
fn subtitle(case: &Case) -> String {
    let jain = case.run.summary.jain.map(|x| format!("Jain {}", fixed(Some(x), 2)));
    let delay = case.run.summary.links.first().and_then(|link| link.queue_delay_mean_ms);
    let queue = delay.map(|x| format!("queue {} ms", fixed(Some(x), 1)));
    [jain, queue].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// What the lines are.
fn legend(study: &Study) -> String {
    let published = study.runs.iter().filter_map(|case| case.context.published.as_ref()).next();
    let dashed = published.map_or_else(String::new, |p| format!("; dashed: {}", p.label));
    format!(
        "Mbit/s over seconds; bold: means of {} s{dashed}; shaded: not in the numbers",
        tick_text(bin_s(study))
    )
}

/// Runs in rows: a new row for a new place (simulator, kernel), at most `width` in one.
fn rows<'s, 'a>(study: &'s Study<'a>, width: usize) -> Vec<Vec<&'s Case<'a>>> {
    let groups = study.runs.chunk_by(|a, b| a.run.summary.on == b.run.summary.on);
    groups.flat_map(|group| group.chunks(width)).map(|row| row.iter().collect()).collect()
}

/// The page's version.
pub(crate) fn section(study: &Study, axes: &Axes) -> Markup {
    let scale = Scale { time: study.time, value: axes.goodput };
    let rows = rows(study, COLUMNS);
    let columns = rows.iter().map(Vec::len).max().unwrap_or(1);
    html! {
        p.legend { (legend(study)) }
        @for row in rows {
            div.multiples style={ "--columns:" (columns) } { @for case in row { (multiple(study, case, scale)) } }
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
                    span class=(flow_class(Some(label.flow))) data-flow=(label.flow) style={ "bottom:" (percent(label.place)) } {
                        b { (label.mean) }
                        @if let Some(published) = label.published { small { (published) } }
                    }
                }
            }
        }
    };
    figure(case.index, &panel, case.run.summary.window_s, &aside)
}

/// Measures of the picture, in its units: about pixels in a README.
mod layout {
    pub(super) const WIDTH: usize = 900;
    pub(super) const COLUMNS: usize = 3;
    pub(super) const CELL_WIDTH: usize = WIDTH / COLUMNS;
    pub(super) const CELL_HEIGHT: usize = 236;
    pub(super) const TOP: usize = 78;
    pub(super) const PLOT_X: usize = 38;
    pub(super) const PLOT_Y: usize = 44;
    pub(super) const PLOT_WIDTH: usize = 186;
    pub(super) const PLOT_HEIGHT: usize = 156;
    pub(super) const LINE: f64 = 15.0;
}
use layout::*;

/// The picture.
pub(crate) fn svg(study: &Study) -> String {
    let axes = Axes::new(study);
    let scale = Scale { time: study.time, value: axes.goodput };
    let rows = rows(study, COLUMNS);
    let height = TOP + rows.len().max(1) * CELL_HEIGHT + 8;
    let description: Vec<String> =
        study.runs.iter().map(|case| format!("{}: {}", case.label, subtitle(case))).collect();
    let style = [
        asset(include_str!("../assets/palette.css")),
        asset(include_str!("../assets/plot.css")),
        asset(include_str!("../assets/picture.css")),
    ];
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(layout::WIDTH) height=(height)
            viewBox={ "0 0 " (layout::WIDTH) " " (height) } role="img" aria-labelledby="t d" {
            title #t { (study.title) }
            desc #d { "Goodput over time. " (description.join("; ")) "." }
            style { @for part in style { (part) } }
            rect.paper width="100%" height="100%" rx="6" {}
            text.head x=(PLOT_X) y="30" { (clip(study.title, 80)) }
            (key(study))
            @for (r, row) in rows.iter().enumerate() {
                @for (c, case) in row.iter().enumerate() {
                    g transform={ "translate(" (c * CELL_WIDTH) "," (TOP + r * CELL_HEIGHT) ")" } { (cell(study, case, &scale)) }
                }
            }
        }
    };
    format!("{}\n", picture.into_string())
}

/// Names of the flows with their lines, and what the lines are.
fn key(study: &Study) -> Markup {
    let names: Vec<String> = (0..study.most_flows().min(6)).map(|i| clip(&study.flow_name(i), 16)).collect();
    // Room for a line, the name at about seven units a letter, and a gap.
    let place =
        |count: usize| PLOT_X + names[..count].iter().map(|n| 44 + 7 * n.chars().count()).sum::<usize>();
    html! {
        @for (i, name) in names.iter().enumerate() {
            path class={ "line " (flow_class(Some(i))) } d={ "M" (place(i)) ",48h18" } {}
            text.name x=(place(i) + 24) y="52" { (name) }
        }
        text.muted x=(place(names.len())) y="52" { (legend(study)) }
    }
}

fn cell(study: &Study, case: &Case, scale: &Scale) -> Markup {
    let below = |part: f64| PLOT_Y as f64 + PLOT_HEIGHT as f64 * (1.0 - part);
    let right = PLOT_X + PLOT_WIDTH + 8;
    html! {
        text.run x=(PLOT_X) y="18" { (clip(&case.label, 30)) }
        text.muted x=(PLOT_X) y="34" { (subtitle(case)) }
        svg x=(PLOT_X) y=(PLOT_Y) width=(PLOT_WIDTH) height=(PLOT_HEIGHT) viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
            preserveAspectRatio="none" {
            (drawing(scale, case.run.summary.window_s, &marks(study, case, scale), &rules(case)))
        }
        @for tick in scale.value.ticks() {
            text.tick.end x=(PLOT_X - 6) y=(number(below(scale.value.place(tick)) + 4.0)) { (tick_text(tick)) }
        }
        @for tick in scale.time.ticks() {
            text.tick.middle x=(number(PLOT_X as f64 + scale.time.place(tick) * PLOT_WIDTH as f64)) y=(PLOT_Y + PLOT_HEIGHT + 16) {
                (tick_text(tick))
            }
        }
        @for label in labels(case, scale, LINE / PLOT_HEIGHT as f64) {
            @let middle = below(label.place);
            @let lift = if label.published.is_some() { LINE / 2.0 } else { 0.0 };
            text class={ "value " (flow_class(Some(label.flow))) } x=(right) y=(number(middle - lift + 5.0)) { (label.mean) }
            @if let Some(published) = &label.published {
                text.muted x=(right) y=(number(middle + lift + 4.0)) { (clip(published, 12)) }
            }
        }
    }
}

/// A coordinate with one decimal: the same bytes everywhere.
fn number(x: f64) -> PreEscaped<String> {
    PreEscaped(format!("{x:.1}"))
}

/// At most `length` characters: SVG text does not wrap.
fn clip(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        text.into()
    } else {
        text.chars().take(length - 1).chain(['…']).collect()
    }
}
