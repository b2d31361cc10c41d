//! The table of a grid on disk. A run is in the table as a whole or not at all: its row is written last, with
//! one call. Half a line that a crash leaves at the end is removed when the table is opened again.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Cell, FlowRow, Row};
use fairpace_cli_core::new_file::temporary_prefix;

/// Why a table cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system cannot read or write a file.
    #[error("cannot read or write {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is not a table of this grid.
    #[error("{} is not a table of this grid: {source}", path.display())]
    NotATable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: csv::Error,
    },
    /// Another process has the table open.
    #[error("another process writes {}", .0.display())]
    Busy(PathBuf),
    /// The file is not one that may be replaced.
    #[error("{} is not replaced: it {why}", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What it is, to be read behind "it".
        why: &'static str,
    },
    /// A Parquet file could not be written.
    #[cfg(feature = "parquet")]
    #[error("cannot write {}: {source}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: parquet::errors::ParquetError,
    },
}

/// A line of a table.
trait Line: Serialize + DeserializeOwned {
    /// The first line of the table, without its end.
    const HEADER: &'static str;
}

impl Line for Row {
    const HEADER: &'static str = "pair,queue,buffer,rate,rtt,duration_s,seed,jain,utilization,\
        link_utilization,loss_rate,queue_delay_mean_ms,queue_delay_p99_ms,goodput1_mbps,goodput2_mbps,\
        retransmits,flows,commit,scenario,cpu_s,packets";
}

impl Line for FlowRow {
    const HEADER: &'static str = "scenario,seed,flow,cc,rtt_ms,start_s,goodput_mbps,sent_pkts,retransmits,\
        rtt_mean_ms";
}

/// A table of runs and, beside it, of their flows (`grid.csv`, `grid-flows.csv`).
#[derive(Debug)]
pub struct RunTable {
    path: PathBuf,
    file: File,
    flows_path: PathBuf,
    flows: File,
    rows: Vec<Row>,
}

impl RunTable {
    /// Opens a table, or creates one. It stays locked against other processes while it is open.
    ///
    /// # Errors
    /// When it cannot be read and written, when it is no such table, and when another process has it open.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let flows_path = beside(path);
        let (file, rows) = open_table(path)?;
        let (flows, _) = open_table::<FlowRow>(&flows_path)?;
        Ok(Self { path: path.to_owned(), file, flows_path, flows, rows })
    }

    /// The rows, in the order in which they were written; of two of one run the later one counts.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Adds a finished run.
    ///
    /// # Errors
    /// When it cannot be written; then the table is as before.
    pub fn append(&mut self, row: Row, flows: &[FlowRow]) -> Result<(), Error> {
        append(&mut self.flows, &self.flows_path, flows)?;
        append(&mut self.file, &self.path, std::slice::from_ref(&row))?;
        self.rows.push(row);
        Ok(())
    }

    /// Writes the table anew, in the order of `order` (a row that is in none of them comes last), without
    /// rows that later ones replace.
    ///
    /// # Errors
    /// When it cannot be written; then the table is as before.
    pub fn tidy(&mut self, order: impl Fn(&Row) -> usize) -> Result<(), Error> {
        let mut rows: Vec<Row> = Vec::new();
        for row in &self.rows {
            match rows.iter_mut().find(|known| same_run(known, row)) {
                Some(earlier) => *earlier = row.clone(),
                None => rows.push(row.clone()),
            }
        }
        rows.sort_by_key(|row| (order(row), row.seed));
        if rows == self.rows {
            return Ok(());
        }
        let io = |source| Error::Io { path: self.path.clone(), source };
        let dir = self.path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut staged = tempfile::NamedTempFile::with_prefix_in(temporary_prefix(), dir).map_err(io)?;
        staged.write_all(&lines(&rows, true, &self.path)?).map_err(io)?;
        staged.as_file().sync_data().map_err(io)?;
        staged.as_file().set_permissions(self.file.metadata().map_err(io)?.permissions()).map_err(io)?;
        self.file = staged.persist(&self.path).map_err(|error| io(error.error))?;
        self.rows = rows;
        Ok(())
    }

    /// The rows of flows that were kept, of all runs.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn flows(&self) -> Result<Vec<FlowRow>, Error> {
        open_readable(&self.flows_path)
    }

    /// The row of a run, if it was made; the latest one.
    #[must_use]
    pub fn row(&self, cell: &Cell) -> Option<&Row> {
        self.rows.iter().rev().find(|row| cell.is(row))
    }
}

fn same_run(a: &Row, b: &Row) -> bool {
    (&a.pair, &a.queue, &a.buffer, &a.rate, &a.rtt, a.seed)
        == (&b.pair, &b.queue, &b.buffer, &b.rate, &b.rtt, b.seed)
        && a.duration_s == b.duration_s
}

/// `grid-flows.csv` for `grid.csv`.
fn beside(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-flows.csv"))
}

fn open_table<T: Line>(path: &Path) -> Result<(File, Vec<T>), Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
    if !file.metadata().map_err(io)?.is_file() {
        return Err(not_a_table(path, "it is not a regular file"));
    }
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Error::Busy(path.to_owned())),
        Err(TryLockError::Error(source)) => return Err(io(source)),
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(io)?;
    // a crash leaves half a line, but of a file of another kind nothing is cut off
    let header = format!("{}\n", T::HEADER);
    let begun = text.get(..header.len()).unwrap_or(&text);
    if !header.as_bytes().starts_with(begun) {
        return Err(not_a_table(path, "it does not begin with the names of its columns"));
    }
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let rows = read(&text[..whole], path)?;
    if whole < text.len() {
        file.set_len(whole as u64).map_err(io)?;
    }
    file.seek(SeekFrom::End(0)).map_err(io)?;
    Ok((file, rows))
}

fn not_a_table(path: &Path, why: &str) -> Error {
    Error::NotATable { path: path.to_owned(), source: std::io::Error::other(why).into() }
}

fn open_readable<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Error> {
    let text = std::fs::read(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    read(&text, path)
}

fn read<T: DeserializeOwned>(text: &[u8], path: &Path) -> Result<Vec<T>, Error> {
    let rows: Result<Vec<T>, _> = csv::Reader::from_reader(text).into_deserialize().collect();
    rows.map_err(|source| Error::NotATable { path: path.to_owned(), source })
}

fn append<T: Serialize>(file: &mut File, path: &Path, rows: &[T]) -> Result<(), Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let end = file.metadata().map_err(io)?.len();
    let text = lines(rows, end == 0, path)?;
    let written = file.write_all(&text).and_then(|()| file.sync_data());
    written.map_err(|source| {
        // a full disk: better no line than half of one
        let _ = file.set_len(end).and_then(|()| file.seek(SeekFrom::End(0)).map(drop));
        io(source)
    })
}

fn lines<T: Serialize>(rows: &[T], header: bool, path: &Path) -> Result<Vec<u8>, Error> {
    let not_a_table = |source| Error::NotATable { path: path.to_owned(), source };
    let mut writer = csv::WriterBuilder::new().has_headers(header).from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.serialize(row)).map_err(not_a_table)?;
    writer.into_inner().map_err(|error| not_a_table(error.into_error().into()))
}
