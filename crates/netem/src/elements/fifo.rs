//! A FIFO queue in front of a transmitter: drop-tail, with ECN marks above a threshold, or under RED.

use std::collections::VecDeque;

use fairpace_results::LinkSummary;
use fairpace_results::observer::EcnField;
use fairpace_scenario::{Limit, Random};

use crate::aqm::{Action, Red, RedState};
use crate::elements::outages::Outages;
use crate::elements::transmitter::Transmitter;
use crate::meters::link_meter::LinkMeter;
use crate::meters::schedule::Schedule;
use crate::packet::Packet;
use crate::time::Nanos;

/// The part of a packet that a [`Fifo`] keeps for its meter. A deep queue holds a million packets, so the
/// part takes half a cache line.
#[derive(Debug, Clone)]
struct Held {
    starts: Nanos,
    departs: Nanos,
    waited_ns: Nanos,
    flow: u32,
    /// Length of the packet, with [`LOST`] set if the packet is lost.
    bytes: u32,
}

/// The departure of a packet from a [`Fifo`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// Time when the packet's last bit leaves.
    pub at: Nanos,
    /// Time that the packet waits before its first bit leaves.
    pub waited_ns: Nanos,
}

/// Bit of a packet's length: the packet does not arrive, since it is lost behind the queue. Lengths are below
/// this bit.
const LOST: u32 = 1 << 31;

const _: () = assert!(size_of::<Held>() == 32);

impl Held {
    #[inline]
    fn bytes(&self) -> u32 {
        self.bytes & !LOST
    }
}

/// RED at the entry of a queue whose transmitter is a wire.
#[derive(Debug, Clone)]
struct Gate {
    state: RedState,
    /// Time since when the wire is idle, or when it will be if no packet arrives.
    idle_since: Nanos,
}

/// A queue that keeps the order of packets.
///
/// A packet's departure is known when it arrives, since no other packet can overtake it. The queue returns
/// the departure on arrival, and does not keep the packet, only the part that its meter has yet to count. A
/// caller that needs the packet at its departure keeps it, as [`Link`](crate::Link) does.
///
/// The limit covers packets that *wait*. A packet whose transmission has begun has left the queue, as on
/// Linux when the device has taken it from a bfifo. Such a packet neither counts against the limit nor
/// belongs to the backlog. An arriving packet is dropped when the backlog and itself exceed the limit. A
/// packet that finds the transmitter idle does not wait and is never dropped for lack of room.
#[derive(Debug, Clone)]
pub struct Fifo {
    transmitter: Transmitter,
    limit: Limit,
    /// Backlog above which an arriving packet is marked, if it is ECN-capable.
    mark_above: Option<Limit>,
    red: Option<Box<Gate>>,
    /// Outages that lose packets.
    outages: Option<Box<Outages>>,
    /// Packets that the meter has not counted, in order of departure. Some may have departed.
    held: VecDeque<Held>,
    held_bytes: u64,
    /// Number of packets at the front of `held` whose transmission is known to have begun, and the bytes of
    /// the other packets.
    begun: usize,
    waiting_bytes: u64,
    meter: LinkMeter,
}

/// Most departures that an arrival counts: more than one, so that the uncounted do not pile up, and few, so
/// that no arrival is slow.
const COUNTED_PER_ARRIVAL: usize = 2;

impl Fifo {
    /// Returns a queue that holds up to `limit`, shared by `flows` flows and metered by `schedule`.
    pub fn new(transmitter: Transmitter, limit: Limit, flows: usize, schedule: Schedule) -> Self {
        Fifo {
            transmitter,
            limit,
            mark_above: None,
            red: None,
            outages: None,
            held: VecDeque::new(),
            held_bytes: 0,
            begun: 0,
            waiting_bytes: 0,
            meter: LinkMeter::new(flows, schedule),
        }
    }

    /// Adds a threshold: ECN-capable packets that find a backlog above `limit` are marked.
    #[must_use]
    pub fn with_marking_above(self, limit: Limit) -> Self {
        Fifo { mark_above: Some(limit), ..self }
    }

    /// Adds RED, which decides on arrival. Packet by packet the queue behaves like
    /// [`AqmQueue`](crate::AqmQueue) with RED, for a transmitter that is a wire.
    #[must_use]
    pub fn with_red(self, settings: Red, random: Random) -> Self {
        debug_assert!(self.transmitter.is_wire());
        let gate =
            Gate { state: RedState::new(&settings, self.transmitter.rate_bps(), random), idle_since: 0 };
        Fifo { red: Some(Box::new(gate)), ..self }
    }

