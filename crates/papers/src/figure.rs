//! What `figure.toml` says. Unknown keys are errors.

use std::collections::BTreeMap;

use serde::Deserialize;

pub use crate::runs::{Point, RunPlan, Sweep};

/// A figure or a table of a paper, or a question that its authors left open.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What it shows, in a few words.
    pub title: String,
    /// Where in the paper: "figure 5, section 3.2".
    pub source: String,
    /// What was done, in a sentence.
    pub setup: String,
    /// What effect is expected, and why.
    pub expect: String,
    /// Where ours differs, or shows only the shape: why, and what shows it. Empty when nothing does.
    #[serde(default)]
    pub differs: String,
    /// How real flows show it; absent when they cannot, and then `no_kernel` says why.
    pub kernel: Option<Kernel>,
    /// Why real flows cannot show it on one machine.
    #[serde(default)]
    pub no_kernel: String,
    /// Bases of the paper, after the first, that mean nothing for it: name and reason.
    #[serde(default)]
    pub no_base: BTreeMap<String, String>,
    /// A quick version, for CI.
    #[serde(default)]
    pub short: Short,
    /// What is run.
    #[serde(rename = "run")]
    pub runs: Vec<RunPlan>,
    /// What the paper reports.
    #[serde(default, rename = "value")]
    pub values: Vec<Value>,
    /// What the paper says of its shape without a number, and what we expect of it ourselves.
    #[serde(default, rename = "shape")]
    pub shapes: Vec<Shape>,
    /// What the paper says of it and no check tests.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// Its pictures.
    #[serde(default, rename = "plot")]
    pub plots: Vec<Plot>,
}

impl Figure {
    /// The bases of its paper on which it is run. What consists of models has only the first.
    pub(crate) fn bases(&self, paper: &Paper) -> Vec<Base> {
        let simulates = self.runs.iter().any(|run| run.model.is_empty());
        let is_run_on = |base: &Base| simulates && !self.no_base.contains_key(&base.name);
        let mut bases = paper.bases_or_default();
        let first = bases.remove(0);
        [first].into_iter().chain(bases.into_iter().filter(is_run_on)).collect()
    }

    /// Its values, then its shapes: what each is called, why it cannot fail, and whose claim it is.
    pub(crate) fn checks(&self) -> impl Iterator<Item = (&str, &str, Claimed)> {
        let values = self.values.iter().map(|of| (&*of.what, of.by_construction.trim(), Claimed::Value));
        values.chain(self.shapes.iter().map(|of| {
            let claimed = if of.ours { Claimed::Ours } else { Claimed::Shape };
            (&*of.what, of.by_construction.trim(), claimed)
        }))
    }

    /// Whether a measure is, or is computed with, one of a run that is not in the paper.
    #[must_use]
    pub fn is_beside(&self, measure: &Measure) -> bool {
        self.is_run_beside(&measure.run) || measure.parts().any(|part| self.is_beside(part))
    }

    /// Whether a measure is of equations alone, so that its one number is exact.
    pub(crate) fn is_exact(&self, measure: &Measure) -> bool {
        let is_model = |name: &str| self.runs.iter().any(|run| run.name == name && !run.model.is_empty());
        is_model(&measure.run) && measure.parts().all(|part| self.is_exact(part))
    }

    /// Whether a run is not in the paper.
    pub(crate) fn is_run_beside(&self, name: &str) -> bool {
        self.runs.iter().any(|run| run.beside && run.name == name)
    }
}

/// Whose claim a check is.
pub(crate) enum Claimed {
    /// A published number.
    Value,
    /// What the paper states or shows without a number.
    Shape,
    /// Our own prediction or question.
    Ours,
}

/// What differs when real flows run it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Only these runs; empty: all.
    #[serde(default)]
    pub runs: Vec<String>,
    /// Only these points of their sweeps; empty: all.
    #[serde(default)]
    pub at: Vec<String>,
    /// `KEY=VALUE` as for `--set`, after those of the run.
    #[serde(default)]
    pub set: Vec<String>,
    /// Runs of each, 1 to 10.
    #[serde(default = "one")]
    pub repeats: u32,
    /// Runs at a time, 1 to 40. With more than one the emulators do not wake early, so packets leave some 20
    /// us late, and one in a thousand 0.6 ms: only for figures in which this changes nothing. Hosts that send
    /// single packets run alone whatever it says, because packets that leave late leave together: BBR's short
    /// flow in figure 1 of Ma et al. has 7.9 ± 0.7 Mbit/s with three runs at a time, and 7.1 ± 0.4 alone.
    #[serde(default = "one")]
    pub at_a_time: u32,
}

