//! Flows of a few packets, whose time is that of timers and of the first round trips.

use crate::support::{flow, link, run, scenario};
use fairpace_scenario::{Flow, Traffic};

/// Length of a full packet on the link, bytes.
const PACKET_BYTES: u64 = 1514;

/// `pkts` packets over an empty path.
fn short(cc: &str, rtt_ms: u64, pkts: u64) -> Flow {
    Flow { traffic: Traffic { size_bytes: Some(pkts * 1448), ..Traffic::default() }, ..flow(cc, rtt_ms, 0) }
}

/// Ten packets meet a queue that is too short for them, so a tail loss probe repairs what is lost. Completion
/// of the kernel's own `cubic` in six runs on the testbed each (Linux 6.18, HZ 250), seconds.
#[test]
fn a_tail_that_a_short_queue_drops_is_repaired_in_the_time_of_linux() {
    for (buffer_pkts, least_s, most_s) in
        [(4, 0.7707, 0.8175), (5, 0.6742, 0.7549), (7, 0.5782, 0.6008), (8, 0.5731, 0.6028)]
    {
        let took_s = |tlp| {
            let mut flow = short("cubic", 100, 10);
            flow.sending.tlp = tlp;
            let link = link(10, buffer_pkts * PACKET_BYTES);
            let r = run(&scenario(vec![link], vec![flow], 0, 2));
            r.summary.flows[0].completion_s.expect("it ends")
        };
        let seen_s = took_s(true);
        let allowed_s = 0.95 * least_s..=1.05 * most_s;
        assert!(
            allowed_s.contains(&seen_s),
            "{buffer_pkts} packets: {seen_s} s, Linux {least_s} to {most_s}"
        );
        let without_s = took_s(false);
        assert!(seen_s <= without_s, "{buffer_pkts} packets: {seen_s} s, without probes {without_s}");
    }
}
