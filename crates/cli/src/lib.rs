//! Internal: only Fairpace's own crates use it. The program `fairpace`: it runs scenarios in the simulator
//! and on the running kernel, and loads algorithms into the kernel.
//!
//! Commands read scenarios, pass them to `fairpace-sim` or `fairpace-testbed`, and print and store the
//! results. `fairpace-kernel` loads algorithms. No command computes a metric. Each group of commands is a
//! module, whose header names them; `fairpace-cli-core` has the parts that are shared with the maintainers'
//! program `fairpace-dev`.
//!
//! This library exists for the program's own use, its tests and its documentation. It has no stable API.

#![forbid(unsafe_code)]

mod algorithms;
mod args;
mod call;
mod compare;
mod conform;
mod demo;
mod doctor;
mod evaluate;
mod import;
mod kernel;
mod new;
mod repeat;
mod scenarios;
mod service;
mod shell;
mod sim;
mod store;
mod trace;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::guest;
use fairpace_cli_core::headers::Named;
use fairpace_cli_core::host;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::place::Place;
use fairpace_cli_core::program::Program;

pub use args::Cli;
use args::Command;
use call::Call;

/// Commands of earlier versions, and the commands of `fairpace-dev` that replaced them.
const MOVED: [(&str, &str); 5] = [
    ("conformance", "run experiments/validation.toml"),
    ("duels", "run experiments/duels.toml"),
    ("model", "run FILE"),
    ("reproduce", "reproduce"),
    ("reproduce-grid", "run reproduction/bbrv3-startup-mahmud2025/grid.toml"),
];

impl Program for Cli {
    const NAME: &'static str = "fairpace";
    const GROUPS: &'static [(&'static str, &'static [&'static str])] = &[
        (
            "Experiments",
            &[
                "demo",
                "compare",
                "sim",
                "testbed",
                "scenarios",
                "evaluate",
                "new",
                "import",
                "algorithms",
                "conform",
            ],
        ),
        (
            "This machine",
            &["doctor", "load", "unload", "enable", "disable", "replace", "default", "status", "panic"],
        ),
        ("The program", &["completions", "man", "help"]),
    ];

    fn global(&self) -> Global {
        self.global
    }

    fn headers(&self) -> Vec<String> {
        let named = Named::default();
        let of_run = |named: Named, of: &args::RunArgs| named.scenario(&of.file).sets(&of.changes.sets);
        let named = match &self.command {
            Command::Sim(args) => of_run(named, &args.run),
            Command::Testbed(args) => of_run(named, args),
            Command::Compare(args) => named.names(&args.algorithms()).sets(&args.changes.sets),
            Command::Evaluate(args) => {
                let named = named.names(&args.names).names(&args.beside).sets(&args.evaluation.sets);
                args.criteria.iter().fold(named, |named, folder| named.criteria(folder))
            }
            Command::Algorithms(args) => named.names(&args.names),
            Command::Import(args) => named.names(args.cc().map_or(&[], std::slice::from_ref)),
            Command::Load(args) => named.names(&args.names),
            Command::Enable(args) => named.names(&args.load.names),
            Command::Replace(args) => named.names(&args.load.names),
            Command::Unload(args) => named.names(&args.names),
            Command::Disable(args) => named.names(&args.names),
            _ => named,
        };
        named.all()
    }

    fn perform(self, out: &mut Output) -> Result<(), Failure> {
        let global = self.global;
        match self.command {
            Command::Sim(args) => match args.repeat {
                Some(runs) => repeat::run(&args, runs, Call::begin(global, out)?),
                None => sim::run(&args, Call::begin(global, out)?),
            },
            Command::Testbed(args) => sim::file(&args, Place::Kernel, Call::begin(global, out)?),
            Command::Compare(args) => compare::run(&args, Call::begin(global, out)?),
            Command::Demo(args) => demo::run(&args, Call::begin(global, out)?),
            Command::Algorithms(args) => algorithms::run(&args, global, out),
            Command::Scenarios(args) => scenarios::run(&args, global, out),
            Command::Evaluate(args) => evaluate::run(&args, Call::begin(global, out)?),
            Command::Conform(args) => conform::run(&args, Call::begin(global, out)?),
            Command::New(args) => new::run(&args, global, out),
            Command::Import(args) => import::run(&args, global, out),
            Command::Load(args) => kernel::load(&args, Call::begin(global, out)?),
            Command::Unload(args) => kernel::unload(&args, Call::begin(global, out)?),
            Command::List => kernel::list(Call::begin(global, out)?),
            Command::Enable(args) => service::enable(&args, Call::begin(global, out)?),
            Command::Disable(args) => service::disable(&args, Call::begin(global, out)?),
            Command::Apply(args) => service::apply(&args, Call::begin(global, out)?),
            Command::Replace(args) => service::replace(&args, Call::begin(global, out)?),
            Command::Default(args) => service::default(&args, global, out),
            Command::Restore => service::restore(global, out),
            Command::Status(args) => service::status(&args, Call::begin(global, out)?),
            Command::Panic(args) => service::panic(&args, Call::begin(global, out)?),
            Command::Doctor(args) => doctor::run(&args, global, out),
            Command::Completions { shell } => shell::completions(shell, out),
            Command::Man { dir } => shell::man(dir.as_deref(), out),
            Command::Guest => guest::serve(),
        }
    }

    fn build() -> String {
        host::build()
    }

    fn unknown_command(name: &str) -> Option<(String, String)> {
        let (_, now) = MOVED.iter().find(|(moved, _)| *moved == name)?;
        Some((
            format!("`fairpace {name}` is now `fairpace-dev {now}`"),
            format!("in a checkout of the repository: cargo run --release -p fairpace-dev -- {now}"),
        ))
    }
}
