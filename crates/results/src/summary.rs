//! The stable record of a run. Fields may be added; docs/reference/json.md explains each field.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::SCHEMA;
use crate::{json, round};

/// The stable record of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of the format: [`crate::SCHEMA`].
    pub schema: String,
    /// Where the run was made: `sim`, `kernel`, or `virtual: ` with the versions of emulator and kernel and
    /// the hashes of kernel and image.
    pub on: String,
    /// Commit that built the program, with `+dirty` if the tree was changed; `unknown` outside a checkout.
    pub commit: String,
    /// The scenario's seed.
    pub seed: u64,
    /// Identity of the scenario.
    pub scenario: ScenarioId,
    /// The measurement window: from, to, in seconds of the run.
    pub window_s: [f64; 2],
    /// Metrics of each flow, in the scenario's order.
    pub flows: Vec<FlowSummary>,
    /// Metrics of each link, in the scenario's order.
    pub links: Vec<LinkSummary>,
    /// Jain's fairness index of the goodputs: 1 is equal, 1/n if one flow has all goodput. `null` without
    /// goodput.
    pub jain: Option<f64>,
    /// Convergence time: from the start of the last flow until the shares are fair
    /// ([`crate::convergence_s`]). `null` if they never were, or unless all flows have data to send from
    /// their start to the end of the run.
    pub convergence_s: Option<f64>,
    /// Mean relative distance of the goodputs from the max-min fair rates ([`crate::max_min_distance`]).
    /// `null` unless all flows have data to send throughout the measurement window.
    pub max_min_distance: Option<f64>,
    /// CPU time, wall-clock time and packets of the run.
    pub cost: Cost,
}

/// Identifies a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ScenarioId {
    /// Title of the scenario.
    pub title: String,
    /// SHA-256 of the scenario's canonical form, hex.
    pub hash: String,
}

/// Metrics of a flow over the measurement window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowSummary {
    /// Name of the flow in the scenario.
    pub name: String,
    /// Algorithm of the flow; of a variant with its parameters: `bbr3:beta=0.5`.
    pub cc: String,
    /// Parameters of a variant and their values; left out for other algorithms.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Base round-trip time of the path.
    #[serde(rename = "base_rtt_ms")]
    pub rtt_ms: f64,
    /// Time when the flow started.
    pub start_s: f64,
    /// Flow completion time, from the start to the arrival of the last byte; `null` unless the flow has a
    /// finite size and completes during the run.
    pub completion_s: Option<f64>,
    /// Number of connections that failed during the run: no SYN was answered, or the receiver had given up
    /// the handshake.
    #[serde(default)]
    pub failed: u64,
    /// Completions of the flow's transfers; `null` without transfers: a size, responses, or a workload.
    pub completions: Option<Completions>,
    /// Goodput: in-order bytes that reached the receiving application, as a rate.
    pub goodput_mbps: f64,
    /// Goodput over the sum of all flows' goodputs. `null` without goodput.
    pub share: Option<f64>,
    /// Number of data packets sent, retransmissions included. `null` if they were not counted.
    pub sent_pkts: Option<u64>,
    /// Number of data packets retransmitted.
    pub retransmits: u64,
    /// Number of data packets dropped or lost on the route.
    #[serde(default)]
    pub dropped_pkts: u64,
    /// `dropped_pkts` over `sent_pkts`. `null` if no packet was sent.
    pub loss_rate: Option<f64>,
    /// Number of data packets marked by queues (ECN).
    #[serde(default)]
    pub marked_pkts: u64,
    /// Mean round-trip time of the path as each data packet met it (propagation, queueing, transmission).
    pub rtt_mean_ms: Option<f64>,
    /// Least round-trip time of the path.
    pub rtt_min_ms: Option<f64>,
    /// Median of the round-trip time of the path.
    pub rtt_p50_ms: Option<f64>,
    /// 95th percentile of the round-trip time of the path.
    pub rtt_p95_ms: Option<f64>,
    /// 99th percentile of the round-trip time of the path.
    pub rtt_p99_ms: Option<f64>,
    /// Audio or video at the flow's receiver; left out for other flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSummary>,
    /// Outcome for the packets that the flow's `drop` names; left out for flows without `drop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop: Option<DropSummary>,
    /// Decisions of the flow's algorithm that the host had to change; left out if there were none, as with
    /// every listed algorithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clamped: Option<ClampSummary>,
}

/// Packets that a scenario drops by their number, over the whole run, each in the form in which `drop` names
/// it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropSummary {
    /// Packets that were dropped. `data 40 twice` was dropped in its first retransmission, too.
    pub dropped: Vec<String>,
    /// Packets that were never sent. `data 40 twice` was never retransmitted if `data 40` was dropped, else
    /// never sent.
    pub never_sent: Vec<String>,
}

impl DropSummary {
    /// Most packets that a note lists. The summary has all packets.
    const MOST_NOTED: usize = 10;

