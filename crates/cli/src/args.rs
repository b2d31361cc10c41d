//! The command line of `fairpace`. Help, completions, man pages and docs/reference/cli.md are generated
//! from it.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{EnumValueParser, StringValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use fairpace_cli_core::args::{Global, Jobs, PathArgs, Trimmed};
use fairpace_cli_core::beside;
use fairpace_cli_core::failure::{EXIT_CODES, Exit, Failure};
use fairpace_cli_core::place::{Emulator, Place, parse_place};
use fairpace_cli_core::result_dir::ResultDir;
use fairpace_cli_core::virtual_time::Wanted;
use fairpace_experiment::evaluation::EvaluationArgs;
use fairpace_experiment::quick::ALGORITHMS;
use fairpace_kernel::Walk;
use fairpace_results::Record;
use fairpace_scenario::Set;
use fairpace_scenario::quantity::{Dimension, NotAQuantity, parse, parse_time};

use crate::import::ImportArgs;

/// The configuration, unless `--config` names another one.
const CONFIG_PATH: &str = "/etc/fairpace/fairpace.toml";

/// Simulate congestion control algorithms, load them into the running kernel, and measure them.
#[derive(Debug, Parser)]
#[command(name = "fairpace", version, max_term_width = 110, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario in the simulator, once or with several seeds.
    Sim(SimArgs),
    /// Run a scenario with real TCP flows of the running kernel through an emulated bottleneck.
    ///
    /// Needs root and /dev/net/tun; fairpace's own algorithms also need BTF (see `fairpace doctor`). It
    /// takes as long as the scenario lasts. It removes its network namespaces and algorithms when it ends
    /// or is interrupted.
    Testbed(RunArgs),
    /// Run several algorithms on the same path, one run per algorithm.
    ///
    /// Each run has one flow per RTT. Flows start one after the other and are measured from the warm-up to
    /// the end.
    Compare(CompareArgs),
    /// Show a problem and a fix: the first experiment of the BBQ paper, simulated and on the running
    /// kernel.
    ///
    /// Two flows with RTTs of 10 and 50 ms share 100 Mbit/s and a 2 MB FIFO; the second starts 5 s later.
    /// They run bbr1, bbq and level in the simulator, then the same and the kernel's own bbr as real flows, a
    /// minute each. LEVEL is not from the paper: it is an experiment of this project. Runs that this machine
    /// cannot do are skipped and listed.
    Demo(DemoArgs),
    /// List the algorithms, or show one with its parameters.
    Algorithms(AlgorithmsArgs),
    /// List the scenarios that the program contains, or print one.
    ///
    /// `fairpace sim NAME` and `fairpace testbed NAME` run them. A file of that name goes before.
    Scenarios(ScenariosArgs),
    /// Write the header of an algorithm of your own to begin with: NAME.h in this folder.
    ///
    /// Its path stands for an algorithm then, wherever a name does: `--cc ./NAME.h,bbr3`, `load ./NAME.h`,
    /// or `cc = "./NAME.h"` in a scenario. It is compiled when it is used (needs clang), and nothing else has
    /// to be built.
    New(NewArgs),
    /// Write a scenario or a record from the files of another tool: tc, Mahimahi, CSV, iperf3, flent.
    ///
    /// Links become scenarios, and results become records, which `sim`, `testbed` and `compare` show beside
    /// their runs (--with). What cannot be translated is an error that names line and key; what differs
    /// harmlessly is a warning.
    Import(ImportArgs),
    /// Measure algorithms against criteria: how many cases pass in which flows are to be fair, fast and kind.
    ///
    /// The contained criteria follow RFC 9743: flows of one algorithm alone, beside others, on ordinary and
    /// on special paths; then what papers ask since, and the criteria of LEVEL. All of it takes minutes,
    /// --quick less than one. Finished runs are kept, so that the same command goes on after an interruption.
    Evaluate(EvaluateArgs),
    /// Check an implementation of BBR against the 22 test cases of draft-ietf-ccwg-bbr-06.
    ///
    /// It starts your adaptor once for each case and speaks JSON Lines with it over stdin and stdout:
    /// what is sent, acknowledged and lost on a simulated path, answered by cwnd and pacing rate.
    /// `fairpace conform --list` lists the cases. The exit code is 7 if a case fails.
    Conform(ConformArgs),
    /// Load algorithms into the running kernel, where every socket can select them.
    ///
    /// They stay until `fairpace unload` or a reboot. Names begin with `fp_` (`bbq` becomes `fp_bbq`), so
    /// that they never replace an algorithm of the kernel.
    Load(LoadArgs),
    /// Remove algorithms from the running kernel.
    ///
    /// Sockets that use one keep it until they close. If it is the default
    /// (net.ipv4.tcp_congestion_control), choose another default first; otherwise new sockets still get it.
    Unload(UnloadArgs),
    /// List the algorithms that are loaded into the running kernel.
    #[command(hide = true)]
    List,
    /// Load algorithms now and at every boot; with --default they also become the default.
    ///
    /// The kernel is changed first, then /etc/fairpace/fairpace.toml, which `fairpace apply` reads at boot.
    /// An algorithm that is loaded with other parameters is replaced, see `fairpace replace`.
    Enable(EnableArgs),
    /// Take algorithms out of the kernel and out of the configuration.
    ///
    /// If one of them is the default of this network namespace, the default from before comes back. Sockets
    /// that use one keep it until they close.
    Disable(DisableArgs),
    /// Make the kernel as /etc/fairpace/fairpace.toml says. The boot service runs it.
    ///
    /// It loads what is missing, replaces what has other parameters, sets the default and reads it back. It
    /// takes nothing out of the kernel.
    #[command(hide = true)]
    Apply(ApplyArgs),
    /// Replace the code or parameters of loaded algorithms, without a moment in which they are not there.
    ///
    /// New sockets get the new one; open ones keep the old until they close. Needs Linux 6.4 or later.
    Replace(ReplaceArgs),
    /// Choose the default congestion control of this network namespace, until the next boot.
    ///
    /// NAME is one of `fairpace algorithms`, or any that the kernel offers; `cubic` and `reno` are ours where
    /// that is loaded. Other network namespaces (containers) keep theirs.
    Default(DefaultArgs),
    /// Bring back the default that this network namespace had before ours.
    #[command(hide = true)]
    Restore,
    /// Show what is loaded, which sockets use it, the defaults, and what the next boot will do.
    Status(ConfigArgs),
    /// Take everything of ours out, now: restore all defaults, move live sockets to cubic, unload.
    ///
    /// It visits every network namespace that it finds, goes on when a part fails, and says what it could not
    /// do. Listeners that never chose an algorithm are left alone: what they accept has the default. The
    /// configuration stays as it is.
    Panic(PanicArgs),
    /// Check what this kernel and machine can do, and explain how to fix what is missing.
    ///
    /// It also says what will surprise: a default in sysctl.d, other programs that select algorithms, queues
    /// without pacing, buffers that are too small. The exit code is 3 if algorithms cannot be loaded.
    Doctor(DoctorArgs),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the man page, or write the pages of all subcommands to a directory.
    Man {
        /// The directory of the pages.
        dir: Option<PathBuf>,
    },
    /// Be the first process of a kernel in virtual time, which `--on virtual` boots.
    #[command(hide = true)]
    Guest,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct AlgorithmsArgs {
    /// Show these with their parameters, or headers of your own (./mine.h).
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ScenariosArgs {
    #[command(subcommand)]
    pub(crate) what: Option<ScenariosCommand>,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ScenariosCommand {
    /// Print the file of a scenario.
    Show {
        /// A name from `fairpace scenarios`.
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Debug, Clone, Args)]
pub(crate) struct NewArgs {
    /// The name: 1 to 12 characters, a letter first, then a-z A-Z 0-9 _.
    #[arg(required_unless_present = "contract")]
    pub(crate) name: Option<String>,
    /// Print what an algorithm reads, writes and may not do, instead.
    #[arg(long, conflicts_with = "name")]
    pub(crate) contract: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct EvaluateArgs {
    /// The algorithms: names from `fairpace algorithms`, or headers of your own (./mine.h).
    #[arg(required = true, value_name = "ALGORITHM")]
    pub(crate) names: Vec<String>,
    /// Measure these as well, to compare with; `none` for no others.
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        value_parser = Trimmed(StringValueParser::new()),
        default_values = ALGORITHMS
    )]
    pub(crate) beside: Vec<String>,
    #[command(flatten)]
    pub(crate) evaluation: EvaluationArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// A folder of criteria, in place of those that the program contains.
    #[arg(long, value_name = "DIR")]
    pub(crate) criteria: Option<PathBuf>,
    /// Write report.html, evaluation.json and NAME.md for each algorithm to this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ConformArgs {
    /// Only these cases, such as A.7,A.20.
    #[arg(
        long = "case",
        value_name = "CASE,...",
        value_delimiter = ',',
        value_parser = Trimmed(StringValueParser::new())
    )]
    pub(crate) cases: Vec<String>,
    /// List the cases, and run none.
    #[arg(long, conflicts_with_all = ["cc", "adaptor"])]
    pub(crate) list: bool,
    /// Check one of our own algorithms, without an adaptor.
    #[arg(long, value_name = "NAME", conflicts_with = "adaptor")]
    pub(crate) cc: Option<String>,
    /// Write all lines of one case and their answers to this file, in the order in which they were exchanged.
    #[arg(long, value_name = "FILE", requires = "cases")]
    pub(crate) record: Option<PathBuf>,
    /// An adaptor that does not answer within this time is ended.
    #[arg(
        long = "answer-within",
        allow_hyphen_values = true,
        value_name = "TIME",
        default_value = "10s",
        value_parser = parse_time
    )]
    pub(crate) answer_within: Duration,
    /// The adaptor and its arguments, after `--`.
    #[arg(last = true, value_name = "ADAPTOR", required_unless_present_any = ["list", "cc"])]
    pub(crate) adaptor: Vec<String>,
}

