//! `fairpace-dev bench-load`: one scenario of the benchmarks, for scripts/bench-loads.sh.

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_results::Silent;
use fairpace_scenario::Target;
use fairpace_sim::loads;
use serde::Serialize;

use crate::args::BenchLoadArgs;

/// The record that `--json` prints.
#[derive(Debug, Serialize)]
struct Record {
    /// Number of delivered data packets.
    packets: u64,
    /// Delivered data packets per us of CPU time.
    packets_per_us: f64,
    /// The process's largest resident memory, kB.
    peak_kb: u64,
}

pub(crate) fn run(args: &BenchLoadArgs, global: Global, out: &mut Output) -> Result<(), Failure> {
    let scenario = loads::by_name(&args.name, args.run_ms).ok_or_else(|| {
        let help = "loads are two/CC, codel/CC, fat/CC, web/CC and NUMBER/CC";
        Failure::new(Exit::Usage, format!("there is no load `{}`", args.name), help)
    })?;
    let scenario = scenario.sealed(Target::Simulator)?;
    let cost = fairpace_sim::run(&scenario, &mut Silent)?.summary.cost;
    let packets_per_us = cost.data_packets as f64 / cost.cpu_s / 1e6;
    let record = Record { packets: cost.data_packets, packets_per_us, peak_kb: peak_kb() };
    if global.json {
        return out.json(&record);
    }
    let Record { packets, packets_per_us, peak_kb } = record;
    out.line(&format!("{packets} {packets_per_us:.3} {peak_kb}"))
}

/// The process's largest resident memory, kB; 0 where Linux does not report it.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
