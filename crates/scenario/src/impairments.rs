//! Impairments of packets and ACKs besides queueing: changes of rate and RTT, policers, loss, delay, jitter,
//! reordering, duplication.

use std::time::Duration;

use crate::fault::Complaint;
use crate::field::{Field, words};
use crate::key::{Kind, MS, RATE, Relation, S, SHARE, SIZE, TIME};
use crate::quantity::{BurstLength, PACKET_BYTES, WHOLE_PPB, ns, show_time};
use crate::row::{Access, Row, field, option};

/// Random loss on a link's line, behind its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loss {
    /// Share of packets lost, billionths; 0: none.
    pub ppb: u64,
    /// Bursts of loss; `None`: losses are independent of each other.
    pub burst: Option<Burst>,
}

/// Bursts of loss: bad periods of a line (Gilbert's model), with losses outside of them (Gilbert and
/// Elliott's model).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// Mean length of a bad period.
    pub length: BurstLength,
    /// Share of packets lost in a bad period, billionths.
    pub inside_ppb: u64,
    /// Share of packets lost outside of bad periods, billionths (Elliott); less than the mean.
    pub outside_ppb: u64,
}

impl Default for Burst {
    /// Returns bad periods of one packet in which every packet is lost, and no loss outside of them.
    fn default() -> Self {
        Burst { length: BurstLength::Pkts(1), inside_ppb: WHOLE_PPB, outside_ppb: 0 }
    }
}

impl Burst {
    /// Checks the mean time of a bad period against its range. The range of a number of packets is checked
    /// with the key.
    pub(crate) fn check(&self) -> Result<(), Complaint> {
        let (least, most) = BurstLength::RANGE_NS;
        match self.length {
            BurstLength::Time(time) if !(least..=most).contains(&ns(time)) => {
                let message = format!("bursts of {} are out of the range of times", show_time(time));
                let help = format!("write a time from {}", BurstLength::time_range());
                Err(Complaint::new("out-of-range", message, help))
            }
            _ => Ok(()),
        }
    }
}

impl Loss {
    /// Checks that a Gilbert model with these values exists.
    pub(crate) fn check(&self) -> Result<(), Complaint> {
        let Loss { ppb, burst: Some(burst) } = *self else { return Ok(()) };
        let percent = |ppb: u64| format!("{}%", ppb as f64 / 1e7);
        // good periods last pkts x (1 - p) / p packets on average, p = (mean - good) / (bad - good) being the
        // share of bad ones; those of a time may be as short as they are
        let too_close =
            |pkts: u64| ppb - burst.outside_ppb > pkts.saturating_mul(burst.inside_ppb.saturating_sub(ppb));
        let (message, help) = if ppb == 0 {
            ("bursts of loss are given, but no loss".to_owned(), "write `loss` too, as in loss = \"1%\"")
        } else if ppb >= burst.inside_ppb {
            let (mean, inside) = (percent(ppb), percent(burst.inside_ppb));
            let message = format!("{mean} of all packets cannot be lost if bursts lose {inside}");
            (message, "write a `loss` below `loss_in_burst`")
        } else if burst.outside_ppb >= ppb {
            let (mean, outside) = (percent(ppb), percent(burst.outside_ppb));
            let message = format!("{mean} of all packets cannot be lost if {outside} are outside of bursts");
            (message, "write a `loss_outside_burst` below `loss`")
        } else if let BurstLength::Pkts(pkts) = burst.length
            && too_close(pkts)
        {
            let message = format!("bursts of {pkts} packets would have less than a packet between them");
            (message, "write a larger `loss_burst` or a smaller `loss`")
        } else {
            return Ok(());
        };
        Err(Complaint::impossible(message, help))
    }
}

/// A policer: a token bucket in front of a link's queue. Packets that exceed it are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// Rate at which the bucket fills, bits per second.
    pub rate_bps: u64,
    /// Size of the bucket, which is full at the start, bytes.
    pub burst_bytes: u64,
}

impl Policer {
    fn blank() -> Self {
        Policer { rate_bps: 0, burst_bytes: 0 }
    }
}

/// Packets of a flow that take longer than others, so that those sent later overtake them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reorder {
    /// Share of data packets that take longer, billionths.
    pub ppb: u64,
    /// Extra time that these packets take.
    pub delay: Duration,
}

