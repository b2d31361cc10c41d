//! Whether the machine disturbed a run: a thread on each processor, above the emulator's priority, sleeps and
//! records the longest time for which the processor did not run this thread. If that is short on all of them,
//! lateness is the emulator's own fault.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often a thread looks at the clock: several times within what [`fairpace_testbed::Tolerance`] calls
/// late.
const TICK: Duration = Duration::from_millis(1);
/// The emulator's real-time priority is 1.
const PRIORITY: libc::c_int = 2;

pub(crate) struct Witness {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Duration>>,
}

impl Witness {
    pub(crate) fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let ours = sched_getaffinity(Pid::from_raw(0)).expect("the processors that we may use");
        let is_ours = |cpu: &usize| ours.is_set(*cpu).unwrap_or(false);
        let watch = |cpu| {
            let over = Arc::clone(&over);
            std::thread::spawn(move || watch(cpu, &over))
        };
        let threads = (0..CpuSet::count()).filter(is_ours).map(watch).collect();
        Witness { over, threads }
    }

    /// The longest time for which a processor did not run its thread, of all processors.
    pub(crate) fn held_up(self) -> Duration {
        self.over.store(true, Ordering::Relaxed);
        let each = self.threads.into_iter().map(|thread| thread.join().expect("it only looks at the clock"));
        each.max().unwrap_or_default()
    }
}

fn watch(cpu: usize, over: &AtomicBool) -> Duration {
    let mut here = CpuSet::new();
    here.set(cpu).expect("it is one of ours");
    sched_setaffinity(Pid::from_raw(0), &here).expect("it is one of ours");
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // Refused, the thread is late more easily, and more is put down to the machine.
    // SAFETY: the pointer is to a live value; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) };
    let mut worst = Duration::ZERO;
    while !over.load(Ordering::Relaxed) {
        let due = Instant::now() + TICK;
        std::thread::sleep(TICK);
        worst = worst.max(due.elapsed());
    }
    worst
}
