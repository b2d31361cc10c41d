//! What happens in a simulation, written while it runs, in formats that other tools read: Parquet for data frames, pcap-ng for
//! Wireshark, qlog for congestion-control viewers.
//!
//! [`Traces`] is a [`Observer`]: it looks on, keeps what is asked for, and changes nothing. What it writes follows from the run alone: the
//! same scenario and seed give the same bytes. Files grow while the run goes on; memory is a little per connection that is open, and for
//! a capture a timestamp of each that there was. They are whole after [`Traces::finish`]; until then they belong into a directory that nobody looks at.
//!
//! It measures nothing and draws nothing, and it cannot be asked to capture what did not happen: packets have headers, no payload.

#![allow(non_snake_case)] // bytes per second are _Bps, as in the contract

mod capture;
mod events;
mod frame;
mod qlog;
mod series;
mod table;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use fairpace_results::Run;
use fairpace_results::observer::{Ack, ConnectionId, LinkEvent, Observer, Packet, SenderState};

use capture::Capture;
use events::Events;
use qlog::Qlog;

/// More qlog files than this are refused: each of them is open during the run.
pub const MOST_QLOGS: usize = 200;

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be created or written.
    #[error("the trace {} cannot be written: {reason}", .path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// What the system or the format's library said.
        reason: String,
    },
    /// There are too many flows for a file each.
    #[error("a qlog file for each of {flows} flows is too much: at most {MOST_QLOGS} can be open")]
    TooManyFlows {
        /// How many there are.
        flows: usize,
    },
}

/// What is to be recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// `flows.parquet`, `links.parquet`, `backlog.parquet`: the time series.
    pub series: bool,
    /// `events.parquet`: what happens now and then.
    pub events: bool,
    /// `FLOW.sqlog`: the algorithm's variables whenever they change.
    pub qlog: bool,
    /// `LINK.pcapng`: packet headers of these links, by index.
    pub captures: Vec<u32>,
}

/// What a run is of, for the files' own records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// The scenario's title.
    pub title: String,
    /// The scenario's hash.
    pub hash: String,
    /// The seed.
    pub seed: u64,
    /// Commit that built the program.
    pub commit: String,
    /// Flows, in the scenario's order.
    pub flows: Vec<FlowInfo>,
    /// Names of the links, in the scenario's order.
    pub links: Vec<String>,
    /// Payload of a full packet.
    pub mss_bytes: u32,
    /// Names of the algorithms' phases, by number.
    pub phases: Vec<&'static str>,
}

/// A flow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FlowInfo {
    /// Its name.
    pub name: String,
    /// Its algorithm.
    pub cc: String,
    /// The links that its data takes.
    pub route: Vec<u32>,
    /// The links that its ACKs take.
    pub back: Vec<u32>,
    /// It uses ECN.
    pub ecn: bool,
    /// It is a workload: its connections come and go, each with one transfer.
    pub is_workload: bool,
}

impl About {
    fn flow(&self, connection: ConnectionId) -> &str {
        self.flows.get(connection.flow as usize).map_or("", |flow| &flow.name)
    }

    /// Does a connection end with its transfer?
    fn is_workload(&self, connection: ConnectionId) -> bool {
        self.flows.get(connection.flow as usize).is_some_and(|flow| flow.is_workload)
    }

    fn phase(&self, phase: i8) -> Option<&'static str> {
        usize::try_from(phase).ok().and_then(|phase| self.phases.get(phase).copied())
    }
}

/// Loss recovery states by their number in Linux.
const CA_STATES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];

fn ca_state(state: u8) -> &'static str {
    CA_STATES.get(usize::from(state)).copied().unwrap_or("unknown")
}

/// Everything that is asked for, under way.
#[derive(Debug)]
pub struct Traces {
    dir: PathBuf,
    about: About,
    series: bool,
    events: Option<Events>,
    qlog: Option<Qlog>,
    captures: Vec<Capture>,
    /// The first thing that went wrong; nothing is written after it.
    failed: Option<Error>,
}

impl Traces {
    /// Creates the files in a directory, which exists.
    ///
    /// # Errors
    /// When a file cannot be created, and when there would be too many.
    pub fn create(dir: &Path, wanted: &Wanted, about: About) -> Result<Self, Error> {
        let events = if wanted.events { Some(Events::create(dir, &about)?) } else { None };
        let qlog = if wanted.qlog { Some(Qlog::create(dir, &about)?) } else { None };
        let mut captures = Vec::new();
        for link in &wanted.captures {
            captures.push(Capture::create(dir, *link, &about)?);
        }
        let (dir, series) = (dir.to_owned(), wanted.series);
        Ok(Traces { dir, about, series, events, qlog, captures, failed: None })
    }

    /// Completes the files after the run.
    ///
    /// # Errors
    /// The first thing that went wrong, now or during the run. The files are of no use then.
    pub fn finish(mut self, run: &Run) -> Result<(), Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.series {
            series::write(&self.dir, &self.about, run)?;
        }
        if let Some(events) = self.events {
            events.finish(&self.about)?;
        }
        if let Some(qlog) = self.qlog {
            qlog.finish()?;
        }
        self.captures.into_iter().try_for_each(Capture::finish)
    }

    fn note(&mut self, result: Result<(), Error>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }
}

impl Observer for Traces {
    fn packet(&mut self, at_ns: u64, link: u32, what: LinkEvent, packet: &Packet) {
        if self.failed.is_some() {
            return;
        }
        if let Some(events) = &mut self.events {
            let result = events.packet(at_ns, link, what, packet, &self.about);
            self.note(result);
        }
        for i in 0..self.captures.len() {
            if self.captures[i].link == link {
                let result = self.captures[i].packet(at_ns, what, packet, &self.about);
                self.note(result);
            }
        }
    }

    fn ack(&mut self, at_ns: u64, connection: ConnectionId, ack: &Ack) {
        if self.failed.is_some() {
            return;
        }
        for i in 0..self.captures.len() {
            let result = self.captures[i].ack(at_ns, connection, ack, &self.about);
            self.note(result);
        }
    }

    fn sender(&mut self, at_ns: u64, connection: ConnectionId, state: impl FnOnce() -> SenderState) {
        if self.failed.is_some() || (self.events.is_none() && self.qlog.is_none()) {
            return;
        }
        let state = state();
        if let Some(events) = &mut self.events {
            let result = events.sender(at_ns, connection, &state, &self.about);
            self.note(result);
        }
        if let Some(qlog) = &mut self.qlog {
            let result = qlog.sender(at_ns, connection, &state, &self.about);
            self.note(result);
        }
    }

    fn completed(&mut self, at_ns: u64, connection: ConnectionId, bytes: u64, took_ns: u64) {
        if self.failed.is_some() {
            return;
        }
        if let Some(events) = &mut self.events {
            let result = events.completed(at_ns, connection, bytes, took_ns, &self.about);
            self.note(result);
        }
        if let Some(qlog) = &mut self.qlog {
            qlog.completed(connection, &self.about);
        }
    }
}

/// A file, and what to say when it fails.
fn create(path: &Path) -> Result<BufWriter<File>, Error> {
    File::create(path).map(BufWriter::new).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, reason: &dyn std::fmt::Display) -> Error {
    Error::Write { path: path.to_owned(), reason: reason.to_string() }
}

/// A name as part of a file's name: nothing that a file system or a shell takes for something else.
#[must_use]
pub fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let text: String = name.chars().map(plain).collect();
    if text.starts_with('.') { format!("_{text}") } else { text }
}

/// File names of several things, each of its own.
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
