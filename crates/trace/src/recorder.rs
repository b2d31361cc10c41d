//! Rare events of a run as a table in memory.

use fairpace_results::observer::{Ack, ConnectionId, LinkEvent, Observer, Packet, SenderState};

use crate::events::Events;
use crate::table::Batch;
use crate::{ArrowTable, Error, RunInfo};

/// An [`Observer`] that keeps the rows of `events.parquet`.
#[derive(Debug)]
pub struct EventRecorder {
    run_info: RunInfo,
    events: Events<Batch>,
    failed: Option<Error>,
}

impl EventRecorder {
    /// Returns a recorder without events.
    #[must_use]
    pub fn new(run_info: RunInfo) -> Self {
        EventRecorder { events: Events::in_memory(), run_info, failed: None }
    }

    /// Returns the table after the run.
    ///
    /// # Errors
    /// [`Error::Table`] if the table cannot be built.
    pub fn finish(self) -> Result<ArrowTable, Error> {
        match self.failed {
            Some(error) => Err(error),
            None => self.events.into_table(&self.run_info),
        }
    }

    fn note(&mut self, result: Result<(), Error>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }
}

impl Observer for EventRecorder {
    fn packet(&mut self, at_ns: u64, link: u32, event: LinkEvent, packet: &Packet) {
        let result = self.events.packet(at_ns, link, event, packet, &self.run_info);
        self.note(result);
    }

    fn ack(&mut self, _: u64, _: ConnectionId, _: &Ack) {}

    fn sender(&mut self, at_ns: u64, connection: ConnectionId, state: impl FnOnce() -> SenderState) {
        let result = self.events.sender(at_ns, connection, &state(), &self.run_info);
        self.note(result);
    }

    fn completed(&mut self, at_ns: u64, connection: ConnectionId, _bytes: u64, took_ns: u64) {
        let result = self.events.completed(at_ns, connection, took_ns, &self.run_info);
        self.note(result);
    }
}
