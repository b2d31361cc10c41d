//! Proportional integral controller enhanced: RFC 8033, as Linux has it (net/sched/sch_pie.c).
//!
//! Every so often the delay is compared with its target and with what it was; packets are dropped as they arrive, with a
//! probability that follows from both.
//!
//! Of what the RFC leaves open, Linux chooses: the delay is that of the last packet that left, by its time stamp (section 5.2), not
//! one estimated from the departure rate; drops are spread evenly (section 5.4); the burst allowance falls with the time between
//! departures, and the probability by 1/64 for each update without delay.

use super::{DropReason, MTU_BYTES, Ring, Sink, Waiting, mark};
use crate::{Limit, Nanos, Packet, Random, SECOND};

/// Settings of PIE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pie {
    /// The delay that it steers for.
    pub target_ns: Nanos,
    /// From one computation of the probability to the next; less than 1 ms is taken as 1 ms, about the least that Linux can do.
    pub update_ns: Nanos,
    /// Marks ECN-capable packets instead of dropping them while the probability is at most 10 %.
    pub ecn: bool,
}

const MS: Nanos = 1_000_000;
/// The probability changes by so much per second of delay beyond the target, and per second by which the delay has grown.
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// Below these probabilities both are divided by so much, RFC 8033 section 5.1: a small probability must not move in large steps.
const TUNING: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
/// From a probability of 10 % on no update adds more than this.
const MOST_STEP: f64 = 0.02;
/// Beyond this delay each update adds [`MOST_STEP`] in any case.
const MOST_DELAY: Nanos = 250 * MS;
/// Up to this probability packets are marked, above it they are dropped.
const MOST_MARKED: f64 = 0.1;
/// How long an idle queue may be bursty before anything is dropped.
const BURST: Nanos = 150 * MS;
/// Drops are spread: none before the probabilities since the last one sum up to this, and certainly one at that.
const NOT_BEFORE: f64 = 0.85;
const AT_LAST: f64 = 8.5;

/// What the probability depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Control {
    probability: f64,
    /// Probabilities of packets since the last drop, summed up.
    sum: f64,
    /// How long the last packet that left had waited; and what that was at the last update.
    delay: Nanos,
    delay_old: Nanos,
    /// What is left of the burst allowance.
    burst: Nanos,
    left_last: Option<Nanos>,
}

/// A queue under PIE.
#[derive(Debug, Clone)]
pub(super) struct PieQueue<T> {
    settings: Pie,
    ring: Ring<T>,
    control: Control,
    next_update: Nanos,
    random: Random,
}

impl<T> PieQueue<T> {
    pub(super) fn new(settings: Pie, limit: Limit, random: Random) -> Self {
        let update_ns = settings.update_ns.max(MS);
        let control =
            Control { probability: 0.0, sum: 0.0, delay: 0, delay_old: 0, burst: BURST, left_last: None };
        PieQueue {
            settings: Pie { update_ns, ..settings },
            ring: Ring::new(limit),
            control,
            next_update: update_ns,
            random,
        }
    }

    #[inline]
    pub(super) fn enqueue(
        &mut self,
        now: Nanos,
        mut packet: Packet<T>,
        sink: &mut impl Sink<T>,
    ) -> Result<(), (Packet<T>, DropReason)> {
        self.catch_up(now);
        let reason = if !self.ring.has_room(packet.bytes) {
            Some(DropReason::Full)
        } else if self.signals() {
            let may_mark = self.settings.ecn && self.control.probability <= MOST_MARKED;
            (!(may_mark && mark(&mut packet, sink))).then_some(DropReason::Early)
        } else {
            None
        };
        if let Some(reason) = reason {
            self.control.sum = 0.0;
            return Err((packet, reason));
        }
        self.ring.push(now, packet);
        Ok(())
    }

    #[inline]
    pub(super) fn dequeue(&mut self, now: Nanos, _: &mut impl Sink<T>) -> Option<Waiting<T>> {
        self.catch_up(now);
        let next = self.ring.pop()?;
        let control = &mut self.control;
        control.delay = if self.ring.len() == 0 { 0 } else { now - next.since };
        let since_last = control.left_last.map_or(0, |last| now - last);
        control.left_last = Some(now);
        control.burst = control.burst.saturating_sub(since_last);
        Some(next)
    }

    /// Is it an arriving packet's turn to be dropped or marked?
    #[inline]
    fn signals(&mut self) -> bool {
        let control = &mut self.control;
        let is_harmless = control.delay < self.settings.target_ns / 2 && control.probability < 0.2;
        if control.burst > 0 || is_harmless || self.ring.bytes < 2 * MTU_BYTES {
            return false;
        }
        control.sum = if control.probability > 0.0 { control.sum + control.probability } else { 0.0 };
        if control.sum < NOT_BEFORE {
            return false;
        }
        if control.sum >= AT_LAST {
            return true;
        }
        let signals = self.random.unit() < control.probability;
        if signals {
            control.sum = 0.0;
        }
        signals
    }

    /// Makes the updates that are due. Nothing that they depend on changes between a queue's events.
    #[inline]
    fn catch_up(&mut self, now: Nanos) {
        if now >= self.next_update {
            self.update(now);
        }
    }

    #[cold]
    fn update(&mut self, now: Nanos) {
        while self.next_update <= now {
            let before = self.control;
            self.control.update(self.settings.target_ns, self.ring.bytes);
            self.next_update = self.next_update.saturating_add(self.settings.update_ns);
            if self.control == before && self.next_update <= now {
                // nor will further ones change anything
                let further = (now - self.next_update) / self.settings.update_ns + 1;
                self.next_update =
                    self.next_update.saturating_add(further.saturating_mul(self.settings.update_ns));
            }
        }
    }

    pub(super) fn backlog_bytes(&self) -> u64 {
        self.ring.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }
}

impl Control {
    /// RFC 8033, section 4.2.
    fn update(&mut self, target_ns: Nanos, backlog_bytes: u64) {
        let seconds = |ns: Nanos| ns as f64 / SECOND as f64;
        let (delay, old) = (seconds(self.delay), seconds(self.delay_old));
        let divisor = TUNING.iter().find(|(below, _)| self.probability < *below).map_or(1.0, |t| t.1);
        let mut step = (ALPHA * (delay - seconds(target_ns)) + BETA * (delay - old)) / divisor;
        if self.probability >= 0.1 {
            step = step.min(MOST_STEP);
        }
        if self.delay > MOST_DELAY {
            step += MOST_STEP;
        }
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        if self.delay == 0 && self.delay_old == 0 && backlog_bytes == 0 {
            self.probability -= self.probability / 64.0;
        }
        if self.probability == 0.0 && self.delay.max(self.delay_old) < target_ns / 2 {
            (self.burst, self.sum, self.left_last) = (BURST, 0.0, None);
        }
        self.delay_old = self.delay;
    }
}
