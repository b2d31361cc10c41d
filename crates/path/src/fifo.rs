//! A first-in first-out queue in front of a transmitter.

use std::collections::VecDeque;

use fairpace_results::LinkSummary;

use crate::{Ecn, LinkMeter, Nanos, Packet, Schedule, Transmitter};

/// How much a queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Bytes on the wire.
    Bytes(u64),
    /// Packets of any size.
    Packets(u64),
}

impl Limit {
    /// Would so much be more than it holds?
    #[inline]
    pub fn is_exceeded_by(self, bytes: u64, pkts: u64) -> bool {
        match self {
            Limit::Bytes(most) => bytes > most,
            Limit::Packets(most) => pkts > most,
        }
    }
}

/// What a [`Fifo`] measures of a packet that it has let in.
#[derive(Debug, Clone)]
struct Held {
    starts: Nanos,
    departs: Nanos,
    waited_ns: Nanos,
    flow: u32,
    bytes: u32,
    /// It will not arrive: lost on the line behind.
    lost: bool,
}

/// A drop-tail queue.
///
/// Nothing can overtake what is in it, so a packet's departure is known when it arrives and that is when the queue says it: it
/// does not keep the packet, only what its meter has yet to count. Who needs the packet at its departure keeps it
/// ([`Link`](crate::Link) does).
///
/// The limit is on what *waits*. A packet whose transmission has begun has left the queue, as it has on Linux when the device has
/// taken it from a bfifo; it is neither counted against the limit nor part of the backlog. An arriving packet is dropped when what
/// waits and itself exceed the limit; one that meets an idle transmitter does not wait and is never dropped.
#[derive(Debug, Clone)]
pub struct Fifo {
    transmitter: Transmitter,
    limit: Limit,
    /// A packet that finds more waiting is marked, if it can be.
    mark_above: Option<Limit>,
    /// Not counted yet by the meter, in order of departure.
    held: VecDeque<Held>,
    /// How many of `held`, from the front, have begun transmission.
    begun: usize,
    waiting_bytes: u64,
    meter: LinkMeter,
}

impl Fifo {
    /// A queue that holds up to `limit`, shared by `flows` flows and metered by `schedule`.
    pub fn new(transmitter: Transmitter, limit: Limit, flows: usize, schedule: Schedule) -> Self {
        Fifo {
            transmitter,
            limit,
            mark_above: None,
            held: VecDeque::new(),
            begun: 0,
            waiting_bytes: 0,
            meter: LinkMeter::new(flows, schedule),
        }
    }

    /// The same, and ECN-capable packets that find more than `limit` waiting are marked: a step.
    #[must_use]
    pub fn with_marking_above(self, limit: Limit) -> Self {
        Fifo { mark_above: Some(limit), ..self }
    }

    /// A packet arrives: when its last bit will be out and how long it waits before, or `None`: it was dropped. `lost` packets
    /// use the transmitter like others. Times must not go back.
    #[inline]
    pub fn pass<T>(&mut self, now: Nanos, packet: &mut Packet<T>, lost: bool) -> Option<(Nanos, Nanos)> {
        let Packet { flow, bytes, ref mut ecn, .. } = *packet;
        self.settle(now);
        let starts = self.transmitter.starts(now, bytes);
        let waits = starts > now;
        if waits {
            let (waiting, pkts) = (self.waiting_bytes, (self.held.len() - self.begun) as u64);
            if self.limit.is_exceeded_by(waiting + u64::from(bytes), pkts + 1) {
                self.meter.dropped(now, flow, bytes);
                return None;
            }
            if *ecn == Ecn::Capable
                && self.mark_above.is_some_and(|limit| limit.is_exceeded_by(waiting, pkts))
            {
                *ecn = Ecn::Marked;
                self.meter.marked(now, flow);
            }
            self.waiting_bytes += u64::from(bytes);
            self.meter.queued(now, flow, bytes);
        } else {
            debug_assert_eq!(self.begun, self.held.len());
            self.begun += 1;
        }
        let departs = self.transmitter.send(now, bytes);
        self.held.push_back(Held { starts, departs, waited_ns: starts - now, flow, bytes, lost });
        Some((departs, starts - now))
    }

    /// Would a packet of so many bytes that arrives now be let in?
    pub fn has_room(&mut self, now: Nanos, bytes: u32) -> bool {
        self.settle(now);
        let pkts = (self.held.len() - self.begun) as u64;
        self.transmitter.starts(now, bytes) <= now
            || !self.limit.is_exceeded_by(self.waiting_bytes + u64::from(bytes), pkts + 1)
    }

    /// A packet was refused before it reached the queue.
    pub fn refused(&mut self, now: Nanos, flow: u32, bytes: u32) {
        self.settle(now);
        self.meter.dropped(now, flow, bytes);
    }

    /// Counts what has begun and what has departed by `now`. Times must not go back.
    #[inline]
    pub fn settle(&mut self, now: Nanos) {
        // in the order in which it happened: a transmission begins when the one before ends, or later
        loop {
            let departs = self.held.front().map_or(Nanos::MAX, |h| h.departs);
            match self.held.get(self.begun) {
                Some(next) if next.starts <= now && next.starts <= departs => {
                    self.waiting_bytes -= u64::from(next.bytes);
                    self.meter.begun(next.starts, next.flow, next.bytes);
                    self.begun += 1;
                }
                _ if departs <= now => {
                    let Some(h) = self.held.pop_front() else { return };
                    self.begun -= 1;
                    self.meter.departed(h.departs, h.flow, h.bytes, h.waited_ns);
                    if h.lost {
                        self.meter.lost(h.departs, h.flow);
                    }
                }
                _ => return,
            }
        }
    }

    /// Bytes that wait, as of the last call; what is being transmitted is not among them.
    pub fn backlog_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Packets that wait or are being transmitted, as of the last call.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// True when nothing waits and nothing is being transmitted, as of the last call.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The window's summary, once it has closed.
    pub fn summary(&self, name: &str) -> LinkSummary {
        let (from, to) = self.meter.window();
        self.meter.summary(name, self.transmitter.rate_bps(), self.transmitter.capacity_bits(from, to))
    }

    /// What the link has measured so far.
    pub fn meter(&self) -> &LinkMeter {
        &self.meter
    }

    /// Ends the measurement at `now`: closes intervals and window.
    pub fn finish(&mut self, now: Nanos) {
        self.settle(now);
        self.meter.finish(now);
    }
}
