//! Recordings of what connections exchange with their algorithms: every call of a simulation, for replays by
//! another implementation of an algorithm.

use std::cell::RefCell;

use fairpace_cc::{Decision, Event, View};

/// One call of an algorithm.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Which connection: numbers in the order of their starts.
    pub connection: u32,
    /// What was called.
    pub kind: CallKind,
    /// The input.
    pub view: View,
    /// What was in force before the call.
    pub before: Decision,
    /// The output.
    pub after: Decision,
}

/// The entry points of an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// A connection starts.
    Init,
    /// An ACK.
    Ack,
    /// Anything else.
    Event(Event),
}

#[derive(Default)]
struct Recording {
    connections: u32,
    calls: Vec<Call>,
}

thread_local! {
    /// While this thread records.
    static RECORDING: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

/// The result of `run`, and every call of the connections that it starts, in order.
pub fn record<R>(run: impl FnOnce() -> R) -> (R, Vec<Call>) {
    RECORDING.set(Some(Recording::default()));
    let result = run();
    (result, RECORDING.take().unwrap_or_default().calls)
}

/// The number of a connection that starts; `None`: this thread does not record.
pub(crate) fn connection() -> Option<u32> {
    RECORDING.with_borrow_mut(|recording| {
        let recording = recording.as_mut()?;
        recording.connections += 1;
        Some(recording.connections - 1)
    })
}

/// Keeps a call.
pub(crate) fn keep(call: Call) {
    RECORDING.with_borrow_mut(|recording| {
        if let Some(recording) = recording {
            recording.calls.push(call);
        }
    });
}
