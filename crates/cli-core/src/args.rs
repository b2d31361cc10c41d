//! Arguments that every command has, and parsers of values.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fairpace_scenario::Target;

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

/// Parses where to run.
#[must_use]
pub fn parse_target() -> impl TypedValueParser<Value = Target> {
    let [simulator, testbed] = [Target::Simulator, Target::Testbed].map(|t| PossibleValue::new(t.name()));
    PossibleValuesParser::new([
        simulator.help("The simulator"),
        testbed.help("The running kernel, on the testbed"),
    ])
    .map(|name| if name == Target::Testbed.name() { Target::Testbed } else { Target::Simulator })
}
