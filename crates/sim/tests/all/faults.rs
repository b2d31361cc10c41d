//! Random loss against what probability and theory say of it.

use crate::support::{EFFICIENCY, flow, link, run, scenario, with};
use fairpace_scenario::{Burst, BurstLength, Flow, Link, Loss, Scenario};

/// Billionths in one per cent.
const PERCENT: u64 = 10_000_000;

fn lossy(rate_mbps: u64, percent_1000: u64) -> Link {
    let loss = Loss { ppb: PERCENT / 1000 * percent_1000, burst: None };
    Link { loss, ..link(rate_mbps, 10_000_000) }
}

/// A sender that no loss impresses.
fn fixed_cwnd(pkts: u64, rtt_ms: u64) -> Flow {
    with(flow("fixed_cwnd", rtt_ms, 0), "cwnd_pkts", &pkts.to_string())
}

#[test]
fn the_share_of_lost_packets_is_the_one_asked_for() {
    for (seed, percent) in [(1, 1), (2, 5), (3, 20)] {
        let s = scenario(vec![lossy(20, percent * 1000)], vec![fixed_cwnd(200, 40)], 0, 60);
        let r = run(&Scenario { seed, ..s });
        let link = &r.summary.links[0];
        assert_eq!(link.drops, 0);
        // the link is full, but for a timeout now and then, and a lost packet has used it
        assert!(link.utilization > 0.97, "utilization {}", link.utilization);
        let sent = link.utilization * 20e6 * 60.0 / 8.0 / 1514.0;
        let p = percent as f64 / 100.0;
        let deviation = (sent * p * (1.0 - p)).sqrt();
        assert!((link.lost as f64 - sent * p).abs() < 4.0 * deviation + 2.0, "{} of {sent:.0}", link.lost);
    }
}

#[test]
fn what_is_lost_is_missing_from_goodput_and_sent_again() {
    let r = run(&scenario(vec![lossy(20, 10_000)], vec![fixed_cwnd(200, 40)], 10, 60));
    let (f, l) = (&r.summary.flows[0], &r.summary.links[0]);
    // as the BBR paper says of figure 8: no sender gets more than the link's rate times (1 - p)
    let most = 20.0 * EFFICIENCY * 0.9;
    assert!(f.goodput_mbps <= most * 1.01 && f.goodput_mbps > most * 0.97, "{} of {most}", f.goodput_mbps);
    // each loss is repaired once, and so are the losses of repairs
    let ratio = f.retransmits as f64 / l.lost as f64;
    assert!((0.98..1.02).contains(&ratio), "{} retransmitted, {} lost", f.retransmits, l.lost);
}

#[test]
fn bursts_lose_as_much_as_independent_losses_but_in_fewer_rounds() {
    // Reno reacts once per window: the same loss in bursts of 20 packets costs far less
    let goodput = |burst| {
        let l = Link { loss: Loss { ppb: PERCENT / 5, burst }, ..link(100, 10_000_000) };
        let r = run(&scenario(vec![l], vec![flow("reno", 40, 0)], 10, 150));
        (r.summary.flows[0].goodput_mbps, r.summary.links[0].lost as f64 / r.summary.cost.data_packets as f64)
    };
    let (alone, alone_p) = goodput(None);
    let (bursts, bursts_p) =
        goodput(Some(Burst { length: BurstLength::Pkts(20), inside_ppb: 1_000_000_000, outside_ppb: 0 }));
    assert!(
        (alone_p / 0.002 - 1.0).abs() < 0.2 && (bursts_p / 0.002 - 1.0).abs() < 0.4,
        "{alone_p} {bursts_p}"
    );
    assert!(bursts > 1.5 * alone, "{bursts} against {alone} Mbit/s");
}

