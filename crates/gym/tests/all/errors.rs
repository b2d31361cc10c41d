//! Errors say what is wrong and where, and change nothing.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{ALONE, FOUR, one, reset, scenario, step_all};
use fairpace_gym::{Drawn, Environments, Error, Form, Outputs, Scale, Scenarios, Setup};

fn refused(setup: Setup) -> String {
    let environments = Environments::new([setup], Form::Factor, Some(1));
    environments.map(|_| ()).expect_err("the setup is wrong").to_string()
}

fn of(text: &str, sets: &[&str]) -> Setup {
    Setup::new(Scenarios::from(scenario(text, sets)), 7)
}

#[test]
fn an_action_that_is_no_number_in_its_range_names_environment_agent_and_value() {
    let setups = || [ALONE, FOUR].map(|text| of(text, &[]));
    let (mut environments, mut batch) = reset(setups(), Form::Absolute, 1);
    let before = batch.clone();
    for (actions, message) in [
        (
            [1.0, 10.0, 1.0, 10.0, f32::NAN, 10.0],
            "environment 1, agent \"second\": pacing_mbps is NaN; it is a number from 0.008 to 34359.74",
        ),
        (
            [1.0, f32::INFINITY, 1.0, 10.0, 1.0, 10.0],
            "environment 0, agent \"learner\": cwnd_pkts is inf; it is a number from 1 to 16777216",
        ),
        (
            [1.0, 10.0, 0.001, 10.0, 1.0, 10.0],
            "environment 1, agent \"first\": pacing_mbps is 0.001; it is a number from 0.008 to 34359.74",
        ),
    ] {
        let error = environments.step(&actions, batch.outputs()).expect_err(message);
        assert_eq!(error.to_string(), message);
        assert_eq!(batch, before);
    }
    // and the environments have not moved
    let (mut others, mut other_batch) = reset(setups(), Form::Absolute, 1);
    step_all(&mut environments, &[2.0, 20.0], &mut batch);
    step_all(&mut others, &[2.0, 20.0], &mut other_batch);
    assert_eq!(batch, other_batch);
    let (mut environments, mut batch) = one(ALONE, &[], Form::Factor);
    let error = environments.step(&[1.5], batch.outputs()).expect_err("above 1");
    let message = "environment 0, agent \"learner\": exponent is 1.5; it is a number from -1 to 1";
    assert_eq!(error.to_string(), message);
}

#[test]
fn an_array_of_another_length_is_named() {
    let (mut environments, mut batch) = one(FOUR, &[], Form::Absolute);
    let error = environments.step(&[1.0; 3], batch.outputs()).expect_err("two rows of two");
    assert_eq!(error.to_string(), "actions has 3 values; 2 rows of 2 columns are 4");
    let mut short = [0.0; 33];
    let outputs = Outputs { observations: &mut short, ..batch.outputs() };
    let error = environments.step(&[1.0; 4], outputs).expect_err("two rows of seventeen");
    assert_eq!(error.to_string(), "observations has 33 values; 2 rows of 17 columns are 34");
    let seeds = environments.reset(Some(&[1, 2]), &mut batch.observations).expect_err("one environment");
    assert_eq!(seeds.to_string(), "seeds has 2 values; 1 rows of 1 columns are 1");
    for error in [environments.reset(None, &mut short), environments.reset_one(0, Some(1), &mut short)] {
        assert!(matches!(error, Err(Error::Length { what: "observations", found: 33, .. })));
    }
    let outputs = Outputs { truncated: &mut [], ..batch.outputs() };
    assert!(environments.step(&[1.0; 4], outputs).is_err());
}

#[test]
fn environments_without_an_episode_are_not_stepped() {
    let setups = [of(ALONE, &[]), of(ALONE, &[])];
    let mut environments = Environments::new(setups, Form::Factor, Some(1)).expect("they are in order");
    let mut batch = environments.batch();
    environments.reset_one(0, Some(1), &mut batch.observations).expect("it is valid");
    let error = environments.step(&[0.0, 0.0], batch.outputs()).expect_err("one is not reset");
    assert_eq!(error.to_string(), "environment 1 has no episode; reset it first");
    let error = environments.reset_one(2, Some(1), &mut batch.observations).expect_err("there are two");
    assert_eq!(error.to_string(), "there is no environment 2; there are 2, from 0 on");
    assert!(environments.reset_one(0, Some(u64::MAX), &mut batch.observations).is_err(), "not a seed");
    assert!(matches!(Environments::new([], Form::Factor, Some(1)), Err(Error::NoEnvironment)));
}

#[test]
fn a_scenario_that_is_none_for_an_environment_is_refused_with_what_to_write() {
    let workload = ["flow.arrivals=1/s", "flow.sizes=websearch"];
    let long = Setup { interval: Some(Duration::from_secs(11)), ..of(ALONE, &[]) };
    let odd = Setup { interval: Some(Duration::from_nanos(1_500_500)), ..of(ALONE, &[]) };
    for (setup, message) in [
        (of(ALONE, &["flow.cc=reno"]), "no flow has `cc = \"agent\"`"),
        (of(ALONE, &["duration=120ms", "window.from=0s"]), "an episode is longer than two monitor intervals"),
        (Setup::new(Scenarios::from(scenario(ALONE, &[])), u64::MAX), "a seed is at most"),
        (long, "a monitor interval of 11s"),
        (odd, "a monitor interval of 1.5005ms"),
        (Setup::new(Scenarios::OneOf(Vec::new()), 1), "environment 0 has no scenario"),
        (of(ALONE, &workload), "flow \"learner\" is a workload of many connections"),
    ] {
        let found = refused(setup);
        assert!(found.contains(message), "{found}");
    }
}

