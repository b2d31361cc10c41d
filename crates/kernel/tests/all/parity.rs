//! The native build and the JITed BPF build of an algorithm are the same function: on the same views they
//! give the same decisions and leave the same bytes of state.

use std::io::{Read, Write};
use std::os::fd::AsFd;

use crate::support::pair::{FLOW, Pair, notices_one_packet, parity_of};
use crate::support::streams::{Step, Stream};
use crate::support::{connect, enter_own_namespace, has_kernel, listener, load_transient, params};
use fairpace_cc::{Algorithm, Controller, Decision, Params, Phase, View};
use fairpace_kernel::Replay;
use fairpace_test_support::Random;

#[test]
fn every_algorithm_is_the_same_in_the_kernel() {
    if !has_kernel() {
        return;
    }
    std::thread::scope(|scope| {
        for algorithm in Algorithm::all() {
            scope.spawn(move || parity_of(algorithm, Replay::new));
        }
    });
}

/// Not made up: what the kernel knew at its last call, looked at after each of many short bursts over a
/// connection.
fn recorded_views(name: &str) -> Vec<View> {
    enter_own_namespace();
    let loaded = load_transient(name);
    let listener = listener();
    let (mut sender, mut receiver) = connect(&listener, loaded.kernel_name());
    let mut random = Random::new(1);
    let mut buffer = vec![0; 48 << 10]; // both sockets' buffers hold as much from the start
    let mut views: Vec<View> = Vec::new();
    for _ in 0..2_000 {
        let some = random.between(1, buffer.len() as u32) as usize;
        sender.write_all(&buffer[..some]).expect("write");
        receiver.read_exact(&mut buffer[..some]).expect("read");
        let flow = loaded.observe(sender.as_fd()).expect("observe").expect("the flow has state");
        if views.last() != Some(&flow.view) {
            views.push(flow.view);
        }
    }
    views
}

#[test]
fn views_of_a_real_flow_give_the_same_in_both() {
    if !has_kernel() {
        return;
    }
    for algorithm in Algorithm::all() {
        let views = recorded_views(algorithm.name());
        assert!(views.len() > 1_000, "{algorithm}: only {} different views", views.len());
        let params = Params::defaults(algorithm);
        let kernel = Replay::new(&params).unwrap_or_else(|e| panic!("{e}"));
        let mut pair = Pair::start(&params, kernel, &views[0].without_ack());
        for (at, view) in views.into_iter().enumerate() {
            let step = Step { event: None, view };
            assert_eq!(pair.step(&step, &step.view), None, "{algorithm}, view {at}: {step:?}");
        }
    }
}

#[test]
fn a_view_that_differs_by_one_packet_is_noticed() {
    if !has_kernel() {
        return;
    }
    for algorithm in Algorithm::all() {
        assert!(notices_one_packet(algorithm, Replay::new), "{algorithm}");
    }
}

/// The phases that plausible streams take an algorithm through.
fn phases_reached(name: &str) -> std::collections::BTreeSet<&'static str> {
    let params = params(name);
    let mut seen = std::collections::BTreeSet::new();
    for seed in 1..=20 {
        let mut stream = Stream::plausible(seed);
        let mut decision = Decision::in_force(&stream.first());
        let mut flow = Controller::new(&params, &stream.first(), &mut decision);
        for _ in 0..FLOW {
            stream.obey(&decision);
            let step = stream.next();
            decision = Decision::in_force(&step.view);
            match step.event {
                None => flow.on_ack(&step.view, &mut decision),
                Some(event) => flow.on_event(event, &step.view, &mut decision),
            }
            seen.insert(flow.observe().phase.name());
        }
    }
    seen
}

/// The streams are worth comparing on: plausible ones take a BBR, and LEVEL, through its whole life.
#[test]
fn plausible_streams_reach_every_phase() {
    use Phase::{Avoidance, Drain, ProbeBwCruise, ProbeBwDown, ProbeBwRefill, ProbeBwUp, ProbeRtt, Startup};
    let bbr1 = [Startup, Drain, ProbeBwUp, ProbeBwDown, ProbeBwCruise, ProbeRtt];
    let bbr3 = [Startup, Drain, ProbeBwUp, ProbeBwDown, ProbeBwCruise, ProbeBwRefill, ProbeRtt];
    let level = [Startup, Drain, Avoidance];
    let all = [("bbr1", &bbr1[..]), ("bbr2", &bbr3[..]), ("bbr3", &bbr3[..]), ("level", &level[..])];
    for (name, wanted) in all {
        let seen = phases_reached(name);
        for phase in wanted {
            assert!(seen.contains(phase.name()), "{name}: {} not reached; seen: {seen:?}", phase.name());
        }
    }
}
