//! PIE, proportional integral controller enhanced (RFC 8033), as in Linux (net/sched/sch_pie.c).
//!
//! At regular times PIE compares the delay with its target and with the delay before. The two differences
//! give the probability with which arriving packets are dropped.
//!
//! Where the RFC leaves a choice, this file follows Linux: the delay is the waiting time of the last packet
//! that left, by its time stamp (section 4.3), not an estimate from the departure rate; drops are spread
//! evenly (section 5.4); the burst allowance falls with the time between departures; the probability decays
//! by 1/64 per update without delay.

use fairpace_scenario::Random;

use super::ring::{DropReason, MTU_BYTES, Ring, Sink, Waiting, mark};
use crate::packet::Packet;
use crate::time::{MS, Nanos, SECOND};
use fairpace_scenario::{Limit, Pie};

// Change of the probability per second of delay beyond the target (alpha), and per second by which the delay
// has grown (beta).
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// Steps of the tuning: below each probability, alpha and beta are divided by the number beside it (RFC 8033,
/// section 4.2). A small probability must not change in large steps.
const TUNING: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
/// Most that an update adds from a probability of 10 % on.
const MOST_STEP: f64 = 0.02;
/// Delay above which each update adds [`MOST_STEP`].
const MOST_DELAY: Nanos = 250 * MS;
/// Largest probability at which packets are marked; above it they are dropped.
const MOST_MARKED: f64 = 0.1;
/// Time for which a queue that was idle accepts bursts without drops.
const BURST: Nanos = 150 * MS;
// Drops are spread: there is none before the probabilities since the last one sum up to the first value, and
// certainly one at the second.
const NOT_BEFORE: f64 = 0.85;
const AT_LAST: f64 = 8.5;

