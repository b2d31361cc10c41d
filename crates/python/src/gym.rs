//! Environments for reinforcement learning, as NumPy arrays.

use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use fairpace_gym::{
    Autoreset, Batch, Column, Drawn, Error, Form, INFO, OBSERVATIONS, Scale, Scenarios, Setup, Stop,
};
use fairpace_scenario::Flow;
use numpy::{Element, PyArray1, PyReadonlyArray1, get_array_module};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::interrupt::Look;
use crate::scenario::{Checked, changes};

/// Name of the algorithm of agents.
const AGENT: &str = "agent";

/// A column: name, unit, least value, largest value, meaning.
type ColumnRow = (&'static str, &'static str, f32, f32, &'static str);

fn rows(columns: &[Column]) -> Vec<ColumnRow> {
    let row = |column: &Column| (column.name, column.unit, column.least, column.most, column.meaning);
    columns.iter().map(row).collect()
}

fn form_of(name: &str) -> PyResult<Form> {
    match name {
        "absolute" => Ok(Form::Absolute),
        "factor" => Ok(Form::Factor),
        _ => Err(PyValueError::new_err(format!("actions are \"absolute\" or \"factor\", not {name:?}"))),
    }
}

/// The columns of observations.
#[pyfunction]
pub(crate) fn observation_columns() -> Vec<ColumnRow> {
    rows(&OBSERVATIONS)
}

/// The columns of actions of a form.
#[pyfunction]
pub(crate) fn action_columns(form: &str) -> PyResult<Vec<ColumnRow>> {
    Ok(rows(form_of(form)?.actions()))
}

/// The columns of ground truth.
#[pyfunction]
pub(crate) fn info_columns() -> Vec<ColumnRow> {
    rows(&INFO)
}

/// A key whose value is drawn: its name, its least and greatest value, and whether orders of magnitude are
/// equally likely.
type DrawnRow = (String, String, String, bool);

/// The scenarios that the episodes of an environment run.
enum Given<'py> {
    /// A list of scenarios, of which the seed chooses one.
    Checked(Vec<PyRef<'py, Checked>>),
    /// A tuple of a scenario's name, its text, other values of keys, and the keys whose values are drawn.
    Text((String, String, Vec<(String, String)>, Vec<DrawnRow>)),
}

/// The implementation is not derived, because the derived one tries each variant, and drops an exception of
/// Python from a failed try.
impl<'py> FromPyObject<'_, 'py> for Given<'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match given.is_instance_of::<PyTuple>() {
            true => given.extract().map(Given::Text),
            false => given.extract().map(Given::Checked),
        }
    }
}

impl Given<'_> {
    fn scenarios(self, py: Python<'_>) -> PyResult<Scenarios> {
        Ok(match self {
            Given::Checked(list) => {
                let all = list.iter().map(|checked| checked.simulated(py).cloned());
                Scenarios::OneOf(all.collect::<PyResult<_>>()?)
            }
            Given::Text((name, text, sets, drawn)) => {
                let drawn = drawn.into_iter().map(|(key, least, most, is_logarithmic)| {
                    let scale = if is_logarithmic { Scale::Logarithmic } else { Scale::Uniform };
                    Drawn { key, least, most, scale }
                });
                Scenarios::Text { name, text, sets: changes(&sets), drawn: drawn.collect() }
            }
        })
    }
}

struct State {
    environments: fairpace_gym::Environments,
    batch: Batch,
}

/// A batch of environments; see `fairpace.gym`.
#[pyclass(frozen, module = "fairpace._fairpace")]
pub(crate) struct Environments {
    /// The environments; `None`: they are closed.
    state: Mutex<Option<State>>,
    /// Id of the process that created the environments: a child of `fork` does not have its threads.
    process: u32,
}

/// The results of a step: observations, last observations of episodes that ended, ground truth, and which
/// environments' episodes ended.
type Stepped<'py> = (
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray1<bool>>,
);

#[pymethods]
impl Environments {
    /// Creates an environment for each seed, with a monitor interval in microseconds or `None`. If
    /// `next_step`, the step after the end of an episode starts the next one.
    #[new]
    fn new(
        py: Python<'_>,
        given: Given<'_>,
        seeds: Vec<u64>,
        interval_us: Option<u64>,
        form: &str,
        next_step: bool,
        jobs: Option<usize>,
    ) -> PyResult<Self> {
        // The first array asks NumPy for its version, which is code of Python, and panics on an exception
        // of it, as of a signal's handler.
        get_array_module(py)?;
        let (scenarios, form) = (given.scenarios(py)?, form_of(form)?);
        let interval = interval_us.map(Duration::from_micros);
        let setups = seeds.into_iter().map(|seed| Setup { scenarios: scenarios.clone(), seed, interval });
        let environments = interruptible(py, |stop| {
            fairpace_gym::Environments::new_unless_stopped(setups, form, jobs, stop)
        })?;
        let mode = if next_step { Autoreset::NextStep } else { Autoreset::SameStep };
        let environments = environments.autoreset(mode);
        let batch = environments.batch();
        let state = Mutex::new(Some(State { environments, batch }));
        Ok(Self { state, process: std::process::id() })
    }

