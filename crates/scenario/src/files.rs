//! Files that a scenario names: traces of delivery opportunities, distributions of sizes, tables of values
//! with their times.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::built_in;
use crate::key::{DAY, S};
use crate::quantity::{Dimension, PACKET_BYTES, WHOLE_PPB, decimal};
use crate::visible::visible;

/// Largest file that a scenario may name, bytes. A trace of ten minutes at 1 Gbit/s has 400 MB; a trace of
/// this size runs for a minute at 1.3 Gbit/s.
const MOST_BYTES: u64 = 64 << 20;
/// Milliseconds in a day, the longest time in a trace.
const MOST_MS: u32 = 86_400_000;
/// Bytes on the wire that a delivery opportunity can carry: one full packet, as in Mahimahi. Mahimahi counts
/// 1504 bytes for it, an IP packet and four bytes of its TUN device before each (`PACKET_SIZE` in its
/// src/frontend/link_queue.hh); a link here counts 14 of Ethernet.
pub const OPPORTUNITY_BYTES: u32 = PACKET_BYTES as u32;
/// Most rows of a table of values with their times.
pub(crate) const MOST_ROWS: usize = 1_000_000;
/// Most points of a distribution.
const MOST_SIZES: usize = 10_000;
/// Largest size of a flow, bytes: a petabyte, more than any run can send.
pub(crate) const MOST_SIZE_BYTES: u64 = 1_000_000_000_000_000;

/// Opens a regular file. Other files are refused: a FIFO without a writer would keep the process waiting, and
/// some devices never end.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let found = fs::metadata(path)?;
    if found.is_file() {
        return File::open(path);
    }
    let kind = found.file_type();
    let what = match () {
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a pipe (FIFO)",
        () if kind.is_socket() => "a socket",
        () if kind.is_char_device() || kind.is_block_device() => "a device",
        () => "something else",
    };
    let error = if kind.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
    Err(io::Error::new(error, format!("it is {what}, not a regular file")))
}

/// Reads the text of a file.
pub(crate) fn text(path: &Path) -> Result<String, String> {
    let why = |error: io::Error| error.to_string();
    let mut text = String::new();
    open(path).map_err(why)?.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(why)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(format!("it is larger than {} MiB", MOST_BYTES >> 20));
    }
    Ok(text)
}

/// A trace: delivery opportunities in Mahimahi's format, in place of a rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The file's name as written.
    pub file: String,
    /// Milliseconds since the start at which up to 1514 bytes can leave, in order; several may be equal. The
    /// last number is also the period after which all opportunities repeat.
    pub opportunities_ms: Arc<[u32]>,
}

impl Trace {
    /// Reads a trace from a text in Mahimahi's format.
    ///
    /// # Errors
    /// What is wrong with the text, with the line, as a sentence that begins after the file's name.
    pub fn read(file: &str, text: &str) -> Result<Self, String> {
        let mut opportunities_ms = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let ms = line.trim().parse().map_err(|_| {
                format!(
                    "is not a trace: line {number} is \"{}\", not a time in whole milliseconds",
                    shortened(line)
                )
            })?;
            if opportunities_ms.last().is_some_and(|last| ms < *last) {
                return Err(format!("goes back in time at line {number}: {ms} ms"));
            }
            opportunities_ms.push(ms);
        }
        let trace = Self { file: file.to_owned(), opportunities_ms: opportunities_ms.into() };
        trace.check()?;
        Ok(trace)
    }

    /// Checks the opportunities; the error says what is wrong.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.opportunities_ms.last() {
            None => Err("has no line".into()),
            Some(0) => Err("ends at 0 ms; the last time is the period, and must be later".into()),
            Some(last) if *last > MOST_MS => {
                Err(format!("lasts for {last} ms; it must be at most {MOST_MS}, a day"))
            }
            Some(_) if !self.opportunities_ms.is_sorted() => Err("goes back in time".into()),
            Some(_) => Ok(()),
        }
    }

    /// The mean of the rate on the wire, bits per second, rounded down.
    #[must_use]
    pub fn mean_bps(&self) -> u64 {
        let period_ms = u64::from(self.opportunities_ms.last().copied().unwrap_or(0)).max(1);
        self.opportunities_ms.len() as u64 * u64::from(OPPORTUNITY_BYTES) * 8 * 1_000 / period_ms
    }

    /// The text from which [`Trace::read`] reads the trace.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.opportunities_ms.iter().map(|ms| format!("{ms}\n")).collect()
    }

    /// SHA-256 of the opportunities, in hex.
    pub(crate) fn digest(&self) -> String {
        digest(self.opportunities_ms.iter().map(|ms| u64::from(*ms)))
    }
}

