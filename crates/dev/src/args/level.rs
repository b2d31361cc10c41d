//! The commands about LEVEL.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fairpace_cli_core::args::{Jobs, from_one_to};

use super::PageOut;

#[derive(Debug, Clone, Args)]
pub(crate) struct LevelTheoryArgs {
    /// The table.
    #[arg(value_enum)]
    pub(crate) table: LevelTable,
    /// Seeds of each simulation.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = from_one_to(100))]
    pub(crate) seeds: u32,
    #[command(flatten)]
    pub(crate) out: PageOut,
}

/// A table of docs/level.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelTable {
    /// Rates and queueing delay on one FIFO.
    Fifo,
    /// Shares with an error of one base RTT.
    Error,
    /// What a lone flow loses to delay that is no queue.
    Noise,
    /// Shares over several bottlenecks.
    Network,
    /// The queue over the gain, for sets of RTTs.
    Gain,
    /// The queue over the number of flows.
    Crowd,
    /// How fast steering equalises rates.
    Steering,
    /// What a drain leaves of a difference of rates.
    Exchange,
    /// How much one flow's drain lowers the queue.
    Depth,
    /// The share that a flow can keep whose drains no other joins.
    Kept,
    /// How drains come together.
    Anchor,
}

impl LevelTable {
    /// Command and table, as the marks of the page have them.
    pub(crate) const fn command(self) -> &'static str {
        match self {
            Self::Fifo => "level-theory fifo",
            Self::Error => "level-theory error",
            Self::Noise => "level-theory noise",
            Self::Network => "level-theory network",
            Self::Gain => "level-theory gain",
            Self::Crowd => "level-theory crowd",
            Self::Steering => "level-theory steering",
            Self::Exchange => "level-theory exchange",
            Self::Depth => "level-theory depth",
            Self::Kept => "level-theory kept",
            Self::Anchor => "level-theory anchor",
        }
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct LevelEvidenceArgs {
    /// The tables; by default all.
    #[arg(value_enum, value_name = "TABLE")]
    pub(crate) tables: Vec<EvidenceTable>,
    /// Only the cases that the files name for a quick look, with one seed. Sweep has no other cases.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Seeds of each case; by default 2, with --quick and for sweep 1. Of cases with conditions the worst
    /// seed is judged, other numbers are means.
    #[arg(long, value_name = "N", value_parser = from_one_to(1000))]
    pub(crate) seeds: Option<u32>,
    /// Only cases with this text in their name.
    #[arg(long = "match", value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) matching: String,
    /// The folder of the criteria by which ablation, sweep, trade, paths and better count.
    #[arg(long, value_name = "DIR", default_value = "evaluation/level")]
    pub(crate) criteria: PathBuf,
    /// The folder of the scenarios of the other tables.
    #[arg(long, value_name = "DIR", default_value = "evaluation/level-evidence")]
    pub(crate) scenarios: PathBuf,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    #[command(flatten)]
    pub(crate) out: PageOut,
}

/// A table of docs/level-evidence.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvidenceTable {
    /// Each mechanism switched off.
    Ablation,
    /// Each parameter at other values.
    Sweep,
    /// Parameters for which criteria compete.
    Trade,
    /// The random paths over two parameters.
    Paths,
    /// Cases that other algorithms hold and LEVEL does not.
    Better,
    /// Completion times of short flows.
    ShortFlows,
    /// Loss of a CUBIC flow beside others.
    Neighbours,
    /// The queue of 1 to 50 flows.
    Queue,
    /// A thousand flows that come and go.
    Collapse,
}

impl EvidenceTable {
    /// All tables, in the order of the page.
    pub(crate) const ALL: [Self; 9] = [
        Self::Ablation,
        Self::Sweep,
        Self::Trade,
        Self::Paths,
        Self::Better,
        Self::ShortFlows,
        Self::Neighbours,
        Self::Queue,
        Self::Collapse,
    ];

    /// Command and table, as the marks of the page have them.
    pub(crate) const fn command(self) -> &'static str {
        match self {
            Self::Ablation => "level-evidence ablation",
            Self::Sweep => "level-evidence sweep",
            Self::Trade => "level-evidence trade",
            Self::Paths => "level-evidence paths",
            Self::Better => "level-evidence better",
            Self::ShortFlows => "level-evidence short-flows",
            Self::Neighbours => "level-evidence neighbours",
            Self::Queue => "level-evidence queue",
            Self::Collapse => "level-evidence collapse",
        }
    }

    /// Its name, also that of its file of scenarios.
    pub(crate) fn name(self) -> &'static str {
        self.command().rsplit(' ').next().unwrap_or_default()
    }
}
