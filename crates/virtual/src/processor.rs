//! The processor on which a run in User-mode Linux stays.
//!
//! The kernel and the processes of the guest take turns, by ptrace(2). On one processor a turn is a change of
//! the task. On two it is an interrupt to another one, which was idle: two flows of `kernel:bbr` at 100
//! Mbit/s then took one and a half times the processor time. A run for which there is no processor of its
//! own only takes longer.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::unistd::Pid;

/// The thread that calls.
const THIS: Pid = Pid::from_raw(0);
/// How many runs of this program stay on each processor.
static RUNS: Mutex<BTreeMap<usize, u32>> = Mutex::new(BTreeMap::new());

/// A processor of a run, for as long as this lives.
pub(crate) struct Processor(usize);

impl Processor {
    /// The one with the fewest runs of this program. Of several it is the one that the calling thread is on:
    /// Linux has put it where there is time. `None`: the system does not say which ones this program may use.
    pub(crate) fn take() -> Option<Self> {
        let (allowed, here) = (sched_getaffinity(THIS).ok()?, sched_getcpu().ok()?);
        let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
        let all = (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false));
        let taken = all.min_by_key(|cpu| (runs.get(cpu).copied().unwrap_or(0), *cpu != here))?;
        *runs.entry(taken).or_default() += 1;
        Some(Self(taken))
    }

    /// It alone.
    pub(crate) fn alone(&self) -> CpuSet {
        let mut alone = CpuSet::new();
        // the set has had this one
        let _ = alone.set(self.0);
        alone
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
        runs.entry(self.0).and_modify(|count| *count = count.saturating_sub(1));
    }
}

/// Lets the calling thread, and what it starts, run on these processors only, if they are still allowed. It
/// allocates nothing.
pub(crate) fn stay_on(processors: &CpuSet) {
    let _ = sched_setaffinity(THIS, processors);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_spread_over_all_processors_and_stay_and_one_that_ends_makes_room() {
        let allowed = sched_getaffinity(THIS).expect("Linux has it");
        let count = (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false)).count();
        let take = || Processor::take().expect("a processor");
        let mut taken: Vec<Processor> = (0..count).map(|_| take()).collect();
        let mut numbers: Vec<usize> = taken.iter().map(|processor| processor.0).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count, "one for each");
        let free = taken.pop().expect("there is one").0;
        let again = take();
        assert_eq!(again.0, free);
        let alone = again.alone();
        let thread = std::thread::spawn(move || {
            stay_on(&alone);
            sched_getcpu().expect("Linux has it")
        });
        assert_eq!(thread.join().expect("it ends"), free);
    }
}
