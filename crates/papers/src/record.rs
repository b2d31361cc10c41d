//! What was measured of a figure. A record on disk, `reproduction/results/PAPER/FIGURE.json`, holds what cannot
//! be recomputed: for each check its measured numbers, by a hash of the scenarios, the measure and the bound
//! ([`Keys`]), and the curves of real flows. Words, bounds and simulated curves are never in it. No number in
//! it is typed by hand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::new_file::write;
use fairpace_scenario::Target;
use serde::{Deserialize, Serialize};

use crate::figure::{Base, Figure, Kind, Paper};
use crate::judge::{self, Rule};
use crate::keys::Keys;
use crate::load::RESULTS;
use crate::plan::Plan;
use crate::sheet::{Sheet, name_on};
use crate::tally::Counted;

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
    fn is_measured(&self) -> bool {
        !self.ours.is_empty() || !self.complete
    }
}

/// A published value beside ours.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compared {
    /// Ours.
    pub numbers: Numbers,
    /// What that says.
    pub finding: Finding,
    /// Runs that change a suspected cause, in the order of [`Value::causes`](crate::figure::Value::causes).
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

/// A relation with what was measured of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Held {
    /// Left and right side, or each point along a sweep.
    pub numbers: Numbers,
    /// What that says.
    pub finding: Finding,
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
    pub shapes: Vec<Held>,
    /// Pictures; of the simulator only while its runs are kept.
    pub pictures: Vec<Picture>,
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

/// A place's measurements on disk.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    on: String,
    base: String,
    #[serde(flatten)]
    cost: Cost,
    /// By [`Keys`].
    checks: BTreeMap<String, Numbers>,
    /// Lines of real flows, by [`Keys`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    curves: BTreeMap<String, Drawn>,
}

impl Kept {
    fn of(measured: &Measured, keys: &Keys) -> Self {
        let values = measured.values.iter().zip(&keys.values);
        let causes =
            values.clone().flat_map(|(of, (_, causes))| of.tried.iter().map(|of| &of.numbers).zip(causes));
        let shapes = measured.shapes.iter().map(|of| &of.numbers).zip(&keys.shapes);
        let checks = values.map(|(of, (key, _))| (&of.numbers, key)).chain(causes).chain(shapes);
        let checks = checks.filter(|(numbers, _)| numbers.is_measured());
        let mut curves = BTreeMap::new();
        for picture in measured.pictures.iter().filter(|_| measured.on == Target::Testbed) {
            for (line, key) in picture.lines.iter().zip(keys.plots.get(picture.plot).into_iter().flatten()) {
                if !line.y.is_empty() {
                    curves.insert(key.clone(), line.clone());
                }
            }
        }
        Self {
            on: measured.on.name().to_owned(),
            base: measured.base.clone(),
            cost: measured.cost.clone(),
            checks: checks.map(|(numbers, key)| (key.clone(), numbers.clone())).collect(),
            curves,
        }
    }

    /// What of it is still of the figure; `None`: nothing.
    fn measured(self, figure: &Figure, on: Target, keys: &Keys) -> Option<Measured> {
        let numbers = |key: &String| self.checks.get(key).cloned().unwrap_or_default();
        let value = |(key, causes): &(String, Vec<String>)| Compared {
            numbers: numbers(key),
            tried: causes.iter().map(|key| Tried { numbers: numbers(key), ..Tried::default() }).collect(),
            ..Compared::default()
        };
        let line = |key: &String| self.curves.get(key).cloned().unwrap_or_default();
        let pictures = figure.plots.iter().zip(&keys.plots).enumerate().map(|(plot, (of, keys))| Picture {
            plot,
            kind: of.kind,
            lines: keys.iter().map(line).collect(),
        });
        let mut measured = Measured {
            on,
            values: keys.values.iter().map(value).collect(),
            shapes: keys.shapes.iter().map(|key| Held { numbers: numbers(key), ..Held::default() }).collect(),
            pictures: pictures.filter(|of| of.lines.iter().any(|line| !line.y.is_empty())).collect(),
            base: self.base,
            cost: self.cost,
            verdict: Verdict::NotRun,
        };
        judge::find(figure, Rule::Interval, &mut measured);
        (measured.verdict != Verdict::NotRun || !measured.pictures.is_empty()).then_some(measured)
    }
}

