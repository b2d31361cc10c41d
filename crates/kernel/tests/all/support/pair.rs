//! An algorithm in the kernel beside the native build of it: on the same views both give the same decisions
//! and leave the same bytes of state.

use fairpace_cc::{Algorithm, Controller, Decision, Params, Phase, View};
use fairpace_kernel::{Call, Error, Replay};
use fairpace_test_support::Random;

use super::streams::{Step, Stream};

/// Views per algorithm, over all streams.
const VIEWS: usize = 120_000;
/// Views per flow: long enough to reach every phase, short enough for many flows.
pub(crate) const FLOW: usize = 2_000;
/// An algorithm in the kernel with these parameters.
pub(crate) type Start = fn(&Params) -> Result<Replay, Error>;

/// Both builds side by side, from the same start.
pub(crate) struct Pair {
    native: Controller,
    kernel: Replay,
    decision: Decision,
}

impl Pair {
    pub(crate) fn start(params: &Params, mut kernel: Replay, first: &View) -> Pair {
        let mut ours = Decision::in_force(first);
        let mut theirs = ours;
        let native = Controller::new(params, first, &mut ours);
        kernel.call(Call::Init, first, &mut theirs).expect("replay");
        let pair = Pair { native, kernel, decision: ours };
        assert_eq!(pair.difference(&theirs), None, "after init on {first:?}");
        pair
    }

    /// One step on both; what differs after it.
    pub(crate) fn step(&mut self, step: &Step, for_kernel: &View) -> Option<String> {
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
        if ours == theirs {
            return None;
        }
        let at = ours.iter().zip(theirs).position(|(a, b)| a != b)?;
        Some(format!("state, from byte {at}: native {:x?}, kernel {:x?}", &ours[at..], &theirs[at..]))
    }
}

/// All streams of one kind of views through both builds.
fn compare(params: &Params, mut kernel: Replay, seed: u64, views: usize, make: fn(u64) -> Stream) {
    for flow in 0..views.div_ceil(FLOW) as u64 {
        let mut stream = make(seed + flow);
        let mut pair = Pair::start(params, kernel, &stream.first());
        stream.obey(&pair.decision);
        for at in 0..FLOW {
            let step = stream.next();
            if let Some(difference) = pair.step(&step, &step.view) {
                panic!("{}, seed {}, step {at}: {difference}\non {step:?}", params.algorithm(), seed + flow);
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

/// Compares an algorithm with defaults and with other parameters, on plausible and on extreme streams. Panics
/// at the first difference.
pub(crate) fn parity_of(algorithm: Algorithm, start: Start) {
    let with = |params: &Params| start(params).unwrap_or_else(|error| panic!("{error}"));
    let defaults = Params::defaults(algorithm);
    compare(&defaults, with(&defaults), 1, VIEWS / 2, Stream::plausible);
    compare(&defaults, with(&defaults), 1_000, VIEWS / 4, Stream::extreme);
    for seed in 0..5 {
        let other = random_params(algorithm, 100 + seed);
        compare(&other, with(&other), 2_000 + 100 * seed, VIEWS / 40, Stream::plausible);
        compare(&other, with(&other), 3_000 + 100 * seed, VIEWS / 40, Stream::extreme);
    }
    println!("{algorithm}: {VIEWS} views");
}

/// The comparison can fail: whether a kernel that sees one packet more in one ACK is found out.
pub(crate) fn notices_one_packet(algorithm: Algorithm, start: Start) -> bool {
    let params = Params::defaults(algorithm);
    let mut stream = Stream::plausible(7);
    let kernel = start(&params).unwrap_or_else(|error| panic!("{error}"));
    let mut pair = Pair::start(&params, kernel, &stream.first());
    if pair.native.observe().phase == Phase::Fixed {
        return true; // no packet makes a difference to these
    }
    stream.obey(&pair.decision);
    let mut acks = 0;
    (0..FLOW).any(|_| {
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
    })
}
