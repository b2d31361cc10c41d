//! L4S: Prague on DualPI2, and where it does not belong, against what RFC 9332 and the theory of additive
//! increase and multiplicative decrease say.

use fairpace_results::Run;
use fairpace_scenario::{Codel, DualPi2, Ecn, Flow, FqCodel, Limit, Link, Queue, Sending};

use crate::support::{EFFICIENCY, bdp_bytes, flow, link, run, scenario, with};

/// Rate of the bottleneck, Mbit/s.
const RATE_MBPS: u64 = 100;
/// RTT of most flows, ms.
const RTT_MS: u64 = 20;
/// Begin of the measurement, s: after the 500 round trips from which the virtual RTT holds.
const FROM_S: u64 = 20;
/// Its end, s.
const TO_S: u64 = 60;

fn behind(queue: Queue, flows: Vec<Flow>) -> Run {
    let link = Link { queue, ..link(RATE_MBPS, bdp_bytes(RATE_MBPS, 400)) };
    run(&scenario(vec![link], flows, FROM_S, TO_S))
}

fn dualpi2(flows: Vec<Flow>) -> Run {
    behind(Queue::DualPi2(DualPi2::default()), flows)
}

fn using(ecn: Ecn, flow: Flow) -> Flow {
    Flow { sending: Sending { ecn, ..flow.sending }, ..flow }
}

fn prague(rtt_ms: u64, start_ms: u64) -> Flow {
    using(Ecn::L4s, flow("prague", rtt_ms, start_ms))
}

fn goodput_mbps(run: &Run, flow: usize) -> f64 {
    run.summary.flows[flow].goodput_mbps
}

/// The goodput of all flows, of what the link can carry.
fn used(run: &Run) -> f64 {
    run.summary.flows.iter().map(|f| f.goodput_mbps).sum::<f64>() / (RATE_MBPS as f64 * EFFICIENCY)
}

/// Mean RTT of a flow above its base RTT and the transmission of a packet, ms.
fn delay_ms(run: &Run, flow: usize, rtt_ms: u64) -> f64 {
    let transmission_ms = 1514.0 * 8.0 / (RATE_MBPS as f64 * 1e3);
    run.summary.flows[flow].rtt_mean_ms.unwrap() - rtt_ms as f64 - transmission_ms
}

#[test]
fn two_prague_flows_share_a_full_link_with_less_than_a_millisecond_of_queue() {
    let r = dualpi2(vec![prague(RTT_MS, 0), prague(RTT_MS, 1000)]);
    let queue = &r.summary.links[0];
    assert!(used(&r) > 0.99 && r.summary.jain.unwrap() > 0.99, "{} {:?}", used(&r), r.summary.jain);
    // the ramp of RFC 9332 ends at 1.2 ms
    assert!(queue.queue_delay_mean_ms.unwrap() < 0.8 && queue.queue_delay_p99_ms.unwrap() < 1.2, "{queue:?}");
    assert_eq!(queue.drops, 0);
    for f in &r.summary.flows {
        // W p = 2 M, two marks per virtual RTT of 25 ms, if each has a reduction; twice as many if each waits
        // for the first mark of the next
        let per_virtual_rtt = f.marked_pkts as f64 / (TO_S - FROM_S) as f64 * 0.025;
        assert!((2.0..4.0).contains(&per_virtual_rtt), "{per_virtual_rtt}");
    }
}

#[test]
fn the_coupling_gives_prague_and_classic_flows_about_the_same_rate() {
    // RFC 9332, section 2.1 and appendix C.2: within a factor of 2 at the same base RTT, though Classic flows
    // wait for the target of 15 ms and Prague does not
    let classic = |cc: &str| using(Ecn::Off, flow(cc, RTT_MS, 500));
    for (n, other) in [
        (1, classic("cubic")),
        (1, classic("reno")),
        (1, using(Ecn::Classic, flow("cubic", RTT_MS, 500))),
        (2, classic("cubic")),
        (4, classic("cubic")),
    ] {
        let flows = [vec![prague(RTT_MS, 0); n], vec![other.clone(); n]].concat();
        let r = dualpi2(flows);
        let rate = |flows: std::ops::Range<usize>| flows.map(|flow| goodput_mbps(&r, flow)).sum::<f64>();
        let ratio = rate(0..n) / rate(n..2 * n);
        assert!((0.5..2.0).contains(&ratio), "{n} beside {}: {ratio}", other.name);
        assert!(used(&r) > 0.99, "{n} beside {}: {}", other.name, used(&r));
        let (l, c) = (delay_ms(&r, 0, RTT_MS), delay_ms(&r, n, RTT_MS));
        assert!(l < 1.0 && (8.0..17.0).contains(&c), "{n} beside {}: {l} ms and {c} ms", other.name);
    }
}

/// On a slow link a packet of L waits for the packet of C that is being sent, 1.2 ms at 10 Mbit/s, and for
/// another of L. The ramp then marks more than the coupling, and Classic flows get more.
#[test]
fn on_a_slow_link_the_ramp_marks_more_than_the_coupling() {
    let slow = |flows| {
        let queue = Queue::DualPi2(DualPi2::default());
        run(&scenario(vec![Link { queue, ..link(10, bdp_bytes(10, 400)) }], flows, FROM_S, TO_S))
    };
    let r = slow(vec![prague(RTT_MS, 0), prague(RTT_MS, 0), flow("cubic", RTT_MS, 500)]);
    let ratio = (goodput_mbps(&r, 0) + goodput_mbps(&r, 1)) / 2.0 / goodput_mbps(&r, 2);
    assert!((0.25..0.6).contains(&ratio), "{ratio}");
    // without C they have all of it
    let r = slow(vec![prague(RTT_MS, 0), prague(RTT_MS, 0)]);
    let used = r.summary.flows.iter().map(|f| f.goodput_mbps).sum::<f64>() / (10.0 * EFFICIENCY);
    assert!(used > 0.93, "{used}");
}

