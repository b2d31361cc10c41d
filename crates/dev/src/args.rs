//! The command line of `fairpace-dev`. Its help and docs/reference/dev.md are generated from it.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use fairpace_cli_core::args::{Global, Jobs, from_one_to};
use fairpace_cli_core::failure::{EXIT_CODES, Failure};
use fairpace_cli_core::place::{Place, parse_place};
use fairpace_packetdrill::Mutant;
use fairpace_robustness::args::{AbuseArgs, HostileArgs, SoakArgs};

use crate::marked_page::{MarkedPage, Page};

mod kernels;

pub(crate) use kernels::{KernelCheckArgs, KernelsArgs};

/// Tools of fairpace's maintainers, and of readers of the papers. They work on a checkout of the repository.
#[derive(Debug, Parser)]
#[command(name = "fairpace-dev", version, max_term_width = 110, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an experiment: a file that says what is simulated and which numbers it shows.
    ///
    /// A file has tables, criteria, duels, a validation or a figure of a paper (docs/experiments.md). Its
    /// numbers are printed, or with --write put on their page. Finished simulations are kept in the folder
    /// `.cache` beside the file, of figures in that of all papers, as long as the simulator and the
    /// algorithms of a run do not change: after an interruption the same command continues. A row of a CSV
    /// file that is of its scenario of today is not simulated again.
    ///
    /// Figures are named by their folder, that of a paper, or `reproduction` for all. With --write their
    /// numbers go to `reproduction/results`, and REPRODUCTION.md, the papers' pages and `gallery.html`, with
    /// the pictures of what was run, are written.
    Run(RunArgs),
    /// Measure how exactly the kernel host reports each packet's sending and loss to BBRv3.
    ///
    /// Needs root, BTF, clang, and Linux 6.10 or later. Six paths take two minutes.
    Accuracy(AccuracyArgs),
    /// Simulate random scenarios and check each for what must hold of any scenario.
    ///
    /// Scenario i has the seed SEED + i for any number of threads. A scenario that fails is written to the
    /// directory of --out; with a count of 1 it is always written, before it runs.
    Swarm(SwarmArgs),
    Abuse(AbuseArgs),
    Soak(SoakArgs),
    Hostile(HostileArgs),
    /// Write the page of what several kernels did with every algorithm, from what their guests reported.
    ///
    /// `make kernels` boots them and calls it. The exit code is 1 if anything failed in one of them.
    Kernels(KernelsArgs),
    /// Check every algorithm and the life of a default in the running kernel, which must be a throw-away
    /// guest.
    ///
    /// Loads each algorithm, sends checked data over loopback and veth, then loads all, enables, replaces,
    /// restores and panics. Prints a JSON object for each step.
    KernelCheck(KernelCheckArgs),
    /// Simulate one scenario of the benchmarks.
    ///
    /// Prints delivered data packets, millions of them per CPU-second, and the largest resident memory in
    /// kB. Each process runs one load, so that the memory is its own.
    BenchLoad(BenchLoadArgs),
    /// Run scripts of packetdrill against the simulated TCP.
    ///
    /// A script says which packets arrive and which are expected, and when; docs/packetdrill.md describes
    /// what can be expressed. The exit code is 1 if a script fails, and 2 if none fails but one cannot be
    /// expressed or is no script.
    ///
    /// With --population the scripts of a list run, and the exit code is 1 if fewer than nine tenths pass.
    /// --out writes the tables of docs/packetdrill.md:
    /// `packetdrill --population crates/packetdrill/population.toml --root google=DIR/gtests/net/tcp
    /// --root linux=DIR/tools/testing/selftests/net/packetdrill --out docs/packetdrill.md`.
    Packetdrill(PacketdrillArgs),
    /// Simulate the quick cases of the criteria for the algorithms that `fairpace evaluate` measures beside
    /// others, and write the results that the program contains.
    ///
    /// Two minutes on two cores. Needed after a change to a criterion, to one of the algorithms, or to a
    /// result of the simulator.
    QuickRecords(QuickRecordsArgs),
    /// Write all generated pages that take only seconds: docs/reference, REPRODUCTION.md, pages of papers.
    Docs(DocsArgs),
    /// Be the first process of a kernel in virtual time, which `--on virtual` boots.
    #[command(hide = true)]
    Guest,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct QuickRecordsArgs {
    /// Write nothing; fail if a case has no result, or if the simulator gives another one.
    #[arg(long)]
    pub(crate) check: bool,
    /// Of all results simulate each Nth again, for --check.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        requires = "check",
        value_parser = from_one_to(10_000)
    )]
    pub(crate) every: u32,
    /// Keep the results that the program contains, and simulate only the other cases: for changes of criteria
    /// after which the simulator is the same.
    #[arg(long, conflicts_with = "check")]
    pub(crate) missing: bool,
    /// The repository.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
}

