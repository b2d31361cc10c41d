//! The result of an evaluation.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::condition::Asked;
use crate::criterion::Criterion;
use crate::expand::Case;
use crate::judge::{Bound, Check, Held, Judged, worst};
use crate::measure::Metric;
use crate::section::Section;

/// Version of the record.
pub const SCHEMA: &str = "fairpace.evaluation/2";

/// Everything that was measured, and what repeats it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Commit of the program.
    pub commit: String,
    /// The command that measures the same again.
    pub command: String,
    /// The algorithms that were asked for; others are there to compare with.
    pub asked: Vec<String>,
    /// Name of the criteria: their folder.
    pub folder: String,
    /// `full`, `quick`, `kernel` (the cases that real flows can show) or `random paths`.
    pub form: &'static str,
    /// Release of the kernel on which cases ran, if they did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The first seed of every case.
    pub seed: u64,
    /// SHA-256 over the hashes of all scenarios.
    pub scenarios_hash: String,
    /// Runs behind these numbers.
    pub runs: usize,
    /// Of these, simulated now; the others were kept from earlier calls...
    pub simulated: usize,
    /// ...in this wall-clock time.
    pub wall_s: f64,
    /// The criteria, in order.
    pub criteria: Vec<CriterionRecord>,
}

/// One criterion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CriterionRecord {
    /// "G1".
    pub id: String,
    /// "rtt-fairness".
    pub name: String,
    /// A few words.
    pub title: String,
    /// What it asks.
    pub asks: String,
    /// Why.
    pub why: String,
    /// What it means to fail it; empty if its file does not say.
    pub fails: String,
    /// Its section.
    pub section: Option<Section>,
    /// Number of seeds of each case; the worst is judged.
    pub seeds: u32,
    /// What must hold.
    pub conditions: Vec<Asked>,
    /// What each algorithm did.
    pub algorithms: Vec<AlgorithmRecord>,
}

/// An algorithm at a criterion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlgorithmRecord {
    /// Its name.
    pub cc: String,
    /// Cases that were judged...
    pub cases: usize,
    /// ...and of these, those in which all conditions hold.
    pub hold: usize,
    /// CPU-seconds of its runs, also of those that were kept from earlier calls.
    pub cpu_s: f64,
    /// Number of cases in which each condition holds, in the criterion's order.
    pub conditions: Vec<ConditionCount>,
    /// Each metric over the cases.
    pub metrics: Vec<Spread>,
    /// What must hold of the medians over the cases.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub medians: Vec<ConditionRecord>,
    /// Each case.
    pub results: Vec<CaseRecord>,
}

/// A condition over all cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionCount {
    /// Its name.
    pub name: String,
    /// Number of cases in which it holds.
    pub hold: usize,
}

/// A metric over all cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// Its name.
    pub metric: Metric,
    /// The least value.
    pub least: f64,
    /// The upper median.
    pub median: f64,
    /// The greatest value.
    pub most: f64,
}

/// A case, by the worst of its seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseRecord {
    /// Its name.
    pub case: String,
    /// Hash of its scenario.
    pub scenario: String,
    /// Its row in the picture.
    pub row: String,
    /// Its column; empty: the whole row.
    pub column: Vec<String>,
    /// The seed that is judged.
    pub seed: u64,
    /// Number of seeds.
    pub seeds: usize,
    /// Number of seeds with which all conditions hold.
    pub seeds_hold: usize,
    /// Whether all conditions hold.
    pub holds: bool,
    /// The largest factor by which a value is beyond its bound, less 1; 0 if all hold, `null` if it is
    /// infinite.
    pub miss: f64,
    /// The metrics of every case.
    pub metrics: BTreeMap<Metric, f64>,
    /// Each condition.
    pub conditions: Vec<ConditionRecord>,
    /// The same case on the running kernel, if it ran there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelRecord>,
}

/// A case on the running kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelRecord {
    /// Whether all conditions hold; `null` if the machine disturbed all attempts.
    pub holds: Option<bool>,
    /// Each condition; none if the machine disturbed all attempts.
    pub conditions: Vec<ConditionRecord>,
}

/// A condition in a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionRecord {
    /// Its name.
    pub name: String,
    /// What was compared.
    pub metric: Metric,
    /// The value.
    pub value: f64,
    /// The median of the values of all seeds; of two in the middle the higher one.
    pub median: f64,
    /// The bounds.
    pub bounds: Vec<Bound>,
    /// Whether it holds.
    pub holds: bool,
    /// The factor by which the value is beyond its bound, less 1; 0 if it holds, `null` if it is infinite.
    pub miss: f64,
}

impl Record {
    /// The command that measures one of its criteria again, and no other that its own command names.
    pub(crate) fn command_of(&self, criterion: &CriterionRecord) -> String {
        let mut words = self.command.split(' ');
        let mut kept = Vec::new();
        while let Some(word) = words.next() {
            match word {
                "--criterion" => _ = words.next(),
                _ => kept.push(word),
            }
        }
        format!("{} --criterion {}", kept.join(" "), criterion.id)
    }
}

