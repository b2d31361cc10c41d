//! The command line, as clap sees it. Help, completions, man pages and docs/reference/cli.md come from here.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use fairpace_scenario::quantity::{self, NotAQuantity};
use fairpace_scenario::{NotASet, Set, Target};

/// Fair, fast congestion control: simulate it, load it into the running kernel, measure it.
#[derive(Debug, Parser)]
#[command(name = "fairpace", version, max_term_width = 110, after_help = crate::failure::EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What holds for every subcommand.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Global {
    /// Print JSON to stdout, and errors as one JSON object to stderr.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No progress and no notes, only results and errors.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// No colours; the environment variable NO_COLOR does the same.
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario in the simulator, once or with several seeds.
    Sim(SimArgs),
    /// Run a scenario with real TCP flows of the running kernel through an emulated bottleneck.
    ///
    /// Needs root and /dev/net/tun; fairpace's own algorithms also need BTF (see `fairpace doctor`). It takes
    /// as long as the scenario lasts, and leaves nothing behind, also when it is interrupted.
    Testbed(RunArgs),
    /// Run several algorithms, each by itself, on the same path.
    ///
    /// One flow per RTT, started one after the other, measured from the warm-up to the end.
    Compare(CompareArgs),
    /// Let every algorithm meet every other one, and itself, on one link in the simulator.
    ///
    /// Two flows with the same RTT; each pair meets in both orders, several times, at several buffers. Prints a
    /// page of tables: shares, loss, queue delay.
    Duels(DuelsArgs),
    /// Run what the papers report, and hold our numbers against theirs.
    ///
    /// Figures are folders of `reproduction/`. Results go to its folder `results`, REPRODUCTION.md beside it is written anew,
    /// `gallery.html` in it shows all, and each open question has a page in its own folder. Finished simulations are kept in its
    /// folder `.cache`: after an interruption the same command goes on where it was.
    Reproduce(ReproduceArgs),
    /// Make the 972 runs of "BBRv3 Startup Behavior" (Mahmud et al., 2025) in the simulator, as many as there is time for.
    ///
    /// A finished run is a row of the table at once; the same command goes on where an earlier one ended, by Ctrl-C too.
    ReproduceGrid(GridArgs),
    /// Run scenarios in the simulator and on the running kernel, and say whether both agree.
    ///
    /// Needs what `testbed` needs, and a quiet machine. The simulator takes part with several seeds, the kernel with
    /// several runs; prints a page with both, the difference, and a verdict.
    #[command(hide = true)]
    Conformance(ConformanceArgs),
    /// Show a problem and a fix: the first experiment of the BBQ paper, simulated and on the running kernel.
    ///
    /// 100 Mbit/s, a 2 MB FIFO, flows with RTTs of 10 and 50 ms, the second 5 s later. What this machine
    /// cannot do is skipped, and said.
    Demo(DemoArgs),
    /// Evaluate a paper's model of how BBR flows share a link: equations, not packets.
    ///
    /// Without a model, or with --list, it lists them with their arguments. Curves are in the output of --json.
    Model(ModelArgs),
    /// List the algorithms with their parameters.
    Algorithms,
    /// Load algorithms into the running kernel, where every socket can select them.
    ///
    /// They stay until `fairpace unload` or a reboot. A name of the kernel is never replaced: `bbq` becomes
    /// `fp_bbq`.
    Load(LoadArgs),
    /// Take algorithms out of the running kernel.
    ///
    /// Sockets that use one go on using it until they close. Where it is the default (net.ipv4.tcp_congestion_control),
    /// choose another one first: else new sockets use it still.
    Unload(UnloadArgs),
    /// List what is loaded into the running kernel.
    List,
    /// Say what this kernel can do, what is missing, and what to do about it.
    Doctor,
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        shell: Shell,
    },
    /// Print the man page, or write the pages of all subcommands to a directory.
    Man {
        /// Where to write them.
        dir: Option<PathBuf>,
    },
}

