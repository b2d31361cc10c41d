//! What it costs an algorithm to know no more of its packets than a stock kernel can tell it:
//!
//!     cargo run --release -p fairpace-sim --example views -- [ALGORITHM ...] > docs/kernel-view.md
//!
//! Each scenario is run with `view = "exact"` and with `view = "kernel"`, over several seeds, and compared in a Markdown page.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use fairpace_results::{Silent, Summary};
use fairpace_scenario::{Burst, Cc, Flow, Link, Scenario, View};

const SEEDS: u64 = 5;
const DURATION: Duration = Duration::from_secs(60);
const FROM: Duration = Duration::from_secs(15);

/// A link, and flows by algorithm and RTT; "" stands for the algorithm that is looked at.
struct Case {
    title: &'static str,
    link: Link,
    flows: &'static [(&'static str, u64)],
}

fn case(
    title: &'static str,
    rate_mbps: u64,
    buffer_bytes: u64,
    flows: &'static [(&'static str, u64)],
) -> Case {
    Case { title, link: Link::new("link", rate_mbps * 1_000_000, buffer_bytes), flows }
}

fn with_loss(mut case: Case, ppb: u64, burst: Option<Burst>) -> Case {
    case.link.loss.ppb = ppb;
    case.link.loss.burst = burst;
    case
}

fn cases() -> Vec<Case> {
    const PERCENT: u64 = 10_000_000;
    let burst = Some(Burst { pkts: 10, inside_ppb: 100 * PERCENT, outside_ppb: 0 });
    vec![
        case("alone, 100 Mbit/s, 20 ms, 2 BDP", 100, 500_000, &[("", 20)]),
        case("alone, 100 Mbit/s, 20 ms, 0.2 BDP", 100, 50_000, &[("", 20)]),
        case("alone, 1 Gbit/s, 40 ms, 0.1 BDP", 1000, 500_000, &[("", 40)]),
        case("10/50 ms, 100 Mbit/s, 2 MB", 100, 2_000_000, &[("", 10), ("", 50)]),
        case("10/50 ms, 100 Mbit/s, 150 kB", 100, 150_000, &[("", 10), ("", 50)]),
        case("against CUBIC, 20 ms, 50 Mbit/s, 1 MB", 50, 1_000_000, &[("", 20), ("cubic", 20)]),
        case("against CUBIC, 40 ms, 50 Mbit/s, 60 kB", 50, 60_000, &[("", 40), ("cubic", 40)]),
        with_loss(case("alone, 1 % loss, 50 Mbit/s, 40 ms", 50, 500_000, &[("", 40)]), PERCENT, None),
        with_loss(case("alone, 3 % loss, 50 Mbit/s, 40 ms", 50, 500_000, &[("", 40)]), 3 * PERCENT, None),
        with_loss(
            case("alone, 1 % loss in bursts of 10, 50 Mbit/s, 40 ms", 50, 500_000, &[("", 40)]),
            PERCENT,
            burst,
        ),
    ]
}

fn main() -> ExitCode {
    match print_page() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("views: {e}");
            ExitCode::FAILURE
        }
    }
}

fn print_page() -> Result<(), Box<dyn Error>> {
    let mut algorithms: Vec<String> = std::env::args().skip(1).collect();
    if algorithms.is_empty() {
        algorithms = vec!["bbr3".into(), "bbr2".into()];
    }
    println!("{INTRODUCTION}");
    for algorithm in algorithms {
        println!("\n## {algorithm}\n");
        println!(
            "| scenario | view | goodput, Mbit/s | queueing delay, ms | sent again, % |\n|---|---|---|---|---|"
        );
        for case in cases() {
            for (view, name) in [(View::Exact, "exact"), (View::Kernel, "kernel")] {
                let scenario = scenario(&case, &algorithm, view);
                let runs = (1..=SEEDS).map(|seed| simulate(&Scenario { seed, ..scenario.clone() }));
                let runs = runs.collect::<Result<Vec<_>, _>>()?;
                println!("| {} | {name} | {} |", case.title, cells(&runs));
            }
        }
    }
    Ok(())
}

const INTRODUCTION: &str = "\
# What a stock kernel cannot tell BBRv2 and BBRv3

Both judge losses by what was in flight when the lost packet was sent. The simulator's sender knows; a stock kernel does not
remember it, so `cc/lib/sends.h` rebuilds it. How exact that is on a real kernel is in [FIDELITY.md](../FIDELITY.md); this page shows what
it costs: the same simulations with `view = \"exact\"` and with `view = \"kernel\"`. In the latter the algorithm is told of all losses
of an ACK at once, and of packets in flight by the code of the kernel's host.

Five seeds each, from 15 s to 60 s of a run: mean, and in brackets the lowest and the highest. Several flows are separated
by a slash; CUBIC knows nothing of views. `make views` writes this page.";

fn scenario(case: &Case, algorithm: &str, view: View) -> Scenario {
    let flow = |(i, (cc, rtt_ms)): (usize, &(&str, u64))| {
        let cc = if cc.is_empty() { algorithm } else { cc };
        let start = Duration::from_millis(500 * i as u64);
        Flow {
            view,
            start,
            ..Flow::new(
                format!("flow{i}"),
                cc.parse::<Cc>().expect("an algorithm"),
                Duration::from_millis(*rtt_ms),
            )
        }
    };
    Scenario {
        title: case.title.into(),
        why: String::new(),
        seed: 1,
        duration: DURATION,
        window: (FROM, DURATION),
        interval: Duration::from_millis(100),
        links: vec![case.link.clone()],
        flows: case.flows.iter().enumerate().map(flow).collect(),
        hash: String::new(),
    }
}

fn simulate(scenario: &Scenario) -> Result<Summary, fairpace_sim::Error> {
    Ok(fairpace_sim::run(scenario, &mut Silent)?.summary)
}

fn cells(runs: &[Summary]) -> String {
    let flows = 0..runs[0].flows.len();
    let goodput =
        flows.map(|i| spread(runs, 1, |run| run.flows[i].goodput_mbps)).collect::<Vec<_>>().join(" / ");
    let delay = spread(runs, 2, |run| run.links[0].queue_delay_mean_ms.unwrap_or(f64::NAN));
    let resent = spread(runs, 2, |run| {
        let bits =
            run.flows.iter().map(|f| f.goodput_mbps).sum::<f64>() * 1e6 * (DURATION - FROM).as_secs_f64();
        let pkts = bits / 8.0 / f64::from(fairpace_tcp::MSS_BYTES);
        let resent = run.flows.iter().map(|f| f.retransmits).sum::<u64>() as f64;
        100.0 * resent / (pkts + resent)
    });
    format!("{goodput} | {delay} | {resent}")
}

/// Mean (lowest to highest), with so many decimals.
fn spread(runs: &[Summary], decimals: usize, of: impl Fn(&Summary) -> f64) -> String {
    let values: Vec<f64> = runs.iter().map(of).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
    format!("{mean:.decimals$} ({low:.decimals$} to {high:.decimals$})")
}
