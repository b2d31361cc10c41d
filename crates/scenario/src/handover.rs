//! Handovers of a link: a satellite in a low orbit, whose capacity and delay change in steps.

use std::time::Duration;

use crate::fault::Complaint;
use crate::field::Field;
use crate::key::{RATE, Relation, S, TIME};
use crate::quantity::{self, Dimension, show_time};
use crate::row::{Access, Row, option};

/// Handovers of a link: it changes at multiples of a time, and is constant in between.
///
/// Measured on Starlink by Mohan et al., "A Multifaceted Look at Starlink Performance" (WWW 2024, controlled
/// experiments): paths are reallocated every 15 s for all users at once. Latency and throughput are about
/// constant within such an interval and differ from one interval to the next; between two intervals the
/// connection breaks for less than a second. The paper calls this a reconfiguration: it comes without a
/// change of the satellite, too. The paper gives no distribution for a client, so values are drawn uniformly
/// here; the paper's ranges, 36 to 48 ms and 50 to 100 Mbit/s, are those over countries and clients. Changes
/// of the delay within an interval, by the movement of the satellite, are left out, and so is loss other than
/// by a full queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Handover {
    /// Time from one handover to the next; the first handover is this long after the start of the run.
    pub every: Duration,
    /// Least rate, bits per second: after each handover, the link has a random rate from this to its own
    /// rate; `None`: its own rate.
    pub rate_bps: Option<u64>,
    /// Largest extra delay: after each handover, packets take a random time from 0 to this longer. Until the
    /// first handover the extra delay is 0.
    pub delay: Duration,
    /// Length of the outage at each handover: nothing is sent.
    pub outage: Duration,
}

impl Handover {
    fn blank() -> Self {
        Self::default()
    }

    /// Checks the handovers against the rate of their link. If they do not go together, returns the key that
    /// this is about, and why.
    pub(crate) fn check(self, link_bps: u64) -> Option<(&'static str, Complaint)> {
        let Self { every, rate_bps, delay, outage } = self;
        if let Some(rate_bps) = rate_bps.filter(|rate_bps| *rate_bps > link_bps) {
            let rate = quantity::show(rate_bps, Dimension::Rate);
            let message = format!("after a handover the link would have {rate}, more than `rate`");
            let help = "write a `handover_rate` of at most `rate`: the link has a rate between them";
            return Some(("handover_rate", Complaint::impossible(message, help)));
        }
        if outage >= every {
            let (outage, every) = (show_time(outage), show_time(every));
            let message = format!("outages of {outage} at handovers every {every} leave no time to send");
            return Some(("handover_outage", Complaint::impossible(message, "write a shorter outage")));
        }
        (rate_bps.is_none() && delay.is_zero() && outage.is_zero()).then(|| {
            let message = "nothing changes at a handover".to_owned();
            let help = "write `handover_rate`, `handover_delay` or `handover_outage`, too";
            ("handover_every", Complaint::impossible(message, help))
        })
    }
}

#[rustfmt::skip]
pub(crate) const KEYS: &[Row<Option<Handover>>] = &[
    Row::link("handover_every", TIME, option!(Handover, every),
        "The link changes at multiples of this time, as that to a satellite in a low orbit: 15 s on Starlink \
         (Mohan et al., WWW 2024). What it changes to is random, and uniformly distributed.")
        .range(S, 3600 * S).or("no handovers").example("\"15s\"")
        .related(&[
            Relation::Excludes("trace"), Relation::Excludes("rate_at"), Relation::Excludes("burst"),
        ]),
    Row::link("handover_rate", RATE, option!(Handover, rate_bps),
        "After each handover the link has a rate from this to `rate`.")
        .range(1_000, 400_000_000_000).or("the rate stays").example("\"50mbit\"")
        .related(&[Relation::Needs("handover_every")]),
    Row::link("handover_delay", TIME, DELAY,
        "After each handover packets take from 0 to this longer behind the link, until the next; the order \
         stays. Before the first they take no longer.")
        .range(0, 10 * S).or("the delay stays").example("\"12ms\"")
        .related(&[Relation::Needs("handover_every"), Relation::Excludes("reorders")]),
    Row::link("handover_outage", TIME, OUTAGE,
        "At each handover nothing leaves the link for this long; packets wait, unless `outages` says more.")
        .range(0, 3600 * S).or("no outage").example("\"100ms\"")
        .related(&[Relation::Needs("handover_every")]),
];

/// Access to the extra delay, which is not written when it is zero.
const DELAY: Access<Option<Handover>> = Access {
    get: |handover| handover.as_ref().filter(|handover| !handover.delay.is_zero())?.delay.value(),
    ..option!(Handover, delay)
};
/// Access to the length of the outage, which is not written when it is zero.
const OUTAGE: Access<Option<Handover>> = Access {
    get: |handover| handover.as_ref().filter(|handover| !handover.outage.is_zero())?.outage.value(),
    ..option!(Handover, outage)
};
