//! Internal: only Fairpace's own crates use it. Traces of a simulation, written while it runs, in formats of
//! other tools: Parquet for data frames, pcap-ng for Wireshark, qlog for congestion-control viewers.
//!
//! [`Traces`] is an [`Observer`] of `fairpace-results`. It records what [`TraceConfig`] selects and does not
//! change the run: the same scenario and seed give the same bytes. Files grow during the run;
//! [`Traces::failure_flag`] says when a file cannot be written, and [`Traces::finish`] completes the files.
//! Memory use is small per open connection; a capture also keeps one timestamp per connection of the whole
//! run.
//!
//! With the feature `arrow`, `Series`, `Results` and `EventRecorder` put the rows into memory instead, as
//! `ArrowTable`s for data frames.
//!
//! The crate computes no metrics and draws no charts. Captured packets have headers but no payload. It does
//! not depend on the simulator: any program that calls an [`Observer`] can write traces.
//!
//! ```
//! use fairpace_results::observer::{ConnectionId, Observer, SenderState};
//! use fairpace_trace::{FlowInfo, RunInfo, TraceConfig, Traces};
//!
//! # let dir = tempfile::tempdir().unwrap();
//! # let dir = dir.path();
//! let flow = FlowInfo { name: "flow".into(), cc: "cubic".into(), mss_bytes: 1448, ..FlowInfo::default() };
//! let info = RunInfo { flows: vec![flow], phases: vec!["STARTUP"], ..RunInfo::default() };
//! let mut traces = Traces::create(dir, &TraceConfig { qlog: true, ..TraceConfig::default() }, info)?;
//! // A simulation makes these calls.
//! let state = SenderState { cwnd_pkts: 10, ssthresh_pkts: u32::MAX, ..SenderState::default() };
//! traces.sender(1_000_000, ConnectionId::default(), || state);
//! # let run = fairpace_results::Run {
//! #     summary: fairpace_results::Summary::default(),
//! #     series: fairpace_results::Series::default(),
//! #     notes: Vec::new(),
//! # };
//! traces.finish(&run)?;
//! let qlog = std::fs::read_to_string(dir.join("flow.sqlog")).unwrap();
//! assert!(qlog.contains("\"congestion_window\":14480"));
//! # Ok::<(), fairpace_trace::Error>(())
//! ```

#![forbid(unsafe_code)]
#![allow(non_snake_case)] // bytes per second are _Bps, as in the contract

#[cfg(feature = "arrow")]
mod arrow;
mod capture;
mod events;
mod frame;
mod qlog;
#[cfg(feature = "arrow")]
mod recorder;
#[cfg(feature = "arrow")]
mod results;
mod series;
mod table;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fairpace_results::Run;
use fairpace_results::observer::{Ack, ConnectionId, LinkEvent, Observer, Packet, SenderState};

use capture::Capture;
use events::Events;
use qlog::Qlog;
use table::ParquetFile;

#[cfg(feature = "arrow")]
pub use arrow::ArrowTable;
#[cfg(feature = "arrow")]
pub use recorder::EventRecorder;
#[cfg(feature = "arrow")]
pub use results::Results;
pub use series::Series;

/// Most qlog files. Each is open during the run, and systems commonly allow 1024 open files.
pub const MOST_QLOGS: usize = 200;

/// The reason why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be created or written.
    #[error("the trace {} cannot be written: {reason}", .path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The error of the system or of the format's library.
        reason: String,
    },
    /// There are too many flows for a file each.
    #[error("a qlog file for each of {flows} flows is too much: at most {MOST_QLOGS} can be open")]
    TooManyFlows {
        /// Number of flows.
        flows: usize,
    },
    /// A table cannot be built: vectors of the run differ in length.
    #[error("a table cannot be put together: {reason}")]
    Table {
        /// The error of the format's library.
        reason: String,
    },
}