/// What can be changed about a run, and where its results go.
#[derive(Debug, Clone, Args)]
pub(crate) struct Changes {
    /// Change a key of the scenario, or a parameter of an algorithm; repeatable.
    ///
    /// KEY is `duration`, `window.from`, `link.rate`, `link.NAME.rate`, `flow.cc`, `flow.NAME.cc` or the like, or
    /// ALGORITHM.PARAMETER: `--set duration=30s --set bbq.alpha=3ms`.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_set)]
    pub(crate) sets: Vec<Set>,
    /// Source of all randomness; the same as `--set seed=SEED`.
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) seed: Option<String>,
    /// Write the results to this directory: summary.json, series.csv, scenario.toml, report.html.
    ///
    /// They appear all at once, when all is written. An earlier result there is replaced; a directory with
    /// anything else in it is refused.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// The scenario, a TOML file.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) changes: Changes,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct SimArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Run it N times, with the scenario's seed and the N - 1 numbers after it: means with 95 % confidence intervals.
    ///
    /// With --out, DIR gets repeat.json and runs.csv too, summary.json is an array, and there is no series.csv.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) repeat: Option<u32>,
    /// How many of these runs at a time; else one for each core. It does not change the results.
    #[arg(long, value_name = "J", requires = "repeat")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Record more of what happens, for other tools, in the directory of --out.
    #[arg(
        long,
        value_enum,
        value_name = "KIND,...",
        value_delimiter = ',',
        requires = "out",
        conflicts_with = "repeat"
    )]
    pub(crate) trace: Vec<TraceKind>,
    /// Record the packet headers that come to these links, and the ACKs that answer them, as LINK.pcapng in the directory of --out.
    #[arg(long, value_name = "LINK,...", value_delimiter = ',', requires = "out", conflicts_with = "repeat")]
    pub(crate) pcap: Vec<String>,
}

/// What can be recorded beside packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceKind {
    /// flows.parquet, links.parquet, backlog.parquet: the time series, at the scenario's `interval`.
    Series,
    /// events.parquet: phases, recovery, drops, losses, marks, timeouts, completions.
    Events,
    /// FLOW.sqlog: the algorithm's variables at each change, as qlog.
    Qlog,
}

/// Where flows run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Place {
    /// The simulator.
    Sim,
    /// The running kernel, on the testbed.
    Kernel,
}

impl Place {
    /// What scenarios are checked for.
    pub(crate) const fn target(self) -> Target {
        match self {
            Self::Sim => Target::Simulator,
            Self::Kernel => Target::Testbed,
        }
    }