impl Reorder {
    fn blank() -> Self {
        Reorder { ppb: 0, delay: Duration::ZERO }
    }
}

/// A value that changes in steps: each step is a time and the value that holds from then on.
pub type Steps<T> = Vec<(Duration, T)>;

/// Checks that the times of steps grow, from later than 0.
pub(crate) fn in_order<T>(steps: &[(Duration, T)]) -> Result<(), Complaint> {
    let message = if steps.first().is_some_and(|(at, _)| at.is_zero()) {
        "the first step is at the start".to_owned()
    } else if let Some(pair) = steps.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        format!("the step at {} follows one at {}", show_time(pair[1].0), show_time(pair[0].0))
    } else {
        return Ok(());
    };
    let help = "write the steps in order of time; what holds at the start is said by the key without `_at`";
    Err(Complaint::impossible(message, help))
}

/// The distribution of jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Distribution {
    /// Extra delays from 0 to the jitter, each as likely as any other.
    #[default]
    Uniform,
    /// Deviations from the delay in both directions, with the jitter as standard deviation.
    Normal,
}

words!(Distribution { Uniform = "uniform", Normal = "normal" });

/// The distribution of jitter, and how much the jitter of a packet depends on that of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JitterShape {
    /// The distribution of independent values.
    pub distribution: Distribution,
    /// Part that a value takes over from the one before, billionths.
    pub correlation_ppb: u64,
}

impl JitterShape {
    /// Largest deviation of a normal distribution, in standard deviations.
    pub const MOST_DEVIATIONS: u32 = 4;

    /// Returns the largest extra delay of a packet for this value of the key.
    #[must_use]
    pub fn most(&self, jitter: Duration) -> Duration {
        match self.distribution {
            Distribution::Uniform => jitter,
            Distribution::Normal => jitter.saturating_mul(Self::MOST_DEVIATIONS),
        }
    }
}

/// The line behind a link's queue: its propagation delay and its impairments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// Propagation delay of the line; part of a flow's RTT.
    pub delay: Duration,
    /// Largest extra delay of a packet, or standard deviation of its delay, by `jitter_shape`.
    pub jitter: Duration,
    /// The distribution and the correlation of the jitter.
    pub jitter_shape: JitterShape,
    /// True if packets may overtake each other by their jitter; otherwise they keep their order.
    pub reorders: bool,
    /// Share of packets that arrive twice, billionths.
    pub duplicate_ppb: u64,
    /// Mean extra delay of a packet on a crowded Wi-Fi channel, before the packet waits for those ahead;
    /// `None`: no Wi-Fi.
    pub wifi_jitter: Option<Duration>,
}

#[rustfmt::skip]
pub(crate) const POLICER_KEYS: &[Row<Option<Policer>>] = &[
    Row::link("policer_rate", RATE, option!(Policer, rate_bps),
        "A policer in front of the queue drops what exceeds this rate on the wire and `policer_burst`.")
        .range(1_000, 400_000_000_000).or("no policer").example("\"10mbit\"")
        .related(&[Relation::Needs("policer_burst")]),
    Row::link("policer_burst", SIZE, option!(Policer, burst_bytes),
        "Size of the policer's token bucket, which is full at the start.")
        .range(PACKET_BYTES, 16_000_000_000).or("must be given with `policer_rate`").example("\"100kB\"")
        .related(&[Relation::Needs("policer_rate")]),
];

#[rustfmt::skip]
pub(crate) const LOSS_KEYS: &[Row<Loss>] = &[
    Row::link("loss", SHARE, field!(Loss, ppb),
        "Share of the packets that are lost at random behind the queue, as by bit errors: each has used the \
         link.")
        .range(0, WHOLE_PPB).optional(),
    Row::link("loss_burst", Kind::BurstLength, option!(Loss, burst: length),
        "Losses come in bad periods of this mean length, with a good line between them. Of a time, \
         `\"17ms\"`: the line is bad for that long whatever is sent, as by fading or interference; also \
         the mean share of the time is `loss`. Of a number of packets, `17` (Gilbert's model): the next \
         packets are lost, be they sent in 17 ms or in an hour, so that a sender that backs off stays in \
         one burst; a run or mean that such a burst decides has a note. To repeat models by packets, or \
         for senders that never back off; else write a time, as of that many packets at the link's rate.")
        .range(1, 1_000_000).or("losses are independent of each other").example("\"17ms\""),
    Row::link("loss_in_burst", SHARE, option!(Loss, burst: inside_ppb),
        "Share of the packets that a bad period loses.")
        .range(1, WHOLE_PPB).optional().related(&[Relation::Needs("loss_burst")]),
    Row::link("loss_outside_burst", SHARE, LOSS_OUTSIDE_BURST,
        "Share of the packets that the good line between them loses (Elliott's model); less than `loss`.")
        .range(0, WHOLE_PPB).or("0%").related(&[Relation::Needs("loss_burst")]),
];