/// Selection of traces to record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceConfig {
    /// `flows.parquet`, `links.parquet`, `backlog.parquet`: the time series.
    pub series: bool,
    /// `events.parquet`: rare events, such as changes of phase, drops and timeouts.
    pub events: bool,
    /// `FLOW.sqlog`: the sender's variables whenever they change.
    pub qlog: bool,
    /// `LINK.pcapng`: packet headers of these links, by index.
    pub captures: Vec<u32>,
}

/// Description of the run, which every file contains.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunInfo {
    /// The scenario's title.
    pub title: String,
    /// The scenario's hash.
    pub hash: String,
    /// The scenario's seed.
    pub seed: u64,
    /// Commit of the program.
    pub commit: String,
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowInfo>,
    /// Names of the links, in the scenario's order.
    pub links: Vec<String>,
    /// Names of the algorithms' phases, by their number in `cc/contract`.
    pub phases: Vec<&'static str>,
}

/// Description of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FlowInfo {
    /// Name of the flow.
    pub name: String,
    /// Congestion control algorithm of the flow.
    pub cc: String,
    /// Indices of the links on the flow's route.
    pub route: Vec<u32>,
    /// Indices of the links on the flow's reverse route.
    pub back: Vec<u32>,
    /// True if the flow negotiates ECN.
    pub ecn: bool,
    /// True if the flow negotiates accurate ECN (RFC 9768).
    pub accurate_ecn: bool,
    /// True for a workload: it starts connections of one transfer each.
    pub is_workload: bool,
    /// Payload of a full packet, bytes.
    pub mss_bytes: u32,
}

impl RunInfo {
    fn flow(&self, connection: ConnectionId) -> &str {
        self.flows.get(connection.flow as usize).map_or("", |flow| &flow.name)
    }

    /// Payload of a full packet of the connection, bytes.
    fn mss_bytes(&self, connection: ConnectionId) -> u32 {
        self.flows.get(connection.flow as usize).map_or(0, |flow| flow.mss_bytes)
    }

    /// True if the connection ends with its transfer.
    fn is_workload(&self, connection: ConnectionId) -> bool {
        self.flows.get(connection.flow as usize).is_some_and(|flow| flow.is_workload)
    }

    fn phase(&self, phase: i8) -> Option<&'static str> {
        usize::try_from(phase).ok().and_then(|phase| self.phases.get(phase).copied())
    }
}

/// Loss recovery states by number: Linux's `enum tcp_ca_state`.
const CA_STATES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];

fn ca_state(state: u8) -> &'static str {
    CA_STATES.get(usize::from(state)).copied().unwrap_or("unknown")
}

/// The trace files of a run, open for writing.
#[derive(Debug)]
pub struct Traces {
    dir: PathBuf,
    run_info: RunInfo,
    series: bool,
    events: Option<Events<ParquetFile>>,
    qlog: Option<Qlog>,
    captures: Vec<Capture>,
    /// The first error. Nothing is written after it.
    failed: Option<Error>,
    /// True if there is an error, for [`Traces::failure_flag`].
    has_failed: Arc<AtomicBool>,
}

impl Traces {
    /// Creates the files in an existing directory.
    ///
    /// # Errors
    /// [`Error::Write`] if a file cannot be created, [`Error::TooManyFlows`] if there would be too many.
    pub fn create(dir: &Path, config: &TraceConfig, run_info: RunInfo) -> Result<Self, Error> {
        let events = if config.events { Some(Events::create(dir, &run_info)?) } else { None };
        let qlog = if config.qlog { Some(Qlog::create(dir, &run_info)?) } else { None };
        let mut captures = Vec::new();
        for link in &config.captures {
            captures.push(Capture::create(dir, *link, &run_info)?);
        }
        let (dir, series) = (dir.to_owned(), config.series);
        let has_failed = Arc::new(AtomicBool::new(false));
        Ok(Traces { dir, run_info, series, events, qlog, captures, failed: None, has_failed })
    }

