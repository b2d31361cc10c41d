//! Metrics of a run, computed from its summary.

use std::time::Duration;

use fairpace_results::{FlowSummary, LinkSummary, MediaSummary, Summary};
use fairpace_scenario::{Flow, Link, Scenario};
use serde::{Deserialize, Serialize};

/// A metric: a number of a run that a condition may compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Jain's index of the goodputs.
    Jain,
    /// Utilization of the first link: goodput with headers of all flows over what the link can carry, at its
    /// mean rate. With a trace, of which a flow cannot use every slot, and with handovers: bytes that left
    /// over bytes that could have left.
    Utilization,
    /// Utilization over the part of the link that flows can use, which the template gives.
    OfAvailable,
    /// Mean queueing delay of the first link.
    QueueMs,
    /// 95th percentile of the queueing delay of the first link.
    #[serde(rename = "queue_95_ms")]
    Queue95Ms,
    /// Loss rate: packets that the first link dropped, over packets that left it or were dropped.
    Loss,
    /// The least goodput of a flow, Mbit/s.
    LeastMbps,
    /// The greatest goodput of a flow, Mbit/s.
    MostMbps,
    /// The least goodput of a flow over the mean goodput of all flows: 1 if all are equal, 0 if a flow has
    /// none.
    LeastOfMean,
    /// Goodput of the named flows over the goodput of all flows.
    Share,
    /// Goodput of the named flows over the goodput that they had if all flows had equal goodputs, less 1.
    Gain,
    /// Goodput of the named flows, Mbit/s.
    Mbps,
    /// Packets that a named flow sends in one base RTT, mean of the named flows.
    SentPerRtt,
    /// Slowdown: flow completion time of the named flows' transfers over the shortest possible one, mean. It
    /// is infinite if a transfer did not complete.
    Slowdown,
    /// Share of audio or video frames that are late or lost: the largest share of a named flow.
    LateFrames,
    /// 95th percentile of the one-way delay of audio or video packets, ms: the largest value of a named flow.
    /// It is infinite if no packet arrived.
    #[serde(rename = "delay_95_ms")]
    Delay95Ms,
}

/// The flows from which a metric is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    All,
    /// The flows that the condition names.
    Named,
    /// The flows that the condition names, which must send audio or video.
    Media,
}

impl Metric {
    /// The metrics that are computed in every case.
    pub const ALWAYS: [Self; 6] =
        [Self::Jain, Self::Utilization, Self::QueueMs, Self::Loss, Self::LeastMbps, Self::MostMbps];

    /// Properties of a metric: its name in files and records, its flows, whether a lower value is worse
    /// (`None`: neither side is), and its number of decimals. A metric with two decimals may be far above 1.
    const fn row(self) -> (&'static str, Of, Option<bool>, usize) {
        match self {
            Self::Jain => ("jain", Of::All, Some(true), 3),
            Self::Utilization => ("utilization", Of::All, Some(true), 3),
            Self::OfAvailable => ("of_available", Of::All, Some(true), 3),
            Self::QueueMs => ("queue_ms", Of::All, Some(false), 2),
            Self::Queue95Ms => ("queue_95_ms", Of::All, Some(false), 2),
            Self::Loss => ("loss", Of::All, Some(false), 4),
            Self::LeastMbps => ("least_mbps", Of::All, Some(true), 2),
            Self::MostMbps => ("most_mbps", Of::All, None, 2),
            Self::LeastOfMean => ("least_of_mean", Of::All, Some(true), 3),
            Self::Share => ("share", Of::Named, None, 3),
            Self::Gain => ("gain", Of::Named, Some(false), 3),
            Self::Mbps => ("mbps", Of::Named, None, 2),
            Self::SentPerRtt => ("sent_per_rtt", Of::Named, None, 2),
            Self::Slowdown => ("slowdown", Of::Named, Some(false), 2),
            Self::LateFrames => ("late_frames", Of::Media, Some(false), 4),
            Self::Delay95Ms => ("delay_95_ms", Of::Media, Some(false), 2),
        }
    }

    /// Name of the metric in files and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// The flows from which the metric is computed.
    pub(crate) const fn of(self) -> Of {
        self.row().1
    }

    /// Whether a lower value is worse; `None` if neither side is worse.
    pub(crate) const fn lower_is_worse(self) -> Option<bool> {
        self.row().2
    }

    /// Text of a value of this metric.
    #[must_use]
    pub fn shown(self, value: f64) -> String {
        match self.row().3 {
            _ if !value.is_finite() => "-".to_owned(),
            2 if value.abs() >= 100.0 => format!("{value:.0}"),
            decimals => format!("{value:.decimals$}"),
        }
    }
}

/// The metrics of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    utilization: f64,
    available: f64,
    summary: Summary,
}

