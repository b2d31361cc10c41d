//! `fairpace import`: scenarios and records from the files of other tools.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::new_file::{self, Replaced};
use fairpace_cli_core::output::{Output, note, to_json};
use fairpace_import::{Direction, Imported, Options, Source, Warning};
use fairpace_results::Record;
use fairpace_scenario::quantity::{Dimension, NotAQuantity, parse, parse_time};
use serde::Serialize;

/// Largest input, bytes: a scenario's files have this limit, too.
const MOST_BYTES: u64 = 64 << 20;
/// Name of an input that is an argument.
const ARGUMENT: &str = "the command line";
/// Name of an input from standard input, as an argument and in messages.
const STDIN: (&str, &str) = ("-", "stdin");

#[derive(Debug, Clone, Args)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    pub(crate) from: From,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum From {
    /// Write the scenario of `tc qdisc` lines: netem, tbf, and the queue disciplines below them.
    ///
    /// INPUT is a file with the lines or with the output of `tc qdisc show`, or one line in quotes. Data
    /// passes the lines, unless --direction says otherwise. Lines of a second device are for the ACKs.
    Tc(PathArgs),
    /// Write the scenario of an `mm-link` command of Mahimahi, with mm-delay and mm-loss around it.
    ///
    /// INPUT is a file with the command, or the command in quotes. Data takes the uplink, unless --direction
    /// says otherwise. Traces are named by their path from the working directory.
    MmLink(PathArgs),
    /// Write the scenario of a CSV table of a rate over time.
    ///
    /// The header names the columns of times and rates with their units, such as `time_s,rate_mbit`.
    Csv(PathArgs),
    /// Write a record from the JSON of `iperf3 --json`, to draw beside runs.
    ///
    /// `fairpace sim FILE --with RECORD` draws it.
    Iperf3(RecordArgs),
    /// Write a record from a data file of flent (.flent or .flent.gz), to draw beside runs.
    Flent(RecordArgs),
}

/// An input that becomes a scenario, and what it does not say.
#[derive(Debug, Clone, Args)]
pub(crate) struct PathArgs {
    /// A file, `-` for standard input, or the text itself in quotes.
    #[arg(value_name = "INPUT")]
    input: String,
    /// The direction of the data.
    #[arg(long, value_enum, default_value = "send")]
    direction: DirectionArg,
    /// Rate of the interface, such as 1gbit, for a direction that the input does not shape.
    #[arg(long, value_parser = parse_rate)]
    rate: Option<u64>,
    /// RTT of the path without the delays of the input. By default it has none, or 1ms if the input has no
    /// delay; 40ms for a table.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    rtt: Option<Duration>,
    /// Buffer of the link, such as 500kB, if the input has none.
    #[arg(long, value_name = "SIZE")]
    buffer: Option<String>,
    /// The algorithm of the flow.
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    pub(crate) cc: String,
    /// Length of the run. By default 60s, or the length of a table.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    duration: Option<Duration>,
    #[command(flatten)]
    to: Destination,
}

/// An input that becomes a record.
#[derive(Debug, Clone, Args)]
pub(crate) struct RecordArgs {
    /// A file, or `-` for standard input.
    #[arg(value_name = "FILE")]
    input: String,
    /// Name of the record in legends; by default that of the file.
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    to: Destination,
}

/// Where the result goes.
#[derive(Debug, Clone, Args)]
struct Destination {
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file of --out if it exists.
    #[arg(long, requires = "out")]
    force: bool,
}

/// The direction of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DirectionArg {
    /// Data leaves this host: through the lines of tc, or the uplink.
    Send,
    /// Data comes to this host: its ACKs pass the lines of tc, or the uplink.
    Receive,
    /// The same lines of tc are at both ends.
    Both,
}

/// The record that `--json` prints.
#[derive(Serialize)]
struct Report<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<&'a T>,
    /// The file of `--out`.
    out: Option<&'a Path>,
    warnings: Vec<WarningReport<'a>>,
}

/// A warning, as `--json` prints it.
#[derive(Serialize)]
struct WarningReport<'a> {
    line: usize,
    key: &'a str,
    message: &'a str,
}

fn parse_rate(text: &str) -> Result<u64, NotAQuantity> {
    parse(text, Dimension::Rate)
}

impl ImportArgs {
    /// The algorithm of the scenario, which may be a header.
    pub(crate) fn cc(&self) -> Option<&String> {
        match &self.from {
            From::Tc(args) | From::MmLink(args) | From::Csv(args) => Some(&args.cc),
            From::Iperf3(_) | From::Flent(_) => None,
        }
    }
}

/// Performs `import`.
pub(crate) fn run(args: &ImportArgs, global: Global, out: &mut Output) -> Result<(), Failure> {
    match &args.from {
        From::Tc(args) => path(args, fairpace_import::tc, global, out),
        From::MmLink(args) => path(args, fairpace_import::mm_link, global, out),
        From::Csv(args) => path(args, fairpace_import::table, global, out),
        From::Iperf3(args) => record(args, fairpace_import::iperf3, global, out),
        From::Flent(args) => record(args, fairpace_import::flent, global, out),
    }
}

