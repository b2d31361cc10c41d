//! Many simulations at once. Each is a function of its scenario alone, so that it does not matter which thread runs
//! it, nor when.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use fairpace_results::{Monitor, Run};
use fairpace_scenario::Scenario;

use crate::failure::{Exit, Failure};
use crate::monitor::{Signals, Tally};
use crate::place::COMMIT;

/// Runs all scenarios, so many at a time, and keeps of each run what `keep` makes of it, in the same order.
pub(crate) fn all<T: Send + Sync>(
    scenarios: &[Scenario],
    jobs: Option<NonZeroUsize>,
    signals: &Signals,
    quiet: bool,
    keep: impl Fn(usize, Run) -> T + Sync,
) -> Result<Vec<T>, Failure> {
    let scenarios: Vec<&Scenario> = scenarios.iter().collect();
    let tally = Tally::new(&scenarios, quiet);
    each(&scenarios, jobs, signals, &tally, |index, run| Ok(keep(index, run)))
}

/// The same; the first failure of `keep` ends it, too.
pub(crate) fn each<T: Send + Sync>(
    scenarios: &[&Scenario],
    jobs: Option<NonZeroUsize>,
    signals: &Signals,
    tally: &Tally,
    keep: impl Fn(usize, Run) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let jobs = jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results: Vec<OnceLock<Result<T, Failure>>> = scenarios.iter().map(|_| OnceLock::new()).collect();
    let work = || {
        while !failed.load(Ordering::Relaxed) && signals.received().is_none() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let (Some(scenario), Some(slot)) = (scenarios.get(index), results.get(index)) else { return };
            let mut monitor = Ending { signals, failed: &failed, tally, index, told: 0.0 };
            let run = fairpace_sim::run(scenario, &mut monitor).map_err(Failure::from);
            let result = run.and_then(|mut run| {
                run.summary.commit = COMMIT.to_owned();
                keep(index, run)
            });
            match result {
                Ok(_) => monitor.done(),
                Err(_) => failed.store(true, Ordering::Relaxed),
            }
            let _ = slot.set(result); // nobody else has this index
        }
    };
    thread::scope(|scope| (0..jobs.min(scenarios.len())).for_each(|_| drop(scope.spawn(work))));
    if let Some(signal) = signals.received() {
        return Err(Failure::signal(signal));
    }
    let results = results.into_iter().filter_map(OnceLock::into_inner);
    let (mut done, mut failures) = (Vec::with_capacity(scenarios.len()), Vec::new());
    for result in results {
        match result {
            Ok(kept) => done.push(kept),
            Err(failure) => failures.push(failure),
        }
    }
    // the others were stopped by the one that failed by itself
    failures.sort_by_key(|failure| failure.code() == Exit::Interrupted as i32);
    failures.into_iter().next().map_or(Ok(done), Err)
}

/// Ends a run when a signal came or another run failed.
struct Ending<'a> {
    signals: &'a Signals,
    failed: &'a AtomicBool,
    tally: &'a Tally,
    index: usize,
    /// The part of the run that the tally knows of.
    told: f64,
}

impl Ending<'_> {
    fn done(mut self) {
        self.progress(1.0, 1.0);
        self.tally.one_done();
    }
}

impl Monitor for Ending<'_> {
    fn progress(&mut self, done_s: f64, total_s: f64) {
        let part = done_s / total_s;
        self.tally.more(self.index, part - self.told);
        self.told = part;
    }

    fn stop(&self) -> bool {
        self.signals.received().is_some() || self.failed.load(Ordering::Relaxed)
    }
}
