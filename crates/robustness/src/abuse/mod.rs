//! `fairpace-dev abuse`: starts the real `fairpace` thousands of times with hostile input and judges each
//! invocation.
//!
//! `hostile` has values, from which a module for each class (`keys`, `files`, `arguments`, `out`,
//! `environment`, `signals`, `kernel`) makes `case`s by the seed alone. `perform` runs a case in a `scratch`
//! directory of its own, `judge` has the rules, and `report` groups the violations.

mod arguments;
mod case;
mod dice;
mod environment;
mod files;
mod hostile;
mod judge;
mod kernel;
mod keys;
mod out;
mod perform;
mod report;
mod scratch;
mod signals;

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fairpace_cli_core::args::Global;
use fairpace_cli_core::batch::Batch;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use fairpace_cli_core::progress::Progress;
use fairpace_cli_core::signals::Signals;
use fairpace_results::Monitor as _;

use crate::args::{AbuseArgs, AbuseClass as Class};
use crate::machine::program;
use case::Case;
use dice::Dice;
use judge::{Violation, judge};
use kernel::Kernel;
use perform::{Seen, Session};
use report::Findings;

/// An invocation with its judgement.
struct Ran {
    case: Case,
    seen: Seen,
    violations: Vec<Violation>,
}

/// Classes in the order in which they take turns; classes in which more faults are expected come more often.
const TURNS: [Class; 20] = {
    use Class::{Arguments as A, Environment as E, Files as F, Kernel, Keys as K, Out as O, Signals as S};
    [K, F, A, O, K, E, A, F, S, K, O, A, F, E, K, O, F, A, E, Kernel]
};
/// Name of an environment variable. With the value 1 no class may be skipped; CI, which has a kernel, sets
/// it.
const REQUIRE_KERNEL: &str = "FAIRPACE_REQUIRE_KERNEL";
/// Duration of the run without --time and --count.
const USUAL: Duration = Duration::from_secs(120);

/// The plan of invocations.
struct Plan {
    seed: u64,
    only: Option<Class>,
    /// Number of invocations at which the run ends, if its time is not over before.
    count: Option<u64>,
    time: Option<Duration>,
}

impl Plan {
    fn new(args: &AbuseArgs) -> Self {
        let time = args.time.or_else(|| args.count.is_none().then_some(USUAL));
        Self { seed: args.seed, only: args.only, count: args.count, time }
    }

    /// Class and index of invocation `number`.
    fn at(&self, number: u64) -> (Class, u64) {
        if let Some(class) = self.only {
            return (class, number);
        }
        let (round, turn) = (number / TURNS.len() as u64, number as usize % TURNS.len());
        let class = TURNS[turn];
        let of_class = |turns: &[Class]| turns.iter().filter(|of| **of == class).count() as u64;
        (class, round * of_class(&TURNS) + of_class(&TURNS[..turn]))
    }

    fn is_over(&self, number: u64, elapsed: Duration) -> bool {
        self.count.is_some_and(|count| number >= count) || self.time.is_some_and(|time| elapsed >= time)
    }

    /// The time that is left after this many invocations.
    fn left(&self, done: u64, elapsed: Duration) -> Duration {
        let by_time = self.time.map(|time| time.saturating_sub(elapsed));
        let each = elapsed.as_secs_f64() / done.max(1) as f64;
        let by_count =
            self.count.map(|count| Duration::from_secs_f64(each * count.saturating_sub(done) as f64));
        [by_time, by_count].into_iter().flatten().min().unwrap_or_default()
    }
}

/// Performs `fairpace-dev abuse`.
///
/// # Errors
/// Returns an error if there is no program, if a class that is required must be skipped, if a signal arrived,
/// or if an invocation violates a rule.
pub fn run(args: &AbuseArgs, global: Global, signals: &Signals, out: &mut Output) -> Result<(), Failure> {
    let program = program(args.program.as_deref())?;
    let session = Session::begin(&program, args.limit).map_err(|error| cannot(&program, &error))?;
    let abuse = Abuse::prepare(args, &session, global)?;
    if let (Some(class), Some(index)) = (args.only, args.index) {
        return abuse.replay(class, index, signals, out);
    }
    let begun = Instant::now();
    let ended = abuse.perform_all(args, signals, begun);
    let program = args.program.as_ref().map(|program| program.display().to_string());
    let findings = abuse.findings.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let stories = abuse.kernel.as_ref().map(Kernel::told).unwrap_or_default();
    let seconds = begun.elapsed().as_secs_f64();
    let record = findings.record(args.seed, seconds, stories, &abuse.skipped, program.as_deref());
    out.record(&record, global, report::text)?;
    ended?;
    verdict(record.violations.len())?;
    abuse.is_enough()
}

