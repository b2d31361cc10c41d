//! Evaluation: how many cases of criteria each of several algorithms passes. `fairpace evaluate`, and
//! `evaluate` and `level-evidence` of `fairpace-dev`, use it.

#[cfg_attr(not(feature = "kernel"), path = "no_kernel.rs")]
mod kernel;
mod runs;
mod works;

use std::time::Instant;

use crate::{Criterion, CriterionRecord, Form, Measured, Record, SCHEMA, seed_of};
use clap::Args;
use clap::builder::StringValueParser;
use fairpace_cc::Algorithm;
use fairpace_scenario::{Cc, MOST_SEED, Scenario, Set, Target, hash_of_all};

use fairpace_cli_core::args::{Global, Jobs, Trimmed, from_one_to};
use fairpace_cli_core::comparison::distinct;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::COMMIT;
use fairpace_cli_core::place::Place;
use fairpace_cli_core::progress::expected_packets;
use fairpace_cli_core::signals::Signals;

pub use runs::{Keeping, without_series};
pub use works::{Outcome, Works};

/// First seed of each case unless the user names another.
const FIRST_SEED: u64 = 1;

/// Which cases are measured, and how.
#[derive(Debug, Clone, Args)]
pub struct EvaluationArgs {
    /// Only these criteria, by id, file or section: G1,crowds,5.1.
    #[arg(
        long,
        value_name = "CRITERION,...",
        value_delimiter = ',',
        value_parser = Trimmed(StringValueParser::new())
    )]
    pub criterion: Vec<String>,
    /// Only the cases that the criteria name for a quick look.
    #[arg(long)]
    pub quick: bool,
    /// Instead of the criteria's cases, measure this many random paths.
    #[arg(
        long,
        value_name = "N",
        requires = "draw",
        conflicts_with_all = ["criterion", "quick"],
        value_parser = from_one_to(10_000)
    )]
    pub paths: Option<u32>,
    /// The seed of these paths: hexadecimal digits, such as the hash of a commit that is made later than the
    /// algorithm.
    #[arg(long, value_name = "HEX", requires = "paths")]
    pub draw: Option<String>,
    /// Only cases with this text in their name.
    #[arg(long = "match", value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub matching: String,
    /// Seeds of each case; by default as its criterion says, with --quick 1.
    #[arg(long, value_name = "N", value_parser = from_one_to(1000))]
    pub seeds: Option<u32>,
    /// The first of these seeds.
    #[arg(long, default_value_t = FIRST_SEED)]
    pub seed: u64,
    /// Change a parameter of an algorithm, or a key of all scenarios; repeatable.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<Set>,
    /// Show each case that fails, with its numbers.
    #[arg(long, short = 'v')]
    pub failing: bool,
    /// Simulate also what was simulated before.
    #[arg(long)]
    pub fresh: bool,
    /// How many simulations run at a time.
    #[command(flatten)]
    pub jobs: Jobs,
}

/// An algorithm with changed parameters, as it is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Name of the subject in the record: the algorithm's name, if no parameter is changed.
    pub label: String,
    /// Name of the algorithm, see [`names`].
    pub cc: String,
    /// Changes of the algorithm's parameters; they apply after those of the arguments.
    pub sets: Vec<Set>,
}

impl Subject {
    /// An algorithm with its default parameters.
    #[must_use]
    pub fn of(cc: &str) -> Self {
        Self { label: cc.to_owned(), cc: cc.to_owned(), sets: Vec::new() }
    }
}

