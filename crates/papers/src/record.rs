//! The result of running a figure: `reproduction/results/PAPER/FIGURE.json`, from which everything that is
//! shown is written. No number in it is typed by hand.

use fairpace_scenario::Target;
use serde::{Deserialize, Serialize};

use crate::figure::{Base, Figure, Kind, Paper};

/// What the evidence says of one check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// The whole confidence interval agrees with it.
    Holds,
    /// The interval agrees in part, or there is none, since it is of one run: more runs would decide.
    Open,
    /// No point of the interval agrees with it.
    Contradicted,
    /// This place did not measure it.
    #[default]
    #[serde(rename = "not measured")]
    NotMeasured,
}

/// What came of a figure: of the values and shapes of the paper, without what is ours or cannot fail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// All hold.
    #[serde(rename = "replicated")]
    Replicated,
    /// Some hold, but not all.
    #[serde(rename = "partly replicated")]
    Partly,
    /// None holds.
    #[serde(rename = "not replicated")]
    Not,
    /// There is none: what was measured is ours, or cannot fail.
    #[serde(rename = "ours")]
    Ours,
    /// Nothing was measured.
    #[default]
    #[serde(rename = "not run")]
    NotRun,
}

/// A mean over seeds or repeats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// Of how many.
    pub n: u32,
    /// The mean itself; where the measure asks for it, the median.
    pub mean: f64,
    /// Half of the mean's 95 % confidence interval (Student's t); `None` of one. Of a median, the way to the
    /// farther end of its interval by ranks; `None` of fewer than six.
    pub half: Option<f64>,
}

/// A published value beside ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// Index into [`Figure::values`].
    pub value: usize,
    /// Ours; `None`: there is none.
    pub ours: Option<Mean>,
    /// No seed lacks a value.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub complete: bool,
    /// What that says.
    #[serde(default)]
    pub finding: Finding,
    /// Runs that change a suspected cause, in the order of [`Value::causes`](crate::figure::Value::causes).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
}

/// A published value under a change of a suspected cause.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Ours; `None`: there is none.
    pub ours: Option<Mean>,
    /// No seed lacks a value.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub complete: bool,
    /// What the change did.
    #[serde(default)]
    pub moved: Moved,
}

/// What a change of a suspected cause did to a value. The order is that from the best explanation to none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moved {
    /// With it the value holds.
    Reaches,
    /// The interval is apart from that without the change, and its mean nearer to the published value.
    Towards,
    /// The interval is apart, and its mean farther from the published value.
    Away,
    /// The intervals meet, or there is none.
    Unmoved,
    /// This place did not measure it.
    #[default]
    NotMeasured,
}

/// A relation with what was measured of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// Index into [`Figure::shapes`].
    pub shape: usize,
    /// Left and right side, or each point along a sweep.
    pub ours: Vec<Mean>,
    /// No seed lacks a value on a side or at a point.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub complete: bool,
    /// What that says.
    #[serde(default)]
    pub finding: Finding,
}

fn yes() -> bool {
    true
}

/// A drawn line: as many of each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// Along the axis; for [`Kind::Bars`], empty.
    pub x: Vec<f64>,
    /// `None` is a gap.
    pub y: Vec<Option<f64>>,
    /// Half of the interval over seeds, where there is one.
    pub half: Vec<Option<f64>>,
}

/// A picture with its numbers: one [`Drawn`] per line of the plot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// Index into [`Figure::plots`].
    pub plot: usize,
    /// As the plot says.
    pub kind: Kind,
    /// In the plot's order; empty ones were not measured.
    pub lines: Vec<Drawn>,
}

/// All that one place measured on one base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Where; a model counts as the simulator.
    #[serde(with = "by_name")]
    pub on: Target,
    /// Name of the [`Base`]; empty, in a paper that declares none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// Of the program that measured it.
    pub commit: String,
    /// Over all its scenarios, so that a change of one is noticed.
    pub scenarios_hash: String,
    /// Simulations or kernel runs.
    pub runs: u32,
    /// Seconds of wall-clock time, and of CPU time, that they took.
    pub wall_s: f64,
    /// All threads.
    pub cpu_s: f64,
    /// Data packets delivered.
    pub packets: u64,
    /// What came of it.
    #[serde(skip_deserializing)]
    pub verdict: Verdict,
    /// Published values beside ours.
    pub values: Vec<Compared>,
    /// Relations.
    pub shapes: Vec<Held>,
    /// Pictures.
    pub pictures: Vec<Picture>,
}

/// A figure with all that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Folder of the paper.
    pub paper: String,
    /// Folder of the figure.
    pub id: String,
    /// What it says.
    pub figure: Figure,
    /// On what it is run: at least one.
    #[serde(default = "default_base", skip_serializing_if = "is_default")]
    pub bases: Vec<Base>,
    /// What was measured, at most once per base and place.
    pub measured: Vec<Measured>,
}

fn default_base() -> Vec<Base> {
    vec![Base::default()]
}

fn is_default(bases: &[Base]) -> bool {
    *bases == default_base()
}

/// A paper with its figures, as the gallery and the index show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PaperRecords {
    /// Folder of the paper.
    pub id: String,
    /// What `paper.toml` says.
    pub paper: Paper,
    /// In the paper's order; one without measurements was not run.
    pub records: Vec<Record>,
}

/// A target as its name.
mod by_name {
    use fairpace_scenario::Target;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(target: &Target, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(target.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Target, D::Error> {
        let name = String::deserialize(deserializer)?;
        let target = [Target::Simulator, Target::Testbed].into_iter().find(|target| target.name() == name);
        target.ok_or_else(|| D::Error::custom(format!("`{name}` is neither sim nor kernel")))
    }
}
