//! Finished runs of experiments: those that were kept, and those that are made now.

use std::collections::HashSet;
use std::path::Path;

use crate::store::Store;
use fairpace_results::{Run, Series};
use fairpace_scenario::{Scenario, Target};

use fairpace_cli_core::args::Jobs;
use fairpace_cli_core::batch::Batch;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::progress::Progress;
use fairpace_cli_core::signals::Signals;

/// Where finished runs are kept, and how new ones are made.
#[derive(Clone, Copy)]
pub struct Keeping<'a> {
    /// Where a run of this scenario is kept: not where another version of the program would find it.
    pub cache: &'a (dyn Fn(&Scenario) -> Store + Sync),
    /// The folder of these caches, for errors.
    pub folder: &'a Path,
    /// What to do if that folder cannot be written to.
    pub another: &'a str,
    /// Simulate also what was simulated before.
    pub fresh: bool,
    /// Simulations at a time.
    pub jobs: Jobs,
}

impl Keeping<'_> {
    /// What is not kept, each once.
    pub fn missing<'s>(
        &self,
        scenarios: impl IntoIterator<Item = &'s Scenario>,
        on: Target,
    ) -> Vec<&'s Scenario> {
        let mut seen = HashSet::new();
        let is_missing = |of: &&Scenario| self.fresh || !(self.cache)(of).has(of, on);
        scenarios.into_iter().filter(|of| seen.insert((&of.hash, of.seed))).filter(is_missing).collect()
    }

    /// Simulates these, in this order, and keeps what `part` leaves of each when it is finished.
    ///
    /// # Errors
    /// A run fails or cannot be kept, or a signal arrives.
    pub fn simulate(
        &self,
        missing: &[&Scenario],
        part: impl Fn(Run) -> Run + Sync,
        signals: &Signals,
        quiet: bool,
    ) -> Result<(), Failure> {
        let progress = Progress::of_scenarios(missing, quiet);
        let batch = Batch { jobs: self.jobs.at_a_time, signals, progress: &progress };
        let done =
            batch.simulate(missing, |index, run| self.keep(missing[index], &part(run), Target::Simulator));
        let again = match self.fresh {
            true => "finished runs are kept: the same command without --fresh goes on from there",
            false => "finished runs are kept: the same command goes on from there",
        };
        done.map(drop).map_err(|failure| match failure.is_interruption() {
            true => failure.with_help(again),
            false => failure,
        })
    }

    /// The run with real flows that is kept, or else the one that `run` makes; `None` if the machine was too
    /// busy each time. What another release of the kernel did is not shown as this one's.
    ///
    /// # Errors
    /// The run fails, or cannot be kept.
    pub fn on_kernel(
        &self,
        scenario: &Scenario,
        release: &str,
        run: impl FnOnce() -> Result<Run, Failure>,
    ) -> Result<Option<Run>, Failure> {
        let (store, on) = ((self.cache)(scenario).with(release), Target::Testbed);
        if let Some(kept) = store.get(scenario, on).filter(|_| !self.fresh) {
            return Ok(Some(kept));
        }
        match run() {
            Err(failure) if failure.is_disturbance() => Ok(None),
            run => {
                let run = without_series(run?);
                store.put(scenario, on, &run).map_err(|error| self.failed(&error))?;
                Ok(Some(run))
            }
        }
    }

    /// Keeps a run.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn keep(&self, scenario: &Scenario, run: &Run, on: Target) -> Result<(), Failure> {
        (self.cache)(scenario).put(scenario, on, run).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        Failure::file("finished runs cannot be kept below", self.folder, error, self.another)
    }
}

/// A run without its time series: those of hundreds of flows are large.
#[must_use]
pub fn without_series(run: Run) -> Run {
    Run { series: Series::default(), ..run }
}
