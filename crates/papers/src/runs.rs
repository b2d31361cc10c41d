//! The runs of a figure: scenarios, models and tables of finished runs, once or along an axis.

use fairpace_experiment::{Axis, combinations};
use serde::Deserialize;

use crate::figure::Stack;

/// Number of seeds of a run that gives no number, and is like no other run.
const SEEDS: u32 = 5;

/// The number of seeds before [`expand`], if the file gives none.
fn unsaid() -> u32 {
    u32::MAX
}

/// A run: a scenario, a model or a table, once or along an axis.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPlan {
    /// Name of the run among the runs of the figure: "bbr1".
    pub name: String,
    /// Path of the scenario file, beside `figure.toml` or below `reproduction/PAPER/`.
    #[serde(default)]
    pub scenario: String,
    /// Name of a model in place of a scenario: "queueing.rounds".
    #[serde(default)]
    pub model: String,
    /// Path of a table of finished runs ([`crate::table`]) in place of a scenario, beside `figure.toml` or
    /// below `reproduction/PAPER/`. Real flows can run it: `set` then names one run of the experiment that
    /// writes the table, which is beside it: `grid.toml` for `grid.csv.gz` ([`crate::csv_file`]).
    #[serde(default)]
    pub table: String,
    /// Settings of the run. For a scenario, `KEY=VALUE` as for `--set`. For a model, its arguments. For a
    /// table, the rows that count: `COLUMN=VALUE`; `distinct=COLUMN,...`: of rows that are equal in these
    /// columns, the first; and `mean=COLUMN,...`: one number, the mean, for the rows that are equal in these
    /// columns, if their number is that of the largest such group.
    #[serde(default)]
    pub set: Vec<String>,
    /// The sweep along which the run is repeated.
    pub sweep: Option<Sweep>,
    /// Name of an earlier run whose source and sweep this run takes over. `set` applies after the settings of
    /// that run.
    #[serde(default)]
    pub like: String,
    /// Places on axes, "rate=1gbit", to which the points are restricted; an axis that is not named keeps all
    /// points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Number of simulations, each with its own seed; a model runs once. The default is the number of the run
    /// that this one is like, else 5.
    #[serde(default = "unsaid")]
    pub seeds: u32,
    /// Settings of each simulation besides its seed, in place of `seeds`.
    #[serde(default)]
    pub by_seed: Vec<Vec<String>>,
    /// Range of random start times, "100ms": each flow starts at a time drawn from the seed, uniform from 0
    /// to this, in place of its own start. All scenarios with a seed share these times, so that their
    /// differences are not those of random starts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub start_spread: String,
    /// Whether the run is not in the paper: an algorithm of ours in the same experiment. It has a look of its
    /// own in pictures and is never judged. The quick version leaves it out; so do real flows, unless
    /// `kernel.runs` names it.
    #[serde(default)]
    pub beside: bool,
}

/// Copies to each run what it takes over from another run, and gives each sweep over several axes its points.
pub(crate) fn expand(runs: &mut [RunPlan]) {
    for index in 0..runs.len() {
        let (above, rest) = runs.split_at_mut(index);
        let run = &mut rest[0];
        if let Some(other) = above.iter().find(|other| !run.like.is_empty() && other.name == run.like) {
            let seeds = if run.seeds == unsaid() { other.seeds } else { run.seeds };
            let RunPlan { scenario, model, table, sweep, by_seed, start_spread, .. } = other.clone();
            let set = [other.set.clone(), run.set.clone()].concat();
            let own = run.clone();
            *run = RunPlan { scenario, model, table, set, sweep, seeds, by_seed, start_spread, ..own };
        }
        if run.seeds == unsaid() {
            run.seeds = SEEDS;
        }
        if let Some(sweep) = &mut run.sweep {
            sweep.expand();
            sweep.points.retain(|point| point.is_one_of(&run.only));
        }
    }
}

impl RunPlan {
    /// The points of the sweep; empty without a sweep.
    pub(crate) fn points(&self) -> &[Point] {
        self.sweep.as_ref().map_or(&[], |sweep| &sweep.points)
    }

    /// Path of the table with one stack. For another stack than the first, the stack's name is at the end of
    /// the file's name: "grid-jumbo.csv.gz".
    pub(crate) fn table_on(&self, stack: &Stack) -> String {
        match self.table.split_once('.') {
            Some((stem, extension)) if !stack.set.is_empty() => format!("{stem}-{}.{extension}", stack.name),
            _ => self.table.clone(),
        }
    }
}

/// A sweep: the run is made once for each point.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Title of the picture's axis, with its unit: "RTT of the other flow, ms".
    pub title: String,
    /// The points of the sweep, in order.
    #[serde(default, rename = "point")]
    pub points: Vec<Point>,
    /// Axes in place of points: each combination of their points is a point of the sweep. The last axis
    /// changes fastest.
    #[serde(default, rename = "axis")]
    pub axes: Vec<Axis<Point>>,
}

impl Sweep {
    /// Makes the points of the sweep from its axes.
    fn expand(&mut self) {
        if self.axes.is_empty() {
            return;
        }
        let axes = std::mem::take(&mut self.axes);
        let point = |of: &Vec<(&str, &Point)>| Point {
            at: of.iter().map(|(_, point)| point.at.as_str()).collect::<Vec<_>>().join(" "),
            x: of.last().map_or(0.0, |(_, point)| point.x),
            set: of.iter().flat_map(|(_, point)| point.set.clone()).collect(),
            on: of.iter().map(|(axis, point)| format!("{axis}={}", point.at)).collect(),
        };
        self.points = combinations(&axes, |_| true).iter().map(point).collect();
    }
}

/// A point of a sweep or of an axis.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Name of the point: "15 ms".
    pub at: String,
    /// Place of the point on the axis of a picture.
    #[serde(default)]
    pub x: f64,
    /// Settings of the point, `KEY=VALUE`; they apply after those of the run.
    #[serde(default)]
    pub set: Vec<String>,
    /// Places of the point on several axes: "rate=1gbit".
    #[serde(skip)]
    pub on: Vec<String>,
}

impl Point {
    /// Whether the point, on each axis that `places` names, has one of the named places: "rate=1gbit".
    pub(crate) fn is_one_of(&self, places: &[String]) -> bool {
        let axis = |place: &String| place.split_once('=').map(|(name, _)| name.to_owned());
        let is_on =
            |name: Option<String>| places.iter().any(|place| axis(place) == name && self.on.contains(place));
        places.iter().all(|place| is_on(axis(place)))
    }
}
