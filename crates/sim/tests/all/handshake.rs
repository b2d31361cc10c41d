//! Connections that are not answered: when SYNs and SYN-ACKs are sent, and what the result says.

use crate::support::{flow, link, run, scenario};
use fairpace_results::Silent;
use fairpace_results::observer::{Content, LinkEvent, Observer, Packet};
use fairpace_scenario::{
    Arrivals, Flow, Link, Loss, Receiving, Scenario, Sending, Sizes, Traffic, WHOLE_PPB,
};

/// Milliseconds at which SYNs and SYN-ACKs come to a link.
#[derive(Default)]
struct Handshakes {
    syns: Vec<u64>,
    syn_acks: Vec<u64>,
}

impl Observer for Handshakes {
    fn packet(&mut self, at: u64, _: u32, event: LinkEvent, packet: &Packet) {
        match packet.content {
            _ if event != LinkEvent::Enqueued => {}
            Content::Syn => self.syns.push(at / 1_000_000),
            Content::Ack(ack) if ack.syn => self.syn_acks.push(at / 1_000_000),
            _ => {}
        }
    }
}

/// A link that loses everything.
fn black_hole() -> Link {
    Link { loss: Loss { ppb: WHOLE_PPB, burst: None }, ..link(10, 1_000_000) }
}

/// The handshakes of a scenario. Without fast path and epochs it gives the same.
fn handshakes(s: &Scenario) -> Handshakes {
    let mut seen = Handshakes::default();
    let observed = fairpace_sim::run_with(s, &mut Silent, &mut seen).expect("the scenario is valid");
    let per_hop = fairpace_sim::run_per_hop(s, &mut Silent).expect("the scenario is valid");
    for other in [&run(s), &per_hop] {
        assert_eq!(other.summary.stable_json(), observed.summary.stable_json());
    }
    seen
}

#[test]
fn a_connection_without_an_answer_fails_after_131_s() {
    for (duration_s, failed) in [(130, 0), (132, 1)] {
        let s = scenario(vec![black_hole()], vec![flow("cubic", 50, 0)], 0, duration_s);
        let syns = [0, 1, 2, 3, 4, 5, 7, 11, 19, 35, 67].map(|s| s * 1000);
        assert_eq!(handshakes(&s).syns, syns);
        let r = run(&s);
        let flow = &r.summary.flows[0];
        assert_eq!((flow.failed, flow.sent_pkts, flow.goodput_mbps), (failed, Some(0), 0.0));
    }
}

/// SYN-ACKs are lost behind the link. Repeated SYNs answer for its timer, until they are more than a doubled
/// second apart.
#[test]
fn syn_acks_are_repeated_by_their_timer_and_by_syns() {
    let back = Link { name: "back".to_owned(), ..black_hole() };
    let route = Some(vec!["bottleneck".to_owned()]);
    let sending = Sending { syn_retries: 5, syn_linear_timeouts: 0, ..Sending::default() };
    let receiving = Receiving { syn_ack_retries: 2, ..Receiving::default() };
    let f = Flow { route, reverse: vec!["back".to_owned()], sending, receiving, ..flow("cubic", 50, 500) };
    let s = scenario(vec![link(10, 1_000_000), back], vec![f], 0, 70);
    let seen = handshakes(&s);
    assert_eq!(seen.syns, [500, 1_500, 3_500, 7_500, 15_500, 31_500]);
    // SYNs arrive after 25 ms. The timer expires 1 s after each answer, then 2 s, and after 4 s the receiver
    // gives up: at 11.5 s, so that the SYN of 15.5 s begins anew
    let expected = [525, 1_525, 2_525, 3_525, 5_525, 7_525, 15_525, 16_525, 18_525, 31_525, 32_525, 34_525];
    assert_eq!(seen.syn_acks, expected);
    assert_eq!(run(&s).summary.flows[0].failed, 1);
}

#[test]
fn failures_of_a_workload_are_counted() {
    let sizes = Sizes::read("test", "3000 0.5\n60000 1\n").expect("it is a distribution");
    let sending = Sending { syn_retries: 1, ..Sending::default() };
    let arrivals = Some(Arrivals { per_s_milli: 50_000, sizes });
    let loss = Loss { ppb: WHOLE_PPB / 2, burst: None };
    let f = Flow { arrivals, sending, ..flow("cubic", 50, 0) };
    let s = scenario(vec![Link { loss, ..link(10, 1_000_000) }], vec![f], 0, 30);
    handshakes(&s);
    let r = run(&s);
    let flow = &r.summary.flows[0];
    let began = flow.completions.as_ref().expect("it has transfers").began;
    // all three SYNs are lost in an eighth of the cases, and only of the last 3 s it is not known yet
    let share = flow.failed as f64 / began as f64;
    assert!((0.09..0.14).contains(&share), "{} of {began}", flow.failed);
}

/// With a size: no completion, no number that is not one.
#[test]
fn a_transfer_that_fails_has_no_completion() {
    let traffic = Traffic { size_bytes: Some(10_000), ..Traffic::default() };
    let sending = Sending { syn_retries: 1, ..Sending::default() };
    let s = scenario(vec![black_hole()], vec![Flow { traffic, sending, ..flow("bbr1", 20, 0) }], 0, 10);
    let r = run(&s);
    let flow = &r.summary.flows[0];
    let transfers = flow.completions.as_ref().expect("it has transfers");
    assert_eq!((flow.failed, flow.completion_s, transfers.began, transfers.completed), (1, None, 1, 0));
}
