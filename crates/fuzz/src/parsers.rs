//! Targets for parsers: an accepted text can be written and read again, and other texts give orderly errors.

use std::path::Path;

use fairpace_experiment::{Criterion, Form};
use fairpace_packetdrill::Script;
use fairpace_results::Summary;
use fairpace_scenario::quantity::{self, Dimension};
use fairpace_scenario::{Invalid, Link, Scenario, Set, Sizes, Target, Trace, Writes};

/// Most errors that a parser may report at once.
const MOST_PROBLEMS: usize = 1000;

/// Parses a scenario file; behind a NUL, `--set` arguments, one a line.
pub(crate) fn scenario(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (text, sets) = text.split_once('\0').unwrap_or((text, ""));
    let sets: Vec<Set> = sets.lines().filter_map(|line| line.parse().ok()).collect();
    for target in [Target::Simulator, Target::Testbed] {
        match fairpace_scenario::parse(text, "fuzz.toml", &sets, target) {
            Ok(scenario) => reads_back(&scenario, target),
            Err(invalid) => {
                let problems = invalid.problems.len();
                assert!((1..=MOST_PROBLEMS).contains(&problems), "{problems} problems");
                assert!(!invalid.to_string().is_empty());
            }
        }
    }
}

/// Checks that the canonical form is the scenario, and has its hash.
fn reads_back(scenario: &Scenario, target: Target) {
    let has_file = |link: &Link| link.trace.is_some() || !link.loss_at.file.is_empty();
    if scenario.links.iter().any(has_file) || scenario.flows.iter().any(names_a_file) {
        return; // its files are not where the text of the canonical form would look for them
    }
    let toml = scenario.to_toml();
    let again = match fairpace_scenario::parse(&toml, "canonical.toml", &[], target) {
        Ok(again) => again,
        Err(invalid) => panic!("the canonical form is refused: {invalid:?}\n{toml}"),
    };
    assert_eq!(again.hash, scenario.hash, "{toml}");
    assert_eq!(again.to_toml(), toml);
}

fn names_a_file(flow: &fairpace_scenario::Flow) -> bool {
    let is_built_in = |sizes: &Sizes| Sizes::BUILT_IN.contains(&sizes.name.as_str());
    let table = match &flow.traffic.writes {
        Writes::Scheduled(table) => table.file.as_str(),
        _ => "",
    };
    !table.is_empty() || flow.arrivals.as_ref().is_some_and(|arrivals| !is_built_in(&arrivals.sizes))
}

/// Parses a quantity in each dimension.
pub(crate) fn quantity(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for dimension in Dimension::ALL {
        if let Ok(value) = quantity::parse(text, dimension) {
            let shown = quantity::show(value, dimension);
            assert_eq!(quantity::parse(&shown, dimension), Ok(value), "{text:?} is shown as {shown:?}");
        }
        let _ = quantity::parse_steps(text, dimension);
    }
    let _ = quantity::parse_buffer(text);
    let _ = quantity::parse_limit(text);
    if let Ok(time) = quantity::parse_time(text) {
        let shown = quantity::show_time(time);
        assert_eq!(quantity::parse_time(&shown), Ok(time), "{text:?} is shown as {shown:?}");
    }
}

/// Parses a figure file of `reproduction/`.
pub(crate) fn figure(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // no text makes it panic
    let _ = toml::from_str::<fairpace_papers::figure::Figure>(text);
}

/// Parses a file of criteria: each of its cases is a valid scenario, or the error names the first case that
/// is not.
pub(crate) fn criterion(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let path = Path::new("folder/fuzz.toml");
    let named = |invalid: Invalid| {
        let problems = invalid.problems.len();
        assert!((1..=MOST_PROBLEMS).contains(&problems), "{problems} problems");
        assert!(invalid.problems.iter().all(|problem| problem.file == "folder/fuzz.toml"), "{invalid}");
    };
    match Criterion::parse(path, text) {
        Ok(criterion) => {
            criterion.cases("reno", &[], Form::Quick, "").map_or_else(named, drop);
            criterion.paths("reno", &[], 2, 1).map_or_else(named, drop);
            let _ = (criterion.conditions(), criterion.medians(), criterion.rivals());
        }
        Err(invalid) => named(invalid),
    }
}

/// Parses a trace of delivery opportunities, and a distribution of sizes.
pub(crate) fn trace(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(trace) = Trace::read("fuzz.trace", text) {
        assert_eq!(Trace::read("fuzz.trace", &trace.to_text()).as_ref(), Ok(&trace));
        let _ = trace.mean_bps();
    }
    if let Ok(sizes) = Sizes::read("fuzz.cdf", text) {
        assert!(sizes.cdf.is_sorted(), "{:?}", sizes.cdf);
    }
}

/// Parses a script of packetdrill, and performs it.
pub(crate) fn packetdrill(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Script::parse("fuzz.pkt", text) {
        Ok(script) => {
            let outcome = fairpace_packetdrill::run(&script, None);
            assert!(outcome.problem().is_none_or(|problem| problem.file == "fuzz.pkt"), "{outcome:?}");
        }
        Err(problem) => assert!(problem.line > 0 || text.is_empty(), "{problem}"),
    }
}

/// Parses a summary, as `fairpace-dev` reads the summaries that it keeps.
pub(crate) fn json(data: &[u8]) {
    let Ok(summary) = serde_json::from_slice::<Summary>(data) else { return };
    let written = fairpace_results::to_json(&summary).expect("a summary can be written");
    let again: Summary = serde_json::from_str(&written).expect("and read again");
    assert_eq!(fairpace_results::to_json(&again).expect("and written again"), written);
}
