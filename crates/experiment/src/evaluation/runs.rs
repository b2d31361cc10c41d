//! Finished runs of experiments: runs from the store, and runs that this call makes.

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

/// Where finished runs are stored, and how missing ones are made.
#[derive(Clone, Copy)]
pub struct Keeping<'a> {
    /// The store for a run of this scenario. Each version of the program has its own.
    pub cache: &'a (dyn Fn(&Scenario) -> Store + Sync),
    /// The folder of the stores, for error messages.
    pub folder: &'a Path,
    /// Advice for the user if that folder cannot be written to.
    pub another: &'a str,
    /// Whether to use the quick results that the program contains.
    pub contained: bool,
    /// Whether to simulate also what was simulated before.
    pub fresh: bool,
    /// Number of simulations at a time.
    pub jobs: Jobs,
}

impl Keeping<'_> {
    /// The scenarios whose runs are not stored, each scenario once.
    pub fn missing<'s>(
        &self,
        scenarios: impl IntoIterator<Item = &'s Scenario>,
        on: Target,
    ) -> Vec<&'s Scenario> {
        let mut seen = HashSet::new();
        let is_missing = |of: &&Scenario| self.fresh || !(self.cache)(of).has(of, on);
        scenarios.into_iter().filter(|of| seen.insert((&of.hash, of.seed))).filter(is_missing).collect()
    }

    /// Simulates scenarios in this order, and stores of each finished run what `part` returns.
    ///
    /// # Errors
    /// Returns an error if a run fails or cannot be stored, or if a signal arrives.
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

    /// The stored run with real flows, or else the run that `run` makes; `None` if every attempt was
    /// disturbed. A run on another release of the kernel is not used.
    ///
    /// # Errors
    /// Returns an error if the run fails or cannot be stored.
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

    /// Stores a finished run.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be written to.
    pub fn keep(&self, scenario: &Scenario, run: &Run, on: Target) -> Result<(), Failure> {
        (self.cache)(scenario).put(scenario, on, run).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        Failure::file("finished runs cannot be kept below", self.folder, error, self.another)
    }
}

/// A run without its time series, which are large for hundreds of flows.
#[must_use]
pub fn without_series(run: Run) -> Run {
    Run { series: Series::default(), ..run }
}
