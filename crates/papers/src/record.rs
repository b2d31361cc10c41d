//! What was measured of a figure, and what it says.

use fairpace_scenario::Target;
use serde::{Deserialize, Serialize};

use crate::figure::{Base, Figure, Kind, Paper};
use crate::sheet::{Sheet, name_on};

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

/// What a change of a suspected cause did to a value. The order is that from the best explanation to none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
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

/// The numbers of a check: of a value one; of a relation its sides, or each point along a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Numbers {
    /// In order; empty: no seed has a value, or nothing was measured.
    pub ours: Vec<Mean>,
    /// No seed lacks a value.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub complete: bool,
}

fn yes() -> bool {
    true
}

impl Default for Numbers {
    fn default() -> Self {
        Self { ours: Vec::new(), complete: true }
    }
}

impl Numbers {
    /// Whether a place measured it, even if it found no value.
    pub(crate) fn is_measured(&self) -> bool {
        !self.ours.is_empty() || !self.complete
    }
}

/// A published value or a relation beside what was measured of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compared {
    /// Ours: of a relation left and right side, or each point along a sweep.
    pub numbers: Numbers,
    /// What that says.
    pub finding: Finding,
    /// Of a value, runs that change a suspected cause, in the order of [`Value::causes`](crate::figure::Value::causes).
    pub tried: Vec<Tried>,
}

impl Compared {
    /// Ours; `None`: there is none.
    #[must_use]
    pub fn ours(&self) -> Option<Mean> {
        self.numbers.ours.first().copied()
    }
}

/// A published value under a change of a suspected cause.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tried {
    /// Ours.
    pub numbers: Numbers,
    /// What the change did.
    pub moved: Moved,
}

/// A drawn line: as many of each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// Along the axis; for [`Kind::Bars`], empty.
    pub x: Vec<f64>,
    /// `None` is a gap.
    pub y: Vec<Option<f64>>,
    /// Half of the interval over seeds, where there is one; empty: nowhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub half: Vec<Option<f64>>,
}

/// A picture with its numbers: one [`Drawn`] per line of the plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Index into [`Figure::plots`].
    pub plot: usize,
    /// As the plot says.
    pub kind: Kind,
    /// In the plot's order; empty ones were not measured.
    pub lines: Vec<Drawn>,
}

/// All that one place measured on one base.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Where; a model counts as the simulator.
    pub on: Target,
    /// Name of the [`Base`]; empty, in a paper that declares none.
    pub base: String,
    /// What it took.
    pub cost: Cost,
    /// What came of it.
    pub verdict: Verdict,
    /// One per value of the figure, in its order.
    pub values: Vec<Compared>,
    /// One per relation.
    pub shapes: Vec<Compared>,
    /// Pictures; of the simulator only while its runs are kept.
    pub pictures: Vec<Picture>,
}

impl Measured {
    /// Of its values, then of its shapes.
    pub fn findings(&self) -> impl Iterator<Item = Finding> {
        self.values.iter().map(|of| of.finding).chain(self.shapes.iter().map(|of| of.finding))
    }
}

/// Who measured, and what it took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Commit of the program that measured it.
    pub commit: String,
    /// SHA-256 over everything that was run, in hex.
    pub scenarios_hash: String,
    /// Simulations or kernel runs.
    pub runs: u32,
    /// Seconds of wall-clock time, and of CPU time, that they took.
    pub wall_s: f64,
    /// All threads.
    pub cpu_s: f64,
    /// Data packets delivered.
    pub packets: u64,
}

/// A figure with all that is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Folder of the paper.
    pub paper: String,
    /// Folder of the figure.
    pub id: String,
    /// What it says.
    pub figure: Figure,
    /// On what it is run: at least one.
    pub bases: Vec<Base>,
    /// What was measured, at most once per base and place.
    pub measured: Vec<Measured>,
}

/// A paper with its figures, as its page and the gallery show it.
#[derive(Debug, Clone, PartialEq)]
pub struct PaperRecords {
    /// Folder of the paper.
    pub id: String,
    /// What `paper.toml` says.
    pub paper: Paper,
    /// In the paper's order; one without measurements was not run.
    pub records: Vec<Record>,
}

impl Record {
    /// A figure of which nothing was measured.
    #[must_use]
    pub fn blank(sheet: &Sheet) -> Self {
        let Sheet { paper, id, figure, bases, .. } = sheet.clone();
        Self { paper, id, figure, bases, measured: Vec::new() }
    }

    /// Puts what was measured in the place of what the same place measured before on the same base.
    pub fn add(&mut self, measured: Measured) {
        self.measured.retain(|other| (other.on, &other.base) != (measured.on, &measured.base));
        self.measured.push(measured);
        let base = |name: &str| self.bases.iter().position(|base| base.name == name);
        self.measured.sort_by_key(|of| (base(&of.base), of.on == Target::Testbed));
    }

    /// What a place measured on a base.
    #[must_use]
    pub fn at(&self, base: &Base, on: Target) -> Option<&Measured> {
        self.measured.iter().find(|of| of.on == on && of.base == base.name)
    }

    /// On which base it was measured.
    #[must_use]
    pub fn base(&self, of: &Measured) -> Option<&Base> {
        self.bases.iter().find(|base| base.name == of.base)
    }

    /// The verdict of the simulator on a base, or of the kernel where there is no other.
    #[must_use]
    pub fn verdict(&self, base: &Base) -> Verdict {
        let place = |on| self.at(base, on);
        let measured = place(Target::Simulator).or_else(|| place(Target::Testbed));
        measured.map_or(Verdict::NotRun, |measured| measured.verdict)
    }

    /// As [`Sheet::name_on`].
    #[must_use]
    pub fn name_on(&self, base: &Base) -> String {
        name_on(&self.paper, &self.id, &self.bases, base)
    }
}
