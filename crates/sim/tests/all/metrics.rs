//! What a summary says, held against what must be so.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{bdp_bytes, flow, link, ms, run, scenario};
use fairpace_results::observer::{Ack, ConnectionId, Content, LinkEvent, Observer, Packet, SenderState};
use fairpace_results::{Completions, Silent};
use fairpace_scenario::{Arrivals, Burst, BurstLength, Flow, Limit, Link, Loss, Queue, Sizes, Writes};

fn finite(cc: &str, rtt_ms: u64, start_ms: u64, bytes: u64) -> Flow {
    let mut flow = flow(cc, rtt_ms, start_ms);
    flow.traffic.size_bytes = Some(bytes);
    flow
}

fn completions(run: &fairpace_results::Run, flow: usize) -> Completions {
    run.summary.flows[flow].completions.clone().expect("the flow has an end")
}

#[test]
fn a_packet_alone_on_an_empty_path_takes_no_longer_than_it_must() {
    let r = run(&scenario(vec![link(10, 100_000)], vec![finite("cubic", 40, 0, 1448)], 0, 2));
    let c = completions(&r, 0);
    assert_eq!((c.began, c.completed), (1, 1));
    // the ideal is 40 + 20 ms and 1514 bytes at 10 Mbit/s; the SYN's 74 bytes are not in it, nor that the
    // application is woken 0.1 ms after the SYN-ACK
    let least_ms = 60.0 + 1514.0 * 8.0 / 1e4;
    let seen = c.mean_ms.unwrap();
    assert!((seen - least_ms - 74.0 * 8.0 / 1e4 - 0.1).abs() < 1e-6, "{seen} instead of {least_ms}");
    assert!((c.slowdown_mean.unwrap() - seen / least_ms).abs() < 1e-9);
    assert_eq!((c.p50_ms, c.slowdown_p99), (c.mean_ms, c.slowdown_mean));
}

#[test]
fn slow_start_costs_the_round_trips_that_it_takes() {
    // 10 + 20 + 40 packets: three windows; the second and third wait for the first ACK of the one before
    let r = run(&scenario(vec![link(1_000, 1_000_000)], vec![finite("reno", 100, 0, 70 * 1448)], 0, 5));
    let seen = completions(&r, 0).mean_ms.unwrap();
    assert!((350.0..352.0).contains(&seen), "{seen}: a handshake, two more round trips and half of one");
}

#[test]
fn only_transfers_that_begin_in_the_window_count() {
    let flows =
        vec![finite("cubic", 20, 0, 14_480), finite("cubic", 20, 1_500, 14_480), flow("cubic", 20, 0)];
    let r = run(&scenario(vec![link(10, 100_000)], flows, 1, 3));
    assert_eq!((completions(&r, 0).began, completions(&r, 0).completed), (0, 0));
    assert!(r.summary.flows[0].completion_s.is_some(), "which is of the whole run");
    assert_eq!((completions(&r, 1).began, completions(&r, 1).completed), (1, 1));
    assert_eq!(r.summary.flows[2].completions, None);
}

#[test]
fn answers_are_transfers_without_a_handshake() {
    let mut asked = flow("cubic", 40, 0);
    asked.traffic.writes = Writes::Responses { bytes: 1448, think: ms(60) };
    let r = run(&scenario(vec![link(10, 100_000)], vec![asked], 0, 10));
    let c = completions(&r, 0);
    // one every 60 ms of thought, 20 ms to the sender, 20 ms back and 1.2 ms of transmission
    assert!((95..=100).contains(&c.completed) && c.began - c.completed <= 1, "{c:?}");
    let slowdown = c.slowdown_p50.unwrap();
    assert!((1.0..1.01).contains(&slowdown), "{c:?}");
}

