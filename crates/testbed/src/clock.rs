//! The clock of a run: nanoseconds since its start, the same in all threads.

use fairpace_netem::Nanos;
use fairpace_scenario::ns;
use std::time::{Duration, Instant};

/// CLOCK_MONOTONIC, counted from the start of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that shows zero until `lead_in` has passed, and runs from then on.
    pub(crate) fn starting_in(lead_in: Duration) -> Self {
        Clock { start: Instant::now() + lead_in }
    }

    pub(crate) fn now(self) -> Nanos {
        // The elapsed time of an Instant in the future is zero.
        ns(self.start.elapsed())
    }

    /// Sleeps until the clock shows `at`.
    pub(crate) fn sleep_until(self, at: Nanos) {
        let left = at.saturating_sub(self.now());
        if left > 0 {
            std::thread::sleep(Duration::from_nanos(left));
        }
    }
}
