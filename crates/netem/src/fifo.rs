//! A first-in first-out queue in front of a transmitter: drop-tail, with marks above a step, or under RED.

use std::collections::VecDeque;

use fairpace_results::LinkSummary;

use crate::aqm::{Judge, Judgement, Red};
use crate::{Ecn, LinkMeter, Nanos, Packet, Random, Schedule, Transmitter};

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

/// What a [`Fifo`] measures of a packet that it has let in. A deep queue holds a million of them: half a cache line each.
#[derive(Debug, Clone)]
struct Held {
    starts: Nanos,
    departs: Nanos,
    waited_ns: Nanos,
    flow: u32,
    /// Its length, and [`LOST`].
    bytes: u32,
}

/// It will not arrive: lost on the line behind.
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
    judge: Judge,
    /// Since when the wire has been idle, or from when on it will be if nothing more comes.
    idle_since: Nanos,
}

/// A queue in which nothing overtakes.
///
/// Nothing can overtake what is in it, so a packet's departure is known when it arrives and that is when the queue says it: it
/// does not keep the packet, only what its meter has yet to count. Who needs the packet at its departure keeps it
/// ([`Link`](crate::Link) does).
///
/// The limit is on what *waits*. A packet whose transmission has begun has left the queue, as it has on Linux when the device has
/// taken it from a bfifo; it is neither counted against the limit nor part of the backlog. An arriving packet is dropped when what
/// waits and itself exceed the limit; one that meets an idle transmitter does not wait and is never dropped for lack of room.
#[derive(Debug, Clone)]
pub struct Fifo {
    transmitter: Transmitter,
    limit: Limit,
    /// A packet that finds more waiting is marked, if it can be.
    mark_above: Option<Limit>,
    red: Option<Box<Gate>>,
    /// Not counted yet by the meter, in order of departure. Some may have departed.
    held: VecDeque<Held>,
    held_bytes: u64,
    /// How many of `held`, from the front, are known to have begun transmission, and what the others weigh.
    begun: usize,
    waiting_bytes: u64,
    meter: LinkMeter,
}

/// Departures that an arrival counts at most: more than one per arrival, so that they cannot pile up, and few, so that no
/// arrival is slow.
const COUNTED_PER_ARRIVAL: usize = 2;

