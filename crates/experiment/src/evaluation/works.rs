//! Cases with the runs that judge them.

use crate::quick;
use crate::{AlgorithmRecord, Case, CaseRecord, Criterion, Judged, Measured, judge};
use fairpace_results::Summary;
use fairpace_scenario::Scenario;

/// The cases of an algorithm at a criterion, with the index of the first run.
struct Work {
    criterion: usize,
    cc: String,
    cases: Vec<Case>,
    /// Number of runs of each case.
    seeds: u32,
    first_run: usize,
}

/// The cases of all algorithms at all criteria, and the scenarios of all their runs.
pub struct Works {
    first_seed: u64,
    works: Vec<Work>,
    scenarios: Vec<Scenario>,
}

impl Works {
    /// A list without any case. The seeds of each case begin with `first_seed`.
    #[must_use]
    pub const fn new(first_seed: u64) -> Self {
        Self { first_seed, works: Vec::new(), scenarios: Vec::new() }
    }

    /// Adds cases of an algorithm at the criterion with this index; each case has `seeds` runs.
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

    /// The criterion's index, the algorithm and the cases of each call of [`add`](Self::add).
    pub fn of_algorithms(&self) -> impl Iterator<Item = (usize, &str, &[Case])> {
        self.works.iter().map(|work| (work.criterion, work.cc.as_str(), work.cases.as_slice()))
    }

    /// The scenarios of all runs: for each case one per seed.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        &self.scenarios
    }

    /// The contained result of each scenario of [`scenarios`](Self::scenarios), if there is one.
    pub(super) fn contained(&self) -> Vec<Option<Measured>> {
        let seeds = |work: &Work| (self.first_seed..).take(work.seeds as usize);
        let of = |work: &Work| {
            let cases = work.cases.iter();
            let each = cases.flat_map(|case| seeds(work).map(|seed| quick::measured(case, seed)));
            each.collect::<Vec<_>>()
        };
        self.works.iter().flat_map(of).collect()
    }

    /// The case of each scenario of [`scenarios`](Self::scenarios).
    #[must_use]
    pub fn case_of_each(&self) -> Vec<&Case> {
        let of = |work: &'_ Work| work.seeds as usize;
        let cases = self.works.iter().flat_map(|work| work.cases.iter().map(move |case| (case, of(work))));
        cases.flat_map(|(case, seeds)| std::iter::repeat_n(case, seeds)).collect()
    }

    /// Judges all cases by their runs; `outcomes` is in the order of [`scenarios`](Self::scenarios). The
    /// records are in the order in which the cases were added, each with the index of its criterion in
    /// `criteria`.
    #[must_use]
    pub fn judged(&self, outcomes: &[Outcome], criteria: &[&Criterion]) -> Vec<(usize, AlgorithmRecord)> {
        let mut records = Vec::new();
        for Work { criterion, cc, cases, seeds, first_run } in &self.works {
            let seeds = *seeds as usize;
            let runs = &outcomes[*first_run..first_run + cases.len() * seeds];
            let result = |(case, runs): (&Case, &[Outcome])| {
                let seeds = self.first_seed..;
                let judged = runs.iter().zip(seeds).map(|(run, seed)| run.judged(case, seed));
                CaseRecord::of(case, &judged.collect::<Vec<_>>())
            };
            let results = cases.iter().zip(runs.chunks(seeds.max(1))).filter_map(result).collect();
            let cpu_s = runs.iter().map(Outcome::cpu_s).filter(|cost| cost.is_finite()).sum();
            let medians = criteria.get(*criterion).map(|of| of.medians()).unwrap_or_default();
            records.push((*criterion, AlgorithmRecord::of(cc.clone(), cpu_s, results, &medians)));
        }
        records
    }
}

/// What is known of a run.
#[derive(Debug)]
pub enum Outcome {
    /// Its summary.
    Run(Box<Summary>),
    /// The metrics that its case needs.
    Kept(Box<Measured>),
}

impl Outcome {
    fn judged(&self, case: &Case, seed: u64) -> Judged {
        match self {
            Self::Run(summary) => case.judged(summary),
            Self::Kept(measured) => judge(&case.checks, seed, (**measured).clone()),
        }
    }

    /// CPU time of the run, s; 0 for what this program contains.
    fn cpu_s(&self) -> f64 {
        match self {
            Self::Run(summary) => summary.cost.cpu_s,
            Self::Kept(_) => 0.0,
        }
    }
}

impl Case {
    /// Compares what a run of this case measured with the conditions of the case.
    pub(super) fn judged(&self, summary: &Summary) -> Judged {
        judge(&self.checks, summary.seed, Measured::of(&self.scenario, summary, self.available))
    }
}
