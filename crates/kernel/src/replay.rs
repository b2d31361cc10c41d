//! Replay: an algorithm in the kernel on synthetic views, for tests of parity with the native build.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use fairpace_cc::{Algorithm, Bounds, Clamps, Decision, Event, Params, View};
use libbpf_rs::{Map, MapCore, MapFlags, ProgramInput};

use crate::adapt::{self, Setup};
use crate::built_in;
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

/// The device of cc/linux/replay.c.
const DEVICE: &str = "/dev/fairpace_replay";

/// Where the calls are made.
#[derive(Debug)]
enum Host {
    Bpf(libbpf_rs::Object),
    /// The device, with the algorithm chosen, and the parameters as it wants them.
    BuiltIn(File, Vec<u8>),
}

/// An algorithm in the kernel that no socket can select, called directly with views and decisions.
#[derive(Debug)]
pub struct Replay {
    algorithm: Algorithm,
    host: Host,
    layout: Layout,
    buffer: Vec<u8>,
    clamps: Clamps,
}

/// Offset of the counts of decisions outside their bounds in struct cc_replay of cc/bpf/replay.h: behind two
/// words.
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
    /// Loads the algorithm with these parameters as BPF.
    ///
    /// # Errors
    /// The errors of [`crate::load`], except those about names.
    pub fn new(params: &Params) -> Result<Replay, Error> {
        let features = Features::probe();
        features.require()?;
        let algorithm = params.algorithm();
        let object = Object::listed(params)?;
        let setup = Setup { object: &object, name: algorithm.kernel_name(), testing: 0, replay: true };
        Ok(Self::on(Host::Bpf(adapt::load(&setup, &features)?), algorithm))
    }

    /// The algorithm as it is built into this kernel (`cc/linux`), with these parameters.
    ///
    /// # Errors
    /// The kernel does not have it.
    pub fn built_in(params: &Params) -> Result<Replay, Error> {
        let algorithm = params.algorithm();
        let open = || {
            let mut device = OpenOptions::new().read(true).write(true).open(DEVICE)?;
            device.write_all(built_in::code(algorithm).as_bytes()).map(|()| device)
        };
        let device = open().map_err(|cause| Error::Io { path: Path::new(DEVICE).to_owned(), cause })?;
        let parameters = params.iter().flat_map(|(_, raw)| raw.to_ne_bytes()).collect();
        Ok(Self::on(Host::BuiltIn(device, parameters), algorithm))
    }

    fn on(host: Host, algorithm: Algorithm) -> Replay {
        let view = CLAMPED_AT + 8;
        let decision = view + size_of::<View>();
        let state = decision + size_of::<Decision>();
        let layout = Layout { view, decision, state, end: state + algorithm.state_bytes() };
        let buffer = vec![0; layout.end.next_multiple_of(8)];
        Replay { algorithm, host, layout, buffer, clamps: Clamps::default() }
    }

    /// Makes a call, with the flow's state as the previous call left it. `decision` holds the decision in
    /// force and receives the algorithm's decision.
    ///
    /// # Errors
    /// The kernel does not run the program.
    pub fn call(&mut self, call: Call, view: &View, decision: &mut Decision) -> Result<(), Error> {
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
        match &mut self.host {
            Host::Bpf(object) => self.buffer = run(object, self.algorithm, &self.buffer)?,
            Host::BuiltIn(device, parameters) => {
                let size = self.buffer.len();
                self.buffer.extend_from_slice(parameters);
                let done = make_call(device, &mut self.buffer);
                self.buffer.truncate(size);
                done.map_err(|cause| Error::Io { path: Path::new(DEVICE).to_owned(), cause })?;
            }
        }
        let clamped = self.buffer[CLAMPED_AT..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
        self.clamps += Clamps::of_bits(clamped);
        match Decision::from_bytes(&self.buffer[d..state]) {
            Some(wanted) => *decision = wanted,
            None => return Err(bad_object(self.algorithm.kernel_name(), "a decision")),
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
}

/// Makes the call that a `struct cc_replay` describes, in BPF; returns it as the call leaves it.
fn run(object: &mut libbpf_rs::Object, algorithm: Algorithm, call: &[u8]) -> Result<Vec<u8>, Error> {
    let bpf = || Error::bpf(format!("replaying {algorithm} in the kernel"));
    let bad = |lacks| bad_object(algorithm.kernel_name(), lacks);
    let key = 0u32.to_ne_bytes();
    map(object).ok_or_else(|| bad("the replay map"))?.update(&key, call, MapFlags::ANY).map_err(bpf())?;
    let program = object.progs_mut().find(|program| program.name() == "replay");
    let program = program.ok_or_else(|| bad("the replay program"))?;
    program.test_run(ProgramInput::default()).map_err(bpf())?;
    let result = map(object).ok_or_else(|| bad("the replay map"))?.lookup(&key, MapFlags::ANY);
    let result = result.map_err(bpf())?.filter(|result| result.len() == call.len());
    result.ok_or_else(|| bad("its result"))
}

fn map(object: &libbpf_rs::Object) -> Option<Map<'_>> {
    object.maps().find(|map| map.name() == "cc_replay_map")
}

/// Makes the call that a `struct cc_replay` with parameters behind it describes, in the kernel of the device.
fn make_call(device: &File, call: &mut [u8]) -> io::Result<()> {
    // SAFETY: the device reads and writes the struct, and reads as many parameters as the algorithm has.
    match unsafe { nix::libc::ioctl(device.as_raw_fd(), 0, call.as_mut_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
