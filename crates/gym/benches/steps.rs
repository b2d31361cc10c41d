//! Measures the steps of environments per second: 1,000 environments of one flow, on one thread and on two.
//! CPU time per step does not depend on other work of the machine, as far as caches are not shared.
//!
//!     cargo bench -p fairpace-gym

use std::time::Instant;

use fairpace_gym::{Batch, Environments, Form, OBSERVATIONS, Scenarios, Setup};
use fairpace_scenario::{Set, Target, parse};
use nix::time::{ClockId, clock_gettime};

/// Number of environments of a batch.
const ENVIRONMENTS: usize = 1_000;
/// Number of steps of each environment in a measurement; an episode has 500.
const STEPS: usize = 250;
/// Number of measurements of which the median counts.
const TIMES: usize = 5;

/// Scenario: one flow over a link with a buffer of one BDP, for 30 s at intervals of 60 ms.
const TEXT: &str = r#"
    title = "an agent alone"
    duration = "30s"
    [[link]]
    rate = "12mbit"
    buffer = "1bdp"
    [[flow]]
    cc = "agent"
    rtt = "30ms"
"#;

fn environments(rate: &str, form: Form, jobs: usize) -> (Environments, Batch) {
    let sets = [Set::new("link.rate", rate)];
    let scenario = parse("bench.toml", TEXT, &sets, Target::Simulator).expect("it is valid");
    let setups = (0..ENVIRONMENTS).map(|seed| Setup::new(Scenarios::from(scenario.clone()), seed as u64));
    let mut environments = Environments::new(setups, form, Some(jobs)).expect("the setups are in order");
    let mut batch = environments.batch();
    environments.reset(None, &mut batch.observations).expect("the scenario is valid");
    (environments, batch)
}

/// Acts as a controller that fills the link: it sends faster while the RTT is near its minimum. It does not
/// learn, so that the measured time is that of the environments.
fn act(batch: &Batch, actions: &mut [f32]) {
    for (row, action) in batch.observations.chunks_exact(OBSERVATIONS.len()).zip(actions) {
        let (rtt_ms, min_rtt_ms) = (row[2], row[3]);
        *action = if rtt_ms > 1.5 * min_rtt_ms { -0.2 } else { 0.1 };
    }
}

/// Returns the CPU time of the process, seconds.
fn cpu_s() -> f64 {
    let now = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("the clock exists");
    now.tv_sec() as f64 + now.tv_nsec() as f64 * 1e-9
}

struct Measured {
    wall_us: f64,
    cpu_us: f64,
    pkts: f64,
}

/// Measures the time per step of one environment.
fn measure(environments: &mut Environments, batch: &mut Batch) -> Measured {
    let mut actions = vec![0.0; environments.agents()];
    let (wall, cpu, mut pkts) = (Instant::now(), cpu_s(), 0.0);
    for _ in 0..STEPS {
        act(batch, &mut actions);
        environments.step(&actions, batch.outputs()).expect("the actions are in range");
        pkts += f64::from(environments.interval(0, 0).map_or(0, |interval| interval.delivered_pkts));
    }
    let steps = (STEPS * ENVIRONMENTS) as f64;
    let (wall_us, cpu_us) = (wall.elapsed().as_secs_f64() * 1e6, (cpu_s() - cpu) * 1e6);
    Measured { wall_us: wall_us / steps, cpu_us: cpu_us / steps, pkts: pkts / STEPS as f64 }
}

fn steps(rate: &str, jobs: usize) {
    let (mut environments, mut batch) = environments(rate, Form::Factor, jobs);
    let mut all: Vec<Measured> = (0..TIMES).map(|_| measure(&mut environments, &mut batch)).collect();
    all.sort_by(|a, b| a.cpu_us.total_cmp(&b.cpu_us));
    let Measured { wall_us, cpu_us, pkts } = all[TIMES / 2];
    let [least, most] = [all[0].cpu_us, all[TIMES - 1].cpu_us];
    println!(
        "{rate}, {jobs} threads: {cpu_us:.2} us of CPU per step (median of {TIMES}; {least:.2} to \
         {most:.2}), {pkts:.0} packets; {:.0} steps per CPU-second, {:.0} per second here",
        1e6 / cpu_us,
        1e6 / wall_us
    );
}

fn resets() {
    let (mut environments, mut batch) = environments("12mbit", Form::Factor, 1);
    let cpu = cpu_s();
    for _ in 0..TIMES {
        environments.reset(None, &mut batch.observations).expect("the scenario is valid");
    }
    let cpu_us = (cpu_s() - cpu) * 1e6 / (TIMES * ENVIRONMENTS) as f64;
    println!("reset: {cpu_us:.1} us of CPU, the first interval included");
}

fn main() {
    // `cargo test --benches` only checks that it runs
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    for jobs in [1, 2] {
        ["2mbit", "12mbit", "120mbit"].into_iter().for_each(|rate| steps(rate, jobs));
    }
    resets();
}
