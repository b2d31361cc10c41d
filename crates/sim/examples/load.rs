//! Runs a load of the benchmarks, `load NAME MILLISECONDS`, and prints the data packets that it delivered, per CPU-second, and the largest
//! amount of memory that it had: one load per process, so that its memory is its own. NAME is `two/CC`, `codel/CC`, `fat/CC`, `web/CC`, or a
//! number of flows, as in `200/cubic`.

#[path = "../benches/loads/mod.rs"]
mod loads;

use std::process::ExitCode;

use fairpace_results::Silent;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let scenario = args.next().zip(args.next().and_then(|ms| ms.parse().ok()));
    let Some(scenario) = scenario.and_then(|(name, ms)| loads::by_name(&name, ms)) else {
        eprintln!("usage: load NAME MILLISECONDS, as in: load two/bbr1 20000");
        return ExitCode::FAILURE;
    };
    match fairpace_sim::run(&scenario, &mut Silent) {
        Ok(run) => {
            let cost = run.summary.cost;
            println!(
                "{} {:.3} {}",
                cost.data_packets,
                cost.data_packets as f64 / cost.cpu_s / 1e6,
                peak_kb()
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The process's largest resident memory, kB; 0 where Linux does not say.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
