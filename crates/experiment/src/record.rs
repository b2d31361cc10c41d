//! The record of an evaluation.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::condition::Asked;
use crate::criterion::Criterion;
use crate::expand::Case;
use crate::judge::{Bound, Check, Held, Judged, worst};
use crate::measure::Metric;
use crate::section::Section;

/// Name and version of the record's format.
pub const SCHEMA: &str = "fairpace.evaluation/2";

/// The results of an evaluation, and what is needed to repeat it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// Name and version of the format, [`SCHEMA`].
    pub schema: &'static str,
    /// Commit from which the program was built.
    pub commit: String,
    /// The command that repeats the measurement.
    pub command: String,
    /// The algorithms that the user asked for; other algorithms are there for comparison.
    pub asked: Vec<String>,
    /// Name of the criteria's folder.
    pub folder: String,
    /// `full`, `quick`, `kernel` (the cases that real flows can show) or `random paths`.
    pub form: &'static str,
    /// Release of the kernel on which cases ran; `None` if no case ran on a kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The first seed of every case.
    pub seed: u64,
    /// SHA-256 over the hashes of all scenarios.
    pub scenarios_hash: String,
    /// Number of runs from which the record was computed.
    pub runs: usize,
    /// Number of runs that this call simulated; the store had the others.
    pub simulated: usize,
    /// Wall-clock time of this call's simulations, s.
    pub wall_s: f64,
    /// The criteria, in their order.
    pub criteria: Vec<CriterionRecord>,
}

/// A criterion with the results of all algorithms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CriterionRecord {
    /// Id of the criterion: "G1".
    pub id: String,
    /// Name of the criterion's file: "rtt-fairness".
    pub name: String,
    /// Title of the criterion, a few words.
    pub title: String,
    /// What the criterion asks.
    pub asks: String,
    /// Why the criterion asks it.
    pub why: String,
    /// What it means if an algorithm fails the criterion; empty if its file does not say.
    pub fails: String,
    /// The section of the criterion.
    pub section: Option<Section>,
    /// Number of seeds of each case; a case is judged by its worst seed.
    pub seeds: u32,
    /// The conditions that must hold.
    pub conditions: Vec<Asked>,
    /// The results of each algorithm.
    pub algorithms: Vec<AlgorithmRecord>,
}

/// The results of an algorithm at a criterion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlgorithmRecord {
    /// Name of the algorithm.
    pub cc: String,
    /// Number of cases that were judged.
    pub cases: usize,
    /// Number of judged cases in which all conditions that decide hold.
    pub hold: usize,
    /// Number of cases that count under each name that conditions have in `counts`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counted: BTreeMap<String, usize>,
    /// CPU time of the algorithm's runs, s; runs from the store count, too.
    pub cpu_s: f64,
    /// Number of cases in which each condition holds, in the criterion's order of conditions.
    pub conditions: Vec<ConditionCount>,
    /// Least, median and greatest value of each metric over the cases.
    pub metrics: Vec<Spread>,
    /// Results of the conditions on the medians over the cases.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub medians: Vec<ConditionRecord>,
    /// The result of each case.
    pub results: Vec<CaseRecord>,
}

/// A condition, counted over all cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionCount {
    /// Name of the condition.
    pub name: String,
    /// Number of cases in which the condition holds.
    pub hold: usize,
}

/// The spread of a metric over all cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// The metric.
    pub metric: Metric,
    /// The least value of a case.
    pub least: f64,
    /// The median over the cases; of an even number the upper median.
    pub median: f64,
    /// The greatest value of a case.
    pub most: f64,
}

/// The result of a case, by the worst of its seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseRecord {
    /// Name of the case.
    pub case: String,
    /// Hash of the case's scenario.
    pub scenario: String,
    /// Label of the case's row in the picture.
    pub row: String,
    /// Labels of the case's column in the picture; if empty, the case takes the whole row.
    pub column: Vec<String>,
    /// The seed by which the case is judged.
    pub seed: u64,
    /// Number of seeds of the case.
    pub seeds: usize,
    /// Number of seeds with which all conditions hold.
    pub seeds_hold: usize,
    /// Whether all conditions hold with the judged seed.
    pub holds: bool,
    /// The largest factor by which a value is beyond its bound, less 1; 0 if all conditions hold, `null` if
    /// it is infinite.
    pub miss: f64,
    /// Values of the metrics that every case has.
    pub metrics: BTreeMap<Metric, f64>,
    /// The result of each condition.
    pub conditions: Vec<ConditionRecord>,
    /// The result of the case on the running kernel, if it ran there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelRecord>,
}

/// The result of a case on the running kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelRecord {
    /// Whether all conditions hold; `null` if the machine disturbed every attempt.
    pub holds: Option<bool>,
    /// The result of each condition; empty if the machine disturbed every attempt.
    pub conditions: Vec<ConditionRecord>,
}

/// The result of a condition in a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionRecord {
    /// Name of the condition.
    pub name: String,
    /// The metric that was compared.
    pub metric: Metric,
    /// Value of the metric with the judged seed.
    pub value: f64,
    /// Median of the metric over all seeds; of an even number the upper median.
    pub median: f64,
    /// The bounds of the condition.
    pub bounds: Vec<Bound>,
    /// Whether the condition holds.
    pub holds: bool,
    /// The factor by which the value is beyond its bound, less 1; 0 if the condition holds, `null` if it is
    /// infinite.
    pub miss: f64,
    /// Name under which the case is counted if the condition does not hold; `None` for a condition that
    /// decides whether the case passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<String>,
}

impl Record {
    /// The command that repeats one criterion, without the other criteria that the record's command names.
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
    /// The record of a criterion without results, with the number of seeds of its cases.
    #[must_use]
    pub fn of(criterion: &Criterion, seeds: u32) -> Self {
        let conditions = criterion.conditions();
        let Criterion { id, name, title, asks, why, fails, section, .. } = criterion.clone();
        Self { id, name, title, asks, why, fails, section, seeds, conditions, algorithms: Vec::new() }
    }
}

impl CaseRecord {
    /// The result of a case from its runs, of which the worst is judged; `None` if there is no run.
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
    /// The result of a case from its run on the kernel; without an undisturbed run the case is not judged.
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
            counts: check.counts.clone(),
        }
    }

    /// Text of the bounds: ">= 0.4, <= 0.6".
    pub(crate) fn bounds_shown(&self) -> String {
        self.bounds.iter().map(|bound| bound.shown()).collect::<Vec<_>>().join(", ")
    }
}

impl AlgorithmRecord {
    /// The results of an algorithm, summed over its cases. `medians` are the conditions on medians.
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
        let count = |name: &String| (name.clone(), results.iter().filter(|of| of.counts_as(name)).count());
        let counted = first.iter().filter_map(|of| of.counts.as_ref()).map(count).collect();
        let median = |check: &Check| {
            let value = metrics.iter().find(|of| of.metric == check.metric).map_or(f64::NAN, |of| of.median);
            ConditionRecord::of(check, &check.held(value), Vec::new())
        };
        let medians = medians.iter().map(median).collect();
        Self { cc, cases: results.len(), hold, counted, cpu_s, conditions, metrics, medians, results }
    }
}

impl Spread {
    fn of(metric: Metric, mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let median = *values.get(values.len() / 2)?;
        Some(Self { metric, least: *values.first()?, median, most: *values.last()? })
    }
}
