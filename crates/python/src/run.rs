//! Runs of scenarios, and their results.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use fairpace_cc::Phase;
use fairpace_cli_core::args::PathArgs;
use fairpace_cli_core::batch::Batch;
use fairpace_cli_core::comparison::Comparison;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::{COMMIT, run_info};
use fairpace_cli_core::place::Place;
use fairpace_cli_core::progress::{Progress, expected_packets};
use fairpace_cli_core::virtual_time::{VirtualKernel, Wanted};
use fairpace_report::{Context, RunContext};
use fairpace_results::{Run, to_json};
use fairpace_scenario::quantity::parse_time;
use fairpace_scenario::{Scenario, Target};
use fairpace_trace::{ArrowTable, EventRecorder, Results, RunInfo, Series};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::raised;
use crate::interrupt::{Interrupt, interruptible};
use crate::scenario::{Checked, changes, load_named, load_named_algorithms};
use crate::table::{Table, of_bytes, to_bytes};

/// Simulates a scenario. `events` keeps its rare events.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, scenario: &Checked, events: bool) -> PyResult<Result> {
    let scenario = Arc::clone(scenario.simulated(py)?);
    let mut interrupt = Interrupt::new();
    let ran = py.detach(|| simulate(&scenario, events, &mut interrupt));
    if let Some(interruption) = interrupt.into_raised() {
        return Err(interruption);
    }
    let (run, events) = ran.map_err(|failure| raised(py, &failure))?;
    Ok(Result::new(&scenario, run, events))
}

/// Simulates scenarios, `jobs` at a time; `None`: one for each core.
#[pyfunction]
pub(crate) fn run_all(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Checked>>,
    jobs: Option<NonZeroUsize>,
) -> PyResult<Vec<Result>> {
    let scenarios = scenarios.iter().map(|checked| checked.simulated(py).cloned());
    let scenarios: Vec<Arc<Scenario>> = scenarios.collect::<PyResult<_>>()?;
    let runs = interruptible(py, |signals| {
        let all: Vec<&Scenario> = scenarios.iter().map(|scenario| &**scenario).collect();
        let progress = Progress::of_scenarios(&all, true);
        Batch { jobs, signals, progress: &progress }.simulate(&all, |_, run| Ok(run))
    })?;
    Ok(scenarios.iter().zip(runs).map(|(scenario, run)| Result::new(scenario, run, None)).collect())
}

/// Runs scenarios on a kernel in virtual time, whose first process is `program`, the command line's; `jobs`
/// at a time, `None`: one for each core.
#[pyfunction]
pub(crate) fn run_virtual(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Checked>>,
    on: &str,
    kernel: Option<&str>,
    program: PathBuf,
    jobs: Option<NonZeroUsize>,
) -> PyResult<Vec<Result>> {
    let Some(Place::Virtual(emulator)) = Place::by_name(on) else {
        return Err(PyValueError::new_err(format!("{on:?} is no kernel in virtual time")));
    };
    let scenarios: Vec<Scenario> =
        scenarios.iter().map(|checked| Scenario::clone(&checked.scenario)).collect();
    let wanted = Wanted { emulator, series: kernel };
    let runs = interruptible(py, |signals| {
        let kernel = VirtualKernel::boot_with(&program, wanted, &scenarios, signals)?;
        let packets = scenarios.iter().map(expected_packets).collect();
        let progress = Progress::of_virtual_runs(packets, true);
        Batch { jobs, signals, progress: &progress }
            .map(&scenarios, |scenario, job| kernel.run(scenario, job))
    })?;
    Ok(scenarios.iter().zip(runs).map(|(scenario, run)| Result::of_run(scenario, run, None)).collect())
}

fn simulate(
    scenario: &Scenario,
    events: bool,
    interrupt: &mut Interrupt,
) -> std::result::Result<(Run, Option<ArrowTable>), Failure> {
    if !events {
        return Ok((fairpace_sim::run(scenario, interrupt)?, None));
    }
    let mut recorder = EventRecorder::new(run_info(scenario));
    let run = fairpace_sim::run_with(scenario, interrupt, &mut recorder)?;
    Ok((run, Some(recorder.finish().map_err(|error| of_table(&error))?)))
}

fn of_table(error: &fairpace_trace::Error) -> Failure {
    match error {
        fairpace_trace::Error::Write { .. } => {
            Failure::new(Exit::Output, error.to_string(), "make room there, or name another path")
        }
        _ => Failure::new(Exit::Internal, error.to_string(), "please report this"),
    }
}