    /// The note of a run on packets of flow `flow` that were never sent; `None` if all were sent.
    #[must_use]
    pub fn note(&self, flow: &str) -> Option<String> {
        let shown = self.never_sent.iter().take(Self::MOST_NOTED).map(String::as_str).collect::<Vec<_>>();
        let more = match self.never_sent.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let list = shown.join(", ");
        let what = "`drop` names packets that were never sent";
        (!shown.is_empty()).then(|| format!("flow \"{flow}\": {what}: {list}{more}"))
    }
}

/// Number of times that each part of a decision was outside the bounds that every host applies, over the
/// whole run and all connections of the flow. Each is a defect of the algorithm's header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClampSummary {
    /// Number of times that cwnd was below 1 packet or above 2^24.
    pub cwnd: u64,
    /// Number of times that ssthresh was below 2 packets, no number of the contract, or above the cwnd that
    /// it should reduce.
    pub ssthresh: u64,
    /// Number of pacing rates that would have stopped the connection for more than 1.5 RTTs and 200 ms.
    pub pacing_rate: u64,
    /// Number of times that the smallest burst was neither 1 nor 2 packets.
    pub min_burst: u64,
    /// Number of application-limited periods that reach beyond the packets in flight.
    pub app_limited: u64,
}

/// Audio or video at its receiver: the metrics of RFC 8868, section 3, that need the receiver, and metrics of
/// the application. Sending and receiving rate, packets and loss are in the summary of the flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MediaSummary {
    /// Number of frames that were written in the measurement window, with a deadline before the end of the
    /// run.
    pub frames: u64,
    /// Number of these frames that were complete after their deadline: discarded from the playout buffer.
    pub late: u64,
    /// Number of these frames that were not complete 10 s after they were written, or at the end of the run.
    pub lost: u64,
    /// `late` and `lost` over `frames`. `null` if there were no frames.
    pub late_or_lost: Option<f64>,
    /// The longest freeze: time in which frames should have been shown and none was. A frame should be shown
    /// at its deadline.
    pub longest_freeze_ms: f64,
    /// Median of the frame delay: from the writing of a frame to the arrival of its last packet, of frames
    /// that are not lost.
    pub frame_delay_p50_ms: Option<f64>,
    /// 95th percentile of the frame delay.
    pub frame_delay_p95_ms: Option<f64>,
    /// 99th percentile of the frame delay.
    pub frame_delay_p99_ms: Option<f64>,
    /// Median of the one-way delay of the packets that arrive in the window, from host to host.
    pub delay_p50_ms: Option<f64>,
    /// 95th percentile of the one-way delay.
    pub delay_p95_ms: Option<f64>,
    /// 99th percentile of the one-way delay.
    pub delay_p99_ms: Option<f64>,
    /// 99th percentile of the packet delay variation: the one-way delay less the least one-way delay (RFC
    /// 5481, section 4.2).
    pub delay_variation_p99_ms: Option<f64>,
}

/// Flow completion times of the transfers that began in the measurement window: from the begin to the arrival
/// of the last byte.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Completions {
    /// Number of transfers that began in the measurement window.
    pub began: u64,
    /// Number of these transfers that were complete by the end of the run. The other fields cover the
    /// completed transfers, and are `null` if there are none.
    pub completed: u64,
    /// Mean flow completion time.
    pub mean_ms: Option<f64>,
    /// Median of the flow completion time.
    pub p50_ms: Option<f64>,
    /// 95th percentile of the flow completion time.
    pub p95_ms: Option<f64>,
    /// 99th percentile of the flow completion time.
    pub p99_ms: Option<f64>,
    /// Mean slowdown: flow completion time over the shortest possible (propagation, and transmission on the
    /// slowest link).
    pub slowdown_mean: Option<f64>,
    /// Median of the slowdown.
    pub slowdown_p50: Option<f64>,
    /// 95th percentile of the slowdown.
    pub slowdown_p95: Option<f64>,
    /// 99th percentile of the slowdown.
    pub slowdown_p99: Option<f64>,
}

/// Metrics of a link over the measurement window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// Name of the link in the scenario.
    pub name: String,
    /// Queue discipline of the link, with the implementation that it follows where implementations differ:
    /// `fifo`, `red (Linux)`.
    #[serde(default)]
    pub queue: String,
    /// Rate of the link.
    pub rate_mbps: f64,
    /// Bytes that left over bytes that could have left.
    pub utilization: f64,
    /// Mean queueing delay of the packets that left, without their own transmission.
    pub queue_delay_mean_ms: Option<f64>,
    /// Median of the queueing delay.
    pub queue_delay_p50_ms: Option<f64>,
    /// 95th percentile of the queueing delay.
    pub queue_delay_p95_ms: Option<f64>,
    /// 99th percentile of the queueing delay.
    pub queue_delay_p99_ms: Option<f64>,
    /// Largest queueing delay.
    pub queue_delay_max_ms: Option<f64>,
    /// Number of packets dropped.
    #[serde(rename = "dropped_pkts")]
    pub drops: u64,
    /// Number of packets that the AQM dropped although the buffer had room.
    #[serde(default, rename = "early_dropped_pkts")]
    pub early_drops: u64,
    /// Packets dropped over packets that departed or were dropped. `null` if no packet departed or was
    /// dropped.
    pub loss_rate: Option<f64>,
    /// Number of packets lost at random behind the queue (loss, not drops).
    #[serde(default)]
    pub lost: u64,
    /// Number of packets marked (ECN).
    #[serde(default, rename = "marked_pkts")]
    pub marks: u64,
    /// Number of packets duplicated behind the queue.
    #[serde(default)]
    pub duplicates: u64,
    /// Each flow's part of the time integral of the backlog, in the scenario's order; zeros if there was no
    /// backlog.
    pub backlog_share: Vec<f64>,
    /// Lengths of the link's bursts of loss; left out unless bursts are of a number of packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_bursts: Option<LossBursts>,
}

