//! Scenarios and environments for the tests.

use fairpace_gym::{Batch, Environments, Form, INFO, OBSERVATIONS, Scenarios, Setup};
use fairpace_scenario::{Scenario, Set, Target, parse};

/// An agent alone on 12 Mbit/s with 30 ms, for 3 s: 50 monitor intervals of 60 ms.
pub(crate) const ALONE: &str = r#"
    title = "an agent alone"
    duration = "3s"
    [[link]]
    rate = "12mbit"
    buffer = "1bdp"
    [[flow]]
    name = "learner"
    cc = "agent"
    rtt = "30ms"
"#;

/// Two agents and two others on 20 Mbit/s, for 4 s.
pub(crate) const FOUR: &str = r#"
    title = "two agents among others"
    duration = "4s"
    [[link]]
    rate = "20mbit"
    buffer = "100kB"
    [[flow]]
    name = "cubic"
    cc = "cubic"
    rtt = "20ms"
    [[flow]]
    name = "first"
    cc = "agent"
    rtt = "20ms"
    [[flow]]
    name = "bbr"
    cc = "bbr1"
    rtt = "40ms"
    [[flow]]
    name = "second"
    cc = "agent"
    rtt = "50ms"
    start = "1s"
"#;

pub(crate) fn scenario(text: &str, sets: &[&str]) -> Scenario {
    let sets: Vec<Set> = sets.iter().map(|set| set.parse().expect("KEY=VALUE")).collect();
    parse("test.toml", text, &sets, Target::Simulator).unwrap_or_else(|invalid| panic!("{invalid}"))
}

/// One environment, which has been reset.
pub(crate) fn one(text: &str, sets: &[&str], form: Form) -> (Environments, Batch) {
    reset([Setup::new(Scenarios::from(scenario(text, sets)), 1)], form, 1)
}

pub(crate) fn reset(
    setups: impl IntoIterator<Item = Setup>,
    form: Form,
    jobs: usize,
) -> (Environments, Batch) {
    let mut environments = Environments::new(setups, form, Some(jobs)).expect("the setups are in order");
    let mut batch = environments.batch();
    environments.reset(None, &mut batch.observations).expect("the scenarios are valid");
    (environments, batch)
}

/// The same action for each agent.
pub(crate) fn step_all(environments: &mut Environments, action: &[f32], batch: &mut Batch) {
    let actions = action.repeat(environments.agents());
    environments.step(&actions, batch.outputs()).expect("the actions are in range");
}

/// A column of a row of observations.
pub(crate) fn observed(batch: &Batch, row: usize, name: &str) -> f32 {
    column(&batch.observations, OBSERVATIONS.len(), row, OBSERVATIONS.iter().position(|c| c.name == name))
}

/// A column of a row of ground truth.
pub(crate) fn truth(batch: &Batch, row: usize, name: &str) -> f32 {
    column(&batch.info, INFO.len(), row, INFO.iter().position(|column| column.name == name))
}

fn column(values: &[f32], columns: usize, row: usize, column: Option<usize>) -> f32 {
    values[row * columns + column.expect("there is such a column")]
}
