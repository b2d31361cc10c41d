//! `fairpace sim --repeat N`: one scenario with several seeds, and confidence intervals of its metrics.

use fairpace_cli_core::batch::Batch;
use fairpace_cli_core::beside;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host;
use fairpace_cli_core::place::Place;
use fairpace_cli_core::progress::{Progress, expected_packets};
use fairpace_cli_core::table::{self, short, table};
use fairpace_cli_core::virtual_time::VirtualKernel;
use fairpace_results::{Estimate, Repeat, Run, Summary};
use fairpace_scenario::{MOST_SEED, Scenario};

use crate::args::{RunArgs, SimArgs};
use crate::call::Call;
use crate::{scenarios, store};

/// The part of a run that is kept: everything of the first run, for the report; only the summary of other
/// runs.
enum Kept {
    First(Box<Run>),
    Other(Box<Summary>),
}

impl Kept {
    fn into_summary(self) -> Summary {
        match self {
            Self::First(run) => run.summary,
            Self::Other(summary) => *summary,
        }
    }
}

/// Most bytes of the summaries of all runs, and of the files that hold them: a small machine has 4 GB.
const MOST_BYTES: u64 = 2_000_000_000;

// Bytes for each, measured as peaks of `fairpace sim --repeat --out`.

/// Bytes of a flow in a run: its summary, its metrics, and both as text.
const FLOW_BYTES: u64 = 4_000;
/// Bytes of a link in a run.
const LINK_BYTES: u64 = 4_000;
/// Bytes of a pair of a flow and a link in a run: the flow's share of the backlog.
const PAIR_BYTES: u64 = 30;

/// Performs `sim FILE --repeat N`.
pub(crate) fn run(args: &SimArgs, runs: u32, call: Call<'_>) -> Result<(), Failure> {
    let changes = &args.run.changes;
    let place = place(&args.run)?;
    let scenario = scenarios::load(&args.run.file, &changes.all_sets(), place.target(), call.global)?;
    let seeds = seeds(scenario.seed, runs)?;
    check_size(&scenario, runs)?;
    let records = changes.records()?;
    let dir = changes.out_dir()?;
    let mut kept = perform(args, (place, &scenario), &seeds, &call)?.into_iter();
    let Call { global, out, .. } = call;
    let no_result = || Failure::new(Exit::Internal, "no run has a result", "please report this");
    let Some(Kept::First(first)) = kept.next() else { return Err(no_result()) };
    let others = kept.map(Kept::into_summary);
    let summaries: Vec<Summary> = std::iter::once(first.summary.clone()).chain(others).collect();
    let repeat = Repeat::of(&summaries).ok_or_else(no_result)?;
    let is_alike = |s: &Summary| (&s.flows, &s.links) == (&first.summary.flows, &first.summary.links);
    let nothing_random = summaries.len() > 1 && summaries.iter().all(is_alike);
    if let Some(dir) = dir {
        dir.write(store::repeated((&scenario, place), &repeat, summaries, &first, &records)?)?;
    }
    if global.json {
        return out.json(&repeat);
    }
    let mut text = page(place, &repeat, &first.summary) + &beside::of_records(&records);
    if nothing_random {
        text.push_str(NOTHING_RANDOM);
    }
    if !global.quiet {
        repeat.notes.iter().for_each(|note| text.push_str(&format!("note: {note}\n")));
    }
    out.text(&text)
}

/// The place of the runs. In real time a seed decides little, and runs take turns: that is what a shell can
/// repeat.
fn place(args: &RunArgs) -> Result<Place, Failure> {
    match args.place.place(Place::Simulator)? {
        Place::Kernel => {
            let message =
                "--repeat runs a scenario with several seeds, which do not decide what real time does";
            Err(Failure::new(Exit::Usage, message, "write --on virtual: there they do"))
        }
        place => Ok(place),
    }
}

