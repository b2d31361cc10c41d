//! What `run` promises whatever the scenario: determinism, sound accounts, clear errors.

use std::time::Duration;

use crate::support::{algorithm, flow, link, ms, run, scenario};
use fairpace_results::{Monitor, Silent};
use fairpace_scenario::{
    Burst, BurstLength, Cc, Flow, Link, Loss, Policer, Receiving, Reorder, Scenario, Traffic, View, Window,
    Writes,
};
use fairpace_sim::Error;
use proptest::prelude::*;

fn two_flows() -> Scenario {
    scenario(vec![link(20, 200_000)], vec![flow("bbr1", 10, 0), flow("bbr1", 50, 500)], 2, 12)
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let (a, b) = (run(&two_flows()), run(&two_flows()));
    assert_eq!(a.summary.stable_json(), b.summary.stable_json());
    // as text, because NaN is not equal to itself
    assert_eq!(format!("{:?}", a.series), format!("{:?}", b.series));
}

#[test]
fn another_seed_gives_another_run() {
    let other = Scenario { seed: 2, ..two_flows() };
    assert_ne!(run(&two_flows()).summary.flows, run(&other).summary.flows);
}

#[test]
fn looking_more_often_changes_nothing() {
    let finely = Scenario { interval: ms(1), ..two_flows() };
    assert_eq!(run(&two_flows()).summary.stable_json(), run(&finely).summary.stable_json());
}

#[test]
fn a_kernels_view_changes_only_what_is_lossy_and_only_for_who_asks_for_it() {
    let pair = |cc: &str, buffer_bytes, ppb| {
        let loss = Loss { ppb, burst: None };
        let exact = scenario(vec![Link { loss, ..link(20, buffer_bytes) }], vec![flow(cc, 30, 0)], 2, 12);
        let mut kernel = exact.clone();
        kernel.flows[0].view = View::Kernel;
        (run(&exact).summary.flows, run(&kernel).summary.flows)
    };
    let (exact, kernel) = pair("bbr1", 30_000, 0);
    assert_eq!(exact, kernel, "bbr1 does not ask what was in flight");
    let (exact, kernel) = pair("bbr3", 10_000_000, 0);
    assert_eq!(exact, kernel, "without losses the kernel knows all");
    let (exact, kernel) = pair("bbr3", 15_000, 1_000_000);
    assert_ne!(exact, kernel, "with losses it does not");
    let (a, b) = (exact[0].goodput_mbps, kernel[0].goodput_mbps);
    assert!((a - b).abs() < 0.1 * a, "{a} Mbit/s and {b} Mbit/s");
}

#[test]
fn a_flow_stops_when_told_and_leaves_the_link_to_the_other() {
    let mut s = scenario(vec![link(20, 200_000)], vec![flow("cubic", 20, 0), flow("cubic", 20, 0)], 0, 20);
    s.flows[0].stop = Some(ms(10_000));
    let r = run(&s);
    let rate = |f: usize, from: usize, to: usize| {
        r.series.flows[f].goodput_mbps[from..to].iter().sum::<f32>() / (to - from) as f32
    };
    assert!(rate(0, 50, 100) > 2.0);
    assert_eq!(rate(0, 120, 200), 0.0);
    assert!(rate(1, 150, 200) > 18.0);
}

#[test]
fn a_flow_that_never_starts_has_no_rtt_and_takes_nothing() {
    let r =
        run(&scenario(vec![link(20, 200_000)], vec![flow("bbr1", 20, 0), flow("bbr1", 20, 60_000)], 2, 5));
    let f = &r.summary.flows[1];
    assert_eq!((f.goodput_mbps, f.rtt_mean_ms, f.share), (0.0, None, Some(0.0)));
    assert!(r.series.flows[1].cwnd_pkts.iter().all(|c| c.is_nan()));
    assert!(r.series.flows[1].phase.iter().all(|p| *p == -1));
}

#[test]
fn of_two_links_in_a_row_the_slower_is_the_bottleneck() {
    for rates in [[20, 50], [50, 20]] {
        let links = rates.map(|r| Link { name: format!("{r} Mbit/s"), ..link(r, 200_000) }).to_vec();
        let r = run(&scenario(links, vec![flow("cubic", 30, 0)], 5, 15));
        for (link, rate) in r.summary.links.iter().zip(rates) {
            let expected = 20.0 / rate as f64;
            assert!(
                (link.utilization - expected).abs() < 0.02,
                "{rates:?}: {} {}",
                link.name,
                link.utilization
            );
        }
    }
}

