//! What `figure.toml` says. Unknown keys are errors.

use std::collections::BTreeMap;

use serde::Deserialize;

pub use crate::runs::{Point, RunPlan, Sweep};

/// A figure or a table of a paper, or a question that its authors left open.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Title of the figure, a few words.
    pub title: String,
    /// Place in the paper: "figure 5, section 3.2".
    pub source: String,
    /// What the authors did, in a sentence.
    pub setup: String,
    /// The expected effect, and its reason.
    pub expect: String,
    /// Why our results differ or have only the same shape, and what shows this. Empty if our results agree.
    #[serde(default)]
    pub differs: String,
    /// Settings for real flows; `None` if real flows cannot show the figure, and then `no_kernel` has the
    /// reason.
    pub kernel: Option<Kernel>,
    /// Reason why real flows cannot show the figure on one machine.
    #[serde(default)]
    pub no_kernel: String,
    /// Bases of the paper, other than the first, that do not affect the figure: name and reason.
    #[serde(default)]
    pub no_stack: BTreeMap<String, String>,
    /// Settings of the quick version, for CI.
    #[serde(default)]
    pub short: Short,
    /// The runs of the figure.
    #[serde(rename = "run")]
    pub runs: Vec<RunPlan>,
    /// The numbers that the paper reports.
    #[serde(default, rename = "value")]
    pub values: Vec<Value>,
    /// The shapes that the paper states without a number, and the shapes that we expect ourselves.
    #[serde(default, rename = "shape")]
    pub shapes: Vec<Shape>,
    /// The claims of the paper that no check tests.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// The pictures of the figure.
    #[serde(default, rename = "plot")]
    pub plots: Vec<Plot>,
}

impl Figure {
    /// The stacks of the paper with which the figure is run. A figure that consists of models has only the
    /// first.
    pub(crate) fn stacks(&self, paper: &Paper) -> Vec<Stack> {
        let simulates = self.runs.iter().any(|run| run.model.is_empty());
        let is_run_on = |stack: &Stack| simulates && !self.no_stack.contains_key(&stack.name);
        let mut stacks = paper.bases_or_default();
        let first = stacks.remove(0);
        [first].into_iter().chain(stacks.into_iter().filter(is_run_on)).collect()
    }

    /// The checks of the figure, values first, then shapes: the text of each, the reason why it cannot fail,
    /// and whose claim it is.
    pub(crate) fn checks(&self) -> impl Iterator<Item = (&str, &str, Claimed)> {
        let values = self.values.iter().map(|of| (&*of.what, of.by_construction.trim(), Claimed::Value));
        values.chain(self.shapes.iter().map(|of| {
            let claimed = if of.ours { Claimed::Ours } else { Claimed::Shape };
            (&*of.what, of.by_construction.trim(), claimed)
        }))
    }

    /// Whether a measure is of a run that is not in the paper, or is computed with one.
    #[must_use]
    pub fn is_beside(&self, measure: &Measure) -> bool {
        self.is_run_beside(&measure.run) || measure.parts().any(|part| self.is_beside(part))
    }

    /// Whether a measure uses only equations, so that its number is exact.
    pub(crate) fn is_exact(&self, measure: &Measure) -> bool {
        let is_model = |name: &str| self.runs.iter().any(|run| run.name == name && !run.model.is_empty());
        is_model(&measure.run) && measure.parts().all(|part| self.is_exact(part))
    }

    /// Whether a run is not in the paper.
    pub(crate) fn is_run_beside(&self, name: &str) -> bool {
        self.runs.iter().any(|run| run.beside && run.name == name)
    }
}

/// The kind of a check: whose claim it tests.
pub(crate) enum Claimed {
    /// A number that the paper published.
    Value,
    /// A shape that the paper states or shows without a number.
    Shape,
    /// Our own prediction or question.
    Ours,
}

/// Settings that apply when real flows run a figure.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Names of the runs that real flows perform; empty: all runs.
    #[serde(default)]
    pub runs: Vec<String>,
    /// Names of the sweep points that real flows run; empty: all points.
    #[serde(default)]
    pub at: Vec<String>,
    /// Settings for real flows, `KEY=VALUE` as for `--set`; they apply after those of the run.
    #[serde(default)]
    pub set: Vec<String>,
    /// Number of runs of each scenario, 1 to 10.
    #[serde(default = "one")]
    pub repeats: u32,
    /// Number of simultaneous runs, 1 to 40. With more than one the emulators do not wake early, so packets
    /// leave some 20 us late, and one in a thousand 0.6 ms: only for figures in which this changes nothing.
    /// Hosts that send single packets always run alone, because packets that leave late leave together: BBR's
    /// short flow in figure 1 of Ma et al. has 7.9 ± 0.7 Mbit/s with three runs at a time, and 7.1 ± 0.4
    /// alone.
    #[serde(default = "one")]
    pub at_a_time: u32,
}

