//! `drop` on the testbed: the same packets vanish as in the simulator.

use std::time::Duration;

use fairpace_results::{Run, Silent};
use fairpace_scenario::{Drops, Flow, Traffic};
use fairpace_test_support::exclusive;

use crate::support::{flow, measure_or_skip, scenario};

/// A flow of 200 segments and some bytes.
fn short(name: &str, start_ms: u64, drop: &[&str]) -> Flow {
    let traffic = Traffic { size_bytes: Some(200 * 1448 + 10), ..Traffic::default() };
    let start = Duration::from_millis(start_ms);
    Flow { traffic, start, drop: Drops::parse(drop).unwrap(), ..flow(name, "kernel:reno", 30) }
}

/// Drops of each flow: what was dropped, then what was never sent.
fn drops(run: &Run) -> Vec<(String, Vec<String>, Vec<String>)> {
    let of = |flow: &fairpace_results::FlowSummary| {
        let drop = flow.drop.clone().unwrap_or_default();
        (flow.name.clone(), drop.dropped, drop.never_sent)
    };
    run.summary.flows.iter().map(of).collect()
}

#[test]
fn the_same_packets_are_dropped_as_in_the_simulator() {
    let _alone = exclusive();
    let flows = vec![
        short("syn", 0, &["syn 1"]),
        short("synack", 100, &["synack 1"]),
        // bursts of TSO have up to 44 segments (64 kB): the last of these are within them
        short("data", 200, &["data 3", "data 9-10", "data 60-61", "data 130 twice", "data 201"]),
        short("ack", 700, &["ack 3", "ack 5-6"]),
        short("never", 900, &["syn 2", "data 202", "ack 1000"]),
    ];
    let s = scenario(40, 400_000, (0, 3), flows);
    let Some(outcome) = measure_or_skip(&s) else { return };
    let mut simulated = s.clone();
    simulated.flows.iter_mut().for_each(|flow| flow.cc = "reno".parse().unwrap());
    let simulated = fairpace_sim::run(&simulated, &mut Silent).unwrap();
    assert_eq!(drops(&outcome.run), drops(&simulated));
    let all = |flow: usize| &outcome.run.summary.flows[flow].drop.as_ref().unwrap().dropped;
    assert_eq!(all(2), &["data 3", "data 9-10", "data 60-61", "data 130 twice", "data 201"]);
    let notes = |run: &Run| run.notes.iter().filter(|note| note.contains("never sent")).cloned().collect();
    let (real, simulated): (Vec<_>, Vec<_>) = (notes(&outcome.run), notes(&simulated));
    assert_eq!((real.len(), &real), (1, &simulated));
    for flow in &outcome.run.summary.flows {
        let [lost, retransmits] = match flow.name.as_str() {
            "syn" => [1, 0],
            "data" => [8, 8],
            _ => [0, 0],
        };
        // SYNs count as on a link; the kernel counts no retransmission of a SYN here
        assert_eq!(flow.dropped_pkts, lost, "{flow:?}");
        assert!(flow.retransmits >= retransmits && flow.retransmits <= retransmits + 2, "{flow:?}");
    }
    // a lost SYN or SYN-ACK costs the initial RTO, 1 s (RFC 6298, section 2)
    let took: Vec<_> = outcome.run.summary.flows.iter().filter_map(|flow| flow.completion_s).collect();
    let [syn, synack, _, ack, never] = took.as_slice() else { panic!("not all are complete: {took:?}") };
    assert!(*syn > 1.0 && *synack > 1.0 && *ack < 1.0 && *never < 1.0, "{took:?}");
    assert_eq!(outcome.run.summary.links[0].drops, 0, "no link saw them");
}
