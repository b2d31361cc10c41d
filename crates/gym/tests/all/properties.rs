//! What holds for any actions.

use crate::support::{ALONE, FOUR, observed, one, scenario};
use fairpace_gym::{Column, Environments, Error, Form, INFO, OBSERVATIONS, Scenarios, Setup};
use fairpace_scenario::{Cc, Scenario};
use fairpace_sim::swarm;
use proptest::prelude::*;

fn in_ranges(values: &[f32], columns: &[Column]) -> Result<(), TestCaseError> {
    for row in values.chunks(columns.len()) {
        for (value, column) in row.iter().zip(columns) {
            let range = column.least..=column.most;
            prop_assert!(value.is_finite() && range.contains(value), "{}: {value}", column.name);
        }
    }
    Ok(())
}

/// A value of a column, of any order of magnitude.
fn value(column: &Column, unit: f32) -> f32 {
    if column.least > 0.0 {
        let (low, high) = (column.least.ln(), column.most.ln());
        (low + unit * (high - low)).exp().clamp(column.least, column.most)
    } else {
        column.least + unit * (column.most - column.least)
    }
}

/// Agents in place of every second flow that may be one; `None`: none may.
fn with_agents(mut scenario: Scenario) -> Option<Setup> {
    let agent: Cc = "agent".parse().expect("it is listed");
    // what is drawn can have this algorithm already, and not only where an environment can use it
    if scenario.flows.iter().any(|flow| flow.arrivals.is_some() && flow.cc.to_string() == "agent") {
        return None;
    }
    let is_connection = |cc: &Cc| *cc != Cc::Uncontrolled;
    let flows = scenario.flows.iter_mut().filter(|flow| flow.arrivals.is_none() && is_connection(&flow.cc));
    let agents = flows.step_by(2).map(|flow| flow.cc = agent.clone()).count();
    (agents > 0).then(|| Setup::new(Scenarios::from(scenario), 1))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn observations_stay_in_their_ranges_whatever_the_actions(
        units in prop::collection::vec(0.0f32..=1.0, 4 * 40),
        is_factor in any::<bool>(),
        loss_percent in 0u32..20,
        interval_us in 1_000u32..100_000,
    ) {
        let form = if is_factor { Form::Factor } else { Form::Absolute };
        let columns = form.actions();
        let text = FOUR.replace("4s", "1s").replace("start = \"1s\"", "start = \"300ms\"");
        let loss = format!("link.loss={loss_percent}%");
        let interval = format!("agent.interval={interval_us}us");
        let sets = [loss.as_str(), interval.as_str(), "window.from=0s"];
        let (mut environments, mut batch) = one(&text, &sets, form);
        for units in units.chunks(2 * columns.len()) {
            let actions: Vec<f32> =
                units.iter().zip(columns.iter().cycle()).map(|(unit, column)| value(column, *unit)).collect();
            let decides: Vec<bool> = (0..2).map(|row| observed(&batch, row, "has_ack") == 1.0).collect();
            environments.step(&actions, batch.outputs()).expect("they are in range");
            in_ranges(&batch.observations, &OBSERVATIONS)?;
            in_ranges(&batch.info, &INFO)?;
            for (row, action) in actions.chunks(columns.len()).enumerate() {
                let is_in_force = decides[row] && observed(&batch, row, "has_ack") == 1.0;
                if form == Form::Absolute && is_in_force && !batch.truncated[0] {
                    let pacing_mbps = observed(&batch, row, "pacing_mbps");
                    prop_assert!((pacing_mbps - action[0]).abs() <= 1e-5 * action[0] + 8e-6);
                    prop_assert_eq!(observed(&batch, row, "cwnd_pkts"), action[1].round());
                }
            }
        }
    }

    #[test]
    fn any_scenario_with_an_agent_is_an_environment(
        seed in 0..i64::MAX as u64,
        exponents in prop::collection::vec(-1.0f32..=1.0, 1..50),
    ) {
        let scenario = swarm::scenario(seed).expect("what is drawn is valid");
        let Some(setup) = with_agents(scenario) else { return Ok(()) };
        let mut environments = match Environments::new([setup], Form::Factor, Some(1)) {
            // it is too short for its RTT
            Err(Error::Unfit { reason, .. }) if reason.contains("two monitor intervals") => return Ok(()),
            environments => environments.expect("it is an environment"),
        };
        let mut batch = environments.batch();
        environments.reset(None, &mut batch.observations).expect("it is valid");
        for exponent in exponents {
            let actions = vec![exponent; environments.agents()];
            environments.step(&actions, batch.outputs()).expect("they are in range");
            in_ranges(&batch.observations, &OBSERVATIONS)?;
            in_ranges(&batch.info, &INFO)?;
        }
    }

    #[test]
    fn what_is_delivered_adds_up_to_the_goodput(
        exponents in prop::collection::vec(-1.0f32..=1.0, 48),
        seed in 0u64..1_000,
    ) {
        // without loss, goodput and what ACKs report differ by what is on its way back
        let sets = ["link.buffer=100MB"];
        let (mut environments, mut batch) = one(ALONE, &sets, Form::Factor);
        environments.reset_one(0, Some(seed), &mut batch.observations).expect("it is valid");
        let rate_bps = scenario(ALONE, &sets).links[0].rate_bps as f64;
        let (mut delivered_mb, mut goodput_mb) = (0.0, 0.0);
        for exponent in exponents {
            environments.step(&[exponent], batch.outputs()).expect("it is in range");
            let interval = environments.interval(0, 0).expect("it has connected");
            delivered_mb += f64::from(interval.delivered_pkts) * 1448.0 / 1e6;
            goodput_mb += f64::from(crate::support::truth(&batch, 0, "goodput_mbps")) * 0.060 / 8.0;
            let difference = goodput_mb - delivered_mb;
            // at most the half RTT of the way back, delayed ACKs, and the handshake's packet; in the first
            // interval 10 packets at most
            let most_mb = rate_bps * 0.015 / 8e6 + 14.0 * 1448.0 / 1e6;
            prop_assert!(difference.abs() <= most_mb, "{goodput_mb} and {delivered_mb}");
        }
    }
}
