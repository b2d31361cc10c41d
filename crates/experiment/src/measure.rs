//! What is measured in a run, from its summary.

use std::time::Duration;

use fairpace_results::{FlowSummary, Summary};
use fairpace_scenario::{Link, Scenario};
use serde::Serialize;

/// A number that a condition may be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Jain's index of the goodputs.
    Jain,
    /// Goodput and headers of all flows over what the first link can carry, at its mean rate. With a trace,
    /// of which a flow cannot use all, and with handovers: bytes that left over bytes that could have left.
    Utilization,
    /// Utilization over the part of the link that the template says can be had.
    OfAvailable,
    /// Mean queueing delay of the first link.
    QueueMs,
    /// 95th percentile of the queueing delay of the first link.
    #[serde(rename = "queue_95_ms")]
    Queue95Ms,
    /// Packets that the first link dropped, over those that left or were dropped.
    Loss,
    /// The least goodput of a flow.
    LeastMbps,
    /// The greatest goodput of a flow.
    MostMbps,
    /// The least goodput of a flow over the mean of all: 1 if all are equal, 0 if one starves.
    LeastOfMean,
    /// Goodput of the named flows over that of all.
    Share,
    /// Goodput of the named flows over what they had if all flows had the same, less 1.
    Gain,
    /// Goodput of the named flows.
    Mbps,
    /// Packets that the named flows send in a round trip of their base RTT, mean of the flows.
    SentPerRtt,
    /// Flow completion time of the named flows' transfers over the shortest possible one, mean. Infinite if
    /// one of them did not complete.
    Slowdown,
    /// Share of the frames of audio or video that are late or lost: of the named flows the largest.
    LateFrames,
    /// 95th percentile of the one-way delay of the packets of audio or video: of the named flows the largest.
    /// Infinite if none arrived.
    #[serde(rename = "delay_95_ms")]
    Delay95Ms,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Jain,
        Self::Utilization,
        Self::OfAvailable,
        Self::QueueMs,
        Self::Loss,
        Self::LeastMbps,
        Self::MostMbps,
        Self::Share,
        Self::Gain,
        Self::Queue95Ms,
        Self::LeastOfMean,
        Self::Mbps,
        Self::SentPerRtt,
        Self::Slowdown,
        Self::LateFrames,
        Self::Delay95Ms,
    ];
    /// Those that are measured in every case.
    pub const ALWAYS: [Self; 6] =
        [Self::Jain, Self::Utilization, Self::QueueMs, Self::Loss, Self::LeastMbps, Self::MostMbps];

    /// Its name in files and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jain => "jain",
            Self::Utilization => "utilization",
            Self::OfAvailable => "of_available",
            Self::QueueMs => "queue_ms",
            Self::Loss => "loss",
            Self::LeastMbps => "least_mbps",
            Self::MostMbps => "most_mbps",
            Self::Share => "share",
            Self::Gain => "gain",
            Self::Queue95Ms => "queue_95_ms",
            Self::LeastOfMean => "least_of_mean",
            Self::Mbps => "mbps",
            Self::SentPerRtt => "sent_per_rtt",
            Self::Slowdown => "slowdown",
            Self::LateFrames => "late_frames",
            Self::Delay95Ms => "delay_95_ms",
        }
    }

    /// Whether it is about some of the flows, which the condition names.
    #[must_use]
    pub const fn is_of_flows(self) -> bool {
        matches!(self, Self::Share | Self::Gain | Self::Mbps | Self::SentPerRtt | Self::Slowdown)
            || self.is_of_media()
    }

    /// Whether the flows must have audio or video.
    pub(crate) const fn is_of_media(self) -> bool {
        matches!(self, Self::LateFrames | Self::Delay95Ms)
    }

    /// Whether less is worse; `None` if neither side is.
    #[must_use]
    pub const fn lower_is_worse(self) -> Option<bool> {
        match self {
            Self::Jain | Self::Utilization | Self::OfAvailable | Self::LeastMbps | Self::LeastOfMean => {
                Some(true)
            }
            Self::QueueMs | Self::Queue95Ms | Self::Loss | Self::Gain | Self::Slowdown => Some(false),
            Self::LateFrames | Self::Delay95Ms => Some(false),
            Self::Share | Self::MostMbps | Self::Mbps | Self::SentPerRtt => None,
        }
    }

    /// Whether it may be far above 1, and two decimals are enough.
    const fn is_of_size(self) -> bool {
        let is_of_links = matches!(self, Self::QueueMs | Self::Queue95Ms | Self::LeastMbps | Self::MostMbps);
        is_of_links || matches!(self, Self::Mbps | Self::SentPerRtt | Self::Slowdown | Self::Delay95Ms)
    }

    /// Its value for people.
    #[must_use]
    pub fn shown(self, value: f64) -> String {
        match self {
            _ if !value.is_finite() => "-".to_owned(),
            _ if self.is_of_size() && value.abs() >= 100.0 => format!("{value:.0}"),
            _ if self.is_of_size() => format!("{value:.2}"),
            Self::Loss | Self::LateFrames => format!("{value:.4}"),
            _ => format!("{value:.3}"),
        }
    }
}

/// The numbers of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    jain: f64,
    utilization: f64,
    available: f64,
    queue_ms: f64,
    queue_95_ms: f64,
    loss: f64,
    flows: Vec<FlowMeasured>,
}