impl Record {
    /// A figure of which nothing was measured.
    #[must_use]
    pub fn blank(sheet: &Sheet) -> Self {
        let Sheet { paper, id, figure, bases, .. } = sheet.clone();
        Self { paper, id, figure, bases, measured: Vec::new() }
    }

    /// What is on record of the figure as its file is now. A number of another scenario, measure or bound is
    /// left out.
    ///
    /// # Errors
    /// The record cannot be read, or a scenario of the figure is wrong.
    pub fn load(root: &Path, sheet: &Sheet) -> Result<Self, Failure> {
        let mut record = Self::blank(sheet);
        for kept in kept(root, sheet)? {
            let on = [Target::Simulator, Target::Testbed].into_iter().find(|target| target.name() == kept.on);
            let base = sheet.bases.iter().find(|base| base.name == kept.base);
            if let (Some(on), Some(base)) = (on, base) {
                let keys = Keys::of(sheet, &Plan::of(sheet, base, on, false)?);
                record.measured.extend(kept.measured(&sheet.figure, on, &keys));
            }
        }
        Ok(record)
    }

    /// Puts the record in its place, without numbers of other scenarios, measures or bounds.
    ///
    /// # Errors
    /// It cannot be written, or a scenario of the figure is wrong.
    pub fn store(&self, root: &Path, sheet: &Sheet) -> Result<(), Failure> {
        let mut all = Vec::new();
        for measured in &self.measured {
            if let Some(base) = self.base(measured) {
                all.push(Kept::of(measured, &Keys::of(sheet, &Plan::of(sheet, base, measured.on, false)?)));
            }
        }
        let path = path(root, sheet);
        let text = lines(&all).map_err(|error| unusable(&path, &error.into()))?;
        write(&path, &text).map_err(|error| unusable(&path, &error))
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

    /// How many checks of each kind hold on a base in a place; where nothing was measured, none of them was.
    #[must_use]
    pub fn counted(&self, base: &Base, on: Target) -> Counted {
        Counted::of(&self.figure, self.at(base, on))
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

/// Where a figure's record lies.
#[must_use]
pub fn path(root: &Path, sheet: &Sheet) -> PathBuf {
    root.join(RESULTS).join(&sheet.paper).join(format!("{}.json", sheet.id))
}

/// Numbers on disk that are of no check of the figure any more, and lines of no picture.
///
/// # Errors
/// As [`Record::load`].
pub fn stale(root: &Path, sheet: &Sheet) -> Result<usize, Failure> {
    let on_disk: usize = kept(root, sheet)?.iter().map(|kept| kept.checks.len() + kept.curves.len()).sum();
    let record = Record::load(root, sheet)?;
    let mut current = 0;
    for measured in &record.measured {
        if let Some(base) = record.base(measured) {
            let keys = Keys::of(sheet, &Plan::of(sheet, base, measured.on, false)?);
            let kept = Kept::of(measured, &keys);
            current += kept.checks.len() + kept.curves.len();
        }
    }
    Ok(on_disk - current)
}

fn kept(root: &Path, sheet: &Sheet) -> Result<Vec<Kept>, Failure> {
    let path = path(root, sheet);
    let failed = |error: std::io::Error| unusable(&path, &error);
    match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        text => serde_json::from_str(&text.map_err(failed)?).map_err(|error| failed(error.into())),
    }
}

/// JSON with a line for each number of a check and each curve, so that a change is seen as small as it is.
fn lines(all: &[Kept]) -> serde_json::Result<String> {
    let mut out = String::from("[");
    for (index, kept) in all.iter().enumerate() {
        let text = serde_json::to_string(kept)?;
        let text = text.replace("\":{\"ours\"", "\":\n{\"ours\"").replace("\":{\"x\"", "\":\n{\"x\"");
        out += if index == 0 { "\n" } else { ",\n" };
        out += &text;
    }
    Ok(out + "\n]\n")
}

fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::file("cannot use", path, error, "remove it if it is broken, or run it in a copy of the checkout")
}
