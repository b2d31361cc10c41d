//! Replay: the JITed algorithm on synthetic views, for tests of parity with the native build.

use fairpace_cc::{Algorithm, Bounds, Clamps, Decision, Event, Params, View};
use libbpf_rs::{Map, MapCore, MapFlags, ProgramInput, ProgramMut};

use crate::adapt::{self, Setup};
use crate::object::bad_object;
use crate::{Error, Features, Object};

/// A call of an algorithm's entry points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Call {
    /// The start of a flow: the state is zeroed first.
    Init,
    /// An ACK is processed.
    OnAck,
    /// Another event.
    OnEvent(Event),
    /// No call of the algorithm: only the bounds of a decision.
    Clamp(Bounds),
}

/// An algorithm loaded as BPF but not registered, called directly with views and decisions.
#[derive(Debug)]
pub struct Replay {
    algorithm: Algorithm,
    object: libbpf_rs::Object,
    layout: Layout,
    buffer: Vec<u8>,
    clamps: Clamps,
}

/// Offset of the counts of decisions outside their bounds in struct cc_replay of cc/bpf/object.bpf.c: behind
/// two words.
const CLAMPED_AT: usize = 8;

/// Offsets of the other parts of struct cc_replay.
#[derive(Debug)]
struct Layout {
    view: usize,
    decision: usize,
    state: usize,
    end: usize,
}

impl Replay {
    /// Loads the algorithm with these parameters.
    ///
    /// # Errors
    /// The errors of [`crate::load`], except those about names.
    pub fn new(params: &Params) -> Result<Replay, Error> {
        let features = Features::probe();
        features.require()?;
        let algorithm = params.algorithm();
        let object = Object::listed(params)?;
        let setup = Setup { object: &object, name: algorithm.kernel_name(), testing: 0, replay: true };
        let object = adapt::load(&setup, &features)?;
        let view = CLAMPED_AT + 8;
        let decision = view + size_of::<View>();
        let state = decision + size_of::<Decision>();
        let layout = Layout { view, decision, state, end: state + algorithm.state_bytes() };
        let buffer = vec![0; layout.end.next_multiple_of(8)];
        Ok(Replay { algorithm, object, layout, buffer, clamps: Clamps::default() })
    }

    /// Makes a call, with the flow's state as the previous call left it. `decision` holds the decision in
    /// force and receives the algorithm's decision.
    ///
    /// # Errors
    /// The kernel does not run the program.
    pub fn call(&mut self, call: Call, view: &View, decision: &mut Decision) -> Result<(), Error> {
        let what = || format!("replaying {} in the kernel", self.algorithm);
        let (number, event) = match call {
            Call::Init => (0u32, 0u32),
            Call::OnAck => (1, 0),
            Call::OnEvent(event) => (2, event as u32),
            Call::Clamp(bounds) => (3, bounds.bits()),
        };
        let Layout { view: v, decision: d, state, end } = self.layout;
        self.buffer[..4].copy_from_slice(&number.to_ne_bytes());
        self.buffer[4..CLAMPED_AT].copy_from_slice(&event.to_ne_bytes());
        self.buffer[v..d].copy_from_slice(view.as_bytes());
        self.buffer[d..state].copy_from_slice(decision.as_bytes());
        if call == Call::Init {
            self.buffer[state..end].fill(0);
            self.clamps = Clamps::default();
        }
        let map = self.map()?;
        let key = 0u32.to_ne_bytes();
        map.update(&key, &self.buffer, MapFlags::ANY).map_err(Error::bpf(what()))?;
        self.program()?.test_run(ProgramInput::default()).map_err(Error::bpf(what()))?;
        let result = map.lookup(&key, MapFlags::ANY).map_err(Error::bpf(what()))?;
        let Some(result) = result.filter(|r| r.len() == self.buffer.len()) else {
            return Err(self.bad("its result"));
        };
        self.buffer = result;
        let clamped = self.buffer[CLAMPED_AT..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
        self.clamps += Clamps::of_bits(clamped);
        match Decision::from_bytes(&self.buffer[d..state]) {
            Some(wanted) => *decision = wanted,
            None => return Err(self.bad("a decision")),
        }
        Ok(())
    }

    /// Decisions of this flow that were outside their bounds.
    pub fn clamps(&self) -> Clamps {
        self.clamps
    }

    /// The bytes of `struct NAME`, the algorithm's state, after the last call.
    pub fn state(&self) -> &[u8] {
        &self.buffer[self.layout.state..self.layout.end]
    }

    fn map(&self) -> Result<Map<'_>, Error> {
        self.object.maps().find(|m| m.name() == "cc_replay_map").ok_or_else(|| self.bad("the replay map"))
    }

    fn program(&self) -> Result<ProgramMut<'_>, Error> {
        self.object.progs_mut().find(|p| p.name() == "replay").ok_or_else(|| self.bad("the replay program"))
    }

    fn bad(&self, lacks: &'static str) -> Error {
        bad_object(self.algorithm.kernel_name(), lacks)
    }
}
