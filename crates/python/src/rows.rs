//! Batches of a sweep: many short runs in one call. Their results are rows of two tables
//! ([`row_table`](crate::row_table)).
//!
//! A run that fails is a row with its error: neither a wrong scenario nor a bug of the simulator ends a sweep
//! of a million runs. The rows contain no times of a clock, so that they are equal on all machines.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fairpace_cli_core::host::COMMIT;
use fairpace_cli_core::progress::expected_packets;
use fairpace_results::Monitor;
use fairpace_scenario::{Invalid, Scenario};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::interrupt::Interrupt;
use crate::row_table::{Identity, Labels, Outcome, RunError, Tables, kinds_of, metadata_of, read_parquet};
use crate::scenario::{self, load_named};
use crate::table::Table;

/// Values of a run's additional columns, in their order.
type Values = Vec<Option<String>>;

/// A run to make: the name of its scenario in errors, the scenario's text, and the changes to it.
type Job = (String, String, Vec<(String, String)>);

/// Ends the batches that other threads are making.
#[pyclass(frozen, module = "fairpace._fairpace")]
#[derive(Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Batches that have this end soon, with `KeyboardInterrupt`.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A monitor that ends a batch on Ctrl-C, or when another thread cancels it.
struct Watch {
    interrupt: Interrupt,
    cancelled: Arc<AtomicBool>,
}

impl Monitor for Watch {
    fn progress(&mut self, done_s: f64, total_s: f64) {
        self.interrupt.progress(done_s, total_s);
    }

    fn stop(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || self.interrupt.stop()
    }
}

fn parsed((name, text, sets): &Job) -> Result<Scenario, Invalid> {
    scenario::parsed(name, text, sets)
}

/// What is known of a run whose scenario is wrong: the title and the seed that its scenario has without the
/// other changes, which need not be wrong.
fn identity_of_wrong((name, text, sets): &Job) -> Identity {
    let is_kept = |(key, _): &&(String, String)| key == "seed" || key == "title";
    let sets: Vec<(String, String)> = sets.iter().filter(is_kept).cloned().collect();
    let set = sets.iter().rfind(|(key, _)| key == "seed").and_then(|(_, seed)| seed.parse().ok());
    let known = scenario::parsed(name, text, &sets).ok();
    Identity {
        seed: set.or(known.as_ref().map(|scenario| scenario.seed)),
        title: known.map(|scenario| scenario.title),
        hash: None,
    }
}

fn outcome(job: &Job, watch: &mut Watch) -> Outcome {
    let scenario = match parsed(job) {
        Ok(scenario) => scenario,
        Err(invalid) => {
            return Outcome { identity: identity_of_wrong(job), result: Err(RunError::of_scenario(invalid)) };
        }
    };
    // a panic leaves nothing behind: all state of a run is its own
    let run = catch_unwind(AssertUnwindSafe(|| fairpace_sim::run(&scenario, watch)));
    let result = match run {
        Ok(Ok(run)) => Ok(run.summary),
        Ok(Err(error)) => Err(RunError::of(&error.into())),
        Err(panic) => Err(RunError::internal(format!("the simulator failed: {}", words_of(&*panic)))),
    };
    Outcome { identity: scenario.into(), result }
}

/// Text of a panic.
fn words_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without words")
}

/// Makes runs one after the other. `first` is the number of the first one in the sweep; `columns` are names
/// and kinds of more columns, and `values` has their values for each run.
#[pyfunction]
pub(crate) fn simulate_rows(
    py: Python<'_>,
    first: u64,
    jobs: Vec<Job>,
    columns: Vec<(String, String)>,
    values: Vec<Values>,
    cancel: &Cancel,
) -> PyResult<Rows> {
    let labels = Labels::new(&columns, values, jobs.len()).map_err(PyValueError::new_err)?;
    let mut watch = Watch { interrupt: Interrupt::new(), cancelled: Arc::clone(&cancel.0) };
    let rows = py.detach(|| {
        let mut outcomes = Vec::with_capacity(jobs.len());
        for job in jobs {
            // short runs may never report progress of their own
            watch.progress(0.0, 0.0);
            if watch.stop() {
                return None;
            }
            outcomes.push(outcome(&job, &mut watch));
        }
        (!watch.stop()).then(|| Rows::of(first, &outcomes, &labels))
    });
    match (rows, watch.interrupt.into_raised()) {
        (_, Some(raised)) => Err(raised),
        (None, None) => Err(PyKeyboardInterrupt::new_err("cancelled")),
        (Some(rows), None) => rows,
    }
}

/// The rows of runs that could not be made, for a reason outside of them.
#[pyfunction]
pub(crate) fn failed_rows(
    first: u64,
    jobs: Vec<Job>,
    columns: Vec<(String, String)>,
    values: Vec<Values>,
    why: &str,
) -> PyResult<Rows> {
    let labels = Labels::new(&columns, values, jobs.len()).map_err(PyValueError::new_err)?;
    let failed = |job: &Job| {
        let identity = parsed(job).map_or_else(|_| identity_of_wrong(job), Identity::from);
        Outcome { identity, result: Err(RunError::internal(why.to_owned())) }
    };
    Rows::of(first, &jobs.iter().map(failed).collect::<Vec<_>>(), &labels)
}

