//! The numbers that a figure asks for, computed from finished runs.

use fairpace_experiment::metric::{Numbers, series};
use fairpace_results::{Estimate, Run};

use crate::figure::{Figure, Measure, RunPlan, Take};
use crate::record::{self, Mean};
pub use crate::source::Gave;

/// Significant digits of a recorded number: more than its uncertainty allows.
const DIGITS: usize = 5;

/// The outcome of a planned case that has finished.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Index into [`Figure::runs`].
    pub run: usize,
    /// Index of the sweep point; 0 without a sweep.
    pub point: usize,
    /// The results of the run.
    pub gave: Gave,
}

/// All outcomes of a figure in one place.
#[derive(Debug, Clone, Copy)]
pub struct Outcomes<'a> {
    /// The figure.
    pub figure: &'a Figure,
    /// The outcomes that exist.
    pub all: &'a [Outcome],
}

/// A measure over its seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measurement {
    /// Mean of the seeds that have a value; `None` if no seed has one.
    pub(crate) mean: Option<Mean>,
    /// Whether every seed has a value.
    pub(crate) complete: bool,
}

impl Measurement {
    /// The numbers as they are recorded.
    pub(crate) fn numbers(self) -> record::Numbers {
        record::Numbers { ours: self.mean.into_iter().collect(), complete: self.complete }
    }

    fn of(values: &[f64]) -> Self {
        let mean = Estimate::of(values.iter().copied()).map(|estimate| Mean {
            n: u32::try_from(estimate.runs).unwrap_or(u32::MAX),
            mean: round(estimate.mean),
            half: estimate.ci95.map(round),
        });
        Self { mean, complete: !values.is_empty() && values.iter().all(|value| value.is_finite()) }
    }

    /// The measurement with the median and an interval of at least 95 % by ranks, which needs no distribution
    /// (Hahn and Meeker, 1991, section 5.2): a value is below the median as often as a coin shows heads.
    fn of_middle(values: &[f64]) -> Self {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let ends = outside(sorted.len()).map(|n| (sorted[n - 1], sorted[sorted.len() - n]));
        let mean = median(sorted.clone()).map(|middle| Mean {
            n: u32::try_from(sorted.len()).unwrap_or(u32::MAX),
            mean: round(middle),
            half: ends.map(|(low, high)| round((middle - low).max(high - middle))),
        });
        Self { mean, ..Self::of(values) }
    }
}

/// The rank, counted from either end, of the values that bound the 95 % interval of a median of `n` values;
/// `None` if there are too few values.
fn outside(n: usize) -> Option<usize> {
    /// Probability that the median is beyond one end of the interval.
    const ONE_SIDE: f64 = 0.025;
    // of n coins: the chance of i heads, and of at most i
    let (mut exactly, mut at_most, mut rank) = (0.5_f64.powi(i32::try_from(n).ok()?), 0.0, 0);
    while rank < n && at_most + exactly <= ONE_SIDE {
        at_most += exactly;
        exactly *= (n - rank) as f64 / (rank + 1) as f64;
        rank += 1;
    }
    (rank > 0).then_some(rank)
}

impl<'a> Outcomes<'a> {
    /// Index and plan of the run of this name.
    pub(crate) fn run(&self, name: &str) -> Option<(usize, &'a RunPlan)> {
        self.figure.runs.iter().enumerate().find(|(_, run)| run.name == name)
    }

