//! Steps, episodes, and the rows of a batch.

use std::time::Duration;

use crate::support::{ALONE, FOUR, observed, one, reset, scenario, step_all, truth};
use fairpace_gym::{Autoreset, Drawn, Form, INFO, OBSERVATIONS, Scale, Scenarios, Setup};

#[test]
fn the_first_observation_is_of_an_interval_without_an_action() {
    let (environments, batch) = one(ALONE, &[], Form::Factor);
    assert_eq!((environments.len(), environments.agents(), environments.flows()), (1, 1, 1));
    // the initial cwnd of 10 packets, paced over the RTT of the handshake: 30 ms and a SYN's transmission
    assert_eq!(observed(&batch, 0, "cwnd_pkts"), 10.0);
    let rate_mbps = 10.0 * 1448.0 * 8.0 / 30e3;
    assert!((observed(&batch, 0, "pacing_mbps") / rate_mbps - 1.0).abs() < 0.01);
    // connected at 30 ms, so the first data is acknowledged after 60 ms
    assert_eq!(observed(&batch, 0, "has_ack"), 0.0);
}

#[test]
fn a_rate_below_that_of_the_link_is_delivered_without_a_queue() {
    let (mut environments, mut batch) = one(ALONE, &[], Form::Absolute);
    for _ in 0..10 {
        step_all(&mut environments, &[6.0, 100.0], &mut batch);
    }
    for name in ["delivered_mbps", "sending_mbps"] {
        assert!((observed(&batch, 0, name) - 6.0).abs() < 0.5, "{name}: {}", observed(&batch, 0, name));
    }
    assert_eq!((observed(&batch, 0, "cwnd_pkts"), observed(&batch, 0, "pacing_mbps")), (100.0, 6.0));
    assert_eq!((observed(&batch, 0, "loss_share"), observed(&batch, 0, "has_ack")), (0.0, 1.0));
    assert!((truth(&batch, 0, "goodput_mbps") - 6.0).abs() < 0.5);
    assert_eq!(truth(&batch, 0, "share"), 1.0);
    // a burst of two packets waits for one: 1514 bytes at 12 Mbit/s are 1.01 ms
    assert!(truth(&batch, 0, "queue_delay_ms") <= 1.1);
    assert!((30.0..34.0).contains(&observed(&batch, 0, "rtt_ms")));
}

#[test]
fn a_rate_above_that_of_the_link_fills_the_buffer_and_loses_the_rest() {
    let (mut environments, mut batch) = one(ALONE, &[], Form::Absolute);
    // the mean since the start: in one step a hole may be filled, and all that waited for it is delivered
    let mut goodput_mbps = 0.0;
    for _ in 0..30 {
        step_all(&mut environments, &[18.0, 1000.0], &mut batch);
        goodput_mbps += truth(&batch, 0, "goodput_mbps") / 30.0;
    }
    assert!(goodput_mbps <= 12.0 * 1448.0 / 1514.0 + 0.3, "{goodput_mbps}: no more than the link carries");
    let delay_ms = truth(&batch, 0, "queue_delay_ms");
    assert!((25.0..=31.0).contains(&delay_ms), "{delay_ms}: a buffer of one BDP is 30 ms");
    // in the long run 12 of 18 get through
    let loss = observed(&batch, 0, "loss_share");
    assert!((0.2..0.5).contains(&loss), "{loss}");
    assert!((observed(&batch, 0, "rtt_ms") - 60.0).abs() < 4.0);
}

#[test]
fn an_episode_ends_with_its_scenario_and_the_next_one_begins_with_another_seed() {
    let (mut environments, mut batch) = one(ALONE, &[], Form::Factor);
    let seed = |environments: &fairpace_gym::Environments| environments.scenario(0).expect("it runs").seed;
    assert_eq!(seed(&environments), 1);
    let first = batch.observations.clone();
    // the reset has run one of 50 intervals
    for _ in 0..48 {
        step_all(&mut environments, &[0.03], &mut batch);
        assert_eq!(batch.truncated, [false]);
        assert_eq!(seed(&environments), 1);
    }
    assert!(batch.final_observations.iter().all(|value| *value == 0.0), "none has ended");
    step_all(&mut environments, &[0.1], &mut batch);
    assert_eq!(batch.truncated, [true]);
    assert_ne!(seed(&environments), 1);
    assert_eq!(batch.observations, first, "nothing in this scenario is random");
    // from 3.86 Mbit/s, 48 times 2^0.03, an interval late
    let expected = 3.86 * (0.03f32 * 47.0).exp2();
    let last = [batch.final_observations[0], truth(&batch, 0, "goodput_mbps")];
    assert!(last.iter().all(|mbps| (mbps - expected).abs() < 0.7), "{last:?} beside {expected}");
    step_all(&mut environments, &[0.1], &mut batch);
    assert_eq!(batch.truncated, [false]);
}

