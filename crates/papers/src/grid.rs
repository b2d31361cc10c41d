//! The grid of "BBRv3 Startup Behavior" (Mahmud et al., 2025), table I: 12 pairs x 3 queues x 3 buffers x 3
//! rates x 3 RTTs = 972 runs of 150 s; and the table that holds a row for each run that was made.
//!
//! What the paper says: two senders share a bottleneck; ten flows per sender and Gbit/s; 150 s; "flows were
//! initiated near-simultaneously", with "minor, hardware-induced delays"; utilization is the sum of
//! goodputs over the rate; Jain's index is over all flows. What it does not say, and what is done here:
//! * starts: each flow starts at a time of its own, uniform in 0 to 100 ms, drawn from the seed. All cells
//!   of one seed share these numbers, so that two pairs differ by their algorithms and not by their luck;
//! * what the metrics cover: the whole run, as what iperf3 prints at its end does;
//! * RED and FQ-CoDel: a limit of several BDP, and the values that tc uses where only a limit is given
//!   (RED: max = limit / 4, min = max / 3, 2 %; FQ-CoDel: 5 ms, 100 ms, 1024 queues), without ECN;
//! * the BDP of mixed RTTs: by the longer one; the first sender of a pair has the shorter one;
//! * packets: 1500 bytes; paths without other losses; receive windows that never bind.
//!
//! A variant sets something else of this, such as packets of 9000 bytes, and has a table of its own.

#[cfg(feature = "parquet")]
mod parquet;
mod run_table;

use std::time::Duration;

use fairpace_results::{FlowSummary, Summary};
use fairpace_scenario::Random;
use fairpace_scenario::{Invalid, Scenario, Set, Target, parse};
use serde::{Deserialize, Serialize};

#[cfg(feature = "parquet")]
pub use parquet::{may_write as may_write_parquet, write as write_parquet};
pub use run_table::{Error, RunTable};

/// Algorithms that meet themselves and CUBIC, in the order of the paper's table.
pub const ALGORITHMS: [&str; 6] = ["bbr1", "bbr2", "bbr3", "bbr3e1", "bbr3e2", "bbr3e3"];
/// Disciplines of the bottleneck's queue.
pub const QUEUES: [&str; 3] = ["fifo", "fq_codel", "red"];
/// Limits of this queue.
pub const BUFFERS: [&str; 3] = ["1bdp", "2bdp", "4bdp"];
/// Rates of the bottleneck.
pub const RATES: [&str; 3] = ["1gbit", "10gbit", "25gbit"];
/// RTTs, of both senders or of the first and the second.
pub const RTTS: [&str; 3] = ["145ms", "35ms", "35ms/56ms"];
/// Length of a run in the paper.
pub const DURATION: Duration = Duration::from_secs(150);
/// Flows start in this time, at random.
const START_SPREAD: Duration = Duration::from_millis(100);
/// Flows of each sender per Gbit/s.
const FLOWS_PER_GBPS: u64 = 10;

/// One run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Algorithms of the two senders.
    pub pair: (&'static str, &'static str),
    /// One of [`QUEUES`].
    pub queue: &'static str,
    /// One of [`BUFFERS`].
    pub buffer: &'static str,
    /// One of [`RATES`].
    pub rate: &'static str,
    /// One of [`RTTS`].
    pub rtt: &'static str,
    /// Length.
    pub duration: Duration,
    /// Source of the starts, and of all else that is random.
    pub seed: u64,
}

/// A line of the table: the first seven columns say which run it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// "bbr3/cubic": the two senders' algorithms.
    pub pair: String,
    /// Of the bottleneck.
    pub queue: String,
    /// Its limit.
    pub buffer: String,
    /// Of the bottleneck, on the wire.
    pub rate: String,
    /// Of both senders, or of the first and the second.
    pub rtt: String,
    /// Length of the run and of what the metrics cover.
    pub duration_s: f64,
    /// Source of all randomness.
    pub seed: u64,
    /// Of all flows' goodputs.
    pub jain: Option<f64>,
    /// The paper's: sum of goodputs over the rate. Headers take 4.4 %, so that 0.956 is a full link.
    pub utilization: f64,
    /// Of the wire: bytes that left over bytes that could have left.
    pub link_utilization: f64,
    /// Packets dropped over packets dropped or gone through.
    pub loss_rate: Option<f64>,
    /// Waiting time: mean.
    pub queue_delay_mean_ms: Option<f64>,
    /// The same, 99th percentile.
    pub queue_delay_p99_ms: Option<f64>,
    /// Sum over the flows of the first sender.
    pub goodput1_mbps: f64,
    /// Of the second.
    pub goodput2_mbps: f64,
    /// Packets sent again, by all.
    pub retransmits: u64,
    /// Of both senders together.
    pub flows: usize,
    /// Commit of the program.
    pub commit: String,
    /// SHA-256 of the scenario, the first 16 digits.
    pub scenario: String,
    /// Seconds of CPU time.
    pub cpu_s: f64,
    /// Data packets delivered.
    pub packets: u64,
}

