//! Where the numbers of a run come from.

use std::path::{Path, PathBuf};

use fairpace_scenario::Scenario;

use crate::figure::Arguments;
use crate::tables::Column;

/// Where a run's numbers come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// One scenario with several seeds.
    Scenarios(Vec<Scenario>),
    /// Equations.
    Model {
        /// Its name in `fairpace-models`.
        name: String,
        /// Its arguments.
        arguments: Arguments,
    },
    /// Rows of a table.
    Table {
        /// The CSV file.
        path: PathBuf,
        /// Columns and the values that rows must have there.
        filters: Vec<(String, String)>,
    },
    /// A run with real flows, where the simulator has rows of a table.
    Cell {
        /// Of the table.
        columns: Vec<Column>,
        /// One per seed.
        scenarios: Vec<Scenario>,
    },
}

impl Source {
    /// What decides its numbers beside the program: scenarios with seeds, arguments, or rows. `table` gives a
    /// table's content in short.
    pub(crate) fn identity(&self, table: &mut dyn FnMut(&Path) -> String) -> String {
        match self {
            Self::Scenarios(scenarios) | Self::Cell { scenarios, .. } => {
                scenarios.iter().map(|of| format!("{} {}\n", of.hash, of.seed)).collect()
            }
            Self::Model { name, arguments } => format!("{name} {arguments:?}\n"),
            Self::Table { path, filters } => format!("{} {filters:?}\n", table(path)),
        }
    }

    /// What has to be run.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        match self {
            Self::Scenarios(scenarios) | Self::Cell { scenarios, .. } => scenarios,
            Self::Model { .. } | Self::Table { .. } => &[],
        }
    }
}
