//! Prints how many data packets the simulator delivers per CPU-second: two bbr1 flows of 10 and 50 ms on 100 Mbit/s
//! with a buffer of 2 MB, 120 s, the fastest and the median of five runs.

use std::time::Duration;

use fairpace_results::Silent;
use fairpace_scenario::{Flow, Link, Scenario};

fn main() -> Result<(), fairpace_sim::Error> {
    let cc = std::env::args().nth(1).unwrap_or_else(|| "bbr1".to_owned());
    let flow = |name: &str, rtt_ms, start_s| Flow {
        name: name.to_owned(),
        cc: cc.clone(),
        set: Vec::new(),
        rtt: Duration::from_millis(rtt_ms),
        start: Duration::from_secs(start_s),
        stop: None,
    };
    let scenario = Scenario {
        title: "two flows".to_owned(),
        why: String::new(),
        seed: 1,
        duration: Duration::from_secs(120),
        window: (Duration::from_secs(20), Duration::from_secs(120)),
        interval: Duration::from_millis(100),
        links: vec![Link { name: "bottleneck".to_owned(), rate_bps: 100_000_000, buffer_bytes: 2_000_000 }],
        flows: vec![flow("A", 10, 0), flow("B", 50, 5)],
        hash: String::new(),
    };
    let mut rates = Vec::new();
    for _ in 0..5 {
        let run = fairpace_sim::run(&scenario, &mut Silent)?;
        let cost = &run.summary.cost;
        rates.push(cost.data_packets as f64 / cost.cpu_s);
        let s = &run.summary;
        let link = &s.links[0];
        println!(
            "{cc}: A {:.2} B {:.2} Mbit/s, queue {:.1} ms (p99 {:.1}), backlog share A {:.3}, drops {}, retransmits {} {}, {} packets in {:.3} CPU-s",
            s.flows[0].goodput_mbps,
            s.flows[1].goodput_mbps,
            link.queue_delay_mean_ms.unwrap_or(f64::NAN),
            link.queue_delay_p99_ms.unwrap_or(f64::NAN),
            link.backlog_share[0],
            link.drops,
            s.flows[0].retransmits,
            s.flows[1].retransmits,
            cost.data_packets,
            cost.cpu_s
        );
    }
    rates.sort_by(f64::total_cmp);
    println!("{:.0} delivered data packets per CPU-second (median of 5; best {:.0})", rates[2], rates[4]);
    Ok(())
}
