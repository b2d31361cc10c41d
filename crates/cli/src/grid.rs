//! `fairpace reproduce-grid`: the 972 runs of the BBRv3 startup paper, as many of them as one has time for. It goes on where it was.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use fairpace_reproduce::grid::{self, Book, Cell, Row};
use fairpace_results::Monitor;
use fairpace_scenario::Scenario;
use serde::Serialize;

use crate::args::{Global, GridArgs};
use crate::failure::{Exit, Failure};
use crate::monitor::{Signals, Tally};
use crate::output::Output;
use crate::place::COMMIT;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Record {
    /// Runs that were asked for.
    asked: usize,
    /// Of these, in the table now.
    done: usize,
    /// Of these, made just now...
    made: usize,
    /// ...in so many seconds of CPU time.
    cpu_s: f64,
}

pub(crate) fn run(
    args: &GridArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let cells = asked(args)?;
    let mut book = Book::open(&args.table)?;
    let missing = missing(&cells, &book, args.again)?;
    let before = book.rows().len();
    let result = if args.dry_run { Ok(()) } else { make(&missing, &mut book, args.jobs, signals, global) };
    let made = &book.rows()[before..];
    let (made, cpu_s) = (made.len(), made.iter().fold(0.0, |sum, row| sum + row.cpu_s));
    // in the order of the whole grid, whatever was asked for
    let order = grid::cells(Duration::ZERO, 0);
    let place = |row: &Row| order.iter().position(|cell| same_place(cell, row)).unwrap_or(order.len());
    if made > 0 {
        book.tidy(place)?;
    }
    let done = cells.iter().filter(|cell| book.row(cell).is_some()).count();
    if let Some(path) = &args.parquet {
        grid::write_parquet(path, book.rows(), &book.flows()?)?;
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
    let usage = |message, help| Failure::told(Exit::Usage, message, help);
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
        if let Some(strange) = values.iter().find(|value| !all.iter().any(|known| known == *value)) {
            let mut known = all.clone();
            known.sort();
            known.dedup();
            return Err(match known.is_empty() {
                true => usage(
                    format!("--only: there is no {column}"),
                    "there are pair, queue, buffer, rate and rtt".into(),
                ),
                false => usage(
                    format!("--only: no run has {column}={strange}"),
                    format!("there are {}", known.join(", ")),
                ),
            });
        }
        cells.retain(|cell| cell.column(column).is_some_and(|value| values.contains(&&*value)));
    }
    Ok(cells)
}

/// Those that are not in the table, or are in it as another scenario.
fn missing<'a>(cells: &'a [Cell], book: &Book, again: bool) -> Result<Vec<&'a Cell>, Failure> {
    let mut missing = Vec::new();
    for cell in cells {
        let current = match book.row(cell) {
            Some(row) if !again => cell.is_current(row, &scenario(cell)?),
            _ => false,
        };
        if !current {
            missing.push(cell);
        }
    }
    Ok(missing)
}

fn scenario(cell: &Cell) -> Result<Scenario, Failure> {
    Ok(cell.scenario()?)
}

fn same_place(cell: &Cell, row: &Row) -> bool {
    cell.pair_name() == row.pair
        && (cell.queue, cell.buffer, cell.rate, cell.rtt)
            == (&*row.queue, &*row.buffer, &*row.rate, &*row.rtt)
}

/// Makes the runs, and writes each down when it is done.
fn make(
    cells: &[&Cell],
    book: &mut Book,
    jobs: Option<NonZeroUsize>,
    signals: &Signals,
    global: Global,
) -> Result<(), Failure> {
    let jobs = jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let packets = |cell: &&Cell| cell.rate_gbps() as f64 * 1e9 / 8.0 / 1514.0 * cell.duration.as_secs_f64();
    let tally = Tally::of(cells.iter().map(packets).collect(), global.quiet);
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let book = Mutex::new(book);
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let mut monitor = Ending { signals, failed: &failed, tally: &tally, index, part: 0.0 };
            let Some(cell) = cells.get(index).filter(|_| !monitor.stop()) else { return };
            match one(cell, &mut monitor, &book) {
                Ok(()) => tally.one_done(),
                Err(failure) if signals.received().is_none() => {
                    lock(&failed).get_or_insert(failure);
                }
                Err(_) => return,
            }
        }
    };
    thread::scope(|scope| (0..jobs.min(cells.len())).for_each(|_| drop(scope.spawn(work))));
    drop(tally);
    lock(&failed).take().map_or(Ok(()), Err)
}

fn one(cell: &Cell, monitor: &mut Ending<'_>, book: &Mutex<&mut Book>) -> Result<(), Failure> {
    let mut run = fairpace_sim::run(&scenario(cell)?, monitor)?;
    run.summary.commit = COMMIT.to_owned();
    lock(book).append(cell.row(&run.summary), &grid::flow_rows(&run.summary))?;
    Ok(())
}

/// A thread that panicked leaves a table in which each line is whole.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Ends a run when a signal came or another run failed.
struct Ending<'a> {
    signals: &'a Signals,
    failed: &'a Mutex<Option<Failure>>,
    tally: &'a Tally,
    /// Which run, and how much of it has been told.
    index: usize,
    part: f64,
}

impl Monitor for Ending<'_> {
    fn progress(&mut self, done_s: f64, total_s: f64) {
        let part = done_s / total_s;
        self.tally.more(self.index, part - self.part);
        self.part = part;
    }

    fn stop(&self) -> bool {
        self.signals.received().is_some() || lock(self.failed).is_some()
    }
}
