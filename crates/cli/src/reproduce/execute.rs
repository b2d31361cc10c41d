//! Runs what the cache does not have, and finishes each figure as soon as all its runs are there.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use fairpace_reproduce::cache::Cache;
use fairpace_reproduce::load::Sheet;
use fairpace_reproduce::measure::{Gave, Outcome};
use fairpace_reproduce::plan::{Case, Plan, Source};
use fairpace_reproduce::record::{Measured, On, Record};
use fairpace_reproduce::results;
use fairpace_results::Run;
use fairpace_scenario::Scenario;

use super::{on, unusable};
use crate::args::{Global, Place, ReproduceArgs};
use crate::batch;
use crate::failure::{Exit, Failure};
use crate::monitor::{Signals, Tally};
use crate::place::{self, COMMIT};

/// A figure that is to be run.
pub(super) struct Work<'a> {
    pub(super) sheet: &'a Sheet,
    pub(super) plan: Plan,
}

/// A figure that was.
pub(super) struct Finished<'a> {
    pub(super) sheet: &'a Sheet,
    pub(super) measured: Measured,
}

/// Runs all of them; each is on record when it is finished.
pub(super) fn all<'a>(
    works: &[Work<'a>],
    args: &ReproduceArgs,
    global: Global,
    signals: &Signals,
) -> Result<Vec<Finished<'a>>, Failure> {
    let executable = std::env::current_exe().ok();
    let kept = Kept { cache: Cache::new(&args.dir, COMMIT, executable.as_deref()), args };
    if args.fresh {
        kept.forget(works)?;
    }
    match args.on {
        Place::Sim => simulate(works, &kept, global, signals),
        Place::Kernel => measure(works, &kept, global, signals),
    }
}

/// Where runs and results are kept.
struct Kept<'a> {
    cache: Cache,
    args: &'a ReproduceArgs,
}

impl Kept<'_> {
    fn on(&self) -> On {
        on(self.args.on)
    }

    fn forget(&self, works: &[Work<'_>]) -> Result<(), Failure> {
        let mut scenarios = works.iter().flat_map(|work| work.plan.scenarios());
        scenarios.try_for_each(|scenario| self.cache.forget(scenario, self.on())).map_err(|e| self.failed(&e))
    }

    fn keep(&self, scenario: &Scenario, run: &Run) -> Result<(), Failure> {
        self.cache.put(scenario, self.on(), run).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        let dir = self.args.dir.display();
        Failure::told(
            Exit::Output,
            format!("finished runs cannot be kept below {dir}: {error}"),
            "make room there, or name a copy of the folder that you may write to with --dir",
        )
    }

    /// Reads all runs of a figure, and records what they say.
    fn finish<'a>(&self, work: &Work<'a>) -> Result<Finished<'a>, Failure> {
        let outcomes = work.plan.cases.iter().map(|case| self.outcome(work.sheet, case));
        let outcomes = outcomes.collect::<Result<Vec<_>, _>>()?;
        let sheet = work.sheet;
        let measured = results::measured(sheet, self.on(), &outcomes, work.plan.hash(), COMMIT);
        if !self.args.short {
            let root = &self.args.dir;
            let failed = |error| unusable(&results::path(root, sheet), &error);
            let mut record = Record::load(root, sheet).map_err(failed)?;
            record.add(measured.clone());
            record.store(root, sheet).map_err(failed)?;
        }
        Ok(Finished { sheet, measured })
    }

    fn outcome(&self, sheet: &Sheet, case: &Case) -> Result<Outcome, Failure> {
        let gave = match &case.source {
            Source::Scenarios(scenarios) => {
                let runs = scenarios.iter().map(|scenario| self.cache.get(scenario, self.on()));
                Gave::Runs(runs.collect::<Option<_>>().ok_or_else(|| {
                    let message = format!("a finished run of {} is gone from the cache", sheet.name());
                    Failure::told(Exit::Internal, message, "run the same command again")
                })?)
            }
            Source::Model { name, arguments } => {
                Gave::Model(fairpace_models::evaluate(name, arguments).map_err(|error| {
                    Failure::told(
                        Exit::Usage,
                        error.to_string(),
                        format!("it is a model of {}", sheet.name()),
                    )
                })?)
            }
            Source::Table { path, filters } => Gave::Table { path: path.clone(), filters: filters.clone() },
        };
        Ok(Outcome { run: case.run, point: case.point, gave })
    }
}

