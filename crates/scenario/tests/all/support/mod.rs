//! A small scenario for the tests.

use fairpace_scenario::{Cc, Invalid, Problem, Scenario, Set, Target, parse};

pub(crate) const GOOD: &str = r#"title = "two flows"
duration = "60s"

[[link]]
rate = "100mbit"
buffer = "2MB"

[[flow]]
cc = "bbr1"
rtt = "10ms"

[[flow]]
cc = "bbq"
rtt = "50ms"
start = "5s"
set = { alpha = "3ms" }
"#;

/// An algorithm by its name.
pub(crate) fn cc(name: &str) -> Cc {
    name.parse().unwrap()
}

pub(crate) fn read(text: &str) -> Result<Scenario, Invalid> {
    parse("test.toml", text, &[], Target::Simulator)
}

pub(crate) fn read_with(text: &str, sets: &[&str]) -> Result<Scenario, Invalid> {
    let sets: Vec<Set> = sets.iter().map(|set| set.parse().unwrap()).collect();
    parse("test.toml", text, &sets, Target::Simulator)
}

pub(crate) fn good() -> Scenario {
    read(GOOD).unwrap()
}

/// The problems of [`GOOD`] with one thing replaced.
pub(crate) fn problems(from: &str, to: &str) -> Vec<Problem> {
    assert!(GOOD.contains(from), "{from} is not in the scenario");
    read(&GOOD.replacen(from, to, 1)).expect_err("this must be wrong").problems
}

/// The only problem of [`GOOD`] with one thing replaced.
pub(crate) fn problem(from: &str, to: &str) -> Problem {
    let mut problems = problems(from, to);
    assert_eq!(problems.len(), 1, "{problems:#?}");
    problems.remove(0)
}
