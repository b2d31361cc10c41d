//! Many jobs on the threads of a pool.
//!
//! A simulation is a function of its scenario alone, so neither the number of threads nor the order in
//! which jobs finish changes a result.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use fairpace_results::{Monitor, Run};
use fairpace_scenario::Scenario;

use crate::failure::Failure;
use crate::host;
use crate::progress::Progress;
use crate::signals::Signals;

/// How jobs run: their number at a time, the signals that end them, and the display of their progress.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// Number of jobs at a time; `None`: one for each core. Fewer if the system refuses threads.
    pub jobs: Option<NonZeroUsize>,
    /// Signals, each of which ends all jobs.
    pub signals: &'a Signals,
    /// Display of the jobs' progress.
    pub progress: &'a Progress,
}

impl Batch<'_> {
    /// Performs `work` for each item; the results are in the order of the items. Jobs begin in that order,
    /// too.
    ///
    /// # Errors
    /// Returns the first failure by index, after all other jobs have been stopped, or the failure that a
    /// signal arrived.
    pub fn map<I: Sync, T: Send + Sync>(
        &self,
        items: &[I],
        work: impl Fn(&I, &mut Job<'_>) -> Result<T, Failure> + Sync,
    ) -> Result<Vec<T>, Failure> {
        let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let results: Vec<OnceLock<Result<T, Failure>>> = items.iter().map(|_| OnceLock::new()).collect();
        let perform_all = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let (Some(item), Some(result)) = (items.get(index), results.get(index)) else { return };
                let mut job = Job { batch: *self, stopped: &stopped, index, shown: 0.0 };
                if job.stop() {
                    return;
                }
                let outcome = work(item, &mut job);
                match outcome {
                    Ok(_) => job.done(),
                    Err(_) => stopped.store(true, Ordering::Relaxed),
                }
                let _ = result.set(outcome); // each index is performed once
            }
        };
        thread::scope(|scope| {
            // this thread is one of them; without another one it performs all jobs
            let more = 1..self.threads(items.len());
            let start = || thread::Builder::new().spawn_scoped(scope, perform_all);
            more.take_while(|_| start().is_ok()).for_each(drop);
            perform_all();
        });
        if let Some(signal) = self.signals.received() {
            return Err(Failure::signal(signal));
        }
        all_or_first_failure(results.into_iter().filter_map(OnceLock::into_inner))
    }

    /// Number of threads for this number of jobs.
    fn threads(&self, jobs: usize) -> usize {
        let asked = self.jobs.or_else(|| thread::available_parallelism().ok());
        asked.map_or(1, NonZeroUsize::get).min(jobs)
    }

    /// Simulates each scenario and applies `keep` to its run.
    ///
    /// # Errors
    /// Returns the errors of [`Batch::map`], and an error if a listed algorithm was not within its bounds.
    pub fn simulate<T: Send + Sync>(
        &self,
        scenarios: &[&Scenario],
        keep: impl Fn(usize, Run) -> Result<T, Failure> + Sync,
    ) -> Result<Vec<T>, Failure> {
        self.map(scenarios, |scenario, job| keep(job.index, host::simulate_within_bounds(scenario, job)?))
    }
}

/// Simulates all scenarios, `jobs` at a time, applies `keep` to each run, and returns the results in the
/// order of the scenarios.
///
/// # Errors
/// Returns an error if a scenario cannot be simulated, or if a signal arrived.
pub fn simulate_all<T: Send + Sync>(
    scenarios: &[Scenario],
    jobs: Option<NonZeroUsize>,
    signals: &Signals,
    quiet: bool,
    keep: impl Fn(usize, Run) -> T + Sync,
) -> Result<Vec<T>, Failure> {
    let scenarios: Vec<&Scenario> = scenarios.iter().collect();
    let progress = Progress::of_scenarios(&scenarios, quiet);
    Batch { jobs, signals, progress: &progress }.simulate(&scenarios, |index, run| Ok(keep(index, run)))
}

fn all_or_first_failure<T>(results: impl Iterator<Item = Result<T, Failure>>) -> Result<Vec<T>, Failure> {
    let (mut done, mut failures) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => done.push(value),
            Err(failure) => failures.push(failure),
        }
    }
    // a failure that stopped the others comes before the interruptions that it caused
    failures.sort_by_key(Failure::is_interruption);
    failures.into_iter().next().map_or(Ok(done), Err)
}

/// A job of a batch, as the monitor of its run. It stops when a signal arrived or another job failed.
pub struct Job<'a> {
    batch: Batch<'a>,
    stopped: &'a AtomicBool,
    index: usize,
    /// The fraction of the job that the progress bar shows.
    shown: f64,
}

impl Job<'_> {
    /// Index of the job's item.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    fn done(mut self) {
        self.progress(1.0, 1.0);
        self.batch.progress.job_done();
    }
}

impl Monitor for Job<'_> {
    fn progress(&mut self, done_s: f64, total_s: f64) {
        let fraction = done_s / total_s;
        self.batch.progress.advance(self.index, self.shown, fraction);
        self.shown = fraction;
    }

    fn stop(&self) -> bool {
        self.batch.signals.received().is_some() || self.stopped.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    fn jobs(count: usize) -> Option<NonZeroUsize> {
        NonZeroUsize::new(count)
    }

    fn hidden(count: usize) -> Progress {
        Progress::new(vec![1.0; count], true)
    }

    #[test]
    fn results_are_in_the_order_of_the_items_for_any_number_of_threads() {
        let items: Vec<usize> = (0..100).collect();
        let (signals, progress) = (Signals::default(), hidden(items.len()));
        for threads in [1, 3, 8] {
            let batch = Batch { jobs: jobs(threads), signals: &signals, progress: &progress };
            let squares = batch.map(&items, |item, _| Ok(item * item)).expect("no job fails");
            assert!(squares.iter().enumerate().all(|(index, square)| *square == index * index));
        }
    }

    #[test]
    fn there_are_no_more_threads_than_jobs() {
        let (signals, progress) = (Signals::default(), hidden(2));
        let threads =
            |asked, items| Batch { jobs: asked, signals: &signals, progress: &progress }.threads(items);
        assert_eq!([threads(jobs(1_000_000), 2), threads(jobs(3), 100), threads(jobs(8), 0)], [2, 3, 0]);
        assert!((1..=1_000).contains(&threads(None, 1_000)));
    }

    #[test]
    fn one_thread_performs_jobs_in_order_and_stops_at_the_first_failure() {
        let items: Vec<usize> = (0..100).collect();
        let (signals, progress) = (Signals::default(), hidden(items.len()));
        let begun = std::sync::Mutex::new(Vec::new());
        let batch = Batch { jobs: jobs(1), signals: &signals, progress: &progress };
        let failure = batch
            .map(&items, |item, _| {
                begun.lock().expect("no job panics").push(*item);
                if *item == 7 { Err(Failure::new(Exit::Usage, "seven", "")) } else { Ok(()) }
            })
            .expect_err("job 7 fails");
        assert_eq!(failure.to_string(), "seven");
        assert_eq!(begun.into_inner().expect("no job panics"), (0..=7).collect::<Vec<_>>());
    }
}
