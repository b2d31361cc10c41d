//! A model as its entry in `assets/models.toml` says it: a name, and arguments and results by name.

use std::sync::LazyLock;

use serde::Deserialize;

/// An argument of a model.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argument {
    /// Name of the argument, which ends in the unit.
    pub name: &'static str,
    /// Unit of the argument; empty for a pure number.
    pub unit: &'static str,
    /// The smallest permitted value.
    pub least: f64,
    /// The largest permitted value.
    pub most: f64,
    /// The value if the argument is not given.
    pub default: f64,
    /// Whether only integers are permitted.
    #[serde(default)]
    pub whole: bool,
    /// Meaning of the argument.
    pub meaning: &'static str,
}

/// A number or a curve that a model computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// Name of the quantity in [`Output`](super::Output).
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
    let file: File = toml::from_str(include_str!("../../assets/models.toml")).expect("it is tested");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::mimd::{CWND_GAIN, GAIN};
    use crate::models::queueing::{PROBE_BW_S, STARVED};

    #[test]
    fn every_group_is_known_and_defaults_are_those_of_the_equations() {
        let file: File = toml::from_str(include_str!("../../assets/models.toml")).unwrap();
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
