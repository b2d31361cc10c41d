//! The waiting of the emulator's thread for packets and departures.
//!
//! A sleeping thread wakes 50-100 us late even with real-time priority, about a packet's transmission time at
//! 100 Mbit/s. So the thread sleeps until shortly before the next departure and polls its devices for the
//! rest of the time. The kernel takes the processor for 50 ms from a real-time thread that does not sleep
//! (`sched_rt_runtime_us`), so early waking has a budget. Fast links do not need early waking: their packets
//! follow each other so closely that the thread is awake anyway.

use crate::clock::{Clock, cpu_of_thread};
use crate::namespace::Device;
use fairpace_netem::Nanos;
use fairpace_scenario::ns;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// Time before a departure at which the thread wakes: it covers the usual wake-up latency.
const AWAKE_BEFORE_NS: Nanos = 60_000;
/// Least rate at which the thread does not wake early: a full-size packet takes 30 us, less than
/// [`AWAKE_BEFORE_NS`].
const SLEEP_ONLY_FROM_BPS: u64 = 400_000_000;
/// The period of the budget.
const BUDGET_WINDOW_NS: Nanos = 100_000_000;
/// The processor time that the thread may use in a period, by waking early and by all other work: 85 %, where
/// the kernel's limit is 95 % by default. The rest is for periods in which the host is slower than in the
/// period before.
const BUDGET_CPU_NS: Nanos = 85_000_000;
/// The longest sleep, so that the thread notices a request to stop.
const LONGEST_SLEEP_NS: Nanos = 10_000_000;
/// The lowest real-time priority: above all ordinary threads, below other real-time threads.
const PRIORITY: libc::c_int = 1;
/// The priority if real-time priority is refused: the highest ordinary one.
const NICE_EMULATOR: libc::c_int = -20;
/// The priority of the flows' threads: above a busy machine's background work, below the emulator.
const NICE_FLOWS: libc::c_int = -10;

/// Gives the calling thread real-time priority, or the best ordinary one. Returns true if the priority is
/// real-time.
pub(crate) fn prioritise_emulator() -> bool {
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: the pointer is to a live value; 0 is the calling thread.
    let refused = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) } != 0;
    if refused {
        set_nice(NICE_EMULATOR);
        // Without real time, the kernel may delay timers by 50 us to save power.
        let _ = nix::sys::prctl::set_timerslack(1);
    }
    !refused
}

/// Raises the calling thread above ordinary work. A refusal is ignored: runs work without it.
pub(crate) fn prioritise_flows() {
    set_nice(NICE_FLOWS);
}

fn set_nice(nice: libc::c_int) {
    // SAFETY: no memory is involved; 0 is the calling thread (on Linux, priorities belong to threads).
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
}

/// The waiting policy and its budget.
pub(crate) struct Poller {
    clock: Clock,
    early: bool,
    window_began: Nanos,
    slept_in_window: Nanos,
    /// Longest time that the thread may be awake in this period before it no longer wakes early.
    awake_at_most: Nanos,
    /// The processor time of the thread when the period began; `None` before the first period.
    cpu_began: Option<Nanos>,
}

impl Poller {
    /// Returns a poller for links of which the fastest has `rate_bps` bits per second. It wakes early only if
    /// `may_wake_early`.
    pub(crate) fn new(clock: Clock, rate_bps: u64, may_wake_early: bool) -> Self {
        Poller {
            clock,
            early: may_wake_early && rate_bps < SLEEP_ONLY_FROM_BPS,
            window_began: 0,
            slept_in_window: 0,
            // what a sleep costs here is not known yet
            awake_at_most: BUDGET_CPU_NS / 2,
            cpu_began: None,
        }
    }

    /// Waits until `due` or until a device is readable. Returns which devices to read.
    pub(crate) fn wait(&mut self, devices: [&Device; 2], due: Nanos) -> io::Result<[bool; 2]> {
        let now = self.clock.now();
        let due = due.min(now + LONGEST_SLEEP_NS);
        let lead = if self.may_wake_early(now) { AWAKE_BEFORE_NS } else { 0 };
        let sleep = due.saturating_sub(now).saturating_sub(lead);
        if sleep == 0 && lead > 0 {
            return Ok([true; 2]);
        }
        let mut fds = devices.map(|d| PollFd::new(d.tun.as_fd(), PollFlags::POLLIN));
        match ppoll(&mut fds, Some(TimeSpec::from_duration(Duration::from_nanos(sleep))), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        self.slept_in_window += self.clock.now() - now;
        Ok(fds.map(|fd| fd.any().unwrap_or(true)))
    }

    fn may_wake_early(&mut self, now: Nanos) -> bool {
        if now - self.window_began >= BUDGET_WINDOW_NS {
            self.begin_window(now, ns(cpu_of_thread()));
        }
        self.early && (now - self.window_began).saturating_sub(self.slept_in_window) < self.awake_at_most
    }

    /// Begins a period. Work and sleep take processor time after the limit, too: packets are handled, and
    /// each sleep is a timer and two switches. So the limit is moved by the time that the last period used
    /// too much or too little.
    fn begin_window(&mut self, now: Nanos, cpu: Nanos) {
        if let Some(began) = self.cpu_began {
            let used = cpu.saturating_sub(began);
            self.awake_at_most = (self.awake_at_most + BUDGET_CPU_NS).saturating_sub(used).min(BUDGET_CPU_NS);
        }
        (self.window_began, self.slept_in_window, self.cpu_began) = (now, 0, Some(cpu));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_was_awake_too_long_sleeps_until_the_period_ends() {
        let mut poller = Poller::new(Clock::starting_in(Duration::ZERO), 100_000_000, true);
        poller.awake_at_most = 80_000_000;
        assert!(poller.may_wake_early(79_000_000));
        assert!(!poller.may_wake_early(80_000_000));
        poller.slept_in_window = 30_000_000;
        assert!(poller.may_wake_early(99_000_000), "30 ms of sleep leave room");
        assert!(poller.may_wake_early(100_000_000), "a new window");
    }

    #[test]
    fn the_limit_settles_where_all_processor_time_is_within_the_budget() {
        let mut poller = Poller::new(Clock::starting_in(Duration::ZERO), 100_000_000, true);
        let (mut now, mut cpu, mut used) = (0, 0, 0);
        for _ in 0..20 {
            poller.begin_window(now, cpu);
            // beyond the limit, packets of 1500 bytes at 100 Mbit/s cost about 0.6 ms for each ms
            used = poller.awake_at_most + (BUDGET_WINDOW_NS - poller.awake_at_most) * 3 / 5;
            (now, cpu) = (now + BUDGET_WINDOW_NS, cpu + used);
        }
        assert!(used.abs_diff(BUDGET_CPU_NS) < 100_000, "{used} ns");
        poller.begin_window(now, cpu + 1_000_000);
        poller.begin_window(now, cpu + 2_000_000);
        assert_eq!(poller.awake_at_most, BUDGET_CPU_NS, "an idle thread has all of it");
    }

    #[test]
    fn fast_links_do_without_early_waking_and_others_if_asked() {
        let wakes_early =
            |rate_bps, may| Poller::new(Clock::starting_in(Duration::ZERO), rate_bps, may).may_wake_early(0);
        assert!(!wakes_early(SLEEP_ONLY_FROM_BPS, true));
        assert!(wakes_early(SLEEP_ONLY_FROM_BPS - 1, true));
        assert!(!wakes_early(SLEEP_ONLY_FROM_BPS - 1, false));
    }
}
