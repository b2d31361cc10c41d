//! The record of a figure: its measurements and their findings.

use fairpace_scenario::Target;
use serde::{Deserialize, Serialize};

use crate::figure::{Figure, Kind, Paper, Stack};
use crate::sheet::{Sheet, name_on};

/// The finding of one check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// The whole confidence interval agrees with the check.
    Holds,
    /// A part of the interval agrees, or there is no interval, since there was one run: more runs would
    /// decide.
    Open,
    /// No point of the interval agrees with the check.
    Contradicted,
    /// This place did not measure the check.
    #[default]
    #[serde(rename = "not measured")]
    NotMeasured,
}

/// The verdict on a figure, from the values and shapes of the paper. Our own shapes, and checks that cannot
/// fail, do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    /// All checks hold.
    #[serde(rename = "replicated")]
    Replicated,
    /// Some checks hold, but not all.
    #[serde(rename = "partly replicated")]
    Partly,
    /// No check holds.
    #[serde(rename = "not replicated")]
    Not,
    /// There is no such check: the measured ones are our own, or cannot fail.
    #[serde(rename = "ours")]
    Ours,
    /// No check was measured.
    #[default]
    #[serde(rename = "not run")]
    NotRun,
}

/// The effect of a change of a suspected cause on a value, in order from the best explanation to none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moved {
    /// With the change the value holds.
    Reaches,
    /// The interval does not overlap that without the change, and its mean is nearer to the published value.
    Towards,
    /// The interval does not overlap that without the change, and its mean is farther from the published
    /// value.
    Away,
    /// The intervals overlap, or there is none.
    Unmoved,
    /// This place did not measure the change.
    #[default]
    NotMeasured,
}

/// A mean over seeds or repeats, with its interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// Number of values.
    pub n: u32,
    /// The mean; the median if the measure asks for it.
    pub mean: f64,
    /// Half of the mean's 95 % confidence interval (Student's t); `None` for a single value. For a median,
    /// the distance to the farther end of its interval by ranks; `None` for fewer than six values.
    pub half: Option<f64>,
}

/// The numbers of a check: one for a value; for a relation its sides, or each point along a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Numbers {
    /// The numbers in order; empty if no seed has a value, or if the check was not measured.
    pub ours: Vec<Mean>,
    /// Whether every seed has a value.
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
    /// Whether a place measured the check, even if it found no value.
    pub(crate) fn is_measured(&self) -> bool {
        !self.ours.is_empty() || !self.complete
    }
}

/// A published value or a relation, with our measurements.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compared {
    /// Our numbers: one for a value; for a relation its left and right side, or each point along a sweep.
    pub numbers: Numbers,
    /// The finding that follows from the numbers.
    pub finding: Finding,
    /// Effects of suspected causes on a value, in the order of
    /// [`Value::causes`](crate::figure::Value::causes).
    pub tried: Vec<Tried>,
}

impl Compared {
    /// Our number for a published value; `None` if there is none.
    #[must_use]
    pub fn ours(&self) -> Option<Mean> {
        self.numbers.ours.first().copied()
    }
}

/// A published value in a run that changes a suspected cause.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tried {
    /// Our numbers with the change.
    pub numbers: Numbers,
    /// The effect of the change.
    pub moved: Moved,
}

/// A drawn line: x, y and half intervals of equal number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// Places along the horizontal axis; empty for [`Kind::Bars`].
    pub x: Vec<f64>,
    /// Values along the vertical axis; `None` is a gap.
    pub y: Vec<Option<f64>>,
    /// Half of the interval over seeds at each point that has one; empty if no point has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub half: Vec<Option<f64>>,
}

/// A picture with its numbers: one [`Drawn`] per line of the plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Index into [`Figure::plots`].
    pub plot: usize,
    /// Kind of the picture, as the plot declares it.
    pub kind: Kind,
    /// The lines in the plot's order; a line that was not measured is empty.
    pub lines: Vec<Drawn>,
}

