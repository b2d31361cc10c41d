//! `fairpace-dev model`.

use crate::support::run;

#[test]
fn a_model_is_evaluated_by_name() {
    let of = |form: &str| {
        run(&["model", "queueing", "--form", form, "--set", "ratio=8", "--json"]).succeeds().json()
    };
    let [simulated, closed] =
        ["simulation", "corrected"].map(|form| of(form)["values"]["rounds"].as_f64().unwrap());
    assert!((simulated - closed).abs() < 0.1 * closed, "{simulated} and {closed}");
    assert_eq!(of("literal")["arguments"]["ratio"], 8.0);
    let page = run(&["model", "mimd", "--form", "literal"]).succeeds().stdout;
    assert!(page.contains("pacing_equilibrium_ms") && page.contains("Zhang et al."), "{page}");
    let list = run(&["model", "--list"]).succeeds().stdout;
    assert!(list.contains("queueing.threshold") && list.contains("filter_rounds"), "{list}");
}

#[test]
fn a_wrong_argument_of_a_model_is_refused() {
    run(&["model", "mimd", "--set", "rtt0=3"]).fails(2, "rtt0_ms");
    run(&["model", "mimd", "--set", "rtt0_ms=0"]).fails(2, "out of range");
    run(&["model", "mimd", "--set", "rtt0_ms"]).fails(2, "KEY=VALUE");
    run(&["model", "mimd", "--form", "threshold"]).fails(2, "queueing.threshold");
}
