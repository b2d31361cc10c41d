//! Records of other programs (`--with`): reading, and a table for people.

use std::fs;
use std::path::{Path, PathBuf};

use fairpace_results::Record;

use crate::failure::{Exit, Failure};
use crate::table::{number, table, text};

/// Largest file of a record, bytes: a day of 10 flows in steps of a second has 60 MB.
const MOST_BYTES: u64 = 256 << 20;

/// Reads the records of these files.
///
/// # Errors
/// Returns an error if a file cannot be read or is no record.
pub fn read(files: &[PathBuf]) -> Result<Vec<Record>, Failure> {
    files.iter().map(|file| read_one(file)).collect()
}

fn read_one(file: &Path) -> Result<Record, Failure> {
    let help = "`fairpace import iperf3` and `fairpace import flent` write records";
    let wrong =
        |wrong: String| Failure::new(Exit::Usage, format!("--with {}: {wrong}", file.display()), help);
    let size = fs::metadata(file).map_err(|error| wrong(error.to_string()))?;
    if !size.is_file() || size.len() > MOST_BYTES {
        return Err(wrong(format!("it is no file of at most {} MiB", MOST_BYTES >> 20)));
    }
    let content = fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    Record::read(&content).map_err(|error| wrong(format!("it {error}")))
}

/// A table with a row for each flow of the records; empty without records.
#[must_use]
pub fn of_records(records: &[Record]) -> String {
    if records.is_empty() {
        return String::new();
    }
    let mut lines = table(&["beside", "flow", "algorithm", "goodput Mbit/s", "RTT mean ms", "retrans"], 3);
    for record in records {
        for (index, flow) in record.flows.iter().enumerate() {
            lines.add_row([
                if index == 0 { record.name.clone() } else { String::new() },
                flow.name.clone(),
                flow.cc.clone().unwrap_or_else(|| "-".to_owned()),
                number(flow.goodput_mbps, 1),
                number(flow.rtt_mean_ms, 1),
                flow.retransmits.map_or_else(|| "-".to_owned(), |count| count.to_string()),
            ]);
        }
    }
    format!("\n{}", text(&lines))
}
