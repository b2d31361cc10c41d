//! Evaluations, how many cases of criteria algorithms pass: the measurement of `fairpace evaluate`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt64Array};
use fairpace_cli_core::args::{Global, parse};
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::COMMIT;
use fairpace_cli_core::output::to_json;
use fairpace_cli_core::place::Place;
use fairpace_cli_core::signals::Signals;
use fairpace_experiment::Store;
use fairpace_experiment::contained::{FOLDER, criteria};
use fairpace_experiment::evaluation::{EvaluationArgs, Keeping, Subject, chosen, names};
use fairpace_experiment::{CaseRecord, ConditionRecord, Metric, Record};
use fairpace_results::round;
use fairpace_scenario::Scenario;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tempfile::TempDir;

use crate::error::raised;
use crate::interrupt::interruptible;
use crate::table::{Table, table_of};

/// The arguments of an evaluation. `options` are those of `fairpace evaluate`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Asked {
    names: Vec<String>,
    beside: Vec<String>,
    criteria: Option<PathBuf>,
    options: Vec<String>,
    /// Path of the folder in which finished runs are stored.
    keep: Option<PathBuf>,
    /// Path of this module's file, which identifies the build: runs of another build are not used.
    module: PathBuf,
    quiet: bool,
}

/// Measures algorithms against criteria.
#[pyfunction]
pub(crate) fn evaluate(py: Python<'_>, asked: &Bound<'_, PyAny>) -> PyResult<Evaluation> {
    let asked: Asked = asked.extract()?;
    interruptible(py, |signals| measure(&asked, signals)).map(|record| Evaluation(Arc::new(record)))
}

fn measure(of: &Asked, signals: &Signals) -> Result<Record, Failure> {
    let args: EvaluationArgs = parse(&of.options)?;
    // cases are read from the folder when they are planned
    let (criteria, unpacked) = criteria(of.criteria.as_deref())?;
    let asked = names(&of.names, "cc")?;
    let beside = names(&of.beside, "beside")?;
    let beside = beside.into_iter().filter(|name| !asked.contains(name));
    let names: Vec<String> = asked.iter().cloned().chain(beside).collect();
    let place = of.criteria.as_ref().map_or(FOLDER.to_owned(), |of| of.display().to_string());
    let temporary = if of.keep.is_none() { Some(temporary()?) } else { None };
    let folder = of.keep.as_deref().or(temporary.as_ref().map(TempDir::path)).unwrap_or(Path::new(""));
    let kept = Store::new(folder, COMMIT, Some(&of.module));
    let cache = |_: &Scenario| kept.clone();
    let evaluation = fairpace_experiment::evaluation::Evaluation {
        args: &args,
        criteria: &chosen(&criteria, &args, &place)?,
        subjects: &names.iter().map(|name| Subject::of(name)).collect::<Vec<_>>(),
        asked: &asked,
        on: Place::Simulator,
        series: None,
        folder: Path::new(&place).file_name().map_or(place.clone(), |of| of.to_string_lossy().into_owned()),
        command: command(of, &asked, &names[asked.len()..]),
        keeping: Keeping {
            cache: &cache,
            folder,
            another: "name another one with keep",
            contained: true,
            fresh: args.fresh,
            jobs: args.jobs,
        },
        global: Global { quiet: of.quiet, ..Global::default() },
    };
    let works = evaluation.plan()?;
    drop(unpacked);
    evaluation.measure(works, signals)
}

fn temporary() -> Result<TempDir, Failure> {
    tempfile::Builder::new().prefix("fairpace-runs-").tempdir().map_err(|error| {
        let message = format!("no folder for finished runs can be made: {error}");
        Failure::new(Exit::Output, message, "name one with keep")
    })
}

/// The command that repeats the measurement, without the options.
fn command(of: &Asked, asked: &[String], beside: &[String]) -> String {
    let beside = if beside.is_empty() { "none".to_owned() } else { beside.join(",") };
    let mut words = vec![format!("fairpace evaluate {} --beside {beside}", asked.join(" "))];
    words.extend(of.criteria.iter().map(|folder| format!("--criteria {}", folder.display())));
    words.join(" ")
}

