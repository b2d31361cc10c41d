//! Scenarios that have been checked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairpace_cc::Algorithm;
use fairpace_cli_core::algorithms::AlgorithmRecord;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::headers::{self, Named};
use fairpace_scenario::{Invalid, Scenario, Set, Target};
use pyo3::prelude::*;

use crate::error::raised;

/// A scenario in which everything is right. It does not change.
#[pyclass(frozen, module = "fairpace._fairpace")]
pub(crate) struct Checked {
    pub(crate) scenario: Arc<Scenario>,
    /// What the simulator does not have, such as the algorithms of a kernel.
    refused: Option<Box<Invalid>>,
}

impl Checked {
    /// A scenario that has been checked for where it runs.
    pub(crate) fn new(scenario: Scenario) -> Self {
        Checked { scenario: Arc::new(scenario), refused: None }
    }

    /// The scenario, for the simulator.
    pub(crate) fn simulated(&self, py: Python<'_>) -> PyResult<&Arc<Scenario>> {
        match &self.refused {
            None => Ok(&self.scenario),
            Some(invalid) => Err(raised(py, &Invalid::clone(invalid).into())),
        }
    }
}

#[pymethods]
impl Checked {
    /// What is compared, in a few words.
    #[getter]
    fn title(&self) -> &str {
        &self.scenario.title
    }

    /// SHA-256 of what decides the outcome, except the seed, in hex.
    #[getter]
    fn hash(&self) -> &str {
        &self.scenario.hash
    }

    /// Source of all randomness.
    #[getter]
    fn seed(&self) -> u64 {
        self.scenario.seed
    }

    /// Length of the run, s.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.scenario.duration.as_secs_f64()
    }

    /// The canonical form.
    fn to_toml(&self) -> String {
        self.scenario.to_toml()
    }

    /// The keys of the canonical form and their values, as JSON.
    fn keys_json(&self, py: Python<'_>) -> PyResult<String> {
        let keys = toml::from_str::<serde_json::Value>(&self.scenario.to_toml()).map(|keys| keys.to_string());
        keys.map_err(|error| {
            raised(py, &Failure::new(Exit::Internal, error.to_string(), "please report this"))
        })
    }
}

/// Checks a scenario's text; `name` is what errors call its file. Headers that it names are loaded, unless
/// they are and have not changed since. What only the simulator refuses is an error when it is simulated.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    name: &str,
    text: &str,
    sets: Vec<(String, String)>,
) -> PyResult<Checked> {
    load_named(py, name, text, &sets)?;
    let refused = match parsed(name, text, &sets) {
        Ok(scenario) => return Ok(Checked::new(scenario)),
        Err(invalid) => invalid,
    };
    match parsed_for(Target::Testbed, name, text, &sets) {
        Ok(scenario) => Ok(Checked { scenario: Arc::new(scenario), refused: Some(Box::new(refused)) }),
        Err(_) => Err(raised(py, &refused.into())),
    }
}

/// Checks a scenario's text, whose headers are loaded, for a kernel.
#[pyfunction]
pub(crate) fn check_for_kernel(
    py: Python<'_>,
    name: &str,
    text: &str,
    sets: Vec<(String, String)>,
) -> PyResult<Checked> {
    let scenario = parsed_for(Target::Testbed, name, text, &sets);
    scenario.map(Checked::new).map_err(|invalid| raised(py, &invalid.into()))
}

/// Reads a scenario for the simulator.
pub(crate) fn parsed(name: &str, text: &str, sets: &[(String, String)]) -> Result<Scenario, Invalid> {
    parsed_for(Target::Simulator, name, text, sets)
}

/// Reads a scenario. The place of a problem in a changed key is the key.
fn parsed_for(
    target: Target,
    name: &str,
    text: &str,
    sets: &[(String, String)],
) -> Result<Scenario, Invalid> {
    fairpace_scenario::parse(name, text, &changes(sets), target).map_err(|mut invalid| {
        let is_set = |file: &str| sets.iter().any(|(key, _)| key == file);
        for problem in invalid.problems.iter_mut().filter(|problem| is_set(&problem.file)) {
            (problem.line, problem.column) = (0, 0);
        }
        invalid
    })
}

/// Loads the headers that a scenario names.
pub(crate) fn load_named(py: Python<'_>, name: &str, text: &str, sets: &[(String, String)]) -> PyResult<()> {
    let mut named = Named::default();
    // most texts name none, and are not read twice
    if text.contains(".h") {
        named = named.text(Path::new(name), text);
    }
    let names = sets.iter().filter(|(key, _)| key.ends_with(".cc"));
    let values: Vec<String> = names.map(|(_, value)| value.clone()).collect();
    load_all(py, &named.names(&values).all())
}

/// Loads headers.
fn load_all(py: Python<'_>, headers: &[String]) -> PyResult<()> {
    if headers.is_empty() {
        return Ok(());
    }
    py.detach(|| headers::load_changed(headers, true)).map_err(|failure| raised(py, &failure))
}

/// Loads the headers among names of algorithms.
#[pyfunction]
pub(crate) fn load_named_algorithms(py: Python<'_>, names: Vec<String>) -> PyResult<()> {
    load_all(py, &Named::default().names(&names).all())
}

/// The text of a scenario file.
#[pyfunction]
pub(crate) fn read_scenario(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| fairpace_scenario::read(&path)).map_err(|invalid| raised(py, &invalid.into()))
}

pub(crate) fn changes(sets: &[(String, String)]) -> Vec<Set> {
    sets.iter().map(|(key, value)| Set::argument(key.clone(), key.clone(), value.clone())).collect()
}

/// Compiles a header with clang and loads it into this process, unless it is loaded and has not changed
/// since; returns its name.
#[pyfunction]
pub(crate) fn load_algorithm(py: Python<'_>, header: String, quiet: bool) -> PyResult<&'static str> {
    let load = || {
        headers::load_changed(std::slice::from_ref(&header), !quiet)?;
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
