//! Results for people: aligned columns that need no colour.

use comfy_table::{CellAlignment, Table, presets};
use fairpace_results::{FlowSummary, LinkSummary, Run, Summary};

/// A table with a header; columns are right-aligned from `numbers` on.
pub(crate) fn table(header: &[&str], numbers: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header.iter().copied());
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if index >= numbers {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Lines without blanks at their ends.
pub(crate) fn text(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A number with this many decimals, or a dash where there is nothing to say.
pub(crate) fn number(value: Option<f64>, decimals: usize) -> String {
    match value {
        Some(value) if value.is_finite() => format!("{value:.decimals$}"),
        _ => "-".to_owned(),
    }
}

/// A number as short as it can be said to three decimals.
pub(crate) fn short(value: f64) -> String {
    ((value * 1e3).round() / 1e3).to_string()
}

fn percent(value: Option<f64>) -> String {
    number(value.map(|value| value * 100.0), 1)
}

/// Shares of more flows than this do not fit into a line.
const WIDEST: usize = 8;

/// One run in full.
pub(crate) fn run(run: &Run, quiet: bool) -> String {
    let summary = &run.summary;
    let [from, to] = summary.window_s;
    let on = if summary.on == "sim" { "simulated" } else { "on the running kernel" };
    let mut out = format!(
        "{}\n{on}, seed {}, measured from {} to {} s\n\n",
        summary.scenario.title,
        summary.seed,
        short(from),
        short(to)
    );
    let header = [
        "flow",
        "algorithm",
        "base RTT ms",
        "start s",
        "goodput Mbit/s",
        "share %",
        "RTT mean ms",
        "p50",
        "p99",
        "resent",
    ];
    // what few scenarios have gets a column only where it is
    let finite = summary.flows.iter().any(|flow| flow.completion_s.is_some());
    let marked = summary.flows.iter().any(|flow| flow.marked_pkts > 0);
    let header =
        header.into_iter().chain(finite.then_some("completed in s")).chain(marked.then_some("marked"));
    let mut flows = table(&header.collect::<Vec<_>>(), 2);
    for flow in &summary.flows {
        let mut row = vec![flow.name.clone(), flow.cc.clone(), short(flow.rtt_ms), short(flow.start_s)];
        row.extend(flow_cells(flow));
        let resent = row.pop().unwrap_or_default();
        row.extend([number(flow.rtt_p50_ms, 1), number(flow.rtt_p99_ms, 1), resent]);
        row.extend(finite.then(|| number(flow.completion_s, 3)));
        row.extend(marked.then(|| flow.marked_pkts.to_string()));
        flows.add_row(row);
    }
    out.push_str(&text(&flows));
    out.push('\n');
    out.push_str(&completions(summary));
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
            out.push_str(&format!("note: {note}\n"));
        }
    }
    out
}

/// Of the flows that consist of many transfers; one that is a single transfer has its time in its own row.
fn completions(summary: &Summary) -> String {
    let many = |flow: &&FlowSummary| flow.completions.is_some() && flow.completion_s.is_none();
    let mut lines = table(
        &["transfers of", "began", "completed", "mean ms", "p50", "p99", "slowdown mean", "p50", "p99"],
        1,
    );
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

fn links(summary: &Summary) -> String {
    // what few scenarios have gets a column only where it is
    let managed = summary.links.iter().any(|link| link.queue != "fifo");
    let lossy = summary.links.iter().any(|link| link.lost > 0);
    let marking = summary.links.iter().any(|link| link.marks > 0);
    let header = ["link"].into_iter().chain(managed.then_some("queue"));
    let header =
        header.chain(["rate Mbit/s", "used %", "queue delay mean ms", "p99", "drops", "backlog shares %"]);
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

/// Goodput, share, RTT, retransmissions.
fn flow_cells(flow: &FlowSummary) -> [String; 4] {
    [
        number(Some(flow.goodput_mbps), 1),
        percent(flow.share),
        number(flow.rtt_mean_ms, 1),
        flow.retransmits.to_string(),
    ]
}

/// Several runs over one path: a row per flow; what belongs to the run stands in its first row.
pub(crate) fn compare<'a>(runs: impl IntoIterator<Item = &'a Run>) -> String {
    let header = [
        "algorithm",
        "flow",
        "goodput Mbit/s",
        "share %",
        "RTT mean ms",
        "resent",
        "queue delay mean ms",
        "p99",
        "drops",
        "used %",
        "Jain",
    ];
    let mut table = table(&header, 2);
    for run in runs {
        for (index, flow) in run.summary.flows.iter().enumerate() {
            let of_run = if index == 0 { run_cells(run) } else { Default::default() };
            let name = if index == 0 { flow.cc.clone() } else { String::new() };
            table.add_row([name, flow.name.clone()].into_iter().chain(flow_cells(flow)).chain(of_run));
        }
    }
    text(&table)
}

/// Queue delay, drops, utilisation of the slowest link; Jain.
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
