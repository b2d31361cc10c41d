//! The tables of a sweep: a row per flow and a row per link of each run.
//!
//! Both tables begin with the run's number in the sweep, the columns with the values that were changed for
//! the run, and the scenario's title, hash and seed. The columns of [`Results`] follow. The table of flows
//! also has the metrics of the whole run, and the error of a run that failed: its one row, without numbers.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Field, Schema};
use arrow_select::concat::concat_batches;
use arrow_select::take::take;
use bytes::Bytes;
use fairpace_cli_core::failure::Failure;
use fairpace_results::{Run, Series, Summary, round};
use fairpace_scenario::{Invalid, Problem, Scenario};
use fairpace_trace::{Results, RunInfo};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

/// Text of an error. Most errors are possible only with a bug, or with bytes that are no table.
type Error = String;

fn text(error: impl std::fmt::Display) -> Error {
    error.to_string()
}

/// The outcome of a run: its results or its error.
pub(crate) struct Outcome {
    pub(crate) identity: Identity,
    pub(crate) result: Result<Summary, RunError>,
}

/// The reason why a run has no results.
pub(crate) struct RunError {
    /// Kind of the error. `usage`: its scenario is wrong; `internal`: a bug, or its process was lost.
    kind: &'static str,
    words: String,
}

impl RunError {
    pub(crate) fn of(failure: &Failure) -> Self {
        Self { kind: failure.kind(), words: failure.to_string() }
    }

    /// The error of a wrong scenario: all of its problems, in a line each.
    pub(crate) fn of_scenario(invalid: Invalid) -> Self {
        let line = |problem: &Problem| match problem.help.as_str() {
            "" => problem.to_string(),
            help => format!("{problem}; {help}"),
        };
        let lines: Vec<String> = invalid.problems.iter().map(line).collect();
        Self { kind: Failure::from(invalid).kind(), words: lines.join("\n") }
    }

    pub(crate) fn internal(words: String) -> Self {
        Self { kind: "internal", words }
    }
}

/// The identity of a simulation, with the commit of the program. `None`: unknown, since the scenario is
/// wrong.
pub(crate) struct Identity {
    pub(crate) title: Option<String>,
    pub(crate) hash: Option<String>,
    pub(crate) seed: Option<u64>,
}

impl From<Scenario> for Identity {
    fn from(scenario: Scenario) -> Self {
        let Scenario { title, hash, seed, .. } = scenario;
        Self { title: Some(title), hash: Some(hash), seed: Some(seed) }
    }
}

/// Columns with the values that were changed for each run.
pub(crate) struct Labels {
    columns: Vec<(String, Kind)>,
    /// Values of the columns: a list for each run, with a value for each column.
    values: Vec<Vec<Option<String>>>,
}

#[derive(Clone, Copy)]
enum Kind {
    Boolean,
    Integer,
    Number,
    Text,
}

impl Kind {
    fn named(name: &str) -> Result<Self, Error> {
        match name {
            "boolean" => Ok(Self::Boolean),
            "integer" => Ok(Self::Integer),
            "number" => Ok(Self::Number),
            "text" => Ok(Self::Text),
            _ => Err(format!("there is no kind of column {name:?}")),
        }
    }
}

impl Labels {
    /// The labels for this number of runs.
    pub(crate) fn new(
        columns: &[(String, String)],
        values: Vec<Vec<Option<String>>>,
        runs: usize,
    ) -> Result<Self, Error> {
        let columns = columns.iter().map(|(name, kind)| Ok((name.clone(), Kind::named(kind)?)));
        let columns: Vec<_> = columns.collect::<Result<_, Error>>()?;
        if values.len() != runs || values.iter().any(|values| values.len() != columns.len()) {
            return Err("each run has a value for each column".to_owned());
        }
        Ok(Self { columns, values })
    }

    /// A column with a value for each row; `of` has the index of each row's run.
    fn column(&self, index: usize, kind: Kind, of: &[usize]) -> ArrayRef {
        let values = of.iter().map(|run| self.values[*run][index].as_deref());
        match kind {
            Kind::Boolean => Arc::new(values.map(|value| value?.parse().ok()).collect::<BooleanArray>()),
            Kind::Integer => Arc::new(values.map(|value| value?.parse().ok()).collect::<Int64Array>()),
            Kind::Number => Arc::new(values.map(|value| value?.parse().ok()).collect::<Float64Array>()),
            Kind::Text => Arc::new(values.collect::<StringArray>()),
        }
    }
}

/// Named columns of a table under construction.
type Columns = Vec<(String, ArrayRef)>;

/// The tables of flows and of links.
pub(crate) struct Tables {
    flows: RecordBatch,
    links: RecordBatch,
}