    /// Adds outages that lose packets: those of the transmitter's rates.
    #[must_use]
    pub fn with_outages(self, outages: Outages) -> Self {
        Fifo { outages: Some(Box::new(outages)), ..self }
    }

    /// Enqueues a packet and returns its departure; `None`: the packet was dropped. The packet may be marked.
    /// `is_lost` is called once the packet is enqueued, with its departure and whether an outage interrupts
    /// its transmission: a packet that is lost behind the queue uses the transmitter like others. Times must
    /// not go back.
    #[inline]
    pub fn transit<T>(
        &mut self,
        now: Nanos,
        packet: &mut Packet<T>,
        is_lost: impl FnOnce(Nanos, bool) -> bool,
    ) -> Option<Departure> {
        let Packet { flow, bytes, ref mut ecn, .. } = *packet;
        self.count_before(now, 1);
        if self.outages.is_some() {
            self.enters_outage(now, flow)?;
        }
        let starts = self.transmitter.starts(now, bytes);
        if self.red.is_some() {
            self.enters_red(now, starts, packet)?;
        } else if starts > now {
            // `held` is at least the backlog: if it fits, the backlog fits
            let surely_fits =
                !self.limit.is_exceeded_by(self.held_bytes + u64::from(bytes), self.held.len() as u64 + 1);
            if !surely_fits && !self.fits(now, bytes) {
                self.meter.dropped(now, flow);
                return None;
            }
            if matches!(ecn, EcnField::Ect0 | EcnField::Ect1) && self.is_above_mark(now) {
                *ecn = EcnField::Ce;
                self.meter.marked(now, flow);
            }
        }
        let departs = self.transmitter.send(now, bytes);
        if let Some(red) = &mut self.red {
            red.idle_since = departs;
        }
        self.meter.joined(now, flow, u64::from(bytes));
        let is_cut = self.outages.as_mut().is_some_and(|outages| outages.cuts(starts, departs));
        let flags = if is_lost(departs, is_cut) { LOST } else { 0 };
        self.held.push_back(Held { starts, departs, waited_ns: starts - now, flow, bytes: bytes | flags });
        self.held_bytes += u64::from(bytes);
        self.waiting_bytes += u64::from(bytes);
        Some(Departure { at: departs, waited_ns: starts - now })
    }

    /// Enqueues `pkts` packets of a flow and passes the departure time of each to `leaves`. False: nothing
    /// was enqueued, since a packet might be dropped or marked; [`transit`](Fifo::transit) decides on each
    /// packet.
    #[inline]
    pub(crate) fn transit_burst(
        &mut self,
        now: Nanos,
        flow: u32,
        bytes: u32,
        pkts: usize,
        mut leaves: impl FnMut(Nanos),
    ) -> bool {
        let all_bytes = pkts as u64 * u64::from(bytes);
        // `held` is at least the backlog
        let surely_fit =
            !self.limit.is_exceeded_by(self.held_bytes + all_bytes, (self.held.len() + pkts) as u64);
        if !surely_fit || self.red.is_some() || self.mark_above.is_some() || self.outages.is_some() {
            return false;
        }
        self.count_before(now, pkts);
        for _ in 0..pkts {
            let starts = self.transmitter.starts(now, bytes);
            let departs = self.transmitter.send(now, bytes);
            self.held.push_back(Held { starts, departs, waited_ns: starts - now, flow, bytes });
            leaves(departs);
        }
        self.meter.joined(now, flow, all_bytes);
        self.held_bytes += all_bytes;
        self.waiting_bytes += all_bytes;
        true
    }

    /// Counts departures before `pkts` packets arrive; all departures if a boundary of the schedule has
    /// passed.
    #[inline]
    fn count_before(&mut self, now: Nanos, pkts: usize) {
        if self.meter.next_boundary() <= now {
            self.settle(now);
        } else {
            self.count_departed(now, pkts * COUNTED_PER_ARRIVAL);
        }
    }

