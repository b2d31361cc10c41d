//! What flows write, what their paths do to them, and marks: each as it was asked for.

use crate::scenarios::{flow, marks, scenario};
use crate::{measure, measured};
use fairpace_results::Run;
use fairpace_scenario::{Codel, Ecn, Flow, FqCodel, Limit, Link, Queue, Window, Writes};
use fairpace_testbed::{Error, Outcome};
use std::time::Duration;

/// TCP payload of a full packet over its length on the link.
const GOODPUT_PER_RATE: f64 = 1448.0 / 1514.0;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Mean goodput of the first flow between two times, Mbit/s.
fn goodput(run: &Run, from_s: f64, to_s: f64) -> f64 {
    let points = run.series.t_s.iter().zip(&run.series.flows[0].goodput_mbps);
    let inside: Vec<f32> =
        points.filter(|(t, _)| **t > from_s && **t <= to_s + 1e-6).map(|(_, v)| *v).collect();
    f64::from(inside.iter().sum::<f32>()) / inside.len() as f64
}

pub(crate) fn a_finite_flow_is_complete_when_its_last_byte_has_arrived() {
    let mut finite = flow("a", "kernel:cubic", 20);
    (finite.start, finite.traffic.size_bytes) = (ms(500), Some(2_000_000));
    let outcome = measured(&scenario(20, 500_000, (0, 3), vec![finite]));
    let flow = &outcome.run.summary.flows[0];
    let took = flow.completion_s.expect("it has time enough");
    // transmission alone takes 0.84 s; the handshake and slow start take a few round trips
    let least = 2e6 * 8.0 / (20e6 * GOODPUT_PER_RATE);
    assert!(took > least && took < least + 0.5, "{took} s, at least {least} s");
    let received = flow.goodput_mbps * 3.0 / 8.0 * 1e6;
    assert!((received - 2e6).abs() < 1.0, "{received} bytes");
}

pub(crate) fn a_flow_that_does_not_get_so_far_is_not_complete() {
    let mut large = flow("a", "kernel:cubic", 20);
    large.traffic.size_bytes = Some(1 << 30);
    let outcome = measured(&scenario(20, 500_000, (0, 1), vec![large]));
    assert_eq!(outcome.run.summary.flows[0].completion_s, None);
}

pub(crate) fn an_application_that_pauses_leaves_the_link_idle_and_comes_back() {
    let mut pausing = flow("a", "kernel:cubic", 20);
    pausing.traffic.writes = Writes::OnOff { on: ms(1000), off: ms(1000) };
    let outcome = measured(&scenario(10, 50_000, (0, 4), vec![pausing]));
    let run = &outcome.run;
    // what is in the socket and in the buffer at the end of a phase takes less than 0.2 s
    for (from, busy) in [(0.5, true), (1.3, false), (2.5, true), (3.3, false)] {
        let mbps = goodput(run, from, from + 0.5);
        let range = if busy { 8.0..10.0 } else { 0.0..0.1 };
        assert!(range.contains(&mbps), "{mbps} Mbit/s from {from} s");
    }
}

pub(crate) fn a_live_stream_has_its_own_rate() {
    let mut stream = flow("a", "kernel:bbr", 20);
    stream.traffic.writes = Writes::Paced { rate_bps: 4_000_000, every: ms(200) };
    let outcome = measured(&scenario(20, 500_000, (1, 5), vec![stream]));
    let mbps = outcome.run.summary.flows[0].goodput_mbps;
    // 20 chunks of 100 kB: one more or less
    assert!((mbps - 4.0).abs() <= 0.21, "{mbps}");
}

/// One flow over a link that marks from 30 packets on, with room for ten times as many.
fn marked(cc: &str, ecn: Ecn) -> Run {
    let mut asking = flow("a", cc, 20);
    asking.sending.ecn = ecn;
    let mut s = scenario(50, 450_000, (1, 4), vec![asking]);
    s.links[0].queue = Queue::Step(Limit::Packets(30));
    measured(&s).run
}

pub(crate) fn a_flow_with_ecn_is_slowed_by_marks_and_another_by_losses() {
    let (with, without) = (marked("kernel:cubic", Ecn::Classic), marked("kernel:cubic", Ecn::Off));
    // 30 packets are 7.3 ms; the flow learns of a mark a round trip later
    let [with, without] = [&with, &without].map(|run| &run.summary.links[0]);
    assert_eq!(with.drops, 0, "{with:?}");
    assert!(with.queue_delay_p99_ms.unwrap() < 30.0 && with.utilization > 0.7, "{with:?}");
    assert!(without.queue_delay_p99_ms.unwrap() > 50.0, "nothing but a full buffer stops it: {without:?}");
}

