//! What is known to be wrong with BBRv1, as simulations that show it. Each test names who described it; a
//! test that fails says that the simulated BBRv1 is better, or worse, than the real one.

use std::path::Path;

use crate::support::{bdp_bytes, flow, link, ms, run, scenario, with};
use fairpace_cc::Phase;
use fairpace_results::Run;

/// Sent again over sent, of all flows, by the packets that arrived.
fn loss_rate(r: &Run) -> f64 {
    let mbit: f64 = r.summary.flows.iter().map(|f| f.goodput_mbps).sum();
    let [from, to] = r.summary.window_s;
    let delivered = mbit * 1e6 * (to - from) / 8.0 / 1448.0;
    let drops: u64 = r.summary.links.iter().map(|l| l.drops).sum();
    drops as f64 / (delivered + drops as f64)
}

/// Times at which a flow enters PROBE_RTT, seconds.
fn probe_rtts_s(r: &Run, f: usize) -> Vec<f64> {
    let there = |p: &i8| *p == Phase::ProbeRtt as i8;
    let phase = &r.series.flows[f].phase;
    let entries = phase.windows(2).enumerate().filter(|(_, w)| !there(&w[0]) && there(&w[1]));
    entries.map(|(at, _)| r.series.t_s[at + 1]).collect()
}

/// Hock, Bless, Zitterbart, "Experimental Evaluation of BBR Congestion Control", ICNP 2017: each flow
/// overestimates its share, until cwnd, 2 BDP, is what stops them.
#[test]
fn several_flows_hold_a_standing_queue_of_about_a_bdp() {
    let flows = (0..3).map(|i| flow("bbr1", 40, i * 700)).collect();
    let r = run(&scenario(vec![link(20, 8 * bdp_bytes(20, 40))], flows, 20, 80));
    for f in &r.summary.flows {
        let rtt_ms = f.rtt_mean_ms.unwrap();
        println!("{}: {rtt_ms}", f.name);
        assert!((1.6 * 40.0..2.6 * 40.0).contains(&rtt_ms), "{}: RTT {rtt_ms} ms of 40", f.name);
    }
    assert_eq!(r.summary.links[0].drops, 0);
}

/// The same authors, and Cao et al., "When to use and when not to use BBR", IMC 2019.
#[test]
fn small_buffers_see_heavy_loss_and_starve_cubic() {
    let buffer = bdp_bytes(20, 40) / 4;
    let pair = |a, b| run(&scenario(vec![link(20, buffer)], vec![flow(a, 40, 0), flow(b, 40, 500)], 10, 60));
    let (bbr, cubic, mixed) = (pair("bbr1", "bbr1"), pair("cubic", "cubic"), pair("bbr1", "cubic"));
    assert!(loss_rate(&bbr) > 10.0 * loss_rate(&cubic), "{} and {}", loss_rate(&bbr), loss_rate(&cubic));
    assert!(mixed.summary.flows[1].share.unwrap() < 0.25, "{:?}", mixed.summary.flows[1].share);
}

/// Ware et al., "Modeling BBR's Interactions with Loss-Based Congestion Control", IMC 2019: one BBR flow
/// takes what its cap on inflight gives it, however many CUBIC flows share the rest.
#[test]
fn the_share_against_cubic_hardly_depends_on_how_many_there_are() {
    let share = |n: u64| {
        let cubics = (0..n).map(|i| flow("cubic", 40, i * 170));
        let flows = cubics.chain([flow("bbr1", 40, 1000)]).collect();
        let r = run(&scenario(vec![link(50, 4 * bdp_bytes(50, 40))], flows, 20, 80));
        r.summary.flows[n as usize].share.unwrap()
    };
    let (one, many) = (share(1), share(8));
    assert!(many > 0.6 * one && many > 2.0 / 9.0, "alone against one {one}, against eight {many}");
}

/// Cardwell et al., ACM Queue 14(5), "Synchronized flows share the bottleneck": a flow that empties its part
/// of the queue shows the others a new minimum, so that all visit PROBE_RTT together.
#[test]
fn flows_that_started_apart_visit_probe_rtt_together() {
    let mut s = scenario(
        vec![link(20, 8 * bdp_bytes(20, 40))],
        (0..3).map(|i| flow("bbr1", 40, i * 2300)).collect(),
        30,
        80,
    );
    s.interval = ms(20);
    let r = run(&s);
    let late = |f| probe_rtts_s(&r, f).into_iter().filter(|t| *t > 30.0).collect::<Vec<_>>();
    let (a, b, c) = (late(0), late(1), late(2));
    assert!(a.len() >= 4, "{a:?}");
    for other in [b, c] {
        for t in &a {
            let apart = other.iter().map(|o| (o - t).abs()).fold(f64::MAX, f64::min);
            assert!(apart < 0.25, "at {t} s alone; others {other:?}");
        }
    }
}

