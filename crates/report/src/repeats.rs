//! Results of several seeds: the mean of each metric with its confidence interval, and the values of the
//! single runs.

use crate::plot::{flow_class, swatch};
use crate::scale::{Axis, HEIGHT, WIDTH, fixed, tick_text};
use crate::words::explained;
use crate::{Case, Study};
use fairpace_results::{Metric, Repeat};
use maud::{Markup, html};

/// A column: heading, unit, name of the metric of a flow or a link, factor, decimals.
type Column = (&'static str, &'static str, &'static str, f64, usize);

const OF_FLOWS: [Column; 4] = [
    ("Goodput", "Mbit/s", "goodput_mbps", 1.0, 2),
    ("RTT, mean", "ms", "rtt_mean_ms", 1.0, 2),
    ("RTT, p99", "ms", "rtt_p99_ms", 1.0, 2),
    ("Lost", "%", "loss_rate", 100.0, 3),
];
const OF_TRANSFERS: [Column; 2] = [
    ("Completed in", "ms, mean", "completions.mean_ms", 1.0, 1),
    ("Slowdown", "mean", "completions.slowdown_mean", 1.0, 2),
];
const OF_LINKS: [Column; 4] = [
    ("Utilization", "%", "utilization", 100.0, 2),
    ("Queueing delay", "ms, mean", "queue_delay_mean_ms", 1.0, 2),
    ("Queueing delay", "ms, p99", "queue_delay_p99_ms", 1.0, 2),
    ("Drops", "packets", "dropped_pkts", 1.0, 1),
];

/// The section on seeds; empty for a single seed.
pub(crate) fn section(study: &Study) -> Markup {
    let (Some(repeat), Some(case)) = (&study.context.repeat, study.runs.first()) else { return html! {} };
    let has_transfers = case.run.summary.flows.iter().any(|flow| flow.completions.is_some());
    let of_flows: Vec<Column> =
        OF_FLOWS.iter().chain(OF_TRANSFERS.iter().filter(|_| has_transfers)).copied().collect();
    html! {
        section #seeds {
            h2 { "Over " (repeat.seeds.len()) " seeds" }
            p.legend {
                "Mean \u{b1} 95 % confidence interval of the mean (Student's t). Bars show that interval "
                "and ticks the single runs, from 0 to the largest value of the column. The rest of this page "
                "shows the run with seed " (case.run.summary.seed) "."
            }
            @if !repeat.notes.is_empty() { ul.notes { @for note in &repeat.notes { li { (note) } } } }
            (table(repeat, case, "Flows", &of_flows))
            (table(repeat, case, "Links", &OF_LINKS))
            (of_runs(repeat))
        }
    }
}

/// A table whose rows are flows or links.
fn table(repeat: &Repeat, case: &Case, what: &str, columns: &[Column]) -> Markup {
    let is_flows = what == "Flows";
    let summary = &case.run.summary;
    let names: Vec<&str> = match is_flows {
        true => summary.flows.iter().map(|flow| flow.name.as_str()).collect(),
        false => summary.links.iter().map(|link| link.name.as_str()).collect(),
    };
    let metric = |name: &str, below: &str| {
        let name = format!("{}.{name}.{below}", if is_flows { "flows" } else { "links" });
        repeat.metrics.iter().find(|metric| metric.name == name)
    };
    let largest = |below: &str| {
        let all = names.iter().filter_map(|name| metric(name, below)?.estimate);
        all.map(|estimate| estimate.max.max(estimate.mean + estimate.ci95.unwrap_or(0.0))).fold(0.0, f64::max)
    };
    // groups of flows have no metrics
    if !names.iter().any(|name| columns.iter().any(|(_, _, below, ..)| metric(name, below).is_some())) {
        return html! {};
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label={ (what) " over all seeds" } {
            table {
                caption { (what) ", means over all seeds" }
                thead { tr {
                    th scope="col" { (what.trim_end_matches('s')) }
                    @for (title, unit, ..) in columns {
                        th scope="col" { (explained(title)) br; small { (explained(unit)) } }
                    }
                } }
                tbody {
                    @for (index, name) in names.iter().enumerate() {
                        @let flow = is_flows.then_some(index);
                        tr {
                            th.name scope="row" { @if is_flows { (swatch(flow)) " " } (name) }
                            @for (_, _, below, factor, decimals) in columns {
                                td.estimate {
                                    (cell(metric(name, below), flow, largest(below), *factor, *decimals))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cell(metric: Option<&Metric>, flow: Option<usize>, largest: f64, factor: f64, decimals: usize) -> Markup {
    let Some((metric, estimate)) = metric.and_then(|metric| Some((metric, metric.estimate?))) else {
        return html! { "–" };
    };
    let axis = Axis::ending_at(largest, 1);
    let x = |value: f64| (axis.place(value) * f64::from(WIDTH)).round() as i32;
    let half = estimate.ci95.unwrap_or(0.0);
    let (from, to) = (x(estimate.mean - half), x(estimate.mean + half));
    let ticks: String =
        metric.values.iter().flatten().map(|value| format!("M{},800v2400", x(*value))).collect();
    html! {
        b { (fixed(Some(estimate.mean * factor), decimals)) }
        @if let Some(half) = estimate.ci95 { " \u{b1} " (fixed(Some(half * factor), decimals)) }
        svg.strip viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" aria-hidden="true" {
            path class="grid" d={ "M0,2000h" (WIDTH) } {}
            rect class={ "bar " (flow_class(flow)) } x=(from) y="1200" width=((to - from).max(4))
                height="1600" {}
            path class={ "thin " (flow_class(flow)) } d=(ticks) {}
            path class={ "line " (flow_class(flow)) } d={ "M" (x(estimate.mean)) ",200v3600" } {}
        }
    }
}

/// A table of the metrics of whole runs.
fn of_runs(repeat: &Repeat) -> Markup {
    let facts = [
        ("Jain's index", "jain", 1.0, 4, ""),
        ("Convergence", "convergence_s", 1.0, 1, "s"),
        ("From max-min fairness", "max_min_distance", 100.0, 1, "%"),
    ];
    let known = facts.iter().filter_map(|fact| Some((fact, repeat.estimate(fact.1)?)));
    html! {
        dl.facts {
            @for ((title, _, factor, decimals, unit), estimate) in known {
                div {
                    dt {
                        (explained(title))
                        @if estimate.runs < repeat.seeds.len() {
                            " (" (tick_text(estimate.runs as f64)) " runs)"
                        }
                    }
                    dd {
                        (fixed(Some(estimate.mean * factor), *decimals))
                        @if let Some(half) = estimate.ci95 {
                            " \u{b1} " (fixed(Some(half * factor), *decimals))
                        }
                        " " small { (unit) }
                    }
                }
            }
        }
    }
}
