//! The scenarios of all duels, and the record that their runs fill.

use fairpace_cli_core::args::Jobs;
use fairpace_cli_core::batch;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::COMMIT;
use fairpace_cli_core::signals::Signals;
use fairpace_results::{LinkSummary, Summary};
use fairpace_scenario::quantity::{Dimension, show, show_time};
use fairpace_scenario::{Cc, Scenario, Set, Target, hash_of_all, parse};

use super::record::{AlgorithmSettings, Buffer, Duel, Record, SCHEMA};
use super::{Duels, is_with};
use crate::Range;

/// Size of a full-sized packet on the wire, bits.
const PACKET_BITS: u128 = 1500 * 8;

/// The scenario file before the arguments set its keys.
const TEMPLATE: &str = "title = \"duel\"\n[window]\n[[link]]\n[[flow]]\n[[flow]]\n";

/// All duels with their scenarios.
pub struct Plan {
    scenarios: Vec<Scenario>,
    /// The record without the numbers that the runs measure.
    record: Record,
}

impl Plan {
    /// Plans the duels for these options.
    ///
    /// # Errors
    /// Returns an error if an algorithm or a value is wrong, or if an algorithm is named twice.
    pub fn new(args: &Duels) -> Result<Self, Failure> {
        let names = args.names()?;
        let (mut scenarios, mut duels) = (Vec::new(), Vec::new());
        for buffer in &args.buffer {
            for (index, row) in names.iter().enumerate() {
                for column in &names[index..] {
                    // both orders, since a flow that is there first can keep an advantage
                    let orders = [[row, column], [column, row]];
                    let orders = if row == column { &orders[..1] } else { &orders };
                    for order in orders {
                        for repetition in 0..args.seeds {
                            scenarios.push(args.scenario(buffer, *order, repetition)?);
                        }
                    }
                    let [row, column, buffer] = [row, column, buffer].map(String::clone);
                    let runs = orders.len() * args.seeds as usize;
                    duels.push(Duel { buffer, row, column, runs, ..Duel::default() });
                }
            }
        }
        Ok(Self { record: record(args, &names, &scenarios, duels), scenarios })
    }

    /// The scenarios of all duels, in order.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        &self.scenarios
    }

    /// Simulates all duels.
    ///
    /// # Errors
    /// Returns an error if a signal arrived.
    pub fn measure(self, jobs: Jobs, signals: &Signals, quiet: bool) -> Result<Record, Failure> {
        let Self { scenarios, mut record } = self;
        let summaries =
            batch::simulate_all(&scenarios, jobs.at_a_time, signals, quiet, |_, run| run.summary)?;
        let mut rest = &summaries[..];
        for duel in &mut record.duels {
            let (runs, more) = rest.split_at(duel.runs);
            duel.fill(runs, record.seeds as usize);
            rest = more;
        }
        Ok(record)
    }
}

/// The record with everything that is known before the runs.
fn record(args: &Duels, names: &[String], scenarios: &[Scenario], duels: Vec<Duel>) -> Record {
    let of_buffer = scenarios.chunks(scenarios.len() / args.buffer.len());
    let buffer = |(name, of): (&String, &[Scenario])| Buffer {
        name: name.clone(),
        bytes: of[0].links[0].buffer.bytes(),
    };
    let algorithm = |name: &String| {
        let cc = scenarios.iter().map(|of| &of.flows[0].cc).find(|cc| cc.to_string() == *name);
        let set = cc.into_iter().flat_map(|cc| cc.settings());
        let set = set.map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        AlgorithmSettings { name: name.clone(), set }
    };
    let path = &scenarios[0];
    Record {
        schema: SCHEMA,
        commit: COMMIT,
        command: args.command(),
        seed: args.seed,
        seeds: args.seeds,
        scenarios_hash: hash_of_all(scenarios),
        rate_mbps: path.links[0].rate_bps as f64 / 1e6,
        rtt_ms: path.flows[0].rtt.as_secs_f64() * 1e3,
        window_s: [path.window.0.as_secs_f64(), path.window.1.as_secs_f64()],
        buffers: args.buffer.iter().zip(of_buffer).map(buffer).collect(),
        algorithms: names.iter().map(algorithm).collect(),
        duels,
    }
}