    /// Number of rows of agents, and of flows.
    fn shape(&self) -> PyResult<(usize, usize)> {
        self.with(|state| Ok((state.environments.agents(), state.environments.flows())))
    }

    /// First row of each environment's agents, then the number of all agents' rows; and first row of its
    /// flows, likewise.
    fn rows(&self) -> PyResult<(Vec<usize>, Vec<usize>)> {
        self.with(|State { environments, .. }| {
            let ends = |of: fn(&fairpace_gym::Environments, usize) -> usize| {
                std::iter::once(0)
                    .chain((0..environments.len()).map(|index| of(environments, index)))
                    .collect()
            };
            Ok((ends(|of, index| of.agents_of(index).end), ends(|of, index| of.flows_of(index).end)))
        })
    }

    /// Starts the first episodes of these seeds; an environment without a seed starts its next episode.
    /// Returns the first observations.
    fn reset<'py>(&self, py: Python<'py>, seeds: Vec<Option<u64>>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        self.with(|State { environments, batch }| {
            interruptible(py, |stop| {
                environments.reset_unless_stopped(&seeds, &mut batch.observations, stop)
            })?;
            Ok(array(py, &batch.observations))
        })
    }

    /// Runs every environment for one monitor interval.
    fn step<'py>(&self, py: Python<'py>, actions: PyReadonlyArray1<'py, f32>) -> PyResult<Stepped<'py>> {
        // a copy: other threads may write to the array while this one has no lock of Python
        let actions = actions.as_slice().map_err(|error| PyValueError::new_err(error.to_string()))?.to_vec();
        self.with(|State { environments, batch }| {
            interruptible(py, |stop| environments.step_unless_stopped(&actions, batch.outputs(), stop))?;
            let Batch { observations, final_observations, info, truncated } = &*batch;
            Ok((
                array(py, observations),
                array(py, final_observations),
                array(py, info),
                array(py, truncated),
            ))
        })
    }

    /// The scenario of an environment's current episode.
    fn scenario(&self, environment: usize) -> PyResult<Option<Checked>> {
        self.with(|state| Ok(state.environments.scenario(environment).cloned().map(Checked::new)))
    }

    /// Names of an environment's agents, and the places of their flows among its flows. They can differ from
    /// one episode to the next.
    fn agents(&self, environment: usize) -> PyResult<Vec<(String, usize)>> {
        self.with(|state| {
            let flows = state.environments.scenario(environment).map_or(&[][..], |scenario| &scenario.flows);
            let is_agent = |(_, flow): &(usize, &Flow)| flow.cc.to_string() == AGENT;
            let agents = flows.iter().enumerate().filter(is_agent);
            Ok(agents.map(|(place, flow)| (flow.name.clone(), place)).collect())
        })
    }

    /// Frees memory and threads.
    fn close(&self) -> PyResult<()> {
        *self.lock()? = None;
        Ok(())
    }
}

impl Environments {
    fn lock(&self) -> PyResult<MutexGuard<'_, Option<State>>> {
        if self.process != std::process::id() {
            return Err(PyRuntimeError::new_err(
                "these environments were made before the process was forked, and their threads are not in \
                 this one; make them in each process",
            ));
        }
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::WouldBlock) => {
                Err(PyRuntimeError::new_err("another thread is stepping these environments; wait for it"))
            }
            Err(TryLockError::Poisoned(_)) => Err(PyRuntimeError::new_err(
                "a step of these environments failed with a bug; please report it",
            )),
        }
    }

    fn with<T>(&self, perform: impl FnOnce(&mut State) -> PyResult<T>) -> PyResult<T> {
        match &mut *self.lock()? {
            Some(state) => perform(state),
            None => Err(PyRuntimeError::new_err("these environments are closed; make new ones")),
        }
    }
}

/// Performs work without Python's lock. Ctrl-C stops the work. Python is not asked for signals before the
/// work first asks whether to stop, which a usual step never does.
fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(Stop<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let mut look: Option<Look> = None;
    let done = py.detach(|| work(&mut || look.get_or_insert_with(Look::new).at_signals()));
    look.and_then(Look::into_raised).map_or_else(|| done.map_err(raised), Err)
}

fn array<'py, T: Element>(py: Python<'py>, values: &[T]) -> Bound<'py, PyArray1<T>> {
    PyArray1::from_slice(py, values)
}

fn raised(error: Error) -> PyErr {
    let text = match &error {
        Error::Scenario { environment, seed, invalid } => {
            let problems: Vec<String> = invalid.problems.iter().map(ToString::to_string).collect();
            format!("environment {environment}, seed {seed}: {}", problems.join("; "))
        }
        _ => error.to_string(),
    };
    match error {
        Error::NotReset { .. } | Error::Stopped | Error::Threads { .. } => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}
