//! `drop` on the testbed: the same packets vanish as in the simulator.

use std::time::Duration;

use fairpace_results::{Run, Silent};
use fairpace_scenario::{Burst, BurstLength, Drops, Flow, Link, Loss, Traffic, Writes};

use crate::measured;
use crate::scenarios::{flow, scenario};

/// A flow of 30 segments and some bytes: its socket's first buffer holds them, so that it does not hold the
/// flow back, which the run would be judged by.
fn short(name: &str, start_ms: u64, drop: &[&str]) -> Flow {
    let traffic = Traffic { size_bytes: Some(30 * 1448 + 10), ..Traffic::default() };
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

pub(crate) fn the_same_packets_are_dropped_as_in_the_simulator() {
    let flows = vec![
        short("syn", 0, &["syn 1"]),
        short("synack", 100, &["synack 1"]),
        short("data", 200, &["data 3", "data 9-10", "data 16-17", "data 24 twice", "data 31"]),
        short("ack", 700, &["ack 3", "ack 5-6"]),
        short("never", 900, &["syn 2", "data 32", "ack 1000"]),
    ];
    let mut s = scenario(40, 400_000, (0, 3), flows);
    // and one over another link, which is bad for 30 ms at a time: a run of its own would cost seconds
    let burst = Burst { length: BurstLength::Time(Duration::from_millis(30)), ..Burst::default() };
    let loss = Loss { ppb: 200_000_000, burst: Some(burst) };
    s.links.push(Link { loss, ..Link::new("lossy", 40_000_000, 400_000) });
    s.flows.iter_mut().for_each(|flow| flow.route = Some(vec!["l".to_owned()]));
    // it pauses behind the end: buffers may hold such a flow back
    let writes = Writes::OnOff { on: s.duration, off: s.duration };
    let traffic = Traffic { writes, ..Traffic::default() };
    let route = Some(vec!["lossy".to_owned()]);
    s.flows.push(Flow { route, traffic, ..flow("lossy", "kernel:reno", 30) });
    let outcome = measured(&s);
    let mut simulated = s.clone();
    simulated.flows.iter_mut().for_each(|flow| flow.cc = "reno".parse().unwrap());
    let simulated = fairpace_sim::run(&simulated, &mut Silent).unwrap();
    assert_eq!(drops(&outcome.run), drops(&simulated));
    let all = |flow: usize| &outcome.run.summary.flows[flow].drop.as_ref().unwrap().dropped;
    assert_eq!(all(2), &["data 3", "data 9-10", "data 16-17", "data 24 twice", "data 31"]);
    let notes = |run: &Run| run.notes.iter().filter(|note| note.contains("never sent")).cloned().collect();
    let (real, simulated): (Vec<_>, Vec<_>) = (notes(&outcome.run), notes(&simulated));
    assert_eq!((real.len(), &real), (1, &simulated));
    for flow in &outcome.run.summary.flows[..5] {
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
    let [link, lossy] = outcome.run.summary.links.as_slice() else { panic!("two links") };
    assert_eq!((link.drops, link.lost), (0, 0), "no link saw them");
    // it is bad once in 150 ms, so the flow, which sends once in 30 ms at least until it is, meets that; and
    // its packets get through after each burst
    let goodput_mbps = outcome.run.summary.flows[5].goodput_mbps;
    assert!(lossy.lost > 0 && lossy.loss_bursts.is_none() && goodput_mbps > 0.0, "{lossy:?}");
}
