//! Connections of a workload are connections of their own, to queues and to observers; so are copies of ACKs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::support::{flow, link, ms, scenario, with};
use fairpace_results::Silent;
use fairpace_results::observer::{self, ConnectionId, Content, LinkEvent, Observer, Packet};
use fairpace_scenario::{Arrivals, Flow, FqCodel, Line, Link, Loss, Queue, Receiving, Sizes};

/// `per_s` connections per second, half of them of at most `small` bytes, none of more than `large`.
fn workload(cc: &str, rtt_ms: u64, per_s: f64, small: u64, large: u64) -> Flow {
    let sizes = Sizes { name: "test".into(), cdf: Arc::new([(small, 500_000_000), (large, 1_000_000_000)]) };
    let per_s_milli = (per_s * 1e3) as u64;
    Flow { arrivals: Some(Arrivals { per_s_milli, sizes }), ..flow(cc, rtt_ms, 0) }
}

/// What the first flow, which is one connection, gets of the bottleneck, and what would be its share among
/// all connections that are open: bytes.
#[derive(Default)]
struct Shares {
    open: BTreeSet<ConnectionId>,
    most_open: usize,
    seen: f64,
    fair: f64,
}

impl Observer for Shares {
    fn packet(&mut self, _at: u64, _link: u32, what: LinkEvent, packet: &Packet) {
        if what == LinkEvent::Departed {
            let bytes = f64::from(packet.bytes);
            self.open.insert(packet.connection);
            self.most_open = self.most_open.max(self.open.len());
            self.fair += bytes / self.open.len() as f64;
            self.seen += if packet.connection == ConnectionId::default() { bytes } else { 0.0 };
        }
    }
}

#[test]
fn fair_queueing_gives_each_connection_of_a_workload_the_share_of_a_flow() {
    // connections that come one by one and have too much to send to end
    let queue = Queue::FqCodel(FqCodel::default());
    let web = workload("cubic", 20, 0.25, 1_000_000_000, 2_000_000_000);
    for seed in [1, 2, 3] {
        let links = vec![Link { queue, ..link(20, 500_000) }];
        let mut s = scenario(links, vec![flow("cubic", 20, 0), web.clone()], 0, 40);
        s.seed = seed;
        let mut shares = Shares::default();
        fairpace_sim::run_with(&s, &mut Silent, &mut shares).expect("the scenario is valid");
        assert!(shares.most_open > 5, "seed {seed}: only {} were open", shares.most_open);
        let off = shares.seen / shares.fair;
        assert!((0.97..1.03).contains(&off), "seed {seed}: {off} of its share");
    }
}

/// Packets that are in the queue of each link.
#[derive(Default)]
struct InQueue {
    links: Vec<VecDeque<Packet>>,
    /// When each connection has done something first.
    begun: Vec<u64>,
    late_data: u64,
    late_acks: u64,
    /// Connections that are over, and since when.
    over: BTreeMap<ConnectionId, u64>,
}

impl Observer for InQueue {
    fn packet(&mut self, at: u64, link: u32, what: LinkEvent, packet: &Packet) {
        self.links.resize(self.links.len().max(link as usize + 1), VecDeque::new());
        let queue = &mut self.links[link as usize];
        match what {
            LinkEvent::Enqueued => queue.push_back(*packet),
            LinkEvent::Departed => assert_eq!(Some(*packet), queue.pop_front(), "link {link}, at {at} ns"),
            _ => {}
        }
        let begun = self.begun.get(packet.connection.index as usize).copied();
        assert!(
            begun.is_some_and(|begun| begun <= packet.sent_ns),
            "{packet:?} of one that began at {begun:?}"
        );
        // every receiver has a window
        assert_ne!(packet.content, Content::Ack(observer::Ack::default()), "link {link}, at {at} ns");
        if self.over.contains_key(&packet.connection) {
            let is_ack = matches!(packet.content, Content::Ack(_));
            *(if is_ack { &mut self.late_acks } else { &mut self.late_data }) += 1;
        }
    }

    fn ack(&mut self, at: u64, connection: ConnectionId, ack: &observer::Ack) {
        // every connection sends two packets; what answers a SYN once more says nothing
        if ack.next == 2 && !ack.syn {
            self.over.insert(connection, at);
        }
    }

