//! Wall-clock time of the two-flow scenario: 10 and 50 ms on 100 Mbit/s with 2 MB, 20 s, about 160,000 data packets.
//! `examples/throughput.rs` prints packets per CPU-second instead.

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fairpace_results::Silent;
use fairpace_scenario::{Flow, Link, Scenario};

fn scenario(cc: &str) -> Scenario {
    let flow = |name: &str, rtt_ms, start_s| Flow {
        name: name.to_owned(),
        cc: cc.to_owned(),
        set: Vec::new(),
        rtt: Duration::from_millis(rtt_ms),
        start: Duration::from_secs(start_s),
        stop: None,
    };
    Scenario {
        title: "two flows".to_owned(),
        why: String::new(),
        seed: 1,
        duration: Duration::from_secs(20),
        window: (Duration::from_secs(10), Duration::from_secs(20)),
        interval: Duration::from_millis(100),
        links: vec![Link { name: "bottleneck".to_owned(), rate_bps: 100_000_000, buffer_bytes: 2_000_000 }],
        flows: vec![flow("A", 10, 0), flow("B", 50, 5)],
        hash: String::new(),
    }
}

fn two_flows(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("two_flows");
    group.sample_size(20);
    for cc in ["bbr1", "cubic"] {
        let scenario = scenario(cc);
        let run = fairpace_sim::run(&scenario, &mut Silent).expect("the scenario is valid");
        group.throughput(Throughput::Elements(run.summary.cost.data_packets));
        group.bench_function(cc, |b| b.iter(|| fairpace_sim::run(&scenario, &mut Silent)));
    }
    group.finish();
}

criterion_group!(benches, two_flows);
criterion_main!(benches);
