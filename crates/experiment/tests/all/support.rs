//! Criteria and runs for tests.

use std::path::Path;

use fairpace_experiment::{Case, Criterion, Form, Measured, load};
use fairpace_results::{FlowSummary, LinkSummary, Summary};
use fairpace_scenario::Scenario;

/// The criteria of LEVEL.
pub(crate) fn level() -> Vec<Criterion> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../evaluation/level");
    load(Path::new(folder)).unwrap_or_else(|invalid| panic!("{invalid}"))
}

/// The criterion of LEVEL with this id.
pub(crate) fn criterion(id: &str) -> Criterion {
    level().into_iter().find(|criterion| criterion.id == id).unwrap_or_else(|| panic!("no criterion {id}"))
}

/// The case of this name, for bbr1.
pub(crate) fn case(id: &str, name: &str) -> Case {
    let cases = criterion(id).cases("bbr1", &[], Form::Full, name).unwrap();
    let names: Vec<_> = cases.iter().map(|case| case.name.clone()).collect();
    cases.into_iter().find(|case| case.name == name).unwrap_or_else(|| panic!("{name} is not in {names:?}"))
}

/// A run of the scenario with these goodputs, in Mbit/s, in order.
pub(crate) fn run(scenario: &Scenario, goodputs: &[f64], queue_ms: f64, loss: f64) -> Summary {
    let flow = |(flow, goodput_mbps): (&fairpace_scenario::Flow, &f64)| FlowSummary {
        name: flow.name.clone(),
        goodput_mbps: *goodput_mbps,
        ..FlowSummary::default()
    };
    let link = LinkSummary {
        utilization: 0.5,
        queue_delay_mean_ms: Some(queue_ms),
        loss_rate: Some(loss),
        ..LinkSummary::default()
    };
    let flows = scenario.flows.iter().zip(goodputs).map(flow).collect();
    let mut summary = Summary { flows, links: vec![link], ..Summary::default() };
    summary.derive_fairness();
    summary
}

/// The same, measured.
pub(crate) fn measured(case: &Case, goodputs: &[f64], queue_ms: f64, loss: f64) -> Measured {
    Measured::of(&case.scenario, &run(&case.scenario, goodputs, queue_ms, loss), case.available)
}

/// A small criterion with this text in place of its marked line.
pub(crate) fn small(replaced: &str, by: &str) -> String {
    assert!(SMALL.contains(replaced), "{replaced}");
    SMALL.replace(replaced, by)
}

/// A criterion with an axis, a template and a condition.
pub(crate) const SMALL: &str = r#"id = "S1"
title = "Small"
asks = "Is it small?"
why = "Tests are."

[axis]
rate = [{ rate = "10mbit", most = 8 }, { rate = "100mbit", most = 4 }]
rtts = [[10, 10], [10, 50]]

[quick]
rate = ["10mbit"]

[page]
columns = ["rate"]

[[template]]
name = "{rate} {rtts}ms"
duration = "10s"
window.from = "2s"
link = [{ rate = "{rate}", buffer = "0.01bdp" }]
flow = [{ each = "rtts", apart = "500ms", rtt = "{rtts}ms" }]

[[condition]]
name = "short queue"
metric = "queue_ms"
at_most = "{most}"
"#;