/// An evaluation: algorithms to measure at criteria.
pub struct Evaluation<'a> {
    /// Arguments that select cases and seeds.
    pub args: &'a EvaluationArgs,
    /// The criteria to measure; [`chosen`] selects those that the arguments name.
    pub criteria: &'a [&'a Criterion],
    /// The algorithms to measure.
    pub subjects: &'a [Subject],
    /// Labels of the subjects that the user asked for; other subjects are there for comparison.
    pub asked: &'a [String],
    /// Where cases run: in the simulator, or in the simulator and on a kernel.
    pub on: Place,
    /// The series of the kernel in virtual time; `None`: the newest that was fetched.
    pub series: Option<&'a str>,
    /// Name of the criteria, which is the name of their folder.
    pub folder: String,
    /// The first words of the command that repeats the measurement: program, criteria and algorithms.
    pub command: String,
    /// The store of finished runs.
    pub keeping: Keeping<'a>,
    /// Options that every command has.
    pub global: Global,
}

impl Evaluation<'_> {
    /// Checks the arguments and makes the scenarios, without a run.
    ///
    /// # Errors
    /// Returns an error if a changed parameter is of an algorithm that does not take part, if a value is
    /// wrong, or if no case is left.
    pub fn plan(&self) -> Result<Works, Failure> {
        let Self { args, criteria, subjects, .. } = self;
        let rivals: Vec<String> = criteria.iter().flat_map(|criterion| criterion.rivals()).collect();
        let names: Vec<&str> = subjects.iter().map(|subject| subject.cc.as_str()).collect();
        check_sets(&args.sets, &names, &rivals)?;
        let most = criteria.iter().map(|criterion| seeds(args, criterion)).max().unwrap_or(1);
        check_seeds(args.seed, most)?;
        let on_kernel = self.on != Place::Simulator;
        // what real flows can show are few cases, which are of the full form
        let form = if args.quick && !on_kernel { Form::Quick } else { Form::Full };
        let seed = args.draw.as_deref().map(draw_seed).transpose()?.unwrap_or_default();
        let mut works = Works::new(args.seed);
        let mut flows: u64 = 0;
        for (index, criterion) in criteria.iter().enumerate() {
            for Subject { label, cc, sets } in *subjects {
                let sets = [&args.sets[..], sets].concat();
                let mut cases = match args.paths {
                    Some(count) => criterion.paths(cc, &sets, count as usize, seed)?,
                    None => criterion.cases(cc, &sets, form, &args.matching)?,
                };
                cases.retain(|case| case.name.contains(&args.matching));
                cases.retain(|case| !on_kernel || criterion.kernel.contains(&case.name));
                let of_cases: usize = cases.iter().map(|case| case.scenario.flows.len()).sum();
                flows = flows.saturating_add(of_cases as u64 * u64::from(seeds(args, criterion)));
                check_size(flows)?;
                if !cases.is_empty() {
                    works.add(index, label, cases, seeds(args, criterion));
                }
            }
        }
        if works.scenarios().is_empty() {
            let message = format!("no case has a name with `{}` in it", args.matching);
            return Err(Failure::new(Exit::Usage, message, "names are as in `10mbit 10/50ms 1bdp`"));
        }
        if on_kernel {
            kernel::check(self.on, self.series, works.scenarios())?;
        }
        Ok(works)
    }

    /// Runs what the store does not have, and judges all cases.
    ///
    /// # Errors
    /// Returns an error if a run fails, if a signal arrives, or if finished runs cannot be stored.
    pub fn measure(&self, works: Works, signals: &Signals) -> Result<Record, Failure> {
        let args = self.args;
        let begun = Instant::now();
        // quick cases of some algorithms are in the program
        let contained = match args.quick && self.keeping.contained && !self.keeping.fresh {
            true => works.contained(),
            false => works.scenarios().iter().map(|_| None).collect(),
        };
        let open = works.scenarios().iter().zip(&contained).filter(|(_, known)| known.is_none());
        let mut missing = self.keeping.missing(open.map(|(of, _)| of), Target::Simulator);
        let simulated = missing.len();
        // the longest first, so that no core waits for a long one at the end
        missing.sort_by(|a, b| expected_packets(b).total_cmp(&expected_packets(a)));
        self.keeping.simulate(&missing, without_series, signals, self.global.quiet)?;
        let stored = |of: &Scenario| (self.keeping.cache)(of).get(of, Target::Simulator);
        let outcome = |(of, known): (&Scenario, Option<Measured>)| match known {
            Some(measured) => Some(Outcome::Kept(Box::new(measured))),
            None => stored(of).map(|run| Outcome::Run(Box::new(run.summary))),
        };
        let outcomes = works.scenarios().iter().zip(contained).map(outcome).collect::<Option<Vec<_>>>();
        let gone = || Failure::new(Exit::Internal, "a finished run is gone from the store", "run it again");
        let outcomes = outcomes.ok_or_else(gone)?;
        let mut record = Record {
            schema: SCHEMA,
            commit: COMMIT.to_owned(),
            command: self.command(),
            asked: self.asked.to_vec(),
            folder: self.folder.clone(),
            form: self.form(),
            kernel: None,
            seed: args.seed,
            scenarios_hash: hash_of_all(works.cases().map(|case| &case.scenario)),
            runs: outcomes.len(),
            simulated,
            wall_s: begun.elapsed().as_secs_f64(),
            criteria: self
                .criteria
                .iter()
                .map(|criterion| CriterionRecord::of(criterion, seeds(args, criterion)))
                .collect(),
        };
        for (criterion, algorithm) in works.judged(&outcomes, self.criteria) {
            record.criteria[criterion].algorithms.push(algorithm);
        }
        if self.on != Place::Simulator {
            kernel::measure(self, &works, &mut record, signals)?;
        }
        Ok(record)
    }

    fn form(&self) -> &'static str {
        match (self.on, self.args.paths, self.args.quick) {
            (Place::Kernel | Place::Virtual(_), ..) => "kernel",
            (Place::Simulator, Some(_), _) => "random paths",
            (Place::Simulator, None, true) => "quick",
            (Place::Simulator, None, false) => "full",
        }
    }

    /// The command that repeats the measurement.
    fn command(&self) -> String {
        let args = self.args;
        let mut words = vec![self.command.clone()];
        if !args.criterion.is_empty() {
            words.push(format!("--criterion {}", args.criterion.join(",")));
        }
        if let (Some(count), Some(hex)) = (args.paths, &args.draw) {
            words.push(format!("--paths {count} --draw {hex}"));
        }
        if !args.matching.is_empty() {
            words.push(format!("--match \"{}\"", args.matching));
        }
        if self.on != Place::Simulator {
            words.push(format!("--on {}", self.on.name()));
            words.extend(self.series.map(|series| format!("--kernel {series}")));
        } else if args.quick {
            words.push("--quick".to_owned());
        }
        words.extend(args.seeds.map(|seeds| format!("--seeds {seeds}")));
        if args.seed != FIRST_SEED {
            words.push(format!("--seed {}", args.seed));
        }
        words.extend(args.sets.iter().map(|set| format!("--set {set}")));
        words.join(" ")
    }
}

