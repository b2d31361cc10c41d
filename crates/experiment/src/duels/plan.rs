//! The scenarios of all duels, and the record of their runs.

use fairpace_results::Summary;
use fairpace_scenario::quantity::{Dimension, show, show_time};
use fairpace_scenario::{Scenario, Set, Target, hash_of_all, parse};

use super::Duels;
use super::record::{AlgorithmSettings, Buffer, Duel, Record, SCHEMA};
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::COMMIT;

/// Bits in a full-sized packet on the wire.
const PACKET_BITS: u128 = 1500 * 8;

/// All duels with their scenarios.
pub struct Plan<'a> {
    args: &'a Duels,
    names: &'a [String],
    pairs: Vec<Pair>,
    scenarios: Vec<Scenario>,
}

/// Two algorithms, by their indices in the list, at one buffer; `row` is at most `column`.
struct Pair {
    buffer: usize,
    row: usize,
    column: usize,
    /// Index of its first scenario. Those in which `row` starts first precede those in which `column` does.
    first_run: usize,
    runs: usize,
}

impl<'a> Plan<'a> {
    /// The duels of these algorithms.
    ///
    /// # Errors
    /// An algorithm or a value is wrong.
    pub fn new(args: &'a Duels, names: &'a [String]) -> Result<Self, Failure> {
        for set in &args.sets {
            if let Some(other) = set.algorithm().filter(|name| !names.iter().any(|cc| cc == name)) {
                return Err(Failure::new(
                    Exit::Usage,
                    format!("--set changes a parameter of `{other}`, which does not take part"),
                    format!("--cc names {}", names.join(", ")),
                ));
            }
        }
        let mut plan = Self { args, names, pairs: Vec::new(), scenarios: Vec::new() };
        for buffer in 0..args.buffer.len() {
            for row in 0..names.len() {
                for column in row..names.len() {
                    plan.add(buffer, row, column)?;
                }
            }
        }
        Ok(plan)
    }

    /// All of them, in order.
    #[must_use]
    pub fn scenarios(&self) -> &[Scenario] {
        &self.scenarios
    }

    /// Both orders, since a flow that is there first can keep an advantage.
    fn add(&mut self, buffer: usize, row: usize, column: usize) -> Result<(), Failure> {
        let first_run = self.scenarios.len();
        let orders = [[row, column], [column, row]];
        for order in orders.iter().take(if row == column { 1 } else { 2 }) {
            for repetition in 0..self.args.seeds {
                self.scenarios.push(self.scenario(buffer, order.map(|of| &*self.names[of]), repetition)?);
            }
        }
        self.pairs.push(Pair { buffer, row, column, first_run, runs: self.scenarios.len() - first_run });
        Ok(())
    }

    fn scenario(&self, buffer: usize, names: [&str; 2], repetition: u32) -> Result<Scenario, Failure> {
        let Duels { rate, rtt, duration, warmup, stagger, seeds, seed, .. } = self.args;
        // without noise, repetitions differ only by the start of the second flow
        let start = stagger.saturating_add(stagger.saturating_mul(repetition) / *seeds);
        let seed = seed.saturating_add(u64::from(repetition)).to_string();
        let mut sets = vec![
            Set::argument("--duration", "duration", duration),
            Set::argument("--warmup", "window.from", warmup),
            Set::argument("--seed", "seed", seed),
            Set::argument("--rate", "link.rate", rate),
            Set::argument("--buffer", "link.buffer", &self.args.buffer[buffer]),
            Set::argument("--cc", "flow.1.cc", names[0]),
            Set::argument("--cc", "flow.2.cc", names[1]),
            Set::argument("--rtt", "flow.rtt", rtt),
            Set::argument("--stagger", "flow.2.start", show_time(start)),
        ];
        let is_for_this_duel =
            |set: &&Set| set.algorithm().is_none_or(|algorithm| names.contains(&algorithm));
        sets.extend(self.args.sets.iter().filter(is_for_this_duel).cloned());
        let mut scenario = parse("", TEMPLATE, &sets, Target::Simulator)?;
        scenario.title = format!("{} against {}", names[0], names[1]);
        fit_to_path(&mut scenario)?;
        Ok(scenario.sealed(Target::Simulator)?)
    }

