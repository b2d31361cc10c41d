//! `drop`: a packet vanishes before the first link by its kind and number, and no other does.

use fairpace_results::observer::{self, ConnectionId, Content, LinkEvent, Observer, Packet};
use fairpace_results::{DropSummary, Run, Silent};
use fairpace_scenario::{Drops, Flow, Line, Link, Media, Scenario, Target, Traffic, Writes, parse};

use crate::support::{flow, link, ms, run, scenario};

/// What comes to the first link, and what comes back to the sender.
#[derive(Debug, Default)]
struct Seen {
    /// Time in ms, number of the segment; `None`: a SYN.
    forward: Vec<(u64, Option<u64>)>,
    /// The same, the next segment that the ACK expects; `None`: a SYN-ACK.
    back: Vec<(u64, Option<u64>)>,
}

impl Observer for Seen {
    fn packet(&mut self, at: u64, _link: u32, what: LinkEvent, packet: &Packet) {
        if what == LinkEvent::Enqueued {
            match packet.content {
                Content::Syn => self.forward.push((at / 1_000_000, None)),
                Content::Data { seq, .. } => self.forward.push((at / 1_000_000, Some(seq))),
                Content::HandshakeAck | Content::Ack(_) | Content::Datagram { .. } => {}
            }
        }
    }

    fn ack(&mut self, at: u64, _connection: ConnectionId, ack: &observer::Ack) {
        self.back.push((at / 1_000_000, (!ack.syn).then_some(ack.next)));
    }
}

/// One flow of 60 segments over a link that drops none.
fn short(drop: &[&str]) -> Scenario {
    let traffic = Traffic { size_bytes: Some(60 * 1448), ..Traffic::default() };
    let flow = Flow { traffic, drop: Drops::parse(drop).unwrap(), ..flow("cubic", 40, 0) };
    scenario(vec![link(10, 1_000_000)], vec![flow], 0, 20)
}

fn observed(scenario: &Scenario) -> (Seen, Run) {
    let mut seen = Seen::default();
    let run = fairpace_sim::run_with(scenario, &mut Silent, &mut seen).unwrap();
    (seen, run)
}

fn summary(run: &Run) -> DropSummary {
    run.summary.flows[0].drop.clone().expect("the flow has `drop`")
}

fn dropped(entries: &[&str]) -> DropSummary {
    let dropped = entries.iter().map(|entry| (*entry).to_owned()).collect();
    DropSummary { dropped, never_sent: Vec::new() }
}

/// Everything of a run but its cost and what it says of `drop`.
fn outcome(mut run: Run) -> String {
    run.summary.flows.iter_mut().for_each(|flow| flow.drop = None);
    format!("{}{:?}", run.summary.stable_json(), run.series)
}

/// The numbers of the packets that came to the link up to the first that `seen` lacks.
fn missing(all: &[(u64, Option<u64>)], seen: &[(u64, Option<u64>)]) -> Option<(usize, u64)> {
    let at = all.iter().zip(seen).position(|(one, other)| one.1 != other.1)?;
    Some((at, all[at].1?))
}

#[test]
fn a_new_segment_is_dropped_once_or_with_its_first_retransmission() {
    let (all, _) = observed(&short(&[]));
    for (entries, times) in [(["data 9-10"], 1), (["data 9-10 twice"], 2)] {
        let (seen, run) = observed(&short(&entries));
        // the SYN comes first, so segment 8, which is the ninth, is the tenth packet
        assert_eq!(missing(&all.forward, &seen.forward), Some((9, 8)), "{entries:?}");
        let came = |segment| seen.forward.iter().filter(|(_, seq)| *seq == Some(segment)).count();
        assert_eq!((7..11).map(came).collect::<Vec<_>>(), [1, 1, 1, 1], "{entries:?}: each came in the end");
        let flow = &run.summary.flows[0];
        assert_eq!((flow.retransmits, flow.dropped_pkts), (2 * times, 2 * times), "{entries:?}");
        assert_eq!(run.summary.links[0].drops, 0, "no link saw it");
        assert_eq!(summary(&run), dropped(&entries));
        assert!(run.notes.is_empty() && flow.completion_s.is_some(), "{:?}", run.notes);
    }
}

