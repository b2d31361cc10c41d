//! What a run leaves behind, the same for the simulator and for the testbed.
//!
//! [`Summary`] is the stable, versioned record that `--json` prints and `summary.json` holds. [`Series`] is
//! what the report draws. Metrics that need a definition (share, Jain's index) are computed here, once.
//! Files: [`Summary::stable_json`] is `summary.json`, [`Run::series_csv`] is `series.csv`.
//! [`tap`] is how somebody looks on while a simulation runs.
//! This crate draws nothing, measures nothing and touches no disk.

#![allow(non_snake_case)] // bytes per second are _Bps, as in the contract

mod json;
mod metrics;
mod table;
pub mod tap;

pub use json::{DIGITS, round, to_json};
pub use metrics::{jain, shares};

use serde::{Deserialize, Serialize};

/// Version of the [`Summary`] format; grows when a field changes its meaning or goes away.
pub const SCHEMA: &str = "fairpace.summary/1";

/// One run: the summary and the time series behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The stable record.
    pub summary: Summary,
    /// The time series, for the report.
    pub series: Series,
    /// What a reader must know to judge the run: lateness, repeats, anything that was not as asked.
    pub notes: Vec<String>,
}

/// The stable record of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: String,
    /// `sim` or `kernel`.
    pub on: String,
    /// Commit that built the program, with `+dirty` if the tree was changed; `unknown` outside a checkout.
    pub commit: String,
    /// The scenario's seed.
    pub seed: u64,
    /// Which scenario.
    pub scenario: ScenarioId,
    /// Metrics cover this time of the run: from, to, in seconds.
    pub window_s: [f64; 2],
    /// One per flow, in the scenario's order.
    pub flows: Vec<FlowSummary>,
    /// One per link, in the scenario's order.
    pub links: Vec<LinkSummary>,
    /// Jain's fairness index of the goodputs: 1 is equal, 1/n is one flow alone. `null` without goodput.
    pub jain: Option<f64>,
    /// What the run cost.
    pub cost: Cost,
}

/// Which scenario a run was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioId {
    /// Its title.
    pub title: String,
    /// SHA-256 of its canonical form, hex.
    pub hash: String,
}

/// A flow over the measurement window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowSummary {
    /// Name from the scenario.
    pub name: String,
    /// Algorithm.
    pub cc: String,
    /// Base round-trip time of the path.
    pub rtt_ms: f64,
    /// When the flow started.
    pub start_s: f64,
    /// From the start to the arrival of the last byte, for a flow of finite size that got so far; in the whole run.
    #[serde(default)]
    pub completion_s: Option<f64>,
    /// In-order bytes that reached the receiving application, as a rate.
    pub goodput_mbps: f64,
    /// Goodput over the sum of all flows' goodputs. `null` without goodput.
    pub share: Option<f64>,
    /// Segments sent again in the window.
    pub retransmits: u64,
    /// Round-trip time of the path as each data packet met it (propagation, queueing, transmission): mean.
    pub rtt_mean_ms: Option<f64>,
    /// The same, median.
    pub rtt_p50_ms: Option<f64>,
    /// The same, 99th percentile.
    pub rtt_p99_ms: Option<f64>,
}

/// A link over the measurement window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// Name from the scenario.
    pub name: String,
    /// Its rate.
    pub rate_mbps: f64,
    /// Bytes that left over bytes that could have left.
    pub utilization: f64,
    /// Waiting time of the packets that left, without their own transmission: mean.
    pub queue_delay_mean_ms: Option<f64>,
    /// The same, 99th percentile.
    pub queue_delay_p99_ms: Option<f64>,
    /// Packets dropped.
    pub drops: u64,
    /// Packets dropped over packets dropped or gone through. `null` if there were none.
    pub loss_rate: Option<f64>,
    /// Packets lost at random behind the queue.
    #[serde(default)]
    pub lost: u64,
    /// Each flow's part of the time integral of the backlog, in the scenario's order; zeros if there was none.
    pub backlog_share: Vec<f64>,
}

/// What a run cost. Time is the only part of a summary that differs between two runs of one simulation; it is
/// left out of `summary.json` and kept in `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Wall-clock seconds; NaN if not recorded, which leaves the field out of the JSON.
    #[serde(default = "json::unknown", skip_serializing_if = "json::is_unknown")]
    pub wall_s: f64,
    /// CPU seconds of this process; NaN likewise.
    #[serde(default = "json::unknown", skip_serializing_if = "json::is_unknown")]
    pub cpu_s: f64,
    /// Data packets delivered to receivers over the whole run.
    pub data_packets: u64,
}

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

/// A flow over time. NaN (written as `null`) where there is nothing to say.
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

/// How a long run tells its caller how far it is and learns that it must stop.
pub trait Monitor {
    /// Called a few times per second of wall-clock time at least.
    fn progress(&mut self, done_s: f64, total_s: f64);
    /// True once the run should end early and clean up (Ctrl-C).
    fn stop(&self) -> bool;
}

/// A monitor that shows nothing and never stops.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Monitor for Silent {
    fn progress(&mut self, _done_s: f64, _total_s: f64) {}
    fn stop(&self) -> bool {
        false
    }
}

/// A summary for tests: the BBQ paper's first experiment, roughly.
#[cfg(test)]
fn sample_summary() -> Summary {
    let flow = |name: &str, rtt_ms: f64, start_s: f64, goodput_mbps: f64| FlowSummary {
        name: name.into(),
        cc: "bbr1".into(),
        rtt_ms,
        start_s,
        completion_s: None,
        goodput_mbps,
        share: None,
        retransmits: 0,
        rtt_mean_ms: Some(rtt_ms + 37.5),
        rtt_p50_ms: Some(rtt_ms + 36.0),
        rtt_p99_ms: Some(rtt_ms + 61.0),
    };
    let link = LinkSummary {
        name: "bottleneck".into(),
        rate_mbps: 100.0,
        utilization: 1.0,
        queue_delay_mean_ms: Some(37.5),
        queue_delay_p99_ms: None,
        drops: 0,
        loss_rate: Some(0.0),
        lost: 0,
        backlog_share: vec![0.0625, 0.9375],
    };
    let mut summary = Summary {
        schema: SCHEMA.into(),
        on: "sim".into(),
        commit: "0123abc".into(),
        seed: u64::MAX,
        scenario: ScenarioId { title: "Two RTTs".into(), hash: "00ff".into() },
        window_s: [20.0, 60.0],
        flows: vec![flow("10ms", 10.0, 0.0, 6.0), flow("50ms", 50.0, 5.0, 90.0)],
        links: vec![link],
        jain: None,
        cost: Cost { wall_s: 1.5, cpu_s: 1.25, data_packets: 480_000 },
    };
    summary.derive_fairness();
    summary.jain = summary.jain.map(round);
    summary
}
