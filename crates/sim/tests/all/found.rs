//! What the swarm found, each made as small as it would go.

use std::time::Duration;

use crate::support::{flow, link, ms, run, scenario, with};
use fairpace_results::Silent;
use fairpace_results::observer::{LinkEvent, Observer, Packet};
use fairpace_scenario::{
    Arrivals, Flow, Line, Link, Policer, Receiving, Reorder, Scenario, Sending, Sizes, Traffic, Window,
    Writes,
};

/// Runs it, and again with every departure as an event: both must say the same.
fn same_either_way(scenario: &Scenario) {
    let per_hop = fairpace_sim::run_per_hop(scenario, &mut Silent).expect("the scenario is valid");
    let usual = run(scenario);
    assert_eq!(usual.summary.stable_json(), per_hop.summary.stable_json());
    // as text, because NaN is not equal to itself
    assert_eq!(format!("{:?}", usual.series), format!("{:?}", per_hop.series));
}

fn workload(cc: &str, rtt_ms: u64, per_s: u64) -> Flow {
    let sizes = Sizes::read("test", "3000 0.5\n60000 1\n").expect("it is a distribution");
    Flow { arrivals: Some(Arrivals { per_s_milli: per_s * 1000, sizes }), ..flow(cc, rtt_ms, 0) }
}

#[test]
fn a_change_of_the_route_is_not_seen_by_acks_that_left_their_links_before_it() {
    // data that is known to arrive after the change was measured before them
    let links = vec![link(20, 100_000), Link { name: "back".to_owned(), ..link(2, 100_000) }];
    let f = Flow {
        route: Some(vec!["bottleneck".to_owned()]),
        reverse: vec!["back".to_owned()],
        rtt_at: vec![(ms(1500), ms(10)), (ms(2500), ms(300))],
        ..flow("bbr1", 200, 0)
    };
    same_either_way(&scenario(links, vec![f], 0, 4));
}

#[test]
fn what_gro_holds_for_a_flow_of_a_workload_is_counted_when_it_is_let_go() {
    // flows share one meter, which wants times in order
    let receiving = Receiving { gro: ms(3), ..Receiving::default() };
    let mut s =
        scenario(vec![link(20, 100_000)], vec![Flow { receiving, ..workload("cubic", 10, 100) }], 0, 4);
    s.interval = ms(1);
    same_either_way(&s);
}

/// Flows that end while a probe's copy of their last packet still waits behind others on a short path.
fn copies_left_behind() -> (Link, Vec<Flow>) {
    (Link { burst_bytes: Some(40_000), ..link(3, 22_000) }, vec![flow("bbr1", 5, 0), workload("bbr3", 5, 10)])
}

#[test]
fn needless_copies_for_a_flow_of_a_workload_that_is_over_are_not_measured() {
    let (link, flows) = copies_left_behind();
    same_either_way(&scenario(vec![link], flows, 0, 20));
}

#[test]
fn a_link_that_is_down_for_good_keeps_what_it_has() {
    // the time of a packet that never leaves is not one to add to
    let receiving = Receiving { gro: ms(1), ..Receiving::default() };
    for jitter in [0, 2] {
        let line = Line { delay: ms(1), jitter: ms(jitter), ..Line::default() };
        let l = Link { rate_at: vec![(ms(1000), 0)], line, ..link(20, 100_000) };
        let f =
            Flow { rtt_at: vec![(ms(500), ms(20))], receiving: receiving.clone(), ..flow("cubic", 40, 0) };
        same_either_way(&scenario(vec![l], vec![f], 0, 4));
    }
}

#[test]
fn an_answer_that_ends_after_its_flow_has_stopped_makes_no_more_requests() {
    // the run hung: the request was for a time that had come, again and again
    let answers = Writes::Responses { bytes: 200_000, think: Duration::ZERO };
    let traffic = Traffic { size_bytes: None, writes: answers };
    let f = Flow { traffic, stop: Some(ms(2000)), ..flow("cubic", 100, 0) };
    let r = run(&scenario(vec![link(20, 100_000)], vec![f], 0, 4));
    let rates = &r.series.flows[0].goodput_mbps;
    assert!(rates[10..20].iter().any(|rate| *rate > 0.0), "{rates:?}");
    // what was sent before the stop is sent again if it was lost
    assert!(rates[35..].iter().all(|rate| *rate == 0.0), "{rates:?}");
}

