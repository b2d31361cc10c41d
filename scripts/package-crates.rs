//! A program of a user of the packages, built and run by package-crates.sh outside of the workspace.

use fairpace_cc::{Algorithm, Controller, Decision, Params, View};
use fairpace_scenario::{Target, parse};

const SCENARIO: &str = r#"
title = "two flows"
duration = "2s"
[[link]]
name = "bottleneck"
rate = "10mbit"
buffer = "25kB"
[[flow]]
cc = "bbr1"
rtt = "20ms"
[[flow]]
cc = "cubic"
rtt = "20ms"
"#;

fn main() {
    simulate();
    run_one_algorithm();
    let object = fairpace_kernel::Object::listed(&Params::defaults(Algorithm::by_name("reno").unwrap()));
    assert!(object.is_ok(), "the objects in the package are not used: {object:?}");
    // that this machine can load is not required
    let features = fairpace_kernel::Features::probe();
    println!("kernel {}: {:?}", features.release, features.require_kernel().map_err(|e| e.to_string()));
    let no_clang = fairpace_bpf_build::BpfCompiler::new(fairpace_bpf_build::Sources::contained().unwrap());
    assert!(no_clang.is_err(), "clang is hidden, but was found");
}

fn simulate() {
    let scenario = parse("two-flows.toml", SCENARIO, &[], Target::Simulator);
    let run = fairpace_sim::run(&scenario.unwrap(), &mut fairpace_results::Silent).unwrap();
    let sum: f64 = run.summary.flows.iter().map(|flow| flow.goodput_mbps).sum();
    assert!(sum > 5.0, "{sum} Mbit/s");
}

fn run_one_algorithm() {
    let params = Params::defaults(Algorithm::by_name("reno").unwrap());
    let view = View { cwnd_pkts: 10, ..View::default() };
    let mut decision = Decision::in_force(&view);
    let mut flow = Controller::new(&params, &view, &mut decision);
    flow.on_ack(&View { acked_pkts: 2, cwnd_limited: true, ..view }, &mut decision);
    assert_eq!(decision.cwnd_pkts, 12);
}
