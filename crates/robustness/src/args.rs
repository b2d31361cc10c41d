//! Arguments of the three commands. Their help and docs/reference/dev.md are generated from them.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use fairpace_scenario::quantity::parse_time;

/// Start `fairpace` thousands of times with hostile input, and judge each invocation.
///
/// No invocation may panic, crash, hang, lose a file of the user, leave one of its own, print control
/// characters, or end with an exit code that does not fit. Each runs in a directory of its own that
/// goes away. Violations are grouped; the exit code is 1 if there are any. With --index one invocation
/// is shown in full.
#[derive(Debug, Clone, Args)]
pub struct AbuseArgs {
    /// The seed of all invocations: the same seed, the same invocations.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// End after this many invocations.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// End after this time; without --count by default 2min.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) time: Option<Duration>,
    /// Invocations at a time; by default one for each core. It does not change which there are.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Only invocations of this class.
    #[arg(long, value_enum, value_name = "CLASS")]
    pub(crate) only: Option<AbuseClass>,
    /// Replay this invocation of the class: print its files, its command and its output.
    #[arg(long, value_name = "I", requires = "only", conflicts_with_all = ["count", "time", "jobs"])]
    pub(crate) index: Option<u64>,
    /// The program; by default `fairpace` beside this one.
    #[arg(long, value_name = "FILE")]
    pub(crate) program: Option<PathBuf>,
    /// How long an invocation may take. Beyond it, one that computes may go on until it has computed for
    /// that long.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    pub(crate) limit: Duration,
}

/// Load, replace and take out algorithms while many connections send checked data.
///
/// Every fourth command is killed at a random moment. In the end every byte must have arrived, the
/// kernel's log must be clean, and nothing may be left. Needs root; two hosts of its own, in network
/// namespaces, are all that it touches.
#[derive(Debug, Clone, Args)]
pub struct SoakArgs {
    /// How long commands are given; with --reordering, how long each algorithm runs.
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = parse_time)]
    pub(crate) time: Duration,
    /// Connections at a time; by default 1000, with --reordering 100.
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<usize>,
    /// The seed of all choices. What they meet depends on the machine, too.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// The program; by default `fairpace` beside this one.
    #[arg(long, value_name = "FILE")]
    pub(crate) program: Option<PathBuf>,
    /// Give no commands: run each algorithm alone over a path on which packets overtake each other, and look
    /// at cwnd on each ACK.
    #[arg(long, conflicts_with_all = ["seed", "program"])]
    pub(crate) reordering: bool,
    /// The algorithms of --reordering; by default all.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', requires = "reordering")]
    pub(crate) cc: Vec<String>,
}

/// A class of hostile invocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum AbuseClass {
    /// Every scenario key with every hostile value, in the file and by --set.
    Keys,
    /// Scenario files, traces and distributions that are damaged, or no files.
    Files,
    /// Every subcommand with random options.
    Arguments,
    /// --out onto files of the user, also such that appear during the run.
    Out,
    /// Closed descriptors, full devices, odd variables, low limits, no /proc.
    Environment,
    /// Signals at random moments, one or two.
    Signals,
    /// Load and unload, in races and killed; only as root.
    Kernel,
}

impl AbuseClass {
    /// As --only has it.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// Run flows of hostile headers on the running kernel: algorithms that decide what none should.
///
/// A number is a header: the first twelve decide 0, 1, 2^32 - 1 and 2^31 - 2 in each call, for each kind
/// of algorithm, all others random values from their number as a seed. Every flow must go on, the
/// kernel's log must be clean, and nothing may be left. Needs root, BTF, and clang unless --objects names
/// what --write has written; two hosts of its own, in network namespaces, are all that it touches.
#[derive(Debug, Clone, Args)]
pub struct HostileArgs {
    /// The number of the first header.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) first: u32,
    /// Headers, one after the other.
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) count: u32,
    /// Flows of each at a time.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) flows: usize,
    /// How long each runs.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_time)]
    pub(crate) time: Duration,
    /// Take the objects of this folder instead of compiling.
    #[arg(long, value_name = "DIR")]
    pub(crate) objects: Option<PathBuf>,
    /// Run nothing: write headers and objects to this folder, for a machine without clang.
    #[arg(long, value_name = "DIR", conflicts_with = "objects")]
    pub(crate) write: Option<PathBuf>,
    /// Apply decisions as they are, and end with a header that must make a kernel warn: for a look at what
    /// the bounds prevent.
    #[arg(long)]
    pub(crate) without_clamps: bool,
}
