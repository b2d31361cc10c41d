//! The messages between runner and adaptor: a JSON object per line, each answered by one line.
//!
//! `conform/protocol.schema.json` says the same for other languages, and `conform/README.md` explains it.

#![allow(non_snake_case)] // Bps: bytes per second, as in the JSON

use std::fmt;

use serde::{Deserialize, Serialize};

/// The version of the protocol. The number grows when a message changes its meaning or goes away.
pub const PROTOCOL: &str = "fairpace.conform/1";

/// The states of BBR: draft-ietf-ccwg-bbr-06 section 5.1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// Searches for the bandwidth.
    Startup,
    /// Removes the queue that STARTUP built.
    Drain,
    /// Sends slower than the bandwidth.
    ProbeBwDown,
    /// Sends at the bandwidth.
    ProbeBwCruise,
    /// Fills the pipe for a round, before it probes.
    ProbeBwRefill,
    /// Sends faster than the bandwidth.
    ProbeBwUp,
    /// Nearly empties the pipe.
    ProbeRtt,
}

impl fmt::Display for State {
    /// The name in messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// What an adaptor's transport can be notified of, beyond sent, acknowledged and lost packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Support {
    /// That packets which were declared lost have arrived.
    Spurious,
    /// That everything in flight is declared lost: TCP's retransmission timeout, QUIC's persistent
    /// congestion.
    Timeout,
}

impl fmt::Display for Support {
    /// The name in messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// First and last packet number of a range, both included.
pub type Range = [u64; 2];

/// A line to the adaptor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The number of this line, from 0 on. The answer repeats it.
    pub seq: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happens to a connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The first line.
    Hello {
        /// [`PROTOCOL`].
        protocol: String,
    },
    /// A new connection.
    Init(Init),
    /// A packet was sent.
    Sent(Sent),
    /// An ACK arrived; it may also show that packets were lost.
    Ack(Ack),
    /// Nothing was acknowledged for a retransmission timeout: everything in flight is declared lost.
    Timeout(Timeout),
    /// All packets that were declared lost in the last episode have been acknowledged, after all.
    Spurious {
        /// Now.
        time_us: u64,
    },
}

/// A new connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Init {
    /// Now.
    pub time_us: u64,
    /// The case, such as `A.1`.
    pub case: String,
    /// Bytes of each packet that will be sent, and so of `C.SMSS`.
    pub mss_bytes: u64,
    /// The initial congestion window.
    pub initial_cwnd_bytes: u64,
    /// For the random numbers of the algorithm.
    pub seed: u64,
}

/// A packet was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Now.
    pub time_us: u64,
    /// Its number: one more than that of the packet before. Retransmitted data has a new number.
    pub packet: u64,
    /// Its length.
    pub bytes: u64,
    /// In flight, this packet included.
    pub in_flight_bytes: u64,
    /// The application has more to send at this moment.
    pub more_data: bool,
    /// The connection is application-limited (`C.app_limited` is not 0).
    pub app_limited: bool,
}

/// An ACK arrived.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ack {
    /// Now.
    pub time_us: u64,
    /// Packets that it acknowledges for the first time and that were in flight.
    pub acked: Vec<Range>,
    /// Packets that are declared lost now.
    pub lost: Vec<Range>,
    /// Packets that it acknowledges after they were declared lost.
    pub late: Vec<Range>,
    /// RTT of the newest packet that it acknowledges.
    pub rtt_us: u64,
    /// In flight before this ACK.
    pub prior_in_flight_bytes: u64,
    /// In flight now.
    pub in_flight_bytes: u64,
    /// The connection is application-limited (`C.app_limited` is not 0).
    pub app_limited: bool,
    /// cwnd stopped the sender in this round or in the one before (`C.is_cwnd_limited`).
    pub cwnd_limited: bool,
    /// The connection repairs losses.
    pub in_recovery: bool,
    /// The delivery rate sample, for a transport that does not take its own.
    pub sample: Sample,
}

/// A delivery rate sample: draft-ietf-ccwg-bbr-06 section 4.1.2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// `C.delivered` now.
    pub total_delivered_bytes: u64,
    /// `C.lost` now.
    pub total_lost_bytes: u64,
    /// `RS.prior_delivered`: `C.delivered` when the newest acknowledged packet was sent.
    pub prior_delivered_bytes: u64,
    /// `RS.delivered`.
    pub delivered_bytes: u64,
    /// `RS.interval`; 0: no valid sample.
    pub interval_us: u64,
    /// `RS.is_app_limited`.
    pub app_limited: bool,
    /// `RS.tx_in_flight`: in flight just after that packet was sent.
    pub tx_in_flight_bytes: u64,
    /// `RS.lost`: declared lost since then.
    pub lost_bytes: u64,
}

/// Everything in flight is declared lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timeout {
    /// Now.
    pub time_us: u64,
    /// All packets that were in flight.
    pub lost: Vec<Range>,
    /// In flight before.
    pub prior_in_flight_bytes: u64,
    /// The connection is application-limited (`C.app_limited` is not 0).
    pub app_limited: bool,
}

/// The answer to [`Event::Hello`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// [`PROTOCOL`].
    pub protocol: String,
    /// What is tested, such as `noq-proto Bbr3`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Of what its transport can notify it.
    pub supports: Vec<Support>,
}

/// The answer to every other event: what is in force now, and what the algorithm shows of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// The congestion window.
    pub cwnd_bytes: u64,
    /// The pacing rate; absent: the algorithm does not pace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing_rate_Bps: Option<u64>,
    /// The state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The bandwidth by which it paces: `BBR.bw`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bw_Bps: Option<u64>,
    /// `BBR.min_rtt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rtt_us: Option<u64>,
    /// The algorithm marks the connection application-limited, as in PROBE_RTT (section 4.1.2.4). For
    /// algorithms that use [`Ack::sample`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mark_app_limited: bool,
}

/// What an adaptor answers to a new connection or an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The usual one.
    Control(Control),
    /// The case cannot be applied to this stack, for this reason.
    NotApplicable(String),
}

/// What the cases are applied to: an algorithm within its transport's interface.
pub trait Subject {
    /// Name, version and what it supports.
    fn hello(&mut self) -> Hello;

    /// A new connection.
    fn init(&mut self, init: &Init) -> Answer;

    /// Something happened to it. Never [`Event::Hello`] or [`Event::Init`].
    fn on(&mut self, event: &Event) -> Answer;
}
