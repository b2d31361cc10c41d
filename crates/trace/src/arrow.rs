//! Tables in memory, in Arrow's format, for data frames.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::table::{Batch, Column, Kind, metadata};
use crate::{Error, RunInfo, create, failed};

/// A table in memory, in Arrow's format.
#[derive(Debug, Clone)]
pub struct ArrowTable {
    batch: RecordBatch,
}

impl ArrowTable {
    /// Returns a table of these rows. The metadata of its schema describe the run.
    pub(crate) fn of(rows: Batch, run_info: &RunInfo) -> Result<Self, Error> {
        let field = |(name, kind): &(&'static str, Kind)| Field::new(*name, data_type(*kind), true);
        let fields: Vec<_> = rows.names.iter().map(field).collect();
        let schema = Schema::new(fields).with_metadata(metadata(run_info));
        let batch = RecordBatch::try_new(Arc::new(schema), rows.columns.into_iter().map(array).collect());
        let batch = batch.map_err(|error| Error::Table { reason: error.to_string() })?;
        Ok(ArrowTable { batch })
    }

    /// Names and types of the columns. The names of measured quantities end with their unit. The metadata
    /// identify the run: `fairpace.commit`, `.seed`, `.scenario.hash`, `.scenario.title`.
    #[must_use]
    pub fn schema(&self) -> Arc<Schema> {
        self.batch.schema()
    }

    /// The rows of the table.
    #[must_use]
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// Writes the table to a Parquet file, with the metadata of its schema.
    ///
    /// # Errors
    /// [`Error::Write`] if the file cannot be written.
    pub fn write_parquet(&self, path: &Path) -> Result<(), Error> {
        let schema = self.schema();
        let entries = schema.metadata().iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(entries.collect()))
            .build();
        let without = Arc::new(Schema::new(schema.fields().clone()));
        let batch = RecordBatch::try_new(Arc::clone(&without), self.batch.columns().to_vec());
        let batch = batch.map_err(|error| failed(path, &error))?;
        let writer = ArrowWriter::try_new(create(path)?, without, Some(properties));
        let mut writer = writer.map_err(|error| failed(path, &error))?;
        writer.write(&batch).map_err(|error| failed(path, &error))?;
        let file = writer.into_inner().map_err(|error| failed(path, &error))?;
        file.into_inner().map(drop).map_err(|error| failed(path, error.error()))
    }
}

impl From<RecordBatch> for ArrowTable {
    /// Returns the table of a batch that another crate has built.
    fn from(batch: RecordBatch) -> Self {
        ArrowTable { batch }
    }
}

fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Float32 => DataType::Float32,
        Kind::Float64 => DataType::Float64,
        Kind::UInt32 => DataType::UInt32,
        Kind::UInt64 => DataType::UInt64,
        Kind::Utf8 => DataType::Utf8,
    }
}

fn array(column: Column) -> ArrayRef {
    match column {
        Column::Float32(values) => Arc::new(Float32Array::from(values)),
        Column::Float64(values) => Arc::new(Float64Array::from(values)),
        Column::UInt32(values) => Arc::new(UInt32Array::from(values)),
        Column::UInt64(values) => Arc::new(UInt64Array::from(values)),
        Column::Utf8(values) => {
            // they were made of texts
            let text = |value: &Option<_>| {
                value
                    .as_ref()
                    .and_then(|text: &parquet::data_type::ByteArray| text.as_utf8().ok().map(str::to_owned))
            };
            Arc::new(values.iter().map(text).collect::<StringArray>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Rows as _;

    #[test]
    fn a_table_in_memory_is_written_with_its_metadata() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table.parquet");
        let mut rows = Batch::new(&[("flow", Kind::Utf8), ("drops", Kind::UInt64)]);
        rows.write(vec![Column::same("long", 2), Column::UInt64(vec![Some(7), None])]).unwrap();
        let info = RunInfo { seed: 5, ..RunInfo::default() };
        let table = ArrowTable::of(rows, &info).unwrap();
        table.write_parquet(&path).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let entries = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
        assert!(
            entries.iter().any(|entry| entry.key == "fairpace.seed" && entry.value.as_deref() == Some("5"))
        );
        let read: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].columns(), table.batch().columns());
    }
}
