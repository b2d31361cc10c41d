//! Threads, and what is stopped before its end.

use std::time::{Duration, Instant};

use crate::support::{ALONE, reset, scenario, step_all};
use fairpace_gym::{Environments, Error, Form, Scenarios, Setup};

/// Nothing in the first interval of 10 s, and a hundred gigabytes in the second.
const HEAVY: &str = r#"
    title = "a rush after a pause"
    duration = "60s"
    [[link]]
    rate = "100gbit"
    buffer = "25MB"
    [[flow]]
    cc = "agent"
    rtt = "2ms"
    start = "11s"
    [[flow]]
    cc = "bbr1"
    rtt = "2ms"
    start = "11s"
"#;
/// Far less than 30 environments need for an interval of `HEAVY`, which is most of an hour of a processor.
const MOST: Duration = Duration::from_secs(30);

fn setups(text: &str, count: u64) -> impl Iterator<Item = Setup> {
    let scenario = scenario(text, &[]);
    let of = move |seed| Setup::new(Scenarios::from(scenario.clone()), seed);
    (0..count).map(of)
}

#[test]
fn there_are_no_more_threads_than_environments_and_at_most_256() {
    for (count, jobs, threads) in [(3, 1_000_000, 3), (300, usize::MAX, 256), (3, 2, 2), (3, 1, 1), (3, 0, 1)]
    {
        let environments = Environments::new(setups(ALONE, count), Form::Factor, Some(jobs));
        assert_eq!(environments.expect("they are in order").threads(), threads, "{jobs} jobs");
    }
}

#[test]
fn a_step_that_is_stopped_ends_early_and_leaves_no_episode() {
    for jobs in [1, 2] {
        let setups =
            setups(HEAVY, 30).map(|setup| Setup { interval: Some(Duration::from_secs(10)), ..setup });
        let (mut environments, mut batch) = reset(setups, Form::Factor, jobs);
        let first = batch.clone();
        let (begun, mut asked) = (Instant::now(), 0);
        let stopped = environments.step_unless_stopped(&[0.0; 30], batch.outputs(), &mut || {
            asked += 1;
            asked == 2
        });
        let took = begun.elapsed();
        assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
        assert!(asked == 2 || jobs > 1, "with its own answer it ends: asked {asked} times");
        assert!(took < MOST, "{jobs} threads: {took:?}");
        assert_eq!(batch, first, "the arrays are as they were");
        let error = environments.step(&[0.0; 30], batch.outputs()).expect_err("there is no episode");
        assert_eq!(error.to_string(), "environment 0 has no episode; reset it first");
        assert!((0..30).all(|environment| environments.scenario(environment).is_none()));
        let seeds: Vec<u64> = (0..30).collect();
        environments.reset(Some(&seeds), &mut batch.observations).expect("they are valid");
        assert_eq!(batch, first, "it begins again");
    }
}

#[test]
fn a_reset_that_is_stopped_ends_early() {
    let text = HEAVY.replace("11s", "0s");
    for jobs in [1, 2] {
        let setups =
            setups(&text, 30).map(|setup| Setup { interval: Some(Duration::from_secs(10)), ..setup });
        let mut environments =
            Environments::new(setups, Form::Factor, Some(jobs)).expect("they are in order");
        let mut batch = environments.batch();
        let begun = Instant::now();
        let stopped = environments.reset_unless_stopped(&[None; 30], &mut batch.observations, &mut || true);
        assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
        assert!(begun.elapsed() < MOST, "{jobs} threads: {:?}", begun.elapsed());
    }
}

#[test]
fn environments_are_made_until_that_is_stopped() {
    let endless = setups(ALONE, u64::MAX >> 1);
    let made = Environments::new_unless_stopped(endless, Form::Factor, Some(1), &mut || true);
    assert!(matches!(made, Err(Error::Stopped)));
}

#[test]
fn a_reset_with_some_seeds_starts_the_next_episodes_of_the_others() {
    let (mut environments, mut batch) = reset(setups(ALONE, 3), Form::Factor, 1);
    let seeds = |environments: &Environments| -> Vec<u64> {
        (0..3).map(|environment| environments.scenario(environment).expect("it runs").seed).collect()
    };
    environments.reset(None, &mut batch.observations).expect("they are valid");
    let next = seeds(&environments);
    environments.reset(Some(&[0, 1, 2]), &mut batch.observations).expect("they are valid");
    let some = [Some(7), None, Some(9)];
    environments.reset_unless_stopped(&some, &mut batch.observations, &mut || false).expect("they are valid");
    assert_eq!(seeds(&environments), [7, next[1], 9]);
    step_all(&mut environments, &[0.0], &mut batch);
}
