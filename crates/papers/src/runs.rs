//! What is run: scenarios, models and tables of finished runs, once or along an axis.

use serde::Deserialize;

use crate::figure::Base;

/// Seeds of a run that does not say how many, and is like none.
const SEEDS: u32 = 5;

/// Before [`expand`]: the file does not say how many seeds.
fn unsaid() -> u32 {
    u32::MAX
}

/// A scenario or a model, once or along an axis.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPlan {
    /// Its name among the figure's runs: "bbr1".
    pub name: String,
    /// A scenario file beside `figure.toml`, or below `reproduction/PAPER/`.
    #[serde(default)]
    pub scenario: String,
    /// In place of a scenario, a model of `fairpace-models`: "queueing.rounds".
    #[serde(default)]
    pub model: String,
    /// In place of a scenario, a table of finished runs ([`crate::table`]) beside `figure.toml`, or below
    /// `reproduction/PAPER/`. Real flows run it: `set` then names one run of the experiment that writes the
    /// table, which is beside it: `grid.toml` for `grid.csv.gz` ([`crate::csv_file`]).
    #[serde(default)]
    pub table: String,
    /// `KEY=VALUE` as for `--set`; for a model, its arguments; for a table, which rows count: `COLUMN=VALUE`,
    /// `distinct=COLUMN,...`: of rows that are the same in these columns, the first; and `mean=COLUMN,...`:
    /// one number, the mean, of rows that are the same in these columns, if there are as many as of others.
    #[serde(default)]
    pub set: Vec<String>,
    /// One axis.
    pub sweep: Option<Sweep>,
    /// In place of a source and a sweep: those of this run, which is above. `set` comes after its own.
    #[serde(default)]
    pub like: String,
    /// Only the points at these places of its axes, "rate=1gbit"; of an axis that is not named, all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Simulations, each with its own seed; a model runs once. By default those of the run that it is like,
    /// else 5.
    #[serde(default = "unsaid")]
    pub seeds: u32,
    /// In place of `seeds`: for each simulation, what it sets beside its seed.
    #[serde(default)]
    pub by_seed: Vec<Vec<String>>,
    /// In place of their own time each flow starts at a time drawn from the seed, uniform from 0 to this:
    /// "100ms". All scenarios with a seed share these times, so that they do not differ by luck.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub start_spread: String,
    /// Not in the paper: an algorithm of ours in the same experiment. It is drawn with a look of its own and
    /// never judged. The quick version leaves it out; so do real flows, unless `kernel.runs` names it.
    #[serde(default)]
    pub beside: bool,
}

/// Gives runs what they are like, and each sweep over several axes its points.
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
    /// The points of its sweep; none without one.
    pub(crate) fn points(&self) -> &[Point] {
        self.sweep.as_ref().map_or(&[], |sweep| &sweep.points)
    }

    /// Its table on a base: that of another base than the first has the base's name at the end of its own,
    /// "grid-jumbo.csv.gz".
    pub(crate) fn table_on(&self, base: &Base) -> String {
        match self.table.split_once('.') {
            Some((stem, extension)) if !base.set.is_empty() => format!("{stem}-{}.{extension}", base.name),
            _ => self.table.clone(),
        }
    }
}

/// An axis: the run once per point.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// What it is, for the picture's axis, with its unit: "RTT of the other flow, ms".
    pub title: String,
    /// The points, in order.
    #[serde(default, rename = "point")]
    pub points: Vec<Point>,
    /// In place of points: axes, of which each combination is a point. The last one changes fastest.
    #[serde(default, rename = "axis")]
    pub axes: Vec<Axis>,
}

/// An axis of several.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// What it is: "rate". A CSV file has a column of this name.
    pub name: String,
    /// The points, in order.
    #[serde(rename = "point")]
    pub points: Vec<Point>,
}

impl Sweep {
    /// Makes the points of the axes.
    fn expand(&mut self) {
        if self.axes.is_empty() {
            return;
        }
        let with = |before: &Point, axis: &Axis, point: &Point| Point {
            at: format!("{} {}", before.at, point.at).trim().to_owned(),
            x: point.x,
            set: [before.set.clone(), point.set.clone()].concat(),
            on: [before.on.clone(), vec![format!("{}={}", axis.name, point.at)]].concat(),
        };
        self.points = std::mem::take(&mut self.axes).iter().fold(vec![Point::default()], |points, axis| {
            let each = |before| axis.points.iter().map(move |point| with(before, axis, point));
            points.iter().flat_map(each).collect()
        });
    }
}

/// A point of an axis.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Its name: "15 ms".
    pub at: String,
    /// Where it lies on the axis of a picture.
    #[serde(default)]
    pub x: f64,
    /// `KEY=VALUE`, after those of the run.
    #[serde(default)]
    pub set: Vec<String>,
    /// Where it lies on each of several axes: "rate=1gbit".
    #[serde(skip)]
    pub on: Vec<String>,
}

impl Point {
    /// Whether it has, on each axis that these name, one of the places that they give: "rate=1gbit".
    pub(crate) fn is_one_of(&self, places: &[String]) -> bool {
        let axis = |place: &String| place.split_once('=').map(|(name, _)| name.to_owned());
        let is_on =
            |name: Option<String>| places.iter().any(|place| axis(place) == name && self.on.contains(place));
        places.iter().all(|place| is_on(axis(place)))
    }
}
