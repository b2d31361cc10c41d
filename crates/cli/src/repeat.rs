//! `fairpace sim --repeat N`: one scenario with several seeds, and confidence intervals of its metrics.

use fairpace_cli_core::args::Global;
use fairpace_cli_core::batch;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_cli_core::table::{self, short, table};
use fairpace_results::{Estimate, Repeat, Run, Summary};
use fairpace_scenario::{Scenario, Target};

use crate::args::SimArgs;
use crate::store;

/// What is kept of a run: everything of the first one, for the report; the summary of each other one.
enum Kept {
    First(Box<Run>),
    Other(Box<Summary>),
}

impl Kept {
    fn summary(&self) -> &Summary {
        match self {
            Self::First(run) => &run.summary,
            Self::Other(summary) => summary,
        }
    }
}

/// `sim FILE --repeat N`.
pub(crate) fn run(
    args: &SimArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let changes = &args.run.changes;
    let scenario = fairpace_scenario::load(&args.run.file, &changes.all_sets(), Target::Simulator)?;
    let dir = changes.out_dir()?;
    let seeds = (0..args.repeat.unwrap_or(1)).map(|index| scenario.seed.wrapping_add(u64::from(index)));
    let scenarios: Vec<Scenario> = seeds.map(|seed| Scenario { seed, ..scenario.clone() }).collect();
    let kept = batch::simulate_all(&scenarios, args.jobs, signals, global.quiet, |index, run| match index {
        0 => Kept::First(Box::new(run)),
        _ => Kept::Other(Box::new(run.summary)),
    })?;
    let summaries: Vec<Summary> = kept.iter().map(|kept| kept.summary().clone()).collect();
    let (Some(repeat), Some(Kept::First(first))) = (Repeat::of(&summaries), kept.into_iter().next()) else {
        return Err(Failure::new(Exit::Internal, "no run has a result", "please report this"));
    };
    if let Some(dir) = dir {
        dir.write(&store::repeated(&scenario, &repeat, &summaries, &first)?)?;
    }
    if global.json {
        return out.json(&repeat);
    }
    let mut text = page(&repeat, &first.summary);
    if summaries.len() > 1
        && summaries.iter().all(|s| (&s.flows, &s.links) == (&first.summary.flows, &first.summary.links))
    {
        text.push_str(NOTHING_RANDOM);
    }
    out.text(&text)
}

/// A note on intervals of width zero.
const NOTHING_RANDOM: &str = "\nAll seeds gave the same result: nothing in this scenario is random. \
     Real hosts have noise; try --set flow.host_jitter=200us\n";

/// Means and half-widths of their confidence intervals, for people.
fn page(repeat: &Repeat, first: &Summary) -> String {
    let [from, to] = repeat.window_s;
    let mut text = format!(
        "{}\nsimulated with {} seeds from {} on, measured from {} to {} s; \
         mean \u{b1} 95 % confidence interval\n\n",
        repeat.scenario.title,
        repeat.seeds.len(),
        first.seed,
        short(from),
        short(to)
    );
    let metric = |name: String, scale: f64, decimals: usize| cell(repeat.estimate(&name), scale, decimals);
    let header =
        ["flow", "algorithm", "base RTT ms", "goodput Mbit/s", "share %", "RTT mean ms", "p99", "lost %"];
    // a column that would be empty is left out
    let finite = first.flows.iter().any(|flow| flow.completions.is_some());
    let more = ["completed in ms, mean", "slowdown, mean"];
    let header: Vec<_> = header.into_iter().chain(more.into_iter().filter(|_| finite)).collect();
    let mut flows = table(&header, 2);
    for flow in &first.flows {
        let of = |name: &str, scale, decimals| metric(format!("flows.{}.{name}", flow.name), scale, decimals);
        let mut row = vec![flow.name.clone(), flow.cc.clone(), short(flow.rtt_ms)];
        row.extend([of("goodput_mbps", 1.0, 2), of("share", 100.0, 1), of("rtt_mean_ms", 1.0, 2)]);
        row.extend([of("rtt_p99_ms", 1.0, 2), of("loss_rate", 100.0, 3)]);
        if finite {
            row.extend([of("completions.mean_ms", 1.0, 1), of("completions.slowdown_mean", 1.0, 2)]);
        }
        flows.add_row(row);
    }
    text.push_str(&table::text(&flows));
    text.push('\n');
    let mut links = table(
        &["link", "queue", "rate Mbit/s", "used %", "queueing delay mean ms", "p99", "drops", "marks"],
        2,
    );
    for link in &first.links {
        let of = |name: &str, scale, decimals| metric(format!("links.{}.{name}", link.name), scale, decimals);
        let mut row = vec![link.name.clone(), link.queue.clone(), short(link.rate_mbps)];
        row.extend([of("utilization", 100.0, 2), of("queue_delay_mean_ms", 1.0, 2)]);
        row.extend([of("queue_delay_p99_ms", 1.0, 2), of("drops", 1.0, 1), of("marks", 1.0, 1)]);
        links.add_row(row);
    }
    text.push_str(&table::text(&links));
    text.push_str(&format!("\nJain's fairness index {}\n", metric("jain".into(), 1.0, 4)));
    let known = |name: &str| repeat.estimate(name).filter(|estimate| estimate.runs > 0);
    if let Some(estimate) = known("convergence_s") {
        let (runs, all) = (estimate.runs, repeat.seeds.len());
        text.push_str(&format!("converged in {} s ({runs} of {all} runs)\n", cell(Some(estimate), 1.0, 1)));
    }
    if first.links.len() > 1 && known("max_min_distance").is_some() {
        let distance = metric("max_min_distance".into(), 100.0, 1);
        text.push_str(&format!("mean distance from max-min fair goodputs {distance} %\n"));
    }
    text
}

/// "12.34 ± 0.05", or a dash.
fn cell(estimate: Option<Estimate>, scale: f64, decimals: usize) -> String {
    let number = |value: f64| table::number(Some(value * scale), decimals);
    match estimate {
        Some(Estimate { mean, ci95: Some(half), .. }) => format!("{} \u{b1} {}", number(mean), number(half)),
        Some(Estimate { mean, .. }) => number(mean),
        None => "-".to_owned(),
    }
}
