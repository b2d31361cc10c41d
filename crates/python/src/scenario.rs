//! Scenarios that have been checked.

use std::path::PathBuf;
use std::sync::Arc;

use fairpace_cc::Algorithm;
use fairpace_cli_core::algorithms::AlgorithmRecord;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::headers;
use fairpace_scenario::{Invalid, Scenario, Set, Target};
use pyo3::prelude::*;

use crate::error::raised;

/// A scenario in which everything is right. It does not change.
#[pyclass(frozen, module = "fairpace._fairpace")]
pub(crate) struct Checked(pub(crate) Arc<Scenario>);

#[pymethods]
impl Checked {
    /// What is compared, in a few words.
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// SHA-256 of what decides the outcome, except the seed, in hex.
    #[getter]
    fn hash(&self) -> &str {
        &self.0.hash
    }

    /// Source of all randomness.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    /// Length of the run, s.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.0.duration.as_secs_f64()
    }

    /// The canonical form.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }
}

/// Checks a scenario's text; `name` is what errors call its file.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    name: &str,
    text: &str,
    sets: Vec<(String, String)>,
) -> PyResult<Checked> {
    checked(py, fairpace_scenario::parse(name, text, &changes(sets), Target::Simulator))
}

/// The text of a scenario file.
#[pyfunction]
pub(crate) fn read_scenario(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| fairpace_scenario::read(&path)).map_err(|invalid| raised(py, &invalid.into()))
}

pub(crate) fn changes(sets: Vec<(String, String)>) -> Vec<Set> {
    sets.into_iter().map(|(key, value)| Set::new(key, value)).collect()
}

fn checked(py: Python<'_>, read: Result<Scenario, Invalid>) -> PyResult<Checked> {
    match read {
        Ok(scenario) => Ok(Checked(Arc::new(scenario))),
        Err(invalid) => Err(raised(py, &invalid.into())),
    }
}

/// Compiles a header with clang and loads it into this process; returns its name.
#[pyfunction]
pub(crate) fn load_algorithm(py: Python<'_>, header: String, quiet: bool) -> PyResult<&'static str> {
    let load = || {
        headers::load(std::slice::from_ref(&header), !quiet)?;
        Algorithm::by_name(&header)
            .map(Algorithm::name)
            .map_err(|error| Failure::new(Exit::Usage, error.to_string(), "a header's name ends with .h"))
    };
    py.detach(load).map_err(|failure| raised(py, &failure))
}

/// The algorithms with their parameters, as `fairpace algorithms --json` prints them.
#[pyfunction]
pub(crate) fn algorithms_json(py: Python<'_>) -> PyResult<String> {
    serde_json::to_string(&AlgorithmRecord::all())
        .map_err(|error| raised(py, &Failure::new(Exit::Internal, error.to_string(), "please report this")))
}