    /// For people.
    pub(crate) const fn explained(self) -> &'static str {
        match self {
            Self::Sim => "simulated",
            Self::Kernel => "on the kernel",
        }
    }

    /// The subcommand that runs a file there.
    pub(crate) const fn command(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Kernel => "testbed",
        }
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CompareArgs {
    /// Rate of the link, such as 100mbit.
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) rate: String,
    /// Its buffer, such as 2MB, or 1.5bdp of the longest RTT.
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) buffer: String,
    /// One flow for each of these RTTs.
    #[arg(long, allow_hyphen_values = true, value_name = "RTT,...", value_delimiter = ',', required = true)]
    pub(crate) rtt: Vec<String>,
    /// One run for each of these algorithms; with `--on kernel` also kernel:NAME, one of the kernel's own.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', required = true)]
    pub(crate) cc: Vec<String>,
    /// Length of each run.
    #[arg(long, allow_hyphen_values = true, default_value = "60s")]
    pub(crate) duration: String,
    /// Each flow starts this much after the one before.
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "5s", value_parser = parse_time)]
    pub(crate) stagger: Duration,
    /// Measure from here to the end.
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "20s")]
    pub(crate) warmup: String,
    /// Where to run.
    #[arg(long, value_enum, default_value_t = Place::Sim)]
    pub(crate) on: Place,
    #[command(flatten)]
    pub(crate) changes: Changes,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct DuelsArgs {
    /// Only these algorithms; else all.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) cc: Vec<String>,
    /// Rate of the link.
    #[arg(long, allow_hyphen_values = true, default_value = "100mbit")]
    pub(crate) rate: String,
    /// RTT of both flows.
    #[arg(long, allow_hyphen_values = true, default_value = "20ms")]
    pub(crate) rtt: String,
    /// Buffers of the link: all duels at each of them.
    #[arg(
        long,
        allow_hyphen_values = true,
        value_name = "SIZE,...",
        value_delimiter = ',',
        default_value = "0.5bdp,1bdp,4bdp"
    )]
    pub(crate) buffer: Vec<String>,
    /// Length of each simulation.
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "60s")]
    pub(crate) duration: String,
    /// Measure from here to the end.
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "20s")]
    pub(crate) warmup: String,
    /// The second flow starts this much after the first; in the last repetition almost twice as much.
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "1s", value_parser = parse_time)]
    pub(crate) stagger: Duration,
    /// Repeat each duel, in each order, with so many seeds and starts of the second flow.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: u32,
    /// The first of these seeds.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Change a parameter of an algorithm, or a key of all scenarios; repeatable.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_set)]
    pub(crate) sets: Vec<Set>,
    /// How many simulations at a time; else one for each core. It does not change the results.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Write the tables to this Markdown page, between its marks, instead of to stdout; what else it says stays.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ReproduceArgs {
    /// Only these papers or figures; else all.
    #[arg(value_name = "PAPER[/FIGURE]")]
    pub(crate) figures: Vec<String>,
    /// Where to run.
    #[arg(long, value_enum, default_value_t = Place::Sim)]
    pub(crate) on: Place,
    /// The quick version of each figure, with one seed: only its verdict is recorded, in results/short.json.
    #[arg(long, conflicts_with = "list")]
    pub(crate) short: bool,
    /// How many simulations at a time; else one for each core. It does not change the results.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Run everything again, also what has been run by this very program.
    #[arg(long, conflicts_with = "list")]
    pub(crate) fresh: bool,
    /// Run nothing: list the figures with what is on record of them, and what it cost in seconds of one core.
    #[arg(long)]
    pub(crate) list: bool,
    /// Run nothing: write REPRODUCTION.md, the gallery and the open questions' pages from what is on record.
    #[arg(long, conflicts_with_all = ["list", "short", "fresh", "figures"])]
    pub(crate) page: bool,
    /// The folder of the papers.
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct GridArgs {
    /// The table, CSV. That of the flows lies beside it: `grid-flows.csv`.
    #[arg(long, value_name = "FILE", default_value = "reproduction/bbrv3-startup-mahmud2025/grid.csv")]
    pub(crate) table: PathBuf,
    /// Only runs with these values in a column (pair, queue, buffer, rate, rtt): rate=1gbit, rtt=35ms,145ms; repeatable.
    #[arg(long, value_name = "COLUMN=VALUE,...")]
    pub(crate) only: Vec<String>,
    /// Length of each run; runs of another length are other rows.
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "150s", value_parser = parse_time)]
    pub(crate) duration: Duration,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Make each run with so many seeds.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: u32,
    /// Make runs again that are in the table.
    #[arg(long)]
    pub(crate) again: bool,
    /// Make none; say how many are in the table.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Then write all of the table, a row per flow, to this Parquet file.
    #[arg(long, value_name = "FILE")]
    pub(crate) parquet: Option<PathBuf>,
    /// How many simulations at a time; else one for each core. It does not change the results.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ConformanceArgs {
    /// Scenario files, or folders of them.
    #[arg(value_name = "FILE", default_value = "conformance")]
    pub(crate) files: Vec<PathBuf>,
    /// Runs of each scenario on the kernel.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) runs: u32,
    /// Simulations of each scenario.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: u32,
    /// Keep undisturbed runs on the kernel in this folder, and do not repeat those that are there: to go on after an
    /// interruption, or on another day when the machine was too busy.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Write the tables to this Markdown page, between its marks, instead of to stdout; what else it says stays.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// Where the report and the results go.
    #[arg(long, value_name = "DIR", default_value = "out/demo")]
    pub(crate) out: PathBuf,
    /// Length of each run; the paper's values need 60s.
    #[arg(long, allow_hyphen_values = true, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    pub(crate) duration: Duration,
    /// Only simulate, though this machine could do more.
    #[arg(long)]
    pub(crate) sim_only: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct LoadArgs {
    /// Names from `fairpace algorithms`.
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Set a parameter: ALGORITHM.PARAMETER=VALUE, or PARAMETER=VALUE when one algorithm is loaded; repeatable.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Append this to the kernel's name, so that one algorithm can be loaded with several settings.
    #[arg(long, allow_hyphen_values = true, default_value = "")]
    pub(crate) suffix: String,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct UnloadArgs {
    /// Names from `fairpace algorithms` or `fairpace list`.
    #[arg(required_unless_present = "all", value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Everything that `fairpace load` has loaded.
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ModelArgs {
    /// Which model.
    pub(crate) family: Option<ModelFamily>,
    /// Which of its forms.
    #[arg(long, value_enum, default_value_t = ModelForm::Simulation)]
    pub(crate) form: ModelForm,
    /// Give an argument a value, a plain number in the unit that ends its name; repeatable: `--set rtt0_ms=20`.
    #[arg(long = "set", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    pub(crate) sets: Vec<String>,
    /// List all models, with arguments, ranges and results.
    #[arg(long)]
    pub(crate) list: bool,
}

/// A paper's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelFamily {
    /// Two phases of multiplicative increase and decrease (Zhang et al., 2018).
    Mimd,
    /// Shares by what is in flight (Tao et al., 2018).
    Queueing,
}

impl ModelFamily {
    /// As in the names of models.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Mimd => "mimd",
            Self::Queueing => "queueing",
        }
    }
}

/// How a model is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelForm {
    /// Its equations as printed, with their slips.
    Literal,
    /// What they come to without the slips.
    Corrected,
    /// The fluid that they describe, in continuous time.
    Simulation,
    /// Only of `queueing`: the largest ratio of RTTs that the simulation survives.
    Threshold,
}

impl ModelForm {
    /// As in the names of models.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Literal => "literal",
            Self::Corrected => "corrected",
            Self::Simulation => "simulation",
            Self::Threshold => "threshold",
        }
    }
}

fn parse_set(text: &str) -> Result<Set, NotASet> {
    text.parse()
}

fn parse_time(text: &str) -> Result<Duration, NotAQuantity> {
    quantity::parse_time(text)
}
