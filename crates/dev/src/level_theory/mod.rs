//! `fairpace-dev level-theory`: the model of LEVEL (`fairpace_papers::models::level`) beside
//! packets; the tables of docs/level.md.
//!
//! A table is a list of cases. Each has what the model says, a scenario, and what is measured in its run. The
//! level and the gain are those of `cc/level.h`: where they change, so do all tables.

mod convergence;
mod drains;
mod equilibrium;
mod gain;
mod path;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fairpace_cc::{Algorithm, Params};
use fairpace_cli_core::args::Global;
use fairpace_cli_core::batch;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_papers::models::level::Level;
use fairpace_results::Run;
use fairpace_scenario::{Scenario, Target, parse};
use serde::Serialize;

use crate::args::{LevelTable, LevelTheoryArgs};
use crate::marked_page::{Page, publish};
use fairpace_experiment::Range as Spread;

const TITLE: &str = "LEVEL: why it works";
/// The rate of a flow whose level is the parameter `level`, packets per second.
const REFERENCE_RATE: f64 = 4096.0;

/// What the model takes from `cc/level.h`.
#[derive(Debug, Clone, Copy)]
struct Inputs {
    level: Level,
    gain: f64,
    /// Part of rate times base RTT that a drain leaves in flight.
    kept: f64,
    /// How long a drain lasts beyond the base RTT, seconds.
    drain_s: f64,
}

impl Inputs {
    fn of_level() -> Result<Self, Failure> {
        let missing = |message: String| Failure::new(Exit::Internal, message, "see cc/level.h");
        let level = Algorithm::by_name("level").map_err(|error| missing(error.to_string()))?;
        let parameters = Params::defaults(level);
        let raw = |name: &str| {
            let value = parameters.get(name).map(f64::from);
            value.ok_or_else(|| missing(format!("level has no parameter {name}, an input of its model")))
        };
        Ok(Self {
            level: Level {
                reference_s: raw("level")? * 1e-6,
                reference_rate: REFERENCE_RATE,
                exponent: EXPONENT,
            },
            gain: raw("gain")? / GAIN_UNIT,
            kept: KEPT,
            drain_s: DRAIN_S,
        })
    }
}

/// The part of rate times base RTT that a drain leaves in flight (`level_drained_window`).
const KEPT: f64 = 0.25;
/// How long a drain lasts beyond the base RTT (`LEVEL_DRAIN_US`), seconds.
const DRAIN_S: f64 = 0.040;
/// The power of the rate with which the level falls: `cc/level.h` takes a square root.
const EXPONENT: f64 = 0.5;
/// A gain of 1 as a raw number (`CC_GAIN_UNIT`).
const GAIN_UNIT: f64 = 256.0;

