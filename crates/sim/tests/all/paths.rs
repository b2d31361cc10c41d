//! Paths that change, police, hold ACKs back, and reorder.

use std::time::Duration;

use crate::support::{EFFICIENCY, flow, link, ms, run, scenario, with};
use fairpace_results::Run;
use fairpace_scenario::{Flow, Link, Policer, Receiving, Reorder, Scenario, Window};

fn s(s: u64) -> Duration {
    Duration::from_secs(s)
}

/// Mean of a flow's goodput from one time to another.
fn goodput(r: &Run, flow: usize, from_s: f64, to_s: f64) -> f64 {
    let points = r.series.t_s.iter().zip(&r.series.flows[flow].goodput_mbps);
    let within: Vec<f64> = points
        .filter(|(t, _)| **t > from_s + 1e-9 && **t <= to_s + 1e-9)
        .map(|(_, m)| f64::from(*m))
        .collect();
    within.iter().sum::<f64>() / within.len() as f64
}

fn fixed_cwnd(pkts: u64, rtt_ms: u64) -> Flow {
    with(flow("fixed_cwnd", rtt_ms, 0), "cwnd_pkts", &pkts.to_string())
}

#[test]
fn goodput_follows_the_steps_of_the_rate() {
    let l = Link { rate_at: vec![(s(10), 50_000_000), (s(20), 5_000_000)], ..link(20, 500_000) };
    for cc in ["bbr1", "cubic"] {
        let r = run(&scenario(vec![l.clone()], vec![flow(cc, 20, 0)], 0, 30));
        for (from, to, rate) in [(5.0, 10.0, 20.0), (15.0, 20.0, 50.0), (24.0, 30.0, 5.0)] {
            let share = goodput(&r, 0, from, to) / (rate * EFFICIENCY);
            assert!((0.9..=1.01).contains(&share), "{cc}: {share} of {rate} Mbit/s from {from} s");
        }
        let used = r.summary.links[0].utilization;
        assert!((0.85..=1.0).contains(&used), "{cc}: {used} of what the steps allow");
    }
}

#[test]
fn an_outage_loses_nothing_by_itself_and_the_flow_comes_back() {
    let l = Link { rate_at: vec![(s(10), 0), (s(13), 20_000_000)], ..link(20, 500_000) };
    for cc in ["bbr1", "cubic", "reno"] {
        let r = run(&scenario(vec![l.clone()], vec![flow(cc, 40, 0)], 5, 30));
        assert_eq!(goodput(&r, 0, 10.5, 13.0), 0.0, "{cc}");
        assert!(goodput(&r, 0, 20.0, 30.0) > 0.9 * 20.0 * EFFICIENCY, "{cc}: {}", goodput(&r, 0, 20.0, 30.0));
    }
}

#[test]
fn a_change_of_the_route_changes_the_rtt_of_the_packets() {
    let f = Flow { rtt_at: vec![(s(10), ms(80)), (s(20), ms(10))], ..fixed_cwnd(10, 20) };
    let r = run(&scenario(vec![link(1000, 500_000)], vec![f], 0, 30));
    // ten packets of 12 us each are no queue to speak of
    for (point, rtt_ms) in [(90, 20.0), (150, 80.0), (250, 10.0)] {
        let seen = f64::from(r.series.flows[0].rtt_ms[point]);
        assert!((seen - rtt_ms).abs() < 0.2, "{seen} ms, expected {rtt_ms}");
        // one window per RTT
        let expected = 10.0 * 1448.0 * 8.0 / rtt_ms / 1e3;
        let goodput = goodput(&r, 0, point as f64 / 10.0 - 2.0, point as f64 / 10.0);
        assert!((goodput / expected - 1.0).abs() < 0.03, "{goodput} Mbit/s, expected {expected}");
    }
    assert_eq!(r.summary.flows[0].retransmits, 0, "packets keep their order");
}

#[test]
fn a_policer_lets_its_rate_and_its_burst_through() {
    let policer = Policer { rate_bps: 10_000_000, burst_bytes: 100_000 };
    let l = Link { policer: Some(policer), ..link(100, 1_000_000) };
    // far more than the policer lets through, so that the bucket is always wanted
    let r = run(&scenario(vec![l], vec![fixed_cwnd(400, 20)], 0, 30));
    let l = &r.summary.links[0];
    let passed = l.utilization * 100e6 / 8.0 * 30.0;
    let allowed = 100_000.0 + 10e6 / 8.0 * 30.0;
    assert!(passed <= allowed && passed > 0.99 * allowed, "{passed:.0} of {allowed}");
    assert!(l.drops > 1000 && l.queue_delay_p99_ms.unwrap() < 2.0, "{l:?}");
}

#[test]
fn a_policed_bbr_finds_the_rate_by_its_long_term_model() {
    // algorithms that know of policers settle near the rate instead of losing a fifth for ever (BBRv1's
    // lt_bw)
    let policer = Policer { rate_bps: 10_000_000, burst_bytes: 200_000 };
    let l = Link { policer: Some(policer), ..link(100, 1_000_000) };
    let r = run(&scenario(vec![l], vec![flow("bbr1", 40, 0)], 20, 60));
    let f = &r.summary.flows[0];
    assert!(f.goodput_mbps > 8.0 && f.goodput_mbps < 10.0 * EFFICIENCY * 1.01, "{}", f.goodput_mbps);
}

