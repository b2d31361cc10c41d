//! `fairpace-dev evaluate`: how many cases of given criteria each of several algorithms holds.

mod runs;
mod sources;
mod works;

use std::time::Instant;

use fairpace_cc::Algorithm;
use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::COMMIT;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_evaluate::{Form, Goal, GoalRecord, Record, SCHEMA, load, seed_of};
use fairpace_reproduce::results;
use fairpace_scenario::{Set, hash_of_all};

use crate::args::EvaluateArgs;
use crate::marked_page::{MarkedPage, Page};
pub(crate) use runs::{Keeping, Runs};
pub(crate) use works::Works;

const PAGE: Page = Page { command: "evaluate", title: "Evaluation" };

/// The algorithms of a call without `--cc`.
const USUAL: [&str; 7] = ["level", "bbr1", "bbr3", "bbq", "cubic", "reno", "nyu_latency"];

pub(crate) fn run(
    args: &EvaluateArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let goals = load(&args.criteria)?;
    let goals = chosen(&goals, args)?;
    let names = names(&args.cc)?;
    check_sets(&args.sets, &names, &goals)?;
    let works = plan(args, &goals, &names)?;
    // an unusable page is an error before the long run
    let page = args.out.as_deref().map(|path| MarkedPage::open(path, PAGE)).transpose()?;
    let begun = Instant::now();
    let keeping = Keeping { folder: &args.criteria, fresh: args.fresh, jobs: args.jobs };
    let runs = Runs::new(keeping, works.scenarios(), global)?;
    let simulated = runs.missing();
    let summaries = runs.perform(signals)?;
    let mut record = Record {
        schema: SCHEMA,
        commit: COMMIT.to_owned(),
        command: command(args, &names),
        criteria: criteria(args),
        form: form(args),
        seed: args.seed,
        seeds: seeds(args),
        scenarios_hash: hash_of_all(works.cases().map(|case| &case.scenario)),
        runs: summaries.len(),
        simulated,
        wall_s: begun.elapsed().as_secs_f64(),
        goals: goals.iter().map(|goal| GoalRecord::of(goal)).collect(),
    };
    for (goal, algorithm) in works.judged(&summaries, &goals) {
        record.goals[goal].algorithms.push(algorithm);
    }
    let path = page.as_ref().map(|page| page.path().to_owned());
    if let Some(page) = page {
        write(&page, &record)?;
    }
    match path {
        _ if global.json => out.json(&record),
        Some(path) if !global.quiet => out.line(&format!("the results are in {}", path.display())),
        Some(_) => Ok(()),
        None => out.text(&record.text(args.failing)),
    }
}

/// Writes the page, and beside it a picture for each goal.
fn write(page: &MarkedPage, record: &Record) -> Result<(), Failure> {
    let stem = page.path().file_stem().unwrap_or_default().to_string_lossy();
    let name = |goal: &GoalRecord| format!("{stem}-{}.svg", goal.name);
    for (goal, picture) in record.pictures() {
        let path = page.path().with_file_name(name(goal));
        results::write_page(&path, &picture).map_err(|error| {
            Failure::file("cannot write", &path, &error, "name a page in another folder with --out")
        })?;
    }
    page.write(&record.page(name))
}

/// All algorithms at all goals.
fn plan(args: &EvaluateArgs, goals: &[&Goal], names: &[String]) -> Result<Works, Failure> {
    let form = if args.quick { Form::Quick } else { Form::Full };
    let seed = args.draw.as_deref().map(draw_seed).transpose()?.unwrap_or_default();
    let mut works = Works::new(args.seed, seeds(args));
    for (index, goal) in goals.iter().enumerate() {
        for cc in names {
            let mut cases = match args.paths {
                Some(count) => goal.paths(cc, &args.sets, count as usize, seed)?,
                None => goal.cases(cc, &args.sets, form, &args.matching)?,
            };
            cases.retain(|case| case.name.contains(&args.matching));
            if !cases.is_empty() {
                works.add(index, cc, cases);
            }
        }
    }
    if works.scenarios().is_empty() {
        return Err(no_case(&args.matching));
    }
    Ok(works)
}

/// No case has this text in its name.
pub(crate) fn no_case(matching: &str) -> Failure {
    let message = format!("no case has a name with `{matching}` in it");
    Failure::new(Exit::Usage, message, "names are as in `10mbit 10/50ms 1bdp`")
}

fn seeds(args: &EvaluateArgs) -> u32 {
    args.seeds.unwrap_or(if args.quick { 1 } else { 2 })
}

