//! An AQM queue in front of a transmitter.

use std::collections::VecDeque;

use fairpace_results::LinkSummary;

use crate::aqm::{Discipline, DropReason, Sink};
use crate::elements::outages::Outages;
use crate::elements::transmitter::Transmitter;
use crate::meters::link_meter::LinkMeter;
use crate::meters::schedule::Schedule;
use crate::packet::{Departed, Fate, Packet};
use crate::time::Nanos;

/// A link whose queue decides which packet is next, or is dropped, only when the transmitter is free.
///
/// So the times of a packet are not known when it arrives, unlike in a [`Fifo`](crate::Fifo). Otherwise the
/// two types of queue measure and transmit alike. A packet whose transmission has begun has left the queue.
/// With a token bucket, the next packet is dequeued as soon as the last one has left, and waits for its
/// tokens outside of the queue, as in Linux's sch_tbf.
#[derive(Debug, Clone)]
pub struct AqmQueue<T> {
    discipline: Discipline<T>,
    transmitter: Transmitter,
    sending: Option<Sending<T>>,
    /// Time when the next packet is dequeued, if a packet waits and none is being sent.
    takes: Nanos,
    /// Packets that were dropped after they were enqueued and are not yet polled, in order.
    dropped: VecDeque<Departed<T>>,
    /// Outages that lose packets.
    outages: Option<Box<Outages>>,
    meter: LinkMeter,
}

/// A packet that has been dequeued.
#[derive(Debug, Clone)]
struct Sending<T> {
    /// Times when the packet's first and last bit leave.
    starts: Nanos,
    departs: Nanos,
    waited_ns: Nanos,
    is_begun: bool,
    packet: Packet<T>,
}

impl<T: Copy> AqmQueue<T> {
    /// Returns an empty queue and an idle transmitter, shared by `flows` flows and metered by `schedule`.
    pub fn new(
        discipline: Discipline<T>,
        transmitter: Transmitter,
        flows: usize,
        schedule: Schedule,
    ) -> Self {
        AqmQueue {
            discipline,
            transmitter,
            sending: None,
            takes: 0,
            dropped: VecDeque::new(),
            outages: None,
            meter: LinkMeter::new(flows, schedule),
        }
    }

    /// Adds outages that lose packets: those of the transmitter's rates.
    #[must_use]
    pub fn with_outages(self, outages: Outages) -> Self {
        AqmQueue { outages: Some(Box::new(outages)), ..self }
    }

    /// Enqueues a packet. The queue may drop other packets for it, or the packet itself later:
    /// [`poll`](AqmQueue::poll) returns the dropped packets. Times must not go back, and every event due must
    /// have been polled.
    ///
    /// # Errors
    /// The packet itself, when the discipline refuses it.
    pub fn push(&mut self, now: Nanos, packet: Packet<T>) -> Result<(), Packet<T>> {
        debug_assert!(self.next_event().is_none_or(|at| at >= now), "push at {now} before poll");
        if self.outages.as_mut().is_some_and(|outages| outages.refuses(now)) {
            self.meter.dropped(now, packet.flow);
            return Err(packet);
        }
        self.meter.queued(now, packet.flow, packet.bytes);
        let mut reports = Reports { now, meter: &mut self.meter, dropped: &mut self.dropped };
        let fate = self.discipline.enqueue(now, packet, &mut reports).map_err(|(packet, reason)| {
            reports.meter.removed(now, packet.flow, packet.bytes, reason);
            packet
        });
        if self.sending.is_none() {
            self.takes = self.transmitter.starts(now, 0);
            if self.takes <= now {
                self.take(now);
            }
        }
        fate
    }

    /// The time of the next event: a packet has left, was dropped, or is to be dequeued.
    #[inline]
    pub fn next_event(&self) -> Option<Nanos> {
        if let Some(dropped) = self.dropped.front() {
            return Some(dropped.at);
        }
        match &self.sending {
            Some(sending) => Some(sending.departs),
            None => (!self.discipline.is_empty()).then_some(self.takes),
        }
    }