fn verdict(violations: usize) -> Result<(), Failure> {
    if violations == 0 {
        return Ok(());
    }
    let message = format!("invocations violate the rules in {violations} ways");
    Err(Failure::new(Exit::Internal, message, "each way has commands that replay it"))
}

fn cannot(program: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot run {} in a directory for temporary files: {error}", program.display());
    Failure::new(Exit::Internal, message, "check TMPDIR and the space in it")
}

/// Help for the case that invocations are skipped.
const AS_ROOT: &str = "run it as root, where unshare and setpriv work";

fn is_required() -> bool {
    std::env::var_os(REQUIRE_KERNEL).is_some_and(|value| value == "1")
}

/// A run of the generator.
struct Abuse<'a> {
    plan: Plan,
    session: &'a Session,
    kernel: Option<Kernel>,
    /// Classes that this machine or this user cannot run.
    skipped: Vec<String>,
    findings: Mutex<Findings>,
    quiet: bool,
}

impl<'a> Abuse<'a> {
    fn prepare(args: &AbuseArgs, session: &'a Session, global: Global) -> Result<Self, Failure> {
        let mut skipped = Vec::new();
        let wanted = |class| args.only.is_none_or(|only| only == class);
        let kernel = wanted(Class::Kernel)
            .then(|| Kernel::prepare(session))
            .and_then(|kernel| kernel.map_err(|why| skipped.push(format!("class kernel: {why}"))).ok());
        if !session.rights.can_drop {
            let why = "this is root, and setpriv (util-linux) does not work";
            skipped.push(format!("invocations without rights: {why}"));
        }
        if !session.rights.can_mount {
            skipped.push("mount points and no /proc: unshare (util-linux) does not work here".into());
        }
        let quiet = global.quiet;
        if !quiet {
            let folder = session.program.parent().unwrap_or(Path::new("")).display();
            eprintln!("seed {}, in {folder}", args.seed);
            skipped.iter().for_each(|what| eprintln!("SKIPPED: {what}"));
        }
        if is_required() && !skipped.is_empty() {
            let message = format!("{REQUIRE_KERNEL}=1, but this is skipped: {}", skipped.join("; "));
            return Err(Failure::new(Exit::Unsupported, message, AS_ROOT));
        }
        Ok(Self { plan: Plan::new(args), session, kernel, skipped, findings: Mutex::default(), quiet })
    }

    /// Performs one invocation, or the several of a story in the kernel. `None`: it was skipped, or `stop`
    /// returned true.
    fn perform(&self, class: Class, index: u64, stop: &dyn Fn() -> bool) -> io::Result<Option<Vec<Ran>>> {
        let seed = self.plan.seed;
        let mut dice = Dice::new(seed, class as u64, index);
        let name = format!("{}-{index}", class.name());
        let case = match class {
            Class::Keys => keys::draw(seed, index, &mut dice),
            Class::Files => files::draw(&mut dice),
            Class::Arguments => arguments::draw(index, &mut dice),
            Class::Out => out::draw(self.session.rights, &mut dice),
            Class::Environment => environment::draw(self.session.rights, &mut dice),
            Class::Signals => signals::draw(&mut dice),
            Class::Kernel => {
                let Some(kernel) = &self.kernel else { return Ok(None) };
                return kernel.perform(self.session, index, &mut dice, stop).map(Some);
            }
        };
        if case.unprivileged && !self.session.rights.can_drop {
            return Ok(None);
        }
        let Some(seen) = self.session.perform(&case, &name, stop)? else { return Ok(None) };
        let violations = judge(&case, &seen);
        Ok(Some(vec![Ran { case, seen, violations }]))
    }

    /// Checks, where CI requires the kernel, that a run of a minute or more has performed every kind of
    /// story.
    fn is_enough(&self) -> Result<(), Failure> {
        let Plan { only: None, count: None, time: Some(time), .. } = self.plan else { return Ok(()) };
        let untold = self.kernel.as_ref().and_then(Kernel::untold);
        match untold {
            Some(plot) if is_required() && time >= Duration::from_secs(60) => {
                let message = format!("in {} s no story in the kernel had this: {plot}", time.as_secs());
                Err(Failure::new(Exit::Internal, message, "give it a longer --time"))
            }
            _ => Ok(()),
        }
    }