impl CriterionRecord {
    /// The criterion without results, with the number of seeds of its cases.
    #[must_use]
    pub fn of(criterion: &Criterion, seeds: u32) -> Self {
        let conditions = criterion.conditions();
        let Criterion { id, name, title, asks, why, fails, section, .. } = criterion.clone();
        Self { id, name, title, asks, why, fails, section, seeds, conditions, algorithms: Vec::new() }
    }
}

impl CaseRecord {
    /// A case beside its runs, of which the worst is judged; `None` without a run.
    #[must_use]
    pub fn of(case: &Case, runs: &[Judged]) -> Option<Self> {
        let judged = worst(runs)?;
        let metrics = Metric::ALWAYS.map(|metric| (metric, judged.measured.value(metric, "")));
        let condition = |(index, check): (usize, &Check)| {
            let held = judged.held.get(index)?;
            let values = runs.iter().filter_map(|run| Some(run.held.get(index)?.value)).collect();
            Some(ConditionRecord::of(check, held, values))
        };
        Some(Self {
            case: case.name.clone(),
            scenario: case.scenario.hash.clone(),
            row: case.row.clone(),
            column: case.column.clone(),
            seed: judged.seed,
            seeds: runs.len(),
            seeds_hold: runs.iter().filter(|run| run.holds()).count(),
            holds: judged.holds(),
            miss: judged.miss(),
            metrics: metrics.into(),
            conditions: case.checks.iter().enumerate().filter_map(condition).collect(),
            kernel: None,
        })
    }
}

impl KernelRecord {
    /// A case beside its run on the kernel; without one that was not disturbed it is not judged.
    #[must_use]
    pub fn of(case: &Case, judged: Option<Judged>) -> Self {
        let Some(judged) = judged else { return Self { holds: None, conditions: Vec::new() } };
        let condition = |(check, held)| ConditionRecord::of(check, held, Vec::new());
        let conditions = case.checks.iter().zip(&judged.held).map(condition).collect();
        Self { holds: Some(judged.holds()), conditions }
    }
}

impl ConditionRecord {
    fn of(check: &Check, held: &Held, mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self {
            name: check.name.clone(),
            metric: check.metric,
            value: held.value,
            median: values.get(values.len() / 2).copied().unwrap_or(held.value),
            bounds: check.bounds.clone(),
            holds: held.holds,
            miss: held.miss,
        }
    }

    /// Its bounds for people: ">= 0.4, <= 0.6".
    pub(crate) fn bounds_shown(&self) -> String {
        self.bounds.iter().map(|bound| bound.shown()).collect::<Vec<_>>().join(", ")
    }
}

impl AlgorithmRecord {
    /// The sums over cases. `medians` are the conditions of the medians.
    #[must_use]
    pub fn of(cc: String, cpu_s: f64, results: Vec<CaseRecord>, medians: &[Check]) -> Self {
        let mut metrics: Vec<Spread> = Vec::new();
        let always = Metric::ALWAYS.into_iter();
        for metric in always.filter(|metric| !matches!(metric, Metric::LeastMbps | Metric::MostMbps)) {
            let value = |result: &CaseRecord| result.metrics.get(&metric).copied();
            metrics.extend(Spread::of(metric, results.iter().filter_map(value).collect()));
        }
        let first = results.first().map_or(&[][..], |result| &result.conditions);
        for (index, condition) in first.iter().enumerate() {
            if !metrics.iter().any(|known| known.metric == condition.metric) {
                let value = |result: &CaseRecord| result.conditions.get(index).map(|of| of.value);
                metrics.extend(Spread::of(condition.metric, results.iter().filter_map(value).collect()));
            }
        }
        let holds = |index: usize, of: &CaseRecord| of.conditions.get(index).is_some_and(|of| of.holds);
        let condition = |(index, of): (usize, &ConditionRecord)| ConditionCount {
            name: of.name.clone(),
            hold: results.iter().filter(|result| holds(index, result)).count(),
        };
        let conditions = first.iter().enumerate().map(condition).collect();
        let hold = results.iter().filter(|result| result.holds).count();
        let median = |check: &Check| {
            let value = metrics.iter().find(|of| of.metric == check.metric).map_or(f64::NAN, |of| of.median);
            ConditionRecord::of(check, &check.held(value), Vec::new())
        };
        let medians = medians.iter().map(median).collect();
        Self { cc, cases: results.len(), hold, cpu_s, conditions, metrics, medians, results }
    }
}

impl Spread {
    fn of(metric: Metric, mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let median = *values.get(values.len() / 2)?;
        Some(Self { metric, least: *values.first()?, median, most: *values.last()? })
    }
}
