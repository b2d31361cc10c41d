//! `fairpace-dev bench-load`: one scenario of the benchmarks, for scripts/bench-loads.sh.

use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_results::Silent;

use crate::args::BenchLoadArgs;
use fairpace_sim::loads;

pub(crate) fn run(args: &BenchLoadArgs, out: &mut Output) -> Result<(), Failure> {
    let scenario = loads::by_name(&args.name, args.run_ms).ok_or_else(|| {
        let help = "loads are two/CC, codel/CC, fat/CC, web/CC and NUMBER/CC";
        Failure::new(Exit::Usage, format!("there is no load `{}`", args.name), help)
    })?;
    let cost = fairpace_sim::run(&scenario, &mut Silent)?.summary.cost;
    let packets_per_us = cost.data_packets as f64 / cost.cpu_s / 1e6;
    out.line(&format!("{} {packets_per_us:.3} {}", cost.data_packets, peak_kb()))
}

/// The process's largest resident memory, kB; 0 where Linux does not report it.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
