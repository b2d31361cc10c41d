//! The tables of a report: all runs together, with published values beside the measured ones.

use crate::plot::swatch;
use crate::scale::{fixed, tick_text};
use crate::words::explained;
use crate::{Case, Study, beside, place};
use fairpace_results::FlowSummary;
use maud::{Markup, html};

/// The table of flows, one row for each. Cells with values of the whole run span its rows.
pub(crate) fn flows(study: &Study) -> Markup {
    let published = study.runs.iter().any(|case| case.context.published.is_some());
    let runs = study.runs.iter().filter(|case| !case.run.summary.flows.is_empty());
    html! {
        div.scroll tabindex="0" role="region" aria-label="Flows" {
            table {
                caption { "Flows, over the measurement window" }
                thead {
                    tr {
                        th scope="col" { "Run" }
                        th scope="col" { "Flow" }
                        th scope="col" { "Algorithm" }
                        th.number scope="col" { (explained("Goodput")) br; small { "Mbit/s" } }
                        @if published { th.number scope="col" { "Published" br; small { "Mbit/s" } } }
                        th.number scope="col" { (explained("Share")) br; small { "%" } }
                        th.number scope="col" { (explained("Jain's index")) }
                        th.number scope="col" { (explained("RTT mean")) br; small { "ms" } }
                        @for of in ["p50", "p95", "p99"] {
                            th.number scope="col" { (explained(of)) br; small { "ms" } }
                        }
                        th.number scope="col" { "Lost" br; small { "%" } }
                        th.number scope="col" { "Retrans-" br; "mits" }
                        th.number scope="col" { (explained("Base RTT")) br; small { "ms" } }
                        th.number scope="col" { "Start" br; small { "s" } }
                    }
                }
                @for case in runs { tbody { (flow_rows(case, published)) } }
                (beside::rows(study, published))
            }
        }
    }
}

fn flow_rows(case: &Case, published: bool) -> Markup {
    let summary = &case.run.summary;
    let rows = summary.flows.len();
    html! {
        @for (i, flow) in summary.flows.iter().enumerate() {
            tr {
                @if i == 0 {
                    th scope="rowgroup" rowspan=(rows) { a href={ "#run-" (case.index) } { (case.label) } }
                }
                td.name { (swatch(Some(i))) (flow.name) }
                td { (flow.cc) }
                td.number { b { (fixed(Some(flow.goodput_mbps), 1)) } }
                @if published { td.number.published { (fixed(case.published_mbps(i), 1)) } }
                td.number { (fixed(flow.share.map(|s| s * 100.0), 1)) }
                @if i == 0 { td.number rowspan=(rows) { (fixed(summary.jain, 3)) } }
                td.number { (fixed(flow.rtt_mean_ms, 1)) }
                td.number { (fixed(flow.rtt_p50_ms, 1)) }
                td.number { (fixed(flow.rtt_p95_ms, 1)) }
                td.number { (fixed(flow.rtt_p99_ms, 1)) }
                td.number { (fixed(flow.loss_rate.map(|rate| rate * 100.0), 3)) }
                td.number { (flow.retransmits) }
                td.number { (tick_text(flow.rtt_ms)) }
                td.number { (tick_text(flow.start_s)) }
            }
        }
    }
}

