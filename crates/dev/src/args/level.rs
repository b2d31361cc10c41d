//! The commands about LEVEL.

use clap::{Args, ValueEnum};
use fairpace_cli_core::args::from_one_to;

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
