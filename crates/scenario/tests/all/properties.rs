//! No text makes the reader panic; what it prints, it reads.

use std::time::Duration;

use crate::support::{GOOD, cc};
use fairpace_scenario::keys::{self, Kind};
use fairpace_scenario::quantity::{self, Dimension};
use fairpace_scenario::{
    Arrivals, Burst, BurstLength, Cc, Codel, DualPi2, Ecn, Flow, FqCodel, Limit, Line, Link, Loss, Media,
    Pie, Policer, Queue, Receiving, Red, RedRules, Reorder, Scenario, Sending, Set, Sizes, Steps, Target,
    Trace, Traffic, WHOLE_PPB, Window, Writes, parse,
};
use proptest::prelude::*;

/// Values that are wrong in as many ways as possible, and right now and then.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "\"-?[0-9]{0,25}(\\.[0-9]{0,25})? ?(ns|us|ms|s|h|bit|mbit|gbit|B|MB|bdp|pkts|/s|%|x)?\"",
        prop::sample::select(vec![
            "true",
            "false",
            "[\"link1\"]",
            "[\"link2\", \"x\"]",
            "\"codel\"",
            "\"red\"",
            "\"dctcp\""
        ])
        .prop_map(str::to_owned),
        prop::sample::select(vec![
            "\"pareto\"",
            "\"src\"",
            "\"/dev/zero\"",
            "\"tests/all/support/one-ms.trace\""
        ])
        .prop_map(str::to_owned),
        "-?[0-9]{1,22}",
        "[0-9]{1,3}\\.[0-9]{1,3}",
        Just("\"bbr1\"".to_owned()),
        Just("\"bbq\"".to_owned()),
        Just("{ alpha = \"1ms\", z = [] }".to_owned()),
        Just("[[], {}]".to_owned()),
        "\"\\PC{0,8}\"",
    ]
}

fn line() -> impl Strategy<Value = String> {
    let keys: Vec<_> = keys::all().map(|key| key.name).collect();
    prop_oneof![
        8 => (prop::sample::select(keys), value()).prop_map(|(key, value)| format!("{key} = {value}")),
        2 => prop::sample::select(vec!["[[link]]", "[[flow]]", "[window]", "[flow.set]", "[link]"])
            .prop_map(str::to_owned),
        1 => "\\PC{0,20}",
    ]
}

fn name() -> impl Strategy<Value = String> {
    "[ -~äöü]{1,20}"
}

fn time(least: u64, most: u64) -> impl Strategy<Value = Duration> {
    (least..=most).prop_map(Duration::from_nanos)
}

fn loss() -> impl Strategy<Value = Loss> {
    // what is lost outside of bursts is less than the mean
    let length = prop_oneof![
        (1u64..1000).prop_map(BurstLength::Pkts),
        time(1_000, 3_600_000_000_000).prop_map(BurstLength::Time),
    ];
    let burst = (length, 500_000_000..=WHOLE_PPB, 0u64..100);
    (1..200_000_000u64, prop::option::of(burst)).prop_map(|(ppb, burst)| {
        let burst = burst.map(|(length, within, outside)| Burst {
            length,
            inside_ppb: within,
            outside_ppb: ppb * outside / 100,
        });
        Loss { ppb, burst }
    })
}

fn steps<T: std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Steps<T>> {
    prop::collection::vec((1u64..1 << 40, value), 0..4).prop_map(|steps| {
        let mut at = Duration::ZERO;
        let mut later = |(gap, value)| {
            at += Duration::from_nanos(gap);
            (at, value)
        };
        steps.into_iter().map(&mut later).collect()
    })
}

fn codel() -> impl Strategy<Value = Codel> {
    (1_000..=1u64 << 20, 1..=1u64 << 33, any::<bool>(), prop::option::of(0..=1u64 << 33)).prop_map(
        |(target_ns, more_ns, ecn, ce_threshold_ns)| Codel {
            target_ns,
            interval_ns: (1 << 21) + more_ns,
            ecn,
            ce_threshold_ns,
            ce_threshold_l4s: ce_threshold_ns.is_some() && more_ns % 2 == 0,
        },
    )
}

fn red(buffer: u64) -> impl Strategy<Value = Red> {
    let rules =
        prop_oneof![Just(RedRules::Linux), any::<bool>().prop_map(|gentle| RedRules::Floyd { gentle })];
    (rules, 2..=buffer.min(4_000_000_000), 0u64..100, 1..=WHOLE_PPB, any::<bool>()).prop_map(
        |(rules, max_bytes, share, max_ppb, ecn)| {
            let min_bytes = (max_bytes * share / 100).max(1);
            Red { max_ppb, ecn, ..Red::between(rules, min_bytes.min(max_bytes - 1), max_bytes) }
        },
    )
}

