//! `fairpace-dev views`: compares BBRv2 and BBRv3 with the exact state of each packet and with the values
//! that a stock kernel provides.
//!
//! Each scenario is simulated with `view = "exact"` and with `view = "kernel"`, over several seeds.

use std::fmt::Write as _;
use std::time::Duration;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::batch;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_results::Summary;
use fairpace_scenario::{Burst, BurstLength, Cc, CcError, Flow, Link, Scenario, Target, View};
use serde::Serialize;

use crate::args::ViewsArgs;
use crate::marked_page::{Page, publish};
use crate::spread::Spread;
use Runs::{Cubic, UnderTest};

const PAGE: Page = Page { command: "views", title: "What a stock kernel does not report to BBRv2 and BBRv3" };

/// Part of a run before the measurement window: STARTUP is over in all scenarios.
const WARMUP_RATIO: u32 = 4;

/// What a flow runs.
#[derive(Debug, Clone, Copy)]
enum Runs {
    UnderTest,
    Cubic,
}

/// A link, and flows by algorithm and RTT in ms.
struct Case {
    title: &'static str,
    link: Link,
    flows: &'static [(Runs, u64)],
}

/// What was measured of one scenario under one view.
#[derive(Debug, Serialize)]
struct Row {
    algorithm: String,
    scenario: &'static str,
    view: &'static str,
    /// Of each flow.
    goodput_mbps: Vec<Spread>,
    queue_delay_mean_ms: Spread,
    /// Share of retransmitted packets in all sent packets, %.
    retransmitted_percent: Spread,
}

fn case(title: &'static str, rate_mbps: u64, buffer_bytes: u64, flows: &'static [(Runs, u64)]) -> Case {
    Case { title, link: Link::new("link", rate_mbps * 1_000_000, buffer_bytes), flows }
}

fn with_loss(mut case: Case, ppb: u64, burst: Option<Burst>) -> Case {
    case.link.loss.ppb = ppb;
    case.link.loss.burst = burst;
    case
}

fn cases() -> Vec<Case> {
    const PERCENT: u64 = 10_000_000; // in billionths
    const ALONE_20: &[(Runs, u64)] = &[(UnderTest, 20)];
    const ALONE_40: &[(Runs, u64)] = &[(UnderTest, 40)];
    const TWO: &[(Runs, u64)] = &[(UnderTest, 10), (UnderTest, 50)];
    let burst = Some(Burst { length: BurstLength::Pkts(10), inside_ppb: 100 * PERCENT, outside_ppb: 0 });
    let lossy = |title| case(title, 50, 500_000, ALONE_40);
    vec![
        case("alone, 100 Mbit/s, 20 ms, 2 BDP", 100, 500_000, ALONE_20),
        case("alone, 100 Mbit/s, 20 ms, 0.2 BDP", 100, 50_000, ALONE_20),
        case("alone, 1 Gbit/s, 40 ms, 0.1 BDP", 1000, 500_000, ALONE_40),
        case("10/50 ms, 100 Mbit/s, 2 MB", 100, 2_000_000, TWO),
        case("10/50 ms, 100 Mbit/s, 150 kB", 100, 150_000, TWO),
        case("against CUBIC, 20 ms, 50 Mbit/s, 1 MB", 50, 1_000_000, &[(UnderTest, 20), (Cubic, 20)]),
        case("against CUBIC, 40 ms, 50 Mbit/s, 60 kB", 50, 60_000, &[(UnderTest, 40), (Cubic, 40)]),
        with_loss(lossy("alone, 1 % loss, 50 Mbit/s, 40 ms"), PERCENT, None),
        with_loss(lossy("alone, 3 % loss, 50 Mbit/s, 40 ms"), 3 * PERCENT, None),
        with_loss(lossy("alone, 1 % loss in bursts of 10, 50 Mbit/s, 40 ms"), PERCENT, burst),
    ]
}

