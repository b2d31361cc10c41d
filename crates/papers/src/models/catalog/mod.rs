//! The catalogue of models, `assets/models.toml`: each model has a name, and named arguments and results.

mod level;
mod mimd;
mod queueing;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::models::Output;
use crate::models::arguments::{Argument, Checked, Error};

/// A number or a curve that a model computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// Name of the quantity in [`Output`].
    pub name: &'static str,
    /// Unit of the quantity; empty for a pure number. For a curve: the units of both axes, x first.
    pub unit: &'static str,
    /// Meaning of the quantity.
    pub meaning: &'static str,
}

/// A model that can be evaluated.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Name of the model, family and form: "queueing.simulation".
    pub name: &'static str,
    /// Title of the model.
    pub title: &'static str,
    /// Source of the model.
    pub source: &'static str,
    /// The groups of the model's arguments.
    #[serde(rename = "arguments")]
    groups: Vec<&'static str>,
    /// The arguments of the model.
    #[serde(skip)]
    pub arguments: Vec<Argument>,
    /// The numbers that the model computes.
    pub values: Vec<Quantity>,
    /// The curves that the model computes.
    pub curves: Vec<Quantity>,
}

/// The content of `assets/models.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
struct File {
    group: Vec<Group>,
    model: Vec<Model>,
}

/// A group of arguments that models have in common, or a single argument.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    name: &'static str,
    arguments: Vec<Argument>,
}

static CATALOG: LazyLock<Vec<Model>> = LazyLock::new(|| {
    let file: File = toml::from_str(include_str!("../../../assets/models.toml")).expect("it is tested");
    let mut models = file.model;
    for model in &mut models {
        let group = |name: &&str| file.group.iter().find(|group| group.name == *name);
        let arguments = model.groups.iter().filter_map(group).flat_map(|group| &group.arguments);
        model.arguments = arguments.copied().collect();
    }
    models
});

/// All models of the catalogue.
#[must_use]
pub fn catalog() -> &'static [Model] {
    &CATALOG
}

/// Evaluates the model of this name. Arguments that are not in `arguments` have their defaults.
///
/// # Errors
/// Returns an error if there is no such model or argument, or if an argument is out of its range. The error
/// names the argument, its range and the nearest known name.
pub fn evaluate(name: &str, arguments: &BTreeMap<String, f64>) -> Result<Output, Error> {
    let known = || catalog().iter().map(|model| model.name);
    let unknown = || Error::unknown("there is no model", name, "known", known().collect());
    let model = catalog().iter().find(|model| model.name == name).ok_or_else(unknown)?;
    let arguments = &Checked::new(model, arguments)?;
    Ok(match name {
        "level.equilibrium" => level::equilibrium_of(arguments),
        "level.stability" => level::stability_of(arguments),
        "level.convergence" => level::convergence_of(arguments),
        "mimd.literal" => mimd::literal(arguments),
        "mimd.corrected" => mimd::corrected(arguments),
        "mimd.simulation" => mimd::simulation(arguments),
        "queueing.literal" => queueing::literal_form(arguments),
        "queueing.corrected" => queueing::corrected_form(arguments),
        "queueing.simulation" => queueing::simulation_form(arguments)?,
        "queueing.threshold" => queueing::threshold_form(arguments),
        _ => return Err(unknown()),
    })
}

/// The largest number of points in a curve of a simulation; a picture has fewer columns.
const CURVE_POINTS: usize = 2000;

/// Every n-th of the points, and the last one, so that at most about [`CURVE_POINTS`] points remain.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::mimd::{CWND_GAIN, GAIN};
    use crate::models::queueing::{PROBE_BW_S, STARVED};

    #[test]
    fn every_group_is_known_and_defaults_are_those_of_the_equations() {
        let file: File = toml::from_str(include_str!("../../../assets/models.toml")).unwrap();
        let known = |name: &&str| file.group.iter().any(|group| group.name == *name);
        assert!(file.model.iter().all(|model| model.groups.iter().all(known)));
        let default = |model: &str, argument: &str| {
            let model = catalog().iter().find(|of| of.name == model).unwrap();
            model.arguments.iter().find(|of| of.name == argument).unwrap().default
        };
        assert_eq!(
            [default("mimd.literal", "gain"), default("mimd.literal", "cwnd_gain")],
            [GAIN, CWND_GAIN]
        );
        for model in ["queueing.simulation", "queueing.threshold"] {
            assert_eq!([default(model, "duration_s"), default(model, "starved")], [PROBE_BW_S, STARVED]);
        }
    }
}
