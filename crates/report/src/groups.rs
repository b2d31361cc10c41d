//! Groups of flows, for a report on more flows than a reader can look at.
//!
//! A flow takes about 11 kB of a report, so 100,000 flows would take 1 GB that no browser opens. Beyond
//! [`MOST_FLOWS`] a report shows groups instead: the flows of an algorithm, ordered by goodput, in three
//! thirds. A value of a group is the mean over its flows, its backlog their sum. The files beside the report
//! have each flow.

use std::collections::BTreeMap;
use std::ops::Range;

use fairpace_results::{FlowSeries, FlowSummary, LinkSeries, Run, Series};

use crate::{Context, RunContext};

/// Largest number of flows of all runs together with which a report shows each flow. 200 flows make 2 MB.
pub(crate) const MOST_FLOWS: usize = 200;
/// Largest number of algorithms whose flows are split into thirds. With more, each algorithm is one group.
const MOST_SPLIT: usize = 4;
/// Names of the groups of an algorithm.
const THIRDS: [&str; 3] = ["slowest", "middle", "fastest"];

/// The runs with groups instead of flows, and their context; `None` if there are few flows.
pub(crate) fn of(runs: &[Run], context: &Context) -> Option<(Vec<Run>, Context)> {
    let in_all: usize = runs.iter().map(|run| run.summary.flows.len()).sum();
    if in_all <= MOST_FLOWS {
        return None;
    }
    // published values are of single flows
    let ungrouped = |context: &RunContext| RunContext { published: None, ..context.clone() };
    let context = Context { runs: context.runs.iter().map(ungrouped).collect(), ..context.clone() };
    Some((runs.iter().map(grouped).collect(), context))
}

/// A group: its name, and the indices of its flows.
struct Group {
    name: String,
    flows: Vec<usize>,
}

fn grouped(run: &Run) -> Run {
    let groups = groups(&run.summary.flows);
    let mut summary = run.summary.clone();
    summary.flows = groups.iter().map(|group| summary_of(group, &run.summary.flows)).collect();
    for link in &mut summary.links {
        let shares = std::mem::take(&mut link.backlog_share);
        let share = |group: &Group| group.flows.iter().filter_map(|flow| shares.get(*flow)).sum();
        link.backlog_share = groups.iter().map(share).collect();
    }
    let series = Series {
        t_s: run.series.t_s.clone(),
        flows: groups.iter().map(|group| series_of(group, &run.series.flows)).collect(),
        links: run.series.links.iter().map(|link| link_of(&groups, link)).collect(),
    };
    let note = format!(
        "This page shows groups of the {} flows, by algorithm and goodput: means of the flows of a group, \
         sums of their backlogs. summary.json and flows.csv have each flow.",
        run.summary.flows.len()
    );
    let mut notes = vec![note];
    notes.extend(run.notes.iter().cloned());
    Run { summary, series, notes }
}

fn groups(flows: &[FlowSummary]) -> Vec<Group> {
    let mut by_cc: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, flow) in flows.iter().enumerate() {
        by_cc.entry(&flow.cc).or_default().push(index);
    }
    let split = by_cc.len() <= MOST_SPLIT;
    let mut groups = Vec::new();
    for (cc, mut members) in by_cc {
        let all = members.len();
        if !split || all < THIRDS.len() {
            groups.push(Group { name: format!("{cc}, all {all}"), flows: members });
            continue;
        }
        members.sort_by(|a, b| flows[*a].goodput_mbps.total_cmp(&flows[*b].goodput_mbps));
        for (third, which) in THIRDS.iter().enumerate() {
            let part: Range<usize> = all * third / THIRDS.len()..all * (third + 1) / THIRDS.len();
            let name = format!("{cc}, {which} {} of {all}", part.len());
            groups.push(Group { name, flows: members[part].to_vec() });
        }
    }
    groups
}

/// Means over the flows of a group; a value that only some flows have is averaged over these flows. Failures
/// are summed.
fn summary_of(group: &Group, flows: &[FlowSummary]) -> FlowSummary {
    let members = || group.flows.iter().map(|flow| &flows[*flow]);
    let some = |of: fn(&FlowSummary) -> Option<f64>| mean(members().filter_map(of));
    let every = |of: fn(&FlowSummary) -> f64| mean(members().map(of)).unwrap_or(f64::NAN);
    let count = |of: fn(&FlowSummary) -> u64| every_count(members().map(of));
    FlowSummary {
        name: group.name.clone(),
        cc: members().next().map(|flow| flow.cc.clone()).unwrap_or_default(),
        set: members().next().map(|flow| flow.set.clone()).unwrap_or_default(),
        rtt_ms: every(|flow| flow.rtt_ms),
        start_s: members().map(|flow| flow.start_s).fold(f64::INFINITY, f64::min),
        failed: members().map(|flow| flow.failed).sum(),
        goodput_mbps: every(|flow| flow.goodput_mbps),
        share: some(|flow| flow.share),
        sent_pkts: some(|flow| flow.sent_pkts.map(|sent| sent as f64)).map(|sent| sent.round() as u64),
        retransmits: count(|flow| flow.retransmits),
        dropped_pkts: count(|flow| flow.dropped_pkts),
        loss_rate: some(|flow| flow.loss_rate),
        marked_pkts: count(|flow| flow.marked_pkts),
        rtt_mean_ms: some(|flow| flow.rtt_mean_ms),
        rtt_min_ms: some(|flow| flow.rtt_min_ms),
        rtt_p50_ms: some(|flow| flow.rtt_p50_ms),
        rtt_p95_ms: some(|flow| flow.rtt_p95_ms),
        rtt_p99_ms: some(|flow| flow.rtt_p99_ms),
        ..FlowSummary::default()
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / count as f64)
}

