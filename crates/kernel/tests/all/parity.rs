//! The native build and the JITed BPF build of an algorithm are the same function: on the same views they
//! give the same decisions and leave the same bytes of state.

use std::io::{Read, Write};
use std::os::fd::AsFd;

use crate::support::streams::{Step, Stream};
use crate::support::{connect, enter_own_namespace, has_kernel, listener, load_transient, params};
use fairpace_cc::{Algorithm, Controller, Decision, Params, Phase, View};
use fairpace_kernel::{Call, Replay};
use fairpace_test_support::Random;

/// Views per algorithm, over all streams.
const VIEWS: usize = 120_000;
/// Views per flow: long enough to reach every phase, short enough for many flows.
const FLOW: usize = 2_000;

/// Both builds side by side, from the same start.
struct Pair {
    native: Controller,
    kernel: Replay,
    decision: Decision,
}

impl Pair {
    fn start(params: &Params, mut kernel: Replay, first: &View) -> Pair {
        let mut ours = Decision::in_force(first);
        let mut theirs = ours;
        let native = Controller::new(params, first, &mut ours);
        kernel.call(Call::Init, first, &mut theirs).expect("replay");
        let pair = Pair { native, kernel, decision: ours };
        assert_eq!(pair.difference(&theirs), None, "after init on {first:?}");
        pair
    }

    /// One step on both; what differs after it.
    fn step(&mut self, step: &Step, for_kernel: &View) -> Option<String> {
        self.decision = Decision::in_force(&step.view);
        let mut theirs = Decision::in_force(for_kernel);
        match step.event {
            None => self.native.on_ack(&step.view, &mut self.decision),
            Some(event) => self.native.on_event(event, &step.view, &mut self.decision),
        }
        let call = step.event.map_or(Call::OnAck, Call::OnEvent);
        self.kernel.call(call, for_kernel, &mut theirs).expect("replay");
        self.difference(&theirs)
    }

    fn difference(&self, theirs: &Decision) -> Option<String> {
        if self.decision.as_bytes() != theirs.as_bytes() {
            return Some(format!("decision: native {:?}, kernel {theirs:?}", self.decision));
        }
        if self.native.clamps() != self.kernel.clamps() {
            return Some(format!(
                "clamps: native {:?}, kernel {:?}",
                self.native.clamps(),
                self.kernel.clamps()
            ));
        }
        let (ours, theirs) = (self.native.state_bytes(), self.kernel.state());
        let at = ours.iter().zip(theirs).position(|(a, b)| a != b)?;
        Some(format!("state, from byte {at}: native {:x?}, kernel {:x?}", &ours[at..], &theirs[at..]))
    }
}

/// All streams of one kind of views through both builds.
fn compare(algorithm: Algorithm, params: &Params, seed: u64, views: usize, make: fn(u64) -> Stream) {
    let mut kernel = Replay::new(params).unwrap_or_else(|e| panic!("{e}"));
    for flow in 0..views.div_ceil(FLOW) as u64 {
        let mut stream = make(seed + flow);
        let mut pair = Pair::start(params, kernel, &stream.first());
        stream.obey(&pair.decision);
        for at in 0..FLOW {
            let step = stream.next();
            if let Some(difference) = pair.step(&step, &step.view) {
                panic!("{algorithm}, seed {}, step {at}: {difference}\non {step:?}", seed + flow);
            }
            stream.obey(&pair.decision);
        }
        kernel = pair.kernel;
    }
}

/// Parameters anywhere in their ranges.
fn random_params(algorithm: Algorithm, seed: u64) -> Params {
    let mut random = Random::new(seed);
    let mut params = Params::defaults(algorithm);
    for parameter in algorithm.parameters() {
        let raw = random.between(parameter.least, parameter.most);
        // some of them as people set them: rounding to what can be written is fine here
        let _ = params.set(parameter.name, &parameter.unit.format(raw));
    }
    params
}

fn parity_of(algorithm: Algorithm) {
    let defaults = Params::defaults(algorithm);
    compare(algorithm, &defaults, 1, VIEWS / 2, Stream::plausible);
    compare(algorithm, &defaults, 1_000, VIEWS / 4, Stream::extreme);
    for seed in 0..5 {
        let other = random_params(algorithm, 100 + seed);
        compare(algorithm, &other, 2_000 + 100 * seed, VIEWS / 40, Stream::plausible);
        compare(algorithm, &other, 3_000 + 100 * seed, VIEWS / 40, Stream::extreme);
    }
    println!("{algorithm}: {VIEWS} views");
}

#[test]
fn every_algorithm_is_the_same_in_the_kernel() {
    if !has_kernel() {
        return;
    }
    std::thread::scope(|scope| {
        for algorithm in Algorithm::all() {
            scope.spawn(move || parity_of(algorithm));
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

/// The comparison can fail: a kernel that sees one packet more in one ACK is found out.
#[test]
fn a_view_that_differs_by_one_packet_is_noticed() {
    if !has_kernel() {
        return;
    }
    for algorithm in Algorithm::all() {
        let params = Params::defaults(algorithm);
        let mut stream = Stream::plausible(7);
        let kernel = Replay::new(&params).unwrap_or_else(|e| panic!("{e}"));
        let mut pair = Pair::start(&params, kernel, &stream.first());
        if pair.native.observe().phase == Phase::Fixed {
            continue; // no packet makes a difference to these
        }
        stream.obey(&pair.decision);
        let mut acks = 0;
        let noticed = (0..FLOW).any(|_| {
            let step = stream.next();
            let mut for_kernel = step.view;
            acks += u32::from(step.event.is_none());
            let differs = step.event.is_none() && acks == 50;
            for_kernel.acked_pkts += u32::from(differs);
            for_kernel.sample_delivered_pkts += i32::from(differs);
            // it stays delivered, for those that count
            for_kernel.delivered_pkts = step.view.delivered_pkts.wrapping_add(u32::from(acks >= 50));
            let difference = pair.step(&step, &for_kernel);
            stream.obey(&pair.decision);
            difference.is_some()
        });
        assert!(noticed, "{algorithm}");
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
