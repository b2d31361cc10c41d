//! A test case: a file of JSON Lines. The first line is the header, each other line is a step.
//!
//! `conform/case.schema.json` describes the format for other languages, and `conform/README.md` explains it.

#![allow(non_snake_case)] // Bps: bytes per second, as in the JSON

use serde::Deserialize;

use crate::protocol::{State, Support};

/// Version of the format of case files. The number grows when a field changes its meaning or goes away.
pub const FORMAT: &str = "fairpace.conform.case/1";

/// A test case.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The header: subject of the case, and the path at its start.
    pub header: Header,
    /// The steps in order, each with its line in the file.
    pub steps: Vec<(usize, Step)>,
}

/// The first line of a case file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Version of the format: [`FORMAT`].
    pub format: String,
    /// Section of the case in the draft's appendix, such as `A.1`.
    pub case: String,
    /// Title of that section of the draft.
    pub title: String,
    /// The document that the sections of all steps refer to.
    pub draft: String,
    /// Description of the case.
    pub about: String,
    /// Differences of the case from the text of its section, with reasons.
    pub differs: Option<String>,
    /// Length of each packet, bytes.
    pub mss_bytes: u64,
    /// The initial congestion window.
    pub initial_cwnd_bytes: u64,
    /// Seed of the random numbers of the algorithm.
    pub seed: u64,
    /// Notifications that the transport must be able to give its algorithm.
    #[serde(default)]
    pub needs: Vec<Support>,
    /// The rate at which a conforming BBR estimates the path: where no state is reported, it is inferred from
    /// the ratio of the pacing rate to this rate.
    pub reference_Bps: u64,
    /// The path of the case.
    pub path: PathSpec,
    /// The application of the case.
    pub app: App,
}

/// A path with one bottleneck.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathSpec {
    /// Rate of the bottleneck.
    pub rate_Bps: u64,
    /// Two-way propagation delay of the path.
    pub rtt_us: u64,
    /// Bytes that the bottleneck can hold beyond the packet in transmission.
    pub buffer_bytes: u64,
    /// Number of packets after which the receiver sends an ACK; it waits 25 ms at most.
    pub ack_every: u64,
    /// Aggregation: ACKs arrive together, only at multiples of this time; 0: ACKs are not held.
    pub ack_hold_us: u64,
    /// A token bucket before the bottleneck.
    pub policer: Option<Policer>,
}

/// A policer that drops packets that exceed a rate.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Rate of the tokens.
    pub rate_Bps: u64,
    /// Size of the bucket, which is full at first.
    pub burst_bytes: u64,
}

/// The data that the application has to send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum App {
    /// The application always has data.
    #[default]
    Bulk,
    /// The application has one last packet, then no data but retransmissions.
    Paused,
    /// The application has a packet at a time, at a constant rate. It does not make up for packets that it
    /// could not send in time.
    #[serde(rename = "rate_Bps")]
    Rate(u64),
}

/// A line after the header: one of the first six fields, and the reason for it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Lets time pass.
    pub run: Option<Run>,
    /// A condition that must hold now.
    pub expect: Option<Condition>,
    /// Changes the path or the application.
    pub set: Option<Change>,
    /// Makes packets be lost.
    pub lose: Option<Lose>,
    /// Makes packets be overtaken.
    pub reorder: Option<Reorder>,
    /// Time for which no ACK arrives; no ACK is lost.
    pub stall_us: Option<u64>,
    /// The section of the draft that requires the step's condition.
    pub section: Option<String>,
    /// The reason for the condition, and for its bounds.
    pub why: Option<String>,
    /// True if the step is left out where the adaptor reports no state.
    #[serde(default)]
    pub needs_state: bool,
}

/// A step that lets time pass.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Condition that ends the step when it holds after an event.
    pub until: Option<Condition>,
    /// Time limit for `until`; without `until`: length of the step.
    pub for_us: u64,
    /// Condition that must hold after each event.
    pub throughout: Option<Condition>,
}

