//! The files of a result.

use std::collections::HashSet;

use fairpace_cc::Phase;
use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::output::to_json;
use fairpace_cli_core::place::Place;
use fairpace_cli_core::result_dir::Item;
use fairpace_report::{Context, Published, RunContext};
use fairpace_results::{Cost, Record, Repeat, Run, SeriesTable, Summary};
use fairpace_scenario::Scenario;

/// One of several runs: its label and its record.
pub(crate) struct Case<'a> {
    pub(crate) label: String,
    pub(crate) scenario: &'a Scenario,
    pub(crate) place: Place,
    pub(crate) published: Option<Published>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(label: impl Into<String>, scenario: &'a Scenario, place: Place) -> Self {
        Self { label: label.into(), scenario, place, published: None }
    }
}

/// The files of one run: `summary.json`, `flows.csv`, `links.csv`, `backlog.csv`, `scenario.toml` and
/// `report.html`.
pub(crate) fn single<'a>(
    scenario: &Scenario,
    run: &'a Run,
    place: Place,
    records: &[Record],
) -> Vec<Item<'a>> {
    let context = Context {
        why: scenario.why.clone(),
        runs: vec![run_context(
            Case { label: String::new(), ..Case::new("", scenario, place) },
            "scenario.toml",
        )],
        phases: phases(),
        beside: records.to_vec(),
        ..Context::default()
    };
    let mut items = files("", scenario, run);
    items.push(Item::new(
        "report.html",
        fairpace_report::html(&scenario.title, std::slice::from_ref(run), &context),
    ));
    items
}

/// The files of several runs: `summary.json` (an array), `report.html` and its first picture, and a directory
/// for each run.
pub(crate) fn several<'a>(
    title: &str,
    cases: Vec<Case<'_>>,
    runs: &'a [Run],
    why: &str,
    records: &[Record],
) -> Result<Vec<Item<'a>>, Failure> {
    let summaries: Vec<Summary> = runs.iter().map(|run| without_time(run.summary.clone())).collect();
    let mut items = vec![Item::new("summary.json", to_json(&summaries)?)];
    let mut taken = HashSet::new();
    let mut contexts = Vec::new();
    for (case, run) in cases.into_iter().zip(runs) {
        let dir = directory(&case.label, &mut taken);
        items.extend(files(&format!("{dir}/"), case.scenario, run));
        contexts.push(run_context(case, &format!("{dir}/scenario.toml")));
    }
    let (why, beside) = (why.to_owned(), records.to_vec());
    let context = Context { why, runs: contexts, phases: phases(), beside, ..Context::default() };
    items.push(Item::new("report.html", fairpace_report::html(title, runs, &context)));
    items.push(Item::new("headline.svg", fairpace_report::headline_svg(title, runs, &context)));
    Ok(items)
}

/// The files of runs with several seeds: `summary.json` (an array), `repeat.json`, `runs.csv`,
/// `scenario.toml` and `report.html`. `first` is the record of the first run in full.
pub(crate) fn repeated<'a>(
    (scenario, place): (&Scenario, Place),
    repeat: &'a Repeat,
    summaries: Vec<Summary>,
    first: &Run,
    records: &[Record],
) -> Result<Vec<Item<'a>>, Failure> {
    let case = Case::new(format!("seed {}", first.summary.seed), scenario, place);
    let mut context = run_context(case, "scenario.toml");
    context.commands = vec![format!("{} --repeat {}", place.command("scenario.toml"), repeat.seeds.len())];
    let context = Context {
        why: scenario.why.clone(),
        runs: vec![context],
        phases: phases(),
        repeat: Some(repeat.clone()),
        beside: records.to_vec(),
    };
    let summaries: Vec<Summary> = summaries.into_iter().map(without_time).collect();
    let report = fairpace_report::html(&scenario.title, std::slice::from_ref(first), &context);
    let mut items = vec![
        Item::new("summary.json", to_json(&summaries)?),
        Item::new("repeat.json", to_json(repeat)?),
        Item::written("runs.csv", |file| repeat.write_csv(file)),
        Item::new("report.html", report),
    ];
    items.extend(scenario_files("", scenario));
    Ok(items)
}

fn run_context(case: Case<'_>, file: &str) -> RunContext {
    RunContext {
        label: case.label,
        commands: vec![case.place.command(file)],
        scenario_toml: case.scenario.to_toml(),
        published: case.published,
    }
}

fn files<'a>(prefix: &str, scenario: &Scenario, run: &'a Run) -> Vec<Item<'a>> {
    let phase = |index: i8| u32::try_from(index).ok().and_then(Phase::from_number).map(Phase::name);
    let mut items = vec![Item::new(format!("{prefix}summary.json"), run.summary.stable_json())];
    items.extend(SeriesTable::ALL.map(|table| {
        let name = format!("{prefix}{}", table.file_name());
        Item::written(name, move |file| run.write_series_csv(table, file, phase))
    }));
    items.extend(scenario_files(prefix, scenario));
    items
}

/// The scenario's files, from which the run can be repeated: `scenario.toml` and the files that it names.
fn scenario_files<'a>(prefix: &str, scenario: &Scenario) -> Vec<Item<'a>> {
    let bundle = scenario.bundle();
    let files = std::iter::once(("scenario.toml".to_owned(), bundle.toml)).chain(bundle.files);
    files.map(|(name, text)| Item::new(format!("{prefix}{name}"), text)).collect()
}

/// The summary without the CPU time and wall-clock time of the run, as [`Summary::stable_json`] writes it, so
/// that it is equal for equal seeds.
fn without_time(summary: Summary) -> Summary {
    Summary { cost: Cost { wall_s: f64::NAN, cpu_s: f64::NAN, ..summary.cost }, ..summary }
}

/// A directory name for a label, different for each label.
fn directory(label: &str, taken: &mut HashSet<String>) -> String {
    let plain_words = label.split(|c: char| !c.is_ascii_alphanumeric() && !"_.".contains(c));
    let plain = plain_words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    let numbered = (2..).map(|number| format!("{plain}-{number}"));
    let name =
        std::iter::once(plain.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or(plain);
    taken.insert(name.clone());
    name
}

fn phases() -> Vec<String> {
    Phase::ALL.iter().map(|phase| phase.name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_has_a_directory_of_its_own() {
        let mut taken = HashSet::new();
        let labels = ["bbr1", "kernel:bbr, measured", "bbr1", "kernel/bbr measured"];
        let names: Vec<_> = labels.map(|label| directory(label, &mut taken)).into();
        assert_eq!(names, ["bbr1", "kernel-bbr-measured", "bbr1-2", "kernel-bbr-measured-2"]);
    }
}