fn seeds(args: &EvaluationArgs, criterion: &Criterion) -> u32 {
    args.seeds.unwrap_or(if args.quick { 1 } else { criterion.seeds })
}

/// The seed that the digits of `--draw` stand for.
fn draw_seed(hex: &str) -> Result<u64, Failure> {
    seed_of(hex).ok_or_else(|| {
        let message = format!("--draw {hex} is not a text of hexadecimal digits");
        Failure::new(Exit::Usage, message, "name a commit's hash, or any other: --draw 1f3a")
    })
}

/// The criteria that `--criterion` names by id, file or section; all criteria if it names none. With
/// `--paths` only criteria with random paths.
///
/// # Errors
/// Returns an error if there is no criterion, or none of a given name; `criteria` names their place.
pub fn chosen<'g>(
    criteria: &'g [Criterion],
    args: &EvaluationArgs,
    folder: &str,
) -> Result<Vec<&'g Criterion>, Failure> {
    let asked = &args.criterion;
    let criteria: Vec<&Criterion> =
        criteria.iter().filter(|criterion| criterion.is_drawn() == args.paths.is_some()).collect();
    if criteria.is_empty() {
        let what = if args.paths.is_some() { "random paths" } else { "criterion with cases" };
        let message = format!("{folder} has no {what}");
        return Err(Failure::new(Exit::Usage, message, "the contained criteria have both"));
    }
    let is = |criterion: &Criterion, asked: &str| {
        let section = criterion.section.as_ref().map(|section| &section.name);
        let names = [&criterion.id, &criterion.name].into_iter().chain(section);
        let is_within = criterion.id.strip_prefix(asked).is_some_and(|rest| rest.starts_with('.'));
        is_within || names.into_iter().any(|name| name.eq_ignore_ascii_case(asked))
    };
    for asked in asked {
        if !criteria.iter().any(|criterion| is(criterion, asked)) {
            let known: Vec<_> =
                criteria.iter().map(|criterion| format!("{} ({})", criterion.id, criterion.name)).collect();
            let help = format!("there are {}", known.join(", "));
            return Err(Failure::new(Exit::Usage, format!("there is no criterion `{asked}`"), help));
        }
    }
    let wanted = |criterion: &&Criterion| asked.is_empty() || asked.iter().any(|asked| is(criterion, asked));
    Ok(criteria.iter().copied().filter(wanted).collect())
}

