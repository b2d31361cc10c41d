//! The grid as one Parquet file: a row per flow, with all that its run's row says. A run whose flows were
//! not kept has one row without a flow.

use std::collections::HashMap;
use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::{KeyValue, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;

use super::{Error, FlowRow, Row};
use fairpace_cli_core::new_file::temporary_prefix;

/// The key in the metadata of our files.
const MARK: &str = "fairpace.grid";
/// Its value: the version of the columns.
const VERSION: &str = "1";

/// Checks, before a long run, that [`write()`] may write to `path`: nothing is there, or a file
/// that it wrote.
///
/// # Errors
/// Anything else is there ([`Error::NotOurs`]).
pub fn may_write(path: &Path) -> Result<(), Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let not_ours = |why| Error::NotOurs { path: path.to_owned(), why };
    // nothing is opened but a regular file: to open a device can already have an effect
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io(error)),
        Ok(found) if !found.is_file() => return Err(not_ours("is not a regular file")),
        Ok(_) => {}
    }
    let file = File::open(path).map_err(io)?;
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file);
    let marks = metadata.ok().and_then(|metadata| metadata.file_metadata().key_value_metadata().cloned());
    match marks.into_iter().flatten().any(|entry| entry.key == MARK) {
        true => Ok(()),
        false => Err(not_ours("was not written by this command")),
    }
}

/// Writes it; the file appears as a whole or not at all.
///
/// # Errors
/// It cannot be written, or `path` is something else's: see [`may_write`].
pub fn write(path: &Path, rows: &[Row], flows: &[FlowRow]) -> Result<(), Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let bad = |source| Error::Parquet { path: path.to_owned(), source };
    may_write(path)?;
    let is_new = !path.exists();
    let batch = batch(&join(rows, flows)).map_err(|error| bad(error.into()))?;
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // what others may do with it is for the umask to say
    let everybody = Permissions::from_mode(0o666);
    let mut staged = tempfile::Builder::new()
        .prefix(&temporary_prefix())
        .permissions(everybody)
        .tempfile_in(dir)
        .map_err(io)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![KeyValue::new(MARK.to_owned(), VERSION.to_owned())]))
        .build();
    let mut writer = ArrowWriter::try_new(&mut staged, batch.schema(), Some(properties)).map_err(bad)?;
    writer.write(&batch).map_err(bad)?;
    writer.close().map_err(bad)?;
    staged.as_file().sync_data().map_err(io)?;
    // a file that appeared since the look stays
    let put = if is_new { staged.persist_noclobber(path) } else { staged.persist(path) };
    put.map(drop).map_err(|error| io(error.error))
}

/// Each run beside each of its flows.
fn join<'a>(rows: &'a [Row], flows: &'a [FlowRow]) -> Vec<(&'a Row, Option<&'a FlowRow>)> {
    let mut of_run: HashMap<(&str, u64), Vec<&FlowRow>> = HashMap::new();
    for flow in flows {
        let known = of_run.entry((&flow.scenario, flow.seed)).or_default();
        // a run that was made again wrote the same flows again
        if !known.iter().any(|other| other.flow == flow.flow) {
            known.push(flow);
        }
    }
    let mut joined = Vec::with_capacity(flows.len().max(rows.len()));
    for row in rows {
        match of_run.get(&(row.scenario.as_str(), row.seed)) {
            Some(flows) => joined.extend(flows.iter().map(|flow| (row, Some(*flow)))),
            None => joined.push((row, None)),
        }
    }
    joined
}

type Joined<'a> = (&'a Row, Option<&'a FlowRow>);

fn batch(joined: &[Joined<'_>]) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let text = |of: fn(&Row) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(joined.iter().map(|(row, _)| of(row))))
    };
    let number = |of: fn(&Row) -> Option<f64>| -> ArrayRef {
        Arc::new(Float64Array::from_iter(joined.iter().map(|(row, _)| of(row))))
    };
    let count = |of: fn(&Row) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(joined.iter().map(|(row, _)| of(row))))
    };
    let flow_text = |of: fn(&FlowRow) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter(joined.iter().map(|(_, flow)| flow.map(of))))
    };
    let flow_number = |of: fn(&FlowRow) -> Option<f64>| -> ArrayRef {
        Arc::new(Float64Array::from_iter(joined.iter().map(|(_, flow)| flow.and_then(of))))
    };
    let flow_count = |of: fn(&FlowRow) -> Option<u64>| -> ArrayRef {
        Arc::new(UInt64Array::from_iter(joined.iter().map(|(_, flow)| flow.and_then(of))))
    };
    RecordBatch::try_from_iter_with_nullable([
        ("pair", text(|row| &row.pair), false),
        ("queue", text(|row| &row.queue), false),
        ("buffer", text(|row| &row.buffer), false),
        ("rate", text(|row| &row.rate), false),
        ("rtt", text(|row| &row.rtt), false),
        ("duration_s", number(|row| Some(row.duration_s)), false),
        ("seed", count(|row| row.seed), false),
        ("jain", number(|row| row.jain), true),
        ("utilization", number(|row| Some(row.utilization)), false),
        ("link_utilization", number(|row| Some(row.link_utilization)), false),
        ("loss_rate", number(|row| row.loss_rate), true),
        ("queue_delay_mean_ms", number(|row| row.queue_delay_mean_ms), true),
        ("queue_delay_p99_ms", number(|row| row.queue_delay_p99_ms), true),
        ("goodput1_mbps", number(|row| Some(row.goodput1_mbps)), false),
        ("goodput2_mbps", number(|row| Some(row.goodput2_mbps)), false),
        ("retransmits", count(|row| row.retransmits), false),
        ("flows", count(|row| row.flows as u64), false),
        ("commit", text(|row| &row.commit), false),
        ("scenario", text(|row| &row.scenario), false),
        ("cpu_s", number(|row| Some(row.cpu_s)), false),
        ("packets", count(|row| row.packets), false),
        ("flow", flow_text(|flow| &flow.flow), true),
        ("flow_cc", flow_text(|flow| &flow.cc), true),
        ("flow_rtt_ms", flow_number(|flow| Some(flow.rtt_ms)), true),
        ("flow_start_s", flow_number(|flow| Some(flow.start_s)), true),
        ("flow_goodput_mbps", flow_number(|flow| Some(flow.goodput_mbps)), true),
        ("flow_sent_pkts", flow_count(|flow| flow.sent_pkts), true),
        ("flow_retransmits", flow_count(|flow| Some(flow.retransmits)), true),
        ("flow_rtt_mean_ms", flow_number(|flow| flow.rtt_mean_ms), true),
    ])
}