/// What differs in the quick version, whose verdict CI holds against the one on record.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Short {
    /// `KEY=VALUE` as for `--set`, after those of the run.
    #[serde(default)]
    pub set: Vec<String>,
    /// Only these points of sweeps; empty: all.
    #[serde(default)]
    pub at: Vec<String>,
}

fn one() -> u32 {
    1
}

/// A number that a run has.
///
/// `of` is a path into the run's summary or series, with names or numbers from 1 for flows and links:
/// * of the summary: `jain`, `convergence_s`, `least_of_mean`, `most_of_mean` (goodput of the flow with the
///   least, or the most, over the mean of all), `flow.short.goodput_mbps`, `flow.short.share`,
///   `flow.short.retransmits`, `link.bottleneck.queue_delay_mean_ms`, `link.bottleneck.utilization`,
///   `link.bottleneck.backlog_share.short`, ... ; `flow.*.goodput_mbps` is the sum over all flows,
///   `flow.cc=cubic.goodput_mbps` over the flows of one algorithm; beside what was measured the number of
///   `flows`, the `packets` delivered and `link.bottleneck.rate_mbps`;
/// * of the series, with `take`: `flow.short.goodput_mbps`, `flow.short.cwnd_pkts`,
///   `link.bottleneck.queue_delay_ms`, ..., `link.bottleneck.backlog_kb.short` (a flow's part of a queue),
///   `flow.short.delivered_kb` (its goodput, summed up), `flow.short.probe_alpha` (how far its pacing gain is
///   from 1 in PROBE_BW_UP and DOWN, and has last been there: alpha of Zhang et al. 2018, section IV.C);
/// * of a model: `model.NAME`;
/// * of a table: `table.COLUMN`, a number per row that counts, as if each were a seed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Which run; in a column of a table the run of the row, if it names none.
    #[serde(default)]
    pub run: String,
    /// Which point of its sweep; empty: it has none.
    #[serde(default)]
    pub at: String,
    /// Path of the number or the series.
    pub of: String,
    /// How a series becomes a number; absent: `of` is a number.
    pub take: Option<Take>,
    /// Of the series, from here on, seconds; 0: from its beginning.
    #[serde(default)]
    pub from_s: f64,
    /// Of the series, up to here, seconds; 0: to its end.
    #[serde(default)]
    pub to_s: f64,
    /// For [`Take::TimeAbove`] and [`Take::TimeBelow`].
    #[serde(default)]
    pub level: f64,
    /// Divided by this.
    pub over: Option<Box<Measure>>,
    /// Times this: a unit.
    pub times: Option<f64>,
    /// For pictures over time: what a receiver has, when its sender learns of it. This many seconds later.
    #[serde(default)]
    pub later_s: f64,
    /// For pictures over time: plus this series, at the times that both have.
    pub plus: Option<Box<Measure>>,
    /// For pictures over time: the mean of each span of this many seconds, in its middle; 0: every point.
    #[serde(default)]
    pub mean_s: f64,
    /// Of the seeds, the middle one in place of the mean: for numbers that gather around two values.
    #[serde(default)]
    pub median: bool,
}

impl Measure {
    /// The measure in a row of a table: of this run where it names none, and with this word for `{each}`.
    pub(crate) fn within(&self, run: &str, each: &str) -> Self {
        let part = |part: &Option<Box<Self>>| part.as_ref().map(|part| Box::new(part.within(run, each)));
        Self {
            run: if self.run.is_empty() { run.to_owned() } else { self.run.clone() },
            of: self.of.replace("{each}", each),
            over: part(&self.over),
            plus: part(&self.plus),
            ..self.clone()
        }
    }

    /// The measures that it is computed with.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Measure> {
        [&self.over, &self.plus].into_iter().flatten().map(|part| &**part)
    }

    /// Whether it says what only a picture over time can show.
    pub(crate) fn is_over_time(&self) -> bool {
        self.later_s != 0.0 || self.mean_s != 0.0 || self.plus.is_some()
    }
}

