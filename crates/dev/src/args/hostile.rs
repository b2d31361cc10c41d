//! Arguments of `hostile`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use fairpace_scenario::quantity::parse_time;

#[derive(Debug, Args)]
pub(crate) struct HostileArgs {
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
