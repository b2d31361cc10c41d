//! The runs of an evaluation: those that were kept, and those that are simulated now.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::store::Store;
use fairpace_results::{Run, Series, Summary};
use fairpace_scenario::{Scenario, Target};

use fairpace_cli_core::args::{Global, Jobs};
use fairpace_cli_core::batch::Batch;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::progress::{Progress, expected_packets};
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

/// All runs, in the order of the scenarios.
pub struct Runs<'a> {
    keeping: Keeping<'a>,
    scenarios: &'a [Scenario],
    kept: Vec<Option<Summary>>,
    global: Global,
}

impl<'a> Runs<'a> {
    /// Looks for finished runs.
    pub fn new(keeping: Keeping<'a>, scenarios: &'a [Scenario], global: Global) -> Result<Self, Failure> {
        let mut kept = Vec::new();
        for scenario in scenarios {
            let cache = (keeping.cache)(scenario);
            if keeping.fresh {
                cache.forget(scenario, Target::Simulator).map_err(|error| keeping.failed(&error))?;
            }
            kept.push(cache.get(scenario, Target::Simulator).map(|run| run.summary));
        }
        Ok(Self { keeping, scenarios, kept, global })
    }

    /// How many have to be simulated.
    pub fn missing(&self) -> usize {
        self.to_simulate().len()
    }

    /// Those that were not kept, each once where several are alike.
    fn to_simulate(&self) -> Vec<usize> {
        let mut known = HashSet::new();
        let is_missing = |index: &usize| self.kept[*index].is_none() && known.insert(self.key(*index));
        (0..self.kept.len()).filter(is_missing).collect()
    }

    /// What decides the result of a run.
    fn key(&self, index: usize) -> (&'a str, u64) {
        let Scenario { hash, seed, .. } = &self.scenarios[index];
        (hash, *seed)
    }

    /// Simulates what is missing, the longest runs first, so that no core waits for a long one at the end.
    /// Each is kept when it is finished.
    pub fn perform(mut self, signals: &Signals) -> Result<Vec<Summary>, Failure> {
        let mut missing = self.to_simulate();
        let packets = |index: &usize| expected_packets(&self.scenarios[*index]);
        missing.sort_by(|a, b| packets(b).partial_cmp(&packets(a)).unwrap_or(Ordering::Equal));
        let scenarios: Vec<&Scenario> = missing.iter().map(|index| &self.scenarios[*index]).collect();
        let progress = Progress::of_scenarios(&scenarios, self.global.quiet);
        let batch = Batch { jobs: self.keeping.jobs.at_a_time, signals, progress: &progress };
        let done = batch.simulate(&scenarios, |index, run| self.keep(scenarios[index], run));
        let again = match self.keeping.fresh {
            true => "finished runs are kept: the same command without --fresh goes on from there",
            false => "finished runs are kept: the same command goes on from there",
        };
        let done = done.map_err(|failure| match failure.is_interruption() {
            true => failure.with_help(again),
            false => failure,
        })?;
        let done: HashMap<_, _> = missing.into_iter().map(|index| self.key(index)).zip(done).collect();
        for index in 0..self.kept.len() {
            if self.kept[index].is_none() {
                self.kept[index] = done.get(&self.key(index)).cloned();
            }
        }
        Ok(self.kept.into_iter().flatten().collect())
    }

    /// Keeps a run without its time series.
    fn keep(&self, scenario: &Scenario, run: Run) -> Result<Summary, Failure> {
        let run = Run { series: Series::default(), ..run };
        let kept = (self.keeping.cache)(scenario).put(scenario, Target::Simulator, &run);
        kept.map_err(|error| self.keeping.failed(&error))?;
        Ok(run.summary)
    }
}

impl Keeping<'_> {
    pub(super) fn failed(&self, error: &std::io::Error) -> Failure {
        Failure::file("finished runs cannot be kept below", self.folder, error, self.another)
    }
}
