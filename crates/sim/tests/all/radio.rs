//! Links to satellites and over Wi-Fi: what their steps and delays do to flows.

use std::time::Duration;

use crate::support::{EFFICIENCY, algorithm, flow, link, ms, run, scenario};
use fairpace_results::Silent;
use fairpace_scenario::{Cc, Flow, Handover, Line, Link, Media, Scenario, Writes};

/// Mohan et al., WWW 2024: 15 s; the bent pipe takes 36 to 48 ms; below a second of outage.
fn starlink() -> Handover {
    Handover { every: Duration::from_secs(15), rate_bps: Some(50_000_000), delay: ms(12), outage: ms(100) }
}

fn sky(handover: Handover) -> Link {
    Link { handover: Some(handover), ..link(100, 500_000) }
}

/// A fixed rate far below the link's, so that nothing waits except at handovers.
fn slow(rtt_ms: u64) -> Flow {
    let mut flow = Flow::new("call", Cc::Uncontrolled, ms(rtt_ms));
    let audio = Media { rate_bps: 64_000, per_s_milli: 50_000, deviation_ppb: 0, ..Media::default() };
    flow.traffic.writes = Writes::Frames(audio);
    flow
}

/// The delay of a packet between handovers is that of the link, and one of 0 to 12 ms beside it that is the
/// same until the next.
#[test]
fn delays_change_at_handovers_only() {
    let run =
        run(&scenario(vec![sky(Handover { outage: Duration::ZERO, ..starlink() })], vec![slow(36)], 0, 150));
    let (rtts, times) = (&run.series.flows[0].rtt_ms, &run.series.t_s);
    // the interval before a time; the first handover is at 15 s
    let within = |from: f64, to: f64| {
        let points = times.iter().zip(rtts).filter(move |(t, _)| **t > from + 0.2 && **t < to);
        points.map(|(_, rtt)| *rtt).collect::<Vec<_>>()
    };
    let first = within(0.0, 15.0)[0];
    assert!((36.0..36.1).contains(&first), "{first}");
    let mut seen = Vec::new();
    for number in 0..10 {
        let values = within(f64::from(number) * 15.0, f64::from(number + 1) * 15.0);
        assert!(values.iter().all(|rtt| (rtt - values[0]).abs() < 1e-3), "{values:?}");
        assert!((first..=first + 12.0).contains(&values[0]), "{values:?}");
        seen.push(values[0]);
    }
    seen.sort_by(f32::total_cmp);
    seen.dedup();
    assert_eq!(seen.len(), 10, "each handover has another delay");
}

/// 100 ms of 15 s are outage, and rates are 75 Mbit/s on average.
#[test]
fn a_bulk_flow_gets_the_mean_of_the_rates() {
    let s = scenario(vec![sky(starlink())], vec![flow("bbr1", 40, 0)], 15, 315);
    let r = run(&s);
    let (goodput, link) = (r.summary.flows[0].goodput_mbps, &r.summary.links[0]);
    let steps = fairpace_netem::rate_steps(&s, 0);
    let rates = steps.iter().filter(|(_, rate)| *rate > 0).take(20).map(|(_, rate)| *rate as f64 / 1e6);
    let mean_mbps = rates.sum::<f64>() / 20.0 * (1.0 - 0.1 / 15.0);
    assert!((mean_mbps - 75.0).abs() < 4.0 * 50.0 / (12.0f64 * 20.0).sqrt(), "{mean_mbps}");
    assert!(goodput < mean_mbps * EFFICIENCY, "{goodput} of {mean_mbps}");
    // utilization is relative to the rates at their times
    assert!((goodput / mean_mbps / EFFICIENCY / link.utilization - 1.0).abs() < 0.01, "{goodput} {link:?}");
    assert!(link.utilization > 0.8, "{link:?}");
    assert!(link.queue_delay_max_ms.unwrap() >= 100.0, "{link:?}");
}

/// A packet that comes in an outage waits for its end: of 50 per second five in 100 ms, up to 100 ms.
#[test]
fn an_outage_delays_what_comes_in_it() {
    let quiet = Handover { rate_bps: None, delay: Duration::ZERO, ..starlink() };
    let mut call = slow(40);
    if let Writes::Frames(media) = &mut call.traffic.writes {
        media.deadline = ms(65);
    }
    let r = run(&scenario(vec![sky(quiet)], vec![call], 0, 151));
    let media = r.summary.flows[0].media.clone().unwrap();
    // the packets of 0, 20 and 40 ms after each handover wait for more than 65 - 20 ms
    assert_eq!((media.late, media.lost), (30, 0), "{media:?}");
    assert_eq!(media.longest_freeze_ms, 60.0);
}

#[test]
fn both_models_are_the_same_with_and_without_the_fast_path() {
    let wifi = Link {
        line: Line { wifi_jitter: Some(ms(7)), delay: ms(1), ..Line::default() },
        ..Link::new("wifi", 20_000_000, 100_000)
    };
    for link in [sky(Handover { every: Duration::from_secs(2), ..starlink() }), wifi] {
        let s = Scenario {
            seed: 3,
            ..scenario(vec![link], vec![flow("bbr3", 30, 0), flow("cubic", 40, 100), slow(20)], 2, 12)
        };
        let per_hop = fairpace_sim::run_per_hop(&s, &mut Silent).expect("the scenario is valid");
        assert_eq!(run(&s).summary.stable_json(), per_hop.summary.stable_json());
        // and in epochs
        let s = Scenario { flows: s.flows[..2].to_vec(), ..s };
        let per_hop = fairpace_sim::run_per_hop(&s, &mut Silent).expect("the scenario is valid");
        assert_eq!(run(&s).summary.stable_json(), per_hop.summary.stable_json());
    }
}

/// Both ways: ACKs over a link of their own meet its channel, too.
#[test]
fn wifi_delays_data_and_acks() {
    let jittery = |name: &str| Link {
        line: Line { wifi_jitter: Some(ms(1)), ..Line::default() },
        ..Link::new(name, 1_000_000_000, 1_000_000)
    };
    let one = Flow { route: Some(vec!["down".to_owned()]), ..flow("fixed_cwnd", 20, 0) };
    let one = Flow { cc: with_cwnd(4), ..one };
    let both = Flow { reverse: vec!["up".to_owned()], ..one.clone() };
    let goodput = |flow: Flow| {
        let r = run(&scenario(vec![jittery("down"), jittery("up")], vec![flow], 2, 62));
        r.summary.flows[0].goodput_mbps
    };
    let (one, both) = (goodput(one), goodput(both));
    // four packets per round trip: 20 ms, and of four packets in order the longest delay
    let at = |rtt_ms: f64| 4.0 * 1448.0 * 8.0 / rtt_ms / 1e3;
    assert!(one < at(20.7) && one > at(23.0), "{one}, {} to {}", at(23.0), at(20.7));
    assert!(both < one * 0.98, "{both} of {one}");
}

fn with_cwnd(pkts: u32) -> Cc {
    let mut cc = algorithm("fixed_cwnd");
    cc.set("cwnd_pkts", &pkts.to_string()).expect("the parameter can have the value");
    cc
}