fn queue(buffer: u64) -> impl Strategy<Value = Queue> {
    let pie = (1_000..=1u64 << 33, 100_000..=1u64 << 33, any::<bool>())
        .prop_map(|(target_ns, update_ns, ecn)| Queue::Pie(Pie { target_ns, update_ns, ecn }));
    let fq = (codel(), 1u32..=65_536, 256u32..1 << 20).prop_map(|(codel, buckets, quantum_bytes)| {
        Queue::FqCodel(FqCodel { codel, buckets, quantum_bytes })
    });
    let times = (1_000..=1u64 << 33, prop::option::of(1_000_000..=1u64 << 33), 1_000_000..=1u64 << 33);
    let ramp = (0..=1u64 << 33, 0..=1u64 << 33);
    let dual =
        (times, ramp, 1u32..=100, 0..=WHOLE_PPB).prop_map(|(times, ramp, coupling, classic_share_ppb)| {
            let ((target_ns, update_ns, rtt_max_ns), (ramp_from_ns, ramp_range_ns)) = (times, ramp);
            Queue::DualPi2(DualPi2 {
                target_ns,
                update_ns,
                rtt_max_ns,
                coupling,
                ramp_from_ns,
                ramp_range_ns,
                classic_share_ppb,
            })
        });
    let above = prop_oneof![(1..buffer).prop_map(Limit::Bytes), Just(Limit::Packets(1))];
    prop_oneof![
        3 => Just(Queue::Fifo),
        1 => above.prop_filter_map("less than the buffer", move |above| {
            (above.bytes() < buffer).then_some(Queue::Step(above))
        }),
        2 => red(buffer).prop_map(Queue::Red),
        1 => codel().prop_map(Queue::Codel),
        1 => fq,
        1 => pie,
        1 => dual,
    ]
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (1514u64..=16_000_000_000).prop_map(Limit::Bytes),
        (1u64..=10_000_000).prop_map(Limit::Packets)
    ]
}

/// Delays so short that no RTT is shorter.
fn delay() -> impl Strategy<Value = Duration> {
    time(0, 1_000)
}

fn behind() -> impl Strategy<Value = Line> {
    // seldom without jitter, so that few links are refused for `reorders` alone
    let jitter = prop_oneof![15 => time(0, 1 << 33), 1 => Just(Duration::ZERO)];
    (delay(), jitter, any::<bool>(), 0..=WHOLE_PPB).prop_map(|(delay, jitter, reorders, duplicate_ppb)| {
        Line { delay, jitter, reorders, duplicate_ppb, wifi_jitter: None, ..Line::default() }
    })
}

/// A file of the tests, and what it holds.
fn trace() -> Trace {
    Trace::read("tests/all/support/one-ms.trace", include_str!("support/one-ms.trace")).unwrap()
}

/// A link with everything that may happen on it.
fn link() -> impl Strategy<Value = Link> {
    let policer = (1_000u64..1 << 36, 1514u64..1 << 30)
        .prop_map(|(rate_bps, burst_bytes)| Policer { rate_bps, burst_bytes });
    let queued = limit().prop_flat_map(|buffer| (Just(buffer), queue(buffer.bytes())));
    let plain = (1_000u64..=400_000_000_000, prop::option::of(1514u64..1 << 33), prop::bool::weighted(0.2));
    (plain, queued, behind(), loss(), steps(0u64..1 << 36), prop::option::of(policer)).prop_map(
        |((rate_bps, burst_bytes, traced), (buffer, queue), line, loss, rate_at, policer)| {
            let plain = Link { buffer, queue, line, loss, policer, ..Link::new("", rate_bps, 0) };
            if traced {
                let trace = trace();
                Link { rate_bps: trace.mean_bps(), trace: Some(trace), ..plain }
            } else {
                Link { burst_bytes, rate_at, ..plain }
            }
        },
    )
}

