//! DCTCP at a step of marks against its theory (Alizadeh et al., SIGCOMM 2010, section 3.3).

use fairpace_results::Run;
use fairpace_scenario::{Ecn, Flow, Limit, Link, Queue, Sending};

use crate::support::{EFFICIENCY, flow, link, run, scenario};

/// Rate of the link, Mbit/s.
const RATE_MBPS: u64 = 1_000;
/// Rate of the link in full packets of 1514 bytes per second, the C of the paper.
const C: f64 = 1e9 / (1514.0 * 8.0);
/// RTT of all flows, ms.
const RTT_MS: u64 = 1;

/// Runs N flows at a step of `k` packets. They send packet by packet, as the theory has it.
fn at_step(cc: &str, ecn: Ecn, flows: u64, k: u64) -> Run {
    let queue = Queue::Step(Limit::Packets(k));
    let link = Link { queue, ..link(RATE_MBPS, 1_000_000) };
    let one = |index| {
        let sending = Sending { ecn, tso: false, ..Sending::default() };
        Flow { name: format!("f{index}"), sending, ..flow(cc, RTT_MS, index * 10) }
    };
    run(&scenario(vec![link], (0..flows).map(one).collect(), 1, 5))
}

fn used(run: &Run) -> f64 {
    run.summary.flows.iter().map(|f| f.goodput_mbps).sum::<f64>() / (RATE_MBPS as f64 * EFFICIENCY)
}

#[test]
fn the_queue_is_between_the_bounds_of_the_theory_around_the_step() {
    for (flows, k) in [(1, 20), (2, 20), (4, 40)] {
        let run = at_step("dctcp", Ecn::Dctcp, flows, k);
        let queue = &run.summary.links[0];
        let pkts = |ms: Option<f64>| ms.unwrap() / 1e3 * C;
        let (mean, most) = (pkts(queue.queue_delay_mean_ms), pkts(queue.queue_delay_p99_ms));
        let (n, k) = (flows as f64, k as f64);
        // equation 10: the highest queue is K + N; equation 12: the lowest is less by the amplitude
        let swing = (n * (C * RTT_MS as f64 / 1e3 + k) / 2.0).sqrt();
        assert!((k + n - swing..=k + n).contains(&mean), "{mean} of {k} and {swing}");
        assert!(most <= k + 2.0 * n + 2.0, "{most}");
        assert!(used(&run) > 0.99 && queue.drops == 0, "{} {}", used(&run), queue.drops);
        assert!(run.summary.jain.unwrap() > 0.95, "{:?}", run.summary.jain);
    }
}

#[test]
fn reno_at_the_same_step_leaves_a_part_of_the_link_unused() {
    // a halved cwnd of C R + K is below C R if K < C R: a sawtooth from there up to C R + K, K = 5 of 83
    // packets
    let halving = at_step("reno", Ecn::Classic, 1, 5);
    let scaling = at_step("dctcp", Ecn::Dctcp, 1, 5);
    assert!(used(&halving) < 0.85 && used(&scaling) > used(&halving) + 0.08);
}
