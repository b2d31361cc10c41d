//! Performs the runs that are not in the cache, and finishes each figure when all its runs are there.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use fairpace_cli_core::args::Global;
use fairpace_cli_core::batch::Batch;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::{self, COMMIT};
use fairpace_cli_core::output::note;
use fairpace_cli_core::progress::Progress;
use fairpace_cli_core::signals::Signals;
use fairpace_experiment::Store;
use fairpace_papers::figure::{Base, Kernel};
use fairpace_papers::judge::Rule;
use fairpace_papers::plan::Plan;
use fairpace_papers::record::{Measured, Record};
use fairpace_papers::results;
use fairpace_papers::sheet::Sheet;
use fairpace_results::Run;
use fairpace_scenario::{Scenario, Target};

use super::unusable;
use crate::args::ReproduceArgs;

/// A figure to run on a base.
pub(super) struct Work<'a> {
    pub(super) sheet: &'a Sheet,
    pub(super) base: &'a Base,
    pub(super) plan: Plan,
}

/// A figure that was run.
pub(super) struct Finished<'a> {
    pub(super) sheet: &'a Sheet,
    pub(super) base: &'a Base,
    pub(super) measured: Measured,
}

/// Runs all figures; each is recorded when it is finished.
pub(super) fn all<'a>(
    works: &[Work<'a>],
    args: &ReproduceArgs,
    global: Global,
    signals: &Signals,
) -> Result<Vec<Finished<'a>>, Failure> {
    let executable = std::env::current_exe().ok();
    let cache = Store::new(&args.dir, COMMIT, executable.as_deref());
    let kept = Kept { cache, records: Mutex::new(()), args };
    if args.fresh {
        kept.forget(works)?;
    }
    match args.on {
        Target::Simulator => simulate(works, &kept, global, signals),
        Target::Testbed => measure(works, &kept, global, signals),
    }
}

/// Where runs and results are kept.
struct Kept<'a> {
    cache: Store,
    /// Held while a record is changed: the bases of a figure share one.
    records: Mutex<()>,
    args: &'a ReproduceArgs,
}

impl Kept<'_> {
    fn forget(&self, works: &[Work<'_>]) -> Result<(), Failure> {
        let mut scenarios = works.iter().flat_map(|work| work.plan.scenarios());
        scenarios
            .try_for_each(|scenario| self.cache.forget(scenario, self.args.on))
            .map_err(|e| self.failed(&e))
    }

    fn keep(&self, scenario: &Scenario, run: &Run) -> Result<(), Failure> {
        self.cache.put(scenario, self.args.on, run).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        let another = "name a copy of the folder with --dir";
        Failure::file("finished runs cannot be kept below", &self.args.dir, error, another)
    }

    /// Reads all runs of a figure and records its result.
    fn finish<'a>(&self, work: &Work<'a>) -> Result<Finished<'a>, Failure> {
        let kept = |scenario: &Scenario| self.cache.get(scenario, self.args.on);
        let outcomes = work.plan.cases.iter().map(|case| case.outcome(kept)).collect::<Result<Vec<_>, _>>();
        let outcomes = outcomes.map_err(|message| {
            Failure::new(Exit::Internal, format!("{}: {message}", work.sheet.name()), "")
        })?;
        let Work { sheet, base, .. } = *work;
        let rule = if self.args.short { Rule::Mean } else { Rule::Interval };
        let measured =
            results::measured(sheet, base, self.args.on, rule, &outcomes, work.plan.hash(), COMMIT);
        if !self.args.short {
            let _alone = self.records.lock().unwrap_or_else(PoisonError::into_inner);
            let root = &self.args.dir;
            let failed = |error| unusable(&results::path(root, sheet), &error);
            let mut record = Record::load(root, sheet).map_err(failed)?;
            record.add(measured.clone());
            record.store(root, sheet).map_err(failed)?;
        }
        Ok(Finished { sheet, base, measured })
    }
}