    /// Decides on a packet: by RED, then by the limit, then by the mark. An empty queue accepts any packet,
    /// as disciplines do. `None`: the packet was dropped.
    #[inline]
    fn enters_red<T>(&mut self, now: Nanos, starts: Nanos, packet: &mut Packet<T>) -> Option<()> {
        self.begin(now);
        let red = self.red.as_mut()?;
        let is_idle = starts <= now;
        let idle = is_idle.then(|| now - red.idle_since);
        let action = red.state.decide(self.waiting_bytes, idle, packet.ecn);
        if action == Action::Drop {
            if is_idle {
                red.idle_since = now; // the link still finds the queue empty
            }
            self.meter.dropped_early(now, packet.flow);
            return None;
        }
        if self.held.len() > self.begun && !self.fits(now, packet.bytes) {
            self.meter.dropped(now, packet.flow);
            return None;
        }
        if action == Action::Mark {
            packet.ecn = EcnField::Ce;
            self.meter.marked(now, packet.flow);
        }
        Some(())
    }

    /// Drops a packet that arrives during an outage that loses packets. `None`: the packet was dropped.
    #[cold]
    fn enters_outage(&mut self, now: Nanos, flow: u32) -> Option<()> {
        let is_refused = self.outages.as_mut().is_some_and(|outages| outages.refuses(now));
        if is_refused {
            self.meter.dropped(now, flow);
        }
        (!is_refused).then_some(())
    }

    fn fits(&mut self, now: Nanos, bytes: u32) -> bool {
        self.begin(now);
        let pkts = (self.held.len() - self.begun) as u64;
        !self.limit.is_exceeded_by(self.waiting_bytes + u64::from(bytes), pkts + 1)
    }

    #[inline]
    fn is_above_mark(&mut self, now: Nanos) -> bool {
        let Some(limit) = self.mark_above else { return false };
        self.begin(now);
        limit.is_exceeded_by(self.waiting_bytes, (self.held.len() - self.begun) as u64)
    }

    /// Removes packets whose transmission has begun by `now` from the backlog.
    fn begin(&mut self, now: Nanos) {
        while let Some(next) = self.held.get(self.begun).filter(|next| next.starts <= now) {
            self.waiting_bytes -= u64::from(next.bytes());
            self.meter.started(next.starts, next.flow, next.bytes());
            self.begun += 1;
        }
    }

    /// Counts a packet that was dropped before it reached the queue.
    pub fn refused(&mut self, now: Nanos, flow: u32) {
        self.settle(now);
        self.meter.dropped(now, flow);
    }

    /// Counts a duplicate of a packet that has departed.
    pub fn duplicated(&mut self, now: Nanos) {
        self.settle(now);
        self.meter.duplicated(now);
    }

    /// Counts everything up to `now`. Times must not go back.
    pub fn settle(&mut self, now: Nanos) {
        while self.meter.next_boundary() <= now {
            let boundary = self.meter.next_boundary();
            // an event at the time of a boundary belongs to what comes after it
            self.count_departed(boundary.saturating_sub(1), usize::MAX);
            self.begin(boundary);
            self.meter.pass_boundary(boundary);
        }
        self.count_departed(now, usize::MAX);
    }

    /// Counts up to `most` packets that have departed by `until`.
    #[inline]
    fn count_departed(&mut self, until: Nanos, most: usize) {
        for _ in 0..most {
            let Some(h) = self.held.front().filter(|h| h.departs <= until) else { return };
            let Held { starts, departs, waited_ns, flow, .. } = *h;
            let (bytes, lost) = (h.bytes(), h.bytes & LOST != 0);
            self.held.pop_front();
            self.held_bytes -= u64::from(bytes);
            if self.begun > 0 {
                self.begun -= 1;
            } else {
                self.waiting_bytes -= u64::from(bytes); // it began and went between two looks
                self.meter.started(starts, flow, bytes);
            }
            self.meter.left(flow, bytes, waited_ns);
            if lost {
                self.meter.lost(departs, flow);
            }
        }
    }

    /// Backlog at `now`, without the packet in transmission, bytes.
    pub fn backlog_bytes(&mut self, now: Nanos) -> u64 {
        self.settle(now);
        self.begin(now);
        self.waiting_bytes
    }

    /// The metrics of the measurement window, once it has closed.
    pub fn summary(&self, name: &str) -> LinkSummary {
        let (from, to) = self.meter.window();
        self.meter.summary(name, self.transmitter.rate_bps(), self.transmitter.capacity_bits(from, to))
    }

    /// The measurements so far.
    pub fn meter(&self) -> &LinkMeter {
        &self.meter
    }

    /// Ends the measurement at `now`: closes interval and measurement window.
    pub fn finish(&mut self, now: Nanos) {
        self.settle(now);
        self.begin(now);
        self.meter.finish(now);
    }
}
