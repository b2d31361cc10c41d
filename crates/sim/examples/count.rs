//! Runs one load of the benchmarks and prints the delivered packets, for scripts/count-instructions.sh.
//! `fairpace-dev bench-load` also prints speed and memory. This program links the simulator alone, so that a
//! cold build of it takes a third of the time.

use fairpace_results::Silent;
use fairpace_sim::loads;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let usage = "usage: count LOAD MILLISECONDS, such as two/bbr1 8000";
    let mut arguments = std::env::args().skip(1);
    let (Some(name), Some(run_ms)) = (arguments.next(), arguments.next()) else { return Err(usage.into()) };
    let scenario = loads::by_name(&name, run_ms.parse()?).ok_or(usage)?;
    println!("{}", fairpace_sim::run(&scenario, &mut Silent)?.summary.cost.data_packets);
    Ok(())
}
