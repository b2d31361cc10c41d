//! The runs of an evaluation: those that were kept, and those that are simulated now.

use std::cmp::Ordering;
use std::path::Path;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::batch::Batch;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::progress::{Progress, expected_packets};
use fairpace_cli_core::signals::Signals;
use fairpace_reproduce::cache::Cache;
use fairpace_results::{Run, Series, Summary};
use fairpace_scenario::{Scenario, Target};

use super::sources::identity;
use crate::args::EvaluateArgs;

/// All runs, in the order of the scenarios.
pub(super) struct Runs<'a> {
    args: &'a EvaluateArgs,
    scenarios: &'a [Scenario],
    kept: Vec<Option<Summary>>,
    global: Global,
}

impl<'a> Runs<'a> {
    /// Looks for finished runs.
    pub(super) fn new(
        args: &'a EvaluateArgs,
        scenarios: &'a [Scenario],
        global: Global,
    ) -> Result<Self, Failure> {
        let mut kept = Vec::new();
        for scenario in scenarios {
            let cache = cache(&args.criteria, scenario);
            if args.fresh {
                cache.forget(scenario, Target::Simulator).map_err(|error| failed(&args.criteria, &error))?;
            }
            kept.push(cache.get(scenario, Target::Simulator).map(|run| run.summary));
        }
        Ok(Self { args, scenarios, kept, global })
    }

    /// How many have to be simulated.
    pub(super) fn missing(&self) -> usize {
        self.kept.iter().filter(|kept| kept.is_none()).count()
    }

    /// Simulates what is missing, the longest runs first, so that no core waits for a long one at the end.
    /// Each is kept when it is finished.
    pub(super) fn perform(mut self, signals: &Signals) -> Result<Vec<Summary>, Failure> {
        let mut missing: Vec<usize> =
            (0..self.kept.len()).filter(|index| self.kept[*index].is_none()).collect();
        let packets = |index: &usize| expected_packets(&self.scenarios[*index]);
        missing.sort_by(|a, b| packets(b).partial_cmp(&packets(a)).unwrap_or(Ordering::Equal));
        let scenarios: Vec<&Scenario> = missing.iter().map(|index| &self.scenarios[*index]).collect();
        let progress = Progress::of_scenarios(&scenarios, self.global.quiet);
        let batch = Batch { jobs: self.args.jobs.at_a_time, signals, progress: &progress };
        let done = batch.simulate(&scenarios, |index, run| self.keep(scenarios[index], run));
        let done = done.map_err(|failure| match failure.is_interruption() {
            true => failure.with_help("finished runs are kept: the same command goes on from there"),
            false => failure,
        })?;
        for (index, summary) in missing.into_iter().zip(done) {
            self.kept[index] = Some(summary);
        }
        Ok(self.kept.into_iter().flatten().collect())
    }

    /// Keeps a run without its time series.
    fn keep(&self, scenario: &Scenario, run: Run) -> Result<Summary, Failure> {
        let run = Run { series: Series::default(), ..run };
        let kept = cache(&self.args.criteria, scenario).put(scenario, Target::Simulator, &run);
        kept.map_err(|error| failed(&self.args.criteria, &error))?;
        Ok(run.summary)
    }
}

/// Where runs of this scenario are kept. They stay valid while the simulator and its algorithms are the same.
fn cache(criteria: &Path, scenario: &Scenario) -> Cache {
    Cache::new(criteria, &identity(scenario), None)
}

fn failed(criteria: &Path, error: &std::io::Error) -> Failure {
    Failure::file(
        "finished runs cannot be kept below",
        criteria,
        error,
        "name a copy of the folder with --criteria",
    )
}
