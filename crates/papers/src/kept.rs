//! Records on disk: `reproduction/results/PAPER/FIGURE.json`. A record holds what cannot be recomputed: the
//! measured numbers of each check, by a hash of the scenarios, the measure and the bound (`Keys`), and the
//! curves of real flows. A record never contains texts of the figure or simulated curves. Programs write all
//! of its numbers, never a person.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::new_file::write;
use fairpace_scenario::Target;
use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::judge::{self, Rule};
use crate::keys::Keys;
use crate::load::RESULTS;
use crate::plan::Plan;
use crate::record::{Compared, Cost, Drawn, Measured, Numbers, Picture, Record, Tried, Verdict};
use crate::sheet::Sheet;

/// The measurements of a place on disk.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    on: String,
    stack: String,
    #[serde(flatten)]
    cost: Cost,
    /// Numbers of the checks, by [`Keys`].
    checks: BTreeMap<String, Numbers>,
    /// Lines of real flows, by [`Keys`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    curves: BTreeMap<String, Drawn>,
}

impl Kept {
    fn of(measured: &Measured, keys: &Keys) -> Self {
        let of = measured.values.iter().chain(&measured.shapes);
        let checks = of.zip(keys.values.iter().chain(&keys.shapes)).flat_map(|(of, (key, causes))| {
            let tried = of.tried.iter().map(|of| &of.numbers).zip(causes);
            std::iter::once((&of.numbers, key)).chain(tried)
        });
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
            stack: measured.stack.clone(),
            cost: measured.cost.clone(),
            checks: checks.map(|(numbers, key)| (key.clone(), numbers.clone())).collect(),
            curves,
        }
    }

    /// The measurements that still belong to the figure; `None` if there are none.
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
            shapes: keys.shapes.iter().map(value).collect(),
            pictures: pictures.filter(|of| of.lines.iter().any(|line| !line.y.is_empty())).collect(),
            stack: self.stack,
            cost: self.cost,
            verdict: Verdict::NotRun,
        };
        judge::find(figure, Rule::Interval, &mut measured);
        (measured.verdict != Verdict::NotRun || !measured.pictures.is_empty()).then_some(measured)
    }
}

impl Record {
    /// Loads the record of the figure as its file is now. A number of another scenario, measure or bound is
    /// left out.
    ///
    /// # Errors
    /// Returns an error if the record cannot be read, or if a scenario of the figure is wrong.
    pub fn load(root: &Path, sheet: &Sheet) -> Result<Self, Failure> {
        let mut record = Self::blank(sheet);
        for kept in kept(root, sheet)? {
            let on = [Target::Simulator, Target::Testbed].into_iter().find(|target| target.name() == kept.on);
            let stack = sheet.stacks.iter().find(|stack| stack.name == kept.stack);
            if let (Some(on), Some(stack)) = (on, stack) {
                let keys = Keys::of(sheet, &Plan::of(sheet, stack, on, false)?);
                record.measured.extend(kept.measured(&sheet.figure, on, &keys));
            }
        }
        Ok(record)
    }

    /// Stores the record, without numbers of other scenarios, measures or bounds.
    ///
    /// # Errors
    /// Returns an error if the record cannot be written, or if a scenario of the figure is wrong.
    pub fn store(&self, root: &Path, sheet: &Sheet) -> Result<(), Failure> {
        let mut all = Vec::new();
        for measured in &self.measured {
            if let Some(stack) = self.stack(measured) {
                all.push(Kept::of(measured, &Keys::of(sheet, &Plan::of(sheet, stack, measured.on, false)?)));
            }
        }
        let path = path(root, sheet);
        let text = lines(&all).map_err(|error| unusable(&path, &error.into()))?;
        write(&path, &text).map_err(|error| unusable(&path, &error))
    }
}

/// Path of the record of a figure.
#[must_use]
pub fn path(root: &Path, sheet: &Sheet) -> PathBuf {
    root.join(RESULTS).join(&sheet.paper).join(format!("{}.json", sheet.id))
}

/// Number of entries on disk that belong to no check and no picture of the figure any more.
///
/// # Errors
/// Returns the errors of [`Record::load`].
pub fn stale(root: &Path, sheet: &Sheet) -> Result<usize, Failure> {
    let on_disk: usize = kept(root, sheet)?.iter().map(|kept| kept.checks.len() + kept.curves.len()).sum();
    let record = Record::load(root, sheet)?;
    let mut current = 0;
    for measured in &record.measured {
        if let Some(stack) = record.stack(measured) {
            let keys = Keys::of(sheet, &Plan::of(sheet, stack, measured.on, false)?);
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

/// JSON with a line for each number of a check and each curve, so that a small change gives a small
/// difference of the file.
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
