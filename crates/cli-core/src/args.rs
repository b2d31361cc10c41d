//! Arguments that every command has, and parsers of values.

use std::time::Duration;

use clap::Args;
use fairpace_scenario::quantity::{self, NotAQuantity};
use fairpace_scenario::{NotASet, Set};

/// Options of every command.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct Global {
    /// Print JSON to stdout, and errors as one JSON object to stderr.
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress and no notes, only results and errors.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// No colours; the environment variable NO_COLOR does the same.
    #[arg(long, global = true)]
    pub no_color: bool,
}

/// Parses `KEY=VALUE`.
///
/// # Errors
/// The text has no key or no `=`.
pub fn parse_set(text: &str) -> Result<Set, NotASet> {
    text.parse()
}

/// Parses a time with its unit, such as `20ms`.
///
/// # Errors
/// The text is not a number with a unit of time.
pub fn parse_time(text: &str) -> Result<Duration, NotAQuantity> {
    quantity::parse_time(text)
}