impl Row {
    /// Whether there is such a column.
    pub(crate) fn has(&self, column: &str) -> bool {
        serde_json::to_value(self).is_ok_and(|row| row.get(column).is_some())
    }

    /// The number in a column; `None`: it is empty, has no number, or is no column.
    #[must_use]
    pub fn number(&self, column: &str) -> Option<f64> {
        serde_json::to_value(self).ok()?.get(column)?.as_f64()
    }
}

/// A line of the table of flows. With its run's `scenario` and `seed` it belongs to a [`Row`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowRow {
    /// As in the run's row.
    pub scenario: String,
    /// As in the run's row.
    pub seed: u64,
    /// "sender1-3".
    pub flow: String,
    /// Its algorithm.
    pub cc: String,
    /// Base RTT.
    pub rtt_ms: f64,
    /// When it started.
    pub start_s: f64,
    /// Over the run.
    pub goodput_mbps: f64,
    /// Packets sent.
    pub sent_pkts: Option<u64>,
    /// Of these, sent again.
    pub retransmits: u64,
    /// Mean RTT that its packets met.
    pub rtt_mean_ms: Option<f64>,
}

/// What the cells fill in. A point of the series per second: the grid keeps none of them.
const TEMPLATE: &str = r#"title = "grid"
interval = "1s"
[window]
from = "0s"
[[link]]
name = "bottleneck"
[[flow]]
name = "sender1"
[[flow]]
name = "sender2"
"#;

/// All cells, those that cost least first; in the order of the paper's table within a rate.
#[must_use]
pub fn cells(duration: Duration, seed: u64) -> Vec<Cell> {
    let mut cells = Vec::new();
    for rate in RATES {
        for queue in QUEUES {
            for rtt in RTTS {
                for buffer in BUFFERS {
                    for cc in ALGORITHMS {
                        for rival in [cc, "cubic"] {
                            cells.push(Cell { pair: (cc, rival), queue, buffer, rate, rtt, duration, seed });
                        }
                    }
                }
            }
        }
    }
    cells
}

impl Cell {
    /// "bbr3/cubic".
    #[must_use]
    pub fn pair_name(&self) -> String {
        format!("{}/{}", self.pair.0, self.pair.1)
    }