/// A condition on observations: all fields that are present must hold.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The allowed states.
    pub state: Option<Vec<State>>,
    /// Bounds of the congestion window.
    pub cwnd_bytes: Option<Bounds>,
    /// Bounds of the pacing rate.
    pub pacing_rate_Bps: Option<Bounds>,
    /// Bounds of `BBR.bw`, where it is reported.
    pub bw_Bps: Option<Bounds>,
    /// Bounds of `BBR.min_rtt`, where it is reported.
    pub min_rtt_us: Option<Bounds>,
    /// Bounds of the bytes in flight.
    pub in_flight_bytes: Option<Bounds>,
    /// Bounds of the last delivery rate sample of the runner's transport.
    pub sample_Bps: Option<Bounds>,
    /// Bounds of the time since the last `run` began.
    pub elapsed_us: Option<Bounds>,
    /// Bounds of the number of packet-timed rounds that began since the last `run` began (section 5.5.1).
    pub rounds: Option<Bounds>,
    /// Bounds of the mean rate of delivery since the last `run` began.
    pub delivered_Bps: Option<Bounds>,
    /// Bounds of the number of packets declared lost since the last `run` began.
    pub lost_packets: Option<Bounds>,
    /// Bounds of the share of packets declared lost, in percent, among the packets that were acknowledged or
    /// declared lost since the last `run` began.
    pub lost_percent: Option<Bounds>,
}

/// Bounds of a value, both included; an absent field is no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// The least allowed value.
    pub least: Option<f64>,
    /// The largest allowed value.
    pub most: Option<f64>,
}

/// A change of path or application; absent fields do not change.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// New rate of the bottleneck, from the next packet in its queue on.
    pub rate_Bps: Option<u64>,
    /// New two-way propagation delay.
    pub rtt_us: Option<u64>,
    /// New buffer of the bottleneck.
    pub buffer_bytes: Option<u64>,
    /// New aggregation: ACKs arrive only at multiples of this time.
    pub ack_hold_us: Option<u64>,
    /// New policer, with a full bucket.
    pub policer: Option<Policer>,
    /// New data that the application has to send.
    pub app: Option<App>,
    /// New reference rate, as in the header.
    pub reference_Bps: Option<u64>,
}

/// A loss: each `every`-th packet sent from now on is lost, until `count` packets are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lose {
    /// Number of packets to lose.
    pub count: u64,
    /// Distance of the lost packets; 1: consecutive packets.
    pub every: u64,
}

/// A reordering: each `every`-th packet sent from now on arrives later, until `count` packets do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Number of packets to delay.
    pub count: u64,
    /// Distance of the delayed packets; 1: consecutive packets.
    pub every: u64,
    /// Extra delay of these packets.
    pub delay_us: u64,
}

/// Error: a file that is no case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {problem}")]
pub struct BadCase {
    /// Name of the file.
    pub file: String,
    /// Number of the line, from 1 on.
    pub line: usize,
    /// Description of the problem in this line.
    pub problem: String,
}

impl Case {
    /// Reads a case from a file's text.
    ///
    /// # Errors
    /// The line that is wrong, and the reason.
    pub fn parse(file: &str, text: &str) -> Result<Self, BadCase> {
        let bad = |line, problem: String| BadCase { file: file.to_owned(), line, problem };
        let mut lines = text.lines().enumerate().map(|(n, line)| (n + 1, line));
        let Some((_, first)) = lines.next() else {
            return Err(bad(1, "the file is empty; the first line must be the header".to_owned()));
        };
        let header: Header = serde_json::from_str(first).map_err(|error| bad(1, error.to_string()))?;
        if header.format != FORMAT {
            return Err(bad(1, format!("the format is {:?}; this program reads {FORMAT}", header.format)));
        }
        let mut steps = Vec::new();
        for (number, line) in lines {
            let step: Step = serde_json::from_str(line).map_err(|error| bad(number, error.to_string()))?;
            step.check().map_err(|problem| bad(number, problem))?;
            steps.push((number, step));
        }
        Ok(Self { header, steps })
    }
}

impl Step {
    /// Checks conditions that serde does not check.
    fn check(&self) -> Result<(), String> {
        let parts = [
            self.run.is_some(),
            self.expect.is_some(),
            self.set.is_some(),
            self.lose.is_some(),
            self.reorder.is_some(),
            self.stall_us.is_some(),
        ];
        if parts.iter().filter(|is_there| **is_there).count() != 1 {
            return Err("a step has one of run, expect, set, lose, reorder and stall_us".to_owned());
        }
        let judges = self.expect.is_some() || self.run.as_ref().is_some_and(Run::judges);
        if judges && (self.section.is_none() || self.why.is_none()) {
            return Err("what must hold needs a section and why".to_owned());
        }
        Ok(())
    }
}

impl Run {
    fn judges(&self) -> bool {
        self.until.is_some() || self.throughout.is_some()
    }
}
