//! Parquet files, written in batches of rows.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::{Error, RunInfo, create, failed};

/// Rows per batch: a Parquet row group in memory is a few MB.
pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// An open Parquet file. All columns are nullable.
#[derive(Debug)]
pub(crate) struct Table {
    path: PathBuf,
    schema: Arc<Schema>,
    writer: ArrowWriter<BufWriter<File>>,
}

impl Table {
    /// Creates the file. Its key-value metadata describe the run (`fairpace.*`).
    pub(crate) fn create(
        dir: &Path,
        name: &str,
        columns: &[(&str, DataType)],
        run_info: &RunInfo,
    ) -> Result<Self, Error> {
        let path = dir.join(name);
        let fields: Vec<Field> =
            columns.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let entry = |key: &str, value: &str| KeyValue::new(format!("fairpace.{key}"), value.to_owned());
        let metadata = vec![
            entry("commit", &run_info.commit),
            entry("seed", &run_info.seed.to_string()),
            entry("scenario.hash", &run_info.hash),
            entry("scenario.title", &run_info.title),
        ];
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(metadata))
            .build();
        let writer = ArrowWriter::try_new(create(&path)?, Arc::clone(&schema), Some(properties))
            .map_err(|error| failed(&path, &error))?;
        Ok(Table { path, schema, writer })
    }

    /// Appends rows; one array per column.
    pub(crate) fn write(&mut self, columns: Vec<ArrayRef>) -> Result<(), Error> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        let batch = batch.map_err(|error| failed(&self.path, &error))?;
        self.writer.write(&batch).map_err(|error| failed(&self.path, &error))
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        // closing the writer writes the footer; closing the buffer writes its rest to disk
        let file = self.writer.into_inner().map_err(|error| failed(&self.path, &error))?;
        file.into_inner().map(drop).map_err(|error| failed(&self.path, error.error()))
    }
}