    /// What is in a column that says which run it is; `None` for any other column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<String> {
        match name {
            "pair" => Some(self.pair_name()),
            "queue" => Some(self.queue.to_owned()),
            "buffer" => Some(self.buffer.to_owned()),
            "rate" => Some(self.rate.to_owned()),
            "rtt" => Some(self.rtt.to_owned()),
            _ => None,
        }
    }

    /// Gbit/s of the bottleneck.
    #[must_use]
    pub fn rate_gbps(&self) -> u64 {
        self.rate.trim_end_matches("gbit").parse().unwrap_or(1)
    }

    /// Whether a row is this run's.
    #[must_use]
    pub fn is(&self, row: &Row) -> bool {
        (self.pair_name(), self.queue, self.buffer, self.rate, self.rtt)
            == (row.pair.clone(), &*row.queue, &*row.buffer, &*row.rate, &*row.rtt)
            && self.seed == row.seed
            && self.duration.as_secs_f64() == row.duration_s
    }

    /// The one run whose row has these values in these columns; `None`: they leave open which, or no row has.
    #[must_use]
    pub fn with(columns: &[(String, String)], seed: u64) -> Option<Self> {
        let (lengths, others): (Vec<_>, Vec<_>) =
            columns.iter().partition(|(column, _)| column == "duration_s");
        let [(_, length_s)] = lengths[..] else { return None };
        let duration = Duration::try_from_secs_f64(length_s.parse().ok()?).ok()?;
        let has =
            |cell: &Self| others.iter().all(|(column, value)| cell.column(column).as_ref() == Some(value));
        let mut found = cells(duration, seed).into_iter().filter(has);
        found.next().filter(|_| found.next().is_none())
    }

    /// What is run there. `variant` is set after all that makes the cell: what the paper leaves open.
    ///
    /// # Errors
    /// When an algorithm of the pair does not exist, or the variant sets what no scenario has there.
    pub fn scenario(&self, variant: &[Set], target: Target) -> Result<Scenario, Invalid> {
        let (rtt1, rtt2) = self.rtt.split_once('/').unwrap_or((self.rtt, self.rtt));
        let flows = self.rate_gbps() * FLOWS_PER_GBPS;
        let set = |key: &str, value: &str| Set::argument("grid", key, value);
        let sets = [
            set("seed", &self.seed.to_string()),
            set("duration", &format!("{}ms", self.duration.as_millis())),
            set("link.rate", self.rate),
            set("link.buffer", self.buffer),
            set("link.queue", self.queue),
            set("flow.1.cc", self.pair.0),
            set("flow.2.cc", self.pair.1),
            set("flow.1.rtt", rtt1),
            set("flow.2.rtt", rtt2),
            set("flow.count", &flows.to_string()),
        ];
        let queue_has_ecn = self.queue != "fifo";
        let no_ecn = queue_has_ecn.then(|| set("link.ecn", "false"));
        let sets: Vec<Set> = sets.into_iter().chain(no_ecn).chain(variant.iter().cloned()).collect();
        let mut scenario = parse("", TEMPLATE, &sets, target)?;
        scenario.title =
            format!("{}, {}, {}, {}, {}", self.pair_name(), self.queue, self.buffer, self.rate, self.rtt);
        for (flow, start) in scenario.flows.iter_mut().zip(starts(self.seed)) {
            flow.start = start;
        }
        scenario.sealed(target)
    }

    /// The row of a finished run of this scenario.
    #[must_use]
    pub fn row(&self, scenario: &Scenario, summary: &Summary) -> Row {
        let goodput = |sender: &str| -> f64 {
            // "sender1-3", or "sender1" if a variant has one flow per sender
            let of =
                |name: &str| name.strip_prefix(sender).is_some_and(|n| n.is_empty() || n.starts_with('-'));
            let flows = summary.flows.iter().filter(|flow| of(&flow.name));
            flows.map(|flow| flow.goodput_mbps).sum()
        };
        let (goodput1_mbps, goodput2_mbps) = (goodput("sender1"), goodput("sender2"));
        let link = summary.links.first().cloned().unwrap_or_default();
        // a variant may have another one than the cell
        let rate_mbps = scenario.links.first().map_or(f64::NAN, |link| link.rate_bps as f64 / 1e6);
        Row {
            pair: self.pair_name(),
            queue: self.queue.to_owned(),
            buffer: self.buffer.to_owned(),
            rate: self.rate.to_owned(),
            rtt: self.rtt.to_owned(),
            duration_s: self.duration.as_secs_f64(),
            seed: self.seed,
            jain: summary.jain.map(short),
            utilization: short((goodput1_mbps + goodput2_mbps) / rate_mbps),
            link_utilization: short(link.utilization),
            loss_rate: link.loss_rate.map(short),
            queue_delay_mean_ms: link.queue_delay_mean_ms.map(short),
            queue_delay_p99_ms: link.queue_delay_p99_ms.map(short),
            goodput1_mbps: short(goodput1_mbps),
            goodput2_mbps: short(goodput2_mbps),
            retransmits: summary.flows.iter().map(|flow| flow.retransmits).sum(),
            flows: summary.flows.len(),
            commit: summary.commit.clone(),
            scenario: digits(&summary.scenario.hash),
            cpu_s: (summary.cost.cpu_s * 100.0).round() / 100.0,
            packets: summary.cost.data_packets,
        }
    }

    /// Whether `row` is of this run as it would be made today: a row of another scenario is out of date.
    #[must_use]
    pub fn is_current(&self, row: &Row, scenario: &Scenario) -> bool {
        self.is(row) && row.scenario == digits(&scenario.hash)
    }
}

/// The rows of a finished run's flows.
#[must_use]
pub fn flow_rows(summary: &Summary) -> Vec<FlowRow> {
    let row = |flow: &FlowSummary| FlowRow {
        scenario: digits(&summary.scenario.hash),
        seed: summary.seed,
        flow: flow.name.clone(),
        cc: flow.cc.to_string(),
        rtt_ms: flow.rtt_ms,
        start_s: flow.start_s,
        goodput_mbps: short(flow.goodput_mbps),
        sent_pkts: flow.sent_pkts,
        retransmits: flow.retransmits,
        rtt_mean_ms: flow.rtt_mean_ms.map(short),
    };
    summary.flows.iter().map(row).collect()
}

fn digits(hash: &str) -> String {
    hash.chars().take(16).collect()
}

/// Six significant digits: what a table for people needs.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Times in [0, [`START_SPREAD`]), whole microseconds, the same from the same seed.
fn starts(seed: u64) -> impl Iterator<Item = Duration> {
    let mut random = Random::new(seed);
    std::iter::repeat_with(move || Duration::from_micros(random.below(START_SPREAD.as_micros() as u64)))
}

#[cfg(test)]
mod tests;
