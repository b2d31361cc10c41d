//! The catalogue of models: each has a name, and arguments and results by name.

mod level;
mod mimd;
mod queueing;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::models::Output;
use crate::models::arguments::{Argument, Checked, Error, nearest};

/// A number or a curve that a model computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Quantity {
    /// Its name in [`Output`].
    pub name: &'static str,
    /// Its unit; empty for a pure number. For a curve: the units of both axes, x first.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

/// A model that can be evaluated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Model {
    /// Its name: family and form, such as "queueing.simulation".
    pub name: &'static str,
    /// A short description.
    pub title: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// The numbers that it computes.
    pub values: &'static [Quantity],
    /// The curves that it computes.
    pub curves: &'static [Quantity],
}

/// A row of the catalogue.
struct Entry {
    name: &'static str,
    title: &'static str,
    source: &'static str,
    arguments: &'static [&'static [Argument]],
    values: &'static [Quantity],
    curves: &'static [Quantity],
    evaluate: fn(&Checked) -> Result<Output, Error>,
}

static ENTRIES: [&Entry; 10] = [
    &level::EQUILIBRIUM,
    &level::STABILITY,
    &level::CONVERGENCE,
    &mimd::LITERAL,
    &mimd::CORRECTED,
    &mimd::SIMULATION,
    &queueing::LITERAL,
    &queueing::CORRECTED,
    &queueing::SIMULATION,
    &queueing::THRESHOLD,
];

/// All models.
#[must_use]
pub fn catalog() -> Vec<Model> {
    let model = |entry: &&Entry| Model {
        name: entry.name,
        title: entry.title,
        source: entry.source,
        arguments: entry.arguments.concat(),
        values: entry.values,
        curves: entry.curves,
    };
    ENTRIES.iter().map(model).collect()
}

/// Evaluates the model of this name. Arguments that are not in `arguments` have their defaults.
///
/// # Errors
/// If there is no such model or argument, or if an argument is out of its range. The error names the
/// argument, its range and the nearest known name.
pub fn evaluate(name: &str, arguments: &BTreeMap<String, f64>) -> Result<Output, Error> {
    let known = || ENTRIES.iter().map(|entry| entry.name).collect::<Vec<_>>();
    let entry = ENTRIES.iter().find(|entry| entry.name == name).ok_or_else(|| Error::UnknownModel {
        name: name.to_owned(),
        nearest: nearest(name, known()),
        known: known(),
    })?;
    (entry.evaluate)(&Checked::new(entry.name, entry.arguments, arguments)?)
}

const fn argument(
    name: &'static str,
    unit: &'static str,
    range: [f64; 2],
    default: f64,
    meaning: &'static str,
) -> Argument {
    Argument { name, unit, least: range[0], most: range[1], default, whole: false, meaning }
}

const fn count(name: &'static str, range: [f64; 2], default: f64, meaning: &'static str) -> Argument {
    Argument { whole: true, ..argument(name, "", range, default, meaning) }
}

const fn quantity(name: &'static str, unit: &'static str, meaning: &'static str) -> Quantity {
    Quantity { name, unit, meaning }
}

/// The largest number of points in a curve of a simulation; a picture has fewer columns.
const CURVE_POINTS: usize = 2000;

/// Every n-th of the points, and the last one, so that at most about [`CURVE_POINTS`] remain.
fn thinned<T: Copy>(points: &[T]) -> impl Iterator<Item = T> + Clone {
    let every = points.len().div_ceil(CURVE_POINTS).max(1);
    let last = points.last().filter(|_| points.len() % every != 1 && every > 1);
    points.iter().step_by(every).chain(last).copied()
}

/// `count` + 1 points of a function, evenly spaced from one end to the other.
fn sampled(from: f64, to: f64, count: u32, of: impl Fn(f64) -> f64) -> impl Iterator<Item = [f64; 2]> {
    (0..=count).map(move |index| {
        let x = from + (to - from) * f64::from(index) / f64::from(count);
        [x, of(x)]
    })
}