#[test]
fn the_next_episode_can_start_in_the_step_after_the_end() {
    let (mut same, mut of_same) = one(ALONE, &[], Form::Factor);
    let (later, mut of_later) = one(ALONE, &[], Form::Factor);
    let mut later = later.autoreset(Autoreset::NextStep);
    while !of_same.truncated[0] {
        step_all(&mut same, &[0.03], &mut of_same);
        step_all(&mut later, &[0.03], &mut of_later);
    }
    assert_eq!((&of_later.observations, &of_later.truncated), (&of_same.final_observations, &vec![true]));
    assert_eq!(of_later.info, of_same.info);
    assert_eq!(later.scenario(0).expect("it has ended").seed, 1);
    step_all(&mut later, &[-1.0], &mut of_later);
    assert_eq!((&of_later.observations, &of_later.truncated), (&of_same.observations, &vec![false]));
    assert!(of_later.info.iter().chain(&of_later.final_observations).all(|value| *value == 0.0));
    assert_eq!(later.scenario(0), same.scenario(0));
    step_all(&mut same, &[0.1], &mut of_same);
    step_all(&mut later, &[0.1], &mut of_later);
    assert_eq!((of_later.observations, of_later.info), (of_same.observations, of_same.info));
}

#[test]
fn a_scenario_that_is_no_multiple_of_the_interval_ends_with_a_shorter_one() {
    let (mut environments, mut batch) = one(ALONE, &["duration=200ms", "window.from=0s"], Form::Factor);
    let mut lengths = Vec::new();
    for _ in 0..3 {
        step_all(&mut environments, &[0.0], &mut batch);
        lengths.push(batch.truncated[0]);
    }
    assert_eq!(lengths, [false, false, true], "120 ms, 180 ms, 200 ms");
}

#[test]
fn an_action_without_an_ack_before_it_is_ignored() {
    let (mut environments, mut batch) = one(ALONE, &["flow.start=500ms"], Form::Absolute);
    let mut ignored = 0;
    while observed(&batch, 0, "has_ack") == 0.0 {
        step_all(&mut environments, &[1.0, 7.0], &mut batch);
        ignored += 1;
        assert!(observed(&batch, 0, "cwnd_pkts") != 7.0, "step {ignored}");
    }
    assert!(ignored >= 7, "it starts after 500 ms: {ignored}");
    step_all(&mut environments, &[1.0, 7.0], &mut batch);
    assert_eq!((observed(&batch, 0, "cwnd_pkts"), observed(&batch, 0, "pacing_mbps")), (7.0, 1.0));
}

#[test]
fn rows_are_in_the_order_of_environments_and_flows() {
    let setups = [ALONE, FOUR, ALONE].map(|text| Setup::new(Scenarios::from(scenario(text, &[])), 1));
    let (mut environments, mut batch) = reset(setups, Form::Absolute, 2);
    assert_eq!((environments.agents(), environments.flows()), (4, 6));
    let rows: Vec<_> = (0..4).map(|e| (environments.agents_of(e), environments.flows_of(e))).collect();
    assert_eq!(rows, [(0..1, 0..1), (1..3, 1..5), (3..4, 5..6), (0..0, 0..0)]);
    assert_eq!(batch.observations.len(), 4 * OBSERVATIONS.len());
    assert_eq!(batch.info.len(), 6 * INFO.len());
    let actions = [1.0, 51.0, 2.0, 52.0, 3.0, 53.0, 4.0, 54.0];
    let mut goodputs_mbps = [0.0; 6];
    for step in 0..90 {
        environments.step(&actions, batch.outputs()).expect("they are in range");
        for (row, mean_mbps) in goodputs_mbps.iter_mut().enumerate().filter(|_| step >= 40) {
            *mean_mbps += truth(&batch, row, "goodput_mbps") / 50.0;
        }
    }
    for row in 0..4 {
        assert_eq!(observed(&batch, row, "cwnd_pkts"), 51.0 + row as f32);
    }
    // the flows of the second environment: its agents send 2 and 3 Mbit/s, some of which are lost
    let [alone, cubic, first, bbr, second, last] = goodputs_mbps;
    for (mbps, sent_mbps) in [(first, 2.0), (second, 3.0)] {
        assert!((0.8 * sent_mbps..1.05 * sent_mbps).contains(&mbps), "{goodputs_mbps:?}");
    }
    assert!(cubic + bbr > 10.0, "the others take the rest: {goodputs_mbps:?}");
    assert!(alone > 0.9 && last > 3.6, "{goodputs_mbps:?}");
    let shares: f32 = (1..5).map(|row| truth(&batch, row, "share")).sum();
    assert!((shares - 1.0).abs() < 1e-5, "{shares}");
}

#[test]
fn the_bottleneck_is_the_link_with_the_longest_queueing_delay() {
    let text = ALONE.replace(
        "[[flow]]",
        "name = \"wide\"\n[[link]]\nname = \"narrow\"\nrate = \"3mbit\"\nbuffer = \"20kB\"\n[[flow]]",
    );
    let (mut environments, mut batch) = one(&text, &[], Form::Absolute);
    for _ in 0..20 {
        step_all(&mut environments, &[6.0, 1000.0], &mut batch);
    }
    // 20 kB at 3 Mbit/s are 53 ms; at 12 Mbit/s hardly anything waits
    assert!((45.0..=54.0).contains(&truth(&batch, 0, "queue_delay_ms")), "{:?}", batch.info);
}