#[expect(clippy::needless_update, reason = "a new key need not be drawn")]
fn sending() -> impl Strategy<Value = Sending> {
    let ecn = prop::sample::select(vec![Ecn::Off, Ecn::Classic, Ecn::Dctcp, Ecn::Accurate, Ecn::L4s]);
    let timeouts = (time(1_000, 1 << 36), 1u32..=127, 0u32..=127);
    (ecn, any::<[bool; 9]>(), any::<Option<bool>>(), 1u32..=1000, 576u32..=1500, timeouts).prop_map(
        |(ecn, on, pacing, initial_cwnd_pkts, mtu_bytes, timeouts)| {
            let (rto_min, syn_retries, syn_linear_timeouts) = timeouts;
            let [sack, rack, tlp, frto, undo, prr, idle_restart, tso, accecn_option] = on;
            Sending {
                ecn,
                accecn_option: accecn_option || ecn == Ecn::Off,
                sack,
                rack,
                tlp,
                frto,
                undo,
                prr,
                idle_restart,
                tso,
                pacing,
                initial_cwnd_pkts,
                mtu_bytes,
                rto_min,
                syn_retries,
                syn_linear_timeouts,
                ..Sending::default()
            }
        },
    )
}

#[expect(clippy::needless_update, reason = "a new key need not be drawn")]
fn receiving() -> impl Strategy<Value = Receiving> {
    let window = prop_oneof![
        Just(Window::Ample),
        (1448u64..1 << 30).prop_map(Window::Fixed),
        (1u64 << 16..1 << 30).prop_map(Window::Autotuned),
    ];
    // seldom both, so that few flows are refused for that alone
    let acks = prop_oneof![
        15 => (Just(true), 1u32..=1000),
        15 => (Just(false), Just(2)),
        1 => (any::<bool>(), 1u32..=1000),
    ];
    let delays = (time(0, 1 << 29), time(0, 1 << 33), steps(time(0, 1 << 33)));
    (window, acks, any::<[bool; 2]>(), delays, 0u32..=255).prop_map(
        |(window, (delayed_ack, ack_every), [sack_compression, psh_ack], delays, syn_ack_retries)| {
            let (gro, ack_delay, ack_delay_at) = delays;
            Receiving {
                window,
                ack_every,
                psh_ack,
                delayed_ack,
                sack_compression,
                gro,
                ack_delay,
                ack_delay_at,
                syn_ack_retries,
                ..Receiving::default()
            }
        },
    )
}

/// A workload of at most 10 flows per second: a scenario lasts for a day at most.
fn arrivals() -> impl Strategy<Value = Arrivals> {
    (1u64..10_000, prop::sample::select(Sizes::BUILT_IN.to_vec()))
        .prop_map(|(per_s_milli, name)| Arrivals { per_s_milli, sizes: Sizes::built_in(name).unwrap() })
}

/// A flow without the parts that have their own strategies, with everything else.
fn conditions() -> impl Strategy<Value = Flow> {
    let reorder = (1..=WHOLE_PPB, time(1_000, 1 << 33)).prop_map(|(ppb, delay)| Reorder { ppb, delay });
    let times = (time(0, 1 << 33), time(0, 1 << 33), time(0, 1 << 33));
    let rtts = steps(time(10_000, 1 << 33));
    let written = prop_oneof![
        4 => traffic().prop_map(|traffic| (traffic, None)),
        1 => arrivals().prop_map(|arrivals| (Traffic::default(), Some(arrivals))),
    ];
    (written, prop::option::of(reorder), times, rtts, 0..=WHOLE_PPB, delay(), sending(), receiving())
        .prop_map(
            |(
                (traffic, arrivals),
                reorder,
                times,
                rtt_at,
                ack_loss_ppb,
                access_delay,
                sending,
                receiving,
            )| Flow {
                traffic,
                arrivals,
                reorder,
                ack_jitter: times.0,
                ack_aggregation: times.1,
                host_jitter: times.2,
                rtt_at,
                ack_loss_ppb,
                access_delay,
                sending,
                receiving,
                ..Flow::new("", cc("bbq"), Duration::ZERO)
            },
        )
}

/// How a flow goes: where its route starts in a ring of all links, how many it takes, how many its ACKs take.
type Way = (usize, usize, usize);

/// RTT, start, whether it stops, a text, everything else, its way.
type Drawn = (Duration, u64, bool, String, (Flow, Way));

/// An algorithm with a parameter.
fn drawn(alpha_us: u32) -> Cc {
    let mut cc = cc("bbq");
    cc.set("alpha", &format!("{alpha_us}us")).unwrap();
    cc
}