impl Tables {
    /// The rows of runs; the number of the first run is `first`.
    pub(crate) fn new(first: u64, outcomes: &[Outcome], labels: &Labels) -> Result<Self, Error> {
        let rows = Outcomes { first, outcomes, labels };
        Ok(Self { flows: rows.flows()?, links: rows.links()? })
    }

    pub(crate) fn named(&self, name: &str) -> Result<&RecordBatch, Error> {
        match name {
            "flows" => Ok(&self.flows),
            "links" => Ok(&self.links),
            _ => Err(format!("there is no table {name:?}: they are \"flows\" and \"links\"")),
        }
    }

    /// All rows in this order, in one batch. The division into batches would change the bytes of a file.
    pub(crate) fn joined(all: &[&Self]) -> Result<Self, Error> {
        let join = |of: fn(&Self) -> &RecordBatch| {
            let schema = all.first().ok_or("there is nothing to join")?;
            concat_batches(&of(schema).schema(), all.iter().map(|tables| of(tables))).map_err(text)
        };
        Ok(Self { flows: join(|tables| &tables.flows)?, links: join(|tables| &tables.links)? })
    }

    /// A table as a Parquet file.
    pub(crate) fn parquet(&self, name: &str, metadata: Vec<(String, String)>) -> Result<Vec<u8>, Error> {
        let batch = self.named(name)?;
        let metadata = metadata.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(metadata))
            .build();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).map_err(text)?;
        writer.write(batch).map_err(text)?;
        writer.into_inner().map_err(text)
    }

    /// Both tables in Arrow's format for streams.
    pub(crate) fn to_ipc(&self) -> Result<[Vec<u8>; 2], Error> {
        let stream = |batch: &RecordBatch| {
            let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).map_err(text)?;
            writer.write(batch).map_err(text)?;
            writer.into_inner().map_err(text)
        };
        Ok([stream(&self.flows)?, stream(&self.links)?])
    }

    pub(crate) fn from_ipc(streams: &[Vec<u8>]) -> Result<Self, Error> {
        let batch = |bytes: &[u8]| {
            let reader = StreamReader::try_new(bytes, None).map_err(text)?;
            let schema = reader.schema();
            let batches = reader.collect::<Result<Vec<_>, _>>().map_err(text)?;
            concat_batches(&schema, &batches).map_err(text)
        };
        let [flows, links] = streams else { return Err("two tables are needed".to_owned()) };
        Ok(Self { flows: batch(flows)?, links: batch(links)? })
    }
}

/// The rows of Parquet files in one batch.
pub(crate) fn read_parquet(files: Vec<Vec<u8>>) -> Result<RecordBatch, Error> {
    let mut schema = None;
    let mut batches = Vec::new();
    for file in files {
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file)).map_err(text)?;
        schema.get_or_insert(Arc::new(Schema::new(reader.schema().fields().clone())));
        for batch in reader.build().map_err(text)? {
            batches.push(batch.map_err(text)?);
        }
    }
    let schema = schema.ok_or("there are no files")?;
    concat_batches(&schema, &batches).map_err(text)
}

/// The kinds of errors in a Parquet file of flows, each kind once.
pub(crate) fn kinds_of(file: Vec<u8>) -> Result<Vec<String>, Error> {
    let rows = read_parquet(vec![file])?;
    let column = rows.column_by_name("error_kind").ok_or("it has no column error_kind")?;
    let kinds = column.as_string_opt::<i32>().ok_or("error_kind is no text")?;
    let kinds: BTreeSet<&str> = kinds.iter().flatten().collect();
    Ok(kinds.into_iter().map(str::to_owned).collect())
}

/// The metadata of a Parquet file; an error if the file is incomplete.
pub(crate) fn metadata_of(file: Vec<u8>) -> Result<Vec<(String, String)>, Error> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file)).map_err(text)?;
    let entries = reader.metadata().file_metadata().key_value_metadata().into_iter().flatten();
    Ok(entries.map(|entry| (entry.key.clone(), entry.value.clone().unwrap_or_default())).collect())
}

/// The outcomes and labels from which rows are made.
struct Outcomes<'a> {
    first: u64,
    outcomes: &'a [Outcome],
    labels: &'a Labels,
}

