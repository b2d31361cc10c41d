//! Many simulations at once. Each is a function of its scenario alone, so that it does not matter which thread runs
//! it, nor when.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use fairpace_results::{Monitor, Run};
use fairpace_scenario::Scenario;

use crate::failure::Failure;
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
    let jobs = jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let tally = Tally::new(scenarios.len(), "simulations", quiet);
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results: Vec<OnceLock<Result<T, fairpace_sim::Error>>> =
        scenarios.iter().map(|_| OnceLock::new()).collect();
    let work = || {
        let mut monitor = Ending { signals, failed: &failed };
        while !monitor.stop() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let (Some(scenario), Some(slot)) = (scenarios.get(index), results.get(index)) else { return };
            let result = fairpace_sim::run(scenario, &mut monitor).map(|mut run| {
                run.summary.commit = COMMIT.to_owned();
                keep(index, run)
            });
            if result.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            let _ = slot.set(result); // nobody else has this index
            tally.one_done();
        }
    };
    thread::scope(|scope| (0..jobs.min(scenarios.len())).for_each(|_| drop(scope.spawn(work))));
    if let Some(signal) = signals.received() {
        return Err(Failure::signal(signal));
    }
    // the others were stopped by the one that failed by itself
    let results = results.into_iter().filter_map(OnceLock::into_inner);
    let (mut done, mut failures) = (Vec::with_capacity(scenarios.len()), Vec::new());
    for result in results {
        match result {
            Ok(kept) => done.push(kept),
            Err(error) => failures.push(error),
        }
    }
    failures.sort_by_key(|error| matches!(error, fairpace_sim::Error::Stopped { .. }));
    failures.into_iter().next().map_or(Ok(done), |error| Err(error.into()))
}

/// Ends a run when a signal came or another run failed.
struct Ending<'a> {
    signals: &'a Signals,
    failed: &'a AtomicBool,
}

impl Monitor for Ending<'_> {
    fn progress(&mut self, _done_s: f64, _total_s: f64) {}

    fn stop(&self) -> bool {
        self.signals.received().is_some() || self.failed.load(Ordering::Relaxed)
    }
}
