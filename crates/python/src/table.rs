//! Tables for data frames, by the Arrow C data interface: the reader gets pointers to the columns, and
//! nothing is copied (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>).

use std::collections::HashMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use arrow_schema::Schema;
use arrow_schema::ffi::FFI_ArrowSchema;
use fairpace_cli_core::failure::Failure;
use fairpace_trace::ArrowTable;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

use crate::error::raised;

/// Columns of equal length. It does not change.
#[pyclass(frozen, module = "fairpace._fairpace")]
pub(crate) struct Table(pub(crate) ArrowTable);

#[pymethods]
impl Table {
    /// The schema, as a capsule `arrow_schema`.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref());
        let schema = schema.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows, as a capsule `arrow_array_stream`. The protocol lets a table ignore a request for other
    /// types.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        // columns are counted references: this copies none
        let batch = Ok(self.0.batch().clone());
        let reader: Box<dyn RecordBatchReader + Send> =
            Box::new(RecordBatchIterator::new([batch], self.0.schema()));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Names and types of the columns, for people.
    fn columns(&self) -> Vec<(String, String)> {
        let schema = self.0.schema();
        schema.fields().iter().map(|field| (field.name().clone(), field.data_type().to_string())).collect()
    }

    /// Which run it is of: `fairpace.commit`, `fairpace.seed`, `fairpace.scenario.hash`, `.title`.
    #[getter]
    fn metadata(&self) -> Vec<(String, String)> {
        let schema = self.0.schema();
        schema.metadata().iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    fn __len__(&self) -> usize {
        self.0.rows()
    }

    fn __repr__(&self) -> String {
        format!("<Table of {} rows: {}>", self.0.rows(), self.column_names().join(", "))
    }

    /// For pickles and copies.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes =
            py.detach(|| to_bytes(&self.0)).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((py.import("fairpace._fairpace")?.getattr("table_of_bytes")?, (PyBytes::new(py, &bytes),)))
    }

    /// As a data frame of polars, which must be installed.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    /// As a table of pyarrow, which must be installed.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// As a data frame of pandas, which must be installed, and pyarrow too.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::to_pyarrow(slf)?.call_method0("to_pandas")
    }

    /// Writes it to a Parquet file, which is there as a whole or not at all.
    fn to_parquet(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| write_parquet(&self.0, &path)).map_err(|failure| raised(py, &failure))
    }
}

/// A table in Arrow's format for streams.
pub(crate) fn to_bytes(table: &ArrowTable) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), &table.schema())?;
    writer.write(table.batch())?;
    writer.into_inner()
}

/// A table of such bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> Result<ArrowTable, ArrowError> {
    let mut reader = StreamReader::try_new(bytes, None)?;
    let batch = reader.next().unwrap_or_else(|| Ok(RecordBatch::new_empty(reader.schema())))?;
    Ok(ArrowTable::from(batch))
}

/// A table of the bytes of its pickle.
#[pyfunction]
pub(crate) fn table_of_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Table> {
    py.detach(|| of_bytes(bytes)).map(Table).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A table of these columns.
pub(crate) fn table_of(columns: Vec<(&str, ArrayRef)>, metadata: HashMap<String, String>) -> PyResult<Table> {
    let failed = |error: ArrowError| PyRuntimeError::new_err(error.to_string());
    let batch = RecordBatch::try_from_iter(columns).map_err(failed)?;
    let schema = Schema::new(batch.schema().fields().clone()).with_metadata(metadata);
    let batch = batch.with_schema(Arc::new(schema)).map_err(failed)?;
    Ok(Table(ArrowTable::from(batch)))
}

fn write_parquet(table: &ArrowTable, path: &Path) -> Result<(), Failure> {
    let failed = |error: &std::io::Error| {
        Failure::file("the table cannot be written to", path, error, "name another path")
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // 0666 less the umask, as any other file
    let mut builder = tempfile::Builder::new();
    let file = builder.permissions(Permissions::from_mode(0o666)).tempfile_in(folder);
    let file = file.map_err(|error| failed(&error))?;
    table.write_parquet(file.path()).map_err(|error| failed(&std::io::Error::other(error.to_string())))?;
    file.persist(path).map(drop).map_err(|error| failed(&error.error))
}
