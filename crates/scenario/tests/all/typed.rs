//! Scenarios that a program put together, values that follow from others, and other targets: the same check.

use crate::support::{GOOD, good, read};
use fairpace_scenario::{
    Arrivals, Ecn, Flow, Limit, Queue, Red, RedRules, Scenario, Sizes, Target, Trace, Traffic, parse,
};

/// A change of [`good`], the key that it is about, beginning of the message.
type Case = (fn(&mut Scenario), &'static str, &'static str);

const CASES: &[Case] = &[
    (
        |s| s.links[0].queue = Queue::Step(Limit::Bytes(3_000_000)),
        "link.1.mark_above",
        "the queue marks above",
    ),
    (
        |s| s.links[0].queue = Queue::Red(Red { burst_pkts: 1, ..Red::before(RedRules::Linux, 2_000_000) }),
        "link.1.red_burst",
        "a burst of 1",
    ),
    (|s| s.links[0].line.duplicate_ppb = 2_000_000_000, "link.1.duplicate", "`duplicate` is 200%"),
    (|s| s.links[0].burst_bytes = Some(1), "link.1.burst", "`burst` is 1B"),
    (
        |s| s.links[0].trace = Some(Trace { file: "x".into(), opportunities_ms: [5].into() }),
        "link.1.trace",
        "the trace has a link with a rate of its own",
    ),
    (
        |s| {
            let trace =
                Trace { file: "x".into(), opportunities_ms: [[0; 40_000], [1; 40_000]].concat().into() };
            (s.links[0].rate_bps, s.links[0].trace) = (trace.mean_bps(), Some(trace));
        },
        "link.1.trace",
        "the trace has a wrong mean rate: `rate` is 968960mbit; it must be at most 400gbit",
    ),
    (
        |s| s.links[0].trace = Some(Trace { file: "x".into(), opportunities_ms: [5, 4].into() }),
        "link.1.trace",
        "the trace goes back in time",
    ),
    (|s| s.links[0].line.reorders = true, "link.1.reorders", "`reorders` has no effect without `jitter`"),
    (
        |s| (s.flows[0].receiving.delayed_ack, s.flows[0].receiving.ack_every) = (false, 4),
        "flow.1.ack_every",
        "`ack_every` has no effect with `delayed_ack = false`",
    ),
    (|s| s.flows[0].sending.initial_cwnd_pkts = 0, "flow.1.initial_cwnd", "`initial_cwnd` is 0"),
    (
        |s| s.flows[0].arrivals = Some(arrivals(Sizes { name: "x".into(), cdf: [(5, 5)].into() })),
        "flow.1.sizes",
        "the distribution does not end at the share 1",
    ),
    (
        |s| {
            let size = Traffic { size_bytes: Some(5), ..Traffic::default() };
            s.flows[0] = Flow {
                arrivals: Some(arrivals(Sizes::built_in("pareto").unwrap())),
                traffic: size,
                ..s.flows[0].clone()
            };
        },
        "flow.1.size",
        "`arrivals` and `size` exclude each other",
    ),
    (|s| s.flows[0].route = Some(vec!["x".into()]), "flow.1.route", "there is no link `x`"),
];

#[test]
fn what_is_wrong_with_a_scenario_of_a_program_is_one_problem_at_its_key() {
    for (change, key, message) in CASES {
        let mut scenario = good();
        change(&mut scenario);
        let problems = scenario.sealed(Target::Simulator).unwrap_err().problems;
        assert_eq!(problems.iter().map(|p| p.key.as_str()).collect::<Vec<_>>(), [*key], "{problems:?}");
        assert!(problems[0].message.starts_with(*message), "{}", problems[0].message);
    }
}

#[test]
fn defaults_that_are_out_of_range_or_have_no_effect_are_reported() {
    // a third of 2 GB below the threshold is 6 GB above it, where RED's average ends
    let text = GOOD.replace("\"2MB\"", "\"16GB\"\nqueue = \"red\"\nred_min = \"2GB\"");
    let problems = read(&text).unwrap_err().problems;
    let found: Vec<_> = problems.iter().map(|p| (p.key.as_str(), p.message.as_str(), p.line)).collect();
    assert_eq!(found, [("link.red_max", "`red_max` is 6GB; it must be at most 4GB", 4)]);
    // a key that is given at its default has no effect either
    let text = GOOD.replace("\"2MB\"", "\"2MB\"\njitter = \"0s\"\nreorders = true");
    let problems = read(&text).unwrap_err().problems;
    let found: Vec<_> = problems.iter().map(|p| (p.kind, p.key.as_str(), p.line)).collect();
    assert_eq!(found, [("missing-key", "link.reorders", 8)]);
}