/// A number by the name of its column.
type Values = Vec<(&'static str, f64)>;

/// What is compared in one row.
struct Case {
    name: String,
    /// What the model says.
    model: Values,
    /// The scenario of a seed.
    scenario: Box<dyn Fn(u64) -> String>,
    /// What is measured in a run.
    measure: Box<dyn Fn(&Run) -> Values + Sync>,
}

/// A column: its key, its heading, decimals.
type Column = (&'static str, &'static str, usize);

/// A table of docs/level.md.
struct Table {
    /// What the rows are.
    of: &'static str,
    /// Columns of the model, then those of packets, in the order of the table.
    columns: &'static [Column],
    cases: Vec<Case>,
}

/// A row as `--json` prints it.
#[derive(Debug, Serialize)]
struct Row {
    case: String,
    values: BTreeMap<&'static str, Spread>,
}

pub(crate) fn run(
    args: &LevelTheoryArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let inputs = Inputs::of_level()?;
    let marked = args.out.open(Page { command: args.table.command(), title: TITLE })?;
    let table = match args.table {
        LevelTable::Fifo => equilibrium::fifo(&inputs),
        LevelTable::Error => equilibrium::error(&inputs),
        LevelTable::Noise => equilibrium::noise(&inputs),
        LevelTable::Network => equilibrium::network(&inputs),
        LevelTable::Gain => gain::table(&inputs),
        LevelTable::Crowd => gain::crowd(&inputs),
        LevelTable::Steering => convergence::steering(&inputs),
        LevelTable::Exchange => convergence::exchange(&inputs),
        LevelTable::Depth => drains::depth(&inputs),
        LevelTable::Kept => drains::kept(&inputs),
        LevelTable::Anchor => drains::anchor(&inputs),
    };
    let rows = rows(&table, args.seeds, signals, global.quiet)?;
    publish(marked, &markdown(&table, &rows, &inputs, args.seeds), &rows, global, out)
}

fn rows(table: &Table, seeds: u32, signals: &Signals, quiet: bool) -> Result<Vec<Row>, Failure> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    for case in &table.cases {
        for seed in 1..=u64::from(seeds) {
            let text = (case.scenario)(seed);
            scenarios.push(parse("level-theory", &text, &[], Target::Simulator)?);
        }
    }
    let measures: Vec<&(dyn Fn(&Run) -> Values + Sync)> =
        table.cases.iter().map(|case| &*case.measure).collect();
    let measured = batch::simulate_all(&scenarios, None, signals, quiet, |index, run| {
        measures[index / seeds as usize](&run)
    })?;
    let row = |(case, runs): (&Case, &[Values])| {
        let mut values: BTreeMap<_, _> =
            case.model.iter().map(|(name, value)| (*name, Spread::of(&[*value]))).collect();
        for (name, _) in runs.first().into_iter().flatten() {
            let of_name = |run: &Values| run.iter().find(|(other, _)| other == name).map(|(_, value)| *value);
            // a run without an event has no number for it
            let found: Vec<f64> = runs.iter().filter_map(of_name).filter(|value| value.is_finite()).collect();
            values.insert(*name, Spread::of(&found));
        }
        Row { case: case.name.clone(), values }
    };
    Ok(table.cases.iter().zip(measured.chunks(seeds as usize)).map(row).collect())
}

fn markdown(table: &Table, rows: &[Row], inputs: &Inputs, seeds: u32) -> String {
    let Inputs { level, gain, .. } = inputs;
    let mut text = format!(
        "f(r) = {} ms * ({} packets/s / r)^{}, gain {gain}; packets: mean of {seeds} seeds (lowest to \
         highest).\n\n",
        level.reference_s * 1e3,
        level.reference_rate,
        level.exponent
    );
    let headings: Vec<&str> = table.columns.iter().map(|(_, heading, _)| *heading).collect();
    let _ = writeln!(text, "| {} | {} |", table.of, headings.join(" | "));
    let _ = writeln!(text, "|---|{}", "---|".repeat(headings.len()));
    for row in rows {
        let cell = |(key, _, decimals): &Column| match row.values.get(key) {
            Some(Spread { mean, .. }) if !mean.is_finite() => "-".to_owned(),
            None => "-".to_owned(),
            Some(spread) => {
                let text = spread.text(*decimals);
                let rounded = format!("{:.*}", decimals, spread.mean);
                let alike =
                    [spread.min, spread.max].iter().all(|end| format!("{end:.*}", decimals) == rounded);
                if alike { rounded } else { text }
            }
        };
        let cells: Vec<String> = table.columns.iter().map(cell).collect();
        let _ = writeln!(text, "| {} | {} |", row.case, cells.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::assert_documented;

    #[test]
    fn the_record_is_documented() {
        let values = BTreeMap::from([("share", Spread::of(&[1.0]))]);
        assert_documented("level-theory", &[Row { case: String::new(), values }]);
    }

    #[test]
    fn every_column_has_a_source_and_every_scenario_is_one() {
        let inputs = Inputs::of_level().unwrap();
        let tables = [
            equilibrium::fifo(&inputs),
            equilibrium::error(&inputs),
            equilibrium::noise(&inputs),
            equilibrium::network(&inputs),
            gain::table(&inputs),
            gain::crowd(&inputs),
            convergence::steering(&inputs),
            convergence::exchange(&inputs),
            drains::depth(&inputs),
            drains::kept(&inputs),
            drains::anchor(&inputs),
        ];
        for table in &tables {
            for case in &table.cases {
                let text = (case.scenario)(1);
                parse("level-theory", &text, &[], Target::Simulator).unwrap();
                for (name, _) in &case.model {
                    assert!(table.columns.iter().any(|(key, _, _)| key == name), "{name}");
                }
            }
        }
    }
}