/// Changes of a run, and where its results go.
#[derive(Debug, Clone, Args)]
pub(crate) struct Changes {
    /// Change a key of the scenario, or a parameter of an algorithm; repeatable.
    ///
    /// KEY is `duration`, `window.from`, `link.rate`, `link.NAME.rate`, `flow.cc`, `flow.NAME.cc` or the
    /// like, or ALGORITHM.PARAMETER: `--set duration=30s --set bbq.alpha=3ms`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<Set>,
    /// Seed of all random numbers; the same as `--set seed=SEED`.
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) seed: Option<String>,
    /// Write the results to this directory: summary.json, scenario.toml, report.html, and the time
    /// series in flows.csv, links.csv and backlog.csv.
    ///
    /// All files appear in one step when the run is over. An earlier result is replaced unless it was
    /// changed; a directory that holds other files is refused.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Show the record of another program beside the runs, in the report too; repeatable.
    ///
    /// `fairpace import iperf3` and `fairpace import flent` write records.
    #[arg(long = "with", value_name = "RECORD")]
    pub(crate) with: Vec<PathBuf>,
}

impl Changes {
    /// The records of `--with`.
    pub(crate) fn records(&self) -> Result<Vec<Record>, Failure> {
        beside::read(&self.with)
    }

    /// `--set` and `--seed`.
    pub(crate) fn all_sets(&self) -> Vec<Set> {
        let seed = self.seed.as_ref().map(|seed| Set::argument("--seed", "seed", seed));
        self.sets.iter().cloned().chain(seed).collect()
    }

