//! What LEVEL promises: equal rates whatever the RTTs, a queue that follows from the number of flows, and
//! rates that are right a few drains after a flow came (docs/level.md).

use crate::support::{flow, link, ms, run, scenario, with};
use fairpace_cc::Phase;
use fairpace_results::Run;
use fairpace_scenario::{Loss, WHOLE_PPB};

/// The level of a rate: 2.05 ms * sqrt(4096 packets/s / r), for Mbit/s of packets with 1514 bytes. ms.
fn level_ms(mbps: f64) -> f64 {
    2.05 * (4096.0 / (mbps * 1e6 / 8.0 / 1514.0)).sqrt()
}

/// One flow for each RTT in ms, a second apart, on a buffer of half a second.
fn flows_of(rtts_ms: &[u64], rate_mbps: u64, end_s: u64) -> Run {
    let flows = rtts_ms.iter().zip(0..).map(|(rtt, i)| flow("level", *rtt, 1000 * i)).collect();
    run(&scenario(vec![link(rate_mbps, rate_mbps * 62_500)], flows, end_s / 2, end_s))
}

fn queue_ms(r: &Run) -> f64 {
    r.summary.links[0].queue_delay_mean_ms.unwrap()
}

#[test]
fn rates_are_equal_whatever_the_rtts() {
    for rtts in [&[20, 20][..], &[10, 15], &[10, 50], &[10, 100], &[10, 20, 50, 100]] {
        let r = flows_of(rtts, 100, 60);
        let jain = r.summary.jain.unwrap();
        assert!(jain > 0.97, "{rtts:?}: Jain {jain}");
        assert!(r.summary.links[0].utilization > 0.95, "{rtts:?}: {}", r.summary.links[0].utilization);
        assert_eq!(r.summary.links[0].drops, 0, "{rtts:?}");
    }
}

#[test]
fn the_queue_is_the_level_of_an_equal_share() {
    for (rate_mbps, n) in [(10, 2), (100, 1), (100, 4), (100, 16)] {
        let r = flows_of(&vec![20; n], rate_mbps, 60);
        // more, by what is not seen between bursts; less, as drains and exchanges leave less
        let expected = level_ms(rate_mbps as f64 / n as f64);
        let found = queue_ms(&r);
        assert!((0.6..1.5).contains(&(found / expected)), "{n} of {rate_mbps}: {found} ms, level {expected}");
    }
}

#[test]
fn the_drains_of_all_flows_fall_together() {
    let mut s =
        scenario(vec![link(100, 2_000_000)], vec![flow("level", 20, 0), flow("level", 50, 3300)], 30, 90);
    s.interval = ms(10);
    let r = run(&s);
    let starts = |f: usize| {
        let phase = &r.series.flows[f].phase;
        let begins = |i: &usize| phase[*i] == Phase::Drain as i8 && phase[i - 1] != Phase::Drain as i8;
        (3000..phase.len()).filter(begins).collect::<Vec<_>>()
    };
    let (first, second) = (starts(0), starts(1));
    assert!(first.len() >= 5 && second.len() >= 4, "of each about six in a minute: {first:?} {second:?}");
    // what begins in the last 0.2 s may have its counterpart after the end
    for drain in second.iter().filter(|drain| *drain + 20 < r.series.flows[0].phase.len()) {
        assert!(first.iter().any(|other| other.abs_diff(*drain) <= 20), "{drain} of {second:?}: {first:?}");
    }
}

#[test]
fn a_flow_that_comes_late_has_its_share_soon() {
    let flows = vec![flow("level", 20, 0), flow("level", 20, 0), flow("level", 50, 20_000)];
    let r = run(&scenario(vec![link(100, 1_000_000)], flows, 35, 60));
    let late = r.summary.flows[2].share.unwrap();
    assert!((0.26..0.40).contains(&late), "{late} 15 to 40 s after its start, of a third");
}

#[test]
fn without_exchange_rates_become_equal_more_slowly() {
    let jain = |on| {
        let flows = [(10, 0), (100, 5000)].map(|(rtt, at)| with(flow("level", rtt, at), "exchange", on));
        run(&scenario(vec![link(100, 2_000_000)], flows.to_vec(), 15, 30)).summary.jain.unwrap()
    };
    let (on, off) = (jain("on"), jain("off"));
    assert!(on > off, "with {on}, without {off}");
}

#[test]
fn one_percent_of_random_loss_costs_little() {
    let mut s = scenario(vec![link(50, 500_000)], vec![flow("level", 40, 0)], 10, 40);
    s.links[0].loss = Loss { ppb: WHOLE_PPB / 100, ..Loss::default() };
    let r = run(&s);
    let used = r.summary.links[0].utilization;
    assert!(used > 0.85, "{used}");
}

/// Share of the LEVEL flow beside a competitor, 30 to 90 s after the start. The mean of competitors that
/// start 0.2 to 0.4 s later: single ones give 0.34 to 0.47.
fn share_beside(competitor: &str, detection_drains: &str) -> f64 {
    let share = |later_ms| {
        let level = with(flow("level", 50, 0), "detection_drains", detection_drains);
        let flows = vec![level, flow(competitor, 50, later_ms)];
        let r = run(&scenario(vec![link(10, 125_000)], flows, 30, 90));
        r.summary.flows[0].share.unwrap()
    };
    [200, 250, 300, 350, 400].map(share).iter().sum::<f64>() / 5.0
}

#[test]
fn beside_cubic_it_gets_its_share_only_by_competing() {
    let (competing, not) = (share_beside("cubic", "4"), share_beside("cubic", "0"));
    assert!(competing > 0.35, "{competing}");
    assert!(not < 0.2, "{not}: it yields");
}

#[test]
fn a_crowd_is_not_taken_for_competitors() {
    let flows = (0..20).map(|i| flow("level", [10, 20, 50, 100][i % 4], 100 * i as u64)).collect();
    let r = run(&scenario(vec![link(10, 250_000)], flows, 20, 60));
    let (jain, queue) = (r.summary.jain.unwrap(), queue_ms(&r));
    assert!(jain > 0.9 && queue < 2.0 * level_ms(0.5), "Jain {jain}, {queue} ms");
}

#[test]
fn an_overload_ends_when_its_flows_do() {
    let mut flows: Vec<_> =
        (0..10).map(|i| flow("level", [10, 20, 50, 100][i % 4], 100 * i as u64)).collect();
    flows.extend((0..500).map(|i| {
        let mut f = flow("level", [10, 20, 50, 100][i % 4], 5000 + 2 * i as u64);
        f.stop = Some(ms(15_000));
        f
    }));
    let r = run(&scenario(vec![link(100, 2_500_000)], flows, 40, 60));
    let shares: Vec<f64> = r.summary.flows[..10].iter().map(|f| f.goodput_mbps).collect();
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(least > 4.0 && queue_ms(&r) < 10.0, "{shares:?} Mbit/s, {} ms", queue_ms(&r));
}