/// How a series becomes a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    /// Of all points.
    Mean,
    /// The least.
    Min,
    /// The most.
    Max,
    /// The middle one.
    Median,
    /// Seconds from `from_s` until it is first at or above `level`.
    TimeAbove,
    /// Seconds from `from_s` until it is first at or below `level`.
    TimeBelow,
    /// Standard deviation over the mean.
    Variation,
}

/// How two numbers compare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Is {
    /// As much, within the tolerance.
    #[default]
    About,
    /// Less, or as much.
    Below,
    /// More, or as much.
    Above,
    /// More or less, by more than seeds differ: between the 95 % intervals of both sides is a gap, wider
    /// than the tolerance. For shapes only.
    Apart,
}

/// A number that the paper reports, and where we measure it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// What it is: "goodput of the 10 ms flow".
    pub what: String,
    /// Its unit: "Mbit/s".
    #[serde(default)]
    pub unit: String,
    /// Ours.
    pub measure: Measure,
    /// The paper's.
    pub published: f64,
    /// How ours should compare to it.
    #[serde(default)]
    pub is: Is,
    /// In the unit, for [`Is::About`] alone. One of the two tolerances must be given; with both, the larger
    /// counts. It stands for what the paper's own number is uncertain by, which is not published.
    #[serde(default)]
    pub tolerance: f64,
    /// As a part of the published value.
    #[serde(default)]
    pub tolerance_ratio: f64,
    /// Why the tolerance is so large: "read off a picture whose grid is 10". Every tolerance has a reason.
    #[serde(default)]
    pub tolerance_why: String,
    /// The sentence that reports it.
    pub quote: String,
    /// The paper states it in words that leave no choice, not in digits: "equally" is 50 %.
    #[serde(default)]
    pub in_words: bool,
    /// Why it cannot fail, if it cannot: it is shown, and never counted.
    #[serde(default)]
    pub by_construction: String,
    /// What may be the cause that it does not hold, each shown by a run.
    #[serde(default, rename = "cause")]
    pub causes: Vec<Cause>,
}

impl Value {
    /// The larger of the two tolerances, in the unit.
    #[must_use]
    pub fn room(&self) -> f64 {
        self.tolerance.max(self.tolerance_ratio * self.published.abs())
    }
}

/// A suspected cause of a difference, with a run that changes it. What the change does to the value is
/// computed ([`Moved`](crate::record::Moved)). One that reaches it is sufficient for the published number; it
/// does not show that the authors' hosts had it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// All that the run changes: "without a pacing margin"; with two changes at once, both.
    pub what: String,
    /// The value under that change.
    pub measure: Measure,
}

/// A sentence of the paper on this figure that no check tests.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The sentence.
    pub quote: String,
    /// Why there is no check.
    pub why: String,
}

/// A relation that makes the shape.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// The claim: "the 10 ms flow's share falls as the other's RTT grows".
    pub what: String,
    /// The sentence of the paper that states it, or "picture: " and what the figure shows. A shape has a
    /// quote or is [`ours`](Self::ours).
    #[serde(default)]
    pub quote: String,
    /// Our own prediction, question or bound: no sentence and no picture of the paper states it. It is shown,
    /// and never counted as the paper's.
    #[serde(default)]
    pub ours: bool,
    /// Why it cannot fail, if it cannot: it is shown, and never counted.
    #[serde(default)]
    pub by_construction: String,
    /// The left side of a relation...
    pub measure: Measure,
    /// ...and how it compares...
    #[serde(default)]
    pub is: Is,
    /// ...to this measure...
    pub than: Option<Measure>,
    /// ...times this, or to this alone when there is no such measure.
    #[serde(default = "unit")]
    pub factor: f64,
    /// Of the right side; of the mean of all, for [`Along::Level`]. Bounds and directions have none.
    #[serde(default)]
    pub tolerance_ratio: f64,
    /// Why the tolerance is so large: "the paper draws both lines as one". Every tolerance has a reason.
    #[serde(default)]
    pub tolerance_why: String,
    /// In place of a relation: `measure`, without `at`, along the run's whole sweep.
    pub along: Option<Along>,
}

fn unit() -> f64 {
    1.0
}