impl Duels {
    fn scenario(&self, buffer: &str, names: [&String; 2], repetition: u32) -> Result<Scenario, Failure> {
        let Self { rate, rtt, duration, warmup, stagger, seeds, seed, .. } = self;
        // without noise, repetitions differ only by the start of the second flow
        let start = stagger.saturating_add(stagger.saturating_mul(repetition) / *seeds);
        let seed = seed.saturating_add(u64::from(repetition)).to_string();
        let mut sets = vec![
            Set::argument("--duration", "duration", duration),
            Set::argument("--warmup", "window.from", warmup),
            Set::argument("--seed", "seed", seed),
            Set::argument("--rate", "link.rate", rate),
            Set::argument("--buffer", "link.buffer", buffer),
            Set::argument("--cc", "flow.1.cc", names[0]),
            Set::argument("--cc", "flow.2.cc", names[1]),
            Set::argument("--rtt", "flow.rtt", rtt),
            Set::argument("--stagger", "flow.2.start", show_time(start)),
        ];
        let is_for_these =
            |set: &&Set| set.algorithm().is_none_or(|of| is_with(&names.map(String::clone), of));
        sets.extend(self.sets.iter().filter(is_for_these).cloned());
        let mut scenario = parse("", TEMPLATE, &sets, Target::Simulator)?;
        scenario.title = format!("{} against {}", names[0], names[1]);
        fit_to_path(&mut scenario)?;
        Ok(scenario.sealed(Target::Simulator)?)
    }
}

impl Duel {
    /// Adds what the runs of this duel measured; `seeds` runs belong to each order of the two algorithms.
    fn fill(&mut self, runs: &[Summary], seeds: usize) {
        // in the second half the row's flow is the second one
        let share = |(index, run): (usize, &Summary)| run.flows[index / seeds].share;
        let shares = Range::known(runs.iter().enumerate().filter_map(share));
        let link = |of: fn(&LinkSummary) -> Option<f64>| {
            Range::known(runs.iter().filter_map(|run| of(&run.links[0]))).map(|of| of.mean)
        };
        self.share = shares.map(|of| of.mean);
        self.share_range = shares.map(|of| [of.min, of.max]);
        self.loss_rate = link(|link| link.loss_rate);
        self.queue_delay_mean_ms = link(|link| link.queue_delay_mean_ms);
        self.utilization = link(|link| Some(link.utilization)).unwrap_or_default();
    }
}

/// Gives the controls, which have a constant cwnd or rate, values that fit the path: a cwnd of one BDP, or
/// half of the link's rate.
fn fit_to_path(scenario: &mut Scenario) -> Result<(), Failure> {
    let (rate_bps, rtt) = (scenario.links[0].rate_bps, scenario.flows[0].rtt);
    let bdp_pkts = u128::from(rate_bps) * rtt.as_nanos() / 1_000_000_000 / PACKET_BITS;
    for flow in &mut scenario.flows {
        let cc = flow.cc.to_string();
        let (parameter, value) = match Cc::split(&cc).0 {
            "fixed_cwnd" => ("cwnd_pkts", bdp_pkts.max(1).to_string()),
            "fixed_rate" => ("rate", show(rate_bps / 16 * 8, Dimension::Rate)),
            _ => continue,
        };
        if flow.cc.settings().iter().all(|(name, _)| *name != parameter) {
            let help = format!("`{cc}` cannot run on this path");
            let set = flow.cc.set(parameter, &value);
            set.map_err(|error| Failure::new(Exit::Usage, error.to_string(), help))?;
        }
    }
    Ok(())
}
