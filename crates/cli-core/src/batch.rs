//! Many jobs on one thread pool.
//!
//! A simulation is a function of its scenario alone, so neither the number of threads nor the order in
//! which jobs finish changes a result.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use fairpace_results::{Monitor, Run};
use fairpace_scenario::Scenario;

use crate::failure::{Exit, Failure};
use crate::host;
use crate::progress::Progress;
use crate::signals::Signals;

/// How jobs run: how many at a time, and what ends and shows them.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// Jobs at a time; `None`: one for each core.
    pub jobs: Option<NonZeroUsize>,
    /// A signal ends all jobs.
    pub signals: &'a Signals,
    /// Shows how far they are.
    pub progress: &'a Progress,
}

impl Batch<'_> {
    /// Performs `work` for each item; the results are in the order of the items. Jobs begin in that order,
    /// too.
    ///
    /// # Errors
    /// The first failure by index, after all other jobs have been stopped; or a signal arrived.
    pub fn map<I: Sync, T: Send + Sync>(
        &self,
        items: &[I],
        work: impl Fn(&I, &mut Job<'_>) -> Result<T, Failure> + Sync,
    ) -> Result<Vec<T>, Failure> {
        let stopped = AtomicBool::new(false);
        let results: Vec<OnceLock<Result<T, Failure>>> = items.iter().map(|_| OnceLock::new()).collect();
        let perform = |index: usize| {
            let mut job = Job { batch: *self, stopped: &stopped, index, shown: 0.0 };
            let (Some(item), Some(result)) = (items.get(index), results.get(index)) else { return };
            if job.stop() {
                return;
            }
            let outcome = work(item, &mut job);
            match outcome {
                Ok(_) => job.done(),
                Err(_) => stopped.store(true, Ordering::Relaxed),
            }
            let _ = result.set(outcome); // each index is performed once
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.jobs.map_or(0, NonZeroUsize::get));
        let pool = pool.build().map_err(|error| {
            Failure::new(Exit::Internal, format!("cannot start threads: {error}"), "try a smaller --jobs")
        })?;
        let perform = &perform;
        pool.in_place_scope_fifo(|scope| {
            (0..items.len()).for_each(|index| scope.spawn_fifo(move |_| perform(index)));
        });
        if let Some(signal) = self.signals.received() {
            return Err(Failure::signal(signal));
        }
        all_or_first_failure(results.into_iter().filter_map(OnceLock::into_inner))
    }

    /// Simulates each scenario and performs `keep` on its run.
    ///
    /// # Errors
    /// As [`Batch::map`].
    pub fn simulate<T: Send + Sync>(
        &self,
        scenarios: &[&Scenario],
        keep: impl Fn(usize, Run) -> Result<T, Failure> + Sync,
    ) -> Result<Vec<T>, Failure> {
        self.map(scenarios, |scenario, job| keep(job.index, host::simulate(scenario, job)?))
    }
}

/// Simulates all scenarios, `jobs` at a time, and returns what `keep` makes of each run, in the same order.
///
/// # Errors
/// A scenario cannot be simulated, or a signal arrived.
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

/// One job: the monitor of its run. It stops when a signal arrived or another job failed.
pub struct Job<'a> {
    batch: Batch<'a>,
    stopped: &'a AtomicBool,
    index: usize,
    /// The fraction of the job that the progress bar shows.
    shown: f64,
}

impl Job<'_> {
    fn done(mut self) {
        self.progress(1.0, 1.0);
        self.batch.progress.job_done();
    }
}

impl Monitor for Job<'_> {
    fn progress(&mut self, done_s: f64, total_s: f64) {
        let fraction = done_s / total_s;
        self.batch.progress.advance(self.index, fraction - self.shown);
        self.shown = fraction;
    }

    fn stop(&self) -> bool {
        self.batch.signals.received().is_some() || self.stopped.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
