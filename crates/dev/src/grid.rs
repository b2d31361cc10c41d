//! `fairpace-dev reproduce-grid`: the 972 runs of the BBRv3 startup paper. It continues where an earlier
//! call ended.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::batch::Batch;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::progress::Progress;
use fairpace_cli_core::signals::Signals;
use fairpace_papers::grid::{self, Cell, Row, RunTable};
use fairpace_scenario::Target;
use serde::Serialize;

use crate::args::GridArgs;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Record {
    /// Runs that the arguments select.
    asked: usize,
    /// Of these, in the table now.
    done: usize,
    /// Of these, made by this call...
    made: usize,
    /// ...in this CPU time.
    cpu_s: f64,
}

pub(crate) fn run(
    args: &GridArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let cells = asked(args)?;
    if !args.set.is_empty() && args.table == Path::new(GridArgs::TABLE) {
        let message = "--set makes other runs than those of the table of the paper's grid";
        return Err(Failure::new(Exit::Usage, message, "name a table of their own with --table"));
    }
    variant_is_possible(&cells, args)?;
    args.parquet.as_deref().map_or(Ok(()), grid::may_write_parquet).map_err(unusable)?;
    let mut table = RunTable::open(&args.table).map_err(unusable)?;
    let missing = missing(&cells, &table, args)?;
    let before = table.rows().len();
    let result = if args.dry_run { Ok(()) } else { simulate(&missing, &mut table, args, signals, global) };
    let made = &table.rows()[before..];
    let (made, cpu_s) = (made.len(), made.iter().fold(0.0, |sum, row| sum + row.cpu_s));
    // in the order of the whole grid
    let order = grid::cells(Duration::ZERO, 0);
    let place = |row: &Row| order.iter().position(|cell| same_place(cell, row)).unwrap_or(order.len());
    if made > 0 {
        table.tidy(place).map_err(unusable)?;
    }
    let done = cells.iter().filter(|cell| table.row(cell).is_some()).count();
    if let Some(path) = &args.parquet {
        let flows = table.flows().map_err(unusable)?;
        grid::write_parquet(path, table.rows(), &flows).map_err(unusable)?;
    }
    if let Some(signal) = signals.received() {
        let help = format!("{made} finished runs are in {}; the same command goes on", args.table.display());
        return Err(Failure::signal_with(signal, help));
    }
    result?;
    let record = Record { asked: cells.len(), done, made, cpu_s };
    if global.json {
        return out.json(&record);
    }
    out.line(&format!(
        "{done} of {} runs are in {}; {made} made now, in {cpu_s:.0} s of CPU time",
        record.asked,
        args.table.display()
    ))
}

/// The cells that `--only` leaves, for each seed.
fn asked(args: &GridArgs) -> Result<Vec<Cell>, Failure> {
    let usage = |message, help| Failure::new(Exit::Usage, message, help);
    let mut filters = Vec::new();
    for only in &args.only {
        let Some((column, values)) = only.split_once('=') else {
            return Err(usage(
                format!("--only {only} has no `=`"),
                "for example --only rate=1gbit,10gbit".to_owned(),
            ));
        };
        filters.push((column, values.split(',').collect::<Vec<_>>()));
    }
    let seeds = (0..args.seeds).map(|index| args.seed.saturating_add(u64::from(index)));
    let mut cells: Vec<Cell> = seeds.flat_map(|seed| grid::cells(args.duration, seed)).collect();
    for (column, values) in filters {
        let all: Vec<_> = cells.iter().filter_map(|cell| cell.column(column)).collect();
        if let Some(unknown) = values.iter().find(|value| !all.iter().any(|known| known == *value)) {
            let mut known = all.clone();
            known.sort();
            known.dedup();
            return Err(match known.is_empty() {
                true => usage(
                    format!("--only: there is no {column}"),
                    "there are pair, queue, buffer, rate and rtt".into(),
                ),
                false => usage(
                    format!("--only: no run has {column}={unknown}"),
                    format!("there are {}", known.join(", ")),
                ),
            });
        }
        cells.retain(|cell| cell.column(column).is_some_and(|value| values.contains(&&*value)));
    }
    Ok(cells)
}

/// Whether all runs can have what `--set` says. It is known before a table is created or its rows are
/// counted.
fn variant_is_possible(cells: &[Cell], args: &GridArgs) -> Result<(), Failure> {
    // without a variant every cell is possible, and no seed makes one impossible
    let mut tried = cells.iter().filter(|cell| !args.set.is_empty() && cell.seed == args.seed);
    Ok(tried.try_for_each(|cell| cell.scenario(&args.set, Target::Simulator).map(drop))?)
}

/// Cells that are not in the table, or whose scenario has changed since.
fn missing<'a>(cells: &'a [Cell], table: &RunTable, args: &GridArgs) -> Result<Vec<&'a Cell>, Failure> {
    let mut missing = Vec::new();
    for cell in cells {
        let current = match table.row(cell) {
            Some(row) if !args.again => cell.is_current(row, &cell.scenario(&args.set, Target::Simulator)?),
            _ => false,
        };
        if !current {
            missing.push(cell);
        }
    }
    Ok(missing)
}

fn same_place(cell: &Cell, row: &Row) -> bool {
    cell.pair_name() == row.pair
        && (cell.queue, cell.buffer, cell.rate, cell.rtt)
            == (&*row.queue, &*row.buffer, &*row.rate, &*row.rtt)
}

/// Performs the runs; each is in the table when it is done.
fn simulate(
    cells: &[&Cell],
    table: &mut RunTable,
    args: &GridArgs,
    signals: &Signals,
    global: Global,
) -> Result<(), Failure> {
    let scenarios = cells.iter().map(|cell| Ok(cell.scenario(&args.set, Target::Simulator)?));
    let scenarios = scenarios.collect::<Result<Vec<_>, Failure>>()?;
    let progress = Progress::of_scenarios(&scenarios.iter().collect::<Vec<_>>(), global.quiet);
    let runs: Vec<_> = cells.iter().zip(&scenarios).collect();
    let table = Mutex::new(table);
    let done = Batch { jobs: args.jobs.at_a_time, signals, progress: &progress }.map(
        &runs,
        |(cell, scenario), job| {
            let run = host::simulate_within_bounds(scenario, job)?;
            // a thread that panicked leaves a table in which each line is whole
            let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
            table.append(cell.row(scenario, &run.summary), &grid::flow_rows(&run.summary)).map_err(unusable)
        },
    );
    done.map(drop)
}

fn unusable(error: grid::Error) -> Failure {
    let (exit, help) = match &error {
        grid::Error::Busy(_) => (Exit::Usage, "wait for it, or name another --table"),
        grid::Error::NotATable { .. } => (Exit::Usage, "name another file: it is left as it is"),
        grid::Error::NotOurs { .. } => (Exit::Output, "name another file: it is left as it is"),
        grid::Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => (
            Exit::Output,
            "run it at the top of a checkout of Fairpace, or name a file in a folder that exists",
        ),
        grid::Error::Io { .. } | grid::Error::Parquet { .. } => {
            (Exit::Output, "check the folder, its permissions and the disk")
        }
    };
    Failure::new(exit, error.to_string(), help)
}
