//! The course of a program from arguments to an exit code, for both programs.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use fairpace_scenario::{clipped, visible};
use signal_hook::consts::SIGXFSZ;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::Global;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::wrap::wrapped;
use crate::{headers, supervised};

/// A command line with a subcommand.
pub trait Program: Parser {
    /// Name of the program.
    const NAME: &'static str;

    /// Headings of groups of commands in `--help`, each with its commands in order. Empty: the commands are a
    /// single list.
    const GROUPS: &'static [(&'static str, &'static [&'static str])] = &[];

    /// The options that every command has.
    fn global(&self) -> Global;

    /// The headers that the command names as algorithms.
    fn headers(&self) -> Vec<String> {
        Vec::new()
    }

    /// Performs the command.
    ///
    /// # Errors
    /// Returns the failure of the command.
    fn perform(self, out: &mut Output) -> Result<(), Failure>;

    /// Lines about the build, after the line of `--version`; `-V` prints only that line.
    fn build() -> String {
        String::new()
    }

    /// A message and a help text for a subcommand that this program does not have, if a special text exists.
    fn unknown_command(_name: &str) -> Option<(String, String)> {
        None
    }
}

/// Parses the process's arguments, performs the command, and reports a failure on standard error.
#[must_use]
pub fn main<P: Program>() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let program = match P::try_parse_from(&arguments) {
        Ok(program) => program,
        Err(error) => return report_usage::<P>(&error, &arguments),
    };
    let global = program.global();
    set_up_messages(global);
    match with_headers(&arguments, &program.headers(), global) {
        Ok(None) => {}
        Ok(Some(code)) => return exit_code(code),
        Err(failure) => {
            failure.report(global.json);
            return exit_code(failure.code());
        }
    }
    survive_file_size_limit();
    match program.perform(&mut Output::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report(global.json);
            exit_code(failure.code())
        }
    }
}

/// Makes the headers that the command names usable. If a second instance of the program uses them, returns
/// its exit code.
fn with_headers(arguments: &[OsString], headers: &[String], global: Global) -> Result<Option<i32>, Failure> {
    if headers.is_empty() {
        return Ok(None);
    }
    if supervised::is_second()? {
        return headers::load(headers, !global.json && !global.quiet).map(|()| None);
    }
    supervised::run(arguments, headers).map(Some)
}

/// Installs a handler for SIGXFSZ, which the kernel sends when a file grows beyond `ulimit -f`. Without a
/// handler the signal would end the process without a message. With it the write fails (EFBIG), and is
/// reported like a full disk. Programs that this one starts do not inherit a handler, but would inherit an
/// ignored signal.
fn survive_file_size_limit() {
    // without the handler the process still works; only that message is lost
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

fn exit_code(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(Exit::Internal as u8))
}

/// Reports a result of clap: help and version go to stdout; errors have the form of all other errors.
fn report_usage<P: Program>(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let is_option = |of: &OsString| of.as_encoded_bytes().starts_with(b"-");
        let is_of_program = arguments[1..].iter().all(is_option) || arguments[1..] == ["help"];
        let _ = match error.kind() == ErrorKind::DisplayHelp && is_of_program && !P::GROUPS.is_empty() {
            true => io::stdout().write_all(grouped_help::<P>().as_bytes()),
            false => error.print(),
        };
        if arguments[1..].iter().any(|argument| argument == "--version") {
            let _ = io::stdout().write_all(P::build().as_bytes());
        }
        return ExitCode::SUCCESS;
    }
    match (unknown_command::<P>(error), wants_json) {
        (Some(failure), _) => failure.report(wants_json),
        (None, true) => {
            let text = error.to_string();
            let message = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            let help = format!("`{} --help` lists commands and options", P::NAME);
            Failure::new(Exit::Usage, message, help).report(true);
        }
        (None, false) => {
            let text = error.to_string();
            let safe = visible(clipped(&text, MOST_TEXT).as_ref()).into_owned();
            // an argument that a terminal would obey stands in the error: then there are no colours either
            let _ = match safe == text {
                true => error.print(),
                false => io::stderr().write_all(safe.as_bytes()),
            };
        }
    }
    exit_code(Exit::Usage as i32)
}

/// Help of the program with its commands in groups, which clap does not support.
#[must_use]
pub fn grouped_help<P: Program>() -> String {
    /// Columns of a line, and of the names of commands.
    const WIDTH: (usize, usize) = (100, 15);
    let mut command = P::command();
    command.build();
    let mut groups = String::new();
    for (heading, names) in P::GROUPS {
        groups.push_str(&format!("{heading}:\n"));
        for name in *names {
            let about = command.find_subcommand(name).and_then(|of| of.get_about()).map(ToString::to_string);
            let about = wrapped(&about.unwrap_or_default(), WIDTH.0 - WIDTH.1, "", |_| true);
            let about = about.replace('\n', &format!("\n{:1$}", "", WIDTH.1));
            groups.push_str(&format!("  {name:<0$}{about}\n", WIDTH.1 - 2));
        }
        groups.push('\n');
    }
    command = command.mut_subcommands(|of| of.hide(true)).help_template(format!(
        "{{about-with-newline}}\nUsage: {} [OPTIONS] <COMMAND>\n\n{groups}{{all-args}}{{after-help}}\n",
        P::NAME
    ));
    command.render_help().to_string()
}

/// Most characters of an error about arguments. The longest usage text has a tenth as many; an argument can
/// have 128 kB.
const MOST_TEXT: usize = 8_000;

/// The failure for a subcommand that the program does not have; `None` if the error is another one.
pub fn unknown_command<P: Program>(error: &clap::Error) -> Option<Failure> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let (message, help) = P::unknown_command(name)?;
    Some(Failure::new(Exit::Usage, message, help))
}

fn set_up_messages(global: Global) {
    /// Columns of an error message where stderr is not a terminal.
    const WIDTH: usize = 100;
    let is_terminal = io::stderr().is_terminal();
    let colour = !global.no_color && std::env::var_os("NO_COLOR").is_none() && is_terminal;
    let _ = miette::set_hook(Box::new(move |_| {
        let options = miette::MietteHandlerOpts::new().color(colour).context_lines(1);
        let options = if is_terminal { options } else { options.width(WIDTH) };
        Box::new(options.build())
    }));
    let default = if global.quiet { LevelFilter::ERROR } else { LevelFilter::WARN };
    let asked = std::env::var("FAIRPACE_LOG").ok().and_then(|targets| targets.parse::<Targets>().ok());
    let _ = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(|| Safe(io::stderr()))
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .finish()
        .with(asked.unwrap_or_else(|| Targets::new().with_default(default)))
        .try_init();
}

/// A writer to standard error that escapes control characters of messages.
struct Safe<W>(W);

impl<W: Write> Write for Safe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(visible(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_written_without_what_a_terminal_obeys() {
        let mut to = Safe(Vec::new());
        to.write_all("link \u{1b}[2J\u{202e}\n".as_bytes()).expect("memory takes it");
        assert_eq!(to.0, b"link \\u001b[2J\\u202e\n");
    }
}
