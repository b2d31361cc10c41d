//! The list of algorithms, their parameters, and the errors that a user sees.

use fairpace_cc::{Algorithm, Controller, Decision, Kind, Params, Phase, Unit, View};
use std::collections::BTreeSet;

fn algorithm(name: &str) -> Algorithm {
    Algorithm::by_name(name).unwrap()
}

#[test]
fn each_line_of_algorithms_def_is_an_algorithm() {
    let list = include_str!("../../algorithms.def");
    let named = list
        .lines()
        .filter_map(|l| l.strip_prefix("CC_ALGORITHM(").or(l.strip_prefix("CC_PRESET("))?.split(',').next());
    let named: Vec<_> = named.collect();
    assert_eq!(Algorithm::all().map(Algorithm::name).collect::<Vec<_>>(), named);
    assert!(named.contains(&"bbr1") && named.contains(&"bbq"));
}

#[test]
fn descriptions_are_complete_and_names_fit_where_they_are_used() {
    let mut names = BTreeSet::new();
    for a in Algorithm::all() {
        assert!(names.insert(a.name()), "{a} is listed twice");
        assert_eq!(a.kernel_name(), format!("fp_{a}"));
        assert!(a.kernel_name().len() <= 15, "the kernel's limit: {}", a.kernel_name());
        assert!(!a.title().is_empty() && !a.source().is_empty());
        let mut names = BTreeSet::new();
        for p in a.parameters() {
            assert!(names.insert(p.name), "{a}: {} is declared twice", p.name);
            assert!(p.least <= p.default && p.default <= p.most, "{a}: {}", p.name);
            assert!(!p.meaning.is_empty());
            assert!(
                p.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
                "{}",
                p.name
            );
            assert_eq!(p.unit == Unit::Bool, p.most == 1 && p.least == 0, "{a}: {}", p.name);
        }
    }
    assert_eq!(algorithm("bbr1").kind(), Kind::OwnsCwnd);
    assert_eq!(algorithm("cubic").kind(), Kind::GrowsCwnd);
}

#[test]
fn every_parameter_can_be_set_to_its_default_and_its_limits_and_no_further() {
    for a in Algorithm::all() {
        for p in a.parameters() {
            let mut params = Params::defaults(a);
            for raw in [p.least, p.most, p.default] {
                params.set(p.name, &p.unit.format(raw)).unwrap();
                assert_eq!(params.get(p.name), Some(raw), "{a}: {}", p.name);
            }
            let beyond = p.most.checked_add(1).filter(|_| p.unit != Unit::Bool);
            for raw in p.least.checked_sub(1).into_iter().chain(beyond) {
                let error = params.set(p.name, &p.unit.format(raw)).unwrap_err().to_string();
                assert!(error.contains("must be from"), "{error}");
                assert_eq!(params.get(p.name), Some(p.default), "nothing is changed by an error");
            }
        }
    }
}

#[test]
fn parameters_are_bytes_in_declaration_order() {
    let mut params = Params::defaults(algorithm("bbq"));
    params.set("startup_gain", "2.5").unwrap();
    params.set("alpha", "5ms").unwrap();
    let words: Vec<u32> =
        params.as_bytes().chunks_exact(4).map(|w| u32::from_ne_bytes(w.try_into().unwrap())).collect();
    assert_eq!(words.len(), params.algorithm().parameters().len());
    assert_eq!(words[0], 640);
    let index = params.algorithm().parameters().iter().position(|p| p.name == "alpha").unwrap();
    assert_eq!(words[index], 5000);
    assert!(params.formatted().contains(&("alpha", "5ms".to_owned())));
}

