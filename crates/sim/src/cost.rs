//! The cost of a run by the clocks of this machine. The simulation does not read them.

use std::time::Instant;

use fairpace_results::Cost;
use nix::time::{ClockId, clock_gettime};

/// Measures wall-clock and CPU time.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu_s: f64,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Stopwatch { wall: Instant::now(), cpu_s: cpu_s() }
    }

    pub(crate) fn wall_s(&self) -> f64 {
        self.wall.elapsed().as_secs_f64()
    }

    pub(crate) fn cost(&self, data_packets: u64) -> Cost {
        Cost { wall_s: self.wall_s(), cpu_s: cpu_s() - self.cpu_s, data_packets }
    }
}

/// CPU time of this thread, the only one of a run, seconds. 0 where the clock is missing.
fn cpu_s() -> f64 {
    let now = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    now.map_or(0.0, |t| t.tv_sec() as f64 + t.tv_nsec() as f64 * 1e-9)
}