fn form(args: &EvaluateArgs) -> &'static str {
    match (args.paths, args.quick) {
        (Some(_), _) => "random paths",
        (None, true) => "quick",
        (None, false) => "full",
    }
}

/// The seed that `--draw` stands for.
fn draw_seed(hex: &str) -> Result<u64, Failure> {
    seed_of(hex).ok_or_else(|| {
        let message = format!("--draw {hex} is not a text of hexadecimal digits");
        Failure::new(Exit::Usage, message, "name a commit's hash, or any other: --draw 1f3a")
    })
}

/// The goals that `--goal` names by id or file; all if it names none. With `--paths` those that are drawn.
fn chosen<'g>(goals: &'g [Goal], args: &EvaluateArgs) -> Result<Vec<&'g Goal>, Failure> {
    let asked = &args.goal;
    let goals: Vec<&Goal> = goals.iter().filter(|goal| goal.is_drawn() == args.paths.is_some()).collect();
    if goals.is_empty() {
        let what = if args.paths.is_some() { "random paths" } else { "goal with cases" };
        let message = format!("{} has no {what}", args.criteria.display());
        return Err(Failure::new(Exit::Usage, message, "evaluation/level has both"));
    }
    let is =
        |goal: &Goal, asked: &str| [&goal.id, &goal.name].iter().any(|name| name.eq_ignore_ascii_case(asked));
    for asked in asked {
        if !goals.iter().any(|goal| is(goal, asked)) {
            let known: Vec<_> = goals.iter().map(|goal| format!("{} ({})", goal.id, goal.name)).collect();
            let help = format!("there are {}", known.join(", "));
            return Err(Failure::new(Exit::Usage, format!("there is no goal `{asked}`"), help));
        }
    }
    let wanted = |goal: &&Goal| asked.is_empty() || asked.iter().any(|asked| is(goal, asked));
    Ok(goals.iter().copied().filter(wanted).collect())
}

/// The algorithms of `--cc`, or the usual ones that this build has.
fn names(asked: &[String]) -> Result<Vec<String>, Failure> {
    if asked.is_empty() {
        let usual = USUAL.iter().filter(|name| Algorithm::by_name(name).is_ok());
        return Ok(usual.map(|name| (*name).to_owned()).collect());
    }
    let mut names: Vec<String> = Vec::new();
    for written in asked {
        let algorithm = Algorithm::by_name(written).map_err(|error| {
            Failure::new(Exit::Usage, error.to_string(), "`fairpace algorithms` lists all algorithms")
        })?;
        let name = algorithm.name();
        if names.iter().any(|known| known == name) {
            let message = format!("--cc names {name} twice");
            return Err(Failure::new(Exit::Usage, message, "name each algorithm once"));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

/// A change of a parameter must be of an algorithm that takes part somewhere.
fn check_sets(sets: &[Set], names: &[String], goals: &[&Goal]) -> Result<(), Failure> {
    let rivals: Vec<String> = goals.iter().flat_map(|goal| goal.rivals()).collect();
    for set in sets {
        if let Some(other) = set.algorithm().filter(|of| !names.iter().chain(&rivals).any(|cc| cc == of)) {
            let message = format!("--set changes a parameter of `{other}`, which does not take part");
            return Err(Failure::new(Exit::Usage, message, format!("--cc names {}", names.join(", "))));
        }
    }
    Ok(())
}

/// Name of the criteria's folder.
fn criteria(args: &EvaluateArgs) -> String {
    args.criteria.file_name().unwrap_or(args.criteria.as_os_str()).to_string_lossy().into_owned()
}

/// The command that measures the same again.
fn command(args: &EvaluateArgs, names: &[String]) -> String {
    let mut words = vec![format!("fairpace-dev evaluate --criteria {}", args.criteria.display())];
    let written = |name: &String| Algorithm::by_name(name).map_or(name.clone(), |of| of.written().to_owned());
    words.push(format!("--cc {}", names.iter().map(written).collect::<Vec<_>>().join(",")));
    if !args.goal.is_empty() {
        words.push(format!("--goal {}", args.goal.join(",")));
    }
    if let (Some(count), Some(hex)) = (args.paths, &args.draw) {
        words.push(format!("--paths {count} --draw {hex}"));
    }
    if !args.matching.is_empty() {
        words.push(format!("--match \"{}\"", args.matching));
    }
    if args.quick {
        words.push("--quick".to_owned());
    }
    words.push(format!("--seeds {} --seed {}", seeds(args), args.seed));
    words.extend(args.sets.iter().map(|set| format!("--set {set}")));
    words.join(" ")
}