fn every_count(values: impl Iterator<Item = u64>) -> u64 {
    mean(values.map(|value| value as f64)).unwrap_or(0.0).round() as u64
}

fn series_of(group: &Group, flows: &[FlowSeries]) -> FlowSeries {
    let members = || group.flows.iter().filter_map(|flow| flows.get(*flow));
    let mean = |of: fn(&FlowSeries) -> &Vec<f32>| means(members().map(of));
    FlowSeries {
        goodput_mbps: mean(|flow| &flow.goodput_mbps),
        rtt_ms: mean(|flow| &flow.rtt_ms),
        cwnd_pkts: mean(|flow| &flow.cwnd_pkts),
        inflight_pkts: mean(|flow| &flow.inflight_pkts),
        pacing_mbps: mean(|flow| &flow.pacing_mbps),
        bw_mbps: mean(|flow| &flow.bw_mbps),
        min_rtt_ms: mean(|flow| &flow.min_rtt_ms),
        pacing_gain: mean(|flow| &flow.pacing_gain),
        phase: most_frequent(members().map(|flow| &flow.phase)),
        completion_ms: Vec::new(),
    }
}

fn link_of(groups: &[Group], link: &LinkSeries) -> LinkSeries {
    let sum = |group: &Group| {
        let rows = group.flows.iter().filter_map(|flow| link.backlog_kb.get(*flow));
        let (mut sums, counts) = sums(rows);
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum = if count == 0 { f64::NAN } else { *sum };
        }
        sums.into_iter().map(|sum| sum as f32).collect()
    };
    LinkSeries {
        queue_delay_ms: link.queue_delay_ms.clone(),
        backlog_kb: groups.iter().map(sum).collect(),
        drops: link.drops.clone(),
    }
}

/// The mean of the finite values at each point; NaN if there is none.
fn means<'a>(rows: impl Iterator<Item = &'a Vec<f32>>) -> Vec<f32> {
    let (sums, counts) = sums(rows);
    sums.into_iter().zip(counts).map(|(sum, count)| (sum / f64::from(count)) as f32).collect()
}

/// Sum and number of the finite values at each point.
fn sums<'a>(rows: impl Iterator<Item = &'a Vec<f32>>) -> (Vec<f64>, Vec<u32>) {
    let (mut sums, mut counts) = (Vec::new(), Vec::new());
    for row in rows {
        if row.len() > sums.len() {
            sums.resize(row.len(), 0.0);
            counts.resize(row.len(), 0);
        }
        for (point, value) in row.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            sums[point] += f64::from(*value);
            counts[point] += 1;
        }
    }
    (sums, counts)
}

/// The phase that most flows are in at each point; the lower number if two are equally frequent.
fn most_frequent<'a>(rows: impl Iterator<Item = &'a Vec<i8>>) -> Vec<i8> {
    let mut counts: Vec<BTreeMap<i8, u32>> = Vec::new();
    for row in rows {
        if row.len() > counts.len() {
            counts.resize(row.len(), BTreeMap::new());
        }
        for (count, phase) in counts.iter_mut().zip(row) {
            *count.entry(*phase).or_default() += 1;
        }
    }
    let most = |count: &BTreeMap<i8, u32>| {
        count
            .iter()
            .max_by_key(|(phase, count)| (**count, std::cmp::Reverse(**phase)))
            .map(|(phase, _)| *phase)
    };
    counts.iter().map(|count| most(count).unwrap_or(-1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(cc: &str, goodput_mbps: f64) -> FlowSummary {
        FlowSummary { cc: cc.into(), goodput_mbps, share: Some(0.1), ..FlowSummary::default() }
    }

    #[test]
    fn thirds_are_by_algorithm_and_goodput() {
        let flows: Vec<FlowSummary> =
            (0u8..7).map(|i| flow("reno", f64::from(7 - i))).chain([flow("bbr1", 9.0)]).collect();
        let groups = groups(&flows);
        let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(
            names,
            ["bbr1, all 1", "reno, slowest 2 of 7", "reno, middle 2 of 7", "reno, fastest 3 of 7"]
        );
        assert_eq!(groups[1].flows, [6, 5]);
        assert_eq!(summary_of(&groups[3], &flows).goodput_mbps, 6.0);
    }

    #[test]
    fn values_of_a_group_ignore_what_is_missing() {
        let [a, b] = [vec![1.0, f32::NAN, f32::NAN], vec![3.0, 5.0]];
        let found = means([&a, &b].into_iter());
        assert_eq!(found[..2], [2.0, 5.0]);
        assert!(found[2].is_nan());
        assert_eq!(most_frequent([&vec![1, 2], &vec![1, 3], &vec![4, 3]].into_iter()), [1, 3]);
    }

    #[test]
    fn backlogs_of_a_link_keep_their_sum() {
        let groups =
            [Group { name: String::new(), flows: vec![0, 2] }, Group { name: String::new(), flows: vec![1] }];
        let link = LinkSeries { backlog_kb: vec![vec![1.0], vec![2.0], vec![4.0]], ..LinkSeries::default() };
        assert_eq!(link_of(&groups, &link).backlog_kb, [[5.0], [2.0]]);
    }
}