#[test]
fn reno_follows_the_inverse_square_root_of_loss() {
    // Mathis et al., "The macroscopic behavior of the TCP congestion avoidance algorithm", 1997: sqrt(3/2)
    // packets per RTT over sqrt(p) when each packet's ACK counts; Linux counts packets, not ACKs. Timeouts
    // and PRR's rounds are not in the law, so that it is an upper bound which small losses come close to.
    for (percent_1000, rtt_ms) in [(20u64, 20u64), (100, 40), (400, 40)] {
        let r = run(&scenario(vec![lossy(1000, percent_1000)], vec![flow("reno", rtt_ms, 0)], 30, 300));
        let p = percent_1000 as f64 / 1e5;
        let law = (1.5 / p).sqrt() * 1448.0 * 8.0 / (rtt_ms as f64 * 1e3);
        let seen = r.summary.flows[0].goodput_mbps / law;
        assert!((0.8..1.1).contains(&seen), "p {p}: {seen:.2} of {law:.1} Mbit/s");
    }
}

#[test]
fn a_lost_ack_costs_little_since_the_next_one_says_it_all() {
    let goodput = |percent| {
        let f = Flow { ack_loss_ppb: percent * PERCENT, ..flow("cubic", 40, 0) };
        let r = run(&scenario(vec![link(20, 200_000)], vec![f], 10, 60));
        (r.summary.flows[0].goodput_mbps, r.summary.flows[0].retransmits)
    };
    let ((without, _), (with, retransmitted)) = (goodput(0), goodput(30));
    assert!(with > 0.97 * without, "{with} of {without} Mbit/s");
    assert!(retransmitted < 2000, "{retransmitted} retransmitted");
}

#[test]
fn a_flow_without_acks_gets_nothing_across_but_its_syn() {
    let f = Flow { ack_loss_ppb: 100 * PERCENT, ..flow("cubic", 40, 0) };
    let r = run(&scenario(vec![link(20, 200_000)], vec![f], 0, 10));
    assert_eq!((r.summary.flows[0].goodput_mbps, r.summary.cost.data_packets), (0.0, 0));
}

#[test]
fn a_seed_is_a_history_and_another_seed_another_one() {
    let flows = || vec![flow("cubic", 20, 0), flow("bbr1", 40, 0)];
    let of = |seed| {
        let r = run(&Scenario { seed, ..scenario(vec![lossy(20, 500)], flows(), 5, 20) });
        (r.summary.stable_json(), format!("{:?}", r.series))
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1).1, of(2).1);
}

#[test]
fn each_link_loses_by_its_own_dice() {
    let two = vec![lossy(20, 1000), Link { name: "second".into(), ..lossy(20, 1000) }];
    let r = run(&scenario(two, vec![fixed_cwnd(100, 40)], 0, 60));
    let lost: Vec<u64> = r.summary.links.iter().map(|l| l.lost).collect();
    assert!(lost[0] != lost[1] && lost.iter().all(|n| (500..1500).contains(n)), "{lost:?}");
}

#[test]
fn a_loss_that_cannot_be_is_refused_by_the_name_of_its_link() {
    let loss = Loss {
        ppb: 50 * PERCENT,
        burst: Some(Burst { length: BurstLength::Pkts(3), inside_ppb: 40 * PERCENT, outside_ppb: 0 }),
    };
    let s = scenario(vec![Link { loss, ..link(20, 100_000) }], vec![flow("reno", 40, 0)], 0, 1);
    let error = fairpace_sim::run(&s, &mut fairpace_results::Silent).expect_err("it cannot be").to_string();
    assert!(error.contains("bottleneck") && error.contains("bursts"), "{error}");
}

#[test]
fn a_line_that_copies_packets_says_how_many_and_harms_no_goodput() {
    let line = fairpace_scenario::Line { duplicate_ppb: 5 * PERCENT, ..Default::default() };
    let copying = |line| {
        let links = vec![Link { line, ..link(20, 100_000) }];
        run(&scenario(links, vec![flow("bbr1", 40, 0)], 2, 22)).summary
    };
    let (plain, copied) = (copying(fairpace_scenario::Line::default()), copying(line));
    assert_eq!(plain.links[0].duplicates, 0);
    // 20 s of 20 Mbit/s are 33,000 packets: 5 % of them, within four standard deviations
    let packets = copied.links[0].utilization * 20e6 * 20.0 / 8.0 / 1514.0;
    let (seen, expected) = (copied.links[0].duplicates as f64, packets * 0.05);
    assert!((seen - expected).abs() < 4.0 * (expected * 0.95).sqrt(), "{seen} of {expected}");
    assert!(copied.flows[0].goodput_mbps > 0.98 * plain.flows[0].goodput_mbps);
}
