//! What is measured in a run, from its summary.

use fairpace_results::Summary;
use fairpace_scenario::Scenario;
use fairpace_scenario::quantity::PACKET_BYTES;
use serde::Serialize;

/// Payload of a full packet: 1500 bytes less 40 of IP and TCP headers and 12 of the timestamp option.
const PAYLOAD_BYTES: f64 = 1448.0;

/// A number that a condition may be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Jain's index of the goodputs.
    Jain,
    /// Goodput of all flows over the payload that the first link can carry. With a trace, of which a flow
    /// cannot use all: bytes that left over bytes that could have left.
    Utilization,
    /// Utilization over the part of the link that the template says can be had.
    OfAvailable,
    /// Mean queueing delay of the first link.
    QueueMs,
    /// Packets that the first link dropped, over those that left or were dropped.
    Loss,
    /// The least goodput of a flow.
    LeastMbps,
    /// The greatest goodput of a flow.
    MostMbps,
    /// Goodput of the named flows over that of all.
    Share,
    /// Goodput of the named flows over what they had if all flows had the same, less 1.
    Gain,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Jain,
        Self::Utilization,
        Self::OfAvailable,
        Self::QueueMs,
        Self::Loss,
        Self::LeastMbps,
        Self::MostMbps,
        Self::Share,
        Self::Gain,
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
        }
    }

    /// Whether it is about some of the flows, which the condition names.
    #[must_use]
    pub const fn is_of_flows(self) -> bool {
        matches!(self, Self::Share | Self::Gain)
    }

    /// Whether less is worse; `None` if neither side is.
    #[must_use]
    pub const fn lower_is_worse(self) -> Option<bool> {
        match self {
            Self::Jain | Self::Utilization | Self::OfAvailable | Self::LeastMbps => Some(true),
            Self::QueueMs | Self::Loss | Self::Gain => Some(false),
            Self::Share | Self::MostMbps => None,
        }
    }

    /// Its value for people.
    #[must_use]
    pub fn shown(self, value: f64) -> String {
        match self {
            _ if !value.is_finite() => "-".to_owned(),
            Self::QueueMs | Self::LeastMbps | Self::MostMbps if value.abs() >= 100.0 => format!("{value:.0}"),
            Self::QueueMs | Self::LeastMbps | Self::MostMbps => format!("{value:.2}"),
            Self::Loss => format!("{value:.4}"),
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
    loss: f64,
    /// Name and goodput of each flow.
    flows: Vec<(String, f64)>,
}

impl Measured {
    /// What a run of the scenario measured. What it did not measure, because nothing arrived, is 0.
    #[must_use]
    pub fn of(scenario: &Scenario, summary: &Summary, available: f64) -> Self {
        let link = summary.links.first().cloned().unwrap_or_default();
        let flows: Vec<_> = summary.flows.iter().map(|flow| (flow.name.clone(), flow.goodput_mbps)).collect();
        let utilization = match scenario.links.first() {
            Some(first) if first.trace.is_none() => {
                let payload_mbps = first.rate_bps as f64 / 1e6 * PAYLOAD_BYTES / PACKET_BYTES as f64;
                flows.iter().map(|(_, goodput)| goodput).sum::<f64>() / payload_mbps
            }
            _ => link.utilization,
        };
        Self {
            jain: summary.jain.unwrap_or_default(),
            utilization,
            available,
            queue_ms: link.queue_delay_mean_ms.unwrap_or_default(),
            loss: link.loss_rate.unwrap_or_default(),
            flows,
        }
    }

    /// The value of a metric; `of` names flows, for those that need it.
    #[must_use]
    pub fn value(&self, metric: Metric, of: &str) -> f64 {
        let goodputs = || self.flows.iter().map(|(_, goodput)| *goodput);
        match metric {
            Metric::Jain => self.jain,
            Metric::Utilization => self.utilization,
            Metric::OfAvailable => self.utilization / self.available,
            Metric::QueueMs => self.queue_ms,
            Metric::Loss => self.loss,
            Metric::LeastMbps => goodputs().fold(f64::INFINITY, f64::min),
            Metric::MostMbps => goodputs().fold(0.0, f64::max),
            Metric::Share => self.named(of).1 / goodputs().sum::<f64>(),
            Metric::Gain => {
                let (count, sum) = self.named(of);
                sum / count / (goodputs().sum::<f64>() / self.flows.len() as f64) - 1.0
            }
        }
    }

    /// Number of flows of a group, and their goodputs' sum.
    fn named(&self, group: &str) -> (f64, f64) {
        let flows = self.flows.iter().filter(|(name, _)| is_of(name, group));
        flows.fold((0.0, 0.0), |(count, sum), (_, goodput)| (count + 1.0, sum + goodput))
    }
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
