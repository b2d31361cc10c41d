//! The page of a report: goodput, numbers, time series and commands, in this order.

use crate::panels::{Axes, lanes, panels};
use crate::plot::{Panel, asset, figure, swatch};
use crate::scale::{fixed, tick_text};
use crate::words::{self, explained};
use crate::{Case, Study, beside, completions, data, headline, media, place, repeats, tables};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The head of a page that loads no file, which the browser enforces by the content security policy. `more`
/// is a style sheet after that of all pages.
pub(crate) fn head(title: &str, has_script: bool, more: &Markup) -> Markup {
    let scripts = if has_script { " script-src 'unsafe-inline';" } else { "" };
    let policy = format!("default-src 'none'; style-src 'unsafe-inline';{scripts} img-src data:");
    let style = [
        include_str!("../assets/palette.css"),
        include_str!("../assets/dark.css"),
        include_str!("../assets/plot.css"),
        include_str!("../assets/page.css"),
    ];
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta http-equiv="Content-Security-Policy" content=(policy);
            meta name="color-scheme" content="light dark";
            title { (title) }
            link rel="icon" href="data:,";
            style { @for part in style { (asset(part)) } (more) }
        }
    }
}

pub(crate) fn html(study: &Study) -> String {
    let axes = Axes::new(study);
    let panels: Vec<Vec<Panel>> = study.runs.iter().map(|case| panels(study, case, &axes)).collect();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(study.title, true, &html! {}))
            body {
                header {
                    h1 { (study.title) }
                    @if !study.context.why.is_empty() { p.why { (study.context.why) } }
                }
                (toolbar(study))
                main {
                    (repeats::section(study))
                    section #goodput { h2 { "Goodput over time" } (headline::section(study, &axes)) }
                    section #numbers {
                        h2 { "Numbers" } (tables::flows(study)) (tables::links(study)) (sources(study))
                        (beside::sources(study))
                    }
                    (completions::section(study))
                    (media::section(study))
                    @for (case, panels) in study.runs.iter().zip(&panels) { (run(study, case, panels)) }
                    section #reproduce {
                        h2 { "Repeat it" }
                        @for case in &study.runs { (tables::reproduce(case)) }
                    }
                }
                (words::meanings())
                footer { p { "Written by Fairpace. This file loads nothing from the network." } }
                script #data type="application/json" { (PreEscaped(data::json(study, &panels))) }
                script { (asset(include_str!("../assets/report.js"))) }
            }
        }
    };
    page.into_string()
}

/// Buttons that hide flows and select spans of time in all plots. They need the script, which makes them
/// visible.
fn toolbar(study: &Study) -> Markup {
    html! {
        div.toolbar #toolbar hidden {
            div.chips role="group" aria-label="Flows shown" {
                @for i in 0..study.most_flows() {
                    button type="button" aria-pressed="true" data-toggle=(i)
                        title="Show or hide this flow in all plots" {
                        (swatch(Some(i))) (study.flow_name(i))
                    }
                }
                (beside::chips(study))
            }
            div.spans role="group" aria-label="Span of time shown" {
                button type="button" aria-pressed="true" data-span="all" { "All" }
                button type="button" aria-pressed="false" data-span="start" { "First seconds" }
                button type="button" aria-pressed="false" data-span="window" { "Measured" }
                output #span {}
            }
        }
    }
}

/// The sources of published values, each source once.
fn sources(study: &Study) -> Markup {
    let mut sources: Vec<(&str, &str)> = Vec::new();
    for published in study.runs.iter().filter_map(|case| case.context.published.as_ref()) {
        let entry = (published.label.as_str(), published.source.as_str());
        if !published.source.is_empty() && !sources.contains(&entry) {
            sources.push(entry);
        }
    }
    html! { @for (label, source) in sources { p.source { "Published (" (label) "): " (source) } } }
}

fn run(study: &Study, case: &Case, panels: &[Panel]) -> Markup {
    let summary = &case.run.summary;
    let link = summary.links.first();
    let queue = link.map(|l| l.queue.clone()).filter(|q| !q.is_empty());
    let facts = [
        ("Jain's index", fixed(summary.jain, 3), ""),
        ("Utilization", fixed(link.map(|l| l.utilization * 100.0), 1), "%"),
        ("Queueing delay, mean", fixed(link.and_then(|l| l.queue_delay_mean_ms), 1), "ms"),
        ("Queueing delay, p99", fixed(link.and_then(|l| l.queue_delay_p99_ms), 1), "ms"),
        ("Drops", link.map_or_else(|| "–".into(), |l| l.drops.to_string()), ""),
        ("Queue", queue.unwrap_or_else(|| "–".into()), ""),
    ];
    html! {
        section.run id={ "run-" (case.index) } {
            h2 { (case.label) }
            p.where {
                (summary.scenario.title) ", " (place(&summary.on)) ", seed " (summary.seed) ", measured from "
                (tick_text(summary.window_s[0])) " s to " (tick_text(summary.window_s[1])) " s"
            }
            dl.facts {
                @for (name, value, unit) in facts {
                    div { dt { (explained(name)) } dd { (value) " " small { (unit) } } }
                }
            }
            @if !case.run.notes.is_empty() { ul.notes { @for note in &case.run.notes { li { (note) } } } }
            div.grid {
                @for panel in panels { (figure(case.index, panel, summary.window_s, &html! {})) }
                (lanes(study, case))
            }
        }
    }
}
