//! Internal: only Fairpace's own crates use it. The program `fairpace-dev`: tools of fairpace's maintainers,
//! and of readers of the papers.
//!
//! It reproduces the figures of papers, compares algorithms in pairs, compares the simulator with the kernel,
//! checks random scenarios, runs the benchmarks' loads, and writes the generated pages of the documentation.
//! Most commands read or write files of the repository, so the program is not published; `fairpace` has what
//! users need. Each command is a module, whose header names it, or is in `fairpace-robustness`;
//! `fairpace-cli-core` has the parts that are shared with `fairpace`.
//!
//! The library exists for the program, its tests and its benchmark.

mod accuracy;
mod args;
mod bench_load;
mod docs;
mod kernels;
mod marked_page;
mod packetdrill;
mod quick_records;
mod run;
mod swarm;
pub mod truth;

#[cfg(test)]
#[path = "../tests/all/support/documented.rs"]
mod documented;

use std::ffi::OsString;

use clap::Parser;
use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::guest;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::program::{Program, unknown_command};
use fairpace_cli_core::signals::Signals;
use fairpace_robustness::{abuse, hostile, soak};

pub use args::Cli;
use args::Command;

/// Commands that became files of experiments, with the command that replaces each.
const MOVED: &[(&str, &str)] = &[
    ("bbq-gap", "run experiments/tables/bbq.toml"),
    ("conformance", "run experiments/validation.toml"),
    ("duels", "run experiments/duels.toml"),
    ("evaluate", "run experiments/leaderboard.toml"),
    ("level-evidence", "run research/level/evidence.toml"),
    ("level-theory", "run research/level/theory.toml"),
    ("model", "run FILE"),
    ("reproduce", "run reproduction"),
    ("reproduce-grid", "run reproduction/bbrv3-startup-mahmud2025/grid.toml"),
    ("views", "run experiments/tables/kernel-view.toml"),
];

impl Program for Cli {
    const NAME: &'static str = "fairpace-dev";

    fn global(&self) -> Global {
        self.global
    }

    fn unknown_command(name: &str) -> Option<(String, String)> {
        let (_, now) = MOVED.iter().find(|(moved, _)| *moved == name)?;
        Some((format!("`fairpace-dev {name}` is now `fairpace-dev {now}`"), "see fairpace-dev --help".into()))
    }

    fn perform(self, out: &mut Output) -> Result<(), Failure> {
        let global = self.global;
        match self.command {
            Command::Run(args) => run::run(&args, global, &Signals::catch()?, out),
            Command::Accuracy(args) => accuracy::run(&args, global, &Signals::catch()?, out),
            Command::Swarm(args) => swarm::run(&args, global, &Signals::catch()?, out),
            Command::Abuse(args) => abuse::run(&args, global, &Signals::catch()?, out),
            Command::Soak(args) => soak::run(&args, global, &Signals::catch()?, out),
            Command::Hostile(args) => hostile::run(&args, global, &Signals::catch()?, out),
            Command::Kernels(args) => kernels::run(&args, global, out),
            Command::KernelCheck(args) => kernels::check(&args, out),
            Command::BenchLoad(args) => bench_load::run(&args, global, out),
            Command::Packetdrill(args) => packetdrill::run(&args, global, out),
            Command::QuickRecords(args) => quick_records::run(&args, global, &Signals::catch()?, out),
            Command::Docs(args) => docs::run(&args, global, out),
            Command::Guest => guest::serve(),
        }
    }
}

/// Performs a command within this process, for tests: `run(&["duels", "--seeds", "1"], &mut out)`.
///
/// # Errors
/// Returns an error if the arguments are wrong, or if the command fails.
pub fn run(arguments: &[&str], out: &mut Output) -> Result<(), Failure> {
    let words = std::iter::once(Cli::NAME).chain(arguments.iter().copied()).map(OsString::from);
    let cli = Cli::try_parse_from(words).map_err(|error| {
        unknown_command::<Cli>(&error)
            .unwrap_or_else(|| Failure::new(Exit::Usage, error.to_string(), "see --help"))
    })?;
    cli.perform(out)
}
