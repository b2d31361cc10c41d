//! A link: its rate, its buffer, and the impairments in front of its queue and behind it.

use crate::cellular::Cellular;
use crate::fault::Complaint;
use crate::field::words;
use crate::files::{TimeTable, Trace};
use crate::handover::Handover;
use crate::impairments::{Line, Loss, Policer, Steps};
use crate::key::{Kind, RATE, Relation, S, SIZE, TIME};
use crate::quantity::{Dimension, Limit, PACKET_BYTES, WHOLE_PPB};
use crate::queue::Queue;
use crate::row::{Access, Row, field, option, within};
use crate::value::Value;

/// A link with a queue in front of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Name of the link in results.
    pub name: String,
    /// The nodes that the link leads from and to, if the scenario has nodes.
    pub ends: Option<(String, String)>,
    /// Rate on the wire, bits per second; with a trace, its mean.
    pub rate_bps: u64,
    /// Delivery opportunities in place of the rate.
    pub trace: Option<Trace>,
    /// Size of the token bucket that shapes to the rate, behind the queue; `None`: the link transmits at the
    /// rate, without a bucket.
    pub burst_bytes: Option<u64>,
    /// The limit of the queue.
    pub buffer: Limit,
    /// The queue discipline.
    pub queue: Queue,
    /// The line behind the queue: its propagation delay and its impairments.
    pub line: Line,
    /// Later rates, bits per second; 0: an outage.
    pub rate_at: Steps<u64>,
    /// The policer in front of the queue.
    pub policer: Option<Policer>,
    /// Random loss behind the queue.
    pub loss: Loss,
    /// Later shares of independent losses: times in ns, and billionths. A packet is lost with the share at
    /// the time when its last bit leaves the link.
    pub loss_at: TimeTable,
    /// Handovers of the link.
    pub handover: Option<Handover>,
    /// What an outage does to packets.
    pub outages: Outages,
    /// The rate of a cellular link.
    pub cellular: Option<Cellular>,
}

/// What an outage of a link, a rate of 0, does to packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outages {
    /// Packets wait, and leave after the outage.
    #[default]
    Hold,
    /// A packet that arrives during the outage is dropped, and the packet that is in transmission when it
    /// begins is lost. What waits then leaves after the outage.
    Lose,
}

words!(Outages { Hold = "hold", Lose = "lose" });

impl Link {
    /// Returns a link with a FIFO of `buffer_bytes`, without delay, loss or policer.
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
            loss_at: TimeTable::default(),
            handover: None,
            outages: Outages::Hold,
            cellular: None,
        }
    }

    /// Checks that the link has outages if they are to lose packets.
    pub(crate) fn check_outages(&self) -> Result<(), Complaint> {
        let steps = self.rate_at.iter().any(|(_, rate_bps)| *rate_bps == 0);
        let handovers = self.handover.is_some_and(|handover| !handover.outage.is_zero());
        if self.outages == Outages::Hold || steps || handovers {
            return Ok(());
        }
        let message = "outages would lose packets, but the link has none".to_owned();
        let help =
            "write a rate of 0 in `rate_at`, as in rate_at = \"10s 0, 10.5s 100mbit\", or `handover_outage`";
        Err(Complaint::impossible(message, help))
    }

    /// The highest rate that the link has during a run, bits per second.
    #[must_use]
    pub fn fastest_bps(&self) -> u64 {
        self.rate_at.iter().map(|(_, rate)| *rate).fold(self.rate_bps, u64::max)
    }
}

#[rustfmt::skip]
pub(crate) const KEYS: &[Row<Link>] = &[
    Row::link("name", Kind::Text, field!(Link, name), "Name in results.")
        .range(1, 64).or("`bottleneck` for the only link, else `link1`, `link2`, ..."),
    Row::link("from", Kind::Text, option!(Link, ends: 0),
        "The node that it leads from. Naming a node creates it.")
        .range(1, 64).or("no node").example("\"a\"").related(&[Relation::Needs("to")]),
    Row::link("to", Kind::Text, option!(Link, ends: 1), "The node that it leads to: a link leads one way.")
        .range(1, 64).or("no node").example("\"b\"").related(&[Relation::Needs("from")]),
    Row::link("rate", RATE, OWN_RATE,
        "Rate on the wire. A packet counts its IP length and 14 bytes of Ethernet header. Left out with a \
         `trace`.")
        .range(1_000, 400_000_000_000).unless("trace"),
    Row::link("trace", Kind::Trace, TRACE,
        "Delivery opportunities in place of a rate, in the format of Mahimahi: a line for each, with its \
         time in ms, in order, at which 1514 bytes may leave: a full packet with its Ethernet header \
         (Mahimahi counts 1504 bytes for the same packet). They come again after the last one's time. The \
         rate, for a `buffer` in `bdp` or of a time too, is their mean.")
        .range(1, 4096).or("the rate is `rate`")
        .related(&[Relation::Excludes("rate"), Relation::Excludes("rate_at"), Relation::Excludes("burst")]),
    Row::link("burst", SIZE, field!(Link, burst_bytes),
        "A token bucket of this size, full at the start, shapes to the rate: after a pause, this much passes \
         at once.")
        .range(PACKET_BYTES, 16_000_000_000).or("no token bucket: each packet takes its time at the rate"),
    Row::link("buffer", Kind::Buffer, field!(Link, buffer),
        "How much the queue holds, headers included; further packets are dropped. `100pkts` are 100 packets \
         of any size; `1.5bdp` is 1.5 times this link's rate times `bdp_rtt`. `300ms` is what the link \
         carries in this time at its `rate`, of a `trace` at its mean, whatever `rate_at` makes of it later: \
         a full queue delays by 300 ms, as `latency` of Linux's tbf, which adds its bucket to the limit.")
        .range(PACKET_BYTES, 16_000_000_000),
    Row::link("bdp_rtt", TIME, Access::NONE,
        "The RTT by which a `buffer` in `bdp` is computed.")
        .range(10_000, 10 * S).or("the longest RTT among the flows"),
    Row::link("queue", Kind::Choice(Queue::NAMES), QUEUE,
        "Which packets wait, are dropped or marked: first in first out; a FIFO that marks above a `step`; \
         random early detection by the rules of Linux (`red`) or of Floyd and Jacobson 1993; CoDel (RFC \
         8289), FQ-CoDel (RFC 8290), PIE (RFC 8033); two coupled queues, one for L4S, `dualpi2` (RFC \
         9332).")
        .optional(),
];