#[test]
fn the_virtual_rtt_keeps_a_short_path_from_taking_the_link() {
    let ratio = |rtt_virt: &str| {
        let of = |rtt_ms| with(prague(rtt_ms, 0), "rtt_virt", rtt_virt);
        let r = dualpi2(vec![of(5), of(20)]);
        goodput_mbps(&r, 0) / goodput_mbps(&r, 1)
    };
    // without it, W is the same and the rate goes by the RTT: 4 times
    let (virtual_rtt, real_rtt) = (ratio("25ms"), ratio("0ms"));
    assert!((0.67..1.5).contains(&virtual_rtt) && real_rtt > 2.5, "{virtual_rtt} {real_rtt}");
}

#[test]
fn on_a_fifo_prague_is_about_as_aggressive_as_reno() {
    // no mark, so no virtual RTT; pacing spares it some losses
    let buffer = |flows| {
        let link = link(RATE_MBPS, bdp_bytes(RATE_MBPS, 50));
        run(&scenario(vec![link], flows, FROM_S, 120))
    };
    let alone = buffer(vec![prague(50, 0)]);
    assert!(used(&alone) > 0.99, "{}", used(&alone));
    for ecn in [Ecn::L4s, Ecn::Off] {
        let r = buffer(vec![using(ecn, flow("prague", 50, 0)), flow("reno", 50, 500)]);
        let ratio = goodput_mbps(&r, 0) / goodput_mbps(&r, 1);
        assert!((0.6..1.7).contains(&ratio), "{ecn:?}: {ratio}");
    }
}

/// The known problem of L4S (RFC 9331, section 4.3; the draft, section 3.3): a queue that marks ECT(1) like
/// ECT(0), seldom, is taken for one of L4S. Prague answers each mark by alpha / 2, which is small, and a
/// Classic flow halves.
#[test]
fn on_a_classic_ecn_queue_prague_takes_the_link_from_reno() {
    let codel = Codel { ecn: true, ..Codel::default() };
    let reno = using(Ecn::Classic, flow("reno", RTT_MS, 500));
    let r = behind(Queue::Codel(codel), vec![prague(RTT_MS, 0), reno.clone()]);
    assert!(goodput_mbps(&r, 0) > 5.0 * goodput_mbps(&r, 1), "{:?}", r.summary.flows);
    // a queue per flow protects the other (RFC 9331, appendix A.1.5)
    let fair = Queue::FqCodel(FqCodel { codel, ..FqCodel::default() });
    let r = behind(fair, vec![prague(RTT_MS, 0), reno]);
    assert!(r.summary.jain.unwrap() > 0.98, "{:?}", r.summary.jain);
}

#[test]
fn fq_codel_with_a_threshold_for_ect_1_is_an_l4s_queue_for_prague_only() {
    // RFC 8290 with Linux's ce_threshold_selector: marks above 1 ms for ECT(1), CoDel's 5 ms for the other
    let codel =
        Codel { ecn: true, ce_threshold_ns: Some(1_000_000), ce_threshold_l4s: true, ..Codel::default() };
    let queue = Queue::FqCodel(FqCodel { codel, ..FqCodel::default() });
    let r = behind(queue, vec![prague(RTT_MS, 0), using(Ecn::Classic, flow("reno", RTT_MS, 0))]);
    let (l, c) = (delay_ms(&r, 0, RTT_MS), delay_ms(&r, 1, RTT_MS));
    assert!(l < 1.2 && c > 2.0, "{l} ms and {c} ms");
    // Reno, which halves at 5 ms of queue, leaves some of its half unused
    assert!(r.summary.jain.unwrap() > 0.98 && used(&r) > 0.95, "{:?} {}", r.summary.jain, used(&r));
}

#[test]
fn a_step_marks_ect_1_and_holds_the_queue_below_it() {
    // a millisecond of the link's rate, and the bursts of two flows on top
    let r = behind(Queue::Step(Limit::Bytes(12_500)), vec![prague(RTT_MS, 0), prague(RTT_MS, 0)]);
    let queue = &r.summary.links[0];
    assert!(queue.queue_delay_mean_ms.unwrap() < 1.0 && queue.queue_delay_p99_ms.unwrap() < 2.0, "{queue:?}");
    assert!(used(&r) > 0.95 && queue.marks > 0 && queue.drops == 0, "{} {queue:?}", used(&r));
}

#[test]
fn the_codepoint_decides_not_the_algorithm() {
    // Prague that sends ECT(0) waits with Classic traffic for the target of 15 ms
    let r = dualpi2(vec![using(Ecn::Accurate, flow("prague", RTT_MS, 0))]);
    let delay = delay_ms(&r, 0, RTT_MS);
    assert!((10.0..17.0).contains(&delay), "{delay}");
}

#[test]
fn with_rare_acks_prague_needs_the_option() {
    // An ACK for 16 packets. Without the option, an ACE field that has not changed may have wrapped twice:
    // the safest case is that all 16 were marked (RFC 9768, appendix A.2.1), and Prague ends at its least
    // cwnd.
    let r = |accecn_option| {
        let mut flow = prague(RTT_MS, 0);
        flow.sending.accecn_option = accecn_option;
        flow.receiving.ack_every = 16;
        used(&dualpi2(vec![flow.clone(), flow]))
    };
    let (exact, ambiguous) = (r(true), r(false));
    assert!(exact > 0.93 && ambiguous < 0.1, "{exact} {ambiguous}");
}