/// The result of an evaluation. It does not change.
#[pyclass(frozen, module = "fairpace._fairpace")]
pub(crate) struct Evaluation(Arc<Record>);

#[pymethods]
impl Evaluation {
    /// As `fairpace evaluate --json` prints it.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        to_json(&*self.0).map_err(|failure| raised(py, &failure))
    }

    /// The scorecard; with `failing` each case that fails, too.
    fn text(&self, failing: bool) -> String {
        self.0.text(failing)
    }

    /// The report as one HTML document.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.html())
    }

    /// A table by its name.
    fn table(&self, name: &str) -> PyResult<Table> {
        match name {
            "cases" => self.cases(),
            "conditions" => self.conditions(),
            _ => Err(PyValueError::new_err(format!("there is no table {name:?}"))),
        }
    }
}

/// A row of the table of cases: the criterion's id, the algorithm, the case.
type Row<'a> = (&'a str, &'a str, &'a CaseRecord);

impl Evaluation {
    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.0.criteria.iter().flat_map(|criterion| {
            let of = criterion.algorithms.iter();
            of.flat_map(|of| of.results.iter().map(|case| (criterion.id.as_str(), of.cc.as_str(), case)))
        })
    }

    fn metadata(&self) -> HashMap<String, String> {
        let Record { commit, command, seed, scenarios_hash, .. } = &*self.0;
        let seed = seed.to_string();
        let entries = [("commit", commit), ("command", command), ("seed", &seed), ("hash", scenarios_hash)];
        entries.into_iter().map(|(key, value)| (format!("fairpace.{key}"), value.clone())).collect()
    }

    fn cases(&self) -> PyResult<Table> {
        let text = |of: fn(&Row<'_>) -> String| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(self.rows().map(|row| of(&row))))
        };
        let count = |of: fn(&CaseRecord) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(self.rows().map(|(_, _, case)| of(case))))
        };
        let holds = self.rows().map(|(_, _, case)| Some(case.holds));
        let miss = self.rows().map(|(_, _, case)| Some(round(case.miss)));
        let mut columns: Vec<(&str, ArrayRef)> = vec![
            ("criterion", text(|row| row.0.to_owned())),
            ("cc", text(|row| row.1.to_owned())),
            ("case", text(|row| row.2.case.clone())),
            ("holds", Arc::new(holds.collect::<BooleanArray>())),
            ("miss", Arc::new(miss.collect::<Float64Array>())),
            ("seed", count(|case| case.seed)),
            ("seeds", count(|case| case.seeds as u64)),
            ("seeds_hold", count(|case| case.seeds_hold as u64)),
            ("scenario_hash", text(|row| row.2.scenario.clone())),
        ];
        for metric in Metric::ALWAYS {
            let values = self.rows().map(|(_, _, case)| case.metrics.get(&metric).copied().map(round));
            columns.push((metric.name(), Arc::new(values.collect::<Float64Array>())));
        }
        table_of(columns, self.metadata())
    }

    fn conditions(&self) -> PyResult<Table> {
        let rows = || self.rows().flat_map(|row| row.2.conditions.iter().map(move |of| (row, of)));
        let text = |of: fn(&(Row<'_>, &ConditionRecord)) -> String| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(rows().map(|row| of(&row))))
        };
        let number = |of: fn(&ConditionRecord) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(rows().map(|(_, condition)| round(of(condition)))))
        };
        let holds = rows().map(|(_, condition)| Some(condition.holds));
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("criterion", text(|(row, _)| row.0.to_owned())),
            ("cc", text(|(row, _)| row.1.to_owned())),
            ("case", text(|(row, _)| row.2.case.clone())),
            ("condition", text(|(_, of)| of.name.clone())),
            ("metric", text(|(_, of)| of.metric.name().to_owned())),
            ("value", number(|of| of.value)),
            ("median", number(|of| of.median)),
            ("holds", Arc::new(holds.collect::<BooleanArray>())),
            ("miss", number(|of| of.miss)),
        ];
        table_of(columns, self.metadata())
    }
}