/// A finished figure in a line.
fn line(done: &Finished<'_>) -> String {
    let Measured { verdict, runs, cpu_s, .. } = &done.measured;
    format!("{}: {verdict}, {runs} runs, {cpu_s:.1} CPU-seconds", done.sheet.name_on(done.base))
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
        for scenario in work.plan.scenarios().filter(|scenario| !kept.cache.has(scenario, Target::Simulator))
        {
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
    let progress = Progress::of_scenarios(&missing, global.quiet);
    let finish = |index: usize| {
        let done = kept.finish(&works[index])?;
        if !global.quiet {
            progress.print(&line(&done));
        }
        let _ = finished[index].set(done); // only the last of its runs comes here
        Ok::<(), Failure>(())
    };
    (0..works.len()).filter(|index| left[*index].load(Ordering::Relaxed) == 0).try_for_each(finish)?;
    let batch = Batch { jobs: kept.args.jobs.at_a_time, signals, progress: &progress };
    batch.simulate(&missing, |index, run| {
        let scenario = missing[index];
        kept.keep(scenario, &run)?;
        let works = waiting.get(&(scenario.hash.as_str(), scenario.seed)).into_iter().flatten();
        // AcqRel: the thread that finishes the figure sees all its runs
        works
            .filter(|work| left[**work].fetch_sub(1, Ordering::AcqRel) == 1)
            .try_for_each(|work| finish(*work))
    })?;
    Ok(finished.into_iter().filter_map(OnceLock::into_inner).collect())
}

/// Runs the figures one after the other, and the runs of each as many at a time as it allows. A figure with a
/// disturbed run is left out and reported as a failure at the end.
fn measure<'a>(
    works: &[Work<'a>],
    kept: &Kept<'_>,
    global: Global,
    signals: &Signals,
) -> Result<Vec<Finished<'a>>, Failure> {
    let (mut finished, mut disturbed) = (Vec::new(), None);
    for work in works {
        match measure_one(work, kept, global, signals) {
            Ok(()) => finished.push(kept.finish(work)?),
            Err(failure) if failure.is_disturbance() => {
                note(&format!("{}: not measured: {failure}", work.sheet.name()));
                disturbed.get_or_insert(failure);
                continue;
            }
            Err(failure) => return Err(failure),
        }
        if let (Some(done), false) = (finished.last(), global.quiet) {
            note(&line(done));
        }
    }
    match disturbed {
        Some(failure) => {
            Err(failure.with_help("the other figures are on record; run it again on a quiet machine"))
        }
        None => Ok(finished),
    }
}

/// How many of these real runs may go at a time, for the reason that [`Kernel::at_a_time`] gives.
fn at_a_time(kernel: Option<&Kernel>, runs: &[&Scenario]) -> u32 {
    let sends_single_packets = |run: &&Scenario| run.flows.iter().any(|flow| !flow.sending.tso);
    let asked = kernel.map_or(1, |kernel| kernel.at_a_time);
    if runs.iter().any(sends_single_packets) { 1 } else { asked }
}

/// Performs the missing runs of a figure.
fn measure_one(work: &Work<'_>, kept: &Kept<'_>, global: Global, signals: &Signals) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    let missing: Vec<&Scenario> = work
        .plan
        .scenarios()
        .filter(|scenario| !kept.cache.has(scenario, Target::Testbed))
        .filter(|scenario| seen.insert((&scenario.hash, scenario.seed)))
        .collect();
    let at_a_time = at_a_time(work.sheet.figure.kernel.as_ref(), &missing);
    let alone = at_a_time == 1;
    if !global.quiet {
        note(&format!("{}: {} runs, {at_a_time} at a time", work.sheet.name_on(work.base), missing.len()));
    }
    let progress = Progress::of_real_runs(&missing, global.quiet);
    let batch = Batch { jobs: NonZeroUsize::new(at_a_time as usize), signals, progress: &progress };
    batch.map(&missing, |scenario, job| kept.keep(scenario, &host::on_kernel(scenario, job, alone)?))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use fairpace_test_support::{Folder, TWO_FLOWS};

    use super::*;

    #[test]
    fn real_flows_that_send_single_packets_run_alone() {
        let place = Folder::create();
        place.write("two.toml", TWO_FLOWS);
        let bursts = fairpace_scenario::load(&place.path().join("two.toml"), &[], Target::Simulator)
            .expect("it is a scenario");
        let mut single = bursts.clone();
        single.flows.iter_mut().for_each(|flow| flow.sending.tso = false);
        let kernel = Kernel { at_a_time: 3, ..Kernel::default() };
        assert_eq!(at_a_time(Some(&kernel), &[&bursts, &bursts]), 3);
        assert_eq!(at_a_time(Some(&kernel), &[&bursts, &single]), 1);
        assert_eq!(at_a_time(None, &[&bursts]), 1);
    }
}