    /// The directory of `--out`, checked before the run.
    pub(crate) fn out_dir(&self) -> Result<Option<ResultDir>, Failure> {
        self.out.as_deref().map(ResultDir::prepare).transpose()
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// The scenario: a TOML file, or a name from `fairpace scenarios`.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) changes: Changes,
}

/// Where to run.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlaceArgs {
    /// Where to run; by default in the simulator, and `testbed` on the running kernel.
    ///
    /// `virtual` boots a kernel whose time no load of this machine can disturb, and needs no root: User-mode
    /// Linux if it is there, else QEMU. `evaluate` simulates the cases that real flows
    /// can show, and runs them on the kernel as well: on the running one in 15 minutes for an algorithm.
    #[arg(long, value_parser = parse_place())]
    on: Option<Place>,
    /// Series of the kernel in virtual time, such as 6.12, which runs in QEMU; by default the newest one that
    /// was fetched.
    #[arg(long, value_name = "SERIES")]
    kernel: Option<String>,
}

impl PlaceArgs {
    /// The place, where none is named `usual`.
    pub(crate) fn place(&self, usual: Place) -> Result<Place, Failure> {
        let place = self.on.unwrap_or(usual);
        match &self.kernel {
            Some(_) if !matches!(place, Place::Virtual(_)) => {
                let help = "add --on virtual; the running kernel is the one that it is";
                Err(Failure::new(Exit::Usage, "--kernel chooses a kernel in virtual time", help))
            }
            _ => Ok(place),
        }
    }

