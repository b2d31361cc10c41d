//! A link: its rate, its buffer, and what lies in front of its queue and behind it.

use std::sync::Arc;

use crate::keys::{
    Key, Kind, Lens, PACKET_BYTES, RATE, Relation, S, SIZE, TIME, Value, access, field, option,
};
use crate::{Limit, Line, Loss, Policer, Queue, Steps};

/// A link with a queue in front of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Name in results.
    pub name: String,
    /// The nodes that it leads from and to, if the scenario has nodes.
    pub ends: Option<(String, String)>,
    /// Bits per second on the wire; with a trace, its mean.
    pub rate_bps: u64,
    /// Delivery opportunities in place of the rate.
    pub trace: Option<Trace>,
    /// Size of the token bucket that shapes to the rate, behind the queue; `None`: a transmitter of that
    /// rate.
    pub burst_bytes: Option<u64>,
    /// How much the queue holds.
    pub buffer: Limit,
    /// How the queue is managed.
    pub queue: Queue,
    /// Propagation behind the link, and what happens on the way.
    pub line: Line,
    /// Later rates, bits per second; 0: an outage.
    pub rate_at: Steps<u64>,
    /// A policer in front of the queue.
    pub policer: Option<Policer>,
    /// Packets lost behind the queue.
    pub loss: Loss,
}

impl Link {
    /// A link with a FIFO of `buffer_bytes`, without delay, loss or policer.
    #[must_use]
    pub fn new(name: impl Into<String>, rate_bps: u64, buffer_bytes: u64) -> Self {
        Self {
            name: name.into(),
            ends: None,
            rate_bps,
            trace: None,
            burst_bytes: None,
            buffer: Limit::Bytes(buffer_bytes),
            queue: Queue::Fifo,
            line: Line::default(),
            rate_at: Vec::new(),
            policer: None,
            loss: Loss::default(),
        }
    }

    /// The highest rate that it ever has, bits per second.
    #[must_use]
    pub fn fastest_bps(&self) -> u64 {
        self.rate_at.iter().map(|(_, rate)| *rate).fold(self.rate_bps, u64::max)
    }
}

/// Delivery opportunities in Mahimahi's format, in place of a rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The file's name as written.
    pub file: String,
    /// Milliseconds since the start at which up to 1514 bytes can leave, in order; several may be equal. The
    /// last one is also the period after which all of them come again.
    pub opportunities_ms: Arc<[u32]>,
}

#[rustfmt::skip]
pub(crate) const KEYS: &[Key] = &[
    Key::link("name", Kind::Text, field!(Link, name), "Name in results.")
        .range(1, 64).or("`bottleneck` for the only link, else `link1`, `link2`, ..."),
    Key::link("from", Kind::Text, option!(Link, ends: 0),
        "The node that it leads from. Naming a node creates it.")
        .range(1, 64).or("no node").example("\"a\"").related(&[Relation::Needs("to")]),
    Key::link("to", Kind::Text, option!(Link, ends: 1), "The node that it leads to: a link leads one way.")
        .range(1, 64).or("no node").example("\"b\"").related(&[Relation::Needs("from")]),
    Key::link("rate", RATE, OWN_RATE,
        "Rate on the wire. A packet counts its IP length and 14 bytes of Ethernet header. Left out with a \
         `trace`.")
        .range(1_000, 400_000_000_000),
    Key::link("trace", Kind::Trace, TRACE,
        "Delivery opportunities in place of a rate, in the format of Mahimahi: a line for each, with its \
         time in ms, in order, at which 1514 bytes may leave: a full packet with its Ethernet header \
         (Mahimahi counts 1504 bytes for the same packet). They come again after the last one's time. The \
         rate, for a `buffer` in `bdp` too, is their mean.")
        .range(1, 4096).or("the rate is `rate`")
        .related(&[Relation::Excludes("rate"), Relation::Excludes("rate_at"), Relation::Excludes("burst")]),
    Key::link("burst", SIZE, field!(Link, burst_bytes),
        "A token bucket of this size, full at the start, shapes to the rate: after a pause, this much passes \
         at once.")
        .range(PACKET_BYTES, 16_000_000_000).or("no token bucket: each packet takes its time at the rate"),
    Key::link("buffer", Kind::Buffer, field!(Link, buffer),
        "How much the queue holds, headers included; further packets are dropped. `100pkts` are 100 packets \
         of any size; `1.5bdp` is 1.5 times this link's rate times `bdp_rtt`.")
        .range(PACKET_BYTES, 16_000_000_000),
    Key::link("bdp_rtt", TIME, Lens::Reader,
        "The delay in the bandwidth-delay product of a `buffer` in `bdp`.")
        .range(10_000, 10 * S).or("the longest RTT among the flows"),
];

/// With a trace, the rate is the trace's mean and not written.
const OWN_RATE: Lens =
    access!(Link, |link| link.trace.is_none().then_some(Value::Number(link.rate_bps)), |link, value, _| {
        link.rate_bps = value.number()
    });
const TRACE: Lens = access!(Link, |link| link.trace.clone().map(Value::Trace), |link, value, _| {
    if let Value::Trace(trace) = value {
        link.rate_bps = trace.mean_bps();
        link.trace = Some(trace);
    }
});
