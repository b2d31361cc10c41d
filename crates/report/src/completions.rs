//! Completion times of transfers: a table and the distribution.

use crate::plot::{flow_class, percent, swatch, x_axis};
use crate::scale::{Axis, HEIGHT, WIDTH, fixed, tick_text};
use crate::tables::rows_of_flows;
use crate::words::explained;
use crate::{Case, Study};
use fairpace_results::Completions;
use maud::{Markup, html};

/// Text of a tick's time, such as "20 ms" or "1 s".
fn tick_label(ms: f64) -> String {
    if ms >= 1e3 { format!("{} s", tick_text(ms / 1e3)) } else { format!("{} ms", tick_text(ms)) }
}

/// The section with table and plot; empty without transfers.
pub(crate) fn section(study: &Study) -> Markup {
    let has_any = |case: &&Case| case.run.summary.flows.iter().any(|flow| flow.completions.is_some());
    let cases: Vec<&Case> = study.runs.iter().filter(has_any).collect();
    if cases.is_empty() {
        return html! {};
    }
    let curves = cases.iter().flat_map(|case| &case.run.series.flows).flat_map(|flow| &flow.completion_ms);
    let axis = Axis::log(curves.map(|ms| f64::from(*ms)));
    html! {
        section #completions {
            h2 { "Completion times" }
            p.legend {
                "Transfers that began in the measurement window. Slowdown: the time over the minimum of the "
                "path (propagation, and the transmission of the bytes over the narrowest link)."
            }
            (table(&cases))
            @if let Some(axis) = axis {
                div.multiples style={ "--columns:" (cases.len().min(3)) } {
                    @for case in &cases { (figure(case, axis)) }
                }
            }
        }
    }
}

fn table(cases: &[&Case]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Completion times" {
            table {
                thead { tr {
                    th scope="col" { "Run" }
                    th scope="col" { "Flow" }
                    th.number scope="col" { "Began" }
                    th.number scope="col" { "Completed" }
                    th.number scope="col" { "Time, mean" br; small { "ms" } }
                    @for of in ["p50", "p95", "p99"] {
                        th.number scope="col" { (explained(of)) br; small { "ms" } }
                    }
                    th.number scope="col" { "Slowdown" br; small { "mean" } }
                    @for of in ["p50", "p95", "p99"] { th.number scope="col" { (explained(of)) } }
                } }
                (rows_of_flows(cases, |flow| flow.completions.as_ref(), cells))
            }
        }
    }
}

/// The distribution of one run: the share of transfers that took at most the time on the horizontal axis.
fn cells(of: &Completions) -> Markup {
    html! {
        td.number { (of.began) }
        td.number { (of.completed) }
        @for (x, digits) in [
            (of.mean_ms, 1), (of.p50_ms, 1), (of.p95_ms, 1), (of.p99_ms, 1),
            (of.slowdown_mean, 2), (of.slowdown_p50, 2), (of.slowdown_p95, 2), (of.slowdown_p99, 2),
        ] {
            td.number { (fixed(x, digits)) }
        }
    }
}

fn figure(case: &Case, axis: Axis) -> Markup {
    let flows = case.run.summary.flows.iter().zip(&case.run.series.flows).enumerate();
    let curves: Vec<(usize, String, &str)> = flows
        .filter(|(_, (_, series))| !series.completion_ms.is_empty())
        .map(|(i, (flow, series))| (i, curve(&series.completion_ms, axis), flow.name.as_str()))
        .collect();
    let tenths = [0.0, 0.25, 0.5, 0.75, 1.0];
    let y = |part: f64| HEIGHT - (part * f64::from(HEIGHT)).round() as i32;
    let x = |part: f64| (part * f64::from(WIDTH)).round() as i32;
    let grid: String = tenths.iter().map(|part| format!("M0,{}h{WIDTH}", y(*part))).collect();
    let verticals: String = axis.ticks().map(|ms| format!("M{},0v{HEIGHT}", x(axis.place(ms)))).collect();
    html! {
        figure {
            figcaption {
                span.title { (case.label) }
                span.unit { "% of transfers that took no longer" }
                span.readouts { @for (i, _, name) in &curves { span.readout { (swatch(Some(*i))) (name) } } }
            }
            div.frame {
                div.yaxis aria-hidden="true" {
                    @for part in tenths {
                        span style={ "bottom:" (percent(part)) } { (tick_text(part * 100.0)) }
                    }
                }
                div.plot.still {
                    svg.drawing viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
                        preserveAspectRatio="none" role="img" {
                        title { "Distribution of completion times, " (case.label) }
                        path class="grid" d={ (grid) (verticals) } {}
                        @for (i, path, _) in &curves {
                            path class={ "line " (flow_class(Some(*i))) } d=(path) {}
                        }
                    }
                }
                (x_axis(&axis, tick_label))
            }
        }
    }
}

fn curve(percentiles_ms: &[f32], axis: Axis) -> String {
    let last = percentiles_ms.len().saturating_sub(1).max(1) as f64;
    let points = percentiles_ms.iter().enumerate().map(|(i, ms)| {
        let x = (axis.place(f64::from(*ms)) * f64::from(WIDTH)).round() as i32;
        let y = HEIGHT - (i as f64 / last * f64::from(HEIGHT)).round() as i32;
        format!("{x},{y}")
    });
    let points: Vec<String> = points.collect();
    format!("M{}", points.join("L"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_say_their_unit() {
        let axis = Axis::log([12.0, 950.0]).unwrap();
        let ticks: Vec<String> = axis.ticks().map(tick_label).collect();
        assert_eq!(ticks, ["10 ms", "20 ms", "50 ms", "100 ms", "200 ms", "500 ms", "1 s"]);
    }

    #[test]
    fn a_curve_goes_from_none_to_all() {
        let axis = Axis::log([1.0, 100.0]).unwrap();
        assert_eq!(curve(&[1.0, 10.0, 100.0], axis), "M0,4000L600,2000L1200,0");
    }
}
