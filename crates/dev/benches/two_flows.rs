//! How fast the simulator is on two flows of 10 and 50 ms through 100 Mbit/s and 2 MB. First, delivered
//! data packets per CPU-second over 120 s of simulated time, the median of five runs; then wall-clock time
//! by Criterion over 20 s.

use std::time::Duration;

use criterion::{Criterion, Throughput};
use fairpace_results::Silent;
use fairpace_scenario::{Cc, Scenario};
use fairpace_sim::loads;

const ALGORITHMS: [&str; 2] = ["bbr1", "cubic"];

fn two(cc: &str, seconds: u64) -> Scenario {
    loads::two(&cc.parse::<Cc>().expect("an algorithm"), seconds * 1_000)
}

fn print_packets_per_cpu_second(cc: &str) {
    let scenario = two(cc, 120);
    let mut rates: Vec<f64> = Vec::new();
    for _ in 0..5 {
        let cost = fairpace_sim::run(&scenario, &mut Silent).expect("the scenario is valid").summary.cost;
        rates.push(cost.data_packets as f64 / cost.cpu_s);
    }
    rates.sort_by(f64::total_cmp);
    let [least, .., most] = rates[..] else { return };
    println!(
        "{cc}: {:.2} million delivered data packets per CPU-second (median of 5; {:.2} to {:.2})",
        rates[2] / 1e6,
        least / 1e6,
        most / 1e6
    );
}

fn time(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("two_flows");
    group.sample_size(10).measurement_time(Duration::from_secs(8));
    for cc in ALGORITHMS {
        let scenario = two(cc, 20);
        let run = fairpace_sim::run(&scenario, &mut Silent).expect("the scenario is valid");
        group.throughput(Throughput::Elements(run.summary.cost.data_packets));
        group.bench_function(cc, |b| b.iter(|| fairpace_sim::run(&scenario, &mut Silent)));
    }
    group.finish();
}

fn main() {
    // `cargo test --benches` only checks that it runs
    if !std::env::args().any(|arg| arg == "--test") {
        ALGORITHMS.into_iter().for_each(print_packets_per_cpu_second);
    }
    let mut criterion = Criterion::default().configure_from_args();
    time(&mut criterion);
    criterion.final_summary();
}
