//! Scenarios of the tables, as text, and what is read from their runs.

use std::fmt::Write as _;

use fairpace_cc::Phase;
use fairpace_results::Run;

/// Buffer of all links: nothing is ever dropped in steering.
const BUFFER: &str = "4MB";

/// A scenario of LEVEL flows.
pub(super) struct Path {
    text: String,
}

impl Path {
    /// One FIFO of this rate, measured from one time to the end, both in seconds.
    pub(super) fn new(mbps: f64, from_s: f64, to_s: f64, interval_ms: f64) -> Self {
        let mut path = Self::without_link(from_s, to_s, interval_ms);
        path.link("bottleneck", mbps);
        path
    }

    pub(super) fn without_link(from_s: f64, to_s: f64, interval_ms: f64) -> Self {
        let mut text = String::new();
        let _ = writeln!(text, "title = \"level-theory\"\nduration = \"{to_s}s\"");
        let _ = writeln!(text, "interval = \"{interval_ms}ms\"\n[window]\nfrom = \"{from_s}s\"");
        Self { text }
    }

    pub(super) fn link(&mut self, name: &str, mbps: f64) {
        let _ =
            writeln!(self.text, "[[link]]\nname = \"{name}\"\nrate = \"{mbps}mbit\"\nbuffer = \"{BUFFER}\"");
    }

    /// A flow; `more` are lines of keys.
    pub(super) fn flow(&mut self, name: &str, rtt_ms: f64, start_s: f64, set: &str, more: &str) {
        let _ = writeln!(
            self.text,
            "[[flow]]\nname = \"{name}\"\ncc = \"level\"\nrtt = \"{rtt_ms}ms\"\nstart = \"{start_s:.3}s\"\n\
             set = {{ {set} }}\n{more}"
        );
    }

    pub(super) fn text(&self, seed: u64) -> String {
        format!("seed = {seed}\n{}", self.text)
    }
}

/// Parameters of a flow that only steers: no exchange, and drains 0.5, 1, 2, ... s apart.
pub(super) const STEERS: &str = "patience = 0, exchange = false, drain_interval = \"100s\"";
/// Such flows do not drain in this time, seconds, if their base RTT is at most 60 ms.
pub(super) const QUIET_S: [f64; 2] = [18.0, 31.0];

/// The start of flow `index` of a run: 0.2 s apart, and elsewhere with each seed.
pub(super) fn start_s(index: usize, seed: u64) -> f64 {
    index as f64 * 0.2 + if index == 0 { 0.0 } else { 0.013 * seed as f64 }
}

/// Shares of the goodput in the measurement window.
pub(super) fn shares(run: &Run) -> Vec<f64> {
    let sum: f64 = run.summary.flows.iter().map(|flow| flow.goodput_mbps).sum();
    run.summary.flows.iter().map(|flow| flow.goodput_mbps / sum).collect()
}

/// Mean queueing delay of a link in the measurement window.
pub(super) fn queue_ms(run: &Run, link: usize) -> f64 {
    run.summary.links[link].queue_delay_mean_ms.unwrap_or(f64::NAN)
}

/// Points of the series in a span of time.
pub(super) fn points(run: &Run, from_s: f64, to_s: f64) -> std::ops::Range<usize> {
    let index = |time_s: f64| run.series.t_s.partition_point(|t| *t <= time_s);
    index(from_s)..index(to_s)
}

/// Queueing delays of the first link in a span of time.
pub(super) fn queues_ms(run: &Run, from_s: f64, to_s: f64) -> Vec<f64> {
    let of = &run.series.links[0].queue_delay_ms[points(run, from_s, to_s)];
    of.iter().map(|value| f64::from(*value)).filter(|value| value.is_finite()).collect()
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(super) fn deviation(values: &[f64]) -> f64 {
    let middle = mean(values);
    mean(&values.iter().map(|value| (value - middle).powi(2)).collect::<Vec<_>>()).sqrt()
}

/// A flow's measure of the queue is the mean of the least RTTs of blocks of this length, seconds.
const BLOCK_S: f64 = 0.01;

/// By how much what a flow takes for the queueing delay of these links is below the mean that packets waited,
/// ms: packets come in bursts, and the flow counts the first ones. Needs a series with several points in each
/// block.
pub(super) fn seen_less_ms(run: &Run, links: &[usize]) -> f64 {
    let [from_s, to_s] = run.summary.window_s;
    let span = points(run, from_s, to_s);
    let times = &run.series.t_s[span.clone()];
    let waits: Vec<f64> = span
        .map(|point| links.iter().map(|link| f64::from(run.series.links[*link].queue_delay_ms[point])).sum())
        .collect();
    let block = |index: usize| (times[index] / BLOCK_S) as u64;
    let mut least = Vec::new();
    let mut all = Vec::new();
    for blocks in (0..waits.len()).collect::<Vec<_>>().chunk_by(|a, b| block(*a) == block(*b)) {
        let of: Vec<f64> = blocks.iter().map(|index| waits[*index]).filter(|wait| wait.is_finite()).collect();
        if !of.is_empty() {
            least.push(of.iter().copied().fold(f64::INFINITY, f64::min));
            all.push(mean(&of));
        }
    }
    mean(&all) - mean(&least)
}

/// Mean of what a flow takes its base RTT to be, in the measurement window.
pub(super) fn base_ms(run: &Run, flow: usize) -> f64 {
    let [from_s, to_s] = run.summary.window_s;
    let of = &run.series.flows[flow].min_rtt_ms[points(run, from_s, to_s)];
    mean(&of.iter().map(|value| f64::from(*value)).filter(|value| value.is_finite()).collect::<Vec<_>>())
}

/// ln of the ratio of what flows 0 and 1 got in a span of time.
pub(super) fn log_ratio(run: &Run, from_s: f64, to_s: f64) -> f64 {
    let got = |flow: usize| {
        let of = &run.series.flows[flow].goodput_mbps[points(run, from_s, to_s)];
        of.iter().map(|value| f64::from(*value)).filter(|value| value.is_finite()).sum::<f64>()
    };
    (got(0) / got(1)).ln()
}

/// Begin and end of each drain of a flow, seconds.
pub(super) fn drains(run: &Run, flow: usize) -> Vec<[f64; 2]> {
    let phases = &run.series.flows[flow].phase;
    let mut drains: Vec<[f64; 2]> = Vec::new();
    for (index, phase) in phases.iter().enumerate().filter(|(_, phase)| **phase == Phase::Drain as i8) {
        let time_s = run.series.t_s[index];
        match drains.last_mut() {
            Some(last) if index > 0 && phases[index - 1] == *phase => last[1] = time_s,
            _ => drains.push([time_s, time_s]),
        }
    }
    drains
}