impl Measured {
    /// The metrics of a run of the scenario. A number that the run could not measure, because no packet
    /// arrived, is 0.
    #[must_use]
    pub fn of(scenario: &Scenario, summary: &Summary, available: f64) -> Self {
        let utilization = match scenario.links.first() {
            Some(first) if first.trace.is_none() && first.handover.is_none() => {
                let sent = |(flow, of): (&FlowSummary, &Flow)| flow.goodput_mbps / of.sending.payload_ratio();
                let sent_mbps: f64 = summary.flows.iter().zip(&scenario.flows).map(sent).sum();
                sent_mbps / (mean_bps(first, scenario.window) / 1e6)
            }
            _ => summary.links.first().map_or(0.0, |link| link.utilization),
        };
        Self { utilization, available, summary: summary.clone() }
    }

    /// The value of a metric; `of` names the flows, for metrics that need flows.
    #[must_use]
    pub fn value(&self, metric: Metric, of: &str) -> f64 {
        let Self { utilization, available, summary } = self;
        let link = |number: fn(&LinkSummary) -> Option<f64>| {
            summary.links.first().and_then(number).unwrap_or_default()
        };
        let goodputs = || summary.flows.iter().map(|flow| flow.goodput_mbps);
        let least = || goodputs().fold(f64::INFINITY, f64::min);
        let mean = || goodputs().sum::<f64>() / summary.flows.len() as f64;
        match metric {
            Metric::Jain => summary.jain.unwrap_or_default(),
            Metric::Utilization => *utilization,
            Metric::OfAvailable => utilization / available,
            Metric::QueueMs => link(|link| link.queue_delay_mean_ms),
            Metric::Queue95Ms => link(|link| link.queue_delay_p95_ms),
            Metric::Loss => link(|link| link.loss_rate),
            Metric::LeastMbps => least(),
            Metric::MostMbps => goodputs().fold(0.0, f64::max),
            Metric::LeastOfMean => least() / mean(),
            Metric::Share => self.sum(of, |flow| flow.goodput_mbps) / goodputs().sum::<f64>(),
            Metric::Gain => self.mean(of, |flow| flow.goodput_mbps) / mean() - 1.0,
            Metric::Mbps => self.sum(of, |flow| flow.goodput_mbps),
            Metric::SentPerRtt => self.mean(of, |flow| {
                let rtts = (summary.window_s[1] - summary.window_s[0]) * 1e3 / flow.rtt_ms;
                flow.sent_pkts.unwrap_or_default() as f64 / rtts
            }),
            Metric::Slowdown => self.mean(of, |flow| {
                let all = flow.completions.as_ref().filter(|of| of.began > 0 && of.completed == of.began);
                all.and_then(|of| of.slowdown_mean).unwrap_or(f64::INFINITY)
            }),
            Metric::LateFrames => self.most(of, |media| media.late_or_lost, 0.0),
            Metric::Delay95Ms => self.most(of, |media| media.delay_p95_ms, f64::INFINITY),
        }
    }

    /// The flows of a group.
    fn group(&self, group: &str) -> impl Iterator<Item = &FlowSummary> {
        self.summary.flows.iter().filter(move |flow| is_of(&flow.name, group))
    }

    /// The sum of a number over a group of flows.
    fn sum(&self, group: &str, number: impl Fn(&FlowSummary) -> f64) -> f64 {
        self.group(group).map(number).sum()
    }

    /// The mean of a number over a group of flows.
    fn mean(&self, group: &str, number: impl Fn(&FlowSummary) -> f64) -> f64 {
        self.sum(group, number) / self.sum(group, |_| 1.0)
    }

    /// The largest value of a number of frames in a group of flows; a flow that has no such number counts as
    /// `without`.
    fn most(&self, group: &str, number: fn(&MediaSummary) -> Option<f64>, without: f64) -> f64 {
        let of = |flow: &FlowSummary| flow.media.as_ref().and_then(number).unwrap_or(without);
        self.group(group).map(of).fold(0.0, f64::max)
    }
}

/// Mean rate of a link during the measurement window, bits per second.
fn mean_bps(link: &Link, (from, to): (Duration, Duration)) -> f64 {
    if link.rate_at.is_empty() {
        return link.rate_bps as f64;
    }
    let ends = link.rate_at.iter().map(|(at, _)| *at).chain([to]);
    let rates = [link.rate_bps].into_iter().chain(link.rate_at.iter().map(|(_, rate)| *rate));
    let (mut begin, mut bits) = (Duration::ZERO, 0.0);
    for (end, rate) in ends.zip(rates) {
        let within = end.min(to).saturating_sub(begin.max(from));
        bits += rate as f64 * within.as_secs_f64();
        begin = end;
    }
    bits / (to - from).as_secs_f64()
}

/// Whether a flow belongs to a group: a flow `own` with a `count` is expanded to `own-1`, `own-2`, ...
#[must_use]
pub fn is_of(flow: &str, group: &str) -> bool {
    match flow.strip_prefix(group) {
        Some("") => true,
        Some(rest) => {
            rest.strip_prefix('-').is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        }
        None => false,
    }
}