/// A response of 14 packets takes half a round trip and 8.5 ms on the link, and the next request comes after
/// 10 ms and the other half: 38.5 ms in all, once cwnd is 14.
pub(crate) fn responses_follow_requests_and_wait_for_each_other_at_a_barrier() {
    let asked = |name, bytes, barrier: Option<&str>| {
        let mut flow = flow(name, "kernel:cubic", 20);
        flow.traffic.writes = Writes::Responses { bytes, think: ms(10) };
        flow.barrier = barrier.map(str::to_owned);
        flow
    };
    let outcome = measured(&scenario(20, 200_000, (0, 2), vec![asked("a", 20_000, None)]));
    let flow = &outcome.run.summary.flows[0];
    let done = flow.completions.as_ref().expect("it has transfers");
    assert!((45..=52).contains(&done.completed) && done.began - done.completed <= 1, "{done:?}");
    assert!((done.p50_ms.unwrap() - 18.5).abs() < 1.5, "{done:?}");
    assert!(done.slowdown_p50.unwrap() < 1.1 && flow.completion_s.is_none(), "{done:?}");
    let flows = vec![asked("small", 2_000, Some("b")), asked("large", 60_000, Some("b"))];
    let outcome = measured(&scenario(20, 200_000, (0, 1), flows));
    let began = outcome.run.summary.flows.iter().map(|flow| flow.completions.as_ref().unwrap().began);
    let began: Vec<u64> = began.collect();
    // 42 packets take 25.4 ms on the link, and a round 55.4 ms: 18 in a second, less those of slow start
    assert!(began[0].abs_diff(began[1]) <= 1 && (14..=18).contains(&began[0]), "{began:?}");
}

/// A full packet has 52 bytes less of payload than its MTU and 14 more on the link.
pub(crate) fn flows_of_different_mtus_send_full_packets_of_their_own() {
    let with_mtu = |name, mtu_bytes| {
        let mut flow = flow(name, "kernel:cubic", 10);
        flow.sending.mtu_bytes = mtu_bytes;
        flow
    };
    let s = scenario(50, 200_000, (0, 3), vec![with_mtu("jumbo", 9000)]);
    let outcome = measured(&s);
    let payload_per_packet = |outcome: &Outcome| {
        let summary = &outcome.run.summary;
        let bits: f64 = summary.flows.iter().map(|flow| flow.goodput_mbps * 1e6 * 3.0).sum();
        bits / 8.0 / summary.cost.data_packets as f64
    };
    let jumbo = payload_per_packet(&outcome);
    assert!((8600.0..8949.0).contains(&jumbo), "{jumbo} bytes");
    let s = scenario(50, 200_000, (0, 3), vec![with_mtu("tunnel", 1280), with_mtu("jumbo", 9000)]);
    let outcome = measured(&s);
    let mixed = payload_per_packet(&outcome);
    assert!((1228.0..8000.0).contains(&mixed), "{mixed} bytes");
}

/// 34 full packets are 49,232 bytes, and 69 are 99,912.
pub(crate) fn a_receive_window_holds_a_flow_back_as_in_the_simulator() {
    for (window, pkts) in [(Window::Fixed(50_000), 34.0), (Window::Autotuned(100_000), 69.0)] {
        let mut held = flow("a", "kernel:cubic", 20);
        held.receiving.window = window;
        let outcome = measured(&scenario(100, 500_000, (1, 3), vec![held]));
        // the last packets of a window pass the link one after the other
        let mbps = pkts * 1448.0 * 8.0 / (20.0 + 1514.0 * 8.0 / 100e3) / 1e3;
        let measured = outcome.run.summary.flows[0].goodput_mbps;
        assert!((measured / mbps - 1.0).abs() < 0.04, "{measured} of {mbps} Mbit/s with {window:?}");
    }
}

/// A kernel with accurate ECN is asked in real time.
pub(crate) fn accurate_ecn_is_refused_where_the_kernel_has_none() {
    let refused = measure(&marks("dctcp", Ecn::Accurate)).expect_err("User-mode Linux has none");
    assert!(matches!(refused, Error::NoAccurateEcn), "{refused}");
}

