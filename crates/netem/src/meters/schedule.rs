//! Times of the measurements of a run: the boundaries of its intervals and of its measurement window.

use crate::time::Nanos;

/// The times of a run's measurements. An event at time `t` belongs to the measurement window when `from <= t
/// < to`, and to the interval that ends first after `t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Measurement window: from, to.
    pub window: (Nanos, Nanos),
    /// Distance of two points of the time series, at least 1 ns.
    pub interval: Nanos,
    /// End of the run. The last interval ends here and may be shorter than the others.
    pub end: Nanos,
}

impl Schedule {
    /// Ends of all intervals, in order; the last one is the end of the run.
    pub fn points(self) -> impl Iterator<Item = Nanos> {
        let full = (self.end.saturating_sub(1)) / self.interval.max(1);
        (1..=full).map(move |i| i * self.interval).chain((self.end > 0).then_some(self.end))
    }
}

/// A time of a [`Schedule`] at which an interval or the measurement window begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boundary {
    /// The time of the boundary.
    pub at: Nanos,
    /// True if the measurement window opens.
    pub opens_window: bool,
    /// True if the measurement window closes.
    pub closes_window: bool,
    /// True if an interval ends.
    pub ends_interval: bool,
}

/// The boundaries of a [`Schedule`], one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Boundaries {
    schedule: Schedule,
    next_tick: Nanos,
    next: Nanos,
}

impl Boundaries {
    /// Returns all boundaries of a schedule.
    pub fn new(schedule: Schedule) -> Self {
        let schedule = Schedule { interval: schedule.interval.max(1), ..schedule };
        let mut boundaries = Boundaries { schedule, next_tick: 0, next: 0 };
        boundaries.next_tick = boundaries.tick_after(0);
        // A window that opens at 0 is open from the start: meters are empty then.
        boundaries.next = boundaries.boundary_after(0);
        boundaries
    }

    fn tick_after(&self, t: Nanos) -> Nanos {
        if t >= self.schedule.end {
            return Nanos::MAX;
        }
        t.saturating_add(self.schedule.interval).min(self.schedule.end)
    }

    fn boundary_after(&self, t: Nanos) -> Nanos {
        let (from, to) = self.schedule.window;
        let later = |edge: Nanos| if edge > t { edge } else { Nanos::MAX };
        self.next_tick.min(later(from)).min(later(to))
    }

    /// Returns whether a boundary has passed. This is the only check that runs per packet.
    #[inline]
    pub fn is_due(&self, now: Nanos) -> bool {
        now >= self.next
    }

    /// The time of the next boundary; `Nanos::MAX`: there is none.
    #[inline]
    pub fn next_event(&self) -> Nanos {
        self.next
    }

    /// Returns the next boundary at or before `now`.
    pub fn take(&mut self, now: Nanos) -> Option<Boundary> {
        if now < self.next || self.next == Nanos::MAX {
            return None;
        }
        let at = self.next;
        let (from, to) = self.schedule.window;
        let ends_interval = at == self.next_tick;
        if ends_interval {
            self.next_tick = self.tick_after(at);
        }
        self.next = self.boundary_after(at);
        Some(Boundary { at, opens_window: at == from, closes_window: at == to, ends_interval })
    }
}

/// A meter that closes its measurement window and its intervals at the boundaries of a schedule.
pub(crate) trait Metered {
    fn boundaries(&mut self) -> &mut Boundaries;
    fn open_window(&mut self, at: Nanos);
    fn close_window(&mut self, at: Nanos);
    fn end_interval(&mut self, at: Nanos);

    /// Processes the boundaries up to `now`.
    #[inline]
    fn catch_up(&mut self, now: Nanos) {
        if self.boundaries().is_due(now) {
            self.pass_boundaries(now);
        }
    }

    #[cold]
    fn pass_boundaries(&mut self, now: Nanos) {
        while let Some(boundary) = self.boundaries().take(now) {
            let Boundary { at, opens_window, closes_window, ends_interval } = boundary;
            if closes_window {
                self.close_window(at);
            }
            if ends_interval {
                self.end_interval(at);
            }
            if opens_window {
                self.open_window(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_end_with_the_run_even_if_the_last_interval_is_short() {
        let s = Schedule { window: (0, 25), interval: 10, end: 25 };
        assert_eq!(s.points().collect::<Vec<_>>(), [10, 20, 25]);
        let s = Schedule { window: (0, 20), interval: 10, end: 20 };
        assert_eq!(s.points().collect::<Vec<_>>(), [10, 20]);
        assert_eq!(Schedule { window: (0, 0), interval: 10, end: 0 }.points().count(), 0);
    }

    #[test]
    fn boundaries_come_at_every_point_and_window_edge_once() {
        let mut boundaries = Boundaries::new(Schedule { window: (10, 23), interval: 10, end: 25 });
        let mut seen = Vec::new();
        for now in 0..100 {
            while let Some(s) = boundaries.take(now) {
                assert_eq!(s.at, now);
                seen.push((s.at, s.opens_window, s.closes_window, s.ends_interval));
            }
        }
        let expected = [
            (10, true, false, true),
            (20, false, false, true),
            (23, false, true, false),
            (25, false, false, true),
        ];
        assert_eq!(seen, expected);
    }
}
