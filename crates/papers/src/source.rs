//! Where the numbers of a run come from, before and after it ran.

use std::sync::Arc;

use fairpace_results::Run;
use fairpace_scenario::Scenario;

use crate::figure::Arguments;
use crate::models::Output;
use crate::table::Rows;
use crate::tables::Column;

/// Where a run's numbers come from, with scenarios or runs, and a model or its results.
#[derive(Debug, Clone, PartialEq)]
pub enum Source<R, M> {
    /// One per seed.
    Runs(Vec<R>),
    /// Equations.
    Model(M),
    /// Rows of a table.
    Table {
        /// All of them.
        table: Arc<Rows>,
        /// Columns and the values that rows must have there.
        filters: Vec<(String, String)>,
    },
    /// A run with real flows, where the simulator has rows of a table.
    Cell {
        /// Of the table.
        columns: Vec<Column>,
        /// One per seed.
        runs: Vec<R>,
    },
}

/// What is planned: scenarios, or the name of a model in [`crate::models`] and its arguments.
pub type Planned = Source<Scenario, (String, Arguments)>;
/// What it gave.
pub type Gave = Source<Run, Output>;

impl<R, M> Source<R, M> {
    /// What has to be run, or was.
    #[must_use]
    pub fn runs(&self) -> &[R] {
        match self {
            Self::Runs(runs) | Self::Cell { runs, .. } => runs,
            Self::Model { .. } | Self::Table { .. } => &[],
        }
    }
}

impl Planned {
    /// What decides its numbers beside the program: scenarios with seeds, arguments, or rows. `digest`
    /// writes the hash of a table.
    pub(crate) fn identity(&self, digest: impl Fn(&[u8]) -> String) -> String {
        match self {
            Self::Runs(scenarios) | Self::Cell { runs: scenarios, .. } => {
                scenarios.iter().map(|of| format!("{} {}\n", of.hash, of.seed)).collect()
            }
            Self::Model((name, arguments)) => format!("{name} {arguments:?}\n"),
            Self::Table { table, filters } => format!("{} {filters:?}\n", digest(&table.digest)),
        }
    }

    /// What it gave. `run` finds the finished run of a scenario.
    ///
    /// # Errors
    /// A run is missing, or a model refuses its arguments: a message.
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