#[test]
fn an_unknown_algorithm_is_reported_with_the_nearest_name() {
    let error = Algorithm::by_name("nyu_lat").unwrap_err();
    assert_eq!(error.nearest, Some("nyu_latency"));
    let known = Algorithm::all().map(Algorithm::name).collect::<Vec<_>>().join(", ");
    let text = format!("there is no algorithm \"nyu_lat\", did you mean \"nyu_latency\"?; known: {known}");
    assert_eq!(error.to_string(), text);
    assert_eq!(Algorithm::by_name("xyzzy").unwrap_err().nearest, None);
    assert_eq!(Algorithm::by_name("CUBIC").unwrap_err().nearest, Some("cubic"));
}

#[test]
fn errors_name_the_parameter_what_is_wrong_and_what_to_write() {
    let mut params = Params::defaults(algorithm("bbq"));
    for (name, value, error) in [
        ("alpha", "3", "bbq: alpha cannot be \"3\": it is a time, for example \"3ms\""),
        ("alpha", "60s", "bbq: alpha cannot be 60s: it must be from 1us to 10s, for example \"3ms\""),
        ("beta", "-1%", "bbq: beta cannot be \"-1%\": it is a percentage, for example \"1%\""),
        ("beta", "200%", "bbq: beta cannot be 200%: it must be from 0% to 100%, for example \"1%\""),
        ("lt_bw", "maybe", "bbq: lt_bw cannot be \"maybe\": it is true or false, for example \"true\""),
        (
            "probe_up_gain",
            "0.9",
            "bbq: probe_up_gain cannot be 0.9: it must be from 1.004 to 4, for example \"1.25\"",
        ),
        (
            "min_cwnd_pkts",
            "1.5",
            "bbq: min_cwnd_pkts cannot be \"1.5\": it is a number of packets, for example \"4\"",
        ),
    ] {
        assert_eq!(params.set(name, value).unwrap_err().to_string(), error);
    }
    let unknown = params.set("alfa", "3ms").unwrap_err().to_string();
    assert!(
        unknown.starts_with("bbq has no parameter \"alfa\", did you mean \"alpha\"?; it has: "),
        "{unknown}"
    );
    assert_eq!(params, Params::defaults(algorithm("bbq")));
}

#[test]
fn parameters_reach_the_algorithm() {
    let mut params = Params::defaults(algorithm("bbr1"));
    params.set("startup_gain", "2").unwrap();
    let view = View::default();
    let flow = Controller::new(&params, &view, &mut Decision::in_force(&view));
    assert_eq!(flow.observe().pacing_gain_256, 512);
}

#[test]
fn a_copied_flow_is_independent() {
    let view = View { cwnd_limited: true, acked_pkts: 5, ..View::default() };
    let mut decision = Decision::in_force(&view);
    let mut one = Controller::new(&Params::defaults(algorithm("cubic")), &view, &mut decision);
    let two = one.clone();
    decision.ssthresh_pkts = 1;
    one.on_ack(&view, &mut decision);
    assert_eq!((one.observe().phase, two.observe().phase), (Phase::Avoidance, Phase::SlowStart));
    assert_ne!(one.state_bytes(), two.state_bytes());
}

#[test]
fn state_bytes_of_the_wrong_length_are_refused() {
    let bbr1 = algorithm("bbr1");
    let error = bbr1.observe_bytes(&[0; 3]).unwrap_err();
    assert_eq!(error.to_string(), format!("the state of bbr1 has {} bytes, not 3", bbr1.state_bytes()));
    assert_eq!(bbr1.observe_bytes(&vec![0; bbr1.state_bytes()]).unwrap().phase, Phase::Startup);
}

#[test]
fn a_first_estimate_of_nothing_is_still_paced() {
    // a host that has no MSS yet, or one so small and an RTT so long that the rate rounds to zero
    for mss_bytes in [0, 1, 3] {
        let (srtt_us, cwnd_pkts) = (u32::MAX, 1);
        let view = View { mss_bytes, srtt_us, cwnd_pkts, ..View::default() };
        let mut decision = Decision::in_force(&view);
        Controller::new(&Params::defaults(algorithm("bbr1")), &view, &mut decision);
        assert_eq!(decision.pacing_rate_Bps, 1, "MSS {mss_bytes}");
    }
}
