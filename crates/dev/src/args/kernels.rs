//! Arguments of the commands that check foreign kernels.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use fairpace_scenario::quantity::parse_time;

use super::PageOut;

#[derive(Debug, Args)]
pub(crate) struct KernelsArgs {
    /// The folder of what the guests reported: SERIES.jsonl, SERIES-lockdown.jsonl with lockdown,
    /// SERIES-reordering.jsonl of `kernel-check --reordering`, and SERIES.source, which says where the kernel
    /// is from, or why there is none.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) out: PageOut,
}

#[derive(Debug, Args)]
pub(crate) struct KernelCheckArgs {
    /// The program to check with.
    #[arg(long, value_name = "FILE", default_value = "/bin/fairpace")]
    pub(crate) program: PathBuf,
    /// Only run each algorithm this long over a path that reorders, as `soak --reordering` does.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) reordering: Option<Duration>,
    /// The objects of hostile headers, as `hostile --write` leaves them: the check runs 5 of them for 5 s
    /// each.
    #[arg(long, value_name = "DIR")]
    pub(crate) objects: Option<PathBuf>,
    /// Only run this many hostile headers for 30 s each.
    #[arg(long, value_name = "N", requires = "objects", conflicts_with = "reordering")]
    pub(crate) hostile: Option<u32>,
    /// Number of the first of them, as `hostile` counts.
    #[arg(long, value_name = "NUMBER", requires = "hostile", default_value_t = 0)]
    pub(crate) first: u32,
    /// Write the steps to this device instead of to stdout.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) report: Option<PathBuf>,
}
