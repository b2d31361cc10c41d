//! No text makes the reader panic; what it prints, it reads.

mod support;

use std::time::Duration;

use fairpace_scenario::keys::{KEYS, Kind};
use fairpace_scenario::quantity::{self, Dimension};
use fairpace_scenario::{
    Burst, Flow, Link, Loss, Policer, Receiving, Reorder, Scenario, Set, Steps, Traffic, WHOLE_PPB, Window,
    Writes, parse,
};
use proptest::prelude::*;
use support::{GOOD, Two};

const CATALOG: Two = Two { kernel: true };

/// Values that are wrong in as many ways as possible, and right now and then.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "\"-?[0-9]{0,25}(\\.[0-9]{0,25})? ?(ns|us|ms|s|h|bit|mbit|gbit|B|MB|bdp|%|x)?\"",
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
    let keys: Vec<_> = KEYS.iter().map(|key| key.name).collect();
    prop_oneof![
        8 => (prop::sample::select(keys), value()).prop_map(|(key, value)| format!("{key} = {value}")),
        2 => prop::sample::select(vec!["[[link]]", "[[flow]]", "[window]", "[flow.set]", "[link]"]).prop_map(str::to_owned),
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
    let burst =
        (1u64..1000, 500_000_000..=WHOLE_PPB).prop_map(|(pkts, ppb)| Burst { pkts, ppb, outside_ppb: 0 });
    (1..200_000_000u64, prop::option::of(burst)).prop_map(|(ppb, burst)| Loss { ppb, burst })
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

/// A link with everything that may happen on it.
fn link() -> impl Strategy<Value = Link> {
    let policer = (1_000u64..1 << 36, 1514u64..1 << 30)
        .prop_map(|(rate_bps, burst_bytes)| Policer { rate_bps, burst_bytes });
    let plain = (1_000u64..=400_000_000_000, 1514u64..=16_000_000_000);
    (plain, loss(), steps(0u64..1 << 36), prop::option::of(policer)).prop_map(
        |((rate_bps, buffer_bytes), loss, rate_at, policer)| Link {
            loss,
            rate_at,
            policer,
            ..Link::new("", rate_bps, buffer_bytes)
        },
    )
}

/// A flow without the parts that have their own strategies, with everything else.
fn conditions() -> impl Strategy<Value = Flow> {
    let reorder = (1..=WHOLE_PPB, time(1_000, 1 << 33)).prop_map(|(ppb, delay)| Reorder { ppb, delay });
    let times = (time(0, 1 << 33), time(0, 1 << 33), time(0, 1 << 33));
    let rtts = steps(time(10_000, 1 << 33));
    (traffic(), prop::option::of(reorder), times, rtts, prop::option::of(1448u64..1 << 30), 0..=WHOLE_PPB)
        .prop_map(
            |(
                traffic,
                reorder,
                (ack_jitter, ack_aggregation, host_jitter),
                rtt_at,
                receive_buffer,
                ack_loss_ppb,
            )| {
                let window = receive_buffer.map_or(Window::Ample, Window::Fixed);
                let receiving = Receiving { window, ..Receiving::default() };
                let plain = Flow::new("", "", Duration::ZERO);
                Flow {
                    traffic,
                    reorder,
                    ack_jitter,
                    ack_aggregation,
                    host_jitter,
                    rtt_at,
                    receiving,
                    ack_loss_ppb,
                    ..plain
                }
            },
        )
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
    ]
}

prop_compose! {
    fn scenario()(
        title in name(),
        why in "[ -~\n]{0,40}",
        seed in 0..=i64::MAX as u64,
        duration in time(1_000_000_000, 86_400_000_000_000),
        links in prop::collection::vec(link(), 1..4),
        flows in prop::collection::vec((time(10_000, 10_000_000_000), 0..1_000_000_000u64, any::<bool>(), name(), conditions()), 1..6),
    ) -> Scenario {
        let link = |(index, link)| Link { name: format!("l{index}"), ..link };
        let flow = |(index, (rtt, start, stops, text, conditions)): (usize, (Duration, u64, bool, String, Flow))| Flow {
            name: format!("{index}{text}"),
            cc: if stops { "kernel:bbr".into() } else { "bbq".into() },
            set: if stops { vec![] } else { vec![("alpha".to_owned(), text)] },
            rtt,
            start: Duration::from_nanos(start),
            stop: stops.then_some(duration),
            ..conditions
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}", key in "\\PC{0,12}", new in "\\PC{0,12}") {
        let _ = parse("t", &text, &[Set::new(key, new)], &CATALOG);
    }

    #[test]
    fn no_lines_make_the_reader_panic(lines in prop::collection::vec(line(), 0..25)) {
        if let Err(error) = parse("t", &lines.join("\n"), &[], &CATALOG) {
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
            "seed", "duration", "window.to", "link.rate", "flow.cc", "flow.10ms.rtt", "flow.2.count", "flow.set",
            "bbq.alpha", "link.1.", "flow..", ".", "window", "link",
        ]),
        value in "\\PC{0,12}",
    ) {
        let _ = parse("t", GOOD, &[Set::new(key, value)], &CATALOG);
    }

    #[test]
    fn damage_to_a_good_file_is_an_error_or_a_plausible_scenario(at in 0..GOOD.len(), byte in any::<char>()) {
        let text: String = GOOD.chars().enumerate().map(|(index, c)| if index == at { byte } else { c }).collect();
        match parse("t", &text, &[], &CATALOG) {
            Ok(scenario) => prop_assert!(scenario.clone().sealed(&CATALOG).is_ok()),
            Err(error) => prop_assert!(!error.problems.is_empty()),
        }
    }

    #[test]
    fn what_is_printed_is_read_back(scenario in scenario()) {
        let sealed = scenario.sealed(&CATALOG).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let again = parse("t", &sealed.to_toml(), &[], &CATALOG).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(again, sealed);
    }

    #[test]
    fn a_quantity_survives_being_written(value in any::<u64>()) {
        // more than the largest number of decimal digits that are read is beyond every bound
        for dimension in [Dimension::Time, Dimension::Rate, Dimension::Size, Dimension::Share] {
            let value = value % 1_000_000_000_000_000_000;
            prop_assert_eq!(quantity::parse(&quantity::show(value, dimension), dimension), Ok(value));
        }
    }
}

#[test]
fn every_default_and_bound_of_a_quantity_can_be_written() {
    for key in KEYS {
        let Kind::Quantity(dimension) = key.kind else { continue };
        for bound in [key.least, key.most] {
            assert_eq!(quantity::parse(&key.show(bound), dimension), Ok(bound), "{}", key.name);
        }
    }
}
