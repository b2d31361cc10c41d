//! A table of an experiment as a CSV file with a row for each seed: its place on each axis of the sweep, its
//! seed, the hash of its scenario, the measured numbers, and the commit of the program that ran it. Figures
//! read such files ([`crate::table`]), so a run that takes hours is made once.
//!
//! ```toml
//! [[run]]
//! name = "rates"
//! scenario = "two-senders.toml"
//! [run.sweep]
//! title = "rate"
//! axis = [{ name = "rate", point = [{ at = "1gbit", set = ["link.rate=1gbit"] }] }]
//!
//! [[table]]
//! name = "jumbo"
//! file = "rates-jumbo.csv.gz"
//! set = ["flow.mtu=9000"]
//! rows = ["rates"]
//! column = [{ heading = "jain", measure = { of = "jain" } }]
//! ```

use std::collections::HashMap;
use std::path::Path;

use fairpace_results::Run;
use fairpace_scenario::{Invalid, Scenario};

use crate::measure::number;
use crate::plan::Plan;
use crate::table;
use crate::tables::{Column, Table, Tables};

/// Hexadecimal digits of a scenario's hash in a row: enough to distinguish the scenarios of a file.
const HASH_DIGITS: usize = 16;

/// The rows of a CSV file.
#[derive(Debug)]
pub struct CsvFile {
    of: Tables,
    plan: Plan,
}

/// A row of a CSV file.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// The row's places on the axes: "rate=1gbit".
    pub on: &'a [String],
    /// The scenario that is run for the row.
    pub scenario: &'a Scenario,
}

impl CsvFile {
    /// The rows of a table at these places of axes, such as "rate=1gbit"; all rows if no place is given.
    /// `short`: with one seed.
    ///
    /// # Errors
    /// Returns the problems of the scenarios, or of a path of a measure.
    pub fn new(all: &Tables, table: &Table, places: &[String], short: bool) -> Result<Self, Invalid> {
        let of = all.clone().with_rows(table, places);
        Ok(Self { plan: of.plan(short)?, of })
    }

    fn columns(&self) -> &[Column] {
        &self.of.tables[0].columns
    }

    /// Iterates over the rows, in the order of runs, points and seeds.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.plan.cases.iter().flat_map(|case| {
            let point = self.of.sheet.figure.runs[case.run].points().get(case.point);
            let on = point.map_or(&[][..], |point| &point.on);
            case.source.runs().iter().map(move |scenario| Row { on, scenario })
        })
    }

    fn header(&self) -> Vec<String> {
        let on = self.rows().next().map_or(&[][..], |row| row.on);
        let axes = on.iter().filter_map(|place| place.split_once('=')).map(|(axis, _)| axis);
        let columns = self.columns().iter().map(|column| column.heading.as_str());
        axes.chain(["seed", "scenario"]).chain(columns).chain(["commit"]).map(str::to_owned).collect()
    }

    /// The lines of an existing file, by the [`key`](Row::key) of their row; empty if the file has other
    /// columns.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not CSV.
    pub fn kept(&self, path: &Path) -> Result<HashMap<Vec<String>, Vec<String>>, csv::Error> {
        let text = if path.exists() { table::read(path)? } else { String::new() };
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = self.header();
        if *reader.headers()? != header {
            return Ok(HashMap::new());
        }
        let keys = header.len() - self.columns().len() - 1;
        let lines = reader.deserialize::<Vec<String>>();
        lines.map(|line| line.map(|line| (line[..keys].to_vec(), line))).collect()
    }

    /// The line of a row whose run has finished.
    #[must_use]
    pub fn line(&self, row: Row<'_>, run: &Run) -> Vec<String> {
        let numbers = self.columns().iter().map(|column| written(number(&column.measure, run)));
        row.key().into_iter().chain(numbers).chain([run.summary.commit.clone()]).collect()
    }

    /// The text of a file with these lines.
    #[must_use]
    pub fn text(&self, lines: &[Vec<String>]) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for line in [&self.header()].into_iter().chain(lines) {
            writer.write_record(line).expect("a vector takes everything");
        }
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }
}

impl Row<'_> {
    /// The key of the row: its place on each axis, its seed and the hash of its scenario.
    #[must_use]
    pub fn key(&self) -> Vec<String> {
        let at = self.on.iter().filter_map(|place| place.split_once('=')).map(|(_, at)| at.to_owned());
        let hash = self.scenario.hash.chars().take(HASH_DIGITS).collect();
        at.chain([self.scenario.seed.to_string(), hash]).collect()
    }
}

/// Text of a number: an integer in full, any other number with six significant digits, which a table for
/// people needs.
fn written(number: f64) -> String {
    match number {
        _ if !number.is_finite() => String::new(),
        _ if number.fract() == 0.0 => number.to_string(),
        _ => format!("{number:.5e}").parse::<f64>().unwrap_or(number).to_string(),
    }
}

#[cfg(test)]
mod tests;