#[rustfmt::skip]
pub(crate) const LINE_KEYS: &[Row<Line>] = &[
    Row::link("delay", TIME, field!(Line, delay),
        "Propagation delay behind the link: part of the RTT of each flow that takes it.")
        .range(0, 10 * S).optional(),
    Row::link("jitter", TIME, field!(Line, jitter),
        "Extra delay of each packet behind the link, uniformly random from 0 to this, or by \
         `jitter_distribution`.")
        .range(0, 10 * S).optional().example("\"5ms\""),
    Row::link("jitter_distribution", Kind::Choice(Distribution::NAMES),
        field!(Line, jitter_shape.distribution),
        "`normal`: `delay` is the mean and `jitter` the standard deviation, as in `tc netem delay 100ms 10ms \
         distribution normal`. Values more than four deviations from the mean are drawn again, and none is \
         below 0; netem's table ends at four deviations, too. A packet waits for those ahead of it, unless \
         `reorders`.")
        .optional().related(&[Relation::Needs("jitter")]),
    Row::link("jitter_correlation", SHARE, field!(Line, jitter_shape.correlation_ppb),
        "Part `c` of the jitter that a packet takes over from the packet before, as in netem: c times the \
         last value and 1 - c times a new one. The mean stays, and the standard deviation is the root of \
         (1 - c) / (1 + c) of that without.")
        .range(0, 990_000_000).optional().example("\"25%\"").related(&[Relation::Needs("jitter")]),
    Row::link("reorders", Kind::Bool, field!(Line, reorders),
        "Packets may overtake each other by their `jitter`; otherwise they keep their order.")
        .optional().related(&[Relation::Needs("jitter")]),
    Row::link("duplicate", SHARE, field!(Line, duplicate_ppb), "Share of the packets that arrive twice.")
        .range(0, WHOLE_PPB).optional(),
    Row::link("wifi_jitter", TIME, field!(Line, wifi_jitter),
        "Extra delay of each packet behind the link, in order, as on Wi-Fi whose channel other networks use: \
         mostly milliseconds, and for some packets about 90 ms; for `1ms` there are none of these. About \
         this on average, before packets wait for those ahead (draft-huitema-ccwg-c4-test, \"Handling of \
         High Jitter Environments\").")
        .range(MS, 91 * MS).or("no Wi-Fi").example("\"7ms\"")
        .related(&[Relation::Excludes("jitter"), Relation::Excludes("handover_delay")]),
];

#[rustfmt::skip]
pub(crate) const REORDER_KEYS: &[Row<Option<Reorder>>] = &[
    Row::flow("reorder", SHARE, option!(Reorder, ppb),
        "Share of the data packets that take `reorder_delay` longer behind the links, so that others \
         overtake them.")
        .range(1, WHOLE_PPB).or("no packet is overtaken").related(&[Relation::Needs("reorder_delay")]),
    Row::flow("reorder_delay", TIME, option!(Reorder, delay), "See `reorder`.")
        .range(1_000, 10 * S).or("must be given with `reorder`").example("\"5ms\"")
        .related(&[Relation::Needs("reorder")]),
];

/// Access to the loss outside of bursts, which is not written when it is zero.
const LOSS_OUTSIDE_BURST: Access<Loss> = Access {
    get: |loss| loss.burst.as_ref().filter(|burst| burst.outside_ppb > 0)?.outside_ppb.value(),
    set: |loss, value, _| loss.burst.get_or_insert_default().outside_ppb.set(value),
};
