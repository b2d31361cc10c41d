//! Time series of flows and links.

use serde::{Deserialize, Serialize};

use crate::json;

/// Time series: every vector of a flow or link has one value per point of `t_s`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// End of each interval, seconds since the start of the run.
    pub t_s: Vec<f64>,
    /// One per flow.
    pub flows: Vec<FlowSeries>,
    /// One per link.
    pub links: Vec<LinkSeries>,
}

/// A flow over time. NaN, written as `null`, where there is no value.
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
    /// Flow completion times of [`crate::Completions`] by percentile, 0 to 100; empty if there are none.
    #[serde(default)]
    pub completion_ms: Vec<f32>,
}

/// A link over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSeries {
    /// Mean waiting time of the packets that left in the interval.
    #[serde(deserialize_with = "json::nulls")]
    pub queue_delay_ms: Vec<f32>,
    /// Mean backlog over the interval, per flow: `backlog_kb[flow][point]`, in 1000 bytes.
    #[serde(deserialize_with = "json::nested_nulls")]
    pub backlog_kb: Vec<Vec<f32>>,
    /// Packets dropped in the interval.
    pub drops: Vec<u32>,
}
