//! The messages between runner and adaptor: a JSON object per line, each answered by one line.
//!
//! `conform/protocol.schema.json` describes them for other languages, and `conform/README.md` explains it.

#![allow(non_snake_case)] // Bps: bytes per second, as in the JSON

use std::fmt;

use serde::{Deserialize, Serialize};

/// The version of the protocol. The number grows when a message changes its meaning or goes away.
pub const PROTOCOL: &str = "fairpace.conform/1";

/// The states of BBR: draft-ietf-ccwg-bbr-06 section 5.1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// STARTUP: searches for the bandwidth.
    Startup,
    /// DRAIN: removes the queue that STARTUP built.
    Drain,
    /// PROBE_BW_DOWN: sends slower than the bandwidth.
    ProbeBwDown,
    /// PROBE_BW_CRUISE: sends at the bandwidth.
    ProbeBwCruise,
    /// PROBE_BW_REFILL: fills the pipe for a round, before a probe.
    ProbeBwRefill,
    /// PROBE_BW_UP: sends faster than the bandwidth.
    ProbeBwUp,
    /// PROBE_RTT: nearly empties the pipe.
    ProbeRtt,
}

impl fmt::Display for State {
    /// Writes the state's name in messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Notifications that an adaptor's transport supports, beyond sent, acknowledged and lost packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Support {
    /// Notification that packets which were declared lost have arrived.
    Spurious,
    /// Notification that all packets in flight are declared lost: TCP's retransmission timeout, QUIC's
    /// persistent congestion.
    Timeout,
}

impl fmt::Display for Support {
    /// Writes the notification's name in messages.
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
    /// The event to process.
    #[serde(flatten)]
    pub event: Event,
}

/// An event of a connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The first line of a run.
    Hello {
        /// Version of the protocol: [`PROTOCOL`].
        protocol: String,
    },
    /// A new connection.
    Init(Init),
    /// A packet was sent.
    Sent(Sent),
    /// An ACK arrived; it may also show that packets were lost.
    Ack(Ack),
    /// No packet was acknowledged for a retransmission timeout: all packets in flight are declared lost.
    Timeout(Timeout),
    /// All packets that were declared lost in the last episode have been acknowledged after the declaration.
    Spurious {
        /// Present time.
        time_us: u64,
    },
}

/// The start of a connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Init {
    /// Present time.
    pub time_us: u64,
    /// Name of the case, such as `A.1`.
    pub case: String,
    /// Length of each packet that will be sent, and so of `C.SMSS`.
    pub mss_bytes: u64,
    /// The initial congestion window.
    pub initial_cwnd_bytes: u64,
    /// Seed of the random numbers of the algorithm.
    pub seed: u64,
}

/// A packet that was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Present time.
    pub time_us: u64,
    /// Number of the packet: one more than that of the packet before. Retransmitted data has a new number.
    pub packet: u64,
    /// Length of the packet.
    pub bytes: u64,
    /// Bytes in flight, this packet included.
    pub in_flight_bytes: u64,
    /// True if the application has more to send at this moment.
    pub more_data: bool,
    /// True if the connection is application-limited (`C.app_limited` is not 0).
    pub app_limited: bool,
}

/// An ACK that arrived.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ack {
    /// Present time.
    pub time_us: u64,
    /// Packets that the ACK acknowledges for the first time and that were in flight.
    pub acked: Vec<Range>,
    /// Packets that are declared lost now.
    pub lost: Vec<Range>,
    /// Packets that the ACK acknowledges after they were declared lost.
    pub late: Vec<Range>,
    /// RTT of the newest packet that the ACK acknowledges.
    pub rtt_us: u64,
    /// Bytes in flight before this ACK.
    pub prior_in_flight_bytes: u64,
    /// Bytes in flight now.
    pub in_flight_bytes: u64,
    /// True if the connection is application-limited (`C.app_limited` is not 0).
    pub app_limited: bool,
    /// True if cwnd stopped the sender in this round or in the round before (`C.is_cwnd_limited`).
    pub cwnd_limited: bool,
    /// True if the connection repairs losses.
    pub in_recovery: bool,
    /// The delivery rate sample, for a transport that does not take its own samples.
    pub sample: Sample,
}

/// A delivery rate sample: draft-ietf-ccwg-bbr-06 section 4.1.2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Value of `C.delivered` now.
    pub total_delivered_bytes: u64,
    /// Value of `C.lost` now.
    pub total_lost_bytes: u64,
    /// `RS.prior_delivered`: `C.delivered` when the newest acknowledged packet was sent.
    pub prior_delivered_bytes: u64,
    /// `RS.delivered`: bytes delivered in the interval.
    pub delivered_bytes: u64,
    /// `RS.interval`: length of the interval; 0: no valid sample.
    pub interval_us: u64,
    /// `RS.is_app_limited`: true if the sample is application-limited.
    pub app_limited: bool,
    /// `RS.tx_in_flight`: bytes in flight just after that packet was sent.
    pub tx_in_flight_bytes: u64,
    /// `RS.lost`: bytes declared lost since then.
    pub lost_bytes: u64,
}

/// A timeout: all packets in flight are declared lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timeout {
    /// Present time.
    pub time_us: u64,
    /// All packets that were in flight.
    pub lost: Vec<Range>,
    /// Bytes in flight before the timeout.
    pub prior_in_flight_bytes: u64,
    /// True if the connection is application-limited (`C.app_limited` is not 0).
    pub app_limited: bool,
}

/// The answer to [`Event::Hello`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// Version of the protocol: [`PROTOCOL`].
    pub protocol: String,
    /// Name of the tested implementation, such as `noq-proto Bbr3`.
    pub name: String,
    /// Version of the tested implementation.
    pub version: String,
    /// Notifications that its transport supports.
    pub supports: Vec<Support>,
}

/// The answer to every other event: the values in force now, and the algorithm's observation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// The congestion window.
    pub cwnd_bytes: u64,
    /// The pacing rate; absent: the algorithm does not pace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing_rate_Bps: Option<u64>,
    /// The state of BBR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The bandwidth by which the algorithm paces: `BBR.bw`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bw_Bps: Option<u64>,
    /// The minimum RTT: `BBR.min_rtt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rtt_us: Option<u64>,
    /// True if the algorithm marks the connection application-limited, as in PROBE_RTT (section 4.1.2.4). For
    /// algorithms that use [`Ack::sample`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mark_app_limited: bool,
}

/// An adaptor's answer to a new connection or an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The usual answer: the values in force.
    Control(Control),
    /// The case cannot be applied to this stack, for this reason.
    NotApplicable(String),
}

/// The subject of the cases: an algorithm within its transport's interface.
pub trait Subject {
    /// Returns name, version and supported notifications.
    fn hello(&mut self) -> Hello;

    /// Starts a new connection.
    fn init(&mut self, init: &Init) -> Answer;

    /// Processes an event of the connection, never [`Event::Hello`] or [`Event::Init`].
    fn on(&mut self, event: &Event) -> Answer;
}
