//! Two or more flows over one bottleneck on this machine's kernel, as root:
//!
//!     cargo run --release -p fairpace-testbed --example pair -- CC [RATE_MBPS] [BUFFER_KB] [RTT_MS,...] [SECONDS] [WARMUP_S] [STAGGER_S]
//!
//! e.g. `pair kernel:bbr 100 2000 10,50 60 20`. Prints the summary and the notes.

use fairpace_results::{Monitor, to_json};
use fairpace_scenario::{Cc, Flow, Link, Scenario};
use fairpace_testbed::{Options, measure};
use miette::IntoDiagnostic;
use std::time::Duration;

struct Announce;

impl Monitor for Announce {
    /// The first call tells whoever started this program that the run is on.
    fn progress(&mut self, done_s: f64, _total_s: f64) {
        if done_s == 0.0 {
            eprintln!("running");
        }
    }

    fn stop(&self) -> bool {
        false
    }
}

fn main() -> miette::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |i: usize, default: &'static str| arguments.get(i).map_or(default, String::as_str);
    let number = |i: usize, default: &'static str| text(i, default).parse::<u64>().unwrap_or(0);
    let cc: Cc = text(0, "kernel:bbr").parse().into_diagnostic()?;
    let duration_s = number(4, "60");
    let flow = |(i, rtt_ms): (usize, &str)| Flow {
        start: Duration::from_secs(number(6, "5") * i as u64),
        ..Flow::new(format!("{rtt_ms}ms"), cc.clone(), Duration::from_millis(rtt_ms.parse().unwrap_or(10)))
    };
    let scenario = Scenario {
        title: format!("{cc} pair"),
        why: String::new(),
        seed: 1,
        duration: Duration::from_secs(duration_s),
        window: (Duration::from_secs(number(5, "20").min(duration_s)), Duration::from_secs(duration_s)),
        interval: Duration::from_millis(100),
        links: vec![Link::new("bottleneck", number(1, "100") * 1_000_000, number(2, "2000") * 1000)],
        flows: text(3, "10,50").split(',').enumerate().map(flow).collect(),
        hash: String::new(),
    };
    let outcome = measure(&scenario, &mut Announce, &Options::default())?;
    print!("{}", to_json(&outcome.run.summary).into_diagnostic()?);
    for note in outcome.run.notes.iter().chain(&outcome.disturbed) {
        println!("{note}");
    }
    Ok(())
}