/// Bursts of loss of a number of packets, over the whole run. A burst is a period in which the line was bad,
/// from the first packet that met a bad line to the last such packet, or to the end of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LossBursts {
    /// Length of the longest burst.
    pub longest_s: f64,
    /// Number of bursts longer than 10 RTTs and 1 s: senders had backed off, and sent few packets into them.
    pub long: u64,
}

impl LossBursts {
    /// Words for the length from which a burst is long.
    pub(crate) const LONG: &str = "longer than 10 RTTs and 1 s";

    /// The note of a run on bursts of link `link` that decide the outcome; `None` if there are none.
    #[must_use]
    pub fn note(&self, link: &str) -> Option<String> {
        let what = match self.long {
            0 => return None,
            1 => "a burst of loss".to_owned(),
            long => format!("{long} bursts of loss"),
        };
        let longest_s = round(self.longest_s);
        Some(format!(
            "link \"{link}\": {what} lasted {}, the longest {longest_s} s: it is of a number of packets, and \
             few were sent in it, so it decides the result",
            Self::LONG
        ))
    }
}

/// The cost of a run. Times are the only part of a summary that differs between two runs of one simulation.
/// They are in the JSON output but not in `summary.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Wall-clock seconds; NaN if not recorded, which leaves the field out of the JSON.
    #[serde(default = "json::unknown", skip_serializing_if = "json::is_unknown")]
    pub wall_s: f64,
    /// CPU seconds of the threads of this run; NaN if not recorded, which leaves the field out of the JSON.
    #[serde(default = "json::unknown", skip_serializing_if = "json::is_unknown")]
    pub cpu_s: f64,
    /// Number of data packets delivered to receivers over the whole run.
    pub data_packets: u64,
}

impl Default for Summary {
    /// Returns the summary of a run without flows and links, of this program's schema.
    fn default() -> Self {
        Self {
            schema: SCHEMA.into(),
            on: String::new(),
            commit: String::new(),
            seed: 0,
            scenario: ScenarioId::default(),
            window_s: [0.0, 0.0],
            flows: Vec::new(),
            links: Vec::new(),
            jain: None,
            convergence_s: None,
            max_min_distance: None,
            cost: Cost::default(),
        }
    }
}

impl Default for Cost {
    /// Returns a cost without recorded times.
    fn default() -> Self {
        Self { wall_s: f64::NAN, cpu_s: f64::NAN, data_packets: 0 }
    }
}

impl Summary {
    /// Returns the content of `summary.json`: everything that scenario, seed and program determine, so the
    /// same simulation gives the same bytes. The times in [`Cost`] are left out.
    #[must_use]
    pub fn stable_json(&self) -> String {
        let cost = Cost { wall_s: f64::NAN, cpu_s: f64::NAN, ..self.cost };
        // A summary has string keys only, so this cannot fail.
        json::to_json(&Summary { cost, ..self.clone() }).unwrap_or_default()
    }
}

/// A summary for tests: the BBQ paper's first experiment, roughly.
#[cfg(test)]
pub(crate) fn sample_summary() -> Summary {
    let flow = |name: &str, rtt_ms: f64, start_s: f64, goodput_mbps: f64| FlowSummary {
        name: name.into(),
        cc: "bbr1".into(),
        rtt_ms,
        start_s,
        goodput_mbps,
        sent_pkts: Some(120_000),
        loss_rate: Some(0.0),
        rtt_mean_ms: Some(rtt_ms + 37.5),
        rtt_p50_ms: Some(rtt_ms + 36.0),
        rtt_p99_ms: Some(rtt_ms + 61.0),
        ..FlowSummary::default()
    };
    let link = LinkSummary {
        name: "bottleneck".into(),
        rate_mbps: 100.0,
        utilization: 1.0,
        queue: "fifo".into(),
        queue_delay_mean_ms: Some(37.5),
        loss_rate: Some(0.0),
        backlog_share: vec![0.0625, 0.9375],
        ..LinkSummary::default()
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
        convergence_s: None,
        max_min_distance: None,
        cost: Cost { wall_s: 1.5, cpu_s: 1.25, data_packets: 480_000 },
    };
    summary.derive_fairness();
    summary.jain = summary.jain.map(round);
    summary
}
