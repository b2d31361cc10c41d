//! The sources of a run's numbers, before and after it ran.

use std::sync::Arc;

use fairpace_results::Run;
use fairpace_scenario::Scenario;

use crate::figure::Arguments;
use crate::models::Output;
use crate::table::Rows;
use crate::tables::Column;

/// The source of a run's numbers: with scenarios or runs `R`, and a model or its results `M`.
#[derive(Debug, Clone, PartialEq)]
pub enum Source<R, M> {
    /// Simulations or kernel runs, one for each seed.
    Runs(Vec<R>),
    /// A model of equations.
    Model(M),
    /// Rows of a table of finished runs.
    Table {
        /// The whole table.
        table: Arc<Rows>,
        /// Filters of the rows that count: columns and the values that the rows must have there.
        filters: Vec<(String, String)>,
    },
    /// A run with real flows in place of rows of a table, which the simulator has.
    Cell {
        /// Columns of the table.
        columns: Vec<Column>,
        /// The runs with real flows, one for each seed.
        runs: Vec<R>,
    },
}

/// A planned source: scenarios, or the name of a model in [`crate::models`] and its arguments.
pub type Planned = Source<Scenario, (String, Arguments)>;
/// A finished source: runs, or the results of a model.
pub type Gave = Source<Run, Output>;

impl<R, M> Source<R, M> {
    /// The scenarios to run, or the finished runs.
    #[must_use]
    pub fn runs(&self) -> &[R] {
        match self {
            Self::Runs(runs) | Self::Cell { runs, .. } => runs,
            Self::Model { .. } | Self::Table { .. } => &[],
        }
    }
}

impl Planned {
    /// The identity of the source: scenarios with seeds, arguments, or rows, which decide its numbers
    /// together with the program. `digest` writes the hash of a table.
    pub(crate) fn identity(&self, digest: impl Fn(&[u8]) -> String) -> String {
        match self {
            Self::Runs(scenarios) | Self::Cell { runs: scenarios, .. } => {
                scenarios.iter().map(|of| format!("{} {}\n", of.hash, of.seed)).collect()
            }
            Self::Model((name, arguments)) => format!("{name} {arguments:?}\n"),
            Self::Table { table, filters } => format!("{} {filters:?}\n", digest(&table.digest)),
        }
    }

    /// The finished source. `run` finds the finished run of a scenario.
    ///
    /// # Errors
    /// Returns a message if a run is missing, or if a model refuses its arguments.
    pub(crate) fn gave(&self, run: impl Fn(&Scenario) -> Option<Run>) -> Result<Gave, String> {
        let runs = self.runs().iter().map(run).collect::<Option<Vec<_>>>();
        let runs = runs.ok_or("a finished run is gone from the store: run the same command again")?;
        Ok(match self.clone() {
            Self::Runs(_) => Gave::Runs(runs),
            Self::Cell { columns, .. } => Gave::Cell { columns, runs },
            Self::Table { table, filters } => Gave::Table { table, filters },
            Self::Model((name, arguments)) => {
                let output = crate::models::evaluate(&name, &arguments);
                Gave::Model(output.map_err(|error| error.to_string())?)
            }
        })
    }
}