    /// Performs invocations in several threads, each of which takes the next one until the plan is over.
    fn perform_all(&self, args: &AbuseArgs, signals: &Signals, begun: Instant) -> Result<(), Failure> {
        let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
        let line = Mutex::new(begun);
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads: Vec<usize> = (0..args.jobs.map_or_else(cores, std::num::NonZero::get)).collect();
        // invocations are counted here, not threads
        let progress = Progress::counted("threads", threads.len(), true);
        let batch = Batch { jobs: args.jobs, signals, progress: &progress };
        batch.map(&threads, |_, job| {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if job.stop() || self.plan.is_over(number, begun.elapsed()) {
                    return Ok(());
                }
                let (class, index) = self.plan.at(number);
                let ran = self.perform(class, index, &|| job.stop());
                let ran = ran.map_err(|error| cannot(&self.session.program, &error))?;
                if let Some(ran) = ran {
                    self.count(class, index, &ran);
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    self.show(done, begun, &line);
                }
            }
        })?;
        Ok(())
    }

    fn count(&self, class: Class, index: u64, ran: &[Ran]) {
        let mut findings = self.findings.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        findings.add(class, index, ran);
    }

    /// Shows a line of progress: on a terminal each second, in a log every 20 s.
    fn show(&self, done: u64, begun: Instant, line: &Mutex<Instant>) {
        let is_terminal = io::stderr().is_terminal();
        let every = Duration::from_secs(if is_terminal { 1 } else { 20 });
        // another thread that looks at the same time prints it
        let Ok(mut last) = line.try_lock() else { return };
        if self.quiet || last.elapsed() < every {
            return;
        }
        *last = Instant::now();
        let elapsed = begun.elapsed();
        let groups = self.findings.lock().map_or(0, |findings| findings.groups());
        let rate = done as f64 / elapsed.as_secs_f64();
        let left = self.plan.left(done, elapsed).as_secs();
        let text = format!("{done} invocations, {rate:.1}/s, {groups} groups of violations, {left} s left");
        match is_terminal {
            true => eprint!("\r\u{1b}[K{text}"),
            false => eprintln!("{text}"),
        }
    }

    /// Performs one invocation and shows it in full.
    fn replay(&self, class: Class, index: u64, signals: &Signals, out: &mut Output) -> Result<(), Failure> {
        let ran = self.perform(class, index, &|| signals.received().is_some());
        let ran = ran.map_err(|error| cannot(&self.session.program, &error))?;
        if let Some(signal) = signals.received() {
            return Err(Failure::signal(signal));
        }
        let Some(ran) = ran else {
            let message = "this invocation is skipped on this machine";
            return Err(Failure::new(Exit::Unsupported, message, AS_ROOT));
        };
        for ran in &ran {
            out.text(&report::replay(self.session, ran))?;
        }
        verdict(ran.iter().map(|ran| ran.violations.len()).sum())
    }
}

impl Drop for Abuse<'_> {
    fn drop(&mut self) {
        if let Some(kernel) = &self.kernel {
            for name in kernel.finish(self.session) {
                eprintln!("{name} cannot be unloaded: `fairpace unload {name}`");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(only: Option<Class>) -> Plan {
        Plan { seed: 1, only, count: Some(100), time: None }
    }

    #[test]
    fn every_invocation_of_a_class_has_a_turn() {
        let plan = plan(None);
        let mut indices = std::collections::BTreeMap::<_, Vec<u64>>::new();
        for number in 0..200 {
            let (class, index) = plan.at(number);
            indices.entry(class).or_default().push(index);
        }
        assert_eq!(indices.len(), 7);
        for (class, indices) in indices {
            assert!(indices.iter().copied().eq(0..indices.len() as u64), "{class:?}: {indices:?}");
        }
    }

    #[test]
    fn the_remaining_time_is_that_of_the_end_that_comes_first() {
        let s = Duration::from_secs;
        assert_eq!(plan(None).left(25, s(10)), s(30));
        assert_eq!(Plan { time: Some(s(15)), ..plan(None) }.left(25, s(10)), s(5));
    }

    #[test]
    fn a_seed_and_an_index_make_the_same_case() {
        let rights = perform::Rights::default();
        let case = |seed: u64| {
            let dice = || Dice::new(seed, 3, 9);
            format!(
                "{:?}{:?}{:?}",
                files::draw(&mut dice()),
                out::draw(rights, &mut dice()),
                signals::draw(&mut dice())
            )
        };
        assert_eq!(case(5), case(5));
        assert_ne!(case(5), case(6));
    }
}
