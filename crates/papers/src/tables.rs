//! Files of tables: runs, as a figure has them, and tables of their numbers, in Markdown or as CSV files. A
//! row is a point of a run, a column a measure.
//!
//! ```toml
//! title = "What decides how BBQ shares a link"
//! page = "docs/bbq.md"
//!
//! [[run]]
//! name = "settings"
//! scenario = "two-flows.toml"
//! sweep = { title = "setting", point = [{ at = "alpha=1ms", set = ["bbq.alpha=1ms"] }] }
//!
//! [[table]]
//! name = "shares"
//! rows = ["settings"]
//! column = [{ heading = "10 ms flow, Mbit/s", measure = { of = "flow.1.goodput_mbps" }, show = "range" }]
//! ```

use std::path::{Path, PathBuf};

use fairpace_experiment::{Source, Wrong};
use fairpace_scenario::Invalid;
use serde::Deserialize;

use crate::figure::{Figure, Measure, RunPlan, Stack};
use crate::runs;
use crate::sheet::{Sheet, WHERE};

/// The content of a file of tables.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Title of the tables.
    title: String,
    /// Path of the page with the tables, relative to the folder in which the command is called. The page has
    /// two marks for each table. No page is needed if all tables are CSV files.
    #[serde(default)]
    page: PathBuf,
    /// The runs of the tables.
    #[serde(rename = "run")]
    runs: Vec<RunPlan>,
    /// The tables of the file.
    #[serde(rename = "table")]
    tables: Vec<Table>,
}

/// A table of numbers of runs.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Name of the table, which the marks on the page contain.
    pub name: String,
    /// Name of a CSV file beside the file of the experiment ([`crate::csv_file`]), which takes the place of a
    /// part of the page. A file whose name ends with `.gz` is compressed.
    #[serde(default)]
    pub file: String,
    /// Settings of the runs of a CSV file; they apply after all others.
    #[serde(default)]
    pub set: Vec<String>,
    /// Introduction before the table, in a sentence.
    #[serde(default)]
    pub about: String,
    /// Heading of the first column, which tells what a row is.
    #[serde(default)]
    pub heading: String,
    /// Name of an earlier table whose introduction, heading and columns this table takes over.
    #[serde(default)]
    pub like: String,
    /// Names of the runs; each of their points is a row.
    pub rows: Vec<String>,
    /// Words, each of which gives a row in place of one row for each point. In the path of a measure `{each}`
    /// stands for the word.
    #[serde(default)]
    pub each: Vec<String>,
    /// The columns of the table.
    #[serde(default, rename = "column")]
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Heading of the column, with the unit.
    pub heading: String,
    /// The measure of the column. If it names no run, the run is that of the row, else a run with points of
    /// the same names.
    pub measure: Measure,
    /// Decimals of the numbers, 0 to 9.
    #[serde(default = "one")]
    pub decimals: usize,
    /// What a cell shows of the values of all seeds.
    #[serde(default)]
    pub show: Show,
}

fn one() -> usize {
    1
}

/// What a cell shows of the values of all seeds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Show {
    /// The mean of the values.
    #[default]
    Mean,
    /// The mean, the lowest and the highest value.
    Range,
    /// The mean, the lowest and the highest value; the mean alone if all values are equal with this number of
    /// decimals.
    RangeIfAny,
}

/// A file of tables, as read.
#[derive(Debug, Clone, PartialEq)]
pub struct Tables {
    /// Title of the tables.
    pub title: String,
    /// Path of the page with the tables.
    pub page: PathBuf,
    /// The runs of the tables.
    pub sheet: Sheet,
    /// The tables, in the order of the file.
    pub tables: Vec<Table>,
}