#[test]
fn a_key_that_the_testbed_does_not_have_is_shown_at_its_place() {
    let refused = |set: &str| {
        let error = parse("test.toml", GOOD, &[set.parse().unwrap()], Target::Testbed).unwrap_err();
        let problem = &error.problems[0];
        assert_eq!((error.problems.len(), problem.kind), (1, "not-on-target"), "{error}");
        assert_eq!(problem.help, "leave it out, or run the scenario in the simulator");
        (problem.key.clone(), problem.message.clone(), problem.line)
    };
    let (key, message, line) = refused("flow.1.rack=false");
    assert_eq!((key.as_str(), message.as_str(), line), ("flow.rack", "the testbed does not have `rack`", 1));
    for ecn in ["classic", "dctcp", "accurate", "l4s"] {
        let set = ["flow.1.rack=true".parse().unwrap(), format!("flow.1.ecn={ecn}").parse().unwrap()];
        assert!(parse("test.toml", GOOD, &set, Target::Testbed).is_ok(), "{ecn}");
    }
}

/// What the testbed refuses in two flows that are changed, the simulator in none.
fn refused_by_the_testbed(change: impl Fn(&mut [Flow])) -> Option<(String, String)> {
    let mut scenario = good();
    change(&mut scenario.flows);
    assert!(scenario.clone().sealed(Target::Simulator).is_ok());
    let error = scenario.sealed(Target::Testbed).err()?;
    let [problem] = error.problems.as_slice() else { panic!("one problem: {error}") };
    assert_eq!(problem.kind, "not-on-target");
    Some((problem.key.clone(), problem.message.clone()))
}

#[test]
fn on_the_testbed_flows_share_what_belongs_to_a_host() {
    type Change = fn(&mut Flow);
    let settings: [(&str, Change); 5] = [
        ("tso", |flow| flow.sending.tso = false),
        ("sack", |flow| flow.sending.sack = false),
        ("accecn_option", |flow| {
            (flow.sending.ecn, flow.sending.accecn_option) = (Ecn::Accurate, false);
        }),
        ("syn_linear_timeouts", |flow| flow.sending.syn_linear_timeouts = 0),
        ("synack_retries", |flow| flow.receiving.syn_ack_retries = 1),
    ];
    for (key, change) in settings {
        let refused = refused_by_the_testbed(|flows| change(&mut flows[1]));
        let message = format!("flows `10ms` and `50ms` differ in `{key}`");
        assert_eq!(refused, Some((format!("flow.2.{key}"), message)));
        assert_eq!(refused_by_the_testbed(|flows| flows.iter_mut().for_each(change)), None);
    }
}

#[test]
fn linux_cannot_be_kept_from_pacing_for_an_algorithm_that_asks_for_it() {
    let refused = |cc: &str, pacing| {
        refused_by_the_testbed(|flows| {
            (flows[0].cc, flows[0].sending.pacing) = (cc.parse().unwrap(), pacing);
        })
    };
    assert_eq!(refused("cubic", Some(false)), None);
    assert_eq!(refused("bbr3", Some(true)), None);
    let message = "`bbr3` paces on Linux, which has no switch against it".to_owned();
    assert_eq!(refused("bbr3", Some(false)), Some(("flow.1.pacing".to_owned(), message)));
    for (cc, paces) in [("kernel:bbr", true), ("kernel:cubic", false)] {
        let mut scenario = good();
        (scenario.flows[0].cc, scenario.flows[0].sending.pacing) = (cc.parse().unwrap(), Some(false));
        assert_eq!(scenario.sealed(Target::Testbed).is_err(), paces, "{cc}");
    }
}

fn arrivals(sizes: Sizes) -> Arrivals {
    Arrivals { per_s_milli: 1, sizes }
}
