//! Recordings of the calls that connections make to their algorithms: every call of a simulation, for replays
//! by another implementation of an algorithm.

use std::cell::RefCell;

use fairpace_cc::{Decision, Event, View};

/// A call of an algorithm.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// The number of the connection, in the order of starts.
    pub connection: u32,
    /// The kind of the call.
    pub kind: CallKind,
    /// The view: input of the call.
    pub view: View,
    /// The decision in force before the call.
    pub before: Decision,
    /// The decision after the call: its output.
    pub after: Decision,
}

/// The entry points of an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// The start of a connection.
    Init,
    /// An ACK is processed.
    Ack,
    /// Any other event.
    Event(Event),
}

#[derive(Default)]
struct Recording {
    connections: u32,
    calls: Vec<Call>,
}

thread_local! {
    /// The recording of this thread, while it records.
    static RECORDING: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

/// Returns the result of `run`, and every call of the connections that it starts, in order.
pub fn record<R>(run: impl FnOnce() -> R) -> (R, Vec<Call>) {
    RECORDING.set(Some(Recording::default()));
    let result = run();
    (result, RECORDING.take().unwrap_or_default().calls)
}

/// Returns the number of a connection that starts; `None`: this thread does not record.
pub(crate) fn connection() -> Option<u32> {
    RECORDING.with_borrow_mut(|recording| {
        let recording = recording.as_mut()?;
        recording.connections += 1;
        Some(recording.connections - 1)
    })
}

/// Adds a call to the recording.
pub(crate) fn keep(call: Call) {
    RECORDING.with_borrow_mut(|recording| {
        if let Some(recording) = recording {
            recording.calls.push(call);
        }
    });
}
