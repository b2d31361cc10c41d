//! The catalogue of models, `assets/models.toml`: each model has a name, and named arguments and results.

mod level;
mod mimd;
mod queueing;

use std::collections::BTreeMap;

use crate::models::Output;
use crate::models::arguments::{Checked, Error};
use crate::models::model::catalog;

/// Evaluates the model of this name. Arguments that are not in `arguments` have their defaults.
///
/// # Errors
/// Returns an error if there is no such model or argument, or if an argument is out of its range. The error
/// names the argument, its range and the nearest known name.
pub fn evaluate(name: &str, arguments: &BTreeMap<String, f64>) -> Result<Output, Error> {
    let arguments = &checked(name, arguments)?;
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
        _ => return Err(unknown(name)),
    })
}

/// The arguments of the model of this name, with the defaults of those that are not given.
///
/// # Errors
/// Returns an error if there is no such model or argument, or if an argument is out of its range.
pub(crate) fn checked(name: &str, arguments: &BTreeMap<String, f64>) -> Result<Checked, Error> {
    let model = catalog().iter().find(|model| model.name == name).ok_or_else(|| unknown(name))?;
    Checked::new(model, arguments)
}

fn unknown(name: &str) -> Error {
    Error::unknown("there is no model", name, "known", catalog().iter().map(|model| model.name).collect())
}