/// The measurements of a figure in one place with one stack.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The place: simulator or testbed; a model counts as the simulator.
    pub on: Target,
    /// Name of the [`Stack`]; empty in a paper that declares none.
    pub stack: String,
    /// The cost of the measurements.
    pub cost: Cost,
    /// The verdict on the figure.
    pub verdict: Verdict,
    /// The values of the figure, in the figure's order.
    pub values: Vec<Compared>,
    /// The shapes of the figure, in the figure's order.
    pub shapes: Vec<Compared>,
    /// The pictures; those of the simulator exist only while its runs are in the store.
    pub pictures: Vec<Picture>,
}

impl Measured {
    /// Iterates over the findings of the values, then of the shapes.
    pub fn findings(&self) -> impl Iterator<Item = Finding> {
        self.values.iter().map(|of| of.finding).chain(self.shapes.iter().map(|of| of.finding))
    }
}

/// The program that measured, and the cost of its runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Commit of the program that measured.
    pub commit: String,
    /// Of real flows in virtual time: emulator and kernel with their versions and hashes; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kernel: String,
    /// SHA-256 over everything that was run, in hexadecimal digits.
    pub scenarios_hash: String,
    /// Number of simulations or kernel runs.
    pub runs: u32,
    /// Wall-clock time of the runs, seconds.
    pub wall_s: f64,
    /// CPU time of all threads of the runs, seconds.
    pub cpu_s: f64,
    /// Number of data packets delivered.
    pub packets: u64,
}

/// The record of a figure: its file and all of its measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Folder of the paper.
    pub paper: String,
    /// Folder of the figure.
    pub id: String,
    /// The content of `figure.toml`.
    pub figure: Figure,
    /// The stacks with which the figure is run: at least one.
    pub stacks: Vec<Stack>,
    /// The measurements, at most one for each stack and place.
    pub measured: Vec<Measured>,
}

/// A paper with the records of its figures, for its page and the gallery.
#[derive(Debug, Clone, PartialEq)]
pub struct PaperRecords {
    /// Folder of the paper.
    pub id: String,
    /// The content of `paper.toml`.
    pub paper: Paper,
    /// The records in the paper's order; a record without measurements is of a figure that was not run.
    pub records: Vec<Record>,
}

impl Record {
    /// A record without measurements.
    #[must_use]
    pub fn blank(sheet: &Sheet) -> Self {
        let Sheet { paper, id, figure, stacks, .. } = sheet.clone();
        Self { paper, id, figure, stacks, measured: Vec::new() }
    }

    /// Adds measurements; they replace those of the same place and stack.
    pub fn add(&mut self, measured: Measured) {
        self.measured.retain(|other| (other.on, &other.stack) != (measured.on, &measured.stack));
        self.measured.push(measured);
        let stack = |name: &str| self.stacks.iter().position(|stack| stack.name == name);
        self.measured.sort_by_key(|of| (stack(&of.stack), of.on == Target::Testbed));
    }

    /// The measurements of a place with one stack.
    #[must_use]
    pub fn at(&self, stack: &Stack, on: Target) -> Option<&Measured> {
        self.measured.iter().find(|of| of.on == on && of.stack == stack.name)
    }

    /// The stack of these measurements.
    #[must_use]
    pub fn stack(&self, of: &Measured) -> Option<&Stack> {
        self.stacks.iter().find(|stack| stack.name == of.stack)
    }

    /// The verdict of the simulator with one stack, or of the kernel if the simulator has none.
    #[must_use]
    pub fn verdict(&self, stack: &Stack) -> Verdict {
        let place = |on| self.at(stack, on);
        let measured = place(Target::Simulator).or_else(|| place(Target::Testbed));
        measured.map_or(Verdict::NotRun, |measured| measured.verdict)
    }

    /// Name of the figure with one stack, as [`Sheet::name_on`] gives it.
    #[must_use]
    pub fn name_on(&self, stack: &Stack) -> String {
        name_on(&self.paper, &self.id, &self.stacks, stack)
    }
}