#[test]
fn a_tail_loss_probe_that_is_a_retransmission_is_the_first() {
    let sent = |drop: &[&str]| {
        let (seen, run) = observed(&short(drop));
        let last = seen.forward.iter().filter(|(_, seq)| *seq == Some(59)).map(|(at, _)| *at);
        (last.collect::<Vec<_>>(), run.summary.flows[0].retransmits)
    };
    let (usual, retransmits) = sent(&[]);
    assert_eq!((usual.len(), retransmits), (1, 0));
    // one packet is left, so the probe waits two RTTs and 200 ms (Linux: tcp_schedule_loss_probe), and the
    // timeout after it 200 ms at least
    let (probe, retransmits) = sent(&["data 60"]);
    assert!(probe.len() == 1 && retransmits == 1 && probe[0] < usual[0] + 400, "{probe:?}, not {usual:?}");
    let (timeout, retransmits) = sent(&["data 60 twice"]);
    assert!(timeout.len() == 1 && retransmits == 2 && timeout[0] > probe[0] + 200, "{timeout:?}, {probe:?}");
}

#[test]
fn the_nth_ack_is_dropped() {
    let (all, _) = observed(&short(&[]));
    let (seen, run) = observed(&short(&["ack 3"]));
    // the SYN-ACK is not counted
    let expected = [&all.back[..3], &all.back[4..6]].concat();
    assert_eq!((all.back[0].1, &seen.back[..5]), (None, &expected[..]));
    assert_eq!(summary(&run), dropped(&["ack 3"]));
    assert_eq!(run.summary.flows[0].dropped_pkts, 0, "these are data packets");
}

#[test]
fn syns_and_syn_acks_are_dropped_by_their_number() {
    let first = |entries: &[&str]| {
        let (seen, run) = observed(&short(entries));
        assert_eq!(summary(&run), dropped(entries));
        (seen.forward[0], seen.back[0], run.summary.flows[0].dropped_pkts)
    };
    // RFC 6298, section 2: the first RTO is 1 s. A SYN counts as dropped as on a link, a SYN-ACK does not.
    assert_eq!(first(&["syn 1"]), ((1_000, None), (1_040, None), 1));
    assert_eq!(first(&["synack 1"]), ((0, None), (1_040, None), 0));
    // the receiver repeats the SYN-ACK after 1 and 3 s, whatever becomes of the SYNs of 1, 2 and 3 s
    let (seen, _) = observed(&short(&["syn 2-4", "synack 1-2"]));
    assert_eq!((seen.forward[0], seen.back[0]), ((0, None), (3_040, None)));
    assert!(seen.forward[1].1.is_some(), "data follows the first SYN: {:?}", &seen.forward[..3]);
}

#[test]
fn what_is_never_sent_is_named_and_changes_nothing() {
    let never = ["syn 2", "data 61-70 twice", "synack 9", "ack 1000"];
    let flows = |drop: &[&str]| {
        let drops = Drops::parse(drop).unwrap();
        let mut s = short(&[]);
        // three flows, which without `drop` run in epochs
        s.flows.extend([flow("bbr1", 20, 100), flow("reno", 30, 200)]);
        s.flows[0].drop = drops;
        s
    };
    let (with, without) = (run(&flows(&never)), run(&flows(&[])));
    let expected = never.map(str::to_owned).to_vec();
    assert_eq!(summary(&with), DropSummary { dropped: Vec::new(), never_sent: expected });
    let note = "flow \"cubic 40 ms from 0 ms\": `drop` names packets that were never sent: syn 2, data 61-70 \
                twice, synack 9, ack 1000";
    assert_eq!((with.notes.as_slice(), without.notes.len()), ([note.to_owned()].as_slice(), 0));
    assert!(with.summary.stable_json().contains("\"never_sent\""));
    assert!(!without.summary.stable_json().contains("never_sent"));
    assert_eq!(outcome(with), outcome(without));
    // dropped, and not retransmitted before the run ends
    let mut cut = short(&["data 59 twice"]);
    (cut.duration, cut.window.1) = (ms(160), ms(160));
    let never_sent = vec!["data 59 twice".to_owned()];
    assert_eq!(summary(&run(&cut)), DropSummary { never_sent, ..dropped(&["data 59"]) });
}

