//! Several runs of a scenario with different seeds: mean and confidence interval of each metric.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::columns::{Column, Read};
use crate::{FlowSummary, LinkSummary, LossBursts, ScenarioId, Summary, csv_text, round};

/// Version of the [`Repeat`] format. The number grows when a field is removed or changes its meaning.
pub const REPEAT_SCHEMA: &str = "fairpace.repeat/2";

/// Runs of a scenario that differ in their seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// Version of the format: [`REPEAT_SCHEMA`].
    pub schema: String,
    /// Where the runs were made: `sim` or `kernel`.
    pub on: String,
    /// Commit that built the program, as in a summary.
    pub commit: String,
    /// Identity of the scenario.
    pub scenario: ScenarioId,
    /// The measurement window of each run: from, to, in seconds.
    pub window_s: [f64; 2],
    /// The seed of each run.
    pub seeds: Vec<u64>,
    /// All metrics of the summaries.
    pub metrics: Vec<Metric>,
    /// Notes for a reader of the means: some runs differ from the others. Left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A metric over all runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Path of the metric in the summary, with flows and links by name: `flows.10ms.goodput_mbps`, `jain`.
    pub name: String,
    /// The estimate of the metric's mean. `null` if no run has a value.
    pub estimate: Option<Estimate>,
    /// The metric's value in each run, in the order of the seeds.
    pub values: Vec<Option<f64>>,
}

/// A mean and its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Number of runs that have a value. Runs without a value do not count.
    pub runs: usize,
    /// Mean of the values.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval of the mean, by Student's t with `runs` - 1 degrees of
    /// freedom. The interval assumes independent runs and normally distributed values. `null` if there is a
    /// single value.
    pub ci95: Option<f64>,
    /// Standard deviation of the values (with n - 1). `null` if there is a single value.
    pub sd: Option<f64>,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
}

impl Estimate {
    /// Estimates mean and interval from the finite values; `None` if no value is finite.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let min = values.iter().copied().reduce(f64::min)?;
        let max = values.iter().copied().reduce(f64::max)?;
        let n = values.len() as f64;
        // relative to the smallest value, so that the mean of equal values is exactly that value
        let mean = min + values.iter().map(|value| value - min).sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let sd = (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt());
        let ci95 = sd.and_then(|sd| Some(student_975(values.len() - 1)? * sd / n.sqrt()));
        Some(Estimate { runs: values.len(), mean, ci95, sd, min, max })
    }
}

/// The 97.5 % quantile of Student's t: 95 % of the distribution lie between -t and t.
fn student_975(degrees_of_freedom: usize) -> Option<f64> {
    StudentsT::new(0.0, 1.0, degrees_of_freedom as f64).ok().map(|t| t.inverse_cdf(0.975))
}

impl Repeat {
    /// Combines runs of a scenario. `None` without runs.
    #[must_use]
    pub fn of(summaries: &[Summary]) -> Option<Self> {
        let first = summaries.first()?;
        let names = first.metrics();
        let row = |summary: &Summary| {
            // without the names, which are the same in all runs and take most of the memory
            let mut values = Vec::with_capacity(names.len());
            values.extend(summary.metrics().into_iter().map(|(_, value)| value));
            values
        };
        let rows: Vec<Vec<Option<f64>>> = summaries.iter().map(row).collect();
        let metric = |(index, (name, _)): (usize, &(String, Option<f64>))| {
            let values: Vec<Option<f64>> = rows.iter().map(|row| row.get(index).copied().flatten()).collect();
            Metric { name: name.clone(), estimate: Estimate::of(values.iter().flatten().copied()), values }
        };
        Some(Repeat {
            schema: REPEAT_SCHEMA.to_owned(),
            on: first.on.clone(),
            commit: first.commit.clone(),
            scenario: first.scenario.clone(),
            window_s: first.window_s,
            seeds: summaries.iter().map(|summary| summary.seed).collect(),
            metrics: names.iter().enumerate().map(metric).collect(),
            notes: notes(summaries),
        })
    }

