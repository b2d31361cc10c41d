//! Tables that grow by rows, in a Parquet file or in memory.
//!
//! The writer uses Parquet's own columns, without Arrow: a program that only writes files would compile Arrow
//! for nothing.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::{Error, RunInfo, create, failed};

/// Number of rows that are kept in memory before they are written: a row group of a few MB.
pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Float32,
    Float64,
    UInt32,
    #[cfg_attr(
        not(feature = "arrow"),
        expect(dead_code, reason = "the tables of results are in memory only")
    )]
    UInt64,
    Utf8,
}

/// Values of a column, one per row; `None`: a row without value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Column {
    Float32(Vec<Option<f32>>),
    Float64(Vec<Option<f64>>),
    UInt32(Vec<Option<u32>>),
    UInt64(Vec<Option<u64>>),
    /// Texts; equal texts share their bytes.
    Utf8(Vec<Option<ByteArray>>),
}

impl Column {
    fn empty(kind: Kind) -> Self {
        match kind {
            Kind::Float32 => Column::Float32(Vec::new()),
            Kind::Float64 => Column::Float64(Vec::new()),
            Kind::UInt32 => Column::UInt32(Vec::new()),
            Kind::UInt64 => Column::UInt64(Vec::new()),
            Kind::Utf8 => Column::Utf8(Vec::new()),
        }
    }

    /// Returns a column of texts.
    pub(crate) fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> Self {
        Column::Utf8(values.map(|text| text.map(ByteArray::from)).collect())
    }

    /// Returns a column with the text `text` in each row.
    pub(crate) fn same(text: &str, rows: usize) -> Self {
        Column::Utf8(vec![Some(ByteArray::from(text.to_owned().into_bytes())); rows])
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Column::Float32(values) => values.len(),
            Column::Float64(values) => values.len(),
            Column::UInt32(values) => values.len(),
            Column::UInt64(values) => values.len(),
            Column::Utf8(values) => values.len(),
        }
    }

    /// Moves the rows of `other` behind the rows of this column. `false`: `other` is of another type.
    fn append(&mut self, other: Column) -> bool {
        match (self, other) {
            (Column::Float32(to), Column::Float32(from)) => to.extend(from),
            (Column::Float64(to), Column::Float64(from)) => to.extend(from),
            (Column::UInt32(to), Column::UInt32(from)) => to.extend(from),
            (Column::UInt64(to), Column::UInt64(from)) => to.extend(from),
            (Column::Utf8(to), Column::Utf8(from)) => to.extend(from),
            _ => return false,
        }
        true
    }

    fn write(&self, mut to: SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match self {
            Column::Float32(values) => put::<FloatType>(&mut to, values.iter().copied()),
            Column::Float64(values) => put::<DoubleType>(&mut to, values.iter().copied()),
            // an unsigned number has the bits of a signed one
            Column::UInt32(values) => {
                put::<Int32Type>(&mut to, values.iter().map(|x| x.map(u32::cast_signed)))
            }
            Column::UInt64(values) => {
                put::<Int64Type>(&mut to, values.iter().map(|x| x.map(u64::cast_signed)))
            }
            Column::Utf8(values) => put::<ByteArrayType>(&mut to, values.iter().cloned()),
        }?;
        to.close()
    }
}

/// Writes the values that are present, with a definition level per row: 1 where a value is present.
fn put<T: DataType>(
    to: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = Option<T::T>> + Clone,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.clone().map(|value| i16::from(value.is_some())).collect();
    let known: Vec<T::T> = values.flatten().collect();
    to.typed::<T>().write_batch(&known, Some(&levels), None).map(drop)
}

/// Name and type of a column. Each row may lack a value.
pub(crate) type Named = (&'static str, Kind);

/// The destination of the rows of a table.
pub(crate) trait Rows {
    /// Appends rows: the columns have equal numbers of rows.
    fn write(&mut self, columns: Vec<Column>) -> Result<(), Error>;
}

/// Rows that are kept until there are enough for a row group, or until the end.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    pub(crate) names: Vec<Named>,
    pub(crate) columns: Vec<Column>,
}

impl Batch {
    pub(crate) fn new(names: &[Named]) -> Self {
        let columns = names.iter().map(|(_, kind)| Column::empty(*kind)).collect();
        Batch { names: names.to_vec(), columns }
    }

    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, Column::rows)
    }
}