/// Keys of the rate. The canonical form prints this key after those of the queue. The order is part of the
/// hash.
#[rustfmt::skip]
pub(crate) const RATE_KEYS: &[Row<Link>] = &[
    Row::link("rate_at", Kind::Steps(Dimension::Rate), field!(Link, rate_at),
        "Later rates; 0 is an outage, after which the waiting packets leave.")
        .range(0, 400_000_000_000).or("the rate never changes"),
    Row::link("outages", Kind::Choice(Outages::NAMES), field!(Link, outages),
        "What an outage by `rate_at` or `handover_outage` does: packets wait (`hold`), or it loses (`lose`) \
         those that arrive meanwhile, which count as dropped, and the one that is in transmission when it \
         begins. What waits then leaves afterwards. A line that breaks while the link sends on is \
         `loss_at = \"10s 100%, 10.5s 0%\"`.")
        .optional(),
];

/// Keys of loss that changes. The canonical form prints these keys after those of `loss`.
#[rustfmt::skip]
pub(crate) const LOSS_AT_KEYS: &[Row<Link>] = &[
    Row::link("loss_at", Kind::Steps(Dimension::Share), LOSS_AT,
        "Later values of `loss`, each from its time on: `10s 30%, 10.5s 0%` loses three packets of ten for \
         half a second. The time is that at which the last bit of a packet leaves the link, which sends on \
         while 100% is lost.")
        .range(0, WHOLE_PPB).or("`loss` never changes").related(&[Relation::Excludes("loss_burst")]),
    Row::link("loss_trace", Kind::TimeTable(Dimension::Share), LOSS_TRACE,
        "`loss` and `loss_at` from a file with two columns: seconds, which grow, and the share (0 to 1) of \
         packets lost from then on. Before the first line nothing is lost; the last one holds to the end of \
         the run. `#` begins a comment.")
        .range(1, 4096).or("`loss` and `loss_at`").example("\"traces/loss.txt\"")
        .related(&[
            Relation::Excludes("loss"), Relation::Excludes("loss_at"), Relation::Excludes("loss_burst"),
        ]),
];

within!(Link {
    queue: Queue,
    policer: Option<Policer>,
    loss: Loss,
    line: Line,
    handover: Option<Handover>,
    cellular: Option<Cellular>,
});

/// Access to the rate. With a trace, the rate is the trace's mean and not written.
const OWN_RATE: Access<Link> = Access {
    get: |link| link.trace.is_none().then_some(Value::Number(link.rate_bps)),
    set: |link, value, _| link.rate_bps = value.number(),
};
const TRACE: Access<Link> = Access {
    get: |link| link.trace.clone().map(Value::Trace),
    set: |link, value, _| match value {
        Value::Trace(trace) => {
            link.rate_bps = trace.mean_bps();
            link.trace = Some(trace);
        }
        other => other.is_of_another_kind(),
    },
};
/// Access to later shares of loss that the scenario itself has.
const LOSS_AT: Access<Link> = Access {
    get: |link| link.loss_at.steps().map(Value::Steps),
    set: |link, value, _| match value {
        Value::Steps(steps) => link.loss_at = TimeTable::inline(steps),
        other => other.is_of_another_kind(),
    },
};
/// Access to the shares of loss that a file has.
const LOSS_TRACE: Access<Link> = Access {
    get: |link| link.loss_at.is_file().then(|| Value::TimeTable(link.loss_at.clone())),
    set: |link, value, _| match value {
        Value::TimeTable(table) => link.loss_at = table,
        other => other.is_of_another_kind(),
    },
};
const QUEUE: Access<Link> = Access {
    get: |link| Some(Value::Word(link.queue.name())),
    set: |link, value, _| match value {
        Value::Word(name) => link.queue = Queue::named(name, link.buffer).unwrap_or_default(),
        other => other.is_of_another_kind(),
    },
};
