//! Incast: the servers of a synchronized read overflow a short buffer, and the timeout of one of them stops
//! all (Phanishayee et al., FAST 2008; Vasudevan et al., SIGCOMM 2009).

use fairpace_scenario::{Scenario, Set, Target, parse};

use crate::support::run;

const SCENARIO: &str = include_str!("../../../../scenarios/incast.toml");
/// Bytes of a block, which the servers send in equal parts.
const BLOCK_BYTES: u64 = 1 << 20;

/// The sum of the goodputs of a number of servers in Mbit/s, with these changes of the scenario.
fn goodput_mbps(servers: u64, sets: &[&str]) -> f64 {
    goodput_mbps_of(SCENARIO, servers, sets)
}

fn goodput_mbps_of(text: &str, servers: u64, sets: &[&str]) -> f64 {
    let bytes = BLOCK_BYTES / servers;
    let own = [format!("flow.count={servers}"), format!("flow.response={bytes}B"), "duration=3s".to_owned()];
    let sets = own.iter().map(String::as_str).chain(sets.iter().copied());
    let sets: Vec<Set> = sets.map(|set| set.parse().expect("it is a change")).collect();
    let scenario: Scenario =
        parse("incast.toml", text, &sets, Target::Simulator).unwrap_or_else(|wrong| panic!("{wrong}"));
    run(&scenario).summary.flows.iter().map(|flow| flow.goodput_mbps).sum()
}

#[test]
fn a_barrier_shows_the_collapse_and_a_short_timeout_mends_it() {
    // two servers find room for what they send at once: a block takes 8.4 ms
    let (few, many) = (goodput_mbps(1, &[]), goodput_mbps(16, &[]));
    assert!(few > 900.0, "{few}");
    // A round with a timeout takes 200 ms at least, besides the 8.4 ms of the block: 40 Mbit/s at most. With
    // a second one of doubled length, 600 ms, it would be 14 Mbit/s.
    let block_bits = (BLOCK_BYTES * 8) as f64;
    let most = block_bits / (0.2 + block_bits / 1e9) / 1e6;
    let least = block_bits / (0.6 + block_bits / 1e9) / 1e6;
    assert!((least..=most).contains(&many), "{many} of {least} to {most}");
    // figure 1 of Vasudevan et al.: timeouts of a millisecond keep at least a third of the rate
    let mended = goodput_mbps(16, &["flow.rto_min=1ms"]);
    assert!(mended > 333.0, "{mended}");
    // without a barrier the others go on while one waits, and nothing is to be seen
    let hidden = goodput_mbps_of(&SCENARIO.replace("barrier =", "# barrier ="), 16, &[]);
    assert!(hidden > 800.0, "{hidden}");
}

#[test]
fn flows_with_a_barrier_end_as_many_rounds_as_each_other() {
    let sets = ["flow.count=4", "flow.rtt=2ms", "duration=2s", "flow.rto_min=1ms"];
    let sets: Vec<Set> = sets.iter().map(|set| set.parse().expect("it is a change")).collect();
    let scenario =
        parse("incast.toml", SCENARIO, &sets, Target::Simulator).unwrap_or_else(|wrong| panic!("{wrong}"));
    let run = run(&scenario);
    let counts =
        run.summary.flows.iter().map(|flow| flow.completions.as_ref().map_or(0, |done| done.completed));
    let (least, most) = (counts.clone().min().unwrap(), counts.max().unwrap());
    assert!(least > 10 && most - least <= 1, "{least} to {most}");
}

/// The next request leaves when the response arrives, and not when it leaves the last link.
#[test]
fn a_barrier_of_one_flow_changes_nothing() {
    let text = "title = \"t\"\nduration = \"3s\"\n[[link]]\nrate = \"20mbit\"\nbuffer = \"100kB\"\n\
                [[flow]]\ncc = \"cubic\"\nrtt = \"20ms\"\nresponse = \"60kB\"\nthink = \"10ms\"\n";
    let completed = |text: &str| {
        let scenario =
            parse("t.toml", text, &[], Target::Simulator).unwrap_or_else(|wrong| panic!("{wrong}"));
        run(&scenario).summary.flows[0].completions.as_ref().map(|done| done.completed)
    };
    let without = completed(text);
    assert!(without > Some(30), "{without:?}");
    assert_eq!(completed(&format!("{text}barrier = \"b\"\n")), without);
}
