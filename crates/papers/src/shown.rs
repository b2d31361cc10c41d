//! Tables of finished runs: their cells as numbers, and as Markdown.

use std::fmt::Write as _;

use fairpace_experiment::{Range, markdown_table};
use fairpace_scenario::{Invalid, Target};
use serde::Serialize;

use crate::figure::{Figure, Measure, RunPlan};
use crate::measure::Outcomes;
use crate::plan::Plan;
use crate::tables::{Column, Show, Table, Tables};

/// A cell of a table as `--json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// Name of the run.
    pub run: String,
    /// Name of the sweep point.
    pub at: String,
    /// Heading of the column.
    pub column: String,
    /// The measured range over all seeds; empty if there is no value.
    #[serde(flatten)]
    pub range: Range,
}

impl Tables {
    /// The plan of the runs that the tables show.
    ///
    /// # Errors
    /// Returns the problems of the scenarios, or of a path of a measure.
    pub fn plan(&self, short: bool) -> Result<Plan, Invalid> {
        let plan = Plan::of(&self.sheet, &self.sheet.stacks[0], Target::Simulator, short)?;
        let measures = (1..).zip(&self.tables).flat_map(|(number, table)| table.measures(number));
        plan.with_paths(&self.sheet, measures)
    }
}

impl Table {
    /// Iterates over the rows of the table: the run, the name of the point, and the word of
    /// [`each`](Self::each).
    fn rows<'a>(&'a self, figure: &'a Figure) -> impl Iterator<Item = (&'a RunPlan, &'a str, &'a str)> {
        let runs = self.rows.iter().filter_map(|name| figure.runs.iter().find(|run| run.name == *name));
        let points = runs.flat_map(|run| {
            let points = run.points().iter().map(|point| point.at.as_str());
            points.chain(run.sweep.is_none().then_some("")).map(move |at| (run, at))
        });
        points.flat_map(|(run, at)| {
            let words = self.each.iter().map(String::as_str);
            words.chain(self.each.is_empty().then_some("")).map(move |each| (run, at, each))
        })
    }

    /// Iterates over the measures of the table, each with its key in the file; `number` is the number of the
    /// table, from 1.
    fn measures(&self, number: usize) -> impl Iterator<Item = (String, Measure)> {
        let each = self.each.first().map_or("", String::as_str);
        let of_column = move |(column, of): (usize, &Column)| {
            let key = format!("table.{number}.column.{column}.measure");
            // the last run has the most flows: what others lack is an empty cell
            self.rows.last().map(|run| (key, of.measure.within(run, each)))
        };
        (1..).zip(&self.columns).filter_map(of_column)
    }

    /// Whether the table shows numbers of this run.
    #[must_use]
    pub fn shows(&self, run: &str) -> bool {
        let measures = self.columns.iter().map(|column| &column.measure);
        let parts = measures.flat_map(|measure| measure.parts().chain([measure]));
        self.rows.iter().chain(parts.map(|measure| &measure.run)).any(|name| name == run)
    }

    /// All cells of the table, row by row.
    #[must_use]
    pub fn cells(&self, outcomes: &Outcomes<'_>) -> Vec<Vec<Cell>> {
        let cell = |(run, at, each): (&RunPlan, &str, &str), column: &Column| {
            let mut measure = column.measure.within(&run.name, each);
            measure.at = at.to_owned();
            let values = outcomes.values(&measure, at).unwrap_or_default();
            let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
            let at = format!("{at} {each}").trim().to_owned();
            Cell { run: run.name.clone(), at, column: column.heading.clone(), range: Range::of(&values) }
        };
        let rows = self.rows(outcomes.figure);
        rows.map(|row| self.columns.iter().map(|column| cell(row, column)).collect()).collect()
    }

    /// The table in Markdown, after its introduction.
    #[must_use]
    pub fn markdown(&self, outcomes: &Outcomes<'_>) -> String {
        let header = [&self.heading].into_iter().chain(self.columns.iter().map(|column| &column.heading));
        let header: Vec<String> = header.cloned().collect();
        let row = |(cells, (run, at, each)): (&Vec<Cell>, (&RunPlan, &str, &str))| {
            let name = if at.is_empty() { &run.name } else { at };
            let shown = cells.iter().zip(&self.columns).map(|(cell, column)| column.shown(&cell.range));
            std::iter::once(format!("{name} {each}").trim().to_owned()).chain(shown).collect()
        };
        let cells = self.cells(outcomes);
        let rows: Vec<Vec<String>> = cells.iter().zip(self.rows(outcomes.figure)).map(row).collect();
        let mut text = String::new();
        if !self.about.is_empty() {
            let _ = write!(text, "{}\n\n", self.about.trim());
        }
        text + &markdown_table(&header, &rows)
    }
}

impl Column {
    fn shown(&self, of: &Range) -> String {
        let decimals = self.decimals;
        let short = |value: f64| format!("{value:.decimals$}");
        let alike = short(of.min) == short(of.mean) && short(of.max) == short(of.mean);
        match self.show {
            _ if !of.mean.is_finite() => "-".to_owned(),
            Show::Range => of.text(decimals),
            Show::RangeIfAny if !alike => of.text(decimals),
            Show::Mean | Show::RangeIfAny => short(of.mean),
        }
    }
}