impl Outcomes<'_> {
    fn succeeded(&self) -> impl Iterator<Item = (usize, &Summary)> {
        self.outcomes
            .iter()
            .enumerate()
            .filter_map(|(run, outcome)| Some((run, outcome.result.as_ref().ok()?)))
    }

    /// The columns with which both tables begin; `of` has the index of each row's run.
    fn keys(&self, of: &[usize]) -> Columns {
        let identity = |run: &usize| &self.outcomes[*run].identity;
        let text = |read: fn(&Identity) -> Option<&str>| -> ArrayRef {
            Arc::new(of.iter().map(|run| read(identity(run))).collect::<StringArray>())
        };
        let seed = of.iter().map(|run| identity(run).seed).collect::<UInt64Array>();
        let run: ArrayRef =
            Arc::new(of.iter().map(|run| Some(self.first + *run as u64)).collect::<UInt64Array>());
        let mut columns = vec![("run".to_owned(), run)];
        let labels = self.labels.columns.iter().enumerate();
        columns
            .extend(labels.map(|(index, (name, kind))| (name.clone(), self.labels.column(index, *kind, of))));
        columns.push(("title".to_owned(), text(|known| known.title.as_deref())));
        columns.push(("scenario_hash".to_owned(), text(|known| known.hash.as_deref())));
        columns.push(("seed".to_owned(), Arc::new(seed)));
        columns
    }

    /// The columns with metrics of whole runs.
    fn metrics(&self, of: &[usize]) -> Columns {
        let summary = |run: &usize| self.outcomes[*run].result.as_ref().ok();
        let number = |name: &str, read: fn(&Summary) -> Option<f64>| -> (String, ArrayRef) {
            let known = |run| summary(run).and_then(read).filter(|value| value.is_finite()).map(round);
            (name.to_owned(), Arc::new(of.iter().map(known).collect::<Float64Array>()))
        };
        let packets = of.iter().map(|run| summary(run).map(|summary| summary.cost.data_packets));
        vec![
            number("jain", |summary| summary.jain),
            number("convergence_s", |summary| summary.convergence_s),
            number("max_min_distance", |summary| summary.max_min_distance),
            number("window_from_s", |summary| Some(summary.window_s[0])),
            number("window_to_s", |summary| Some(summary.window_s[1])),
            ("data_packets".to_owned(), Arc::new(packets.collect::<UInt64Array>())),
        ]
    }

    /// The columns with kind and text of an error.
    fn errors(&self, of: &[usize]) -> Columns {
        let failure = |run: &usize| self.outcomes[*run].result.as_ref().err();
        let kinds = of.iter().map(|run| failure(run).map(|error| error.kind));
        let words = of.iter().map(|run| failure(run).map(|error| error.words.as_str()));
        vec![
            ("error_kind".to_owned(), Arc::new(kinds.collect::<StringArray>())),
            ("error".to_owned(), Arc::new(words.collect::<StringArray>())),
        ]
    }

    fn flows(&self) -> Result<RecordBatch, Error> {
        let mut all = Vec::new();
        // for each row, its run, and its place among the flows; `None`: its run failed
        let (mut of, mut places) = (Vec::new(), Vec::new());
        for (run, outcome) in self.outcomes.iter().enumerate() {
            let flows = outcome.result.as_ref().map_or(&[][..], |summary| &summary.flows[..]);
            places.extend((0..flows.len()).map(|flow| Some((all.len() + flow) as u64)));
            if flows.is_empty() {
                places.push(None);
            }
            of.resize(places.len(), run);
            all.extend_from_slice(flows);
        }
        let results = results(Results::Flows, Summary { flows: all, ..Summary::default() })?;
        let places = UInt64Array::from(places);
        let mut columns = self.keys(&of);
        columns.extend(self.metrics(&of));
        for (name, column) in results {
            columns.push((name, take(&column, &places, None).map_err(text)?));
        }
        columns.extend(self.errors(&of));
        batch(columns)
    }

    fn links(&self) -> Result<RecordBatch, Error> {
        let of: Vec<usize> = self
            .succeeded()
            .flat_map(|(run, summary)| std::iter::repeat_n(run, summary.links.len()))
            .collect();
        let links = self.succeeded().flat_map(|(_, summary)| summary.links.iter().cloned()).collect();
        let mut columns = self.keys(&of);
        columns.extend(results(Results::Links, Summary { links, ..Summary::default() })?);
        batch(columns)
    }
}

/// The columns of flows or links of many runs.
fn results(which: Results, summary: Summary) -> Result<Columns, Error> {
    let run = Run { summary, series: Series::default(), notes: Vec::new() };
    let table = which.table(&RunInfo::default(), &run).map_err(text)?;
    let names = table.schema();
    let names = names.fields().iter().map(|field| field.name().clone());
    Ok(names.zip(table.batch().columns().iter().cloned()).collect())
}

/// A batch of these columns. Its schema has no metadata, whose order in a file would differ from run to run.
fn batch(columns: Columns) -> Result<RecordBatch, Error> {
    let field = |(name, column): &(String, ArrayRef)| Field::new(name, column.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, column)| column).collect())
        .map_err(text)
}
