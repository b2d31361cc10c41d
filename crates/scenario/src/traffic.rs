//! What applications send, and when: one flow, or a workload of flows that come and go.

use std::sync::Arc;
use std::time::Duration;

use crate::Flow;
use crate::keys::{
    DAY, Field, Key, Kind, Lens, MS, RATE, Relation, SIZE, TIME, Value, access, field, option,
};
use crate::quantity::Dimension;

/// When the application has data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// All that it ever writes; `None`: there is no end.
    pub size_bytes: Option<u64>,
    /// How it writes.
    pub writes: Writes,
}

/// How an application writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Writes {
    /// It always has more.
    #[default]
    Always,
    /// It always has more for a while, then nothing for a while, and so on.
    OnOff {
        /// How long it has data.
        on: Duration,
        /// How long it has none.
        off: Duration,
    },
    /// It writes a chunk now and then: a live stream. What cannot be sent yet waits.
    Paced {
        /// Mean rate of what it writes, bits per second.
        rate_bps: u64,
        /// From chunk to chunk; the first is written at the start.
        every: Duration,
    },
    /// It answers requests of `bytes` one after the other: the next comes half a round trip and `think` after
    /// the last byte arrived.
    Responses {
        /// Length of an answer.
        bytes: u64,
        /// From the arrival of an answer to the next request.
        think: Duration,
    },
}

/// Connections that come and go: a flow with this is a workload.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arrivals {
    /// New flows per second on average, thousandths; arrivals are a Poisson process.
    pub per_s_milli: u64,
    /// What each of them sends.
    pub sizes: Sizes,
}

/// A distribution of sizes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sizes {
    /// Its name, or its file's, as it was written.
    pub name: String,
    /// Bytes, and the share of sizes up to there in billionths: both grow, the last share is the whole.
    /// Between two points sizes are spread evenly; the first point's share has the first point's size.
    pub cdf: Arc<[(u64, u64)]>,
}

/// What `write_every` is if only `write_rate` is given.
const WRITE_EVERY: Duration = Duration::from_secs(1);
/// A petabyte: more than any run can send.
const MOST_BYTES: u64 = 1_000_000_000_000_000;

#[rustfmt::skip]
pub(crate) const KEYS: &[Key] = &[
    Key::flow("size", SIZE, field!(Flow, traffic.size_bytes),
        "What the application sends in all; its completion time is reported. The simulator sends whole \
         packets of 1448 bytes.")
        .range(1, MOST_BYTES).or("without end"),
    Key::flow("on", TIME, ON,
        "The application has data for this long, then none for `off`, and so on from the start.")
        .range(MS, DAY).or("always").example("\"2s\"")
        .related(&[Relation::Needs("off"), Relation::Excludes("write_rate"), Relation::Excludes("size")]),
    Key::flow("off", TIME, OFF, "See `on`.")
        .range(MS, DAY).or("never").example("\"2s\"").related(&[Relation::Needs("on")]),
    Key::flow("write_rate", RATE, WRITE_RATE,
        "The application writes at this mean rate, a chunk every `write_every`: a live stream. What cannot \
         be sent yet waits.")
        .range(1_000, 400_000_000_000).or("as fast as it goes").example("\"5mbit\""),
    Key::flow("write_every", TIME, WRITE_EVERY_KEY, "See `write_rate`.")
        .range(MS, DAY).or("1s").related(&[Relation::Needs("write_rate")]),
    Key::flow("response", SIZE, RESPONSE,
        "The application answers requests with this much, one after the other; the first comes at the start.")
        .range(1, MOST_BYTES).or("no requests").example("\"10kB\"")
        .related(&[Relation::Excludes("size"), Relation::Excludes("on"), Relation::Excludes("write_rate")])
        .simulator_only(),
    Key::flow("think", TIME, THINK,
        "From the arrival of a whole `response` to the next request, which then travels to the sender.")
        .range(0, DAY).or("0s").related(&[Relation::Needs("response")]).simulator_only(),
    Key::flow("arrivals", Kind::Quantity(Dimension::Frequency), option!(Flow, arrivals: per_s_milli),
        "It is a workload: connections arrive from `start` to `stop` at random, this many per second on \
         average (a Poisson process).")
        .range(1, 1_000_000_000).or("it is one connection")
        .related(&[
            Relation::Needs("sizes"), Relation::Excludes("size"), Relation::Excludes("on"),
            Relation::Excludes("write_rate"), Relation::Excludes("response"), Relation::Excludes("count"),
        ])
        .simulator_only(),
    Key::flow("sizes", Kind::Sizes, SIZES,
        "What each connection of a workload sends: `websearch`, `datamining`, `pareto`, or a file with two \
         columns, bytes and the share (0 to 1) of sizes up to there, both growing; sizes are spread evenly \
         between two lines.")
        .range(1, 4096).or("must be given with `arrivals`").related(&[Relation::Needs("arrivals")])
        .simulator_only(),
];

const WRITE_RATE: Lens = access!(
    Flow,
    |flow| match &flow.traffic.writes {
        Writes::Paced { rate_bps, .. } => rate_bps.value(),
        _ => None,
    },
    |flow, value, given| {
        let every = given.time("write_every").unwrap_or(WRITE_EVERY);
        flow.traffic.writes = Writes::Paced { rate_bps: value.number(), every };
    }
);
/// Set with `write_rate`.
const WRITE_EVERY_KEY: Lens = access!(
    Flow,
    |flow| match &flow.traffic.writes {
        Writes::Paced { every, .. } => every.value(),
        _ => None,
    },
    |_, _, _| {}
);
const RESPONSE: Lens = access!(
    Flow,
    |flow| match &flow.traffic.writes {
        Writes::Responses { bytes, .. } => bytes.value(),
        _ => None,
    },
    |flow, value, given| {
        let think = given.time("think").unwrap_or_default();
        flow.traffic.writes = Writes::Responses { bytes: value.number(), think };
    }
);
/// Set with `response`.
const THINK: Lens = access!(
    Flow,
    |flow| match &flow.traffic.writes {
        Writes::Responses { think, .. } if !think.is_zero() => think.value(),
        _ => None,
    },
    |_, _, _| {}
);
const SIZES: Lens = option!(Flow, arrivals: sizes);
const ON: Lens = access!(Flow, |flow| on_off(flow)?.0.value(), |flow, value, _| {
    set_on_off(flow, |on, _| on.set(value));
});
const OFF: Lens = access!(Flow, |flow| on_off(flow)?.1.value(), |flow, value, _| {
    set_on_off(flow, |_, off| off.set(value));
});

impl Field for Sizes {
    fn value(&self) -> Option<Value> {
        Some(Value::Sizes(self.clone()))
    }
    fn set(&mut self, value: Value) {
        if let Value::Sizes(sizes) = value {
            *self = sizes;
        }
    }
}

fn on_off(flow: &Flow) -> Option<(Duration, Duration)> {
    match flow.traffic.writes {
        Writes::OnOff { on, off } => Some((on, off)),
        _ => None,
    }
}

fn set_on_off(flow: &mut Flow, set: impl FnOnce(&mut Duration, &mut Duration)) {
    let (mut on, mut off) = on_off(flow).unwrap_or_default();
    set(&mut on, &mut off);
    flow.traffic.writes = Writes::OnOff { on, off };
}
