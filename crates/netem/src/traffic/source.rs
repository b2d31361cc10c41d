//! Data that an application writes, and its times.

use std::sync::Arc;

use fairpace_scenario::Random;

use crate::time::{Nanos, SECOND};
use crate::traffic::frames::Frames;

/// Patterns in which an application writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// The application always has more data.
    Always,
    /// The application has data for `on`, none for `off`, and so on.
    OnOff {
        /// Time for which the application has data; at least 1.
        on: Nanos,
        /// Time for which the application has no data.
        off: Nanos,
    },
    /// The application writes a chunk every `every`, from the start on; `rate_bps` on average.
    Paced {
        /// Mean rate, bits per second.
        rate_bps: u64,
        /// Time from chunk to chunk; at least 1.
        every: Nanos,
    },
    /// The application writes frames of audio or video.
    Frames(Frames),
    /// The application writes messages: each a time after the start, and bytes. Times grow.
    Scheduled(Arc<[(Nanos, u64)]>),
}

/// An offer of an application to its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// This number of bytes more.
    Bytes(u64),
    /// This number of bytes more, as a frame or message, which begins a packet.
    Frame(u64),
    /// More bytes than can ever be sent.
    Endless,
    /// No bytes beyond those that have been sent, until the next offer.
    Pause,
}

/// An application's writes, as a function of time and the sizes of frames.
#[derive(Debug, Clone)]
pub struct Source {
    pattern: Pattern,
    start: Nanos,
    next: Nanos,
    /// Number of offers so far.
    count: u64,
    /// Bytes still to be written; `None`: without end.
    left: Option<u64>,
    written: u128,
    /// Random numbers for the sizes of frames.
    random: Random,
}

impl Source {
    /// Returns an application that starts at `start` and writes `size_bytes`, or without end.
    ///
    /// [`Pattern::OnOff`] and [`Pattern::Frames`] ignore the size, which of [`Pattern::Scheduled`] is the
    /// sum.
    pub fn new(pattern: Pattern, size_bytes: Option<u64>, start: Nanos) -> Self {
        let random = Random::new(0);
        let next = match &pattern {
            Pattern::Scheduled(writes) => {
                writes.first().map_or(Nanos::MAX, |(at, _)| start.saturating_add(*at))
            }
            _ => start,
        };
        Source { pattern, start, next, count: 0, left: size_bytes, written: 0, random }
    }

    /// Sets the random numbers from which the sizes of frames are drawn.
    #[must_use]
    pub fn with_random(self, random: Random) -> Self {
        Source { random, ..self }
    }

    /// The time when the next offer is due; `Nanos::MAX`: never.
    #[inline]
    pub fn next_event(&self) -> Nanos {
        self.next
    }

    /// True when a finite application has written everything.
    pub fn is_finished(&self) -> bool {
        self.left.is_some() && self.next == Nanos::MAX
    }