/// Settings of the quick version, whose verdict CI compares with the recorded one.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Short {
    /// Settings of the quick version, `KEY=VALUE` as for `--set`; they apply after those of the run.
    #[serde(default)]
    pub set: Vec<String>,
    /// Names of the sweep points of the quick version; empty: all points.
    #[serde(default)]
    pub at: Vec<String>,
}

fn one() -> u32 {
    1
}

/// A measure: a number that is computed from a run.
///
/// `of` is a path into the run's summary or series, with names or numbers from 1 for flows and links:
/// * of the summary: `jain`, `convergence_s`, `least_of_mean`, `most_of_mean` (goodput of the flow with the
///   least, or the most, over the mean of all), `flow.short.goodput_mbps`, `flow.short.share`,
///   `flow.short.retransmits`, `link.bottleneck.queue_delay_mean_ms`, `link.bottleneck.utilization`,
///   `link.bottleneck.backlog_share.short`, ... ; `flow.*.goodput_mbps` is the sum over all flows,
///   `flow.cc=cubic.goodput_mbps` over the flows of one algorithm; beside what was measured the number of
///   `flows`, the `packets` delivered, `link.bottleneck.rate_mbps`, `flow.short.slowdown` and
///   `flow.short.sent_per_rtt`;
/// * of the series, with `take`: `flow.short.goodput_mbps`, `flow.short.cwnd_pkts`,
///   `link.bottleneck.queue_delay_ms`, ..., `link.bottleneck.backlog_kb.short` (a flow's part of a queue),
///   `flow.short.delivered_kb` (its goodput, summed up), `flow.short.probe_alpha` (how far its pacing gain is
///   from 1 in PROBE_BW_UP and DOWN, and has last been there: alpha of Zhang et al. 2018, section IV.C);
/// * of a model: `model.NAME`;
/// * of a table: `table.COLUMN`, a number per row that counts, as if each were a seed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Name of the run. In a column of a table, an empty name means the run of the row.
    #[serde(default)]
    pub run: String,
    /// Name of the sweep point; empty if the run has no sweep.
    #[serde(default)]
    pub at: String,
    /// Path of the number or the series.
    pub of: String,
    /// How a series is reduced to a number; `None` if `of` is a number.
    pub take: Option<Take>,
    /// Begin of the part of the series that counts, seconds; 0: from its beginning.
    #[serde(default)]
    pub from_s: f64,
    /// End of the part of the series that counts, seconds; 0: to its end.
    #[serde(default)]
    pub to_s: f64,
    /// The level for [`Take::TimeAbove`] and [`Take::TimeBelow`].
    #[serde(default)]
    pub level: f64,
    /// A measure by which this one is divided.
    pub over: Option<Box<Measure>>,
    /// A factor on the measure, for its unit.
    pub times: Option<f64>,
    /// A delay by which a picture over time shifts the series, seconds: a receiver's number is shown when the
    /// sender learns of it.
    #[serde(default)]
    pub later_s: f64,
    /// A series that a picture over time adds to this one, at the times that both have.
    pub plus: Option<Box<Measure>>,
    /// Length of the spans whose mean a picture over time shows in their middle, seconds; 0: every point is
    /// shown.
    #[serde(default)]
    pub mean_s: f64,
    /// Whether the number is the median over the seeds and not the mean: for numbers that gather around two
    /// values.
    #[serde(default)]
    pub median: bool,
}

impl Measure {
    /// The measure in a row of a table: `run` is used if the measure names no run, and `each` replaces
    /// `{each}`.
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

    /// The other measures that this measure is computed with.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Measure> {
        [&self.over, &self.plus].into_iter().flatten().map(|part| &**part)
    }

    /// Whether the measure has a setting that only a picture over time can show.
    pub(crate) fn is_over_time(&self) -> bool {
        self.later_s != 0.0 || self.mean_s != 0.0 || self.plus.is_some()
    }
}