/// Sends the flow over links by name, from node to node if there are nodes.
fn sent(flow: Flow, (first, most, back): Way, links: usize, nodes: bool) -> Flow {
    if nodes {
        return Flow { ends: Some(("n0".into(), format!("n{links}"))), ..flow };
    }
    let ring: Vec<_> = (0..links).map(|index| format!("l{}", (first + index) % links)).collect();
    let taken = 1 + most % links;
    let reverse = ring[taken..].iter().take(back).cloned().collect();
    Flow { route: Some(ring[..taken].to_vec()), reverse, ..flow }
}

prop_compose! {
    fn frames()(
        rate_bps in 1_000u64..=100_000_000,
        per_s_milli in 5_000u64..=1_000_000,
        deviation_ppb in 0..=WHOLE_PPB,
        // without key frames their weight is not written
        (key_every, key_weight) in prop_oneof![Just((0, 3)), (1u64..=10_000, 1u64..=20)],
        deadline in time(1_000_000, 10_000_000_000),
    ) -> Media {
        Media { rate_bps, per_s_milli, deviation_ppb, key_every, key_weight, deadline }
    }
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let size = || prop::option::of(1u64..1_000_000_000_000_000);
    prop_oneof![
        size().prop_map(|size_bytes| Traffic { size_bytes, writes: Writes::Always }),
        (time(1_000_000, 1 << 40), time(1_000_000, 1 << 40))
            .prop_map(|(on, off)| Traffic { size_bytes: None, writes: Writes::OnOff { on, off } }),
        (size(), 1_000u64..1_000_000_000, time(1_000_000, 1 << 40)).prop_map(
            |(size_bytes, rate_bps, every)| Traffic { size_bytes, writes: Writes::Paced { rate_bps, every } }
        ),
        (1u64..1 << 40, time(0, 1 << 40)).prop_map(|(bytes, think)| Traffic {
            size_bytes: None,
            writes: Writes::Responses { bytes, think }
        }),
        frames().prop_map(|media| Traffic { size_bytes: None, writes: Writes::Frames(media) }),
    ]
}

prop_compose! {
    fn scenario()(
        title in name(),
        why in "[ -~\n]{0,40}",
        seed in 0..=i64::MAX as u64,
        duration in time(1_000_000_000, 86_400_000_000_000),
        links in prop::collection::vec(link(), 1..4),
        flows in prop::collection::vec(
            (time(10_000, 10_000_000_000), 0..1_000_000_000u64, any::<bool>(), name(),
                (conditions(), (0..4usize, 0..4usize, 0..3usize))),
            1..6,
        ),
        nodes in any::<bool>(),
    ) -> Scenario {
        let count = links.len();
        let link = |(index, link): (usize, Link)| Link {
            name: format!("l{index}"),
            ends: nodes.then(|| (format!("n{index}"), format!("n{}", index + 1))),
            ..link
        };
        let flow = |(index, (rtt, start, stops, text, (conditions, way))): (usize, Drawn)| Flow {
            name: format!("{index}{text}"),
            cc: drawn(1 + u32::try_from(text.len()).unwrap()),
            rtt,
            start: Duration::from_nanos(start),
            stop: stops.then_some(duration),
            ..sent(conditions, way, count, nodes)
        };
        Scenario {
            title, why, seed, duration,
            window: (duration / 3, duration),
            interval: duration / 1000,
            links: links.into_iter().enumerate().map(link).collect(),
            flows: flows.into_iter().enumerate().map(flow).collect(),
            hash: String::new(),
        }
    }
}

/// The scenario as a file's. It may be refused for keys that have no effect: the case does not count then.
fn accepted(scenario: Scenario) -> Result<Scenario, TestCaseError> {
    scenario.sealed(Target::Simulator).map_err(|error| {
        if error.problems.iter().all(|problem| problem.message.contains(" has no effect with")) {
            TestCaseError::reject("a key without effect")
        } else {
            failed(error)
        }
    })
}