/// Data packets that each run is expected to deliver: its cost. 0 for what is not a scenario.
#[pyfunction]
pub(crate) fn expected_cost(py: Python<'_>, jobs: Vec<Job>) -> Vec<f64> {
    let cost = |job: &Job| parsed(job).map_or(0.0, |scenario| expected_packets(&scenario));
    py.detach(|| jobs.iter().map(cost).collect())
}

/// The hash of each scenario; `None` for what is not a scenario. Headers that they name are loaded.
#[pyfunction]
pub(crate) fn scenario_hashes(py: Python<'_>, jobs: Vec<Job>) -> PyResult<Vec<Option<String>>> {
    for (name, text, sets) in &jobs {
        load_named(py, name, text, sets)?;
    }
    let hash = |job: &Job| parsed(job).ok().map(|scenario| scenario.hash);
    Ok(py.detach(|| jobs.iter().map(hash).collect()))
}

/// Results of runs. They do not change.
#[pyclass(frozen, module = "fairpace._fairpace")]
pub(crate) struct Rows {
    tables: Tables,
    runs: u64,
    failed: u64,
    packets: u64,
    commit: String,
}

impl Rows {
    fn of(first: u64, outcomes: &[Outcome], labels: &Labels) -> PyResult<Self> {
        let failed = outcomes.iter().filter(|outcome| outcome.result.is_err()).count() as u64;
        let packets = outcomes.iter().filter_map(|outcome| outcome.result.as_ref().ok());
        let packets = packets.map(|summary| summary.cost.data_packets).sum();
        let tables = Tables::new(first, outcomes, labels).map_err(PyValueError::new_err)?;
        Ok(Self { tables, runs: outcomes.len() as u64, failed, packets, commit: COMMIT.to_owned() })
    }
}

#[pymethods]
impl Rows {
    /// Number of runs.
    #[getter]
    fn runs(&self) -> u64 {
        self.runs
    }

    /// How many of these failed.
    #[getter]
    fn failed(&self) -> u64 {
        self.failed
    }

    /// Data packets delivered by all.
    #[getter]
    fn packets(&self) -> u64 {
        self.packets
    }

    /// The commit of the package that made them.
    #[getter]
    fn commit(&self) -> &str {
        &self.commit
    }

    /// A table by its name: `flows` or `links`.
    fn table(&self, name: &str) -> PyResult<Table> {
        self.tables.named(name).map(|batch| Table(batch.clone().into())).map_err(PyValueError::new_err)
    }

    /// All rows, in the order of the arguments, which must have the same columns.
    #[staticmethod]
    fn join(py: Python<'_>, all: Vec<Py<Rows>>) -> PyResult<Self> {
        let all: Vec<&Rows> = all.iter().map(Py::get).collect();
        let Some(first) = all.first() else { return Err(PyValueError::new_err("there is nothing to join")) };
        let sum = |of: fn(&Rows) -> u64| all.iter().map(|rows| of(rows)).sum();
        let tables: Vec<&Tables> = all.iter().map(|rows| &rows.tables).collect();
        Ok(Self {
            tables: py.detach(|| Tables::joined(&tables)).map_err(PyValueError::new_err)?,
            runs: sum(|rows| rows.runs),
            failed: sum(|rows| rows.failed),
            packets: sum(|rows| rows.packets),
            commit: first.commit.clone(),
        })
    }

    /// A table as a Parquet file with these metadata.
    fn parquet<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        metadata: Vec<(String, String)>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.tables.parquet(name, metadata)).map_err(PyValueError::new_err)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The rows as bytes for another process: [`Rows::from_bytes`] reads them.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<(Vec<Bound<'py, PyBytes>>, [u64; 3], String)> {
        let tables = py.detach(|| self.tables.to_ipc()).map_err(PyValueError::new_err)?;
        let tables = tables.iter().map(|bytes| PyBytes::new(py, bytes)).collect();
        Ok((tables, [self.runs, self.failed, self.packets], self.commit.clone()))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: (Vec<Vec<u8>>, [u64; 3], String)) -> PyResult<Self> {
        let (tables, counts, commit) = bytes;
        let tables = py.detach(|| Tables::from_ipc(&tables)).map_err(PyValueError::new_err)?;
        let [runs, failed, packets] = counts;
        Ok(Self { tables, runs, failed, packets, commit })
    }
}

/// The rows of Parquet files that have the same columns.
#[pyfunction]
pub(crate) fn table_of_parquet(py: Python<'_>, files: Vec<Vec<u8>>) -> PyResult<Table> {
    let table = py.detach(|| read_parquet(files)).map_err(PyValueError::new_err)?;
    Ok(Table(table.into()))
}

/// The metadata of a Parquet file.
///
/// # Errors
/// `ValueError` if it is incomplete.
#[pyfunction]
pub(crate) fn parquet_metadata(file: Vec<u8>) -> PyResult<Vec<(String, String)>> {
    metadata_of(file).map_err(PyValueError::new_err)
}

/// Kinds of the errors that a Parquet file of flows has.
///
/// # Errors
/// `ValueError` if it is damaged, or has other rows.
#[pyfunction]
pub(crate) fn error_kinds(py: Python<'_>, file: Vec<u8>) -> PyResult<Vec<String>> {
    py.detach(|| kinds_of(file)).map_err(PyValueError::new_err)
}