/// How a series is reduced to a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    /// The mean of all points.
    Mean,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// The median of all points.
    Median,
    /// Seconds from `from_s` until the series is first at or above `level`.
    TimeAbove,
    /// Seconds from `from_s` until the series is first at or below `level`.
    TimeBelow,
    /// The standard deviation over the mean.
    Variation,
}

/// The relation that must hold between two numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Is {
    /// The left number equals the right one within the tolerance.
    #[default]
    About,
    /// The left number is less than or equal to the right one.
    Below,
    /// The left number is greater than or equal to the right one.
    Above,
    /// The left number is greater or less than the right one by more than seeds differ: the 95 % intervals of
    /// both sides have a gap between them that is wider than the tolerance. For shapes only.
    Apart,
}

/// A number that the paper reports, and the measure that we compare with it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// Name of the number: "goodput of the 10 ms flow".
    pub what: String,
    /// Unit of the number: "Mbit/s".
    #[serde(default)]
    pub unit: String,
    /// Our measure.
    pub measure: Measure,
    /// The number that the paper published.
    pub published: f64,
    /// The relation that our number must have to the published one.
    #[serde(default)]
    pub is: Is,
    /// Tolerance in the unit, for [`Is::About`] alone. One of the two tolerances must be given; with both,
    /// the larger counts. The tolerance stands for the uncertainty of the paper's number, which is not
    /// published.
    #[serde(default)]
    pub tolerance: f64,
    /// Tolerance as a part of the published value.
    #[serde(default)]
    pub tolerance_ratio: f64,
    /// Reason for the tolerance: "read off a picture whose grid is 10". Every tolerance has a reason.
    #[serde(default)]
    pub tolerance_why: String,
    /// The sentence of the paper that reports the number.
    pub quote: String,
    /// Whether the paper states the number in unambiguous words instead of digits: "equally" is 50 %.
    #[serde(default)]
    pub in_words: bool,
    /// Reason why the check cannot fail; empty if it can. Such a check is shown, but never counted.
    #[serde(default)]
    pub by_construction: String,
    /// Suspected causes why the value does not hold, each shown by a run.
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

/// A suspected cause of a difference, with a run that changes the cause. The effect of the change on the
/// value is computed ([`Moved`](crate::record::Moved)). A change with which the value holds is sufficient for
/// the published number; it does not show that the authors' hosts had this cause.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// Everything that the run changes: "without a pacing margin"; if it makes two changes at once, both of
    /// them.
    pub what: String,
    /// The measure of the value in the run with that change.
    pub measure: Measure,
}

/// A sentence of the paper on this figure that no check tests.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The sentence of the paper.
    pub quote: String,
    /// Reason why no check tests the claim.
    pub why: String,
}

/// A shape: a relation between measures, or the course of a measure along a sweep.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// The claim: "the 10 ms flow's share falls as the other's RTT grows".
    pub what: String,
    /// The sentence of the paper that states the shape, or "picture: " and what the figure shows. A shape has
    /// a quote or is [`ours`](Self::ours).
    #[serde(default)]
    pub quote: String,
    /// Whether the shape is our own prediction, question or bound, which no sentence and no picture of the
    /// paper states. Such a shape is shown, but never counted as the paper's.
    #[serde(default)]
    pub ours: bool,
    /// Reason why the check cannot fail; empty if it can. Such a check is shown, but never counted.
    #[serde(default)]
    pub by_construction: String,
    /// The left side of the relation.
    pub measure: Measure,
    /// The relation of the left side to the right side.
    #[serde(default)]
    pub is: Is,
    /// The measure of the right side; without it the right side is `factor` alone.
    pub than: Option<Measure>,
    /// Factor on the right side.
    #[serde(default = "unit")]
    pub factor: f64,
    /// Tolerance as a part of the right side; for [`Along::Level`], of the mean of all points. Bounds and
    /// directions have no tolerance.
    #[serde(default)]
    pub tolerance_ratio: f64,
    /// Reason for the tolerance: "the paper draws both lines as one". Every tolerance has a reason.
    #[serde(default)]
    pub tolerance_why: String,
    /// The course of `measure`, which then has no `at`, along the run's whole sweep. It replaces the
    /// relation.
    pub along: Option<Along>,
}

fn unit() -> f64 {
    1.0
}

/// The course of a measure along a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Along {
    /// The measure does not fall from any point to the next, and is higher at the end than at the beginning.
    Rises,
    /// The measure does not rise from any point to the next, and is lower at the end than at the beginning.
    Falls,
    /// Every point is within `tolerance_ratio` of the mean of all points.
    Level,
}