    /// The flag that becomes true when a file cannot be written. A monitor that reads it can end the run
    /// then: the simulation itself holds the traces until it ends.
    #[must_use]
    pub fn failure_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_failed)
    }

    /// The first error so far.
    #[must_use]
    pub fn failure(&self) -> Option<&Error> {
        self.failed.as_ref()
    }

    /// Completes the files after the run.
    ///
    /// # Errors
    /// The first error, now or during the run. The files are incomplete then.
    pub fn finish(mut self, run: &Run) -> Result<(), Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.series {
            Series::write_all(&self.dir, &self.run_info, run)?;
        }
        if let Some(events) = self.events {
            events.finish(&self.run_info)?;
        }
        if let Some(qlog) = self.qlog {
            qlog.finish()?;
        }
        self.captures.into_iter().try_for_each(Capture::finish)
    }

    fn note(&mut self, result: Result<(), Error>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
            self.has_failed.store(true, Ordering::Relaxed);
        }
    }
}

impl Observer for Traces {
    fn packet(&mut self, at_ns: u64, link: u32, event: LinkEvent, packet: &Packet) {
        if self.failed.is_some() {
            return;
        }
        if let Some(events) = &mut self.events {
            let result = events.packet(at_ns, link, event, packet, &self.run_info);
            self.note(result);
        }
        let mut captures = self.captures.iter_mut().filter(|capture| capture.link == link);
        let result = captures.try_for_each(|capture| capture.packet(at_ns, event, packet, &self.run_info));
        self.note(result);
    }

    fn ack(&mut self, at_ns: u64, connection: ConnectionId, ack: &Ack) {
        if self.failed.is_some() {
            return;
        }
        let mut captures = self.captures.iter_mut();
        let result = captures.try_for_each(|capture| capture.ack(at_ns, connection, ack, &self.run_info));
        self.note(result);
    }

    fn sender(&mut self, at_ns: u64, connection: ConnectionId, state: impl FnOnce() -> SenderState) {
        if self.failed.is_some() || (self.events.is_none() && self.qlog.is_none()) {
            return;
        }
        let state = state();
        if let Some(events) = &mut self.events {
            let result = events.sender(at_ns, connection, &state, &self.run_info);
            self.note(result);
        }
        if let Some(qlog) = &mut self.qlog {
            let result = qlog.sender(at_ns, connection, &state, &self.run_info);
            self.note(result);
        }
    }

    fn completed(&mut self, at_ns: u64, connection: ConnectionId, _bytes: u64, took_ns: u64) {
        if self.failed.is_some() {
            return;
        }
        if let Some(events) = &mut self.events {
            let result = events.completed(at_ns, connection, took_ns, &self.run_info);
            self.note(result);
        }
        if let Some(qlog) = &mut self.qlog {
            qlog.completed(connection, &self.run_info);
        }
    }
}

/// Creates a file; the error names its path.
fn create(path: &Path) -> Result<BufWriter<File>, Error> {
    File::create(path).map(BufWriter::new).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, reason: &dyn std::fmt::Display) -> Error {
    Error::Write { path: path.to_owned(), reason: reason.to_string() }
}

/// Returns `name` as part of a file name: every character but ASCII letters, digits, `-`, `_` and `.` becomes
/// `_`, and a leading `.` gets a `_` in front.
#[must_use]
pub fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let text: String = name.chars().map(plain).collect();
    if text.starts_with('.') { format!("_{text}") } else { text }
}

/// Returns file names for `names`, each different from the others.
fn file_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for name in names {
        let plain = file_name(name);
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        let free = std::iter::once(plain.clone()).chain(numbered).find(|name| !taken.contains(name));
        taken.push(free.unwrap_or(plain));
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_plain_and_differ() {
        let names = ["10 ms", "10/ms", "../up", "", "é"];
        assert_eq!(file_names(names.into_iter()), ["10_ms", "10_ms-2", "_.._up", "", "_"]);
    }
}