pub(crate) fn a_route_passes_its_own_links_and_acks_wait_in_a_queue_of_their_own() {
    let named = |name: &str, route: &[&str], reverse: &[&str]| Flow {
        route: Some(route.iter().map(|link| (*link).to_owned()).collect()),
        reverse: reverse.iter().map(|link| (*link).to_owned()).collect(),
        ..flow(name, "kernel:cubic", 20)
    };
    let flows = vec![named("long", &["l", "second"], &["up"]), named("short", &["second"], &[])];
    let mut s = scenario(50, 200_000, (1, 4), flows);
    s.links.push(Link::new("second", 20_000_000, 100_000));
    // 52 bytes and 14 of Ethernet, for every second packet of data at most
    s.links.push(Link::new("up", 1_000_000, 20_000));
    s.links[1].line.delay = ms(3);
    let outcome = measured(&s);
    let summary = &outcome.run.summary;
    let [first, second, up] = summary.links.as_slice() else { panic!("three links") };
    assert!(second.utilization > 0.9 && first.utilization < 0.4, "{summary:?}");
    let of_long = summary.flows[0].share.unwrap();
    let carried = first.utilization * 50.0 / (second.utilization * 20.0);
    assert!(
        (of_long - carried).abs() < 0.05,
        "only the long flow passes the first link: {of_long}, {carried}"
    );
    assert!(up.utilization > 0.05, "ACKs use their link: {up:?}");
    let rtt = summary.flows[1].rtt_mean_ms.unwrap();
    let expected = 20.0 + 1514.0 * 8.0 / 20e3 + second.queue_delay_mean_ms.unwrap();
    assert!((rtt - expected).abs() < 2.0, "{rtt} ms, {expected} ms");
}

pub(crate) fn acks_are_held_back_lost_and_come_together_as_asked() {
    let mut cheat = flow("a", "kernel:bbr", 20);
    (cheat.receiving.ack_delay, cheat.ack_loss_ppb) = (ms(30), 200_000_000);
    cheat.ack_aggregation = ms(5);
    cheat.rtt_at = vec![(ms(2000), ms(60))];
    let outcome = measured(&scenario(20, 500_000, (0, 4), vec![cheat]));
    let told = &outcome.run.series.flows[0].min_rtt_ms;
    // the sender sees 30 ms more than the path has, and up to 5 ms until the next aggregate
    assert!((50.0..56.0).contains(&told[15]), "{told:?}");
    let rtt = &outcome.run.series.flows[0].rtt_ms;
    assert!(rtt[15] >= 20.0 && rtt[35] >= 40.0 && rtt[15] < 60.0, "{rtt:?}");
    assert!(goodput(&outcome.run, 1.0, 2.0) > 12.0, "{:?}", outcome.run.series.flows[0].goodput_mbps);
}

pub(crate) fn a_managed_queue_holds_its_target_and_separates_flows() {
    let both = || vec![flow("hog", "kernel:cubic", 20), flow("mouse", "kernel:cubic", 40)];
    let managed = |queue: Queue| {
        let mut s = scenario(20, 500_000, (2, 7), both());
        s.links[0].queue = queue;
        measured(&s).run.summary
    };
    let codel = managed(Queue::Codel(Codel::default()));
    let link = &codel.links[0];
    // 500 kB are 200 ms; CoDel steers for 5 ms
    assert!(
        link.queue_delay_mean_ms.unwrap() < 20.0 && link.utilization > 0.85 && link.drops > 0,
        "{link:?}"
    );
    let fair = managed(Queue::FqCodel(FqCodel::default()));
    assert!(fair.jain.unwrap() > 0.95, "{fair:?}");
}

pub(crate) fn a_line_reorders_and_duplicates_what_passes_it() {
    let mut s = scenario(20, 500_000, (0, 3), vec![flow("a", "kernel:bbr", 20)]);
    s.links[0].line.delay = ms(5);
    (s.links[0].line.jitter, s.links[0].line.reorders) = (ms(2), true);
    s.links[0].line.duplicate_ppb = 200_000_000;
    let outcome = measured(&s);
    let (summary, series) = (&outcome.run.summary, &outcome.run.series);
    let received = summary.flows[0].goodput_mbps * 3.0 / 8.0 * 1e6 / 1448.0;
    let delivered = summary.cost.data_packets as f64;
    // one in five is there twice, and a few are retransmissions that were not needed
    assert!((1.1..1.5).contains(&(delivered / received)), "{delivered} packets, {received} of use");
    assert!(goodput(&outcome.run, 1.0, 3.0) > 10.0, "{:?}", series.flows[0].goodput_mbps);
}
