//! What applications send, and when: one connection, or a workload of connections that arrive and end.

use std::time::Duration;

use crate::field::Field;
use crate::files::{MOST_SIZE_BYTES, Sizes};
use crate::key::{DAY, Kind, MS, RATE, Relation, SIZE, TIME};
use crate::quantity::Dimension;
use crate::row::{Access, Row, field, option};

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrivals {
    /// New flows per second on average, thousandths; arrivals are a Poisson process.
    pub per_s_milli: u64,
    /// What each of them sends.
    pub sizes: Sizes,
}

impl Arrivals {
    fn blank() -> Self {
        Arrivals { per_s_milli: 0, sizes: Sizes { name: String::new(), cdf: [].into() } }
    }
}

/// What `write_every` is if only `write_rate` is given.
pub(crate) const WRITE_EVERY: Duration = Duration::from_secs(1);

#[rustfmt::skip]
pub(crate) const KEYS: &[Row<Traffic>] = &[
    Row::flow("size", SIZE, field!(Traffic, size_bytes),
        "What the application sends in all; its completion time is reported. The simulator sends whole \
         packets of 1448 bytes.")
        .range(1, MOST_SIZE_BYTES).or("without end"),
    Row::flow("on", TIME, ON,
        "The application has data for this long, then none for `off`, and so on from the start.")
        .range(MS, DAY).or("always").example("\"2s\"")
        .related(&[Relation::Needs("off"), Relation::Excludes("write_rate"), Relation::Excludes("size")]),
    Row::flow("off", TIME, OFF, "See `on`.")
        .range(MS, DAY).or("never").example("\"2s\"").related(&[Relation::Needs("on")]),
    Row::flow("write_rate", RATE, WRITE_RATE,
        "The application writes at this mean rate, a chunk every `write_every`: a live stream. What cannot \
         be sent yet waits.")
        .range(1_000, 400_000_000_000).or("as fast as it goes").example("\"5mbit\""),
    Row::flow("write_every", TIME, WRITE_EVERY_KEY, "See `write_rate`.")
        .range(MS, DAY).optional().related(&[Relation::Needs("write_rate")]),
    Row::flow("response", SIZE, RESPONSE,
        "The application answers requests with this much, one after the other; the first comes at the start.")
        .range(1, MOST_SIZE_BYTES).or("no requests").example("\"10kB\"")
        .related(&[Relation::Excludes("size"), Relation::Excludes("on"), Relation::Excludes("write_rate")])
        .simulator_only(),
    Row::flow("think", TIME, THINK,
        "From the arrival of a whole `response` to the next request, which then travels to the sender.")
        .range(0, DAY).or("0s").related(&[Relation::Needs("response")]).simulator_only(),
];

#[rustfmt::skip]
pub(crate) const ARRIVAL_KEYS: &[Row<Option<Arrivals>>] = &[
    Row::flow("arrivals", Kind::Quantity(Dimension::Frequency), option!(Arrivals, per_s_milli),
        "It is a workload: connections arrive from `start` to `stop` at random, this many per second on \
         average (a Poisson process).")
        .range(1, 1_000_000_000).or("it is one connection")
        .related(&[
            Relation::Needs("sizes"), Relation::Excludes("size"), Relation::Excludes("on"),
            Relation::Excludes("write_rate"), Relation::Excludes("response"), Relation::Excludes("count"),
        ])
        .simulator_only(),
    Row::flow("sizes", Kind::Sizes, option!(Arrivals, sizes),
        "What each connection of a workload sends: `websearch`, `datamining`, `pareto`, or a file with two \
         columns, bytes and the share (0 to 1) of sizes up to there, both growing; sizes are spread evenly \
         between two lines.")
        .range(1, 4096).or("must be given with `arrivals`").related(&[Relation::Needs("arrivals")])
        .simulator_only(),
];

const WRITE_RATE: Access<Traffic> = Access {
    get: |traffic| match &traffic.writes {
        Writes::Paced { rate_bps, .. } => rate_bps.value(),
        _ => None,
    },
    set: |traffic, value, given| {
        let every = given.time("write_every").unwrap_or(WRITE_EVERY);
        traffic.writes = Writes::Paced { rate_bps: value.number(), every };
    },
};
/// Set with `write_rate`.
const WRITE_EVERY_KEY: Access<Traffic> = Access {
    get: |traffic| match &traffic.writes {
        Writes::Paced { every, .. } => every.value(),
        _ => None,
    },
    set: |_, _, _| {},
};
const RESPONSE: Access<Traffic> = Access {
    get: |traffic| match &traffic.writes {
        Writes::Responses { bytes, .. } => bytes.value(),
        _ => None,
    },
    set: |traffic, value, given| {
        let think = given.time("think").unwrap_or_default();
        traffic.writes = Writes::Responses { bytes: value.number(), think };
    },
};
/// Set with `response`.
const THINK: Access<Traffic> = Access {
    get: |traffic| match &traffic.writes {
        Writes::Responses { think, .. } if !think.is_zero() => think.value(),
        _ => None,
    },
    set: |_, _, _| {},
};
const ON: Access<Traffic> = Access {
    get: |traffic| on_off(traffic)?.0.value(),
    set: |traffic, value, _| set_on_off(traffic, |on, _| on.set(value)),
};
const OFF: Access<Traffic> = Access {
    get: |traffic| on_off(traffic)?.1.value(),
    set: |traffic, value, _| set_on_off(traffic, |_, off| off.set(value)),
};

fn on_off(traffic: &Traffic) -> Option<(Duration, Duration)> {
    match traffic.writes {
        Writes::OnOff { on, off } => Some((on, off)),
        _ => None,
    }
}

fn set_on_off(traffic: &mut Traffic, set: impl FnOnce(&mut Duration, &mut Duration)) {
    let (mut on, mut off) = on_off(traffic).unwrap_or_default();
    set(&mut on, &mut off);
    traffic.writes = Writes::OnOff { on, off };
}
