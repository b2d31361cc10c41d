//! `evaluate`: how many cases of criteria an algorithm passes, beside other algorithms.

use std::path::Path;

use fairpace_cli_core::failure::Failure;
use fairpace_cli_core::headers::private_cache_folder;
use fairpace_cli_core::host::COMMIT;
use fairpace_cli_core::output::to_json;
use fairpace_cli_core::place::Place;
use fairpace_cli_core::result_dir::{Item, ResultDir};
use fairpace_cli_core::table::prose;
use fairpace_experiment::Store;
use fairpace_experiment::contained::{FOLDER, criteria};
use fairpace_experiment::evaluation::{Evaluation, Keeping, Subject, chosen, names, written};
use fairpace_experiment::{CaseRecord, Record};
use fairpace_scenario::{Cc, Scenario};

use crate::args::EvaluateArgs;
use crate::call::Call;

/// The value of `--beside` for no other algorithms.
const NONE: &str = "none";

pub(crate) fn run(args: &EvaluateArgs, Call { global, signals, out }: Call<'_>) -> Result<(), Failure> {
    // cases are read from the folder when they are planned
    let (criteria, unpacked) = criteria(args.criteria.as_deref())?;
    let asked = names(&args.names, "the command")?;
    let beside = if args.beside == [NONE] { Vec::new() } else { names(&args.beside, "--beside")? };
    let beside = beside.into_iter().filter(|name| !asked.contains(name));
    let names: Vec<String> = asked.iter().cloned().chain(beside).collect();
    let place = args.criteria.as_ref().map_or(FOLDER.to_owned(), |folder| folder.display().to_string());
    let folder = private_cache_folder()?;
    // once: the program may be replaced while it runs
    let kept = Store::new(&folder, COMMIT, std::env::current_exe().ok().as_deref());
    let cache = |_: &Scenario| kept.clone();
    let evaluation = Evaluation {
        args: &args.evaluation,
        criteria: &chosen(&criteria, &args.evaluation, &place)?,
        subjects: &names.iter().map(|name| Subject::of(name)).collect::<Vec<_>>(),
        asked: &asked,
        on: args.place.place(Place::Simulator)?,
        series: args.place.series(),
        folder: Path::new(&place)
            .file_name()
            .map_or(place.clone(), |name| name.to_string_lossy().into_owned()),
        command: command(args, &asked, &names),
        keeping: Keeping {
            cache: &cache,
            folder: &folder,
            another: "set XDG_CACHE_HOME to a folder that can be written to",
            contained: true,
            fresh: args.evaluation.fresh,
            jobs: args.evaluation.jobs,
        },
        global,
    };
    let works = evaluation.plan()?;
    let dir = args.out.as_deref().map(ResultDir::prepare).transpose()?;
    drop(unpacked);
    let record = evaluation.measure(works, &signals)?;
    if let Some(dir) = dir {
        dir.write(files(&record)?)?;
    }
    let notes = if global.quiet { String::new() } else { unchanged(&record) };
    out.record(&record, global, |record| record.text(args.evaluation.failing) + &notes)
}

/// Notes on variants whose parameters changed no result of the algorithm that was measured beside them.
fn unchanged(record: &Record) -> String {
    // all but the scenario's hash, which has the parameters in it
    let results = |cc: &str| {
        let of = record.criteria.iter().flat_map(|criterion| &criterion.algorithms);
        let cases = of.filter(|of| of.cc == cc).flat_map(|of| of.results.iter().cloned());
        cases.map(|case| CaseRecord { scenario: String::new(), ..case }).collect::<Vec<_>>()
    };
    let note = |label: &String| {
        let (name, settings) = Cc::split(label);
        let usual = results(name);
        let is_same = !settings.is_empty() && !usual.is_empty() && results(label) == usual;
        let set = settings.join(", ");
        is_same.then(|| prose(&format!("note on {label}: {set} changed no byte of the results of {name}\n")))
    };
    record.asked.iter().filter_map(note).collect()
}

/// The files of the result: `report.html`, `evaluation.json`, and `NAME.md` for each algorithm that the user
/// asked for.
fn files(record: &Record) -> Result<Vec<Item<'static>>, Failure> {
    let mut items =
        vec![Item::new("report.html", record.html()), Item::new("evaluation.json", to_json(record)?)];
    let file = |cc: &str| format!("{}.md", cc.replace(':', "-").replace('/', "_"));
    items.extend(record.asked.iter().map(|cc| Item::new(file(cc), record.fragment(cc))));
    Ok(items)
}

/// The command that repeats the measurement, without the options that every evaluation has.
fn command(args: &EvaluateArgs, asked: &[String], names: &[String]) -> String {
    let mut words = vec!["fairpace evaluate".to_owned()];
    words.extend(written(asked));
    let beside = written(&names[asked.len()..]);
    words.push(format!("--beside {}", if beside.is_empty() { NONE.to_owned() } else { beside.join(",") }));
    words.extend(args.criteria.iter().map(|folder| format!("--criteria {}", folder.display())));
    words.join(" ")
}