/// Behind an access line, over two links, with ACKs over a third.
fn far() -> Scenario {
    let mut s = short(&["syn 1", "data 3", "data 9-10 twice", "synack 1", "ack 2-4"]);
    s.links.push(Link {
        line: Line { delay: ms(3), jitter: ms(1), ..Line::default() },
        ..Link::new("b", 5_000_000, 90_000)
    });
    s.links.push(Link::new("back", 1_000_000, 20_000));
    let other = Flow { reverse: vec!["back".to_owned()], ..flow("bbr3", 30, 0) };
    s.flows.push(Flow { drop: Drops::parse(&["data 1", "ack 1-2"]).unwrap(), ..other });
    (s.flows[0].access_delay, s.flows[0].reverse) = (ms(2), vec!["back".to_owned()]);
    // after two SYNs it begins with one packet and an RTO of seconds
    (s.duration, s.window.1) = (ms(60_000), ms(60_000));
    s
}

#[test]
fn with_an_event_for_each_hop_the_result_is_the_same() {
    for s in [short(&["syn 1", "data 9-10", "data 40 twice", "ack 3"]), far()] {
        let per_hop = fairpace_sim::run_per_hop(&s, &mut Silent).unwrap();
        let drops = |run: &Run| run.summary.flows.iter().map(|flow| flow.drop.clone()).collect::<Vec<_>>();
        let fast = run(&s);
        assert_eq!((drops(&fast), fast.notes.clone()), (drops(&per_hop), per_hop.notes.clone()));
        assert_eq!(outcome(fast), outcome(per_hop));
    }
    let all = ["syn 1", "data 3", "data 9-10 twice", "synack 1", "ack 2-4"];
    assert_eq!(summary(&run(&far())), dropped(&all));
}

#[test]
fn each_flow_of_a_group_loses_its_own_packets() {
    let text = "title = 't'\nduration = '3s'\n[window]\nfrom = '0s'\n[[link]]\nrate = '10mbit'\n\
                buffer = '1MB'\n[[flow]]\ncc = 'reno'\nrtt = '20ms'\ncount = 3\n\
                size = '50kB'\ndrop = ['data 5', 'ack 1']\n";
    let group = run(&parse("group.toml", text, &[], Target::Simulator).unwrap());
    for flow in &group.summary.flows {
        assert_eq!((flow.drop.clone(), flow.retransmits), (Some(dropped(&["data 5", "ack 1"])), 1));
    }
}

#[test]
fn datagrams_are_data_without_retransmissions() {
    let media = Media { rate_bps: 400_000, ..Media::default() };
    let traffic = Traffic { writes: Writes::Frames(media), ..Traffic::default() };
    let drop = Drops::parse(&["data 2-3", "data 9 twice"]).unwrap();
    let call =
        Flow { traffic, drop, ..Flow::new("call", "none".parse::<fairpace_scenario::Cc>().unwrap(), ms(40)) };
    let run = run(&scenario(vec![link(10, 100_000)], vec![call], 0, 2));
    let never_sent = vec!["data 9 twice".to_owned()];
    assert_eq!(summary(&run), DropSummary { never_sent, ..dropped(&["data 2-3", "data 9"]) });
    assert_eq!(run.summary.flows[0].dropped_pkts, 3);
}
