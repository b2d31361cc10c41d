//! Duels, every algorithm against every other one: the measurement of `fairpace-dev run
//! experiments/duels.toml`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, StringArray, UInt64Array};
use fairpace_cli_core::args::parse;
use fairpace_cli_core::output::to_json;
use fairpace_experiment::duels::{Duel, Plan, Record};
use fairpace_results::round;
use pyo3::prelude::*;

use crate::error::raised;
use crate::interrupt::interruptible;
use crate::table::{Table, table_of};

/// Measures all duels. `options` are those of `[duels]` in a file of `fairpace-dev run`.
#[pyfunction]
pub(crate) fn duels(py: Python<'_>, options: Vec<String>, jobs: Vec<String>, quiet: bool) -> PyResult<Duels> {
    let measured = interruptible(py, |signals| {
        let plan = Plan::new(&parse(&options)?)?;
        plan.measure(parse(&jobs)?, signals, quiet)
    });
    measured.map(|record| Duels(Arc::new(record)))
}

/// The results of all duels. It does not change.
#[pyclass(frozen, module = "fairpace._fairpace")]
pub(crate) struct Duels(Arc<Record>);

#[pymethods]
impl Duels {
    /// As `fairpace-dev run --json` prints it.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        to_json(&*self.0).map_err(|failure| raised(py, &failure))
    }

    /// One row per buffer and pair.
    fn table(&self) -> PyResult<Table> {
        let Record { buffers, commit, command, seed, scenarios_hash, .. } = &*self.0;
        let text = |of: fn(&Duel) -> &str| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(self.0.duels.iter().map(of)))
        };
        let number = |of: fn(&Duel) -> Option<f64>| -> ArrayRef {
            let known = |duel| of(duel).filter(|x| x.is_finite()).map(round);
            Arc::new(Float64Array::from_iter(self.0.duels.iter().map(known)))
        };
        let bytes = self.0.duels.iter().map(|duel| {
            let buffer = buffers.iter().find(|buffer| buffer.name == duel.buffer);
            buffer.map(|buffer| buffer.bytes)
        });
        let runs = self.0.duels.iter().map(|duel| duel.runs as u64);
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("buffer", text(|duel| &duel.buffer)),
            ("buffer_bytes", Arc::new(UInt64Array::from_iter(bytes))),
            ("row", text(|duel| &duel.row)),
            ("column", text(|duel| &duel.column)),
            ("share", number(|duel| duel.share)),
            ("share_least", number(|duel| duel.share_range.map(|[least, _]| least))),
            ("share_most", number(|duel| duel.share_range.map(|[_, most]| most))),
            ("loss_rate", number(|duel| duel.loss_rate)),
            ("queue_delay_mean_ms", number(|duel| duel.queue_delay_mean_ms)),
            ("utilization", number(|duel| Some(duel.utilization))),
            ("runs", Arc::new(UInt64Array::from_iter_values(runs))),
        ];
        let (commit, seed) = ((*commit).to_owned(), seed.to_string());
        let entries = [("commit", &commit), ("command", command), ("seed", &seed), ("hash", scenarios_hash)];
        let metadata: HashMap<String, String> =
            entries.into_iter().map(|(key, value)| (format!("fairpace.{key}"), value.clone())).collect();
        table_of(columns, metadata)
    }
}