/// The numbers of one flow.
#[derive(Debug, Clone, PartialEq)]
struct FlowMeasured {
    name: String,
    goodput_mbps: f64,
    /// See [`Metric::SentPerRtt`]; 0 if packets were not counted.
    sent_per_rtt: f64,
    /// See [`Metric::Slowdown`]; infinite also for a flow without transfers.
    slowdown: f64,
    /// See [`Metric::LateFrames`]; 0 also for a flow without frames.
    late_frames: f64,
    /// See [`Metric::Delay95Ms`]; infinite also for a flow without frames.
    delay_95_ms: f64,
}

impl FlowMeasured {
    fn of(flow: &FlowSummary, window_s: [f64; 2]) -> Self {
        let rtts = (window_s[1] - window_s[0]) * 1e3 / flow.rtt_ms;
        let completions = flow.completions.as_ref().filter(|of| of.began > 0 && of.completed == of.began);
        let media = flow.media.as_ref();
        Self {
            name: flow.name.clone(),
            goodput_mbps: flow.goodput_mbps,
            sent_per_rtt: flow.sent_pkts.unwrap_or_default() as f64 / rtts,
            slowdown: completions.and_then(|of| of.slowdown_mean).unwrap_or(f64::INFINITY),
            late_frames: media.and_then(|of| of.late_or_lost).unwrap_or_default(),
            delay_95_ms: media.and_then(|of| of.delay_p95_ms).unwrap_or(f64::INFINITY),
        }
    }
}

impl Measured {
    /// What a run of the scenario measured. What it did not measure, because nothing arrived, is 0.
    #[must_use]
    pub fn of(scenario: &Scenario, summary: &Summary, available: f64) -> Self {
        let link = summary.links.first().cloned().unwrap_or_default();
        let flows: Vec<_> =
            summary.flows.iter().map(|flow| FlowMeasured::of(flow, summary.window_s)).collect();
        let utilization = match scenario.links.first() {
            Some(first) if first.trace.is_none() && first.handover.is_none() => {
                let rate_mbps = mean_bps(first, scenario.window) / 1e6;
                let ratios = scenario.flows.iter().map(|flow| flow.sending.payload_ratio());
                flows.iter().zip(ratios).map(|(flow, ratio)| flow.goodput_mbps / ratio).sum::<f64>()
                    / rate_mbps
            }
            _ => link.utilization,
        };
        Self {
            jain: summary.jain.unwrap_or_default(),
            utilization,
            available,
            queue_ms: link.queue_delay_mean_ms.unwrap_or_default(),
            queue_95_ms: link.queue_delay_p95_ms.unwrap_or_default(),
            loss: link.loss_rate.unwrap_or_default(),
            flows,
        }
    }

    /// The value of a metric; `of` names flows, for those that need it.
    #[must_use]
    pub fn value(&self, metric: Metric, of: &str) -> f64 {
        let goodputs = || self.flows.iter().map(|flow| flow.goodput_mbps);
        let least = || goodputs().fold(f64::INFINITY, f64::min);
        let mean = || goodputs().sum::<f64>() / self.flows.len() as f64;
        match metric {
            Metric::Jain => self.jain,
            Metric::Utilization => self.utilization,
            Metric::OfAvailable => self.utilization / self.available,
            Metric::QueueMs => self.queue_ms,
            Metric::Queue95Ms => self.queue_95_ms,
            Metric::Loss => self.loss,
            Metric::LeastMbps => least(),
            Metric::MostMbps => goodputs().fold(0.0, f64::max),
            Metric::LeastOfMean => least() / mean(),
            Metric::Share => self.sum(of, |flow| flow.goodput_mbps) / goodputs().sum::<f64>(),
            Metric::Gain => self.mean(of, |flow| flow.goodput_mbps) / mean() - 1.0,
            Metric::Mbps => self.sum(of, |flow| flow.goodput_mbps),
            Metric::SentPerRtt => self.mean(of, |flow| flow.sent_per_rtt),
            Metric::Slowdown => self.mean(of, |flow| flow.slowdown),
            Metric::LateFrames => self.most(of, |flow| flow.late_frames),
            Metric::Delay95Ms => self.most(of, |flow| flow.delay_95_ms),
        }
    }

    /// A number of a group of flows, summed.
    fn sum(&self, group: &str, number: impl Fn(&FlowMeasured) -> f64) -> f64 {
        self.flows.iter().filter(|flow| is_of(&flow.name, group)).map(number).sum()
    }

    /// The largest number of a group of flows.
    fn most(&self, group: &str, number: impl Fn(&FlowMeasured) -> f64) -> f64 {
        self.flows.iter().filter(|flow| is_of(&flow.name, group)).map(number).fold(0.0, f64::max)
    }

    /// The mean of a number over a group of flows.
    fn mean(&self, group: &str, number: impl Fn(&FlowMeasured) -> f64) -> f64 {
        self.sum(group, number) / self.sum(group, |_| 1.0)
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

/// Whether a flow belongs to a group: a flow `own` with a `count` becomes `own-1`, `own-2`, ...
pub(crate) fn is_of(flow: &str, group: &str) -> bool {
    match flow.strip_prefix(group) {
        Some("") => true,
        Some(rest) => {
            rest.strip_prefix('-').is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        }
        None => false,
    }
}
