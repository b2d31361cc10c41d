//! The rate of a cellular link: a random walk with outages.

use std::time::Duration;

use crate::key::{MS, Relation, S, SHARE, TIME};
use crate::row::{Access, Row, option};

/// The rate of a cellular link, which is random and differs from one seed to the next.
///
/// The logarithm of the rate is an autoregressive process of the first order: a random walk that returns to
/// its mean, so that rates have a log-normal distribution. Winstein et al., "Stochastic Forecasts Achieve
/// High Throughput and Low Delay over Cellular Networks" (NSDI 2013), model the rate of cellular links as a
/// random walk with outages, too. `docs/notes/cellular.md` has the same statistics of recorded links.
///
/// The mean rate over the run, outages included, is exactly that of the link: each seed offers equally many
/// bytes. Packets wait during an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cellular {
    /// Standard deviation of the rate outside of outages, as a part of its mean, billionths.
    pub spread_ppb: u64,
    /// The time after which the autocorrelation of the rate's logarithm has fallen to 1/e.
    pub memory: Duration,
    /// Mean length of an outage; `None`: no outages.
    pub outage: Option<Duration>,
    /// Mean time from the end of an outage to the next outage; `None`: no outages.
    pub outage_every: Option<Duration>,
}

impl Cellular {
    /// Default of `cellular_memory`: the autocorrelation of a recorded link falls to 1/e after 1 to 4 s
    /// (`docs/notes/cellular.md`).
    pub const MEMORY: Duration = Duration::from_secs(2);

    fn blank() -> Self {
        Self { spread_ppb: 0, memory: Self::MEMORY, outage: None, outage_every: None }
    }
}

#[rustfmt::skip]
pub(crate) const KEYS: &[Row<Option<Cellular>>] = &[
    Row::link("cellular_spread", SHARE, option!(Cellular, spread_ppb),
        "The rate varies at random, as that of a cellular link: each 100 ms it has another value, whose \
         logarithm is a random walk that returns to its mean. This is the standard deviation of the rate as \
         a part of its mean. The mean over the run is exactly `rate`, with each seed.")
        .range(10_000_000, 3_000_000_000).or("the rate does not vary").example("\"85%\"")
        .related(&[
            Relation::Excludes("trace"), Relation::Excludes("rate_at"), Relation::Excludes("burst"),
            Relation::Excludes("handover_every"),
        ]),
    Row::link("cellular_memory", TIME, MEMORY,
        "After this time the autocorrelation of the logarithm of the cellular rate has fallen to 1/e.")
        .range(10 * MS, 3600 * S).or("2 s").example("\"2s\"")
        .related(&[Relation::Needs("cellular_spread")]),
    Row::link("cellular_outage", TIME, option!(Cellular, outage),
        "Mean length of outages, in which nothing leaves the link and packets wait. Lengths are multiples of \
         100 ms, at random: each is followed by another 100 ms with the same probability.")
        .range(100 * MS, 3600 * S).or("no outages").example("\"600ms\"")
        .related(&[Relation::Needs("cellular_spread"), Relation::Needs("cellular_outage_every")]),
    Row::link("cellular_outage_every", TIME, option!(Cellular, outage_every),
        "Mean time from the end of an outage to the next outage, which begins at random.")
        .range(100 * MS, 3600 * S).or("no outages").example("\"10s\"")
        .related(&[Relation::Needs("cellular_outage")]),
];

/// Access to the memory, which is not written at its default.
const MEMORY: Access<Option<Cellular>> = Access {
    get: |cellular| {
        let memory = cellular.as_ref()?.memory;
        (memory != Cellular::MEMORY).then(|| crate::field::Field::value(&memory))?
    },
    ..option!(Cellular, memory)
};