#[test]
fn the_interval_is_what_the_setup_says_else_the_scenario_else_two_base_rtts() {
    let interval = |sets: &[&str], text: &str, interval: Option<Duration>| {
        let setup = Setup { interval, ..Setup::new(Scenarios::from(scenario(text, sets)), 1) };
        reset([setup], Form::Factor, 1).0.scenario(0).expect("it runs").interval
    };
    let ms = Duration::from_millis;
    assert_eq!(interval(&[], ALONE, None), ms(60));
    assert_eq!(interval(&[], FOUR, None), ms(40), "of the agents, the one with 20 ms");
    assert_eq!(interval(&["agent.interval=25ms"], ALONE, None), ms(25));
    assert_eq!(interval(&["agent.interval=25ms"], ALONE, Some(ms(7))), ms(7));
    assert_eq!(interval(&["flow.rtt=100us", "link.buffer=20kB"], ALONE, None), ms(1));
}

#[test]
fn episodes_of_ranges_differ_and_follow_from_the_seed() {
    let drawn = Drawn {
        key: "link.rate".to_owned(),
        least: "4mbit".to_owned(),
        most: "40mbit".to_owned(),
        scale: Scale::Logarithmic,
    };
    let text = ALONE.replace("3s", "300ms");
    let scenarios =
        Scenarios::Text { name: "ranges.toml".to_owned(), text, sets: Vec::new(), drawn: vec![drawn] };
    let rates = |seed| {
        let (mut environments, mut batch) = reset([Setup::new(scenarios.clone(), seed)], Form::Factor, 1);
        let mut rates = Vec::new();
        for _ in 0..20 {
            rates.push(environments.scenario(0).expect("it runs").links[0].rate_bps);
            step_all(&mut environments, &[0.0], &mut batch);
        }
        rates.dedup();
        rates
    };
    let first = rates(1);
    assert_eq!(first.len(), 5, "of 4 steps each: {first:?}");
    assert_eq!(first, rates(1));
    assert_ne!(first, rates(2));
}

#[test]
fn resetting_one_environment_leaves_the_others() {
    let setups = || (0..3).map(|seed| Setup::new(Scenarios::from(scenario(ALONE, &["link.loss=1%"])), seed));
    let (mut environments, mut batch) = reset(setups(), Form::Factor, 1);
    let first = batch.observations.clone();
    for _ in 0..10 {
        step_all(&mut environments, &[0.2], &mut batch);
    }
    let before = batch.observations.clone();
    environments.reset_one(1, Some(1), &mut batch.observations).expect("it is valid");
    let n = OBSERVATIONS.len();
    assert_eq!(batch.observations[..n], before[..n]);
    assert_eq!(batch.observations[n..2 * n], first[n..2 * n]);
    assert_eq!(batch.observations[2 * n..], before[2 * n..]);
    assert_eq!(environments.scenario(1).expect("it runs").seed, 1);
    environments.reset(Some(&[0, 1, 2]), &mut batch.observations).expect("they are valid");
    assert_eq!(batch.observations, first, "all from the start again");
}

#[test]
fn a_reset_without_a_seed_starts_the_next_episode() {
    let (mut environments, mut batch) = one(ALONE, &[], Form::Factor);
    let mut seeds = |environments: &mut fairpace_gym::Environments| {
        environments.reset_one(0, Some(7), &mut batch.observations).expect("it is valid");
        let mut seeds = Vec::new();
        for _ in 0..3 {
            seeds.push(environments.scenario(0).expect("it runs").seed);
            environments.reset(None, &mut batch.observations).expect("it is valid");
        }
        seeds
    };
    let first = seeds(&mut environments);
    assert_eq!(first[0], 7);
    assert!(first[1] != 7 && first[2] != first[1]);
    assert_eq!(seeds(&mut environments), first, "they follow from the first one");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let text = FOUR.replace("4s", "1500ms");
    let run = |jobs| {
        let sets = ["link.loss=0.5%", "window.from=0s"];
        let setups = (0..40).map(|seed| Setup::new(Scenarios::from(scenario(&text, &sets)), seed));
        let (mut environments, mut batch) = reset(setups, Form::Factor, jobs);
        let mut all = Vec::new();
        for step in 0..60 {
            let action = |row: usize| ((row * 7 + step * 3) % 11) as f32 / 10.0 - 0.5;
            let actions: Vec<f32> = (0..environments.agents()).map(action).collect();
            environments.step(&actions, batch.outputs()).expect("they are in range");
            all.push(batch.clone());
        }
        all
    };
    let alone = run(1);
    assert!(alone.iter().any(|batch| batch.truncated[39]), "episodes end");
    for jobs in [2, 5] {
        assert!(run(jobs) == alone, "{jobs} threads");
    }
}