    /// The estimate of the metric called `name`.
    #[must_use]
    pub fn estimate(&self, name: &str) -> Option<Estimate> {
        self.metrics.iter().find(|metric| metric.name == name)?.estimate
    }

    /// Writes CSV with a row per run and a column per metric, after a column of seeds. A cell without value
    /// is empty.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write_csv<W: Write + ?Sized>(&self, out: &mut W) -> io::Result<()> {
        let mut row = String::from("seed");
        for metric in &self.metrics {
            row.push(',');
            row.push_str(&csv_text(&metric.name));
        }
        writeln!(out, "{row}")?;
        for (run, seed) in self.seeds.iter().enumerate() {
            row.clear();
            row.push_str(&seed.to_string());
            for metric in &self.metrics {
                let value = metric.values.get(run).copied().flatten().filter(|value| value.is_finite());
                row.push(',');
                row.push_str(&value.map(|value| round(value).to_string()).unwrap_or_default());
            }
            writeln!(out, "{row}")?;
        }
        Ok(())
    }
}

/// Returns the notes on several runs of a scenario.
fn notes(summaries: &[Summary]) -> Vec<String> {
    let Some(first) = summaries.first() else { return Vec::new() };
    let all = summaries.len();
    let of_link = |(index, link): (usize, &LinkSummary)| {
        let bursts = summaries.iter().filter_map(|summary| summary.links.get(index)?.loss_bursts);
        let long: Vec<f64> = bursts.filter(|of| of.long > 0).map(|of| of.longest_s).collect();
        let longest_s = round(long.iter().copied().reduce(f64::max)?);
        let (runs, name, than) = (long.len(), &link.name, LossBursts::LONG);
        Some(format!(
            "link \"{name}\": in {runs} of {all} runs a burst of loss lasted {than}, the longest \
             {longest_s} s: it is of a number of packets, and few were sent in it; means depend on how many \
             runs have one, so write loss_burst as a time"
        ))
    };
    let of_flow = |(index, flow): (usize, &FlowSummary)| {
        let drops = summaries.iter().filter_map(|summary| summary.flows.get(index)?.drop.as_ref());
        let runs = drops.filter(|drop| !drop.never_sent.is_empty()).count();
        let name = &flow.name;
        (runs > 0).then(|| {
            format!("flow \"{name}\": in {runs} of {all} runs `drop` names packets that were never sent")
        })
    };
    let of_links = first.links.iter().enumerate().filter_map(of_link);
    of_links.chain(first.flows.iter().enumerate().filter_map(of_flow)).collect()
}

impl Summary {
    /// Returns all measured values by their path: `flows.NAME.share`, `links.NAME.dropped_pkts`, `jain`.
    /// Values that the scenario sets, and [`Cost`](crate::Cost), are left out.
    #[must_use]
    pub fn metrics(&self) -> Vec<(String, Option<f64>)> {
        let mut all: Vec<(String, Option<f64>)> = Vec::new();
        for flow in &self.flows {
            let parts = [("completions", flow.completions.is_some()), ("media", false)];
            add(&mut all, &format!("flows.{}", flow.name), FlowSummary::COLUMNS, flow, &parts);
        }
        for link in &self.links {
            let parts = [("loss_bursts", link.loss_bursts.is_some())];
            add(&mut all, &format!("links.{}", link.name), LinkSummary::COLUMNS, link, &parts);
            let shares = self.flows.iter().zip(&link.backlog_share);
            all.extend(shares.map(|(flow, share)| {
                (format!("links.{}.backlog_share.{}", link.name, flow.name), Some(*share))
            }));
        }
        all.push(("jain".to_owned(), self.jain));
        all.push(("convergence_s".to_owned(), self.convergence_s));
        all.push(("max_min_distance".to_owned(), self.max_min_distance));
        all
    }
}

