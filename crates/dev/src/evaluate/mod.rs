//! `fairpace-dev evaluate`: how many cases of given criteria each of several algorithms holds, as a page.

use std::path::Path;

use fairpace_cc::Algorithm;
use fairpace_cli_core::args::{Global, Jobs};
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::new_file;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_experiment::Store;
use fairpace_experiment::evaluation::{Evaluation, Keeping, chosen, names, written};
use fairpace_experiment::{CriterionRecord, Record, load};
use fairpace_scenario::{Scenario, Target};

use crate::args::EvaluateArgs;
use crate::marked_page::{MarkedPage, Page};
use crate::run::identity::identity;

const PAGE: Page = Page { command: "evaluate", title: "Evaluation" };

/// The algorithms of a call without `--cc`.
const USUAL: [&str; 7] = ["level", "bbr1", "bbr3", "bbq", "cubic", "reno", "nyu_latency"];

/// In `--cc`: all but those without control.
const ALL: &str = "all";
/// A window or a rate that never changes, or that waits for an environment, is no congestion control.
const WITHOUT_CONTROL: [&str; 3] = ["fixed_cwnd", "fixed_rate", "agent"];

pub(crate) fn run(
    args: &EvaluateArgs,
    global: Global,
    signals: &Signals,
    out: &mut Output,
) -> Result<(), Failure> {
    let EvaluateArgs { cc, criteria: folder, evaluation, .. } = args;
    let criteria = load(folder)?;
    let names = match &cc[..] {
        [] => usual(),
        [all] if all == ALL => with_control(),
        _ => names(cc, "--cc")?,
    };
    let cache = cache(folder);
    let evaluation = Evaluation {
        args: evaluation,
        criteria: &chosen(&criteria, evaluation, &folder.display().to_string())?,
        names: &names,
        asked: &names,
        on: Target::Simulator,
        folder: folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned(),
        command: format!(
            "fairpace-dev evaluate --criteria {} --cc {}",
            folder.display(),
            written(&names).join(",")
        ),
        keeping: keeping(folder, &cache, evaluation.fresh, evaluation.jobs),
        global,
    };
    let works = evaluation.plan()?;
    // an unusable page is an error before the long run
    let page = args.out.as_deref().map(|path| MarkedPage::open(path, PAGE)).transpose()?;
    let record = evaluation.measure(works, signals)?;
    let path = page.as_ref().map(|page| page.path().to_owned());
    if let Some(page) = page {
        write(&page, &record)?;
    }
    match path {
        _ if global.json => out.json(&record),
        Some(path) if !global.quiet => out.line(&format!("the results are in {}", path.display())),
        Some(_) => Ok(()),
        None => out.text(&record.text(args.evaluation.failing)),
    }
}

/// Finished runs are kept beside their criteria, as long as the simulator and their algorithms are the same.
pub(crate) fn cache(folder: &Path) -> impl Fn(&Scenario) -> Store {
    let place = place(folder).to_owned();
    move |scenario| Store::new(&place, &identity(scenario), None)
}

/// The folder in which runs are kept: that of all sections, for one of them.
fn place(folder: &Path) -> &Path {
    let is_section = folder.join("section.toml").is_file();
    folder.parent().filter(|_| is_section).unwrap_or(folder)
}

pub(crate) fn keeping<'a>(
    folder: &'a Path,
    cache: &'a (dyn Fn(&Scenario) -> Store + Sync),
    fresh: bool,
    jobs: Jobs,
) -> Keeping<'a> {
    Keeping { cache, folder, another: "name a copy of the folder with --criteria", fresh, jobs }
}

/// Writes the page: a leaderboard for criteria of several sections; else all numbers, and beside the page a
/// picture for each criterion.
fn write(page: &MarkedPage, record: &Record) -> Result<(), Failure> {
    if record
        .criteria
        .iter()
        .any(|criterion| criterion.section.as_ref() != record.criteria[0].section.as_ref())
    {
        return page.write(&record.leaderboard());
    }
    let stem = page.path().file_stem().unwrap_or_default().to_string_lossy();
    let name = |criterion: &CriterionRecord| format!("{stem}-{}.svg", criterion.name);
    for (criterion, picture) in record.pictures() {
        let path = page.path().with_file_name(name(criterion));
        new_file::write(&path, &picture).map_err(|error| {
            Failure::file("cannot write", &path, &error, "name a page in another folder with --out")
        })?;
    }
    page.write(&record.page(name))
}

/// All algorithms that control congestion.
fn with_control() -> Vec<String> {
    let names = Algorithm::all().map(|algorithm| algorithm.name().to_owned());
    names.filter(|name| !WITHOUT_CONTROL.contains(&name.as_str())).collect()
}

/// The usual algorithms, as far as this build has them.
fn usual() -> Vec<String> {
    let usual = USUAL.iter().filter(|name| Algorithm::by_name(name).is_ok());
    usual.map(|name| (*name).to_owned()).collect()
}