    /// Returns the next offer that is due by `now`; call until `None`.
    pub fn poll(&mut self, now: Nanos) -> Option<Offer> {
        if self.next == Nanos::MAX || self.next > now {
            return None;
        }
        let n = self.count;
        self.count += 1;
        match &self.pattern {
            Pattern::Scheduled(writes) => {
                let (_, bytes) = writes.get(n as usize)?;
                let next = writes.get(n as usize + 1);
                self.next = next.map_or(Nanos::MAX, |(at, _)| self.start.saturating_add(*at));
                Some(Offer::Frame(*bytes))
            }
            Pattern::Always => {
                self.next = Nanos::MAX;
                Some(self.left.map_or(Offer::Endless, Offer::Bytes))
            }
            &Pattern::OnOff { on, off } => {
                let (phase, offer) =
                    if n.is_multiple_of(2) { (on.max(1), Offer::Endless) } else { (off, Offer::Pause) };
                self.next = self.next.saturating_add(phase);
                Some(offer)
            }
            Pattern::Frames(frames) => {
                self.next = self.start.saturating_add(frames.after(n + 1));
                Some(Offer::Frame(frames.bytes(n, &mut self.random)))
            }
            &Pattern::Paced { rate_bps, every } => {
                self.next = self.start.saturating_add(every.max(1).saturating_mul(n + 1));
                // by the total, so that the mean is exact with any size of chunk
                let elapsed = u128::from(every.max(1)) * u128::from(n + 1);
                let total = u128::from(rate_bps) * elapsed / (8 * u128::from(SECOND));
                let chunk = u64::try_from(total - self.written).unwrap_or(u64::MAX);
                let chunk = self.left.map_or(chunk, |left| left.min(chunk));
                self.written = total;
                self.left = self.left.map(|left| left - chunk);
                if self.left == Some(0) {
                    self.next = Nanos::MAX;
                }
                Some(Offer::Bytes(chunk))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offers(mut source: Source, until: Nanos) -> Vec<(Nanos, Offer)> {
        let mut offers = Vec::new();
        while source.next_event() <= until {
            let at = source.next_event();
            offers.push((at, source.poll(at).unwrap()));
        }
        offers
    }

    #[test]
    fn a_bulk_transfer_is_offered_once() {
        let bulk = |size| offers(Source::new(Pattern::Always, size, 7), SECOND);
        assert_eq!(bulk(None), [(7, Offer::Endless)]);
        assert_eq!(bulk(Some(10_000)), [(7, Offer::Bytes(10_000))]);
    }

    #[test]
    fn on_and_off_follow_each_other_from_the_start() {
        let seen = offers(Source::new(Pattern::OnOff { on: 30, off: 10 }, None, 5), 80);
        let expected = [(5, Offer::Endless), (35, Offer::Pause), (45, Offer::Endless), (75, Offer::Pause)];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_stream_has_exactly_its_rate() {
        // 1 Mbit/s in chunks of 1/3 s: 41666.67 bytes, so two of three have one byte more
        let every = SECOND / 3;
        let seen = offers(Source::new(Pattern::Paced { rate_bps: 1_000_000, every }, None, 0), 3000 * every);
        let total: u64 = seen
            .iter()
            .map(|(_, offer)| match offer {
                Offer::Bytes(n) => *n,
                _ => 0,
            })
            .sum();
        assert_eq!(seen.len(), 3001);
        assert_eq!(u128::from(total), 1_000_000 * u128::from(3001 * every) / (8 * u128::from(SECOND)));
        assert!(seen.windows(2).all(|w| w[1].0 - w[0].0 == every));
    }

    #[test]
    fn a_finite_stream_ends_with_its_last_byte() {
        let stream = Pattern::Paced { rate_bps: 8_000_000, every: SECOND };
        let seen = offers(Source::new(stream, Some(2_500_000), SECOND), 100 * SECOND);
        let expected =
            [(1, 1_000_000), (2, 1_000_000), (3, 500_000)].map(|(s, n)| (s * SECOND, Offer::Bytes(n)));
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_schedule_is_of_times_after_the_start() {
        let schedule = || Pattern::Scheduled([(0, 100), (3, 7), (50, 1)].into());
        let seen = offers(Source::new(schedule(), Some(108), 5), SECOND);
        assert_eq!(seen, [(5, Offer::Frame(100)), (8, Offer::Frame(7)), (55, Offer::Frame(1))]);
        let mut late = Source::new(Pattern::Scheduled([(9, 4)].into()), Some(4), 1);
        assert_eq!((late.next_event(), late.poll(9), late.is_finished()), (10, None, false));
        assert_eq!((late.poll(99), late.is_finished()), (Some(Offer::Frame(4)), true));
    }

    #[test]
    fn a_late_driver_gets_every_offer_in_order() {
        let mut source = Source::new(Pattern::Paced { rate_bps: 8_000, every: SECOND }, None, 0);
        let late: Vec<_> = std::iter::from_fn(|| source.poll(2 * SECOND)).collect();
        assert_eq!(late, [Offer::Bytes(1000); 3]);
        assert_eq!(source.poll(2 * SECOND), None);
    }
}