    /// The results of a run at a point; `None` if it was not run in this place.
    pub(crate) fn at(&self, name: &str, at: &str) -> Option<&'a Gave> {
        let (index, run) = self.run(name)?;
        let point = match &run.sweep {
            None => 0,
            Some(sweep) => sweep.points.iter().position(|point| point.at == at)?,
        };
        self.all.iter().find(|of| of.run == index && of.point == point).map(|outcome| &outcome.gave)
    }

    /// Whether the runs that the measure needs were made in this place, and not only computed by models.
    pub(crate) fn ran(&self, measure: &Measure) -> bool {
        let is_run = |outcome: &Outcome| !outcome.gave.runs().is_empty();
        let number = self.run(&measure.run).map(|(number, _)| number);
        self.all.iter().any(|outcome| Some(outcome.run) == number && is_run(outcome))
            || measure.parts().any(|part| self.ran(part))
    }

    /// The measure at the point that it names.
    pub(crate) fn measure(&self, measure: &Measure) -> Option<Measurement> {
        self.measure_at(measure, &measure.at)
    }

    /// The measure at a point; `None` if the point was not run in this place.
    pub(crate) fn measure_at(&self, measure: &Measure, at: &str) -> Option<Measurement> {
        let over_seeds = if measure.median { Measurement::of_middle } else { Measurement::of };
        self.values(measure, at).map(|values| over_seeds(&values))
    }

    /// The value of the measure for each seed; NaN if a seed has none. `None` if the run was not made in this
    /// place, or if a table has no row of it yet.
    pub(crate) fn values(&self, measure: &Measure, at: &str) -> Option<Vec<f64>> {
        let mut values: Vec<f64> = match self.at(&measure.run, at)? {
            Gave::Runs(runs) => runs.iter().map(|run| of_run(measure, run)).collect(),
            Gave::Model(output) => vec![of_model(measure, output)],
            Gave::Table { table, filters } => {
                // it was read when the figure was planned
                let rows = table.numbers(filters, measure.of.strip_prefix("table.")?).unwrap_or_default();
                Some(rows).filter(|rows| !rows.is_empty())?
            }
            Gave::Cell { columns, runs } => {
                let name = measure.of.strip_prefix("table.")?;
                let column = columns.iter().find(|column| column.heading == name)?;
                runs.iter().map(|run| number(&column.measure, run)).collect()
            }
        };
        if let Some(over) = &measure.over {
            let at = if over.at.is_empty() { at } else { &over.at };
            values = divided(&values, &self.values(over, at)?);
        }
        let times = measure.times.unwrap_or(1.0);
        values.iter_mut().for_each(|value| *value *= times);
        Some(values)
    }
}

/// Divides values seed by seed, for the seeds that both sides have, so that the interval contains the spread
/// of both. A single divisor, such as a result of equations, divides all values.
fn divided(values: &[f64], by: &[f64]) -> Vec<f64> {
    let over = |value: f64, by: f64| if (value / by).is_finite() { value / by } else { f64::NAN };
    match by {
        [by] => values.iter().map(|value| over(*value, *by)).collect(),
        _ => values.iter().zip(by).map(|(value, by)| over(*value, *by)).collect(),
    }
}

/// The measure of a single run; NaN if the run has no value.
pub(crate) fn number(measure: &Measure, run: &Run) -> f64 {
    let over = measure.over.as_ref().map_or(1.0, |over| number(over, run));
    of_run(measure, run) * measure.times.unwrap_or(1.0) / over
}

fn of_run(measure: &Measure, run: &Run) -> f64 {
    match measure.take {
        None => Numbers::of(&run.summary).get(&measure.of).unwrap_or(f64::NAN),
        Some(take) => series(&measure.of, run)
            .and_then(|series| taken(measure, take, run.series.t_s.iter().copied().zip(series)))
            .unwrap_or(f64::NAN),
    }
}

fn of_model(measure: &Measure, output: &crate::models::Output) -> f64 {
    let Some(name) = measure.of.strip_prefix("model.") else { return f64::NAN };
    match measure.take {
        None => output.values.get(name).copied().unwrap_or(f64::NAN),
        Some(take) => {
            let points = output.curves.get(name).into_iter().flatten().map(|[x, y]| (*x, *y));
            taken(measure, take, points).unwrap_or(f64::NAN)
        }
    }
}

/// Reduces a series to one number, from its points between `from_s` and `to_s` that have a value.
fn taken(measure: &Measure, take: Take, points: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (from_s, to_s) = (measure.from_s, measure.to_s);
    let points = points.filter(|(t_s, y)| y.is_finite() && within(*t_s, from_s, to_s));
    let points: Vec<(f64, f64)> = points.collect();
    let values = || points.iter().map(|(_, y)| *y);
    let first =
        |reached: &dyn Fn(f64) -> bool| points.iter().find(|(_, y)| reached(*y)).map(|(t_s, _)| t_s - from_s);
    match take {
        Take::Mean => mean(values()),
        Take::Min => values().reduce(f64::min),
        Take::Max => values().reduce(f64::max),
        Take::Median => median(values().collect()),
        Take::TimeAbove => first(&|y| y >= measure.level),
        Take::TimeBelow => first(&|y| y <= measure.level),
        Take::Variation => {
            let mean_of_all = mean(values())?;
            let variance = mean(values().map(|y| (y - mean_of_all).powi(2)))?;
            (mean_of_all != 0.0).then(|| variance.sqrt() / mean_of_all)
        }
    }
}