/// A picture of a figure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// Title above the picture.
    #[serde(default)]
    pub title: String,
    /// Kind of the picture.
    pub kind: Kind,
    /// Title of the horizontal axis, with its unit.
    pub x: String,
    /// Title of the vertical axis, with its unit.
    pub y: String,
    /// Whether the horizontal axis is logarithmic.
    #[serde(default)]
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic.
    #[serde(default)]
    pub log_y: bool,
    /// Begin of the shown time for [`Kind::Time`], seconds. If begin and end are 0, all of the time is shown.
    #[serde(default)]
    pub from_s: f64,
    /// End of the shown time, seconds.
    #[serde(default)]
    pub to_s: f64,
    /// The lines, in the order of the paper's legend.
    #[serde(rename = "line")]
    pub lines: Vec<Line>,
}

impl Line {
    /// Whether the line is a reference with published points: these points are drawn as the line, and the
    /// measure is not drawn.
    pub(crate) fn is_drawn_as_published(&self) -> bool {
        self.reference && !self.published.is_empty()
    }

    /// Whether the line shows the phase of an algorithm. Phases have no height: a picture over time marks the
    /// changes of state.
    pub(crate) fn is_phase(&self) -> bool {
        self.measure.of.ends_with(".phase")
    }
}

/// Kind of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A number for each point of a sweep, with its interval over seeds.
    Sweep,
    /// A series over time, from the first seed.
    Time,
    /// A bar for each line, beside the published value.
    Bars,
    /// One series against another, both from the first seed: `of` on the vertical axis, `against` on the
    /// horizontal one.
    Phase,
    /// A cumulative distribution: the part of the runs, sweep points or seeds that are at or below a value.
    Cdf,
}

/// A line of a picture, or a group of its bars.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Label in the legend.
    pub label: String,
    /// The measure that the line shows.
    pub measure: Measure,
    /// Path of the series on the horizontal axis, for [`Kind::Phase`].
    #[serde(default)]
    pub against: String,
    /// Published points, `[x, y]`, as far as the text of the paper gives them.
    #[serde(default)]
    pub published: Vec<[f64; 2]>,
    /// Whether the line is a curve for comparison, not a measurement; it is drawn dashed.
    #[serde(default)]
    pub reference: bool,
}

/// A paper: what its file `reproduction/PAPER/paper.toml` says besides its figures.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Title of the paper, as printed.
    pub title: String,
    /// Names of the authors, and year: "Cardwell et al., 2016".
    pub authors: String,
    /// Place of publication, with an identifier.
    pub published: String,
    /// Summary: what the paper claims and what our replication found, in two or three sentences; further
    /// paragraphs may follow.
    pub about: String,
    /// Names of the figures in the order of the paper. Other folders with a `figure.toml` follow, by name.
    pub figures: Vec<String>,
    /// Known settings of the paper's hosts that differ from the defaults.
    #[serde(default)]
    pub hosts: Hosts,
    /// Settings of the hosts that the paper leaves open and that decide results: each figure is run and
    /// judged with each stack. Empty: only the defaults.
    #[serde(default, rename = "stack")]
    pub stacks: Vec<Stack>,
}

impl Paper {
    /// The stacks of the paper; if it declares none, a single stack without settings.
    #[must_use]
    pub fn bases_or_default(&self) -> Vec<Stack> {
        if self.stacks.is_empty() { vec![Stack::default()] } else { self.stacks.clone() }
    }
}

/// Settings of all simulated runs of a paper, with every stack.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// The source of the settings.
    pub why: String,
    /// Settings `KEY=VALUE` as for `--set`; they apply before those of a stack and a run.
    pub set: Vec<String>,
}

impl Hosts {
    /// Whether there is no setting.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }
}

/// A stack: settings of all simulated runs of a paper that the paper leaves open, such as TSO or the MTU.
/// Models have no stack; a table has a file for each stack.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    /// Name of the stack, one word: "single". It is empty in a paper that declares no stack.
    pub name: String,
    /// Title of the stack, a few words: "single packets".
    pub title: String,
    /// Reason why the paper's hosts may have had these settings: what the paper says, or what was usual at
    /// its time.
    pub why: String,
    /// Settings `KEY=VALUE` as for `--set`; they apply before those of a run, which may therefore override
    /// them. The first stack has no settings: it runs the scenarios as they are.
    #[serde(default)]
    pub set: Vec<String>,
}

/// Arguments of a model by name, from `KEY=VALUE`.
pub type Arguments = BTreeMap<String, f64>;