/// The same article, and Tao et al., section III.B: CUBIC's queue is there during PROBE_RTT too.
#[test]
fn a_cubic_rivals_queue_is_taken_for_propagation_delay() {
    let r = run(&scenario(
        vec![link(20, 4 * bdp_bytes(20, 40))],
        vec![flow("bbr1", 40, 0), flow("cubic", 40, 500)],
        20,
        80,
    ));
    let min_rtt = &r.series.flows[0].min_rtt_ms[200..];
    let mean = min_rtt.iter().sum::<f32>() / min_rtt.len() as f32;
    assert!(mean > 1.25 * 40.0, "min_rtt is {mean} ms on average");
}

/// Zhang et al., "Improving Google's BBR", section III.C.1.
#[test]
fn the_flow_with_the_lower_rate_sees_the_higher_min_rtt() {
    let r = run(&scenario(
        vec![link(20, 8 * bdp_bytes(20, 40))],
        vec![flow("bbr1", 10, 0), flow("bbr1", 60, 500)],
        30,
        80,
    ));
    let excess = |f: usize, base_rtt_ms: f32| {
        let m = &r.series.flows[f].min_rtt_ms[300..];
        m.iter().sum::<f32>() / m.len() as f32 - base_rtt_ms
    };
    let (short, long) = (excess(0, 10.0), excess(1, 60.0));
    assert!(short > 1.25 * long, "above the base RTT: short {short} ms, long {long} ms");
}

/// ACM Queue, "Startup": cwnd lets 1.89 BDP queue; a buffer that does not hold them loses the difference.
#[test]
fn startup_overshoots_and_a_buffer_below_that_loses_the_difference() {
    let drops = |bdps: f64| {
        let buffer = (bdps * bdp_bytes(50, 40) as f64) as u64;
        run(&scenario(vec![link(50, buffer)], vec![flow("bbr1", 40, 0)], 0, 2)).summary.links[0].drops
    };
    let bdp_pkts = bdp_bytes(50, 40) / 1514;
    assert_eq!(drops(2.2), 0);
    // the last round of the search sends 2.89 BDP; one is on the path, one in the buffer
    assert!(drops(1.0) > bdp_pkts * 8 / 10, "{} of a BDP of {bdp_pkts}", drops(1.0));
    assert!(drops(0.5) > drops(1.0) + bdp_pkts / 2, "{}", drops(0.5));
}

/// Zhang et al., "Improving Google's BBR", 2018, section IV.C: alpha is at most 0.95. After a probe at gain
/// 1.95, DOWN paces at 0.05 of the bandwidth, where one burst schedules the next departure far beyond the
/// end of DOWN. The bound is the paper's; the cost is found here.
#[test]
fn nyu_alone_on_a_slow_link_wastes_it_after_each_probe() {
    let used = |cc: &str, kbit: u64, alpha_most: &str| {
        let buffer = 4 * kbit * 20 / 8;
        let bottleneck = fairpace_scenario::Link::new("bottleneck", kbit * 1000, buffer.max(12_000));
        let mut lone = flow(cc, 20, 0);
        if cc == "nyu" {
            lone = with(lone, "alpha_most", alpha_most);
        }
        run(&scenario(vec![bottleneck], vec![lone], 10, 40)).summary.links[0].utilization
    };
    let (slow, slower) = (used("nyu", 2000, "0.95"), used("nyu", 500, "0.95"));
    assert!(slower < 0.75 && slow < 0.9, "nyu uses {slower} of 500 kbit/s, {slow} of 2 Mbit/s");
    assert!(used("nyu_latency", 500, "") > 0.97, "without adaptive gains the link is used");
    assert!(used("nyu", 500, "0.75") > 0.97, "and with a smaller bound");
    assert!(used("nyu", 20_000, "0.95") > 0.97, "and a faster link");
}

/// The page for people names the tests of these files.
#[test]
fn docs_pathologies_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = String::new();
    for folder in ["tests/all", "../../cc/tests/all"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("the folder of tests") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|e| e == "rs") {
                sources += &std::fs::read_to_string(path).expect("a source file");
            }
        }
    }
    let page = std::fs::read_to_string(root.join("../../docs/pathologies.md")).expect("the page");
    let rows = page.lines().filter(|l| l.starts_with("| ") && !l.starts_with("| what "));
    let mut named = 0;
    for row in rows {
        let tests = row.split('|').nth(2).expect("a column of tests");
        for name in tests.split('`').skip(1).step_by(2) {
            assert!(
                sources.contains(&format!("fn {name}(")),
                "{name} is in docs/pathologies.md and nowhere else"
            );
            named += 1;
        }
    }
    assert!(named > 30, "{named}");
}