/// What a finished figure tells at once.
fn line(done: &Finished<'_>) -> String {
    let Measured { verdict, runs, cpu_s, .. } = &done.measured;
    format!("{}: {verdict}, {runs} runs, {cpu_s:.1} CPU-seconds", done.sheet.name())
}

fn simulate<'a>(
    works: &[Work<'a>],
    kept: &Kept<'_>,
    global: Global,
    signals: &Signals,
) -> Result<Vec<Finished<'a>>, Failure> {
    // figures may share runs
    let mut waiting: HashMap<(&str, u64), Vec<usize>> = HashMap::new();
    let mut missing: Vec<&Scenario> = Vec::new();
    for (index, work) in works.iter().enumerate() {
        for scenario in work.plan.scenarios().filter(|scenario| !kept.cache.has(scenario, On::Sim)) {
            let works = waiting.entry((&scenario.hash, scenario.seed)).or_default();
            if works.is_empty() {
                missing.push(scenario);
            }
            if works.last() != Some(&index) {
                works.push(index);
            }
        }
    }
    let left: Vec<AtomicUsize> = works.iter().map(|_| AtomicUsize::new(0)).collect();
    for work in waiting.values().flatten() {
        left[*work].fetch_add(1, Ordering::Relaxed);
    }
    let finished: Vec<OnceLock<Finished<'a>>> = works.iter().map(|_| OnceLock::new()).collect();
    let tally = Tally::new(&missing, global.quiet);
    let finish = |index: usize| {
        let done = kept.finish(&works[index])?;
        if !global.quiet {
            tally.say(&line(&done));
        }
        let _ = finished[index].set(done); // the last of its runs comes once
        Ok::<(), Failure>(())
    };
    (0..works.len()).filter(|index| left[*index].load(Ordering::Relaxed) == 0).try_for_each(finish)?;
    batch::each(&missing, kept.args.jobs, signals, &tally, |index, run| {
        let scenario = missing[index];
        kept.keep(scenario, &run)?;
        let works = waiting.get(&(scenario.hash.as_str(), scenario.seed)).into_iter().flatten();
        // AcqRel: whoever finishes the figure sees all its runs
        works
            .filter(|work| left[**work].fetch_sub(1, Ordering::AcqRel) == 1)
            .try_for_each(|work| finish(*work))
    })?;
    Ok(finished.into_iter().filter_map(OnceLock::into_inner).collect())
}

/// One after the other, since each needs the machine for itself. A figure whose run is disturbed is left out, and told in the end.
fn measure<'a>(
    works: &[Work<'a>],
    kept: &Kept<'_>,
    global: Global,
    signals: &Signals,
) -> Result<Vec<Finished<'a>>, Failure> {
    let (mut finished, mut disturbed) = (Vec::new(), None);
    for work in works {
        let mut scenarios = work.plan.scenarios().filter(|scenario| !kept.cache.has(scenario, On::Kernel));
        let result = scenarios.try_for_each(|scenario| {
            let label = format!("{}: {}", work.sheet.name(), scenario.title);
            let run = place::run(scenario, Place::Kernel, &label, signals, global.quiet)?;
            kept.keep(scenario, &run)
        });
        match result {
            Ok(()) => finished.push(kept.finish(work)?),
            Err(failure) if failure.code() == Exit::Disturbed as i32 => {
                eprintln!("{}: not measured: {failure}", work.sheet.name());
                disturbed.get_or_insert(failure);
                continue;
            }
            Err(failure) => return Err(failure),
        }
        if let (Some(done), false) = (finished.last(), global.quiet) {
            eprintln!("{}", line(done));
        }
    }
    match disturbed {
        Some(failure) => {
            Err(failure.helped("the other figures are on record; run it again on a quiet machine"))
        }
        None => Ok(finished),
    }
}
