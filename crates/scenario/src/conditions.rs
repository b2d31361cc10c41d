//! What a link does beside queueing, and what a flow does beside sending all the time.

use std::time::Duration;

use crate::quantity::show_time;

/// Random loss on a link's line, behind its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loss {
    /// Share of packets lost, billionths; 0: none.
    pub ppb: u64,
    /// Losses come in bursts; `None`: independently of each other.
    pub burst: Option<Burst>,
}

/// Bad periods of a line: a Gilbert model; with losses outside of them, Gilbert and Elliott's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// Mean length of a bad period, packets; at least 1.
    pub pkts: u64,
    /// Share of packets lost in it, billionths.
    pub ppb: u64,
    /// Share of packets lost outside of it, billionths (Elliott); less than the mean.
    pub outside_ppb: u64,
}

/// What the simulator shows a flow's algorithm of packets that were sent, and of losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum View {
    /// All that the sender knows.
    #[default]
    Exact,
    /// What a stock Linux kernel can tell.
    Kernel,
}

impl View {
    /// The names of all of them, as they are written.
    pub(crate) const NAMES: &[&str] = &["exact", "kernel"];

    /// As it is written.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        [View::Exact, View::Kernel].into_iter().find(|view| view.name() == name)
    }
}

/// Billionths in a whole.
pub const WHOLE_PPB: u64 = 1_000_000_000;

impl Loss {
    /// Does a Gilbert model with these values exist? If not, what is in the way and what to write.
    pub(crate) fn check(&self) -> Result<(), (String, String)> {
        let Loss { ppb, burst: Some(burst) } = *self else { return Ok(()) };
        let percent = |ppb: u64| format!("{}%", ppb as f64 / 1e7);
        if ppb == 0 {
            return Err((
                "bursts of loss are given, but no loss".into(),
                "write `loss` too, as in loss = \"1%\"".into(),
            ));
        }
        if ppb >= burst.ppb {
            return Err((
                format!(
                    "{} of all packets cannot be lost if bursts lose {}",
                    percent(ppb),
                    percent(burst.ppb)
                ),
                "write a `loss` below `loss_in_burst`".into(),
            ));
        }
        if burst.outside_ppb >= ppb {
            return Err((
                format!(
                    "{} of all packets cannot be lost if {} are outside of bursts",
                    percent(ppb),
                    percent(burst.outside_ppb)
                ),
                "write a `loss_outside_burst` below `loss`".into(),
            ));
        }
        // good periods last burst.pkts x (1 - p) / p packets on average, p = (mean - good) / (bad - good) being the share of bad ones
        if ppb - burst.outside_ppb > burst.pkts.saturating_mul(burst.ppb - ppb) {
            return Err((
                format!("bursts of {} packets would have less than a packet between them", burst.pkts),
                "write a larger `loss_burst` or a smaller `loss`".into(),
            ));
        }
        Ok(())
    }
}

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
    /// It answers requests of `bytes` one after the other: the next comes half a round trip and `think` after the last byte arrived.
    Responses {
        /// Length of an answer.
        bytes: u64,
        /// From the arrival of an answer to the next request.
        think: Duration,
    },
}

/// A token bucket before a link's queue: what exceeds it is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// Rate at which it fills, bits per second.
    pub rate_bps: u64,
    /// What it holds, and holds at the start.
    pub burst_bytes: u64,
}

/// Packets of a flow that take longer than others, so that those sent later overtake them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reorder {
    /// Share of data packets, billionths.
    pub ppb: u64,
    /// How much longer they take.
    pub delay: Duration,
}

/// A value that changes in steps: from when on it holds, and the value.
pub type Steps<T> = Vec<(Duration, T)>;

/// Do the times of steps grow, from later than 0? If not, what is wrong and what to write.
pub(crate) fn in_order<T>(steps: &[(Duration, T)]) -> Result<(), (String, String)> {
    let help = "write the steps in order of time; what holds at the start is said by the key without `_at`";
    if steps.first().is_some_and(|(at, _)| at.is_zero()) {
        return Err(("the first step is at the start".into(), help.into()));
    }
    match steps.windows(2).find(|w| w[0].0 >= w[1].0) {
        Some(w) => Err((
            format!("the step at {} follows one at {}", show_time(w[1].0), show_time(w[0].0)),
            help.into(),
        )),
        None => Ok(()),
    }
}
