//! The clock of a run: nanoseconds since its start, equal in all threads.

use fairpace_netem::Nanos;
use fairpace_scenario::ns;
use nix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// CLOCK_MONOTONIC, counted from the start of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    /// Returns a clock that shows zero until `lead_in` has passed, and runs from then on.
    pub(crate) fn starting_in(lead_in: Duration) -> Self {
        Clock { start: Instant::now() + lead_in }
    }

    pub(crate) fn now(self) -> Nanos {
        // The elapsed time of an Instant in the future is zero.
        ns(self.start.elapsed())
    }

    /// Sleeps until the clock runs. Before, it shows zero, the time at which flows start: packets that are
    /// sent then wait in the emulator for the rest of the lead-in.
    pub(crate) fn sleep_until_start(self) {
        std::thread::sleep(self.start.saturating_duration_since(Instant::now()));
    }

    /// Sleeps until the clock shows `at`.
    pub(crate) fn sleep_until(self, at: Nanos) {
        let left = at.saturating_sub(self.now());
        if left > 0 {
            std::thread::sleep(Duration::from_nanos(left));
        }
    }
}

/// Returns the CPU time that the calling thread has used. Linux has this clock for each thread.
pub(crate) fn cpu_of_thread() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_shows_zero_before_its_start_and_runs_after_it() {
        let clock = Clock::starting_in(Duration::from_millis(20));
        assert_eq!(clock.now(), 0);
        clock.sleep_until_start();
        let now = clock.now();
        assert!(now > 0 && now < ns(Duration::from_secs(10)), "{now}");
    }
}
