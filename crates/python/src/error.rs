//! Errors as Python exceptions.

use fairpace_cli_core::failure::Failure;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The exception for a failure: a class of `fairpace.errors`, with the texts and the fields of the command
/// line's `--json`.
pub(crate) fn raised(py: Python<'_>, failure: &Failure) -> PyErr {
    exception(py, failure).map_or_else(|error| error, |exception| PyErr::from_value(exception))
}

fn exception<'py>(py: Python<'py>, failure: &Failure) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("record", failure.rendered(true))?;
    py.import("fairpace.errors")?.getattr("_exception")?.call((failure.kind(),), Some(&fields))
}