    fn sender(&mut self, at: u64, connection: ConnectionId, _: impl FnOnce() -> observer::SenderState) {
        // a workload's connections begin in the order of their numbers
        if connection.index as usize == self.begun.len() {
            self.begun.push(at);
        }
        assert!(
            self.over.get(&connection).is_none_or(|over| *over == at),
            "{connection:?} lives on at {at} ns"
        );
    }
}

fn named(name: &str, kbps: u64, line: Line) -> Link {
    Link { line, ..Link::new(name, kbps * 1000, 1_000_000) }
}

#[test]
fn an_observer_gets_a_late_packet_with_its_connection() {
    // copies of the last packets, and the ACKs for them, are under way when their connections are over and
    // others have their places
    let line = Line { duplicate_ppb: 500_000_000, jitter: ms(30), reorders: true, ..Line::default() };
    let links = vec![
        named("a", 100_000, line.clone()),
        named("b", 12_000, Line::default()),
        named("c", 1_000, line),
        named("d", 800, Line::default()),
    ];
    let web = Flow {
        route: Some(vec!["a".into(), "b".into()]),
        reverse: vec!["c".into(), "d".into()],
        ..workload("cubic", 2, 150.0, 2_000, 2_896)
    };
    let s = scenario(links, vec![web], 0, 20);
    let mut seen = InQueue::default();
    fairpace_sim::run_with(&s, &mut Silent, &mut seen).expect("the scenario is valid");
    assert!(seen.late_acks > 100 && seen.late_data > 100, "{} ACKs, {} data", seen.late_acks, seen.late_data);
}

#[test]
fn a_place_is_free_once_however_long_a_receiver_holds_copies() {
    // a copy of the last packet waits for GRO when its connection is over: the place was given away when it
    // ended and when GRO did
    let line = Line { duplicate_ppb: 900_000_000, jitter: ms(4), reorders: true, ..Line::default() };
    let receiving = Receiving { gro: ms(5), ..Receiving::default() };
    let web = Flow { receiving, ..workload("cubic", 2, 100.0, 2_000, 2_896) };
    let s = scenario(vec![named("a", 100_000, line), named("b", 100_000, Line::default())], vec![web], 0, 20);
    let mut seen = InQueue::default();
    let completed = fairpace_sim::run_with(&s, &mut Silent, &mut seen).expect("the scenario is valid");
    let c = completed.summary.flows[0].completions.clone().expect("it is a workload");
    assert!(c.began > 1500 && c.began - c.completed <= 10, "{c:?}");
}

/// ACKs that entered the first link of their way back, and that reached their sender.
#[derive(Default)]
struct Acks {
    sent: f64,
    arrived: f64,
}

impl Observer for Acks {
    fn packet(&mut self, _at: u64, link: u32, what: LinkEvent, packet: &Packet) {
        let is_sent = (link, what) == (1, LinkEvent::Enqueued) && matches!(packet.content, Content::Ack(_));
        self.sent += f64::from(u8::from(is_sent));
    }

    fn ack(&mut self, _at: u64, _connection: ConnectionId, _ack: &observer::Ack) {
        self.arrived += 1.0;
    }
}

#[test]
fn an_ack_arrives_if_one_of_its_copies_does() {
    let twice = Line { duplicate_ppb: 1_000_000_000, ..Line::default() };
    let loss = Loss { ppb: 500_000_000, burst: None };
    let links = vec![
        named("data", 20_000, Line::default()),
        named("twice", 20_000, twice),
        Link { loss, ..named("lossy", 20_000, Line::default()) },
    ];
    let (route, reverse) = (Some(vec!["data".into()]), vec!["twice".into(), "lossy".into()]);
    let f = Flow { route, reverse, ..with(flow("fixed_cwnd", 10, 0), "cwnd_pkts", "50") };
    let mut acks = Acks::default();
    fairpace_sim::run_with(&scenario(links, vec![f], 0, 20), &mut Silent, &mut acks).expect("it is valid");
    // a quarter loses both; of 10,000 and more the standard deviation is 0.4 %
    let share = acks.arrived / acks.sent;
    assert!(acks.sent > 10_000.0 && (share - 0.75).abs() < 0.015, "{share} of {}", acks.sent);
}
