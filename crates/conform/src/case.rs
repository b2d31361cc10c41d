//! A test case: a file of JSON Lines. The first line is the header, each other line is a step.
//!
//! `conform/case.schema.json` says the same for other languages, and `conform/README.md` explains it.

#![allow(non_snake_case)] // Bps: bytes per second, as in the JSON

use serde::Deserialize;

use crate::protocol::{State, Support};

/// The format of case files. The number grows when a field changes its meaning or goes away.
pub const FORMAT: &str = "fairpace.conform.case/1";

/// A test case.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// What it is about, and the path at its start.
    pub header: Header,
    /// In order, each with its line in the file.
    pub steps: Vec<(usize, Step)>,
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// [`FORMAT`].
    pub format: String,
    /// Its section in the draft's appendix, such as `A.1`.
    pub case: String,
    /// The title of that section.
    pub title: String,
    /// The document that the sections of all steps refer to.
    pub draft: String,
    /// What the case does.
    pub about: String,
    /// Where it departs from the text of its section, and why.
    pub differs: Option<String>,
    /// Bytes of each packet.
    pub mss_bytes: u64,
    /// The initial congestion window.
    pub initial_cwnd_bytes: u64,
    /// For the random numbers of the algorithm.
    pub seed: u64,
    /// What the transport must be able to notify its algorithm of.
    #[serde(default)]
    pub needs: Vec<Support>,
    /// The rate at which a conforming BBR estimates the path: where no state is reported, it is inferred from
    /// the ratio of pacing rate to this.
    pub reference_Bps: u64,
    /// The path.
    pub path: PathSpec,
    /// The application.
    pub app: App,
}

/// A path with one bottleneck.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathSpec {
    /// Rate of the bottleneck.
    pub rate_Bps: u64,
    /// Two-way propagation delay.
    pub rtt_us: u64,
    /// What the bottleneck can hold beyond the packet in transmission.
    pub buffer_bytes: u64,
    /// The receiver acknowledges each packet with this number, or after 25 ms.
    pub ack_every: u64,
    /// ACKs arrive only at multiples of this, together; 0: as they come.
    pub ack_hold_us: u64,
    /// A token bucket before the bottleneck.
    pub policer: Option<Policer>,
}

/// Drops what exceeds a rate.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Rate of the tokens.
    pub rate_Bps: u64,
    /// Size of the bucket, which is full at first.
    pub burst_bytes: u64,
}

/// What the application has to send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum App {
    /// Always something.
    #[default]
    Bulk,
    /// One last packet, then nothing apart from what was lost.
    Paused,
    /// A packet at a time, at an even pace. It does not make up for what it could not send in time.
    #[serde(rename = "rate_Bps")]
    Rate(u64),
}

/// A line after the header: one of the first six, and why.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Time passes.
    pub run: Option<Run>,
    /// What holds now.
    pub expect: Option<Condition>,
    /// Something about the path or the application changes.
    pub set: Option<Change>,
    /// Packets will be lost.
    pub lose: Option<Lose>,
    /// Packets will be overtaken.
    pub reorder: Option<Reorder>,
    /// For so long no ACK arrives; none is lost.
    pub stall_us: Option<u64>,
    /// The section of the draft by which the step must hold.
    pub section: Option<String>,
    /// Why it must, with the reason for its bounds.
    pub why: Option<String>,
    /// It is left out where the adaptor reports no state.
    #[serde(default)]
    pub needs_state: bool,
}

/// Time passes.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Until this holds after an event.
    pub until: Option<Condition>,
    /// With `until`: it must come by then. Without: for so long.
    pub for_us: u64,
    /// What holds after each event.
    pub throughout: Option<Condition>,
}

/// What can be observed: all that are there must hold.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// One of these.
    pub state: Option<Vec<State>>,
    /// The congestion window.
    pub cwnd_bytes: Option<Bounds>,
    /// The pacing rate.
    pub pacing_rate_Bps: Option<Bounds>,
    /// `BBR.bw`, where it is reported.
    pub bw_Bps: Option<Bounds>,
    /// `BBR.min_rtt`, where it is reported.
    pub min_rtt_us: Option<Bounds>,
    /// In flight.
    pub in_flight_bytes: Option<Bounds>,
    /// The last delivery rate sample of the runner's transport.
    pub sample_Bps: Option<Bounds>,
    /// Time since the last `run` began.
    pub elapsed_us: Option<Bounds>,
    /// Packet-timed rounds that began since then (section 5.5.1).
    pub rounds: Option<Bounds>,
    /// Mean rate of delivery since then.
    pub delivered_Bps: Option<Bounds>,
    /// Packets declared lost since then.
    pub lost_packets: Option<Bounds>,
    /// Of the packets that were acknowledged or declared lost since then, those declared lost, in percent.
    pub lost_percent: Option<Bounds>,
}

/// Both are included; without one there is no such bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// At least this.
    pub least: Option<f64>,
    /// At most this.
    pub most: Option<f64>,
}

/// A change; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Of the bottleneck, from the next packet in its queue on.
    pub rate_Bps: Option<u64>,
    /// Two-way propagation delay.
    pub rtt_us: Option<u64>,
    /// Of the bottleneck.
    pub buffer_bytes: Option<u64>,
    /// ACKs arrive only at multiples of this.
    pub ack_hold_us: Option<u64>,
    /// With a full bucket.
    pub policer: Option<Policer>,
    /// What the application has to send.
    pub app: Option<App>,
    /// As in the header.
    pub reference_Bps: Option<u64>,
}

/// Of the packets sent from now on each `every`-th is lost, until `count` are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lose {
    /// Packets to lose.
    pub count: u64,
    /// 1: consecutive ones.
    pub every: u64,
}

/// Of the packets sent from now on each `every`-th arrives later, until `count` do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Packets to delay.
    pub count: u64,
    /// 1: consecutive ones.
    pub every: u64,
    /// By so much.
    pub delay_us: u64,
}

/// A file that is no case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {problem}")]
pub struct BadCase {
    /// Its name.
    pub file: String,
    /// From 1 on.
    pub line: usize,
    /// What is wrong there.
    pub problem: String,
}

impl Case {
    /// Reads a file's text.
    ///
    /// # Errors
    /// The line that is wrong, and why.
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
    /// What serde does not check.
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
