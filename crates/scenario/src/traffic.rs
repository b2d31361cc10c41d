//! Traffic of applications: one connection, or a workload of connections that arrive and end.

use std::time::Duration;

use crate::field::Field;
use crate::files::{MOST_SIZE_BYTES, Sizes, TimeTable};
use crate::key::{DAY, Kind, MS, RATE, Relation, S, SHARE, SIZE, TIME};
use crate::media::Media;
use crate::quantity::{Dimension, WHOLE_PPB};
use crate::row::{Access, Row, field, option};
use crate::value::Value;

/// The data of an application, and when it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traffic {
    /// All bytes that the application writes; `None`: without end.
    pub size_bytes: Option<u64>,
    /// The pattern in which the application writes.
    pub writes: Writes,
}

impl Traffic {
    /// All bytes that the application writes, of which the last ends its transfer; `None`: without end.
    #[must_use]
    pub fn total_bytes(&self) -> Option<u64> {
        match &self.writes {
            Writes::Scheduled(table) => Some(table.rows.iter().map(|(_, bytes)| *bytes).sum()),
            _ => self.size_bytes,
        }
    }
}

/// Patterns in which an application writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Writes {
    /// The application always has more data.
    #[default]
    Always,
    /// The application has data for a while, then none for a while, and so on.
    OnOff {
        /// Time for which the application has data.
        on: Duration,
        /// Time for which the application has no data.
        off: Duration,
    },
    /// The application writes a chunk at intervals: a live stream. Data that cannot be sent yet waits.
    Paced {
        /// Mean rate of the data, bits per second.
        rate_bps: u64,
        /// Time from chunk to chunk; the first chunk is written at the start.
        every: Duration,
    },
    /// The application answers requests with `bytes` one after the other: the next request comes half a round
    /// trip and `think` after the arrival of the last byte.
    Responses {
        /// Length of an answer.
        bytes: u64,
        /// Time from the arrival of an answer to the next request.
        think: Duration,
    },
    /// The application writes given numbers of bytes at given times after its start, in ns. Each write begins
    /// a packet.
    Scheduled(TimeTable),
    /// The application is an encoder of audio or video: it writes frames, and each frame has a deadline.
    Frames(Media),
}

/// Arrivals of a workload: connections that start at random times and end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrivals {
    /// New flows per second on average, thousandths; arrivals are a Poisson process.
    pub per_s_milli: u64,
    /// Distribution of the sizes of these flows.
    pub sizes: Sizes,
}

impl Arrivals {
    fn blank() -> Self {
        Arrivals { per_s_milli: 0, sizes: Sizes { name: String::new(), cdf: [].into() } }
    }
}

/// Value of `write_every` if only `write_rate` is given.
pub(crate) const WRITE_EVERY: Duration = Duration::from_secs(1);

#[rustfmt::skip]
pub(crate) const KEYS: &[Row<Traffic>] = &[
    Row::flow("size", SIZE, field!(Traffic, size_bytes),
        "What the application sends in all; its completion time is reported. The simulator sends whole \
         packets, of 1448 bytes with an `mtu` of 1500.")
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
        "The application answers requests with this much, one after the other; the first comes at the start. \
         On the testbed a request is a packet with one byte of data; the simulator has no such packet.")
        .range(1, MOST_SIZE_BYTES).or("no requests").example("\"10kB\"")
        .related(&[Relation::Excludes("size"), Relation::Excludes("on"), Relation::Excludes("write_rate")]),
    Row::flow("think", TIME, THINK,
        "From the arrival of a whole `response` to the next request, which then travels to the sender.")
        .range(0, DAY).or("0s").related(&[Relation::Needs("response")]),
    Row::flow("writes", Kind::Steps(Dimension::Size), WRITES,
        "The application writes this much at these times after `start`, and no more: `0s 100kB, 50ms 20kB`. \
         What cannot be sent yet waits. The simulator sends whole packets; each write begins one. The \
         completion time of all is reported.")
        .range(1, MOST_SIZE_BYTES).or("as fast as it goes").example("\"0s 100kB, 50ms 20kB\"")
        .related(WRITES_ALONE),
    Row::flow("write_trace", Kind::TimeTable(Dimension::Size), WRITE_TRACE,
        "`writes` from a file with two columns: seconds after `start`, which grow, and bytes. `#` begins a \
         comment.")
        .range(1, 4096).or("`writes`").example("\"traces/writes.txt\"").related(WRITE_TRACE_ALONE),
];