/// Body of a table with a row for each flow that has a value of `of`, grouped by case; `cells` makes the
/// cells of a row.
pub(crate) fn rows_of_flows<'a, T: 'a>(
    cases: &[&'a Case],
    of: impl Fn(&'a FlowSummary) -> Option<&'a T>,
    cells: fn(&T) -> Markup,
) -> Markup {
    html! {
        @for case in cases {
            @let flows = case.run.summary.flows.iter().enumerate();
            @let with: Vec<_> = flows.filter_map(|(i, flow)| Some((i, &flow.name, of(flow)?))).collect();
            tbody {
                @for (row, (i, name, of)) in with.iter().enumerate() {
                    tr {
                        @if row == 0 { th scope="rowgroup" rowspan=(with.len()) { (case.label) } }
                        td.name { (swatch(Some(*i))) (name) }
                        (cells(of))
                    }
                }
            }
        }
    }
}

pub(crate) fn links(study: &Study) -> Markup {
    let reported = |case: &Case| case.context.published.as_ref().and_then(|p| p.queue_delay_mean_ms);
    let published = study.runs.iter().any(|case| reported(case).is_some());
    let marked = study.runs.iter().flat_map(|case| &case.run.summary.links).any(|link| link.marks > 0);
    html! {
        div.scroll tabindex="0" role="region" aria-label="Links" {
            table {
                caption { "Links, over the measurement window" }
                thead {
                    tr {
                        th scope="col" { "Run" }
                        th scope="col" { "Link" }
                        th scope="col" { "Queue" }
                        th.number scope="col" { "Rate" br; small { "Mbit/s" } }
                        th.number scope="col" { (explained("Utilization")) br; small { "%" } }
                        th.number scope="col" { (explained("Queueing delay")) br; small { "mean, ms" } }
                        @if published { th.number scope="col" { "Published" br; small { "mean, ms" } } }
                        @for of in ["p50", "p95", "p99", "max"] {
                            th.number scope="col" { (explained(of)) br; small { "ms" } }
                        }
                        th.number scope="col" { (explained("Drops")) br; small { "packets" } }
                        @if marked { th.number scope="col" { (explained("Marks")) br; small { "packets" } } }
                        th scope="col" { (explained("Backlog by flow")) br; small { "%" } }
                    }
                }
                @for case in &study.runs {
                    tbody {
                        @for (i, link) in case.run.summary.links.iter().enumerate() {
                            tr {
                                @if i == 0 {
                                    th scope="rowgroup" rowspan=(case.run.summary.links.len()) {
                                        a href={ "#run-" (case.index) } { (case.label) }
                                    }
                                }
                                td.name { (link.name) }
                                td { (link.queue) }
                                td.number { (tick_text(link.rate_mbps)) }
                                td.number { (fixed(Some(link.utilization * 100.0), 1)) }
                                td.number { b { (fixed(link.queue_delay_mean_ms, 1)) } }
                                @if published {
                                    td.number.published { (fixed(reported(case).filter(|_| i == 0), 1)) }
                                }
                                td.number { (fixed(link.queue_delay_p50_ms, 1)) }
                                td.number { (fixed(link.queue_delay_p95_ms, 1)) }
                                td.number { (fixed(link.queue_delay_p99_ms, 1)) }
                                td.number { (fixed(link.queue_delay_max_ms, 1)) }
                                td.number { (link.drops) }
                                @if marked { td.number { (link.marks) } }
                                td.parts { (backlog(&link.backlog_share)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn backlog(shares: &[f64]) -> Markup {
    html! {
        @for (i, share) in shares.iter().enumerate() {
            span.part { (swatch(Some(i))) (fixed(Some(share * 100.0), 1)) }
        }
    }
}

/// The commands and settings that repeat a run.
pub(crate) fn reproduce(case: &Case) -> Markup {
    let summary = &case.run.summary;
    html! {
        details.reproduce {
            summary { "Repeat: " (case.label) }
            @if !case.context.commands.is_empty() {
                pre { code { @for command in &case.context.commands { (command) "\n" } } }
            }
            dl {
                div { dt { "Where" } dd { (place(&summary.on)) } }
                div { dt { "Commit" } dd { code { (summary.commit) } } }
                div { dt { "Seed" } dd { code { (summary.seed) } } }
                div { dt { "Scenario" } dd { (summary.scenario.title) } }
                div { dt { "Scenario hash (SHA-256)" } dd { code.hash { (summary.scenario.hash) } } }
                div {
                    dt { "Measurement window" }
                    dd { (tick_text(summary.window_s[0])) " s to " (tick_text(summary.window_s[1])) " s" }
                }
                div { dt { "Data packets" } dd { (summary.cost.data_packets) } }
            }
            @if !case.context.scenario_toml.is_empty() {
                p { "The scenario file:" }
                pre { code { (case.context.scenario_toml) } }
            }
        }
    }
}
