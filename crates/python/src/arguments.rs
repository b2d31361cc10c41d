//! Arguments of functions that stand for a command: its own parser reads them.

use clap::{Args, FromArgMatches, Parser};
use fairpace_cli_core::failure::{Exit, Failure};

/// Options of a command, without its name.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Options<A: Args + FromArgMatches> {
    #[command(flatten)]
    of: A,
}

/// Reads options as `--seeds=3`.
pub(crate) fn parse<A: Args + FromArgMatches>(options: &[String]) -> Result<A, Failure> {
    Options::try_parse_from(options).map(|options| options.of).map_err(|error| {
        let text = error.to_string();
        // what is missing is in the next lines
        let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect::<Vec<_>>();
        Failure::new(Exit::Usage, lines.join(" ").trim_start_matches("error: "), "")
    })
}