/// Where a command writes its tables.
#[derive(Debug, Clone, Args)]
pub(crate) struct PageOut {
    /// Write the tables to this Markdown page, between its marks, instead of to stdout. The rest of the page
    /// stays.
    #[arg(long = "out", value_name = "FILE")]
    path: Option<PathBuf>,
}

impl PageOut {
    /// Opens the page, if one is named: an unusable page is an error before a long run.
    pub(crate) fn open(&self, page: Page<'_>) -> Result<Option<MarkedPage>, Failure> {
        self.path.as_deref().map(|path| MarkedPage::open(path, page)).transpose()
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// Files of experiments, or folders of them.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Only these tables.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) table: Vec<String>,
    /// Put the tables on the page that the file names, between their marks. The rest of the page stays. CSV
    /// files are written as a whole.
    #[arg(long)]
    pub(crate) write: bool,
    /// Run nothing: are the tables on the page, or the rows of the CSV files, those of the scenarios that the
    /// file has now?
    #[arg(long, conflicts_with = "write")]
    pub(crate) check: bool,
    /// One seed of each simulation, and the short version of figures. With --write, only which checks of
    /// figures fail by their mean is recorded, in `reproduction/results/short.json`.
    #[arg(long, conflicts_with = "check")]
    pub(crate) short: bool,
    /// Simulate also what was simulated before.
    #[arg(long, conflicts_with = "check")]
    pub(crate) fresh: bool,
    /// Of figures: where to run; by default in the simulator. Of a validation: the kernel to compare the
    /// simulator with; by default the running one.
    #[arg(long, value_parser = parse_place())]
    pub(crate) on: Option<Place>,
    /// Of figures and a validation: the series of the kernel in virtual time, such as 6.12; by default the
    /// newest one that was fetched.
    #[arg(long, value_name = "SERIES")]
    pub(crate) kernel: Option<String>,
    /// Of a validation: only the scenarios with these names. Of CSV files: only rows with these values in
    /// columns of axes, `rate=1gbit,rate=10gbit,queue=fifo`.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', conflicts_with_all = ["write", "check"])]
    pub(crate) only: Vec<String>,
    /// Of a validation: run this scenario once on each host, and show the first packet that differs.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["write", "check"])]
    pub(crate) packets: Option<String>,
    /// The checkout, from which pages are named.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct AccuracyArgs {
    /// Seconds on each path.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seconds: u64,
    #[command(flatten)]
    pub(crate) out: PageOut,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct SwarmArgs {
    /// Number of scenarios.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000)
    )]
    pub(crate) count: u64,
    /// Seed of the first scenario.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    /// Directory of the scenarios that failed.
    #[arg(long, value_name = "DIR", default_value = "target/swarm-scenarios")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BenchLoadArgs {
    /// The load: two/CC, codel/CC, fat/CC, web/CC, or a number of flows as in 200/CC.
    #[arg(value_name = "LOAD")]
    pub(crate) name: String,
    /// Simulated time.
    #[arg(value_name = "MILLISECONDS")]
    pub(crate) run_ms: u64,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct PacketdrillArgs {
    /// Scripts.
    #[arg(value_name = "FILE", required_unless_present = "population")]
    pub(crate) files: Vec<PathBuf>,
    /// Run the scripts of this list.
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    pub(crate) population: Option<PathBuf>,
    /// Of a list: the folder in which the scripts are whose names begin with NAME.
    #[arg(long, value_name = "NAME=DIR", requires = "population")]
    pub(crate) root: Vec<Root>,
    /// Run a sender with a fault, to see whether scripts find it.
    #[arg(long, value_name = "FAULT", value_parser = parse_mutant())]
    pub(crate) mutant: Option<NamedMutant>,
    /// Of a list: write the tables to this Markdown page, between its marks, instead of to stdout. The rest
    /// of the page stays.
    #[arg(long, value_name = "FILE", requires = "population")]
    pub(crate) out: Option<PathBuf>,
}

/// A folder of scripts with its name.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
}

impl std::str::FromStr for Root {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, folder) = text.split_once('=').ok_or("a root is NAME=DIR")?;
        Ok(Root { name: name.to_owned(), folder: folder.into() })
    }
}

/// A fault of the sender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedMutant(pub(crate) Mutant);

fn parse_mutant() -> impl TypedValueParser<Value = NamedMutant> {
    let names = Mutant::ALL.map(|(name, _)| name);
    PossibleValuesParser::new(names).map(|name| {
        let (_, mutant) = Mutant::ALL.into_iter().find(|(known, _)| *known == name).expect("a known name");
        NamedMutant(mutant)
    })
}

#[derive(Debug, Clone, Args)]
pub(crate) struct DocsArgs {
    /// Write nothing; fail if a page is not as it would be written.
    #[arg(long)]
    pub(crate) check: bool,
    /// The checkout of the repository.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
}
