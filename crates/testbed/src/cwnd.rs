//! Detection of a cwnd that no algorithm chose, as on a kernel that skips BPF programs in process 1.
//!
//! Where such a kernel skips `ssthresh` or `undo_cwnd`, it takes the bytes on its stack for a number of
//! packets: often the low half of an address, billions. The flow then sends without control until its
//! algorithm or its next reduction corrects cwnd, so the run is not judged. On every other kernel a cwnd is
//! an algorithm's, and the run is judged whatever it is. The kernel's own algorithms are no programs, and
//! never skipped.

use fairpace_netem::SECOND;
use fairpace_scenario::{Flow, Route, Scenario, ns};
use std::time::Duration;

use crate::emulator::longest_rtt;

/// Factor on the packets that the path and its buffers hold: no algorithm chooses a larger cwnd. A path drops
/// packets that exceed its capacity once, and slow start, the fastest growth there is, ends at the first loss
/// with twice the capacity.
const TIMES: u64 = 20;
/// Largest cwnd that is always accepted, packets, 15 MB with the usual MTU: on a path that holds two packets
/// [`TIMES`] is soon reached.
const LEAST_PKTS: u64 = 10_000;

/// Returns the reason why a run with these largest cwnds of the flows must not be judged; `None`: it may be
/// judged.
pub(crate) fn violation(scenario: &Scenario, largest_pkts: &[u32]) -> Option<String> {
    let flows = scenario.flows.iter().zip(scenario.routes()).zip(largest_pkts);
    flows.into_iter().find_map(|((flow, route), &cwnd_pkts)| {
        let held_pkts = held_pkts(scenario, flow, &route);
        let suspected = u64::from(cwnd_pkts) > held_pkts.saturating_mul(TIMES).max(LEAST_PKTS);
        suspected.then(|| {
            format!(
                "flow `{}` had a cwnd of {cwnd_pkts} packets, and its path with all buffers holds \
                 {held_pkts}: this kernel skips BPF programs in process 1 and then takes any number for \
                 cwnd (`fairpace doctor`); other kernels do not",
                flow.name
            )
        })
    })
}

/// Returns the bandwidth-delay product of a flow's path with all impairments, and the buffers both ways, in
/// packets.
fn held_pkts(scenario: &Scenario, flow: &Flow, route: &Route) -> u64 {
    let links = |of: &[u32]| of.iter().map(|link| &scenario.links[*link as usize]).collect::<Vec<_>>();
    let (forward, back) = (links(&route.forward), links(&route.back));
    let rate_bps = forward.iter().map(|link| link.fastest_bps()).min().unwrap_or(0);
    let late = flow.reorder.map_or(Duration::ZERO, |reorder| reorder.delay);
    let (mut delay, mut buffers_bytes) = (longest_rtt(flow).saturating_add(late), 0u64);
    for link in forward.iter().chain(&back) {
        delay = delay.saturating_add(link.line.jitter_shape.most(link.line.jitter));
        buffers_bytes = buffers_bytes.saturating_add(link.buffer.bytes());
    }
    let bdp_bytes = u128::from(rate_bps) * u128::from(ns(delay)) / u128::from(SECOND) / 8;
    let bytes = u64::try_from(bdp_bytes).unwrap_or(u64::MAX).saturating_add(buffers_bytes);
    bytes.div_ceil(u64::from(flow.sending.mtu_bytes.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpace_scenario::{Cc, Limit, Link};

    /// Returns a scenario of 100 Mbit/s for 120 ms, which are 1,000 packets of 1,500 bytes; the buffers hold
    /// 500 and 100 more.
    fn scenario() -> Scenario {
        let mut slow = Link::new("slow", 100_000_000, 750_000);
        slow.line.jitter = Duration::from_millis(10);
        let wide = Link { buffer: Limit::Packets(100), ..Link::new("wide", 1_000_000_000, 0) };
        let flow = |name: &str, rtt_ms| {
            Flow::new(name, Cc::Kernel("cubic".to_owned()), Duration::from_millis(rtt_ms))
        };
        Scenario {
            title: "t".into(),
            why: String::new(),
            seed: 1,
            duration: Duration::from_secs(3),
            window: (Duration::ZERO, Duration::from_secs(3)),
            interval: Duration::from_secs(1),
            links: vec![slow, wide],
            flows: vec![flow("far", 110), flow("near", 1)],
            hash: String::new(),
        }
    }

    /// Packets that path and buffers hold: 100 packets of 1,514 bytes are 101 of 1,500.
    const FAR_PKTS: u32 = 1_601;

    #[test]
    fn a_cwnd_beyond_twenty_times_what_the_path_holds_is_not_judged() {
        let scenario = scenario();
        assert_eq!(violation(&scenario, &[FAR_PKTS * 20, 1]), None);
        let why = violation(&scenario, &[FAR_PKTS * 20 + 1, 1]).expect("one more");
        for said in ["`far`", "cwnd of 32021 packets", "holds 1601", "fairpace doctor"] {
            assert!(why.contains(said), "{why}");
        }
    }

    #[test]
    fn what_was_on_the_stack_is_not_judged_on_any_flow() {
        let why = violation(&scenario(), &[10, 0x813c_ffea]).expect("half an address");
        assert!(why.contains("`near`") && why.contains("2168258538"), "{why}");
    }

    #[test]
    fn ten_thousand_packets_are_never_suspected() {
        let mut scenario = scenario();
        scenario.links = vec![Link::new("narrow", 1_000_000, 3_000)];
        assert_eq!(violation(&scenario, &[10_000, 10_000]), None);
        assert!(violation(&scenario, &[1, 10_001]).is_some());
    }
}