#[test]
fn the_summary_says_what_was_run() {
    let s = two_flows();
    let r = run(&s);
    assert_eq!((r.summary.on.as_str(), r.summary.seed, r.summary.window_s), ("sim", 1, [2.0, 12.0]));
    assert_eq!(r.summary.scenario.hash, s.hash);
    assert_eq!(r.series.t_s.len(), 120);
    assert_eq!(r.series.t_s.last(), Some(&12.0));
    let cost = &r.summary.cost;
    let packets_by_goodput = 12.0 * 20e6 / 8.0 / 1514.0;
    assert!(
        cost.data_packets as f64 <= packets_by_goodput && cost.data_packets as f64 > 0.8 * packets_by_goodput
    );
    assert!(cost.cpu_s > 0.0 && cost.wall_s > 0.0);
}

#[test]
fn errors_name_the_flow_and_what_to_write_instead() {
    let fail = |change: fn(&mut Scenario)| {
        let mut s = two_flows();
        change(&mut s);
        fairpace_sim::run(&s, &mut Silent).expect_err("must fail").to_string()
    };
    let kernel = fail(|s| s.flows[0].cc = Cc::Kernel("cubic".to_owned()));
    assert!(
        kernel.contains("bbr1 10 ms from 0 ms")
            && kernel.contains("kernel:cubic")
            && kernel.contains("testbed"),
        "{kernel}"
    );
    assert!(fail(|s| s.flows.clear()).contains("no flows"));
    assert!(fail(|s| s.links.clear()).contains("no links"));
}

#[test]
fn an_unchecked_scenario_without_a_network_is_an_error() {
    let fail = |change: fn(&mut Scenario)| {
        let mut s = two_flows();
        change(&mut s);
        let error = fairpace_sim::run(&s, &mut Silent).expect_err("must fail");
        assert!(matches!(error, Error::Network(_)), "{error}");
        error.to_string()
    };
    let route = fail(|s| s.flows[1].route = Some(vec!["bottelneck".to_owned()]));
    assert!(route.starts_with("flow \"bbr1 50 ms") && route.contains("Scenario::sealed"), "{route}");
    let loss = fail(|s| {
        s.links[0].loss = Loss { ppb: 1, burst: Some(Burst { inside_ppb: 1, ..Burst::default() }) };
    });
    assert!(loss.starts_with("link \"bottleneck\"") && loss.contains("less than"), "{loss}");
    assert!(fail(|s| s.window = (s.duration, ms(1))).contains("window"));
}

struct Impatient {
    reports: u32,
}

impl Monitor for Impatient {
    fn progress(&mut self, done_s: f64, total_s: f64) {
        assert!(done_s <= total_s);
        self.reports += 1;
    }
    fn stop(&self) -> bool {
        self.reports > 0
    }
}

#[test]
fn a_run_stops_soon_after_the_monitor_says_so() {
    let s = scenario(vec![link(1000, 2_000_000)], vec![flow("cubic", 10, 0)], 0, 100_000);
    let error = fairpace_sim::run(&s, &mut Impatient { reports: 0 }).expect_err("it was stopped");
    assert!(matches!(error, Error::Stopped { at_s, total_s } if at_s < total_s), "{error}");
}

fn any_flow() -> impl Strategy<Value = fairpace_scenario::Flow> {
    let cc = prop::sample::select(fairpace_cc::Algorithm::all().map(|a| a.name()).collect::<Vec<_>>());
    let times = (1u64..150, 0u64..3000, prop::option::of(500u64..4000));
    (cc, times, any_conditions()).prop_map(|(cc, (rtt, start, length), conditions)| {
        let Flow { name, cc, rtt, start, .. } = flow(cc, rtt, start);
        let stop = length.map(|l| start + ms(l));
        Flow { name, cc, rtt, start, stop, ..conditions }
    })
}

/// Everything that may happen to a flow, each now and then.
fn any_conditions() -> impl Strategy<Value = Flow> {
    let reorder = (1u64..200_000_000, 1u64..50).prop_map(|(ppb, n)| Reorder { ppb, delay: ms(n) });
    let writes = prop_oneof![
        3 => Just(Writes::Always),
        1 => (1u64..1000, 1u64..1000).prop_map(|(on, off)| Writes::OnOff { on: ms(on), off: ms(off) }),
        1 => (10_000u64..10_000_000, 1u64..1000)
            .prop_map(|(rate_bps, every)| Writes::Paced { rate_bps, every: ms(every) }),
    ];
    let seldom = prop::option::weighted::<std::ops::Range<u64>>;
    let acks = (seldom(0.3, 0..30), seldom(0.3, 0..30), seldom(0.3, 0..500_000_000), seldom(0.3, 0..1000));
    let traffic = (writes, seldom(0.3, 1..5_000_000), seldom(0.3, 1448..300_000));
    let route =
        (prop::option::weighted(0.3, reorder), prop::option::weighted(0.3, (100u64..5000, 1u64..200)));
    (acks, traffic, route).prop_map(
        |((jitter, aggregation, loss, host), (writes, size, window), (reorder, step))| Flow {
            traffic: Traffic { size_bytes: size.filter(|_| !matches!(writes, Writes::OnOff { .. })), writes },
            receiving: Receiving {
                window: window.map_or(Window::Ample, Window::Fixed),
                ..Receiving::default()
            },
            reorder,
            rtt_at: step.into_iter().map(|(at, rtt)| (ms(at), ms(rtt))).collect(),
            ack_jitter: ms(jitter.unwrap_or(0)),
            ack_aggregation: ms(aggregation.unwrap_or(0)),
            ack_loss_ppb: loss.unwrap_or(0),
            host_jitter: Duration::from_micros(host.unwrap_or(0)),
            ..Flow::new("", algorithm("bbr1"), Duration::ZERO)
        },
    )
}