    /// The series of the kernel in virtual time.
    pub(crate) fn series(&self) -> Option<&str> {
        self.kernel.as_deref()
    }

    /// The kernel in virtual time, in this emulator.
    pub(crate) fn wanted(&self, emulator: Option<Emulator>) -> Wanted<'_> {
        Wanted { emulator, series: self.series() }
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct SimArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Run it N times, with the scenario's seed and the N - 1 numbers after it: means with 95 % confidence
    /// intervals.
    ///
    /// With --out, DIR gets repeat.json and runs.csv too, summary.json is an array, and there are no time
    /// series.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) repeat: Option<u32>,
    /// Runs at a time; by default one for each core. It does not change the results.
    #[arg(long, value_name = "J", requires = "repeat")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Record traces for other tools in the directory of --out.
    #[arg(
        long,
        value_parser = Trimmed(EnumValueParser::<TraceKind>::new()),
        value_name = "KIND,...",
        value_delimiter = ',',
        requires = "out",
        conflicts_with = "repeat"
    )]
    pub(crate) trace: Vec<TraceKind>,
    /// Record the headers of packets that arrive at these links, and of their ACKs, as LINK.pcapng in the
    /// directory of --out.
    #[arg(
        long,
        value_name = "LINK,...",
        value_delimiter = ',',
        value_parser = Trimmed(StringValueParser::new()),
        requires = "out",
        conflicts_with = "repeat"
    )]
    pub(crate) pcap: Vec<String>,
}

/// A kind of trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceKind {
    /// flows.parquet, links.parquet, backlog.parquet: the time series, at the scenario's `interval`.
    Series,
    /// events.parquet: phases, recovery, drops, losses, marks, timeouts, completions.
    Events,
    /// FLOW.sqlog: the algorithm's variables whenever they change, as qlog.
    Qlog,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CompareArgs {
    /// One run for each of these algorithms, or headers of your own (./mine.h), or variants with other
    /// parameters (bbr3:beta=0.5); with `--on kernel` and `--on virtual` also kernel:NAME, one of the
    /// kernel's own algorithms.
    #[arg(value_name = "NAME", required_unless_present = "cc")]
    pub(crate) names: Vec<String>,
    /// The same as a list.
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        value_parser = Trimmed(StringValueParser::new())
    )]
    pub(crate) cc: Vec<String>,
    #[command(flatten)]
    pub(crate) path: PathArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    #[command(flatten)]
    pub(crate) changes: Changes,
}

