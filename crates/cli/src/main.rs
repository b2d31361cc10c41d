//! The program `fairpace`: arguments in, results out.
//!
//! It reads scenarios, hands them to the simulator (`fairpace-sim`) or the testbed (`fairpace-testbed`), shows and
//! stores what they measured, and loads algorithms into the kernel (`fairpace-kernel`). It computes nothing:
//! whatever is a number in its output was measured or defined elsewhere. What a subcommand does is in the module
//! of its name; how it ends is in `failure.rs`.

mod algorithms;
mod args;
mod batch;
mod compare;
mod conformance;
mod demo;
mod duels;
mod failure;
mod grid;
mod kernel;
mod model;
mod monitor;
mod outdir;
mod output;
mod place;
mod repeat;
mod reproduce;
mod runs;
mod shell;
mod store;
mod table;
mod target;
mod traced;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use args::{Cli, Command, Global, Place};
use failure::{Exit, Failure};
use monitor::Signals;
use output::Output;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let global = cli.global;
    set_up_messages(global);
    match perform(cli.command, global) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell(global.json);
            exit_code(failure.code())
        }
    }
}

fn exit_code(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(Exit::Internal as u8))
}

/// What clap has to say: help and version on stdout, errors as everybody else's.
fn usage(error: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os().any(|argument| argument == "--json");
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            ExitCode::SUCCESS
        }
        _ if wants_json => {
            let text = error.to_string();
            let message = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            Failure::told(Exit::Usage, message, "`fairpace --help` shows what can be written").tell(true);
            exit_code(Exit::Usage as i32)
        }
        _ => {
            let _ = error.print();
            exit_code(Exit::Usage as i32)
        }
    }
}

fn set_up_messages(global: Global) {
    let colour =
        !global.no_color && std::env::var_os("NO_COLOR").is_none() && std::io::stderr().is_terminal();
    let width = std::io::stderr().is_terminal().then_some(()).map_or(100, |()| 0);
    let _ = miette::set_hook(Box::new(move |_| {
        let options = miette::MietteHandlerOpts::new().color(colour).context_lines(1);
        let options = if width > 0 { options.width(width) } else { options };
        Box::new(options.build())
    }));
    let default = if global.quiet { "error" } else { "warn" };
    let filter =
        tracing_subscriber::EnvFilter::try_from_env("FAIRPACE_LOG").unwrap_or_else(|_| default.into());
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .try_init();
}

fn perform(command: Command, global: Global) -> Result<(), Failure> {
    let mut out = Output::new();
    let signals = || {
        Signals::catch().map_err(|error| {
            Failure::told(Exit::Internal, format!("cannot catch signals: {error}"), "please report this")
        })
    };
    match command {
        Command::Sim(args) => match args.repeat {
            Some(_) => repeat::run(&args, global, &signals()?, &mut out),
            None => runs::simulate(&args, global, &signals()?, &mut out),
        },
        Command::Testbed(args) => runs::file(&args, Place::Kernel, global, &signals()?, &mut out),
        Command::Compare(args) => runs::compare(&args, global, &signals()?, &mut out),
        Command::Duels(args) => duels::run(&args, global, &signals()?, &mut out),
        Command::Reproduce(args) => reproduce::run(&args, global, &signals()?, &mut out),
        Command::ReproduceGrid(args) => grid::run(&args, global, &signals()?, &mut out),
        Command::Conformance(args) => conformance::run(&args, global, &signals()?, &mut out),
        Command::Demo(args) => demo::run(&args, global, &signals()?, &mut out),
        Command::Model(args) => model::run(&args, global, &mut out),
        Command::Algorithms => algorithms::list(global, &mut out),
        Command::Load(args) => kernel::load(&args, global, &mut out),
        Command::Unload(args) => kernel::unload(&args, global, &mut out),
        Command::List => kernel::list(global, &mut out),
        Command::Doctor => kernel::doctor(global, &mut out),
        Command::Completions { shell } => shell::completions(shell, &mut out),
        Command::Man { dir } => shell::man(dir.as_deref(), &mut out),
    }
}
