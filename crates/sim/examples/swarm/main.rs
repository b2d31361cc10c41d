//! Random scenarios with random features and faults, each held against everything that must always be true:
//!
//!     cargo run --profile swarm -p fairpace-sim --example swarm -- [--count N] [--seed FIRST] [--out FOLDER] [--json]
//!
//! Scenario i of a swarm has the seed FIRST + i, whatever the number of threads. One that fails is written to FOLDER; with a count of 1
//! every one is. Exit status 1 if any has failed.

mod check;
mod draw;
mod ledger;

use std::cell::RefCell;
use std::io::IsTerminal as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

/// What is asked for.
#[derive(Debug, Clone)]
struct Asked {
    count: u64,
    first: u64,
    out: PathBuf,
    json: bool,
}

/// A scenario that failed.
#[derive(Debug, Clone, Serialize)]
struct Failure {
    seed: u64,
    /// What did not hold, or how it panicked.
    wrong: Vec<String>,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Report {
    first_seed: u64,
    scenarios: u64,
    clean: u64,
    data_packets: u64,
    failed: Vec<Failure>,
}

const USAGE: &str = "usage: swarm [--count N] [--seed FIRST] [--out FOLDER] [--json]";

fn asked() -> Result<Asked, String> {
    let mut asked = Asked { count: 100, first: 1, out: PathBuf::from("target/swarm-scenarios"), json: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{name} wants a value; {USAGE}"));
        let number =
            |text: String| text.parse().map_err(|_| format!("`{text}` is not a whole number; {USAGE}"));
        match name.as_str() {
            "--count" => asked.count = number(value()?)?,
            "--seed" => asked.first = number(value()?)?,
            "--out" => asked.out = PathBuf::from(value()?),
            "--json" => asked.json = true,
            _ => return Err(format!("there is no `{name}`; {USAGE}")),
        }
    }
    let most = i64::MAX as u64; // of seeds in scenario files
    if asked.count == 0 || asked.first > most || asked.count > most - asked.first {
        return Err(format!("seeds go from 0 to {most}, and the count is at least 1; {USAGE}"));
    }
    Ok(asked)
}

fn main() -> ExitCode {
    let result = asked().and_then(|asked| {
        note_panics();
        if asked.count == 1 {
            keep(&asked, asked.first)?; // before it runs: it may take the process with it
        }
        let report = swarm(&asked)?;
        if asked.count > 1 {
            report.failed.iter().try_for_each(|failure| keep(&asked, failure.seed))?;
        }
        tell(&asked, &report)?;
        Ok(report.failed.is_empty())
    });
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("swarm: {why}");
            ExitCode::from(2)
        }
    }
}

thread_local! {
    /// What the last panic of this thread said.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A panic is a result here: it is kept, and not printed in the middle of others.
fn note_panics() {
    std::panic::set_hook(Box::new(|info| PANIC.set(info.to_string())));
}

/// Draws and checks the scenario of a seed: what is wrong, and data packets.
fn one(seed: u64) -> (Vec<String>, u64) {
    let drawn = catch_unwind(|| draw::scenario(seed));
    let checked = match drawn {
        Ok(Ok(scenario)) => catch_unwind(AssertUnwindSafe(|| check::check(&scenario))),
        Ok(Err(invalid)) => {
            let problems: Vec<_> =
                invalid.problems.iter().map(|p| format!("{}: {}", p.key, p.message)).collect();
            Ok((vec![format!("what was drawn is not valid: {}", problems.join("; "))], 0))
        }
        Err(panic) => Err(panic),
    };
    checked.unwrap_or_else(|_| (vec![PANIC.take()], 0))
}

fn swarm(asked: &Asked) -> Result<Report, String> {
    let began = Instant::now();
    let (next, done, packets) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let (failed, running) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= asked.count {
                break;
            }
            let seed = asked.first + i;
            let (wrong, delivered) = one(seed);
            packets.fetch_add(delivered, Ordering::Relaxed);
            if !wrong.is_empty() {
                eprintln!("{}seed {seed} failed", clear());
                let mut failed = failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                failed.push(Failure { seed, wrong });
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
        running.fetch_sub(1, Ordering::Release);
    };
    std::thread::scope(|scope| {
        running.store(threads, Ordering::Release);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
        let mut shown = Instant::now();
        // a terminal sees more than a log
        let every = Duration::from_secs(if std::io::stderr().is_terminal() { 1 } else { 20 });
        while running.load(Ordering::Acquire) > 0 {
            std::thread::sleep(Duration::from_millis(50));
            if shown.elapsed() >= every {
                shown = Instant::now();
                show_progress(
                    asked,
                    done.load(Ordering::Relaxed),
                    failed.lock().map_or(0, |f| f.len()),
                    began,
                );
            }
        }
    });
    let mut failed = failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    failed.sort_unstable_by_key(|failure: &Failure| failure.seed);
    Ok(Report {
        first_seed: asked.first,
        scenarios: asked.count,
        clean: asked.count - failed.len() as u64,
        data_packets: packets.into_inner(),
        failed,
    })
}

fn show_progress(asked: &Asked, done: u64, failed: usize, began: Instant) {
    let per_s = done as f64 / began.elapsed().as_secs_f64();
    let left_s = (asked.count - done) as f64 / per_s.max(1e-9);
    let rest = if done == 0 { "no estimate yet".to_owned() } else { format!("{left_s:.0} s left") };
    let (begin, end) = if std::io::stderr().is_terminal() { ("\r\x1b[2K", "") } else { ("", "\n") };
    eprint!("{begin}{done} of {} scenarios, {per_s:.1} a second, {failed} failed, {rest}{end}", asked.count);
}

/// Writes the scenario of a seed.
fn keep(asked: &Asked, seed: u64) -> Result<(), String> {
    // what cannot be drawn is said by who runs it
    let Ok(Ok(scenario)) = catch_unwind(|| draw::scenario(seed)) else { return Ok(()) };
    let folder = asked.out.join(seed.to_string());
    let failed = |error| format!("cannot write {}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let path = check::write(&scenario, &folder).map_err(failed)?;
    eprintln!("{}the scenario of seed {seed}: {}", clear(), path.display());
    Ok(())
}

fn clear() -> &'static str {
    if std::io::stderr().is_terminal() { "\r\x1b[2K" } else { "" }
}

fn tell(asked: &Asked, report: &Report) -> Result<(), String> {
    if asked.json {
        print!("{}", fairpace_results::to_json(report).map_err(|error| error.to_string())?);
        return Ok(());
    }
    for Failure { seed, wrong } in &report.failed {
        println!("seed {seed} (replay: make swarm SEED={seed} N=1):");
        wrong.iter().for_each(|what| println!("  {what}"));
    }
    let Report { scenarios, clean, data_packets, first_seed, .. } = report;
    println!(
        "{clean} of {scenarios} scenarios clean, from seed {first_seed} on; {data_packets} data packets"
    );
    Ok(())
}
