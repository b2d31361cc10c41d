//! `events.parquet`: one row per rare event. Rows are in order of time within batches of 65,536 rows, since
//! some events are reported before their time.
//!
//! | event | from, to | value |
//! |---|---|---|
//! | `phase` | names of the algorithm's phases | |
//! | `recovery` | states of loss recovery: open, disorder, cwr, recovery, loss | |
//! | `timeout`, `undo` | | their number so far on this connection |
//! | `refused`, `dropped`, `lost`, `marked` | | the segment's number; empty: not data |
//! | `completed` | | duration of the transfer, s |

use std::collections::HashMap;
use std::mem;
use std::path::Path;

use fairpace_results::observer::{ConnectionId, Content, LinkEvent, Packet, SenderState};

use crate::table::Kind::{Float64, UInt32, Utf8};
use crate::table::{BATCH_ROWS, Column, Named, ParquetFile, Rows};
use crate::{Error, RunInfo, ca_state};

#[derive(Debug, Clone, Copy, Default)]
struct Event {
    at_ns: u64,
    connection: ConnectionId,
    what: &'static str,
    link: Option<u32>,
    from: Option<&'static str>,
    to: Option<&'static str>,
    value: Option<f64>,
}

/// A sender's state at its last event.
#[derive(Debug, Clone, Copy)]
struct Last {
    phase: i8,
    ca_state: u8,
    timeouts: u64,
    undos: u64,
    is_completed: bool,
}

impl Last {
    /// The state before the connection starts.
    const INITIAL: Last = Last { phase: -1, ca_state: 0, timeouts: 0, undos: 0, is_completed: false };
}

const COLUMNS: [Named; 8] = [
    ("t_s", Float64),
    ("flow", Utf8),
    ("connection", UInt32),
    ("event", Utf8),
    ("link", Utf8),
    ("from", Utf8),
    ("to", Utf8),
    ("value", Float64),
];

/// The table of events: in a file, or in memory.
#[derive(Debug)]
pub(crate) struct Events<T> {
    table: T,
    rows: Vec<Event>,
    last: HashMap<ConnectionId, Last>,
}

impl Events<ParquetFile> {
    pub(crate) fn create(dir: &Path, run_info: &RunInfo) -> Result<Self, Error> {
        Ok(Self::to(ParquetFile::create(&dir.join("events.parquet"), &COLUMNS, run_info)?))
    }

    pub(crate) fn finish(mut self, run_info: &RunInfo) -> Result<(), Error> {
        self.write(run_info)?;
        self.table.finish()
    }
}

#[cfg(feature = "arrow")]
impl Events<crate::table::Batch> {
    pub(crate) fn in_memory() -> Self {
        Self::to(crate::table::Batch::new(&COLUMNS))
    }

    pub(crate) fn into_table(mut self, run_info: &RunInfo) -> Result<crate::ArrowTable, Error> {
        self.write(run_info)?;
        crate::ArrowTable::of(self.table, run_info)
    }
}

impl<T: Rows> Events<T> {
    fn to(table: T) -> Self {
        Events { table, rows: Vec::new(), last: HashMap::new() }
    }

    fn push(&mut self, event: Event, run_info: &RunInfo) -> Result<(), Error> {
        self.rows.push(event);
        if self.rows.len() >= BATCH_ROWS { self.write(run_info) } else { Ok(()) }
    }

    pub(crate) fn packet(
        &mut self,
        at_ns: u64,
        link: u32,
        event: LinkEvent,
        packet: &Packet,
        run_info: &RunInfo,
    ) -> Result<(), Error> {
        let what = match event {
            LinkEvent::Enqueued | LinkEvent::Departed => return Ok(()),
            LinkEvent::Refused => "refused",
            LinkEvent::Dropped => "dropped",
            LinkEvent::Marked => "marked",
            LinkEvent::Lost => "lost",
        };
        let value = match packet.content {
            Content::Data { seq: number, .. } | Content::Datagram { number } => Some(number as f64),
            Content::Syn | Content::HandshakeAck | Content::Ack(_) => None,
        };
        self.push(
            Event { at_ns, connection: packet.connection, what, link: Some(link), value, ..Event::default() },
            run_info,
        )
    }

    pub(crate) fn sender(
        &mut self,
        at_ns: u64,
        connection: ConnectionId,
        state: &SenderState,
        run_info: &RunInfo,
    ) -> Result<(), Error> {
        let SenderState { phase, ca_state: ca, timeouts, undos, .. } = *state;
        let last = self.last.entry(connection).or_insert(Last::INITIAL);
        let before = *last;
        *last = Last { phase, ca_state: ca, timeouts, undos, ..before };
        if before.is_completed && state.inflight_pkts == 0 {
            self.last.remove(&connection); // all data is acknowledged, so no event follows
        }
        let event = Event { at_ns, connection, ..Event::default() };
        if phase != before.phase {
            let (from, to) = (run_info.phase(before.phase), run_info.phase(phase));
            self.push(Event { what: "phase", from, to, ..event }, run_info)?;
        }
        if ca != before.ca_state {
            let (from, to) = (Some(ca_state(before.ca_state)), Some(ca_state(ca)));
            self.push(Event { what: "recovery", from, to, ..event }, run_info)?;
        }
        for (what, before, now) in [("timeout", before.timeouts, timeouts), ("undo", before.undos, undos)] {
            if now > before {
                self.push(Event { what, value: Some(now as f64), ..event }, run_info)?;
            }
        }
        Ok(())
    }

    pub(crate) fn completed(
        &mut self,
        at_ns: u64,
        connection: ConnectionId,
        took_ns: u64,
        run_info: &RunInfo,
    ) -> Result<(), Error> {
        if run_info.is_workload(connection) {
            self.last.entry(connection).or_insert(Last::INITIAL).is_completed = true;
        }
        let value = Some(took_ns as f64 / 1e9);
        self.push(Event { at_ns, connection, what: "completed", value, ..Event::default() }, run_info)
    }

    fn write(&mut self, run_info: &RunInfo) -> Result<(), Error> {
        let mut rows = mem::take(&mut self.rows);
        rows.sort_by_key(|event| event.at_ns);
        let link = |event: &Event| run_info.links.get(event.link? as usize).map(String::as_str);
        self.table.write(vec![
            Column::Float64(rows.iter().map(|event| Some(event.at_ns as f64 / 1e9)).collect()),
            Column::texts(rows.iter().map(|event| Some(run_info.flow(event.connection)))),
            Column::UInt32(rows.iter().map(|event| Some(event.connection.index)).collect()),
            Column::texts(rows.iter().map(|event| Some(event.what))),
            Column::texts(rows.iter().map(link)),
            Column::texts(rows.iter().map(|event| event.from)),
            Column::texts(rows.iter().map(|event| event.to)),
            Column::Float64(rows.iter().map(|event| event.value).collect()),
        ])
    }
}