type Import<O, T> = fn(Source<'_>, &O) -> Result<Imported<T>, fairpace_scenario::Invalid>;

fn path(
    args: &PathArgs,
    import: Import<Options, String>,
    global: Global,
    out: &mut Output,
) -> Result<(), Failure> {
    let (name, bytes) = read(&args.input, true)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::new(Exit::Usage, format!("{name} is no UTF-8 text"), "save it as UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let folder = args.to.out.as_deref().and_then(Path::parent).map(Path::to_path_buf).unwrap_or_default();
    let options = Options {
        direction: match args.direction {
            DirectionArg::Send => Direction::Send,
            DirectionArg::Receive => Direction::Receive,
            DirectionArg::Both => Direction::Both,
        },
        rate_bps: args.rate,
        rtt: args.rtt,
        buffer: args.buffer.clone(),
        cc: args.cc.clone(),
        duration: args.duration,
        folder,
    };
    let Imported { made, warnings } = import(Source { name: &name, text }, &options)?;
    let report = Report::<Record> {
        scenario: Some(&made),
        record: None,
        out: args.to.out.as_deref(),
        warnings: of_warnings(&warnings),
    };
    deliver(&args.to, &name, &made, &report, global, out)
}

fn record(
    args: &RecordArgs,
    import: Import<str, Record>,
    global: Global,
    out: &mut Output,
) -> Result<(), Failure> {
    let (name, bytes) = read(&args.input, false)?;
    let text = fairpace_import::flent_text(&name, &bytes)?;
    let stem = Path::new(&name).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = stem.split('.').find(|part| !part.is_empty()).unwrap_or("record").to_owned();
    let record_name = args.name.clone().unwrap_or(stem);
    let Imported { made, warnings } = import(Source { name: &name, text: &text }, &record_name)?;
    let report = Report {
        scenario: None,
        record: Some(&made),
        out: args.to.out.as_deref(),
        warnings: of_warnings(&warnings),
    };
    deliver(&args.to, &name, &to_json(&made)?, &report, global, out)
}

fn of_warnings(warnings: &[Warning]) -> Vec<WarningReport<'_>> {
    let mut reports = Vec::new();
    for Warning { line, key, message } in warnings {
        reports.push(WarningReport { line: *line, key, message });
    }
    reports
}

/// Reads an input; returns its name and content. `may_be_text` says whether the argument may be the text
/// itself.
fn read(input: &str, may_be_text: bool) -> Result<(String, Vec<u8>), Failure> {
    let cannot = |name: &str, why: String| {
        Failure::new(Exit::Usage, format!("cannot read {name}: {why}"), "check that it is a readable file")
    };
    let (name, reader): (String, Box<dyn io::Read>) = if input == STDIN.0 {
        (STDIN.1.to_owned(), Box::new(io::stdin()))
    } else if fs::metadata(input).is_ok_and(|found| found.is_file()) {
        (input.to_owned(), Box::new(File::open(input).map_err(|error| cannot(input, error.to_string()))?))
    } else if may_be_text && input.contains(char::is_whitespace) {
        return Ok((ARGUMENT.to_owned(), input.as_bytes().to_vec()));
    } else {
        let why = match fs::metadata(input) {
            Ok(_) => "it is no regular file".to_owned(),
            Err(error) => error.to_string(),
        };
        return Err(cannot(input, why));
    };
    let mut bytes = Vec::new();
    let read = reader.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| cannot(&name, error.to_string()))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(cannot(&name, format!("it is larger than {} MiB", MOST_BYTES >> 20)));
    }
    Ok((name, bytes))
}

/// Writes the warnings to stderr, and the result to its file or to stdout.
fn deliver<T: Serialize>(
    to: &Destination,
    name: &str,
    text: &str,
    report: &Report<'_, T>,
    global: Global,
    out: &mut Output,
) -> Result<(), Failure> {
    if let Some(file) = &to.out {
        write(file, text, to.force)?;
    }
    if global.json {
        return out.json(report);
    }
    for WarningReport { line, key, message } in report.warnings.iter().filter(|_| !global.quiet) {
        note(&format!("warning: {name}:{line}: {key}: {message}"));
    }
    match &to.out {
        None => out.text(text),
        Some(_) if global.quiet => Ok(()),
        Some(file) => out.line(&format!("{} is written", file.display())),
    }
}

/// Writes a file in one step. An existing file is replaced only with `force`.
fn write(file: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let elsewhere = "name another file with --out";
    let exists = || {
        let message = format!("{} exists, and is not replaced", file.display());
        Failure::new(Exit::Output, message, "add --force, or name another file with --out")
    };
    if force {
        return new_file::write(file, text)
            .map_err(|error| Failure::file("cannot write", file, &error, elsewhere));
    }
    if fs::symlink_metadata(file).is_ok() {
        return Err(exists());
    }
    match new_file::replace(file, None, text.as_bytes()) {
        Ok(Replaced::InPlace) => Ok(()),
        // another process made the file since the look
        Ok(Replaced::Beside(new)) => {
            let _ = fs::remove_file(new);
            Err(exists())
        }
        Err(error) => Err(Failure::file("cannot write", file, &error, elsewhere)),
    }
}