#[test]
fn a_reduction_at_once_that_is_taken_back_in_slow_start_leaves_a_window() {
    // ssthresh was without bound again, and cwnd was set to it: the sender sent until the memory was full
    for (cc, rtt_ms, reorder_ms) in
        [("reno", 40, 10), ("reno", 100, 30), ("cubic", 40, 15), ("cubic", 20, 30)]
    {
        for sack in [true, false] {
            let mut f = flow(cc, rtt_ms, 0);
            f.reorder = Some(Reorder { ppb: 50_000_000, delay: ms(reorder_ms) });
            f.sending = Sending { prr: false, sack, ..Sending::default() };
            f.receiving.window = Window::Fixed(10_000_000);
            let r = run(&scenario(vec![link(20, 500_000)], vec![f], 0, 10));
            let most = r.series.flows[0].cwnd_pkts.iter().copied().fold(0.0, f32::max);
            assert!(most < 20_000.0, "{cc} {rtt_ms} {reorder_ms} {sack}: cwnd {most}");
        }
    }
}

/// Every packet comes to the only link when it leaves its host.
#[derive(Default)]
struct LeavesNow {
    seen: u64,
}

impl Observer for LeavesNow {
    fn packet(&mut self, at: u64, _link: u32, what: LinkEvent, packet: &Packet) {
        if matches!(what, LinkEvent::Enqueued | LinkEvent::Refused) {
            assert!(at.abs_diff(packet.sent_ns) < 1_000, "it left at {at} ns: {packet:?}");
            self.seen += 1;
        }
    }
}

#[test]
fn a_packet_that_does_not_wait_for_the_pacer_left_when_it_did() {
    // probes and timeouts do not wait, but are stamped with the time at which they should have: RTTs lost as
    // much
    let policer = Some(Policer { rate_bps: 300_000, burst_bytes: 10_000 });
    let flows = ["bbr1", "bbr1_drain", "bbr2", "bbr3", "nyu"].iter().zip([180, 40, 2, 10, 1]);
    let flows = flows.map(|(cc, rtt_ms)| flow(cc, rtt_ms, 0)).collect();
    let s = scenario(vec![Link { policer, ..link(20, 100_000) }], flows, 0, 60);
    let mut observer = LeavesNow::default();
    fairpace_sim::run_with(&s, &mut Silent, &mut observer).expect("the scenario is valid");
    assert!(observer.seen > 1_000, "{}", observer.seen);
}

/// When each kind of happening was last at each link.
#[derive(Default)]
struct InOrder {
    last: Vec<[u64; 5]>,
    seen: u64,
}

impl Observer for InOrder {
    fn packet(&mut self, at: u64, link: u32, what: LinkEvent, packet: &Packet) {
        self.last.resize(self.last.len().max(link as usize + 1), [0; 5]);
        let leaves = matches!(what, LinkEvent::Departed | LinkEvent::Lost);
        let last = &mut self.last[link as usize][if leaves { 0 } else { 1 + what as usize % 4 }];
        assert!(at >= *last, "link {link}: {what:?} at {at} ns was told after {last} ns: {packet:?}");
        *last = at;
        self.seen += 1;
    }
}

#[test]
fn an_observer_gets_departures_in_order_even_of_packets_without_a_waiting_connection() {
    // copies pass the first link when their flow is over, and meet others at the second
    let (first, mut flows) = copies_left_behind();
    flows.push(Flow {
        route: Some(vec!["bottleneck".to_owned()]),
        ..with(flow("fixed_cwnd", 1, 0), "cwnd_pkts", "5")
    });
    let first = Link { name: "first".to_owned(), burst_bytes: None, ..first };
    let links = vec![first, link(6, 22_000)];
    let s = scenario(links, flows, 0, 20);
    let mut observer = InOrder::default();
    fairpace_sim::run_with(&s, &mut Silent, &mut observer).expect("the scenario is valid");
    assert!(observer.seen > 1_000);
}

#[test]
fn an_echo_of_a_time_to_come_is_no_rtt_of_two_minutes() {
    // 12 ms per packet: what a timeout sends again is acknowledged before the pacer would have let it go
    let mut f = flow("fixed_rate", 1, 0);
    f.cc.set("rate", "1mbit").expect("a rate");
    f.sending = Sending { sack: false, ..Sending::default() };
    let mut lossy = link(20, 100_000);
    lossy.loss.ppb = 300_000_000;
    let run = run(&scenario(vec![lossy], vec![f], 0, 100));
    let late = run.series.t_s.iter().zip(&run.series.flows[0].goodput_mbps).filter(|(t, _)| **t > 50.0);
    assert!(late.map(|(_, mbps)| mbps).sum::<f32>() > 0.0, "it is stuck in its back-off");
}

#[test]
fn the_jitter_behind_a_link_is_drawn_for_packets_without_a_waiting_connection_too() {
    // copies pass the first link when their flow is over; those after them on the second got their jitter
    let (first, mut flows) = copies_left_behind();
    flows.push(Flow { route: Some(vec!["bottleneck".to_owned()]), ..flow("cubic", 20, 0) });
    let first = Link { name: "first".to_owned(), burst_bytes: None, ..first };
    let jittery = Link { line: Line { jitter: ms(3), ..Line::default() }, ..link(6, 22_000) };
    same_either_way(&scenario(vec![first, jittery], flows, 0, 20));
}