#[test]
fn scenarios_of_different_shapes_are_refused_when_environments_are_made() {
    let list = [ALONE, FOUR].map(|text| Arc::new(scenario(text, &[]))).to_vec();
    let alone = "scenario 1 of its list: 1 agents among 1 flows, but 2 among 4 in its first scenario";
    let four = "scenario 2 of its list: 2 agents among 4 flows, but 1 among 1 in its first scenario";
    // which of them is the first one depends on the seed
    let found: Vec<String> =
        (0..8).map(|seed| refused(Setup::new(Scenarios::OneOf(list.clone()), seed))).collect();
    assert!(found.iter().all(|m| m.contains(alone) || m.contains(four)), "{found:?}");
    assert!(found.iter().any(|m| m.contains(alone)) && found.iter().any(|m| m.contains(four)));
}

#[test]
fn an_environment_whose_next_episode_cannot_start_says_so_until_it_is_reset() {
    let folder = tempfile::tempdir().expect("there is room");
    let trace = folder.path().join("link.trace");
    let write = || std::fs::write(&trace, "1\n2\n3\n").expect("there is room");
    write();
    let text = ALONE.replace("rate = \"12mbit\"", "trace = \"link.trace\"").replace("1bdp", "90kB");
    let name = folder.path().join("a.toml").display().to_string();
    let broken = Scenarios::Text { name, text, sets: Vec::new(), drawn: Vec::new() };
    let setups = [Setup::new(broken, 1), of(ALONE, &["duration=10s"])];
    let (mut environments, mut batch) = reset(setups, Form::Factor, 1);
    std::fs::remove_file(&trace).expect("it is there");
    for _ in 0..48 {
        step_all(&mut environments, &[0.0], &mut batch);
    }
    let before = environments.interval(1, 0);
    let error = environments.step(&[0.0, 0.0], batch.outputs()).expect_err("there is no trace");
    assert!(error.to_string().contains("link.trace"), "{error}");
    assert_ne!(environments.interval(1, 0), before, "the other one has gone on");
    let again = environments.step(&[0.0, 0.0], batch.outputs()).expect_err("it has no episode");
    assert_eq!(again.to_string(), "environment 0 has no episode; reset it first");
    write();
    environments.reset_one(0, Some(1), &mut batch.observations).expect("the trace is there");
    step_all(&mut environments, &[0.0], &mut batch);
}

fn ranges(text: &str, ranges: &[(&str, &str, &str)], seed: u64) -> Setup {
    let drawn = ranges.iter().map(|(key, least, most)| Drawn {
        key: (*key).to_owned(),
        least: (*least).to_owned(),
        most: (*most).to_owned(),
        scale: Scale::Uniform,
    });
    let (name, text) = ("ranges.toml".to_owned(), text.to_owned());
    Setup::new(Scenarios::Text { name, text, sets: Vec::new(), drawn: drawn.collect() }, seed)
}

#[test]
fn what_is_wrong_at_the_end_of_a_range_is_refused_whatever_the_first_seed_draws() {
    // a BDP of 1.15 Mbit/s and 10 ms is less than a packet
    let rates = ("link.rate", "1.15mbit", "4mbit");
    let others =
        ["link.loss", "flow.start", "link.jitter", "link.duplicate", "flow.ack_loss", "flow.ack_jitter"];
    let others = others.map(|key| match key {
        "flow.start" | "link.jitter" | "flow.ack_jitter" => (key, "0s", "1ms"),
        key => (key, "0%", "1%"),
    });
    for seed in 0..20 {
        let found = refused(ranges(ALONE, &[("flow.rtt", "10ms", "30ms"), rates], seed));
        let is_corner = found.contains("with flow.rtt=10ms, link.rate=1150kbit: ");
        assert!(is_corner || found.contains(&format!("seed {seed}: ")), "{found}");
        assert!(found.contains("at least 1514B"), "{found}");
        let found = refused(ranges(&ALONE.replace("30ms", "10ms"), &[&others[..], &[rates]].concat(), seed));
        assert!(found.contains("at least 1514B"), "{found}");
        let found = refused(ranges(ALONE, &[("flow.count", "1", "2")], seed));
        assert!(found.contains("with flow.count=") && found.contains("agents among"), "{found}");
    }
    let environments = Environments::new([ranges(ALONE, &[rates], 1)], Form::Factor, None);
    assert_eq!(environments.map(|_| ()).map_err(|error| error.to_string()), Ok(()), "of 30 ms it is more");
}

#[test]
fn what_cannot_be_drawn_is_refused_when_environments_are_made() {
    let found = refused(ranges(ALONE, &[("link.color", "1", "2")], 7));
    assert!(found.contains("environment 0: there is no key `link.color`"), "{found}");
    let found = refused(ranges(ALONE, &[("link.buffer", "1B", "2B")], 7));
    assert!(found.contains("environment 0, seed 7: ") && found.contains("at least 1514B"), "{found}");
}
