//! Summaries of runs as tables for people.

use fairpace_results::{FlowSummary, LinkSummary, Run, Summary};

use crate::table::{number, percent as percent_with, prose, short, table, text};

/// A ratio as a percentage with one decimal.
fn percent(ratio: Option<f64>) -> String {
    percent_with(ratio, 1)
}

/// Most shares that fit into a line.
const WIDEST: usize = 8;

/// All metrics of one run as text, and its notes unless `quiet`.
#[must_use]
pub fn of_run(run: &Run, quiet: bool) -> String {
    let summary = &run.summary;
    let [from, to] = summary.window_s;
    let on = match summary.on.as_str() {
        "sim" => "simulated",
        "kernel" => "on the running kernel",
        // with the versions that are part of the result
        on => on,
    };
    let mut out = format!(
        "{}\n{on}, seed {}, measured from {} to {} s\n\n",
        summary.scenario.title,
        summary.seed,
        short(from),
        short(to)
    );
    let header = "flow|algorithm|base RTT ms|start s|goodput Mbit/s|share %|RTT mean ms|p50|p99|retrans";
    // a column that would be empty is left out
    let finite = summary.flows.iter().any(|flow| flow.completion_s.is_some());
    let failed = summary.flows.iter().any(|flow| flow.failed > 0);
    let marked = summary.flows.iter().any(|flow| flow.marked_pkts > 0);
    let header = header.split('|').chain(finite.then_some("completed in s"));
    let header = header.chain(failed.then_some("failed")).chain(marked.then_some("marked"));
    let mut flows = table(&header.collect::<Vec<_>>(), 2);
    for flow in &summary.flows {
        let mut row = vec![flow.name.clone(), flow.cc.clone(), short(flow.rtt_ms), short(flow.start_s)];
        row.extend(flow_cells(flow));
        let retransmits = row.pop().unwrap_or_default();
        row.extend([number(flow.rtt_p50_ms, 1), number(flow.rtt_p99_ms, 1), retransmits]);
        row.extend(finite.then(|| number(flow.completion_s, 3)));
        row.extend(failed.then(|| flow.failed.to_string()));
        row.extend(marked.then(|| flow.marked_pkts.to_string()));
        flows.add_row(row);
    }
    out.push_str(&text(&flows));
    out.push('\n');
    out.push_str(&completions(summary));
    out.push_str(&media(summary));
    out.push_str(&links(summary));
    out.push_str(&format!("\nJain's fairness index {}\n", number(summary.jain, 3)));
    if let Some(seconds) = summary.convergence_s {
        out.push_str(&format!("converged in {} s\n", short(seconds)));
    }
    if let Some(distance) = summary.max_min_distance.filter(|_| summary.links.len() > 1) {
        out.push_str(&format!("mean distance from max-min fair goodputs {} %\n", percent(Some(distance))));
    }
    if !quiet {
        for note in &run.notes {
            out.push_str(&prose(&format!("note: {note}\n")));
        }
    }
    out
}

/// A table of completion times, for flows with many transfers. A flow that is a single transfer has its time
/// in its own row.
fn completions(summary: &Summary) -> String {
    let many = |flow: &&FlowSummary| flow.completions.is_some() && flow.completion_s.is_none();
    let header =
        ["transfers of", "began", "completed", "mean ms", "p50", "p99", "slowdown mean", "p50", "p99"];
    let mut lines = table(&header, 1);
    let mut is_empty = true;
    for flow in summary.flows.iter().filter(many) {
        let Some(of) = &flow.completions else { continue };
        is_empty = false;
        lines.add_row([
            flow.name.clone(),
            of.began.to_string(),
            of.completed.to_string(),
            number(of.mean_ms, 1),
            number(of.p50_ms, 1),
            number(of.p99_ms, 1),
            number(of.slowdown_mean, 2),
            number(of.slowdown_p50, 2),
            number(of.slowdown_p99, 2),
        ]);
    }
    if is_empty { String::new() } else { text(&lines) + "\n" }
}