/// The scenarios of a comparison: one for each algorithm. Arguments are those of `fairpace compare`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "named arguments of a function of Python")]
pub(crate) fn compare_scenarios(
    py: Python<'_>,
    cc: Vec<String>,
    rtt: Vec<String>,
    sets: Vec<(String, String)>,
    rate: String,
    buffer: String,
    duration: String,
    stagger: Option<&str>,
    warmup: Option<String>,
    is_simulated: bool,
) -> PyResult<Vec<Checked>> {
    let stagger = stagger
        .map(parse_time)
        .transpose()
        .map_err(|why| raised(py, &Failure::new(Exit::Usage, format!("stagger: {why}"), "for example 5s")))?;
    load_named(py, "", "", &sets)?;
    load_named_algorithms(py, cc.clone())?;
    let path = PathArgs { rate, buffer, rtt, duration, stagger, warmup };
    let sets = changes(&sets);
    let target = if is_simulated { Target::Simulator } else { Target::Testbed };
    let comparison = Comparison { path: &path, target, sets: &sets };
    let scenarios = comparison.scenarios(&cc).map_err(|failure| raised(py, &failure))?;
    Ok(scenarios.into_iter().map(Checked::new).collect())
}

/// What is known after a run. It does not change.
#[pyclass(frozen, module = "fairpace._fairpace")]
pub(crate) struct Result {
    /// Reason of the scenario.
    why: String,
    /// The scenario's canonical form.
    toml: String,
    run: Run,
    events: Option<ArrowTable>,
}

/// A result on its way to another process: why, canonical form, run as JSON, events in Arrow's format.
type Bytes<'py> = (String, String, Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>);

/// A result of the bytes of its pickle.
#[pyfunction]
pub(crate) fn result_of_bytes(
    why: String,
    toml: String,
    run: &[u8],
    events: Option<&[u8]>,
) -> PyResult<Result> {
    let run = serde_json::from_slice(run).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let events = events.map(of_bytes).transpose();
    let events = events.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Result { why, toml, run, events })
}

#[pymethods]
impl Result {
    /// Title of the scenario.
    #[getter]
    fn title(&self) -> &str {
        &self.run.summary.scenario.title
    }

    /// Seed of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.run.summary.seed
    }

    /// Commit of the package that simulated it.
    #[getter]
    fn commit(&self) -> &str {
        &self.run.summary.commit
    }

    /// For pickles and copies.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bytes<'py>)> {
        let failed = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
        let run = serde_json::to_vec(&self.run).map_err(|error| failed(&error))?;
        let events = self.events.as_ref().map(to_bytes).transpose().map_err(|error| failed(&error))?;
        let events = events.map(|events| PyBytes::new(py, &events));
        let again = py.import("fairpace._fairpace")?.getattr("result_of_bytes")?;
        Ok((again, (self.why.clone(), self.toml.clone(), PyBytes::new(py, &run), events)))
    }

    /// The record of the run as `fairpace sim --json` prints it, with what it cost in time.
    fn json(&self) -> PyResult<String> {
        to_json(&self.run.summary).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The same without the times: the same bytes for the same scenario, seed and build.
    fn stable_json(&self) -> String {
        self.run.summary.stable_json()
    }

    /// A table by its name.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let info = self.info();
        let table = match name {
            "flows" => Results::Flows.table(&info, &self.run),
            "links" => Results::Links.table(&info, &self.run),
            "series" => Series::Flows.table(&info, &self.run),
            "link_series" => Series::Links.table(&info, &self.run),
            "backlog" => Series::Backlog.table(&info, &self.run),
            "events" => match &self.events {
                Some(events) => return Ok(Table(events.clone())),
                None => return Err(PyValueError::new_err("no events were kept: run(..., events=True)")),
            },
            _ => return Err(PyValueError::new_err(format!("there is no table {name:?}"))),
        };
        table.map(Table).map_err(|error| raised(py, &of_table(&error)))
    }

    /// The report as one HTML document.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| fairpace_report::html(self.title(), std::slice::from_ref(&self.run), &self.context()))
    }

    /// Goodput over time as one SVG document.
    fn svg(&self) -> String {
        fairpace_report::headline_svg(self.title(), std::slice::from_ref(&self.run), &self.context())
    }
}

impl Result {
    fn new(scenario: &Scenario, mut run: Run, events: Option<ArrowTable>) -> Self {
        run.summary.commit = COMMIT.to_owned();
        Self::of_run(scenario, run, events)
    }

    /// The result of a run that has the commit of the program that made it.
    fn of_run(scenario: &Scenario, run: Run, events: Option<ArrowTable>) -> Self {
        Result { why: scenario.why.clone(), toml: scenario.to_toml(), run, events }
    }

    /// What the tables say of the run.
    fn info(&self) -> RunInfo {
        let summary = &self.run.summary;
        RunInfo {
            title: summary.scenario.title.clone(),
            hash: summary.scenario.hash.clone(),
            seed: summary.seed,
            commit: summary.commit.clone(),
            phases: Phase::ALL.iter().map(|phase| phase.name()).collect(),
            ..RunInfo::default()
        }
    }

    fn context(&self) -> Context {
        let run = RunContext { scenario_toml: self.toml.clone(), ..RunContext::default() };
        Context {
            why: self.why.clone(),
            runs: vec![run],
            phases: Phase::ALL.iter().map(|phase| phase.name().to_owned()).collect(),
            ..Context::default()
        }
    }
}
