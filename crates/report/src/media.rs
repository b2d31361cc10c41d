//! Audio and video: a table of late and lost frames and delays.

use crate::scale::{fixed, tick_text};
use crate::tables::rows_of_flows;
use crate::words::explained;
use crate::{Case, Study};
use fairpace_results::MediaSummary;
use maud::{Markup, html};

/// The section with the table; empty without audio and video.
pub(crate) fn section(study: &Study) -> Markup {
    let has_any = |case: &&Case| case.run.summary.flows.iter().any(|flow| flow.media.is_some());
    let cases: Vec<&Case> = study.runs.iter().filter(has_any).collect();
    if cases.is_empty() {
        return html! {};
    }
    html! {
        section #media {
            h2 { "Audio and video" }
            p.legend {
                "Frames that were written in the measurement window. A late one is complete after its "
                "deadline, a lost one never. Delays are one-way: of a frame until its last packet arrives, "
                "and of each packet; its variation is the delay less the least one."
            }
            div.scroll tabindex="0" role="region" aria-label="Audio and video" { (table(&cases)) }
        }
    }
}

fn table(cases: &[&Case]) -> Markup {
    html! {
        table {
            thead { tr {
                th scope="col" { "Run" }
                th scope="col" { "Flow" }
                th.number scope="col" { "Frames" }
                th.number scope="col" { "Late" }
                th.number scope="col" { "Lost" }
                th.number scope="col" { "Late or lost" br; small { "%" } }
                th.number scope="col" { "Longest freeze" br; small { "ms" } }
                th.number scope="col" { "Frame delay" br; small { (explained("p50, ms")) } }
                @for of in ["p95", "p99"] { th.number scope="col" { (explained(of)) br; small { "ms" } } }
                th.number scope="col" { "Packet delay" br; small { (explained("p50, ms")) } }
                @for of in ["p95", "p99"] { th.number scope="col" { (explained(of)) br; small { "ms" } } }
                th.number scope="col" { "Variation" br; small { (explained("p99, ms")) } }
            } }
            (rows_of_flows(cases, |flow| flow.media.as_ref(), cells))
        }
    }
}

fn cells(of: &MediaSummary) -> Markup {
    html! {
        td.number { (of.frames) }
        td.number { (of.late) }
        td.number { (of.lost) }
        td.number { b { (fixed(of.late_or_lost.map(|share| share * 100.0), 2)) } }
        td.number { (tick_text(of.longest_freeze_ms.round())) }
        @for ms in [
            of.frame_delay_p50_ms, of.frame_delay_p95_ms, of.frame_delay_p99_ms,
            of.delay_p50_ms, of.delay_p95_ms, of.delay_p99_ms, of.delay_variation_p99_ms,
        ] {
            td.number { (fixed(ms, 1)) }
        }
    }
}
