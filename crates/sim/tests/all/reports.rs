//! What people report of real networks and of Linux, in small. The values are theirs, or those of the same
//! scenario with real flows; the simulator has to come near them.

use std::path::Path;
use std::time::Duration;

use crate::support::{flow, link, ms, run, scenario};
use fairpace_scenario::{Flow, Line, Link, Policer, Trace, Traffic, Writes};

/// A recorded LTE downlink and a buffer without end: 2.7 s of queue with CUBIC, 0.14 s with BBRv1. The trace
/// of this repository varies as such a link does.
#[test]
fn on_a_cellular_link_cubic_waits_for_seconds_and_bbr1_does_not() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/traces/cellular.trace");
    let text = std::fs::read_to_string(path).expect("the trace of scenarios/cellular-trace.toml");
    let trace = Trace::read("cellular.trace", &text).expect("it is a trace");
    let queue_ms = |cc| {
        let trace = Some(trace.clone());
        let link =
            Link { rate_bps: trace.as_ref().map_or(0, Trace::mean_bps), trace, ..link(1, 1_000_000_000) };
        let r = run(&scenario(vec![link], vec![flow(cc, 40, 0)], 5, 28));
        r.summary.links[0].queue_delay_mean_ms.expect("packets")
    };
    let (cubic, bbr1) = (queue_ms("cubic"), queue_ms("bbr1"));
    assert!(cubic > 2_000.0 && bbr1 < 200.0, "cubic {cubic} ms, bbr1 {bbr1} ms");
}

/// A flow over two bottlenecks gets a sixth of each with BBRv1, which is less than max-min fair: of 10 Mbit/s
/// 1.7, and those over one of them 7.6.
#[test]
fn bbr1_over_two_bottlenecks_gets_a_sixth() {
    let hop = |name: &str| Link {
        name: name.to_owned(),
        line: Line { delay: ms(10), ..Line::default() },
        ..link(10, 1_000_000)
    };
    let over = |links: &[&str]| {
        let route = links.iter().map(|name| (*name).to_owned()).collect();
        Flow { route: Some(route), ..flow("bbr1", 60, 0) }
    };
    let flows = vec![over(&["a", "b"]), over(&["a"]), over(&["b"])];
    let r = run(&scenario(vec![hop("a"), hop("b")], flows, 60, 120));
    for (flow, mbps) in r.summary.flows.iter().zip([1.7, 7.6, 7.6]) {
        assert!((flow.goodput_mbps - mbps).abs() < 0.3, "{} instead of {mbps} Mbit/s", flow.goodput_mbps);
    }
}

/// A stream of 1 Mbit/s from the start: the bandwidth that BBRv1 samples is that of the stream, but its cwnd
/// does not shrink below what it has delivered at once. The report has 20 to 22 packets, for a BDP of 4, as a
/// receiver without the ACK of a PSH gives. With it the testbed's Linux 6.18 has 30 to 32 in three runs.
#[test]
fn bbr1_keeps_twenty_packets_of_cwnd_under_a_trickle() {
    for (psh_ack, most) in [(false, 22.0), (true, 32.0)] {
        let writes = Writes::Paced { rate_bps: 1_000_000, every: ms(20) };
        let mut flow = Flow { traffic: Traffic { size_bytes: None, writes }, ..flow("bbr1", 50, 0) };
        flow.receiving.psh_ack = psh_ack;
        let mut s = scenario(vec![link(100, 1_000_000)], vec![flow], 10, 120);
        s.interval = ms(1000);
        let r = run(&s);
        let cwnd = r.series.flows[0].cwnd_pkts.last().expect("points");
        assert!((20.0..=most).contains(cwnd), "{cwnd} packets, psh_ack = {psh_ack}");
    }
}

/// 500 Mbit/s through a policer whose bucket holds 100 kB: CUBIC gets 296 Mbit/s around 5 ms; single runs at
/// nearly that RTT give 256 to 326. At 120 ms it gets some 20, since its window cannot exceed the bucket for
/// long; single runs at nearly that RTT give 16 to 26, and Linux's own on the testbed 8 to 11.
#[test]
fn a_policer_with_a_small_bucket_leaves_little_of_the_rate_on_a_long_path() {
    let goodput_mbps = |rtt_us: &u64| {
        let policer = Some(Policer { rate_bps: 500_000_000, burst_bytes: 100_000 });
        let link = Link { policer, ..link(1_000, 5_000_000) };
        let cubic = Flow { rtt: Duration::from_micros(*rtt_us), ..flow("cubic", 5, 0) };
        run(&scenario(vec![link], vec![cubic], 10, 40)).summary.flows[0].goodput_mbps
    };
    let mean = |rtts_us: &[u64]| rtts_us.iter().map(goodput_mbps).sum::<f64>() / rtts_us.len() as f64;
    let (short, long) = (mean(&[4_900, 4_950, 5_000, 5_050, 5_100]), mean(&[118_000, 120_000, 122_000]));
    assert!((short - 296.0).abs() < 9.0, "at 5 ms: {short} Mbit/s");
    assert!((15.0..28.0).contains(&long), "around 120 ms: {long} Mbit/s");
}