/// Runs the scenario with each seed.
fn perform(
    args: &SimArgs,
    (place, scenario): (Place, &Scenario),
    seeds: &[u64],
    call: &Call<'_>,
) -> Result<Vec<Kept>, Failure> {
    let Call { global, signals, .. } = call;
    let kernel = match place {
        Place::Virtual(emulator) => {
            let scenarios = std::slice::from_ref(scenario);
            Some(VirtualKernel::boot(args.run.place.wanted(emulator), scenarios, signals, global.quiet)?)
        }
        Place::Simulator | Place::Kernel => None,
    };
    let packets = vec![expected_packets(scenario); seeds.len()];
    let progress = match kernel {
        Some(_) => Progress::of_virtual_runs(packets, global.quiet),
        None => Progress::new(packets, global.quiet),
    };
    let batch = Batch { jobs: args.jobs, signals, progress: &progress };
    batch.map(seeds, |seed, job| {
        // a copy for each job that runs, not for each run
        let seeded = Scenario { seed: *seed, ..scenario.clone() };
        let run = match &kernel {
            Some(kernel) => kernel.run(&seeded, job)?,
            None => host::simulate(&seeded, job)?,
        };
        Ok(match *seed == scenario.seed {
            true => Kept::First(Box::new(run)),
            false => Kept::Other(Box::new(run.summary)),
        })
    })
}

/// The seed of each run: the scenario's seed, and the numbers after it.
fn seeds(first: u64, runs: u32) -> Result<Vec<u64>, Failure> {
    let more = u64::from(runs) - 1;
    match first.checked_add(more) {
        Some(last) if last <= MOST_SEED => Ok((first..=last).collect()),
        _ => Err(Failure::new(
            Exit::Usage,
            format!("--repeat {runs} from seed {first} on needs seeds beyond {MOST_SEED}, the largest one"),
            format!("write a seed of at most {}, or a smaller --repeat", MOST_SEED - more),
        )),
    }
}

/// Checks that the summaries of all runs fit into memory.
fn check_size(scenario: &Scenario, runs: u32) -> Result<(), Failure> {
    let (links, flows) = (scenario.links.len() as u64, scenario.flows.len() as u64);
    let each = flows * FLOW_BYTES + links * LINK_BYTES + links * flows * PAIR_BYTES;
    let bytes = u64::from(runs).saturating_mul(each);
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    let [takes, may] = [bytes, MOST_BYTES].map(|bytes| bytes as f64 / 1e9);
    let message = format!(
        "the results of {runs} runs x {flows} flows x {links} links take about {takes:.1} GB of memory; they \
         may take {may:.1} GB"
    );
    let help = match MOST_BYTES / each {
        0 | 1 => "write a smaller `count` of flows, or fewer links".to_owned(),
        fit => format!("write --repeat {fit} or less, a smaller `count` of flows, or fewer links"),
    };
    Err(Failure::new(Exit::Usage, message, help))
}

/// A note on intervals of width zero.
const NOTHING_RANDOM: &str = "\nAll seeds gave the same result: nothing in this scenario is random. \
     Real hosts have noise; try --set flow.host_jitter=200us\n";

/// Text of the means and half-widths of their confidence intervals.
fn page(place: Place, repeat: &Repeat, first: &Summary) -> String {
    let [from, to] = repeat.window_s;
    let mut text = format!(
        "{}\n{} with {} seeds from {} on, measured from {} to {} s; \
         mean \u{b1} 95 % confidence interval\n\n",
        repeat.scenario.title,
        place.description(),
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
        row.extend([of("queue_delay_p99_ms", 1.0, 2), of("dropped_pkts", 1.0, 1), of("marked_pkts", 1.0, 1)]);
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

/// Text of an estimate, "12.34 ± 0.05", or a dash.
fn cell(estimate: Option<Estimate>, scale: f64, decimals: usize) -> String {
    let number = |value: f64| table::number(Some(value * scale), decimals);
    match estimate {
        Some(Estimate { mean, ci95: Some(half), .. }) => format!("{} \u{b1} {}", number(mean), number(half)),
        Some(Estimate { mean, .. }) => number(mean),
        None => "-".to_owned(),
    }
}