impl Rows for Batch {
    fn write(&mut self, columns: Vec<Column>) -> Result<(), Error> {
        let wrong = |what: String| Error::Table { reason: what };
        let rows = columns.first().map_or(0, Column::rows);
        if columns.len() != self.columns.len() {
            return Err(wrong(format!("{} columns instead of {}", columns.len(), self.columns.len())));
        }
        for ((to, from), (name, kind)) in self.columns.iter_mut().zip(columns).zip(&self.names) {
            if from.rows() != rows {
                return Err(wrong(format!("column {name} has {} rows, and the first {rows}", from.rows())));
            }
            if !to.append(from) {
                return Err(wrong(format!("column {name} is not of type {kind:?}")));
            }
        }
        Ok(())
    }
}

/// Returns the description of a table, as entries `fairpace.*` of its metadata.
pub(crate) fn metadata(run_info: &RunInfo) -> [(String, String); 4] {
    let entry = |key: &str, value: &str| (format!("fairpace.{key}"), value.to_owned());
    [
        entry("commit", &run_info.commit),
        entry("seed", &run_info.seed.to_string()),
        entry("scenario.hash", &run_info.hash),
        entry("scenario.title", &run_info.title),
    ]
}

fn schema(names: &[Named]) -> Result<TypePtr, ParquetError> {
    let field = |(name, kind): &Named| {
        let (physical, logical) = match kind {
            Kind::Float32 => (PhysicalType::FLOAT, None),
            Kind::Float64 => (PhysicalType::DOUBLE, None),
            Kind::UInt32 => (PhysicalType::INT32, Some(LogicalType::integer(32, false))),
            Kind::UInt64 => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
            Kind::Utf8 => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        field.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
    };
    let fields = names.iter().map(field).collect::<Result<_, _>>()?;
    Type::group_type_builder("schema").with_fields(fields).build().map(Arc::new)
}

/// An open Parquet file.
pub(crate) struct ParquetFile {
    path: PathBuf,
    batch: Batch,
    writer: SerializedFileWriter<BufWriter<File>>,
}

impl ParquetFile {
    /// Creates the file. Its key-value metadata describe the run.
    pub(crate) fn create(path: &Path, names: &[Named], run_info: &RunInfo) -> Result<Self, Error> {
        let entries = metadata(run_info).into_iter().map(|(key, value)| KeyValue::new(key, value)).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(entries))
            .build();
        let file = create(path)?;
        let writer =
            schema(names).and_then(|schema| SerializedFileWriter::new(file, schema, Arc::new(properties)));
        let writer = writer.map_err(|error| failed(path, &error))?;
        Ok(ParquetFile { path: path.to_owned(), batch: Batch::new(names), writer })
    }

    pub(crate) fn finish(mut self) -> Result<(), Error> {
        self.write_group()?;
        // the end of the writer writes the footer; that of the buffer writes its rest to disk
        let file = self.writer.into_inner().map_err(|error| failed(&self.path, &error))?;
        file.into_inner().map(drop).map_err(|error| failed(&self.path, error.error()))
    }

    /// Writes the kept rows as a row group.
    fn write_group(&mut self) -> Result<(), Error> {
        let names = std::mem::take(&mut self.batch.names);
        let batch = std::mem::replace(&mut self.batch, Batch::new(&names));
        if batch.rows() == 0 {
            return Ok(());
        }
        let mut write = || -> Result<(), ParquetError> {
            let mut group = self.writer.next_row_group()?;
            for column in &batch.columns {
                let to =
                    group.next_column()?.ok_or_else(|| ParquetError::General("a column too many".into()))?;
                column.write(to)?;
            }
            group.close().map(drop)
        };
        write().map_err(|error| failed(&self.path, &error))
    }
}

impl Rows for ParquetFile {
    fn write(&mut self, columns: Vec<Column>) -> Result<(), Error> {
        self.batch.write(columns)?;
        if self.batch.rows() < BATCH_ROWS { Ok(()) } else { self.write_group() }
    }
}

impl std::fmt::Debug for ParquetFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetFile").field("path", &self.path).finish_non_exhaustive()
    }
}
