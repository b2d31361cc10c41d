//! Implementations with one mistake each fail the cases about that, and no others.

use fairpace_cc::{Algorithm, Params};
use fairpace_conform::{Outcome, Own, contained, run};

/// The cases that our BBRv3 of the draft fails with these settings.
fn failed(settings: &[(&str, &str)]) -> Vec<String> {
    let mut params = Params::defaults(Algorithm::by_name("bbr3_draft").expect("it is listed"));
    for (name, value) in settings {
        params.set(name, value).expect("it is a parameter");
    }
    let cases = contained().expect("the contained cases are cases");
    let fails = |case: &&_| !matches!(run(case, &mut Own::with(params)), Outcome::Passed { .. });
    cases.iter().filter(fails).map(|case| case.header.case.clone()).collect()
}

#[test]
fn each_mistake_is_found_by_its_cases() {
    let mistakes: &[(&str, &str, &[&str])] = &[
        ("startup_pacing_gain", "1.5", &["A.20"]),
        ("full_bw_rounds", "8", &["A.1", "A.5"]),
        ("full_bw_gain", "2.5", &["A.15"]),
        ("full_loss_events", "0", &["A.2"]), // STARTUP does not end by loss
        ("drain_gain", "0.35", &["A.1", "A.3", "A.4", "A.12"]),
        ("drain_max_rounds", "0", &["A.4"]), // DRAIN has no limit
        ("probe_up_gain", "1.1", &["A.5", "A.15", "A.22"]),
        ("probe_down_gain", "0.75", &["A.8", "A.9", "A.21"]),
        ("loss_thresh", "0.4", &["A.2", "A.6", "A.18", "A.21"]),
        ("headroom", "0", &["A.21"]),
        ("probe_rtt_interval", "10s", &["A.10", "A.20"]),
        ("probe_rtt_cwnd_gain", "1", &["A.10"]),
        ("extra_acked_gain", "0", &["A.13"]),
        ("min_cwnd_pkts", "1", &["A.14"]),
        ("undo_to_state", "off", &["A.18"]),
        // a gap: no case of the appendix has a loss for which the floor of 0.7 is the bound
        ("beta", "0.1", &[]),
    ];
    for (name, value, cases) in mistakes {
        assert_eq!(failed(&[(name, value)]), *cases, "{name}={value}");
    }
}