/// Checks the algorithms that the user wrote: names, paths of headers, or variants of either.
///
/// # Errors
/// Returns an error if an algorithm does not exist or is named twice; `option` is the option that names it.
pub fn names(asked: &[String], option: &str) -> Result<Vec<String>, Failure> {
    let mut all: Vec<Cc> = Vec::new();
    for written in asked {
        // an evaluation compares what runs in the simulator
        Algorithm::by_name(Cc::split(written).0)?;
        all.push(written.parse()?);
    }
    distinct(&all.iter().collect::<Vec<_>>(), option)?;
    Ok(all.iter().map(Cc::to_string).collect())
}

/// The algorithms as a command line names them: a header by its path.
#[must_use]
pub fn written(names: &[String]) -> Vec<String> {
    let written = |text: &String| {
        let name = Cc::split(text).0;
        let path = Algorithm::by_name(name).map_or_else(|_| name.to_owned(), |of| of.written().to_owned());
        format!("{path}{}", &text[name.len()..])
    };
    names.iter().map(written).collect()
}

/// Most flows of all runs together. A scenario and a summary have about 1 kB for each flow, and must fit into
/// memory.
const MOST_FLOWS: u64 = 2_000_000;

fn check_size(flows: u64) -> Result<(), Failure> {
    if flows <= MOST_FLOWS {
        return Ok(());
    }
    let message = format!("all runs have more than {MOST_FLOWS} flows together: they do not fit into memory");
    Err(Failure::new(Exit::Usage, message, "write fewer --seeds, --paths or algorithms"))
}

fn check_seeds(first: u64, seeds: u32) -> Result<(), Failure> {
    match first.checked_add(u64::from(seeds) - 1) {
        Some(last) if last <= MOST_SEED => Ok(()),
        _ => {
            let message = format!("{seeds} seeds from {first} on go beyond {MOST_SEED}, the largest one");
            Err(Failure::new(Exit::Usage, message, "write a smaller --seed"))
        }
    }
}

/// Checks that each changed parameter is of one of the algorithms that the user names, with or without a
/// variant's settings, or of a rival.
pub(crate) fn check_sets(sets: &[Set], names: &[impl AsRef<str>], rivals: &[String]) -> Result<(), Failure> {
    let names: Vec<&str> = names.iter().map(|name| Cc::split(name.as_ref()).0).collect();
    let takes_part = |of: &str| names.contains(&of) || rivals.iter().any(|rival| rival == of);
    match sets.iter().filter_map(Set::algorithm).find(|of| !takes_part(of)) {
        None => Ok(()),
        Some(other) => {
            let message = format!("--set changes a parameter of `{other}`, which does not take part");
            Err(Failure::new(Exit::Usage, message, format!("those that do: {}", names.join(", "))))
        }
    }
}