/// A number of a table in stored units; also with an exponent, as programs write most numbers.
fn read_number(text: &str, unit: u64) -> Option<u64> {
    if !text.contains(['e', 'E']) {
        return decimal(text, unit);
    }
    let value = text.parse::<f64>().ok()? * unit as f64;
    (0.0..1e18).contains(&value).then(|| value.round() as u64)
}

/// Values with their times: rows in a scenario, or a file that the scenario names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimeTable {
    /// The file's name as written; empty if the rows are in the scenario itself.
    pub file: String,
    /// Times and values in stored units. Times grow.
    pub rows: Arc<[(u64, u64)]>,
}

impl TimeTable {
    /// Returns the table with these rows, which a scenario has without a file.
    #[must_use]
    pub fn inline(rows: impl Into<Arc<[(u64, u64)]>>) -> Self {
        Self { file: String::new(), rows: rows.into() }
    }

    /// Reads a table from two columns: seconds, and a share from 0 to 1 or a number of bytes, by the
    /// dimension. `#` begins a comment.
    ///
    /// # Errors
    /// What is wrong with the text, with the line, as a sentence that begins after the file's name.
    pub fn read(file: &str, text: &str, dimension: Dimension) -> Result<Self, String> {
        let (noun, unit) = match dimension {
            Dimension::Share => ("a share", WHOLE_PPB),
            _ => ("bytes", 1),
        };
        let mut rows: Vec<(u64, u64)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let row = line.split('#').next().unwrap_or_default();
            let mut columns = row.split_whitespace();
            let row = match (columns.next(), columns.next(), columns.next()) {
                (None, ..) => continue,
                (Some(at), Some(value), None) => read_number(at, S).zip(read_number(value, unit)),
                _ => None,
            };
            let (at, value) = row.ok_or_else(|| {
                format!("is wrong at line {number}: \"{}\" is not seconds and {noun}", shortened(line))
            })?;
            if rows.last().is_some_and(|(last, _)| *last >= at) {
                return Err(format!("goes back in time, or stays, at line {number}"));
            }
            check_row((at, value), dimension).map_err(|why| format!("has {why} at line {number}"))?;
            rows.push((at, value));
        }
        let table = Self { file: file.to_owned(), rows: rows.into() };
        table.check(dimension)?;
        Ok(table)
    }

    /// Checks the rows; the error says what is wrong.
    pub(crate) fn check(&self, dimension: Dimension) -> Result<(), String> {
        if self.rows.is_empty() {
            return Err("has no line".into());
        }
        if self.rows.len() > MOST_ROWS {
            return Err(format!("has {} lines; it must be at most {MOST_ROWS}", self.rows.len()));
        }
        if !self.rows.is_sorted_by(|a, b| a.0 < b.0) {
            return Err("goes back in time, or stays".into());
        }
        let wrong = self.rows.iter().find_map(|row| check_row(*row, dimension).err());
        wrong.map_or(Ok(()), |why| Err(format!("has {why}")))
    }

    /// Returns whether a file has the rows.
    pub(crate) fn is_file(&self) -> bool {
        !self.file.is_empty()
    }

    /// The rows as steps, if a scenario has them without a file.
    pub(crate) fn steps(&self) -> Option<Vec<(u64, u64)>> {
        (!self.is_file() && !self.rows.is_empty()).then(|| self.rows.to_vec())
    }

    /// The text from which [`TimeTable::read`] reads the table.
    pub(crate) fn to_text(&self, dimension: Dimension) -> String {
        let line = |(at, value): &(u64, u64)| {
            let value = match dimension {
                Dimension::Share => fraction(*value, WHOLE_PPB),
                _ => value.to_string(),
            };
            format!("{} {value}\n", fraction(*at, S))
        };
        self.rows.iter().map(line).collect()
    }

    /// SHA-256 of the rows, in hex.
    pub(crate) fn digest(&self) -> String {
        digest(self.rows.iter().flat_map(|(at, value)| [*at, *value]))
    }
}

/// Checks a row of a [`TimeTable`]; the error names what is wrong with it.
fn check_row((at, value): (u64, u64), dimension: Dimension) -> Result<(), String> {
    let (least, most, noun) = match dimension {
        Dimension::Share => (0, WHOLE_PPB, "a share that is more than 1"),
        _ => (1, MOST_SIZE_BYTES, "a size that is not from 1 byte to a petabyte"),
    };
    if at > DAY {
        return Err("a time after a day".into());
    }
    if (least..=most).contains(&value) { Ok(()) } else { Err(noun.into()) }
}

/// Writes `value / whole`, a power of ten, as a decimal number.
fn fraction(value: u64, whole: u64) -> String {
    let digits = whole.ilog10() as usize;
    format!("{}.{:0digits$}", value / whole, value % whole)
}

