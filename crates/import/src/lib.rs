//! Internal: only Fairpace's own crates use it. Translates inputs and outputs of other tools.
//!
//! [`tc`], [`mm_link`] and [`table`] turn a link of another tool into the text of a scenario file.
//! [`iperf3`] and [`flent`] turn results of another tool into a [`Record`], which a
//! report shows beside runs.
//!
//! Each part of an input has one of three outcomes. It is translated; it is translated with a [`Warning`],
//! where the difference is harmless; or it is refused by an [`Invalid`] that names line and key. No part is
//! left out silently.

#![forbid(unsafe_code)]

mod draft;
mod flent;
mod iperf3;
mod json;
mod mahimahi;
mod source;
mod table;
mod tc;

use std::path::PathBuf;
use std::time::Duration;

use fairpace_results::Record;
use fairpace_scenario::Invalid;

pub use source::{Source, Warning};

/// Result of an import: what was made, and what is different in it.
#[derive(Debug, Clone)]
pub struct Imported<T> {
    /// The text of a scenario, or a record.
    pub made: T,
    /// Parts of the input whose translation differs in a harmless way, or that have no effect here.
    pub warnings: Vec<Warning>,
}

/// The direction of the data through an imported link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Data leaves the host through the lines of tc, or through the uplink of Mahimahi.
    #[default]
    Send,
    /// Data comes to the host: its ACKs pass the lines of tc, or the uplink of Mahimahi.
    Receive,
    /// The same lines of tc are at both ends: data and ACKs pass one of them each.
    Both,
}

/// What an input does not say about the path and the flow of a scenario.
#[derive(Debug, Clone)]
pub struct Options {
    /// The direction of the data.
    pub direction: Direction,
    /// Rate of the interface, bits per second, for a direction that the input does not shape.
    pub rate_bps: Option<u64>,
    /// RTT of the path without the delays of the input.
    pub rtt: Option<Duration>,
    /// Buffer of the link, as the key `buffer` has it, if the input has none.
    pub buffer: Option<String>,
    /// Algorithm of the flow.
    pub cc: String,
    /// Length of the run; `None`: a minute, or the length of the input's table.
    pub duration: Option<Duration>,
    /// Folder of the scenario file that will be written; empty for the working directory.
    pub folder: PathBuf,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            direction: Direction::default(),
            rate_bps: None,
            rtt: None,
            buffer: None,
            cc: "cubic".to_owned(),
            duration: None,
            folder: PathBuf::new(),
        }
    }
}

/// Translates lines of `tc qdisc` to a scenario: a shaper, a delay, a queue discipline.
///
/// # Errors
/// A line or parameter that cannot be translated, with its place.
pub fn tc(source: Source<'_>, options: &Options) -> Result<Imported<String>, Invalid> {
    tc::import(source, options)
}

/// Translates a command of Mahimahi to a scenario: `mm-link`, within or around `mm-delay` and `mm-loss`.
///
/// # Errors
/// A part of the command that cannot be translated, with its place.
pub fn mm_link(source: Source<'_>, options: &Options) -> Result<Imported<String>, Invalid> {
    mahimahi::import(source, options)
}

/// Translates a table with a column of times and a column of rates to a scenario.
///
/// # Errors
/// A header without times and rates, or a row that cannot be translated, with its place.
pub fn table(source: Source<'_>, options: &Options) -> Result<Imported<String>, Invalid> {
    table::import(source, options)
}

/// Translates the JSON of `iperf3 --json` to the record `record_name`.
///
/// # Errors
/// A value that cannot be translated, with its line and its path in the JSON.
pub fn iperf3(source: Source<'_>, record_name: &str) -> Result<Imported<Record>, Invalid> {
    iperf3::import(source, record_name)
}

/// Translates a data file of flent to the record `record_name`.
///
/// # Errors
/// A value that cannot be translated, with its line and its path in the JSON.
pub fn flent(source: Source<'_>, record_name: &str) -> Result<Imported<Record>, Invalid> {
    flent::import(source, record_name)
}

/// The text of a data file of flent, which may be compressed by gzip.
///
/// # Errors
/// A file that is neither text nor complete gzip.
pub fn flent_text(name: &str, bytes: &[u8]) -> Result<String, Invalid> {
    flent::text(name, bytes)
}