impl Fifo {
    /// A queue that holds up to `limit`, shared by `flows` flows and metered by `schedule`.
    pub fn new(transmitter: Transmitter, limit: Limit, flows: usize, schedule: Schedule) -> Self {
        Fifo {
            transmitter,
            limit,
            mark_above: None,
            red: None,
            held: VecDeque::new(),
            held_bytes: 0,
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

    /// The same under RED, which decides on arrival too: the same queue, packet by packet, as the discipline in front of a wire. With
    /// another transmitter it is not, see [`AqmQueue`](crate::AqmQueue).
    #[must_use]
    pub fn with_red(self, settings: Red, random: Random) -> Self {
        debug_assert!(self.transmitter.is_wire());
        let gate = Gate { judge: Judge::new(&settings, random), idle_since: 0 };
        Fifo { red: Some(Box::new(gate)), ..self }
    }

    /// A packet arrives: when its last bit will be out and how long it waits before, or `None`: it was dropped. `is_lost` is asked when
    /// it is in: what the line behind loses uses the transmitter like others. Times must not go back.
    #[inline]
    pub fn transit<T>(
        &mut self,
        now: Nanos,
        packet: &mut Packet<T>,
        is_lost: impl FnOnce() -> bool,
    ) -> Option<(Nanos, Nanos)> {
        let Packet { flow, bytes, ref mut ecn, .. } = *packet;
        self.count_before(now, 1);
        let starts = self.transmitter.starts(now, bytes);
        if self.red.is_some() {
            self.enters_red(now, starts, packet)?;
        } else if starts > now {
            // what is held is at least what waits: if it leaves room there is room
            let surely_fits =
                !self.limit.is_exceeded_by(self.held_bytes + u64::from(bytes), self.held.len() as u64 + 1);
            if !surely_fits && !self.fits(now, bytes) {
                self.meter.dropped(now, flow, bytes);
                return None;
            }
            if *ecn == Ecn::Capable && self.is_above_mark(now) {
                *ecn = Ecn::Marked;
                self.meter.marked(now, flow);
            }
        }
        let departs = self.transmitter.send(now, bytes);
        if let Some(red) = &mut self.red {
            red.idle_since = departs;
        }
        self.meter.joined(now, flow, u64::from(bytes));
        let flags = if is_lost() { LOST } else { 0 };
        self.held.push_back(Held { starts, departs, waited_ns: starts - now, flow, bytes: bytes | flags });
        self.held_bytes += u64::from(bytes);
        self.waiting_bytes += u64::from(bytes);
        Some((departs, starts - now))
    }

    /// `pkts` packets of a flow arrive together; `leaves` is told in turn when the last bit of each will be out. False: nothing has come in,
    /// since it takes a [look](Fifo::transit) at each whether it does, or is marked.
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
        // what is held is at least what waits
        let surely_fit =
            !self.limit.is_exceeded_by(self.held_bytes + all_bytes, (self.held.len() + pkts) as u64);
        if !surely_fit || self.red.is_some() || self.mark_above.is_some() {
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

    /// Counts what was before `pkts` packets arrive: all of it if an interval has ended.
    #[inline]
    fn count_before(&mut self, now: Nanos, pkts: usize) {
        if self.meter.next_boundary() <= now {
            self.settle(now);
        } else {
            self.count_departed(now, pkts * COUNTED_PER_ARRIVAL);
        }
    }

    /// Under RED: its judgement, the limit, then the mark. An empty queue has room for any packet, as disciplines have it. `None`: it
    /// was dropped.
    #[inline]
    fn enters_red<T>(&mut self, now: Nanos, starts: Nanos, packet: &mut Packet<T>) -> Option<()> {
        self.begin(now);
        let red = self.red.as_mut()?;
        let is_idle = starts <= now;
        let idle = is_idle.then(|| now - red.idle_since);
        let judgement = red.judge.judge(self.waiting_bytes, idle, packet.ecn);
        if judgement == Judgement::Drop {
            if is_idle {
                red.idle_since = now; // the link asks in vain again
            }
            self.meter.dropped_early(now, packet.flow, packet.bytes);
            return None;
        }
        if self.held.len() > self.begun && !self.fits(now, packet.bytes) {
            self.meter.dropped(now, packet.flow, packet.bytes);
            return None;
        }
        if judgement == Judgement::Mark {
            packet.ecn = Ecn::Marked;
            self.meter.marked(now, packet.flow);
        }
        Some(())
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

    /// Takes packets whose transmission has begun by `now` out of what waits.
    fn begin(&mut self, now: Nanos) {
        while let Some(next) = self.held.get(self.begun).filter(|next| next.starts <= now) {
            self.waiting_bytes -= u64::from(next.bytes());
            self.meter.started(next.starts, next.flow, next.bytes());
            self.begun += 1;
        }
    }

    /// A packet was refused before it reached the queue.
    pub fn refused(&mut self, now: Nanos, flow: u32, bytes: u32) {
        self.settle(now);
        self.meter.dropped(now, flow, bytes);
    }

    /// The line behind made a second copy of a packet.
    pub fn duplicated(&mut self, now: Nanos) {
        self.settle(now);
        self.meter.duplicated(now);
    }

    /// Counts everything up to `now`. Times must not go back.
    pub fn settle(&mut self, now: Nanos) {
        while self.meter.next_boundary() <= now {
            let stop = self.meter.next_boundary();
            // an event at the very time of a stop belongs to what comes after
            self.count_departed(stop.saturating_sub(1), usize::MAX);
            self.begin(stop);
            self.meter.stop(stop);
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

    /// Bytes that wait at `now`; what is being transmitted is not among them.
    pub fn backlog_bytes(&mut self, now: Nanos) -> u64 {
        self.settle(now);
        self.begin(now);
        self.waiting_bytes
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
        self.begin(now);
        self.meter.finish(now);
    }
}
