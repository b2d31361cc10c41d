//! A small catalog and a small scenario for the tests.

use fairpace_scenario::{Catalog, Invalid, Problem, Scenario, Set, parse};

pub(crate) struct Two {
    pub(crate) kernel: bool,
}

impl Catalog for Two {
    fn algorithms(&self) -> Vec<&str> {
        vec!["bbr1", "bbq"]
    }
    fn parameters(&self, algorithm: &str) -> Vec<&str> {
        if algorithm == "bbq" { vec!["alpha", "beta"] } else { vec![] }
    }
    fn check(&self, _: &str, _: &str, value: &str) -> Result<(), String> {
        if value == "99s" { Err("alpha must be at most 100ms".into()) } else { Ok(()) }
    }
    fn allows_kernel(&self) -> bool {
        self.kernel
    }
}

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

pub(crate) fn read(text: &str) -> Result<Scenario, Invalid> {
    parse("test.toml", text, &[], &Two { kernel: false })
}

pub(crate) fn read_with(text: &str, sets: &[&str]) -> Result<Scenario, Invalid> {
    let sets: Vec<Set> = sets.iter().map(|set| set.parse().unwrap()).collect();
    parse("test.toml", text, &sets, &Two { kernel: false })
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