/// A distribution of sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    /// The name of the distribution or of its file, as written.
    pub name: String,
    /// Points: bytes, and the share of sizes up to there in billionths. Both grow, and the last share is the
    /// whole. Between two points sizes are spread evenly; the first point's share has the first point's size.
    pub cdf: Arc<[(u64, u64)]>,
}

impl Sizes {
    /// Names of the distributions that need no file.
    pub const BUILT_IN: &[&str] = &["websearch", "datamining", "pareto"];

    /// Returns the distribution of [`Sizes::BUILT_IN`] called `name`.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        let cdf = match name {
            "websearch" => built_in::websearch(),
            "datamining" => built_in::datamining(),
            "pareto" => built_in::pareto(),
            _ => return None,
        };
        Some(Self { name: name.to_owned(), cdf: Arc::from(cdf) })
    }

    /// Reads a distribution from two columns: bytes, and the share of sizes up to there, 0 to 1. `#` begins a
    /// comment.
    ///
    /// # Errors
    /// What is wrong with the text, with the line, as a sentence that begins after the file's name.
    pub fn read(name: &str, text: &str) -> Result<Self, String> {
        let mut cdf: Vec<(u64, u64)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default();
            let mut columns = line.split_whitespace();
            let point = match (columns.next(), columns.next(), columns.next()) {
                (None, ..) => continue,
                (Some(bytes), Some(share), None) => decimal(bytes, 1).zip(decimal(share, WHOLE_PPB)),
                _ => None,
            };
            let point = point.ok_or_else(|| {
                format!(
                    "is not a distribution: line {number} is \"{}\", not bytes and a share",
                    shortened(line)
                )
            })?;
            if let Some(wrong) = follows(cdf.last(), point) {
                return Err(format!("{wrong}, at line {number}"));
            }
            cdf.push(point);
        }
        let sizes = Self { name: name.to_owned(), cdf: cdf.into() };
        sizes.check()?;
        Ok(sizes)
    }

    /// Checks the points; the error says what is wrong.
    pub(crate) fn check(&self) -> Result<(), String> {
        let before = std::iter::once(None).chain(self.cdf.iter().map(Some));
        if let Some(wrong) = before.zip(self.cdf.iter()).find_map(|(before, point)| follows(before, *point)) {
            return Err(wrong);
        }
        if self.cdf.len() > MOST_SIZES {
            return Err(format!("has {} points; it may have at most {MOST_SIZES}", self.cdf.len()));
        }
        match self.cdf.last() {
            Some((_, WHOLE_PPB)) => Ok(()),
            Some(_) => Err("does not end at the share 1".into()),
            None => Err("has no line".into()),
        }
    }

    /// Mean size, bytes.
    #[must_use]
    pub fn mean_bytes(&self) -> u64 {
        let start = self.cdf.first().copied().unwrap_or((0, 0));
        let mut sum = u128::from(start.0) * u128::from(start.1);
        for pair in self.cdf.windows(2) {
            let ((from, below), (to, up_to)) = (pair[0], pair[1]);
            sum += u128::from(from + to) * u128::from(up_to - below) / 2;
        }
        u64::try_from(sum / u128::from(WHOLE_PPB)).unwrap_or(u64::MAX)
    }

    /// The text from which [`Sizes::read`] reads the distribution.
    #[must_use]
    pub fn to_text(&self) -> String {
        let line =
            |(bytes, ppb): &(u64, u64)| format!("{bytes} {}.{:09}\n", ppb / WHOLE_PPB, ppb % WHOLE_PPB);
        self.cdf.iter().map(line).collect()
    }

    /// SHA-256 of the points, in hex.
    pub(crate) fn digest(&self) -> String {
        digest(self.cdf.iter().flat_map(|(bytes, share)| [*bytes, *share]))
    }
}

/// Returns what is wrong with a point of a distribution, given the point before.
fn follows(before: Option<&(u64, u64)>, (bytes, share): (u64, u64)) -> Option<String> {
    match before {
        _ if share > WHOLE_PPB => Some("has a share above 1: shares go from 0 to 1, not to 100".into()),
        _ if bytes == 0 => Some("has a size of 0 bytes; the smallest is 1".into()),
        _ if bytes > MOST_SIZE_BYTES => Some(format!("has a size of more than {MOST_SIZE_BYTES} bytes")),
        Some((last, _)) if bytes <= *last => Some("has sizes that do not grow".into()),
        Some((_, last)) if share <= *last => Some("has shares that do not grow".into()),
        _ => None,
    }
}

fn digest(numbers: impl Iterator<Item = u64>) -> String {
    let mut sum = Sha256::new();
    numbers.for_each(|number| sum.update(number.to_be_bytes()));
    hex(&sum.finalize())
}

/// Returns bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the begin of a line: enough to find the line in its file.
fn shortened(line: &str) -> String {
    visible(&line.chars().take(40).collect::<String>()).into_owned()
}
