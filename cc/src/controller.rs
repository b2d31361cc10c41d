//! A flow under the control of an algorithm.

use std::ffi::c_void;

use crate::algorithm::Algorithm;
use crate::clamp::{Bounds, Clamps};
use crate::contract::{Decision, Event, Observation, Phase, View};
use crate::ffi;
use crate::params::Params;

/// Calls a function of C: of a loaded library, whose table has one algorithm, or of this program.
macro_rules! dispatch {
    ($id:ident, $function:ident, $entry:ident($($argument:expr),*), $native:ident) => {{
        #[cfg(feature = "plugin")]
        if $id & crate::algorithm::FIRST_LOADED != 0 {
            let called = crate::watch::Function::$function;
            crate::plugin::call($id, called, |code| (code.$entry)(0, $($argument),*));
        } else {
            ffi::$native($id, $($argument),*)
        }
        #[cfg(not(feature = "plugin"))]
        ffi::$native($id, $($argument),*)
    }};
}

/// Length of a state in u64.
const WORDS: usize = ffi::STATE_BYTES / 8;

/// An algorithm with the state of a flow, stored inline: no heap, no pointer. A clone is an independent flow.
/// Decisions are within their bounds, whatever the algorithm decided ([`Clamps`]).
#[derive(Clone)]
pub struct Controller {
    pub(crate) state: [u64; WORDS], // u64, since C requires an alignment of 8
    algorithm: Algorithm,
    /// Counts of decisions outside their bounds; `None`: there were none. A box, as a host with many flows
    /// copies the controller.
    clamps: Option<Box<Clamps>>,
}

/// Error: bytes of the wrong length for the state of an algorithm.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the state of {algorithm} has {expected} bytes, not {found}")]
pub struct StateSizeError {
    /// The algorithm of the state.
    pub algorithm: Algorithm,
    /// Size of the algorithm's state, bytes.
    pub expected: usize,
    /// Number of bytes that were given.
    pub found: usize,
}

impl Controller {
    /// Starts the algorithm on a connection, which may already have data in flight. `decision` holds the
    /// values in force ([`Decision::in_force`]) and receives the first decision.
    pub fn new(params: &Params, view: &View, decision: &mut Decision) -> Controller {
        let mut flow = Controller::zeroed(params.algorithm());
        let (id, state) = flow.parts();
        let values = params.raw().as_ptr();
        // SAFETY: the state is zeroed, aligned and large enough (static assertions in native.c); params come
        // from the same algorithm, so they have as many values as struct NAME_params.
        unsafe {
            dispatch!(id, Init, init(state, values, view, decision), cc_native_init);
        }
        if !decision.is_plain() {
            flow.clamp(view, decision, Bounds::default());
        }
        flow
    }

    fn zeroed(algorithm: Algorithm) -> Controller {
        Controller { state: [0; WORDS], algorithm, clamps: None }
    }

    /// Returns a flow with the state of [`Controller::state_bytes`], or of a socket in the kernel.
    ///
    /// # Errors
    /// The number of bytes is not that of the algorithm's state.
    pub fn from_state_bytes(algorithm: Algorithm, bytes: &[u8]) -> Result<Controller, StateSizeError> {
        let expected = algorithm.state_bytes();
        if bytes.len() != expected {
            return Err(StateSizeError { algorithm, expected, found: bytes.len() });
        }
        let mut flow = Controller::zeroed(algorithm);
        bytemuck::bytes_of_mut(&mut flow.state)[..expected].copy_from_slice(bytes);
        Ok(flow)
    }

    /// The algorithm of this flow.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Processes an ACK. For [`Kind::GrowsCwnd`](crate::Kind) call it only when cwnd may grow.
    #[inline(always)] // it is a jump to C and a few comparisons
    pub fn on_ack(&mut self, view: &View, decision: &mut Decision) {
        let (id, state) = self.parts();
        // SAFETY: the state was initialised by this algorithm (new) or is any bytes of its size, which is
        // plain data to C; view and decision are valid and do not overlap.
        unsafe { dispatch!(id, OnAck, on_ack(state, view, decision), cc_native_on_ack) };
        if !decision.is_plain() {
            self.clamp(view, decision, Bounds::default());
        }
    }

    /// Processes an event other than an ACK; see [`Event`].
    #[inline]
    pub fn on_event(&mut self, event: Event, view: &View, decision: &mut Decision) {
        let (id, state) = self.parts();
        // SAFETY: as in on_ack.
        unsafe { dispatch!(id, OnEvent, on_event(state, event as u32, view, decision), cc_native_on_event) };
        // what bounds ssthresh while the host reduces cwnd to it
        let reduces = event == Event::Reduce || decision.ssthresh_pkts != view.ssthresh_pkts;
        if reduces || !decision.is_plain() {
            self.clamp(view, decision, Bounds::of_event(event));
        }
    }

    #[cold]
    fn clamp(&mut self, view: &View, decision: &mut Decision, of_event: Bounds) {
        let clamps = (self.algorithm.bounds() | of_event).clamp(view, decision);
        if clamps != Clamps::default() {
            **self.clamps.get_or_insert_default() += clamps;
        }
    }

    /// Decisions of this flow that were outside their bounds.
    pub fn clamps(&self) -> Clamps {
        self.clamps.as_deref().copied().unwrap_or_default()
    }

    /// The estimates and the phase of the flow, for traces and tools.
    pub fn observe(&self) -> Observation {
        let mut raw = ffi::Observation::default();
        let (id, state) = (self.algorithm.id(), self.state.as_ptr().cast());
        // SAFETY: as in on_ack; the state is only read.
        unsafe { dispatch!(id, Observe, observe(state, &mut raw), cc_native_observe) };
        Observation {
            bw_Bps: raw.bw_Bps,
            min_rtt_us: (raw.min_rtt_us != crate::NO_RTT).then_some(raw.min_rtt_us),
            pacing_gain_256: raw.pacing_gain_256,
            cwnd_gain_256: raw.cwnd_gain_256,
            // a state that was never initialised, or foreign bytes, may hold any number
            phase: Phase::from_number(raw.phase).unwrap_or(Phase::Fixed),
        }
    }

    /// The bytes of `struct NAME`, the flow's state.
    pub fn state_bytes(&self) -> &[u8] {
        &bytemuck::bytes_of(&self.state)[..self.algorithm.state_bytes()]
    }

    pub(crate) fn parts(&mut self) -> (u32, *mut c_void) {
        (self.algorithm.id(), self.state.as_mut_ptr().cast())
    }
}

impl Algorithm {
    /// Returns the estimates and the phase in state bytes of another origin, for example from the storage of
    /// a kernel socket.
    ///
    /// # Errors
    /// The number of bytes is not that of the algorithm's state.
    pub fn observe_bytes(self, bytes: &[u8]) -> Result<Observation, StateSizeError> {
        Ok(Controller::from_state_bytes(self, bytes)?.observe())
    }
}