    /// Returns the next packet that has left by `now`, or was dropped; call until `None`.
    #[inline]
    pub fn poll(&mut self, now: Nanos) -> Option<Departed<T>> {
        loop {
            if let Some(dropped) = self.dropped.pop_front() {
                return Some(dropped);
            }
            if self.next_event()? > now {
                return None;
            }
            match self.sending.take() {
                Some(sending) => return Some(self.depart(sending)),
                None => self.take(self.takes),
            }
        }
    }

    #[inline]
    fn depart(&mut self, sending: Sending<T>) -> Departed<T> {
        let Sending { starts, departs: at, waited_ns, is_begun, packet } = sending;
        if !is_begun {
            self.meter.begun(starts, packet.flow, packet.bytes);
        }
        self.meter.departed(at, packet.flow, packet.bytes, waited_ns);
        self.takes = self.transmitter.starts(at, 0);
        // also from an empty queue, which tells the discipline that the link is idle
        if self.takes <= at || self.discipline.is_empty() {
            self.take(at);
        }
        let is_cut = self.outages.as_mut().is_some_and(|outages| outages.cuts(starts, at));
        if is_cut {
            self.meter.lost(at, packet.flow);
        }
        Departed { at, waited_ns, fate: if is_cut { Fate::Lost } else { Fate::Delivered }, packet }
    }

    /// Dequeues the next packet, if there is one.
    #[inline]
    fn take(&mut self, now: Nanos) {
        let mut reports = Reports { now, meter: &mut self.meter, dropped: &mut self.dropped };
        let Some((packet, waited_ns)) = self.discipline.dequeue(now, &mut reports) else { return };
        let starts = self.transmitter.starts(now, packet.bytes);
        let departs = self.transmitter.send(now, packet.bytes);
        let is_begun = starts <= now;
        if is_begun {
            self.meter.begun(now, packet.flow, packet.bytes);
        }
        let waited_ns = waited_ns + (starts - now);
        self.sending = Some(Sending { starts, departs, waited_ns, is_begun, packet });
    }

    /// Counts a packet that was dropped before it reached the queue.
    pub fn refused(&mut self, now: Nanos, flow: u32) {
        self.meter.dropped(now, flow);
    }

    /// Counts a packet that has departed and was lost behind the queue.
    pub fn lost(&mut self, now: Nanos, flow: u32) {
        self.meter.lost(now, flow);
    }

    /// Counts a duplicate of a packet that has departed.
    pub fn duplicated(&mut self, now: Nanos) {
        self.meter.duplicated(now);
    }

    /// Backlog of the queue, bytes.
    pub fn backlog_bytes(&self) -> u64 {
        self.discipline.backlog_bytes()
    }

    /// Number of packets that wait, are being transmitted, or were dropped and not yet polled.
    pub fn len(&self) -> usize {
        self.discipline.len() + usize::from(self.sending.is_some()) + self.dropped.len()
    }

    /// True when the queue has no such packets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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

    /// Closes intervals and the measurement window that ended by `now`, when every event due before has been
    /// polled.
    pub fn settle(&mut self, now: Nanos) {
        self.meter.pass_boundary(now);
    }

    /// Ends the measurement at `now`, when every event due has been polled: closes interval and measurement
    /// window.
    pub fn finish(&mut self, now: Nanos) {
        self.meter.finish(now);
    }
}

/// A sink that passes drops and marks of a discipline to the meter, and dropped packets to `poll`.
struct Reports<'a, T> {
    now: Nanos,
    meter: &'a mut LinkMeter,
    dropped: &'a mut VecDeque<Departed<T>>,
}

impl<T> Sink<T> for Reports<'_, T> {
    fn dropped(&mut self, packet: Packet<T>, reason: DropReason) {
        self.meter.removed(self.now, packet.flow, packet.bytes, reason);
        self.dropped.push_back(Departed { at: self.now, waited_ns: 0, fate: Fate::Dropped, packet });
    }

    fn marked(&mut self, packet: &Packet<T>) {
        self.meter.marked(self.now, packet.flow);
    }
}
