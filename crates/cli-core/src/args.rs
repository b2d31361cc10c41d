//! Arguments that several commands have, and their parsers.

use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::time::Duration;

use clap::builder::{PossibleValue, RangedI64ValueParser, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command, FromArgMatches, Parser};
use fairpace_scenario::quantity::parse_time;

use crate::failure::{Exit, Failure};

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

/// How many simulations run at a time.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Jobs {
    /// Simulations at a time; by default one for each core. It does not change the results.
    #[arg(long = "jobs", value_name = "N")]
    pub at_a_time: Option<NonZeroUsize>,
}

/// A path with one link and its flows. Texts are values of scenario keys, with their units.
#[derive(Debug, Clone, Args)]
pub struct PathArgs {
    /// Rate of the link, such as 100mbit.
    #[arg(long, allow_hyphen_values = true, default_value = "100mbit")]
    pub rate: String,
    /// Buffer of the link, such as 2MB, or 1.5bdp of the longest RTT.
    #[arg(long, allow_hyphen_values = true, default_value = "1bdp")]
    pub buffer: String,
    /// One flow for each of these RTTs.
    #[arg(
        long,
        allow_hyphen_values = true,
        value_name = "RTT,...",
        value_delimiter = ',',
        value_parser = Trimmed(StringValueParser::new()),
        default_value = "40ms"
    )]
    pub rtt: Vec<String>,
    /// Length of a run.
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "60s")]
    pub duration: String,
    /// Each flow starts this much after the one before; by default 5s, or a twelfth of a run shorter than
    /// 60s.
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", value_parser = parse_time)]
    pub stagger: Option<Duration>,
    /// Measure from here to the end; by default 20s, or a third of a run shorter than 60s.
    #[arg(long, allow_hyphen_values = true, value_name = "TIME")]
    pub warmup: Option<String>,
}

/// A parser for the items of a list, which may have spaces around them: `"bbr1, bbq"`.
#[derive(Debug, Clone)]
pub struct Trimmed<P>(pub P);

impl<P: TypedValueParser> TypedValueParser for Trimmed<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let trimmed = value.to_str().map_or(value, |text| OsStr::new(text.trim()));
        self.0.parse_ref(command, argument, trimmed)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// Parses a number of seeds, runs or the like: from one to this.
#[must_use]
pub fn from_one_to(most: i64) -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=most)
}

/// Options of a command, without its name.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Options<A: Args + FromArgMatches> {
    #[command(flatten)]
    of: A,
}

/// Reads options such as `--seeds=3` where there is no command line: in a file, or of a function in Python.
///
/// # Errors
/// One of them is wrong.
pub fn parse<A: Args + FromArgMatches>(options: &[String]) -> Result<A, Failure> {
    Options::try_parse_from(options).map(|options| options.of).map_err(|error| {
        let text = error.to_string();
        // what is missing is in the next lines
        let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect::<Vec<_>>();
        Failure::new(Exit::Usage, lines.join(" ").trim_start_matches("error: "), "")
    })
}