/// Columns that the scenario sets.
const GIVEN: [&str; 3] = ["base_rtt_ms", "start_s", "rate_mbps"];

/// Appends the measured numbers of a record by their path below `of`. Those of a part of the record are left
/// out unless the part is there.
fn add<R>(
    all: &mut Vec<(String, Option<f64>)>,
    of: &str,
    columns: &[Column<R>],
    record: &R,
    parts: &[(&str, bool)],
) {
    for (name, read) in columns.iter().filter(|(name, _)| !GIVEN.contains(name)) {
        let number = match read {
            Read::Text(_) => continue,
            Read::Count(read) => read(record).map(|count| count as f64),
            Read::Number(read) => read(record),
        };
        let split = |part: &str| name.strip_prefix(part)?.strip_prefix('_');
        match parts.iter().find_map(|(part, is_there)| Some((part, split(part)?, is_there))) {
            None => all.push((format!("{of}.{name}"), number)),
            Some((part, rest, true)) => all.push((format!("{of}.{part}.{rest}"), number)),
            Some((.., false)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Completions, DropSummary, round, sample_summary};
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        for (degrees, table) in
            [(1, 12.7062), (2, 4.3027), (4, 2.7764), (9, 2.2622), (29, 2.0452), (999, 1.9623)]
        {
            let quantile = student_975(degrees).unwrap();
            assert!((quantile - table).abs() < 1e-4, "{degrees}: {quantile}");
        }
    }

    #[test]
    fn an_interval_by_hand() {
        // 1, 2, 3: mean 2, sd 1, 4.3027 / sqrt(3)
        let estimate = Estimate::of([3.0, 1.0, f64::NAN, 2.0]).unwrap();
        assert_eq!((estimate.runs, estimate.mean, estimate.sd), (3, 2.0, Some(1.0)));
        assert!((estimate.ci95.unwrap() - 2.4841).abs() < 1e-4);
        assert_eq!((estimate.min, estimate.max), (1.0, 3.0));
        let single = Estimate::of([7.0]).unwrap();
        assert_eq!((single.mean, single.ci95, single.sd), (7.0, None, None));
        assert_eq!(Estimate::of([]), None);
    }

    /// Collects the names of all numbers in a summary's JSON. Elements of arrays have their names in the
    /// path.
    fn leaves(value: &Value, path: &str, names: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields.iter().filter(|(key, _)| *key != "name") {
                    leaves(
                        value,
                        &if path.is_empty() { key.clone() } else { format!("{path}.{key}") },
                        names,
                    );
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let name = item["name"].as_str().map_or(["10ms", "50ms"][index.min(1)], |name| name);
                    leaves(item, &format!("{path}.{name}"), names);
                }
            }
            Value::Number(_) | Value::Null => names.push(path.to_owned()),
            _ => {}
        }
    }

    #[test]
    fn every_measured_number_of_a_summary_is_a_metric() {
        let mut summary = sample_summary();
        summary.flows[0].completions = Some(Completions::default());
        summary.links[0].loss_bursts = Some(LossBursts::default());
        let mut wanted = Vec::new();
        leaves(&serde_json::to_value(&summary).unwrap(), "", &mut wanted);
        let is_given = |name: &String| {
            ["seed", "cost.", "window_s."].iter().any(|given| name.starts_with(given))
                || [".base_rtt_ms", ".start_s", ".rate_mbps"].iter().any(|given| name.ends_with(given))
        };
        // a flow without completions has one null for all of them
        wanted.retain(|name| !is_given(name) && name != "flows.50ms.completions");
        let mut names: Vec<String> = summary.metrics().into_iter().map(|(name, _)| name).collect();
        names.sort();
        wanted.sort();
        assert_eq!(names, wanted);
    }

    #[test]
    fn repeats_keep_each_value_in_the_order_of_the_seeds() {
        let mut summaries = vec![sample_summary(); 3];
        for (seed, summary) in (7..).zip(&mut summaries) {
            summary.seed = seed;
            summary.flows[0].goodput_mbps = seed as f64;
        }
        summaries[1].jain = None;
        let repeat = Repeat::of(&summaries).unwrap();
        assert_eq!(repeat.seeds, [7, 8, 9]);
        assert_eq!(repeat.metrics[2].name, "flows.10ms.goodput_mbps");
        assert_eq!(repeat.metrics[2].values, [Some(7.0), Some(8.0), Some(9.0)]);
        assert_eq!(repeat.estimate("flows.10ms.goodput_mbps").unwrap().mean, 8.0);
        assert_eq!(repeat.estimate("jain").unwrap().runs, 2);
        assert_eq!(repeat.estimate("convergence_s"), None);
        let mut csv = Vec::new();
        repeat.write_csv(&mut csv).unwrap();
        let mut rows = csv::Reader::from_reader(csv.as_slice());
        assert_eq!(rows.headers().unwrap().get(3), Some("flows.10ms.goodput_mbps"));
        let cells: Vec<_> = rows.records().map(|row| row.unwrap()[3].to_owned()).collect();
        assert_eq!(cells, ["7", "8", "9"]);
        assert_eq!(Repeat::of(&[]), None);
    }

    #[test]
    fn runs_that_are_not_like_the_others_have_a_note() {
        let mut summaries = vec![sample_summary(); 4];
        assert!(Repeat::of(&summaries).unwrap().notes.is_empty());
        for (summary, (longest_s, long)) in
            summaries.iter_mut().zip([(0.2, 0), (367.0, 1), (0.3, 0), (12.0, 2)])
        {
            summary.links[0].loss_bursts = Some(LossBursts { longest_s, long });
        }
        let never_sent = vec!["ack 9".to_owned()];
        summaries[2].flows[1].drop = Some(DropSummary { never_sent, ..DropSummary::default() });
        summaries[3].flows[1].drop = Some(DropSummary::default());
        let repeat = Repeat::of(&summaries).unwrap();
        let [bursts, drops] = repeat.notes.as_slice() else { panic!("{:?}", repeat.notes) };
        let begin = "link \"bottleneck\": in 2 of 4 runs a burst of loss lasted longer than 10 RTTs and 1 s, \
                     the longest 367 s: ";
        assert!(bursts.starts_with(begin), "{bursts}");
        assert_eq!(drops, "flow \"50ms\": in 1 of 4 runs `drop` names packets that were never sent");
        assert_eq!(repeat.estimate("links.bottleneck.loss_bursts.long").unwrap().max, 2.0);
        assert!(serde_json::to_string(&repeat).unwrap().contains("\"notes\":[\"link"));
    }

    proptest! {
        #[test]
        fn an_interval_moves_and_scales_with_its_values(
            values in prop::collection::vec(-1e3..1e3f64, 2..30), by in -1e3..1e3f64, scale in 1e-3..1e3f64,
        ) {
            let plain = Estimate::of(values.iter().copied()).unwrap();
            let moved = Estimate::of(values.iter().map(|value| (value + by) * scale)).unwrap();
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + a.abs() + b.abs()) * (1.0 + scale);
            prop_assert!(close((plain.mean + by) * scale, moved.mean));
            prop_assert!(close(plain.ci95.unwrap() * scale, moved.ci95.unwrap()));
            prop_assert!(plain.min <= plain.mean && plain.mean <= plain.max);
        }

        #[test]
        fn equal_values_have_no_interval(value in -1e9..1e9f64, n in 2..50usize) {
            let estimate = Estimate::of(std::iter::repeat_n(value, n)).unwrap();
            prop_assert_eq!((estimate.mean, estimate.ci95), (value, Some(0.0)));
            prop_assert!(round(estimate.mean).is_finite());
        }
    }
}