#[test]
fn acks_are_aggregated_at_the_configured_times() {
    // window-limited with ACKs every 50 ms: one window per multiple of 50 ms that is not below the RTT
    let f = Flow { ack_aggregation: ms(50), ..fixed_cwnd(10, 20) };
    let r = run(&scenario(vec![link(1000, 500_000)], vec![f], 10, 60));
    let expected = 10.0 * 1448.0 * 8.0 / 50e3;
    assert!(
        (r.summary.flows[0].goodput_mbps / expected - 1.0).abs() < 0.02,
        "{}",
        r.summary.flows[0].goodput_mbps
    );
}

#[test]
fn jitter_of_acks_lengthens_the_rtt_that_the_sender_sees_and_reorders_nothing() {
    let seen = |jitter| {
        let f = Flow { ack_jitter: ms(jitter), ..flow("reno", 40, 0) };
        let r = run(&scenario(vec![link(20, 100_000)], vec![f], 10, 60));
        (r.summary.flows[0].goodput_mbps, r.series.flows[0].min_rtt_ms.len(), r.summary.flows[0].retransmits)
    };
    let ((plain, _, _), (jittered, _, retransmitted)) = (seen(0), seen(20));
    assert!(jittered > 0.7 * plain && jittered < 1.01 * plain, "{jittered} of {plain} Mbit/s");
    assert!(retransmitted < 500, "{retransmitted}: losses are the queue's alone");
}

#[test]
fn overtaken_packets_are_not_lost() {
    // 1 % of packets 3 ms late at 40 ms: less than RACK's quarter of the minimum RTT, once reordering has
    // been seen
    let f = Flow { reorder: Some(Reorder { ppb: 10_000_000, delay: ms(3) }), ..flow("bbr1", 40, 0) };
    let r = run(&scenario(vec![link(20, 500_000)], vec![f], 10, 60));
    let f = &r.summary.flows[0];
    assert!(f.goodput_mbps > 0.9 * 20.0 * EFFICIENCY, "{} Mbit/s", f.goodput_mbps);
    assert!(f.retransmits < 10, "{} sent again", f.retransmits);
    assert_eq!((r.summary.links[0].drops, r.summary.links[0].lost), (0, 0));
}

#[test]
fn packets_that_come_too_late_are_sent_again_in_vain() {
    // 30 ms late at 40 ms is beyond any reordering window that a few D-SACKs open
    let f = Flow { reorder: Some(Reorder { ppb: 10_000_000, delay: ms(30) }), ..fixed_cwnd(60, 40) };
    let r = run(&scenario(vec![link(20, 500_000)], vec![f], 0, 60));
    assert!(r.summary.flows[0].retransmits > 0);
    assert_eq!(r.summary.links[0].drops, 0);
}

#[test]
fn a_receive_buffer_limits_what_is_outstanding() {
    // 30 packets per RTT of 60 ms, though cwnd would allow 500
    let f = Flow {
        receiving: Receiving { window: Window::Fixed(30 * 1448), ..Receiving::default() },
        ..fixed_cwnd(500, 60)
    };
    let r = run(&scenario(vec![link(50, 500_000)], vec![f], 10, 40));
    let (f, expected) = (&r.summary.flows[0], 30.0 * 1448.0 * 8.0 / 60e3);
    assert!((f.goodput_mbps / expected - 1.0).abs() < 0.02, "{} Mbit/s, expected {expected}", f.goodput_mbps);
    let most = r.series.flows[0].inflight_pkts.iter().copied().fold(0.0, f32::max);
    assert!((29.0..=30.0).contains(&most), "{most} in flight");
}

#[test]
fn a_window_limited_flow_is_not_limited_by_the_application() {
    // so its samples count: BBR believes the window's rate to be the path's
    let f = Flow {
        receiving: Receiving { window: Window::Fixed(30 * 1448), ..Receiving::default() },
        ..flow("bbr1", 60, 0)
    };
    let r = run(&scenario(vec![link(50, 500_000)], vec![f], 10, 40));
    let bw = f64::from(r.series.flows[0].bw_mbps[300]);
    let expected = 30.0 * 1448.0 * 8.0 / 60e3;
    assert!((bw / expected - 1.0).abs() < 0.15, "{bw} Mbit/s, expected {expected}");
    // and a loss-based one stops growing where it does not use its window: RFC 7661, Linux's
    // tcp_cwnd_validate
    let f = Flow {
        receiving: Receiving { window: Window::Fixed(30 * 1448), ..Receiving::default() },
        ..flow("reno", 60, 0)
    };
    let r = run(&scenario(vec![link(50, 500_000)], vec![f], 10, 40));
    let cwnd = r.series.flows[0].cwnd_pkts[390];
    assert!((30.0..=61.0).contains(&cwnd), "{cwnd}");
}

#[test]
fn host_jitter_gives_loss_based_flows_a_history_per_seed() {
    let of = |seed, jitter| {
        let f = |start| Flow { host_jitter: jitter, ..flow("cubic", 30, start) };
        let r = run(&Scenario { seed, ..scenario(vec![link(50, 100_000)], vec![f(0), f(2000)], 10, 30) });
        (r.summary.links[0].drops, format!("{:?}", r.summary.flows))
    };
    assert_eq!(of(1, ms(0)), of(2, ms(0)), "without noise nothing is random");
    let jitter = Duration::from_micros(100);
    assert_eq!(of(1, jitter), of(1, jitter));
    assert_ne!(of(1, jitter), of(2, jitter));
}