const WRITES_ALONE: &[Relation] = &[
    Relation::Excludes("size"),
    Relation::Excludes("on"),
    Relation::Excludes("write_rate"),
    Relation::Excludes("response"),
    Relation::Excludes("arrivals"),
    Relation::Excludes("media_rate"),
];
const WRITE_TRACE_ALONE: &[Relation] = &[
    Relation::Excludes("writes"),
    Relation::Excludes("size"),
    Relation::Excludes("on"),
    Relation::Excludes("write_rate"),
    Relation::Excludes("response"),
    Relation::Excludes("arrivals"),
    Relation::Excludes("media_rate"),
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

/// Access to a field of [`Media`], which is not written at its default. A value makes the application an
/// encoder; the relations of the keys require the encoder's rate.
macro_rules! media {
    ($field:ident) => {
        Access {
            get: |traffic: &Traffic| {
                let usual = Media::default().$field;
                media(traffic).filter(|media| media.$field != usual)?.$field.value()
            },
            set: |traffic: &mut Traffic, value, _| {
                let mut media = media(traffic).unwrap_or_default();
                media.$field.set(value);
                traffic.writes = Writes::Frames(media);
            },
        }
    };
}

/// Keys of an encoder. The canonical form prints these keys after those of `arrivals`. The order is part of
/// the hash.
#[rustfmt::skip]
pub(crate) const MEDIA_KEYS: &[Row<Traffic>] = &[
    Row::flow("media_rate", RATE, MEDIA_RATE,
        "The application is an encoder of audio or video (RFC 8593): it writes `frames` at this mean rate, \
         and each has a `deadline`. With `cc = \"none\"` a frame leaves at once, in UDP packets of RTP of up \
         to `mtu` bytes, and is never repeated; else it waits for TCP, in whole packets. Results have \
         `media`.")
        .range(1_000, 100_000_000).or("no audio or video").example("\"1mbit\"")
        .related(&[
            Relation::Excludes("size"), Relation::Excludes("on"), Relation::Excludes("write_rate"),
            Relation::Excludes("response"), Relation::Excludes("arrivals"),
        ])
        .simulator_only(),
    Row::flow("frames", Kind::Quantity(Dimension::Frequency), media!(per_s_milli),
        "Frames of `media_rate` per second, at exact intervals from the start: 50 for audio in packets of \
         20 ms.")
        .range(5_000, 1_000_000).or("30/s").related(&[Relation::Needs("media_rate")]).simulator_only(),
    Row::flow("frame_deviation", SHARE, media!(deviation_ppb),
        "Scale of the Laplace distribution of the sizes of frames, as a part of the size and at most the \
         whole size: `0%` for audio.")
        .range(0, WHOLE_PPB).or("15%").related(&[Relation::Needs("media_rate")]).simulator_only(),
    Row::flow("key_every", Kind::Integer, media!(key_every),
        "The first frame and every one of this number after it is a key frame, which has `key_weight` times \
         the bytes; the mean rate stays.")
        .range(1, 10_000).or("no key frames").example("30").related(&[Relation::Needs("media_rate")])
        .simulator_only(),
    Row::flow("key_weight", Kind::Integer, KEY_WEIGHT,
        "See `key_every`. In RFC 8593 the first frame of a burst has about three times the bytes of others.")
        .range(1, 20).or("3").related(&[Relation::Needs("key_every")]).simulator_only(),
    Row::flow("deadline", TIME, media!(deadline),
        "A frame of `media_rate` is late if its last packet arrives later than this after it was written: \
         the playout buffer waits no longer. Up to 150 ms of one-way delay are acceptable to most users of \
         a conversation (ITU-T G.114).")
        .range(MS, 10 * S).or("150ms").related(&[Relation::Needs("media_rate")]).simulator_only(),
];

/// Access to the encoder's rate, which is always written.
const MEDIA_RATE: Access<Traffic> =
    Access { get: |traffic| media(traffic)?.rate_bps.value(), ..media!(rate_bps) };
/// Access to the weight of a key frame, which is not written without key frames.
const KEY_WEIGHT: Access<Traffic> = Access {
    get: |traffic| {
        let has_any = |media: &Media| media.key_every > 0;
        let usual = Media::default().key_weight;
        media(traffic).filter(has_any).filter(|media| media.key_weight != usual)?.key_weight.value()
    },
    ..media!(key_weight)
};

fn media(traffic: &Traffic) -> Option<Media> {
    match traffic.writes {
        Writes::Frames(media) => Some(media),
        _ => None,
    }
}

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
/// Access to `write_every`, which is set with `write_rate`.
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
/// Access to the writes that the scenario itself has.
const WRITES: Access<Traffic> = Access {
    get: |traffic| scheduled(traffic)?.steps().map(Value::Steps),
    set: |traffic, value, _| match value {
        Value::Steps(steps) => traffic.writes = Writes::Scheduled(TimeTable::inline(steps)),
        other => other.is_of_another_kind(),
    },
};
/// Access to the writes that a file has.
const WRITE_TRACE: Access<Traffic> = Access {
    get: |traffic| scheduled(traffic).filter(|table| table.is_file()).cloned().map(Value::TimeTable),
    set: |traffic, value, _| match value {
        Value::TimeTable(table) => traffic.writes = Writes::Scheduled(table),
        other => other.is_of_another_kind(),
    },
};

fn scheduled(traffic: &Traffic) -> Option<&TimeTable> {
    match &traffic.writes {
        Writes::Scheduled(table) => Some(table),
        _ => None,
    }
}

/// Access to `think`, which is set with `response`.
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