/// The state of the controller.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Control {
    probability: f64,
    /// Sum of the probabilities of the packets since the last drop.
    sum: f64,
    /// Waiting time of the last packet that left, and the waiting time known at the last update.
    delay: Nanos,
    delay_old: Nanos,
    /// The rest of the burst allowance.
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

    /// Returns whether an arriving packet must be dropped or marked.
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

    /// Performs the updates that are due. The inputs of an update do not change between events of a queue.
    #[inline]
    fn catch_up(&mut self, now: Nanos) {
        if now >= self.next_update && self.next_update < Nanos::MAX {
            self.update(now);
        }
    }

    #[cold]
    fn update(&mut self, now: Nanos) {
        let every = self.settings.update_ns;
        let mut due = (now - self.next_update) / every + 1;
        self.next_update = self.next_update.saturating_add(due.saturating_mul(every));
        while due > 0 {
            let before = self.control;
            self.control.update(self.settings.target_ns, self.ring.bytes);
            // an update that changes nothing makes further ones superfluous
            due = if self.control == before { 0 } else { due - 1 };
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
    /// Performs an update: RFC 8033, section 4.2.
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

#[cfg(test)]
mod tests {
    use super::super::testing::{Recorded, packet};
    use super::*;
    use fairpace_results::observer::EcnField;

    const RFC: Pie = Pie { target_ns: 15 * MS, update_ns: 15 * MS, ecn: false };

    fn control(probability: f64, delay_ms: u64, delay_old_ms: u64) -> Control {
        Control {
            probability,
            sum: 0.0,
            delay: delay_ms * MS,
            delay_old: delay_old_ms * MS,
            burst: 0,
            left_last: Some(0),
        }
    }

    /// Returns the probability after one update.
    fn updated(probability: f64, delay_ms: u64, delay_old_ms: u64) -> f64 {
        let mut control = control(probability, delay_ms, delay_old_ms);
        control.update(15 * MS, 100_000);
        control.probability
    }

    #[test]
    fn the_probability_follows_the_control_law() {
        // alpha x (delay - target) + beta x (delay - old): 0.125 x 0.005 + 1.25 x 0.020 = 0.025625, divided
        // as the RFC's table says
        for (from, divisor) in
            [(0.0, 2048.0), (5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (5e-2, 2.0)]
        {
            assert!((updated(from, 20, 0) - (from + 0.025_625 / divisor)).abs() < 1e-12, "{from}");
        }
        // without a change of the delay, above 10 %, only its distance to the target counts
        assert!((updated(0.2, 35, 35) - 0.2025).abs() < 1e-12);
        assert!((updated(0.2, 5, 5) - 0.198_75).abs() < 1e-12);
        assert!((updated(0.2, 15, 15) - 0.2).abs() < 1e-15);
        // one update for each step of the table
        let (mut control, mut expected) = (control(0.0, 0, 0), 0.0);
        for (delay_ms, divisor) in
            [(20, 2048.0), (60, 128.0), (30, 32.0), (30, 2048.0), (90, 2048.0), (90, 128.0)]
        {
            expected += (0.125 * (f64::from(delay_ms) - 15.0)
                + 1.25 * (f64::from(delay_ms) - control.delay as f64 / 1e6))
                / 1e3
                / divisor;
            expected = expected.max(0.0);
            control.delay = delay_ms as u64 * MS;
            control.update(15 * MS, 100_000);
            assert!(
                (control.probability - expected).abs() < 1e-12,
                "{delay_ms}: {} {expected}",
                control.probability
            );
        }
    }

    #[test]
    fn steps_up_are_limited_above_ten_percent_and_large_delays_add_to_them() {
        assert!((updated(0.1, 200, 0) - 0.12).abs() < 1e-12);
        assert!((updated(0.2, 251, 0) - 0.24).abs() < 1e-12);
        // below 10 % there is no limit: 0.125 x 0.236 + 1.25 x 0.251 = 0.34325, halved, and 2 %
        assert!((updated(0.05, 251, 0) - (0.05 + 0.171_625 + 0.02)).abs() < 1e-12);
        assert_eq!((updated(0.99, 1000, 0), updated(0.01, 0, 1000)), (1.0, 0.0));
    }

    #[test]
    fn without_delay_the_probability_decays() {
        let mut idle = control(0.5, 0, 0);
        idle.update(15 * MS, 0);
        assert!((idle.probability - (0.5 - 0.125 * 0.015) * (63.0 / 64.0)).abs() < 1e-12);
        assert!((updated(0.5, 0, 0) - (0.5 - 0.125 * 0.015)).abs() < 1e-12, "something waits");
    }

    /// Returns a queue with a constant probability, no burst allowance, and a long backlog.
    fn held(probability: f64, ecn: bool) -> PieQueue<u32> {
        let mut q = PieQueue::new(Pie { ecn, ..RFC }, Limit::Packets(u64::MAX), Random::new(1));
        q.control = control(probability, 15, 15);
        (0..10).for_each(|i| q.ring.push(0, packet(1514, i)));
        q
    }

    #[test]
    fn drops_are_spread() {
        for probability in [0.01, 0.05, 0.3] {
            let mut q = held(probability, false);
            let (mut recorded, mut gaps, mut gap) = (Recorded::default(), Vec::new(), 0u32);
            for i in 0..200_000 {
                gap += 1;
                if q.enqueue(0, packet(40, i), &mut recorded).is_err() {
                    gaps.push(std::mem::take(&mut gap));
                }
            }
            // none before 0.85 / p; then each with p, and certainly at 8.5 / p: 0.85 / p + 1 / p - 1 on
            // average (one packet more if the sum is rounded down)
            let (first, last) = ((0.85 / probability).ceil(), (8.5 / probability).ceil() + 1.0);
            let within = |g: &u32| (first..=last).contains(&f64::from(*g));
            assert!(gaps.iter().all(within), "{first} {last} {:?}", gaps.iter().max());
            let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
            let expected = first + 1.0 / probability - 1.0;
            // the standard deviation of a gap is about 1 / p
            let deviation = 1.0 / probability / (gaps.len() as f64).sqrt();
            assert!((mean - expected).abs() < 4.0 * deviation, "{mean} {expected}");
        }
    }

    #[test]
    fn marks_replace_drops_up_to_ten_percent() {
        for (probability, ecn, marks) in
            [(0.1, EcnField::Ect0, true), (0.11, EcnField::Ect0, false), (0.1, EcnField::NotEct, false)]
        {
            let mut q = held(probability, true);
            let (mut recorded, mut dropped) = (Recorded::default(), 0);
            for i in 0..1000 {
                dropped += u32::from(q.enqueue(0, Packet { ecn, ..packet(40, i) }, &mut recorded).is_err());
            }
            assert_eq!((dropped == 0, !recorded.marked.is_empty()), (marks, marks), "{probability} {ecn:?}");
        }
    }

    #[test]
    fn nothing_is_dropped_at_low_delay_or_small_backlog() {
        let mut recorded = Recorded::default();
        let drops = |q: &mut PieQueue<u32>, recorded: &mut Recorded<u32>| {
            (0..1000).filter(|i| q.enqueue(0, packet(1, *i), recorded).is_err()).count()
        };
        let mut q = held(0.19, false);
        q.control.delay = RFC.target_ns / 2 - 1;
        assert_eq!(drops(&mut q, &mut recorded), 0, "half the target, and less than 20 %");
        q.control.probability = 0.2;
        assert!(drops(&mut q, &mut recorded) > 100);
        let mut q = held(0.5, false);
        q.ring = Ring::new(Limit::Packets(u64::MAX));
        q.ring.push(0, packet(1514, 0));
        assert_eq!(drops(&mut q, &mut recorded), 0, "less than two full packets");
        let mut q = held(0.5, false);
        q.control.burst = 1;
        assert_eq!(drops(&mut q, &mut recorded), 0, "a burst");
    }

    #[test]
    fn a_burst_of_150_ms_is_allowed_after_calm() {
        let mut q = PieQueue::new(RFC, Limit::Packets(u64::MAX), Random::new(1));
        let (mut recorded, mut first) = (Recorded::default(), None);
        // twice the rate: the delay grows by a millisecond each 2 ms
        for ms in 1..1000u64 {
            for i in 0..2 {
                if q.enqueue(ms * MS, packet(1514, i), &mut recorded).is_err() {
                    first = first.or(Some(ms));
                }
            }
            q.dequeue(ms * MS, &mut recorded);
        }
        // from the first departure at 1 ms on; then the probability must sum up to 0.85
        assert!(first.is_some_and(|ms| (151..300).contains(&ms)), "{first:?}");
        // it is restored when there is neither delay nor probability
        while q.dequeue(1000 * MS, &mut recorded).is_some() {}
        assert_eq!(q.control.burst, 0);
        q.catch_up(100_000 * MS);
        assert_eq!((q.control.burst, q.control.probability), (BURST, 0.0));
    }

    #[test]
    fn missed_updates_are_performed_later() {
        let step = |mut q: PieQueue<u32>, by: Nanos| {
            (0..=10_000 * MS / by).for_each(|i| q.catch_up(i * by));
            (q.control, q.next_update)
        };
        let q = held(0.9, false);
        assert_eq!(step(q.clone(), MS), step(q, 10_000 * MS));
        let mut q = held(0.3, false);
        q.ring = Ring::new(Limit::Packets(1));
        q.control.delay = 0;
        assert_eq!(step(q.clone(), MS), step(q, 10_000 * MS));
    }

    #[test]
    fn responsive_senders_keep_the_delay_near_the_target() {
        // Ten senders that add a packet per round trip of 100 ms and halve after a drop, on 10 Mbit/s: a full
        // packet each 1.2112 ms.
        const N: usize = 10;
        let mut q = PieQueue::new(RFC, Limit::Packets(1000), Random::new(1));
        let (mut recorded, mut windows, mut hit) = (Recorded::default(), [5.0f64; N], [false; N]);
        let (mut due, mut next_out, mut waits) = ([0.0f64; N], 0, Vec::new());
        for step in 0..600_000u64 {
            let now = step * 100_000;
            for i in 0..N {
                due[i] += windows[i] / 1000.0;
                while due[i] >= 1.0 {
                    due[i] -= 1.0;
                    hit[i] |= q.enqueue(now, packet(1514, i as u32), &mut recorded).is_err();
                }
                if (step + i as u64 * 100).is_multiple_of(1000) {
                    windows[i] = if std::mem::take(&mut hit[i]) {
                        (windows[i] / 2.0).max(1.0)
                    } else {
                        windows[i] + 1.0
                    };
                }
            }
            if now >= next_out
                && let Some(taken) = q.dequeue(now, &mut recorded)
            {
                next_out = next_out.max(now.saturating_sub(100_000)) + 1_211_200;
                if step > 200_000 {
                    waits.push(now - taken.since);
                }
            }
        }
        let mean_ms = waits.iter().sum::<u64>() as f64 / waits.len() as f64 / 1e6;
        // the link must be busy too, otherwise there would be no delay to control
        assert!(waits.len() as f64 > 0.95 * 40e9 / 1_211_200.0, "{}", waits.len());
        assert!((10.0..20.0).contains(&mean_ms), "{mean_ms}");
    }

    #[test]
    fn extreme_settings_do_not_panic() {
        for target_ns in [0, 1, Nanos::MAX] {
            for update_ns in [0, 1, Nanos::MAX] {
                let settings = Pie { target_ns, update_ns, ecn: true };
                let mut q = PieQueue::new(settings, Limit::Bytes(u64::MAX), Random::new(1));
                let mut recorded = Recorded::default();
                for now in (0..2000).map(|i| i * 7_777_777).chain([1 << 40, 1 << 50, Nanos::MAX, Nanos::MAX])
                {
                    let _ = q.enqueue(now, packet(i32::MAX as u32, 0), &mut recorded);
                    let _ = q.enqueue(now, packet(1, 0), &mut recorded);
                    let _ = q.dequeue(now, &mut recorded);
                    assert!((0.0..=1.0).contains(&q.control.probability));
                }
            }
        }
    }
}