/// An error as the failure of a case.
fn failed(error: impl ToString) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}", key in "\\PC{0,12}", new in "\\PC{0,12}") {
        let _ = parse("t", &text, &[Set::new(key, new)], Target::Testbed);
    }

    #[test]
    fn no_lines_make_the_reader_panic(lines in prop::collection::vec(line(), 0..25)) {
        if let Err(error) = parse("t", &lines.join("\n"), &[], Target::Testbed) {
            prop_assert!(!error.problems.is_empty());
            for problem in &error.problems {
                prop_assert!(!problem.message.is_empty() && !problem.help.is_empty());
            }
            let report = format!("{:?}", miette::Report::new(error));
            prop_assert!(!report.is_empty());
        }
    }

    #[test]
    fn no_set_makes_the_reader_panic(
        key in prop::sample::select(vec![
            "seed", "duration", "window.to", "link.rate", "flow.cc", "flow.10ms.rtt", "flow.2.count",
            "flow.set", "bbq.alpha", "link.1.", "link.queue", "link.trace", "flow.route", "flow.sack",
            "flow.arrivals", "flow..", ".", "window", "link",
        ]),
        value in "\\PC{0,12}",
    ) {
        let _ = parse("t", GOOD, &[Set::new(key, value)], Target::Testbed);
    }

    #[test]
    fn damage_to_a_good_file_is_an_error_or_a_plausible_scenario(at in 0..GOOD.len(), byte in any::<char>()) {
        let replaced = |(index, c)| if index == at { byte } else { c };
        let text: String = GOOD.chars().enumerate().map(replaced).collect();
        match parse("t", &text, &[], Target::Testbed) {
            Ok(scenario) => prop_assert!(scenario.clone().sealed(Target::Testbed).is_ok()),
            Err(error) => prop_assert!(!error.problems.is_empty()),
        }
    }

    #[test]
    fn what_is_printed_is_read_back(scenario in scenario()) {
        let sealed = accepted(scenario)?;
        let again = parse("t", &sealed.to_toml(), &[], Target::Simulator).map_err(failed)?;
        prop_assert_eq!(again, sealed);
    }

    #[test]
    fn an_rtt_is_the_sum_of_its_parts_at_any_time(scenario in scenario()) {
        let sealed = accepted(scenario)?;
        for (flow, route) in sealed.flows.iter().zip(sealed.routes()) {
            let delay = |link: &u32| sealed.links[*link as usize].line.delay;
            let lines = |way: &[u32]| way.iter().map(delay).sum::<Duration>();
            let fixed = flow.access_delay + lines(&route.forward) + lines(&route.back);
            let rest = |rtt: Duration| (rtt - fixed).as_nanos() as u64;
            prop_assert_eq!(u128::from(route.access_ns), flow.access_delay.as_nanos());
            prop_assert_eq!(route.behind_ns, rest(flow.rtt) / 2);
            prop_assert_eq!(route.behind_ns + route.back_ns, rest(flow.rtt));
            for ((step, behind), back) in flow.rtt_at.iter().zip(&route.behind_at_ns).zip(&route.back_at_ns) {
                prop_assert_eq!((behind.0, back.0), (step.0.as_nanos() as u64, behind.0));
                prop_assert_eq!(behind.1 + back.1, rest(step.1));
                prop_assert!(back.1 - behind.1 <= 1);
            }
        }
    }

    #[test]
    fn no_file_makes_the_reader_panic(text in "([0-9]{0,12}[ .\t\n#-]?){0,40}|\\PC{0,60}") {
        if let Ok(trace) = Trace::read("t", &text) {
            prop_assert!(trace.opportunities_ms.is_sorted());
        }
        if let Ok(sizes) = Sizes::read("t", &text) {
            prop_assert_eq!(sizes.cdf.last().unwrap().1, WHOLE_PPB);
            prop_assert!((sizes.cdf[0].0..=sizes.cdf.last().unwrap().0).contains(&sizes.mean_bytes()));
        }
    }

    #[test]
    fn a_quantity_survives_being_written(value in any::<u64>()) {
        // more than the largest number of decimal digits that are read is beyond every bound
        for dimension in Dimension::ALL {
            let value = value % 1_000_000_000_000_000_000;
            prop_assert_eq!(quantity::parse(&quantity::show(value, dimension), dimension), Ok(value));
        }
    }
}

#[test]
fn an_algorithm_of_the_kernel_is_read_back() {
    let text = GOOD.replace("\"bbr1\"", "\"kernel:bbr\"");
    let scenario = parse("t", &text, &[], Target::Testbed).unwrap();
    assert_eq!(scenario.flows[0].cc, Cc::Kernel("bbr".to_owned()));
    assert_eq!(parse("t", &scenario.to_toml(), &[], Target::Testbed).unwrap(), scenario);
}

#[test]
fn every_default_and_bound_of_a_quantity_can_be_written() {
    for key in keys::all() {
        let Kind::Quantity(dimension) = key.kind else { continue };
        for bound in [key.least, key.most] {
            assert_eq!(quantity::parse(&key.show(bound), dimension), Ok(bound), "{}", key.name);
        }
    }
}