/// A table of late and lost frames and delays, for flows of audio and video.
fn media(summary: &Summary) -> String {
    let header = ["frames of", "frames", "late or lost %", "longest freeze ms", "delay ms p50", "p95", "p99"];
    let mut lines = table(&header, 1);
    let with = || summary.flows.iter().filter_map(|flow| Some((&flow.name, flow.media.as_ref()?)));
    for (name, of) in with() {
        lines.add_row([
            name.clone(),
            of.frames.to_string(),
            percent(of.late_or_lost),
            number(Some(of.longest_freeze_ms), 0),
            number(of.frame_delay_p50_ms, 1),
            number(of.frame_delay_p95_ms, 1),
            number(of.frame_delay_p99_ms, 1),
        ]);
    }
    if with().next().is_none() { String::new() } else { text(&lines) + "\n" }
}

fn links(summary: &Summary) -> String {
    // a column that would be empty is left out
    let managed = summary.links.iter().any(|link| link.queue != "fifo");
    let lossy = summary.links.iter().any(|link| link.lost > 0);
    let marking = summary.links.iter().any(|link| link.marks > 0);
    let header = ["link"].into_iter().chain(managed.then_some("queue"));
    let header =
        header.chain(["rate Mbit/s", "used %", "queueing delay mean ms", "p99", "drops", "backlog shares %"]);
    let header: Vec<_> = header.chain(lossy.then_some("lost")).chain(marking.then_some("marked")).collect();
    let mut links = table(&header, if managed { 2 } else { 1 });
    for link in &summary.links {
        let shares: Vec<_> = link.backlog_share.iter().map(|share| percent(Some(*share))).collect();
        let shares = if shares.len() > WIDEST { "see --json".to_owned() } else { shares.join(" : ") };
        let mut row = vec![link.name.clone()];
        row.extend(managed.then(|| link.queue.clone()));
        row.extend([
            short(link.rate_mbps),
            percent(Some(link.utilization)),
            number(link.queue_delay_mean_ms, 1),
            number(link.queue_delay_p99_ms, 1),
            link.drops.to_string(),
            shares,
        ]);
        row.extend(lossy.then(|| link.lost.to_string()));
        row.extend(marking.then(|| link.marks.to_string()));
        links.add_row(row);
    }
    text(&links)
}

/// Cells of a flow: goodput, share, RTT, retransmissions.
fn flow_cells(flow: &FlowSummary) -> [String; 4] {
    [
        number(Some(flow.goodput_mbps), 1),
        percent(flow.share),
        number(flow.rtt_mean_ms, 1),
        flow.retransmits.to_string(),
    ]
}

/// A table of several runs over one path: a row for each flow; the first row of a run has the metrics of the
/// run. The name of an algorithm without a run has a row that says so.
#[must_use]
pub fn of_comparison<'a>(runs: impl IntoIterator<Item = Result<&'a Run, &'a str>>) -> String {
    let header = "algorithm|flow|goodput Mbit/s|share %|RTT mean ms|retrans|queueing delay mean ms|p99|drops|\
                  used %|Jain";
    let mut table = table(&header.split('|').collect::<Vec<_>>(), 2);
    for run in runs {
        let run = match run {
            Ok(run) => run,
            Err(name) => {
                table.add_row([name, "no result"]);
                continue;
            }
        };
        for (index, flow) in run.summary.flows.iter().enumerate() {
            let of_run = if index == 0 { run_cells(run) } else { Default::default() };
            let name = if index == 0 { flow.cc.clone() } else { String::new() };
            table.add_row([name, flow.name.clone()].into_iter().chain(flow_cells(flow)).chain(of_run));
        }
    }
    text(&table)
}

/// Cells of a run: queueing delay, drops and utilisation of the slowest link; Jain's index.
fn run_cells(run: &Run) -> [String; 5] {
    let slowest = run.summary.links.iter().min_by(|a, b| a.rate_mbps.total_cmp(&b.rate_mbps));
    let of = |value: fn(&LinkSummary) -> Option<f64>| slowest.and_then(value);
    [
        number(of(|link| link.queue_delay_mean_ms), 1),
        number(of(|link| link.queue_delay_p99_ms), 1),
        slowest.map(|link| link.drops.to_string()).unwrap_or_default(),
        percent(of(|link| Some(link.utilization))),
        number(run.summary.jain, 3),
    ]
}
