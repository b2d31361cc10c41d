//! Metrics of a run, computed from its summary.

use std::collections::BTreeMap;
use std::time::Duration;

use fairpace_results::{FlowSummary, Summary};
use fairpace_scenario::{Flow, Link, Scenario};
use serde::{Deserialize, Serialize};

use crate::metric::{Numbers, mean};

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
    /// Goodput of the named flows over their fair share, which is the goodput that they had if all flows had
    /// equal goodputs.
    OfFairShare,
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

impl Metric {
    /// The metrics that are computed in every case.
    pub const ALWAYS: [Self; 6] =
        [Self::Jain, Self::Utilization, Self::QueueMs, Self::Loss, Self::LeastMbps, Self::MostMbps];

    /// Properties of a metric: its name in files and records; the path of its number, or of what it is
    /// computed from, among the [`Numbers`] of a run, in which `{of}` stands for flows; whether a lower value
    /// is worse (`None`: neither side is); and its number of decimals. A metric with two decimals may be far
    /// above 1.
    const fn row(self) -> (&'static str, &'static str, Option<bool>, usize) {
        match self {
            Self::Jain => ("jain", "jain", Some(true), 3),
            Self::Utilization => ("utilization", "", Some(true), 3),
            Self::OfAvailable => ("of_available", "", Some(true), 3),
            Self::QueueMs => ("queue_ms", "link.1.queue_delay_mean_ms", Some(false), 2),
            Self::Queue95Ms => ("queue_95_ms", "link.1.queue_delay_p95_ms", Some(false), 2),
            Self::Loss => ("loss", "link.1.loss_rate", Some(false), 4),
            Self::LeastMbps => ("least_mbps", "least_mbps", Some(true), 2),
            Self::MostMbps => ("most_mbps", "most_mbps", None, 2),
            Self::LeastOfMean => ("least_of_mean", "least_of_mean", Some(true), 3),
            Self::Share => ("share", "flow.{of}.goodput_mbps", None, 3),
            Self::Gain => ("gain", "flow.{of}.goodput_mbps", Some(false), 3),
            Self::OfFairShare => ("of_fair_share", "flow.{of}.goodput_mbps", Some(true), 3),
            Self::Mbps => ("mbps", "flow.{of}.goodput_mbps", None, 2),
            Self::SentPerRtt => ("sent_per_rtt", "flow.{of}.sent_per_rtt", None, 2),
            Self::Slowdown => ("slowdown", "flow.{of}.slowdown", Some(false), 2),
            Self::LateFrames => ("late_frames", "flow.{of}.media.late_or_lost", Some(false), 4),
            Self::Delay95Ms => ("delay_95_ms", "flow.{of}.media.delay_p95_ms", Some(false), 2),
        }
    }

    /// Name of the metric in files and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Whether the metric is of flows that a condition names, and not of the whole run.
    pub(crate) fn is_of_flows(self) -> bool {
        self.row().1.contains("{of}")
    }

    /// Whether the metric is of flows that send audio or video.
    pub(crate) fn is_of_media(self) -> bool {
        self.row().1.contains(".media.")
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
    numbers: Numbers,
    /// Values of an earlier run of the same scenario, in place of the other fields.
    kept: Option<BTreeMap<(Metric, String), f64>>,
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
        Self { utilization, available, numbers: Numbers::of(summary), kept: None }
    }

    /// The metrics of a run of which only these values, each with its flows, are known.
    pub(crate) fn kept(values: BTreeMap<(Metric, String), f64>) -> Self {
        Self { utilization: f64::NAN, available: f64::NAN, numbers: Numbers::default(), kept: Some(values) }
    }

    /// The value of a metric; `of` names the flows, for metrics that need flows.
    #[must_use]
    pub fn value(&self, metric: Metric, of: &str) -> f64 {
        if let Some(kept) = &self.kept {
            return kept.get(&(metric, of.to_owned())).copied().unwrap_or(f64::NAN);
        }
        let goodputs = |of: &str| self.numbers.values(&format!("flow.{of}.goodput_mbps"));
        match metric {
            Metric::Utilization => self.utilization,
            Metric::OfAvailable => self.utilization / self.available,
            Metric::Share => goodputs(of).iter().sum::<f64>() / goodputs("*").iter().sum::<f64>(),
            Metric::OfFairShare => mean(&goodputs(of)) / mean(&goodputs("*")),
            Metric::Gain => mean(&goodputs(of)) / mean(&goodputs("*")) - 1.0,
            _ => {
                let without = match metric {
                    Metric::Slowdown | Metric::Delay95Ms => f64::INFINITY,
                    Metric::LeastOfMean => f64::NAN,
                    _ => 0.0,
                };
                self.numbers.get(&metric.row().1.replace("{of}", of)).unwrap_or(without)
            }
        }
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