#[test]
fn a_workloads_mean_slowdown_lies_between_its_percentiles() {
    let mut web = flow("cubic", 20, 0);
    let sizes =
        Sizes { name: "test".into(), cdf: Arc::new([(2_000, 500_000_000), (200_000, 1_000_000_000)]) };
    web.arrivals = Some(Arrivals { per_s_milli: 40_000, sizes });
    let r = run(&scenario(vec![link(50, 200_000)], vec![web], 2, 12));
    let c = completions(&r, 0);
    assert!((300..500).contains(&c.began) && c.completed > c.began * 9 / 10, "{c:?}");
    assert!(
        c.slowdown_p50 > Some(1.0) && c.slowdown_p50 <= c.slowdown_p99 && c.slowdown_mean <= c.slowdown_p99
    );
    let curve = &r.series.flows[0].completion_ms;
    assert!(curve.len() == 101 && curve.is_sorted(), "{curve:?}");
    assert!((f64::from(curve[50]) - c.p50_ms.unwrap()).abs() < 1e-3 * c.p50_ms.unwrap());
}

#[test]
fn loss_rates_are_those_of_the_line() {
    let mut lossy = link(100, 8 * bdp_bytes(100, 20));
    lossy.loss = Loss { ppb: 10_000_000, burst: None };
    let r = run(&scenario(vec![lossy], vec![flow("bbr1", 20, 0), flow("bbr1", 20, 0)], 5, 25));
    let (mut sent, mut gone) = (0, 0);
    for f in &r.summary.flows {
        let rate = f.loss_rate.unwrap();
        assert!((rate - f.dropped_pkts as f64 / f.sent_pkts.unwrap() as f64).abs() < 1e-12);
        assert!((0.008..0.012).contains(&rate), "{f:?}");
        // what is lost is sent again, but for what the edges of the window cut off
        assert!(f.retransmits.abs_diff(f.dropped_pkts) < f.dropped_pkts / 10, "{f:?}");
        (sent, gone) = (sent + f.sent_pkts.unwrap(), gone + f.dropped_pkts);
    }
    let l = &r.summary.links[0];
    assert_eq!(gone, l.lost + l.drops);
    // 20 s of full packets, all of which left
    let possible = 100e6 * 20.0 / (1514.0 * 8.0);
    assert!((sent as f64 / (possible * l.utilization) - 1.0).abs() < 2e-3, "{sent} of {possible}");
}

#[test]
fn marks_are_counted_per_flow_and_per_link() {
    let mut marking = link(100, 1_000_000);
    marking.queue = Queue::Step(Limit::Packets(20));
    let mut dctcp = flow("bbr3", 10, 0);
    dctcp.sending.ecn = fairpace_scenario::Ecn::Dctcp;
    let r = run(&scenario(vec![marking], vec![dctcp, flow("cubic", 10, 0)], 2, 10));
    let [with, without] = [&r.summary.flows[0], &r.summary.flows[1]].map(|f| f.marked_pkts);
    assert!(with > 0 && without == 0, "{with}, {without}");
    assert_eq!(r.summary.links[0].marks, with);
    assert_eq!(r.summary.links[0].queue, "step");
}

#[test]
fn flows_that_begin_alike_have_converged_at_once_and_fill_their_bottlenecks_fairly() {
    let r = run(&scenario(vec![link(50, bdp_bytes(50, 30))], vec![flow("cubic", 30, 0); 1], 5, 20));
    assert_eq!(r.summary.convergence_s, None, "one flow has no other to share with");
    let distance = r.summary.max_min_distance.unwrap();
    assert!(distance < 0.01, "one flow should have all: {distance}");
    // two flows that each take half, whatever happens
    let mut half = flow("fixed_rate", 30, 0);
    half.cc.set("rate", "23mbit").unwrap();
    let later = Flow { name: "later".into(), start: Duration::from_secs(3), ..half.clone() };
    let r = run(&scenario(vec![link(50, 1_000_000)], vec![half.clone(), later], 5, 20));
    assert_eq!(r.summary.convergence_s, Some(0.0));
    assert!(r.summary.max_min_distance.unwrap() < 0.05, "{:?}", r.summary.max_min_distance);
    // one that ends is no part of a steady state
    let r = run(&scenario(vec![link(50, 1_000_000)], vec![half, finite("cubic", 30, 0, 1_000_000)], 5, 20));
    assert_eq!((r.summary.convergence_s, r.summary.max_min_distance), (None, None));
}