/// Times that differ by less than this are equal, seconds: ends of intervals are sums of rounded numbers.
pub(crate) const NEAR_S: f64 = 1e-9;

/// Whether a point of a series counts. A point stands for the interval that ends there, so that a point at
/// `from_s` does not count.
pub(crate) fn within(t_s: f64, from_s: f64, to_s: f64) -> bool {
    let begun = from_s == 0.0 || t_s > from_s + NEAR_S;
    begun && (to_s == 0.0 || t_s <= to_s + NEAR_S)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0_u32), |(sum, n), value| (sum + value, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = values.get(middle).copied()?;
    if values.len() % 2 == 1 { Some(upper) } else { Some((values[middle - 1] + upper) / 2.0) }
}

/// Rounds a number to the digits that are recorded.
pub(crate) fn round(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return if x == 0.0 { 0.0 } else { x };
    }
    format!("{x:.*e}", DIGITS - 1).parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests as sample;

    fn figure() -> Figure {
        let text = r#"title = "t"
            source = "s"
            setup = "s"
            expect = "e"
            no_kernel = "n"
            [[run]]
            name = "once"
            scenario = "x.toml"
            [[run]]
            name = "swept"
            scenario = "x.toml"
            [run.sweep]
            title = "x"
            point = [{ at = "a", x = 1, set = [] }, { at = "b", x = 2, set = [] }]"#;
        toml::from_str(text).unwrap()
    }

    fn outcomes() -> Vec<Outcome> {
        let gave = |run, point, seeds: &[u64]| Outcome {
            run,
            point,
            gave: Gave::Runs(seeds.iter().map(|seed| sample::run(*seed)).collect()),
        };
        vec![gave(0, 0, &[0, 2]), gave(1, 0, &[10, 30]), gave(1, 1, &[5])]
    }

    #[track_caller]
    fn values(measure: &str, at: &str) -> Option<Vec<f64>> {
        let (figure, all) = (figure(), outcomes());
        Outcomes { figure: &figure, all: &all }.values(&toml::from_str(measure).unwrap(), at)
    }

    const GOODPUT: &str = "of = \"flow.1.goodput_mbps\"\n";

    #[test]
    fn a_value_of_each_seed_at_a_point() {
        assert_eq!(values(&format!("run = \"once\"\n{GOODPUT}"), ""), Some(vec![10.0, 12.0]));
        assert_eq!(values(&format!("run = \"swept\"\n{GOODPUT}"), "b"), Some(vec![15.0]));
        assert_eq!(values(&format!("run = \"swept\"\n{GOODPUT}"), "c"), None);
        assert_eq!(values(&format!("run = \"once\"\ntimes = 0.5\n{GOODPUT}"), ""), Some(vec![5.0, 6.0]));
    }

    #[test]
    fn ratios_are_by_seed_as_far_as_both_have_seeds() {
        let over = |run: &str| {
            format!("run = \"swept\"\n{GOODPUT}over = {{ run = \"{run}\", of = \"flow.2.goodput_mbps\" }}")
        };
        assert_eq!(values(&over("once"), "a"), Some(vec![20.0 / 20.0, 40.0 / 22.0]));
        assert_eq!(values(&over("swept"), "a"), Some(vec![20.0 / 30.0, 40.0 / 50.0]), "at the same point");
        assert_eq!(values(&over("once"), "b"), Some(vec![15.0 / 20.0]), "the first of both");
        let one = "run = \"swept\"\nat = \"b\"\nof = \"flow.2.goodput_mbps\"";
        let by_one = format!("run = \"once\"\n{GOODPUT}over = {{ {} }}", one.replace('\n', ", "));
        assert_eq!(values(&by_one, ""), Some(vec![10.0 / 25.0, 12.0 / 25.0]), "all by one number");
        let zero =
            format!("run = \"once\"\n{GOODPUT}over = {{ run = \"once\", of = \"flow.1.retransmits\" }}");
        assert!(values(&zero, "").unwrap().iter().all(|value| value.is_nan()), "over nothing");
    }

    #[test]
    fn real_flows_in_a_cell_of_a_grid_give_the_columns_of_its_table() {
        let jain = "heading = \"jain\"\nmeasure = { of = \"jain\" }";
        let used = "heading = \"used\"\nmeasure.of = \"flow.1.goodput_mbps\"\n\
                    measure.over.of = \"flow.1.5ms.goodput_mbps\"";
        let columns = [jain, used].map(|column| toml::from_str(column).unwrap()).to_vec();
        let figure = figure();
        let all = [Outcome {
            run: 0,
            point: 0,
            gave: Gave::Cell { columns, runs: vec![sample::run(1), sample::run(2)] },
        }];
        let outcomes = Outcomes { figure: &figure, all: &all };
        let measure =
            |of: &str| -> Measure { toml::from_str(&format!("run = \"once\"\nof = \"{of}\"")).unwrap() };
        assert_eq!(outcomes.values(&measure("table.jain"), ""), Some(vec![0.75; 2]));
        assert_eq!(outcomes.values(&measure("table.used"), ""), Some(vec![1.0; 2]));
        assert_eq!(outcomes.values(&measure("table.pair"), ""), None, "it is no measure");
        assert!(outcomes.ran(&measure("table.jain")));
    }

    #[test]
    fn a_mean_of_some_seeds_is_not_complete() {
        let found = Measurement::of(&[1.0, f64::NAN, 3.0]);
        assert_eq!(found.mean.map(|mean| (mean.n, mean.mean)), Some((2, 2.0)));
        assert!(!found.complete && !Measurement::of(&[]).complete && Measurement::of(&[1.0]).complete);
        // t with 1 degree of freedom: 12.706 times the standard error of 1
        assert_eq!(found.mean.and_then(|mean| mean.half), Some(12.706));
    }

    #[test]
    fn a_median_has_the_interval_of_its_ranks() {
        // tables of the sign test at 5 %: n = 5 none, 6 the first, 10 the second, 20 the sixth
        assert_eq!(
            [5, 6, 8, 9, 10, 20, 100].map(outside),
            [None, Some(1), Some(1), Some(2), Some(2), Some(6), Some(40)]
        );
        let of =
            |values: &[f64]| Measurement::of_middle(values).mean.map(|mean| (mean.n, mean.mean, mean.half));
        let two_groups: Vec<f64> =
            [2.0, 3.0, 4.0].into_iter().chain((0..7).map(|i| 65.0 + f64::from(i))).collect();
        assert_eq!(of(&two_groups), Some((10, 66.5, Some(63.5))), "the second of ten is in the lower group");
        assert_eq!(of(&[1.0, f64::NAN, 9.0]), Some((2, 5.0, None)));
        assert!(!Measurement::of_middle(&[1.0, f64::NAN]).complete && of(&[]).is_none());
        let all = outcomes();
        let measure = format!("run = \"once\"\nmedian = true\n{GOODPUT}");
        let found = Outcomes { figure: &figure(), all: &all }.measure(&toml::from_str(&measure).unwrap());
        assert_eq!(found.and_then(|found| found.mean).map(|mean| (mean.mean, mean.half)), Some((11.0, None)));
    }

    #[test]
    fn series_are_taken_within_their_time() {
        let take = |rest: &str, of: &str| {
            let found = values(&format!("run = \"once\"\nof = \"{of}\"\n{rest}"), "").unwrap();
            found[0]
        };
        let goodput = |rest: &str| take(rest, "flow.1.goodput_mbps");
        assert_eq!(goodput("take = \"mean\""), 15.0);
        assert_eq!(goodput("take = \"mean\"\nfrom_s = 2"), 25.0, "what ends at 2 s is before");
        assert_eq!(goodput("take = \"max\"\nto_s = 2"), 10.0);
        assert_eq!(goodput("take = \"median\"\nfrom_s = 1"), 20.0);
        assert_eq!(goodput("take = \"time-above\"\nlevel = 20\nfrom_s = 1"), 2.0);
        assert!(goodput("take = \"time-above\"\nlevel = 31").is_nan(), "never");
        assert_eq!(take("take = \"time-below\"\nlevel = 1", "flow.1.rtt_ms"), 3.0, "a gap is not below");
        assert_eq!(take("take = \"min\"", "link.1.queue_delay_ms"), 0.0);
        let variation = take("take = \"variation\"", "link.1.drops");
        assert!((variation - 1.25_f64.sqrt() / 1.5).abs() < 1e-12, "{variation}");
        assert!(take("take = \"mean\"\nfrom_s = 9", "flow.1.rtt_ms").is_nan(), "no point is there");
    }

    #[test]
    fn what_is_recorded_has_five_digits() {
        assert_eq!(round(123_456.78), 123_460.0);
        assert_eq!(round(-0.001_234_567), -0.001_234_6);
        assert_eq!((round(-0.0).to_string(), round(f64::INFINITY)), ("0".to_owned(), f64::INFINITY));
    }
}
