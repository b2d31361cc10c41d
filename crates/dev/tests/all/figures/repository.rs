//! The figures and records of the repository.

use std::fs;
use std::path::Path;

use super::*;

/// Packets that the links of a figure's short version may carry, at most, for it to be simulated in CI: about
/// two CPU-seconds of the dev profile.
const QUICK_PACKETS: f64 = 8e6;

fn is_quick(sheet: &Sheet) -> bool {
    let plans = sheet.stacks.iter().map(|stack| Plan::of(sheet, stack, Target::Simulator, true).unwrap());
    plans.map(|plan| plan.scenarios().map(expected_packets).sum::<f64>()).sum::<f64>() <= QUICK_PACKETS
}

/// Runs the short versions of these figures, and compares each check with what is on record.
fn short_versions_have_the_recorded_verdicts(is_meant: impl Fn(&Sheet) -> bool) {
    let place = Folder::create();
    copy(Path::new(ROOT), &place.path().join("reproduction"));
    let read = |root: &Path| results::load_short(root).unwrap();
    let mut before = read(Path::new(ROOT));
    for folder in load::papers(Path::new(ROOT)).unwrap() {
        let (meant, others): (Vec<_>, Vec<_>) = folder.sheets.iter().partition(|sheet| is_meant(sheet));
        assert!(!meant.is_empty(), "no figure of {} is meant", folder.paper.title);
        let of_others = |name: &str| {
            others.iter().any(|sheet| sheet.stacks.iter().any(|stack| sheet.name_on(stack) == name))
        };
        before.retain(|name, _| !of_others(name));
        let path = place.path().join("reproduction").join(&meant[0].paper).join("paper.toml");
        let mut paper: toml::Table = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let names = paper["figures"].as_array_mut().unwrap();
        names.retain(|name| meant.iter().any(|sheet| sheet.name().ends_with(name.as_str().unwrap())));
        fs::write(&path, toml::to_string(&paper).unwrap()).unwrap();
        for sheet in others {
            fs::remove_dir_all(path.with_file_name(sheet.name().rsplit('/').next().unwrap())).unwrap();
        }
    }
    reproduce(&place, &["--short", "--quiet"]).succeeds();
    let now = read(&place.path().join("reproduction"));
    let changed: Vec<String> = now
        .iter()
        .filter(|(name, quick)| before.get(*name) != Some(quick))
        .map(|(name, quick)| format!("{name}: {quick:?}, on record {:?}", before.get(name)))
        .collect();
    let gone: Vec<_> = before.keys().filter(|name| !now.contains_key(*name)).collect();
    assert!(
        changed.is_empty() && gone.is_empty(),
        "checks changed: {changed:#?}; gone: {gone:?}; if this is meant, run `make reproduce ARGS=--short` \
         and commit reproduction/results/short.json"
    );
}

#[test]
fn the_short_version_of_a_quick_figure_has_the_recorded_verdict() {
    short_versions_have_the_recorded_verdicts(is_quick);
}

#[test]
#[ignore = "100 CPU-seconds; make nightly runs it"]
fn the_short_version_of_every_figure_has_the_recorded_verdict() {
    short_versions_have_the_recorded_verdicts(|_| true);
}

#[test]
fn the_records_of_the_repository_are_of_its_figures() {
    run(&["run", ROOT, "--check"]).succeeds();
}

#[test]
fn a_record_that_is_read_and_written_keeps_its_bytes() {
    let (root, copy) = (Path::new(ROOT), Folder::create());
    let folders = load::papers(root).unwrap();
    let mut changed = Vec::new();
    // a new figure has no record before it is run
    let is_recorded = |sheet: &&Sheet| path(root, sheet).exists();
    for sheet in folders.iter().flat_map(|folder| &folder.sheets).filter(is_recorded) {
        Record::load(root, sheet).unwrap().store(copy.path(), sheet).unwrap();
        let text = |root: &Path| fs::read_to_string(path(root, sheet)).unwrap();
        if text(root) != text(copy.path()) {
            changed.push(sheet.name());
        }
    }
    assert_eq!(changed, Vec::<String>::new());
}

#[test]
fn each_value_that_holds_on_no_base_has_a_cause_that_a_run_changes() {
    let root = Path::new(ROOT);
    let folders = load::papers(root).unwrap();
    let mut without = Vec::new();
    for sheet in folders.iter().flat_map(|folder| &folder.sheets) {
        let record = Record::load(root, sheet).unwrap();
        let simulated = || record.measured.iter().filter(|measured| measured.on == Target::Simulator);
        for (index, value) in sheet.figure.values.iter().enumerate() {
            let holds = simulated().any(|measured| measured.values[index].finding == Finding::Holds);
            if !holds && value.by_construction.is_empty() && value.causes.is_empty() {
                without.push(format!("{}: {}", sheet.name(), value.what));
            }
        }
    }
    assert_eq!(without, Vec::<String>::new());
}
