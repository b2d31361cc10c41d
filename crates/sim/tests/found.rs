//! What the swarm found, each made as small as it would go.

mod support;

use std::time::Duration;

use fairpace_results::Silent;
use fairpace_results::tap::{Happening, Packet, Tap};
use fairpace_scenario::{Arrivals, Flow, Line, Link, Loss, Receiving, Scenario, Sizes, Traffic, Writes};
use support::{flow, link, ms, run, scenario};

/// Runs it, and again with every departure as an event: both must say the same.
fn same_either_way(scenario: &Scenario) {
    let patient = fairpace_sim::run_patiently(scenario, &mut Silent).expect("the scenario is valid");
    let prompt = run(scenario);
    assert_eq!(prompt.summary.stable_json(), patient.summary.stable_json());
    // as text, because NaN is not equal to itself
    assert_eq!(format!("{:?}", prompt.series), format!("{:?}", patient.series));
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

#[test]
fn needless_copies_for_a_flow_of_a_workload_that_is_over_are_not_measured() {
    // a short path with a long queue: timers send copies that come when all is done
    let flows = vec![flow("bbr1", 5, 0), workload("bbr3", 5, 40)];
    let s = scenario(vec![Link { burst_bytes: Some(40_000), ..link(3, 22_000) }], flows, 0, 20);
    same_either_way(&s);
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

/// Every packet comes to the only link when it leaves its host.
#[derive(Default)]
struct LeavesNow {
    seen: u64,
}

impl Tap for LeavesNow {
    fn packet(&mut self, at: u64, _link: u32, what: Happening, packet: &Packet) {
        if matches!(what, Happening::Enqueued | Happening::Refused) {
            assert!(at.abs_diff(packet.sent_ns) < 1_000, "it left at {at} ns: {packet:?}");
            self.seen += 1;
        }
    }
}

#[test]
fn a_packet_that_does_not_wait_for_the_pacer_left_when_it_did() {
    // probes and timeouts do not wait, but are stamped with the time at which they should have: RTTs lost as much
    for cc in ["bbr1", "bbr1_drain", "bbr3", "fixed_rate"] {
        let loss = Loss { ppb: 300_000_000, burst: None };
        let f = Flow { ack_loss_ppb: 300_000_000, ..flow(cc, 100, 0) };
        let s = scenario(vec![Link { loss, ..link(1, 100_000) }], vec![f], 0, 120);
        let mut tap = LeavesNow::default();
        fairpace_sim::run_with(&s, &mut Silent, &mut tap).expect("the scenario is valid");
        assert!(tap.seen > 20, "{cc}: {}", tap.seen);
    }
}

/// When each kind of happening was last at each link.
#[derive(Default)]
struct InOrder {
    last: Vec<[u64; 5]>,
    seen: u64,
}

impl Tap for InOrder {
    fn packet(&mut self, at: u64, link: u32, what: Happening, packet: &Packet) {
        self.last.resize(self.last.len().max(link as usize + 1), [0; 5]);
        let leaves = matches!(what, Happening::Departed | Happening::Lost);
        let last = &mut self.last[link as usize][if leaves { 0 } else { 1 + what as usize % 4 }];
        assert!(at >= *last, "link {link}: {what:?} at {at} ns was told after {last} ns: {packet:?}");
        *last = at;
        self.seen += 1;
    }
}

#[test]
fn an_onlooker_is_told_of_departures_in_order_also_of_packets_that_nobody_waits_for() {
    let flows = vec![flow("bbr1", 5, 0), workload("bbr3", 5, 40)];
    let links = vec![Link { name: "first".to_owned(), ..link(4, 60_000) }, link(3, 22_000)];
    let s = Scenario { duration: Duration::from_secs(20), ..scenario(links, flows, 0, 20) };
    let mut tap = InOrder::default();
    fairpace_sim::run_with(&s, &mut Silent, &mut tap).expect("the scenario is valid");
    assert!(tap.seen > 1_000);
}