impl CompareArgs {
    /// The algorithms: those of `--cc`, then those without an option.
    pub(crate) fn algorithms(&self) -> Vec<String> {
        let named = self.names.iter().flat_map(|names| names.split(',')).map(|name| name.trim().to_owned());
        self.cc.iter().cloned().chain(named.filter(|name| !name.is_empty())).collect()
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// Directory of the report and the results.
    #[arg(long, value_name = "DIR", default_value = "out/demo")]
    pub(crate) out: PathBuf,
    /// Length of each run; the paper's values are for 60s.
    #[arg(
        long,
        allow_hyphen_values = true,
        value_name = "TIME",
        default_value = "60s",
        value_parser = parse_time
    )]
    pub(crate) duration: Duration,
    /// Only simulate.
    #[arg(long)]
    pub(crate) sim_only: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct LoadArgs {
    /// Names from `fairpace algorithms`, or headers of your own: ./mine.h.
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Set a parameter: ALGORITHM.PARAMETER=VALUE, or PARAMETER=VALUE when one algorithm is loaded;
    /// repeatable.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Append this to the name in the kernel, to load one algorithm with several settings.
    #[arg(long, allow_hyphen_values = true, default_value = "")]
    pub(crate) suffix: String,
}

/// Where the configuration is.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigArgs {
    /// The configuration.
    #[arg(long = "config", value_name = "FILE", default_value = CONFIG_PATH)]
    pub(crate) path: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct DoctorArgs {
    /// Judge the buffers for one flow on this path, such as 1gbit,100ms.
    #[arg(long, value_name = "RATE,RTT", value_parser = parse_path)]
    pub(crate) path: Option<PathArg>,
}

/// A path that a flow takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathArg {
    pub(crate) rate_bit_per_s: u64,
    pub(crate) rtt: Duration,
}

fn parse_path(text: &str) -> Result<PathArg, String> {
    let (rate, rtt) = text.split_once(',').ok_or("write it as RATE,RTT, such as 1gbit,100ms")?;
    let problem = |error: NotAQuantity| format!("{}; {}", error.message, error.help);
    let rate_bit_per_s = parse(rate.trim(), Dimension::Rate).map_err(problem)?;
    Ok(PathArg { rate_bit_per_s, rtt: parse_time(rtt.trim()).map_err(problem)? })
}

#[derive(Debug, Clone, Args)]
pub(crate) struct EnableArgs {
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    /// Make the first of them the default of this network namespace, now and at every boot.
    #[arg(long)]
    pub(crate) default: bool,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct DisableArgs {
    /// Names from `fairpace algorithms` or `fairpace status`.
    #[arg(required_unless_present = "all", value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// All algorithms of the configuration.
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ApplyArgs {
    /// Replace also what is loaded with the same parameters: this program may have newer code.
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct PanicArgs {
    /// Move listeners that never chose an algorithm, too, which frees the one that they keep: they do not
    /// follow the default until their services restart.
    #[arg(long)]
    pub(crate) free: bool,
    /// How to find sockets. By default by the kernel's version: a walk over all sockets can panic some (see
    /// `fairpace doctor`).
    #[arg(long, value_enum)]
    pub(crate) walk: Option<WalkArg>,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// How to find sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WalkArg {
    /// By the kernel's own lists.
    Iterator,
    /// By the descriptors of processes, which not every socket has.
    Descriptors,
}

impl From<WalkArg> for Walk {
    fn from(walk: WalkArg) -> Walk {
        match walk {
            WalkArg::Iterator => Walk::Iterator,
            WalkArg::Descriptors => Walk::Descriptors,
        }
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ReplaceArgs {
    #[command(flatten)]
    pub(crate) load: LoadArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct DefaultArgs {
    /// A name from `fairpace algorithms`, or one of the kernel's own.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct UnloadArgs {
    /// Names from `fairpace algorithms` or `fairpace list`.
    #[arg(required_unless_present = "all", value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// All algorithms that `fairpace load` has loaded.
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
}
