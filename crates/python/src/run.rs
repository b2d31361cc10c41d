//! Runs of scenarios, and their results.

use std::sync::Arc;

use fairpace_cc::Phase;
use fairpace_cli_core::args::PathArgs;
use fairpace_cli_core::comparison::Comparison;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::{COMMIT, run_info};
use fairpace_report::{Context, RunContext};
use fairpace_results::{Run, to_json};
use fairpace_scenario::quantity::parse_time;
use fairpace_scenario::{Scenario, Target};
use fairpace_trace::{ArrowTable, EventRecorder, Results, Series};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::raised;
use crate::interrupt::Interrupt;
use crate::scenario::{Checked, changes};
use crate::table::Table;

/// Simulates a scenario. `events` keeps its rare events.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, scenario: &Checked, events: bool) -> PyResult<Result> {
    let scenario = Arc::clone(&scenario.0);
    let mut interrupt = Interrupt::new();
    let ran = py.detach(|| simulate(&scenario, events, &mut interrupt));
    if let Some(interruption) = interrupt.into_raised() {
        return Err(interruption);
    }
    let (mut run, events) = ran.map_err(|failure| raised(py, &failure))?;
    run.summary.commit = COMMIT.to_owned();
    Ok(Result { scenario, run, events })
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
) -> PyResult<Vec<Checked>> {
    let stagger = stagger
        .map(parse_time)
        .transpose()
        .map_err(|why| raised(py, &Failure::new(Exit::Usage, format!("stagger: {why}"), "for example 5s")))?;
    let path = PathArgs { rate, buffer, rtt, duration, stagger, warmup };
    let sets = changes(sets);
    let comparison = Comparison { path: &path, target: Target::Simulator, sets: &sets };
    let scenarios = comparison.scenarios(&cc).map_err(|failure| raised(py, &failure))?;
    Ok(scenarios.into_iter().map(|scenario| Checked(Arc::new(scenario))).collect())
}

/// What is known after a run. It does not change.
#[pyclass(frozen, module = "fairpace._fairpace")]
pub(crate) struct Result {
    scenario: Arc<Scenario>,
    run: Run,
    events: Option<ArrowTable>,
}

#[pymethods]
impl Result {
    /// The scenario.
    #[getter]
    fn scenario(&self) -> Checked {
        Checked(Arc::clone(&self.scenario))
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
        let info = run_info(&self.scenario);
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
        py.detach(|| {
            fairpace_report::html(&self.scenario.title, std::slice::from_ref(&self.run), &self.context())
        })
    }

    /// Goodput over time as one SVG document.
    fn svg(&self) -> String {
        fairpace_report::headline_svg(&self.scenario.title, std::slice::from_ref(&self.run), &self.context())
    }
}

impl Result {
    fn context(&self) -> Context {
        let run = RunContext { scenario_toml: self.scenario.to_toml(), ..RunContext::default() };
        Context {
            why: self.scenario.why.clone(),
            runs: vec![run],
            phases: Phase::ALL.iter().map(|phase| phase.name().to_owned()).collect(),
            ..Context::default()
        }
    }
}
