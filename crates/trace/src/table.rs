//! Tables that grow in batches of rows: in a Parquet file, or in memory.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::{Error, RunInfo, create, failed};

/// Rows per batch: a Parquet row group in memory is a few MB.
pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// Where the rows of a table go.
pub(crate) trait Rows {
    /// Appends rows; one array per column.
    fn write(&mut self, columns: Vec<ArrayRef>) -> Result<(), Error>;
}

/// What a table describes, as entries `fairpace.*` of its metadata.
fn metadata(run_info: &RunInfo) -> [(String, String); 4] {
    let entry = |key: &str, value: &str| (format!("fairpace.{key}"), value.to_owned());
    [
        entry("commit", &run_info.commit),
        entry("seed", &run_info.seed.to_string()),
        entry("scenario.hash", &run_info.hash),
        entry("scenario.title", &run_info.title),
    ]
}

/// All columns are nullable.
fn fields(columns: &[(&str, DataType)]) -> Vec<Field> {
    columns.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true)).collect()
}

/// An open Parquet file.
#[derive(Debug)]
pub(crate) struct ParquetFile {
    path: PathBuf,
    schema: Arc<Schema>,
    writer: ArrowWriter<BufWriter<File>>,
}

impl ParquetFile {
    /// Creates the file. Its key-value metadata describe the run.
    pub(crate) fn create(
        path: &Path,
        columns: &[(&str, DataType)],
        run_info: &RunInfo,
    ) -> Result<Self, Error> {
        let entries = metadata(run_info).into_iter().map(|(key, value)| KeyValue::new(key, value)).collect();
        Self::with(path, Arc::new(Schema::new(fields(columns))), entries)
    }

    fn with(path: &Path, schema: Arc<Schema>, metadata: Vec<KeyValue>) -> Result<Self, Error> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(metadata))
            .build();
        let writer = ArrowWriter::try_new(create(path)?, Arc::clone(&schema), Some(properties))
            .map_err(|error| failed(path, &error))?;
        Ok(ParquetFile { path: path.to_owned(), schema, writer })
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        // closing the writer writes the footer; closing the buffer writes its rest to disk
        let file = self.writer.into_inner().map_err(|error| failed(&self.path, &error))?;
        file.into_inner().map(drop).map_err(|error| failed(&self.path, error.error()))
    }
}

impl Rows for ParquetFile {
    fn write(&mut self, columns: Vec<ArrayRef>) -> Result<(), Error> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        let batch = batch.map_err(|error| failed(&self.path, &error))?;
        self.writer.write(&batch).map_err(|error| failed(&self.path, &error))
    }
}

/// A table in memory, in Arrow's format.
#[derive(Debug, Clone)]
pub struct ArrowTable {
    schema: Arc<Schema>,
    batches: Vec<RecordBatch>,
}

impl ArrowTable {
    /// Without rows. The metadata of its schema describe the run.
    pub(crate) fn new(columns: &[(&str, DataType)], run_info: &RunInfo) -> Self {
        let schema = Schema::new(fields(columns)).with_metadata(metadata(run_info));
        ArrowTable { schema: Arc::new(schema), batches: Vec::new() }
    }

    /// Names and types of the columns. The names of measured quantities end with their unit. Its metadata say
    /// which run it is: `fairpace.commit`, `.seed`, `.scenario.hash`, `.scenario.title`.
    #[must_use]
    pub fn schema(&self) -> Arc<Schema> {
        Arc::clone(&self.schema)
    }

    /// The rows.
    #[must_use]
    pub fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Writes it to a Parquet file, with the same metadata.
    ///
    /// # Errors
    /// [`Error::Write`] if the file cannot be written.
    pub fn write_parquet(&self, path: &Path) -> Result<(), Error> {
        let entries =
            self.schema.metadata().iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
        let entries = entries.collect();
        let schema = Schema::new(self.schema.fields().clone());
        let mut file = ParquetFile::with(path, Arc::new(schema), entries)?;
        self.batches.iter().try_for_each(|batch| file.write(batch.columns().to_vec()))?;
        file.finish()
    }
}

impl From<RecordBatch> for ArrowTable {
    /// A table that another crate has put together.
    fn from(batch: RecordBatch) -> Self {
        ArrowTable { schema: batch.schema(), batches: vec![batch] }
    }
}

impl Rows for ArrowTable {
    fn write(&mut self, columns: Vec<ArrayRef>) -> Result<(), Error> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        self.batches.push(batch.map_err(|error: ArrowError| Error::Table { reason: error.to_string() })?);
        Ok(())
    }
}