impl Tables {
    /// Reads a file of tables.
    ///
    /// # Errors
    /// Returns the problems of the file, each with its place.
    pub fn read(path: &Path) -> Result<Self, Invalid> {
        let source = Source::read(path, "tables", WHERE)?;
        let mut file: File = source.parse()?;
        // what follows is of runs and measures, as of those of a figure
        let source = Source { about: "figure", ..source };
        runs::expand(&mut file.runs);
        for index in 0..file.tables.len() {
            let (above, rest) = file.tables.split_at_mut(index);
            let table = &mut rest[0];
            if let Some(other) = above.iter().find(|other| !table.like.is_empty() && other.name == table.like)
            {
                let (about, heading, columns) = (&other.about, &other.heading, &other.columns);
                table.about.clone_from(about);
                table.heading.clone_from(heading);
                table.columns.clone_from(columns);
            }
        }
        let figure = Figure { title: file.title.clone(), runs: file.runs, ..Figure::default() };
        let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let dir =
            path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
        let stacks = vec![Stack::default()];
        let sheet = Sheet { paper: String::new(), id, dir, figure, stacks, hosts: Vec::new(), source };
        check(&sheet, &file.page, &file.tables)?;
        Ok(Self { title: file.title, page: file.page, sheet, tables: file.tables })
    }
}

/// Returns the problems of the tables that can be found before a run; paths of measures are checked with the
/// plan.
fn check(sheet: &Sheet, page: &Path, tables: &[Table]) -> Result<(), Invalid> {
    let runs = &sheet.figure.runs;
    let help = runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>().join(", ");
    let help = format!("its runs are {help}");
    let mut wrong = Wrong::new(&sheet.source);
    for (number, run) in (1..).zip(runs) {
        let is_known = run.like.is_empty() || runs[..number - 1].iter().any(|other| other.name == run.like);
        let (key, message) = (format!("run.{number}.like"), format!("above it is no run `{}`", run.like));
        wrong.unless(is_known, "unknown-run", &key, message, &help);
        if let Some(place) =
            run.only.iter().find(|place| !run.points().iter().any(|point| point.on.contains(place)))
        {
            let (key, message) =
                (format!("run.{number}.only"), format!("no point of the run is at `{place}`"));
            wrong.add("impossible", &key, message, "write places of its axes, as \"rate=1gbit\"");
        }
    }
    for (number, table) in (1..).zip(tables) {
        let key = format!("table.{number}");
        let needs_file = page.as_os_str().is_empty() || !table.set.is_empty();
        for (what, is_there) in [
            ("rows", !table.rows.is_empty()),
            ("columns", !table.columns.is_empty()),
            ("file", !table.file.is_empty() || !needs_file),
        ] {
            wrong.unless(is_there, "missing-key", &key, format!("the table has no {what}"), "write some");
        }
        let rows = (1..).zip(&table.rows).map(|(row, name)| (format!("{key}.rows.{row}"), name));
        let columns = (1..).zip(&table.columns);
        let columns =
            columns.map(|(column, of)| (format!("{key}.column.{column}.measure.run"), &of.measure.run));
        for (key, name) in rows.chain(columns.filter(|(_, name)| !name.is_empty())) {
            let is_known = runs.iter().any(|run| run.name == *name);
            wrong.unless(is_known, "unknown-run", &key, format!("there is no run `{name}`"), &help);
        }
    }
    wrong.none()
}

impl Tables {
    /// The file with one of its tables, and only with the runs of that table, at these places of their axes:
    /// "rate=1gbit".
    pub(crate) fn with_rows(mut self, table: &Table, places: &[String]) -> Self {
        self.sheet.figure.runs.retain(|run| table.rows.contains(&run.name));
        for sweep in self.sheet.figure.runs.iter_mut().filter_map(|run| run.sweep.as_mut()) {
            sweep.points.retain(|point| point.is_one_of(places));
            sweep.points.iter_mut().for_each(|point| point.set.extend(table.set.clone()));
        }
        Self { tables: vec![table.clone()], ..self }
    }

    /// The table that is this CSV file, from the experiment beside it, `grid.toml` for `grid.csv.gz`, and its
    /// runs at these places.
    pub(crate) fn of_csv_file(path: &Path, places: &[String]) -> Result<Self, Invalid> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let all = Self::read(
            &path.with_file_name(name.split('.').next().unwrap_or_default()).with_extension("toml"),
        )?;
        let table = all.tables.iter().find(|table| *table.file == name).cloned();
        Ok(all.with_rows(&table.unwrap_or_default(), places))
    }
}