#[test]
fn a_parking_lot_is_held_against_its_own_fair_rates() {
    let links = ["a", "b"].map(|name| Link::new(name, 20_000_000, 100_000)).to_vec();
    let rate = |cc_rate: &str, route: &[&str]| {
        let mut flow = flow("fixed_rate", 30, 0);
        flow.name = route.join("-");
        flow.cc.set("rate", cc_rate).unwrap();
        flow.route = Some(route.iter().map(|name| (*name).to_owned()).collect());
        flow
    };
    // fair are 10 Mbit/s each; the long flow has half of that and the others one and a half of it
    let flows = vec![rate("4.5mbit", &["a", "b"]), rate("14mbit", &["a"]), rate("14mbit", &["b"])];
    let r = run(&scenario(links, flows, 2, 12));
    let distance = r.summary.max_min_distance.unwrap();
    assert!((distance - 0.5).abs() < 0.05, "{distance}");
}

/// Counts what it gets.
#[derive(Default)]
struct Counter {
    enqueued: u64,
    gone: u64,
    acks: u64,
    last: SenderState,
    completed: Vec<(ConnectionId, u64)>,
}

impl Observer for Counter {
    fn packet(&mut self, _at_ns: u64, _link: u32, what: LinkEvent, packet: &Packet) {
        let is_data = u64::from(matches!(packet.content, Content::Data { .. }));
        match what {
            LinkEvent::Enqueued => self.enqueued += is_data,
            LinkEvent::Refused | LinkEvent::Dropped | LinkEvent::Lost => self.gone += is_data,
            LinkEvent::Marked | LinkEvent::Departed => {}
        }
    }

    fn ack(&mut self, _at_ns: u64, _connection: ConnectionId, _ack: &Ack) {
        self.acks += 1;
    }

    fn sender(&mut self, _at_ns: u64, _connection: ConnectionId, state: impl FnOnce() -> SenderState) {
        self.last = state();
    }

    fn completed(&mut self, _at_ns: u64, connection: ConnectionId, bytes: u64, _took_ns: u64) {
        self.completed.push((connection, bytes));
    }
}

#[test]
fn an_observer_gets_every_packet_and_changes_nothing() {
    let mut lossy = link(20, 60_000);
    lossy.loss = Loss {
        ppb: 5_000_000,
        burst: Some(Burst { length: BurstLength::Pkts(3), inside_ppb: 500_000_000, outside_ppb: 0 }),
    };
    let s = scenario(vec![lossy], vec![finite("cubic", 30, 0, 5_000_000)], 0, 20);
    let mut counter = Counter::default();
    let seen = fairpace_sim::run_with(&s, &mut Silent, &mut counter).unwrap();
    let alone = run(&s);
    assert_eq!((&seen.summary.flows, &seen.summary.links), (&alone.summary.flows, &alone.summary.links));
    let f = &seen.summary.flows[0];
    let refused = seen.summary.links[0].drops;
    assert_eq!(Some(counter.enqueued + refused), f.sent_pkts);
    assert_eq!(counter.gone, f.dropped_pkts);
    assert_eq!((Some(counter.last.sent_pkts), counter.last.retransmitted_pkts), (f.sent_pkts, f.retransmits));
    assert_eq!(counter.completed, [(ConnectionId::default(), 5_000_000)]);
    assert!(counter.acks > 1_000 && counter.gone > 0, "{} ACKs, {} gone", counter.acks, counter.gone);
}
