//! The repository's criteria: each says what it means, where its bounds come from, and has cases.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use fairpace_experiment::{Criterion, Form, load};
use fairpace_scenario::Target;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../evaluation")
}

/// Those of sections other than the grid of LEVEL, which is older and has no sources for its bounds.
fn criteria() -> Vec<Criterion> {
    let is_of_grid =
        |criterion: &Criterion| criterion.section.as_ref().is_some_and(|section| section.name == "level");
    load(&folder()).unwrap().into_iter().filter(|criterion| !is_of_grid(criterion)).collect()
}

#[test]
fn every_criterion_says_what_failing_means_and_where_its_bounds_come_from() {
    for criterion in criteria() {
        assert!(!criterion.fails.is_empty(), "{} does not say what it means to fail", criterion.id);
        for asked in criterion.conditions() {
            assert!(!asked.source.is_empty(), "{}: no source for `{}`", criterion.id, asked.text);
        }
        assert!(criterion.seeds >= 2, "{}: one seed may be luck", criterion.id);
    }
}

#[test]
fn every_section_of_rfc_9743_with_a_criterion_for_paths_has_one() {
    let have: BTreeSet<String> = criteria().iter().map(|criterion| criterion.id.clone()).collect();
    // 7.10 (multipath) is not there: hosts have one path
    let asked = [
        "5.1.1a", "5.1.2", "5.1.3", "5.1.4", "5.1.5", "5.2.1a", "5.2.2", "5.2.3", "6.1", "6.2", "6.3", "6.4",
        "7.1a", "7.1b", "7.2", "7.3", "7.4", "7.5", "7.5b", "7.6a", "7.7", "7.8", "7.9", "7.11",
    ];
    let missing: Vec<_> = asked.iter().filter(|id| !have.contains(**id)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn cases_are_valid_scenarios_and_a_few_are_quick() {
    for criterion in criteria() {
        let full = criterion.cases("reno", &[], Form::Full, "").unwrap();
        let quick = criterion.cases("reno", &[], Form::Quick, "").unwrap();
        assert!(quick.len() >= 2 && quick.len() <= 24, "{}: {} quick cases", criterion.id, quick.len());
        assert!(full.len() >= quick.len() && full.len() <= 120, "{}: {} cases", criterion.id, full.len());
    }
}

#[test]
fn cases_for_the_kernel_run_on_the_testbed_within_a_quarter_of_an_hour() {
    let mut together = Duration::ZERO;
    for criterion in criteria().iter().filter(|criterion| !criterion.kernel.is_empty()) {
        let cases = criterion.cases("reno", &[], Form::Full, "").unwrap();
        for name in &criterion.kernel {
            let case = cases.iter().find(|case| case.name == *name);
            let case = case.unwrap_or_else(|| panic!("{} has no case `{name}`", criterion.id));
            let scenario = case.scenario.clone().sealed(Target::Testbed);
            together += scenario.unwrap_or_else(|invalid| panic!("{name}: {invalid}")).duration;
        }
    }
    assert!(together < Duration::from_secs(16 * 60), "{together:?}");
}