fn any_link() -> impl Strategy<Value = Link> {
    // from half a packet to a megabyte of buffer
    let rate = || prop_oneof![1 => Just(0), 5 => 64_000u64..50_000_000];
    let rates = prop::option::weighted(0.3, (rate(), 64_000u64..50_000_000));
    let policer = (10_000u64..50_000_000, 1514u64..100_000)
        .prop_map(|(rate_bps, burst_bytes)| Policer { rate_bps, burst_bytes });
    let loss = prop::option::weighted(0.3, (1u64..100_000_000, prop::option::of(2u64..20)));
    let plain = (64_000u64..50_000_000, prop_oneof![700u64..20_000, 1_000u64..1_000_000]);
    (plain, rates, prop::option::weighted(0.3, policer), loss).prop_map(
        |((rate_bps, buffer_bytes), rates, policer, loss)| {
            let rate_at = rates.map(|(one, other)| vec![(ms(2000), one), (ms(4000), other)]);
            let burst =
                |pkts| Burst { length: BurstLength::Pkts(pkts), inside_ppb: 1_000_000_000, outside_ppb: 0 };
            let loss = loss.map(|(ppb, pkts)| Loss { ppb, burst: pkts.map(burst) });
            let (rate_at, loss) = (rate_at.unwrap_or_default(), loss.unwrap_or_default());
            Link { rate_at, policer, loss, ..Link::new("link", rate_bps, buffer_bytes) }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Debug builds also check the conservation of packets and, now and then, every scoreboard.
    #[test]
    fn accounts_are_sound_for_any_scenario(
        links in prop::collection::vec(any_link(), 1..4),
        flows in prop::collection::vec(any_flow(), 1..6),
        seed in any::<u64>(),
        interval_ms in 1u64..7000,
        window_ms in (0u64..3000, 1u64..3000),
    ) {
        let from = ms(window_ms.0);
        let s = Scenario {
            seed,
            interval: ms(interval_ms),
            window: (from, from + ms(window_ms.1)),
            duration: Duration::from_secs(6),
            ..scenario(links, flows, 0, 6)
        };
        let r = run(&s);
        let capacity = |l: &Link, from: Duration, to: Duration| {
            let begins = std::iter::once((Duration::ZERO, l.rate_bps)).chain(l.rate_at.iter().copied());
            let ends = l.rate_at.iter().map(|(at, _)| *at).chain([Duration::MAX]);
            begins.zip(ends).map(|((begins, rate), ends)| {
                rate as f64 * ends.min(to).saturating_sub(begins.max(from)).as_secs_f64()
            }).sum::<f64>()
        };
        let least = s.links.iter().map(|l| capacity(l, Duration::ZERO, s.duration)).fold(f64::MAX, f64::min);
        let total: f64 = r.summary.flows.iter().map(|f| f.goodput_mbps).sum();
        // a packet that was in transmission when the window opened counts in full, and one filled hole may
        // make a whole window of data available at once
        for (l, asked) in r.summary.links.iter().zip(&s.links) {
            let possible = capacity(asked, s.window.0, s.window.1);
            let sent = l.utilization * possible;
            prop_assert!(sent <= possible + 1514.0 * 8.0 + 1e-3, "{sent} of {possible} bits");
            let shares: f64 = l.backlog_share.iter().sum();
            prop_assert!(shares == 0.0 || (shares - 1.0).abs() < 1e-9);
        }
        let whole_run: f64 = r.summary.cost.data_packets as f64 * 1514.0 * 8.0;
        prop_assert!(whole_run <= least * 1.001 + 1514.0 * 8.0, "{whole_run} bits through {least}");
        prop_assert!(total.is_finite());
        for (f, asked) in r.summary.flows.iter().zip(&s.flows) {
            let shortest = asked.rtt_at.iter().map(|(_, rtt)| *rtt).fold(asked.rtt, Duration::min);
            prop_assert!(f.rtt_mean_ms.is_none_or(|rtt| rtt >= shortest.as_secs_f64() * 1e3 - 1e-6));
            let size = asked.traffic.size_bytes.unwrap_or(u64::MAX);
            prop_assert!(f.completion_s.is_none_or(|s| s > 0.0 && size < u64::MAX));
        }
    }
}