pub(crate) fn run(
    args: &ViewsArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let marked = args.out.open(PAGE)?;
    let (mut keys, mut scenarios) = (Vec::new(), Vec::new());
    for algorithm in &args.algorithms {
        let cc = Algorithms { under_test: known(algorithm)?, cubic: known("cubic")? };
        for case in cases() {
            for (view, name) in [(View::Exact, "exact"), (View::Kernel, "kernel")] {
                keys.push((algorithm.clone(), case.title, name));
                let scenario = scenario(&case, &cc, view, args.duration).sealed(Target::Simulator)?;
                let seeds = 1..=u64::from(args.seeds);
                scenarios.extend(seeds.map(|seed| Scenario { seed, ..scenario.clone() }));
            }
        }
    }
    let runs =
        batch::simulate_all(&scenarios, args.jobs.at_a_time, signals, global.quiet, |_, run| run.summary)?;
    let seeds = args.seeds as usize;
    let rows = keys.into_iter().zip(runs.chunks(seeds));
    let rows: Vec<Row> = rows.map(|(key, runs)| row(key, runs, args.duration)).collect();
    publish(marked, &tables(&rows, args), &rows, global, out)
}

/// The algorithms of one table.
struct Algorithms {
    under_test: Cc,
    cubic: Cc,
}

impl Algorithms {
    fn of(&self, runs: Runs) -> Cc {
        match runs {
            UnderTest => self.under_test.clone(),
            Cubic => self.cubic.clone(),
        }
    }
}

fn known(name: &str) -> Result<Cc, Failure> {
    name.parse().map_err(|error: CcError| {
        Failure::new(Exit::Usage, error.to_string(), "`fairpace algorithms` lists the algorithms")
    })
}

fn scenario(case: &Case, cc: &Algorithms, view: View, duration: Duration) -> Scenario {
    /// Flows start one after the other.
    const STAGGER: Duration = Duration::from_millis(500);
    let flow = |(i, (runs, rtt_ms)): (usize, &(Runs, u64))| Flow {
        view,
        start: STAGGER * i as u32,
        ..Flow::new(format!("flow{i}"), cc.of(*runs), Duration::from_millis(*rtt_ms))
    };
    Scenario {
        title: case.title.into(),
        why: String::new(),
        seed: 1,
        duration,
        window: (duration / WARMUP_RATIO, duration),
        interval: Duration::from_millis(100),
        links: vec![case.link.clone()],
        flows: case.flows.iter().enumerate().map(flow).collect(),
        hash: String::new(),
    }
}

fn row(key: (String, &'static str, &'static str), runs: &[Summary], duration: Duration) -> Row {
    let (algorithm, scenario, view) = key;
    let over = |of: &dyn Fn(&Summary) -> f64| Spread::of(&runs.iter().map(of).collect::<Vec<_>>());
    let flows = 0..runs.first().map_or(0, |run| run.flows.len());
    let window_s = (duration - duration / WARMUP_RATIO).as_secs_f64();
    let retransmitted_percent = |run: &Summary| {
        let bits = run.flows.iter().map(|flow| flow.goodput_mbps).sum::<f64>() * 1e6 * window_s;
        let pkts = bits / 8.0 / f64::from(fairpace_tcp::MSS_BYTES);
        let again = run.flows.iter().map(|flow| flow.retransmits).sum::<u64>() as f64;
        100.0 * again / (pkts + again)
    };
    Row {
        algorithm,
        scenario,
        view,
        goodput_mbps: flows.map(|i| over(&|run| run.flows[i].goodput_mbps)).collect(),
        queue_delay_mean_ms: over(&|run| run.links[0].queue_delay_mean_ms.unwrap_or(f64::NAN)),
        retransmitted_percent: over(&retransmitted_percent),
    }
}

fn tables(rows: &[Row], args: &ViewsArgs) -> String {
    let (from, to) = ((args.duration / WARMUP_RATIO).as_secs_f64(), args.duration.as_secs_f64());
    let mut page = format!(
        "{} seeds each, measured from {from} to {to} s: mean (lowest to highest). \
         Flows are separated by a slash.\n",
        args.seeds
    );
    for algorithm in &args.algorithms {
        let _ = write!(
            page,
            "\n## {algorithm}\n\n\
             | scenario | view | goodput, Mbit/s | queueing delay, ms | retransmitted, % |\n\
             |---|---|---|---|---|\n"
        );
        for row in rows.iter().filter(|row| row.algorithm == *algorithm) {
            let goodput: Vec<_> = row.goodput_mbps.iter().map(|spread| spread.text(1)).collect();
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} |",
                row.scenario,
                row.view,
                goodput.join(" / "),
                row.queue_delay_mean_ms.text(2),
                row.retransmitted_percent.text(2)
            );
        }
    }
    page
}