/// What a measure does along a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Along {
    /// From each point to the next it grows or stays, and it ends higher than it begins.
    Rises,
    /// From each point to the next it falls or stays, and it ends lower than it begins.
    Falls,
    /// Every point is within `tolerance_ratio` of the mean of all.
    Level,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// Above it.
    #[serde(default)]
    pub title: String,
    /// What is on it.
    pub kind: Kind,
    /// Axes, with units.
    pub x: String,
    /// The vertical one.
    pub y: String,
    /// Logarithmic axes.
    #[serde(default)]
    pub log_x: bool,
    /// The vertical one.
    #[serde(default)]
    pub log_y: bool,
    /// For [`Kind::Time`]: seconds shown; both 0: all.
    #[serde(default)]
    pub from_s: f64,
    /// Up to here.
    #[serde(default)]
    pub to_s: f64,
    /// In the order of the paper's legend.
    #[serde(rename = "line")]
    pub lines: Vec<Line>,
}

impl Line {
    /// Whether it is a reference with published points: a line through them, and its measure is not drawn.
    pub(crate) fn is_drawn_as_published(&self) -> bool {
        self.reference && !self.published.is_empty()
    }

    /// Whether it is the phase of an algorithm. Phases have no height: a picture over time marks the changes
    /// of state.
    pub(crate) fn is_phase(&self) -> bool {
        self.measure.of.ends_with(".phase")
    }
}

/// What a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A number of each point of a sweep, with its interval over seeds.
    Sweep,
    /// A series over time, of the first seed.
    Time,
    /// A bar per line, beside the published one.
    Bars,
    /// One series against another, both of the first seed: `of` upwards, `against` to the right.
    Phase,
    /// The part of the runs, sweep points or seeds that are at or below a value.
    Cdf,
}

/// A line, or a group of bars.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// In the legend.
    pub label: String,
    /// What it shows.
    pub measure: Measure,
    /// For [`Kind::Phase`], the path of the series to the right.
    #[serde(default)]
    pub against: String,
    /// What the paper shows there: `[x, y]`, as far as its text says.
    #[serde(default)]
    pub published: Vec<[f64; 2]>,
    /// A curve to compare with rather than a measurement: drawn dashed.
    #[serde(default)]
    pub reference: bool,
}

/// Beside all figures of a paper: `reproduction/PAPER/paper.toml`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// As printed.
    pub title: String,
    /// Names and year: "Cardwell et al., 2016".
    pub authors: String,
    /// Where it appeared, with an identifier.
    pub published: String,
    /// What it claims and what came of it here: two or three sentences, and what else is to be said in
    /// further paragraphs.
    pub about: String,
    /// Its figures in the order of the paper. Other folders with a `figure.toml` follow, by name.
    pub figures: Vec<String>,
    /// What is known of the paper's hosts and is no default.
    #[serde(default)]
    pub hosts: Hosts,
    /// What the paper leaves open about the hosts and decides results: each figure is run and judged on each
    /// base. None: only the defaults.
    #[serde(default, rename = "base")]
    pub bases: Vec<Base>,
}

impl Paper {
    /// Its bases; where it declares none, the one that sets nothing. So there is at least one.
    #[must_use]
    pub fn bases_or_default(&self) -> Vec<Base> {
        if self.bases.is_empty() { vec![Base::default()] } else { self.bases.clone() }
    }
}

/// Settings of all simulated runs of a paper, on every base.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// How it is known.
    pub why: String,
    /// `KEY=VALUE` as for `--set`, before those of a base and a run.
    pub set: Vec<String>,
}

impl Hosts {
    /// Whether it sets nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }
}

/// Settings of all simulated runs of a paper on one base. Models have no base; a table has one file for each.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Base {
    /// One word: "single". That of a paper that declares none is empty.
    pub name: String,
    /// In a few words: "single packets".
    pub title: String,
    /// Why the paper's hosts may have been like that: what it says, or what was usual at its time.
    pub why: String,
    /// `KEY=VALUE` as for `--set`, before those of a run, which therefore may keep to a value of its own. The
    /// first base has none: it is the scenarios as they are.
    #[serde(default)]
    pub set: Vec<String>,
}

/// The arguments of a model, from `KEY=VALUE`.
pub type Arguments = BTreeMap<String, f64>;
