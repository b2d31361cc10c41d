//! Time series of flows and links.

use serde::{Deserialize, Serialize};

use crate::json;

/// The time series of a run: every vector of a flow or link has a value per point of `t_s`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// End of each interval, seconds since the start of the run.
    pub t_s: Vec<f64>,
    /// Series of each flow.
    pub flows: Vec<FlowSeries>,
    /// Series of each link.
    pub links: Vec<LinkSeries>,
}

/// The time series of a flow. NaN, written as `null`, stands for a missing value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowSeries {
    /// Goodput over the interval.
    #[serde(deserialize_with = "json::nulls")]
    pub goodput_mbps: Vec<f32>,
    /// Mean path RTT of the data packets that left the bottleneck in the interval.
    #[serde(deserialize_with = "json::nulls")]
    pub rtt_ms: Vec<f32>,
    /// Congestion window at the end of the interval.
    #[serde(deserialize_with = "json::nulls")]
    pub cwnd_pkts: Vec<f32>,
    /// Packets in flight at the end of the interval.
    #[serde(deserialize_with = "json::nulls")]
    pub inflight_pkts: Vec<f32>,
    /// Pacing rate at the end of the interval.
    #[serde(deserialize_with = "json::nulls")]
    pub pacing_mbps: Vec<f32>,
    /// The algorithm's bandwidth estimate.
    #[serde(deserialize_with = "json::nulls")]
    pub bw_mbps: Vec<f32>,
    /// The algorithm's propagation RTT estimate.
    #[serde(deserialize_with = "json::nulls")]
    pub min_rtt_ms: Vec<f32>,
    /// The algorithm's pacing gain; 1 is neutral.
    #[serde(deserialize_with = "json::nulls")]
    pub pacing_gain: Vec<f32>,
    /// The algorithm's phase by its number in `cc/contract` (`fairpace_cc::Phase`); -1: unknown.
    pub phase: Vec<i8>,
    /// Percentiles 0 to 100 of the flow completion times of [`crate::Completions`]; empty if there are none.
    #[serde(default)]
    pub completion_ms: Vec<f32>,
}

/// The time series of a link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSeries {
    /// Mean queueing delay of the packets that left in the interval.
    #[serde(deserialize_with = "json::nulls")]
    pub queue_delay_ms: Vec<f32>,
    /// Mean backlog of each flow over the interval: `backlog_kb[flow][point]`, in 1000 bytes.
    #[serde(deserialize_with = "json::nested_nulls")]
    pub backlog_kb: Vec<Vec<f32>>,
    /// Number of packets dropped in the interval.
    #[serde(rename = "dropped_pkts")]
    pub drops: Vec<u32>,
}