    /// What the runs measured. `summaries` are in the order of the scenarios.
    pub(super) fn record(&self, summaries: &[Summary]) -> Record {
        let Self { args, names, pairs, scenarios } = self;
        let path = &scenarios[0];
        let buffer = |(index, name): (usize, &String)| {
            let first = pairs.iter().find(|pair| pair.buffer == index).map_or(0, |pair| pair.first_run);
            Buffer { name: name.clone(), bytes: scenarios[first].links[0].buffer.bytes() }
        };
        let algorithm = |(index, name): (usize, &String)| {
            let with_itself = pairs.iter().find(|pair| pair.row == index && pair.column == index);
            let cc = with_itself.map(|pair| &scenarios[pair.first_run].flows[0].cc);
            let set =
                cc.map(|cc| cc.settings().iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
            AlgorithmSettings { name: name.clone(), set: set.into_iter().flatten().collect() }
        };
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
            buffers: args.buffer.iter().enumerate().map(buffer).collect(),
            algorithms: names.iter().enumerate().map(algorithm).collect(),
            duels: pairs.iter().map(|pair| self.duel(pair, summaries)).collect(),
        }
    }

    fn duel(&self, pair: &Pair, summaries: &[Summary]) -> Duel {
        let runs = &summaries[pair.first_run..pair.first_run + pair.runs];
        let seeds = self.args.seeds as usize;
        // in the second half the row's flow is the second one
        let share = |(index, run): (usize, &Summary)| run.flows[index / seeds].share;
        let shares: Vec<f64> = runs.iter().enumerate().filter_map(share).collect();
        let least = shares.iter().copied().reduce(f64::min);
        let most = shares.iter().copied().reduce(f64::max);
        let link = |of: fn(&fairpace_results::LinkSummary) -> Option<f64>| {
            mean(&runs.iter().filter_map(|run| of(&run.links[0])).collect::<Vec<_>>())
        };
        Duel {
            buffer: self.args.buffer[pair.buffer].clone(),
            row: self.names[pair.row].clone(),
            column: self.names[pair.column].clone(),
            share: mean(&shares),
            share_range: least.zip(most).map(|(least, most)| [least, most]),
            loss_rate: link(|link| link.loss_rate),
            queue_delay_mean_ms: link(|link| link.queue_delay_mean_ms),
            utilization: link(|link| Some(link.utilization)).unwrap_or_default(),
            runs: runs.len(),
        }
    }
}

/// What the arguments fill in.
const TEMPLATE: &str = "title = \"duel\"\n[window]\n[[link]]\n[[flow]]\n[[flow]]\n";

/// The controls with a constant cwnd or rate get values that fit the path: a cwnd of one BDP, or half of
/// the link's rate.
fn fit_to_path(scenario: &mut Scenario) -> Result<(), Failure> {
    let (rate_bps, rtt) = (scenario.links[0].rate_bps, scenario.flows[0].rtt);
    let bdp_pkts = (u128::from(rate_bps) * rtt.as_nanos() / 1_000_000_000 / PACKET_BITS).max(1);
    let fitting = [
        ("fixed_cwnd", "cwnd_pkts", bdp_pkts.to_string()),
        ("fixed_rate", "rate", show(rate_bps / 16 * 8, Dimension::Rate)),
    ];
    for flow in &mut scenario.flows {
        for (cc, parameter, value) in &fitting {
            let is_set = flow.cc.settings().iter().any(|(name, _)| name == parameter);
            if flow.cc.to_string() == *cc && !is_set {
                flow.cc.set(parameter, value).map_err(|error| {
                    Failure::new(Exit::Usage, error.to_string(), format!("`{cc}` cannot run on this path"))
                })?;
            }
        }
    }
    Ok(())
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
