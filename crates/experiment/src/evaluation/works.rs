//! Cases with the runs by which they are judged.

use crate::{AlgorithmRecord, Case, CaseRecord, Check, Criterion, Judged, Measured, judge};
use fairpace_results::Summary;
use fairpace_scenario::Scenario;

/// An algorithm at a criterion, with the index of its first run.
struct Work {
    criterion: usize,
    cc: String,
    cases: Vec<Case>,
    /// Runs of each case.
    seeds: u32,
    first_run: usize,
}

/// Algorithms at criteria, and the scenarios of all their runs.
pub struct Works {
    first_seed: u64,
    works: Vec<Work>,
    scenarios: Vec<Scenario>,
}

impl Works {
    /// Without any. The seeds of each case begin with `first_seed`.
    #[must_use]
    pub const fn new(first_seed: u64) -> Self {
        Self { first_seed, works: Vec::new(), scenarios: Vec::new() }
    }

    /// Adds cases of an algorithm at the criterion with this index, each with `seeds` seeds.
    pub fn add(&mut self, criterion: usize, cc: &str, cases: Vec<Case>, seeds: u32) {
        let first_run = self.scenarios.len();
        for case in &cases {
            for seed in (self.first_seed..).take(seeds as usize) {
                self.scenarios.push(Scenario { seed, ..case.scenario.clone() });
            }
        }
        self.works.push(Work { criterion, cc: cc.to_owned(), cases, seeds, first_run });
    }

    /// All cases, in the order in which they were added.
    pub fn cases(&self) -> impl Iterator<Item = &Case> {
        self.works.iter().flat_map(|work| &work.cases)
    }

    /// The criterion's index, the algorithm and the cases of everything that was added.
    pub fn of_algorithms(&self) -> impl Iterator<Item = (usize, &str, &[Case])> {
        self.works.iter().map(|work| (work.criterion, work.cc.as_str(), work.cases.as_slice()))
    }

    /// The scenarios of all runs: of each case one for each seed.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        &self.scenarios
    }

    /// Judges everything by its runs, which are in the order of [`scenarios`](Self::scenarios). The records
    /// are in the order in which the works were added, each with the index of its criterion in `criteria`.
    #[must_use]
    pub fn judged(&self, summaries: &[Summary], criteria: &[&Criterion]) -> Vec<(usize, AlgorithmRecord)> {
        let record = |work: &Work| {
            let medians =
                criteria.get(work.criterion).map(|criterion| criterion.medians()).unwrap_or_default();
            (work.criterion, of_one(work, summaries, &medians))
        };
        self.works.iter().map(record).collect()
    }
}

/// Judges an algorithm at a criterion.
fn of_one(work: &Work, summaries: &[Summary], medians: &[Check]) -> AlgorithmRecord {
    let Work { cc, cases, seeds, first_run, .. } = work;
    let (seeds, first_run) = (*seeds as usize, *first_run);
    let mut results = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let first = first_run + number * seeds;
        let runs: Vec<Judged> =
            summaries[first..first + seeds].iter().map(|summary| judged(case, summary)).collect();
        results.extend(CaseRecord::of(case, &runs));
    }
    let runs = &summaries[first_run..first_run + cases.len() * seeds];
    let cpu_s = runs.iter().map(|run| run.cost.cpu_s).filter(|cost| cost.is_finite()).sum();
    AlgorithmRecord::of(cc.clone(), cpu_s, results, medians)
}

fn judged(case: &Case, summary: &Summary) -> Judged {
    judge(&case.checks, summary.seed, Measured::of(&case.scenario, summary, case.available))
}
