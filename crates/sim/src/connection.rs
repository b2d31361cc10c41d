//! A connection: its application, its TCP sender, and its receiving end.

use fairpace_cc::Clamps;
use fairpace_netem::{Direction, EcnField, Hop, Nanos, Offer, Packet, Sent, Source, part};
use fairpace_results::observer::{ConnectionId, Observer};
use fairpace_tcp::{Control as _, Segment, Sender, Wire};

use crate::event_queue::NEVER;
use crate::fast_path::FastLink;
use crate::flow::Flow;
use crate::header::{DATAGRAM_HEADER_BYTES, EpochSegment, Header, Kind, ecn, segment_bytes};
use crate::host_view::HostView;
use crate::observe;
use crate::receiver_side::ReceiverSide;
use crate::slot::Slot;

/// A connection. Its fields are in the order in which events read them, see
/// docs/decisions/0004-repr-c-field-order.md.
#[repr(C, align(64))]
pub(crate) struct Connection {
    pub(crate) slot: Slot,
    pub(crate) receiver_side: ReceiverSide,
    pub(crate) sender: Sender<HostView>,
    application: Application,
    /// Packets that earlier connections of a workload have sent from this slot.
    sent_before: Sent,
    /// Decisions of these connections that were outside their bounds, if any.
    clamps_before: Option<Box<Clamps>>,
}

/// Time after the SYN-ACK when the application writes, ns: a thread that waits for the connection must be
/// woken first, so the ACK of the SYN-ACK leaves by itself. The testbed takes 0.1 ms. The time decides
/// whether this ACK, which takes 0.1 ms on a link of 5 Mbit/s, is still in front of the first burst.
const WAKE_UP_NS: Nanos = 100_000;

/// The stages of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    /// The application waits for the connection.
    Connecting,
    /// The connection is established: the application is woken at this time.
    Waking(Nanos),
    Open,
    Stopped,
}

/// The application at the sending host.
struct Application {
    stage: Stage,
    source: Source,
    /// Number of bytes that the application has written and that do not fill a packet yet.
    unsent_bytes: u64,
    /// Number of datagrams that have been sent.
    datagrams: u64,
}

/// The way in which the segments of a sender reach its receiver. Results do not depend on it.
pub(crate) enum Dispatch<'a> {
    /// Dispatch per hop, with an event for each hop.
    PerHop,
    /// Dispatch on the fast path, when segments are sent: the first hop is a link with a fast path.
    FastPath(FastLink<'a>),
    /// Dispatch at the end of the senders' part of an epoch, over the fast path: see
    /// [`Epochs`](crate::epochs::Epochs).
    Epoch(&'a mut Vec<EpochSegment>),
}

/// The forward path, as a sender uses it.
struct ForwardPath<'a, 'd, O> {
    now: Nanos,
    dispatch: &'a mut Dispatch<'d>,
    flow: &'a mut Flow,
    slot: &'a mut Slot,
    receiver_side: &'a mut ReceiverSide,
    /// Packets for their first hop.
    packets: &'a mut Vec<Packet<Header>>,
    observer: &'a mut O,
}

impl<O: Observer> Wire for ForwardPath<'_, '_, O> {
    #[inline(always)] // see docs/decisions/0005-segments-in-registers.md
    fn send(&mut self, segment: Segment) {
        self.flow.counts.entered_pkts += 1;
        if O::ON {
            self.observer.sent(self.now, self.slot.id, &observe::segment(&segment));
        }
        if let Dispatch::Epoch(segments) = self.dispatch {
            segments.push(EpochSegment { segment, leaves: NEVER });
            return;
        }
        let ahead_us = Header::ahead_us(&segment, self.now);
        let hop = Hop::first(Direction::Forward);
        let payload =
            Header { slot: self.slot.index, hop, ahead_us, arrived_ce: false, kind: Kind::Segment, segment };
        let ConnectionId { flow, index: connection } = self.slot.id;
        let packet = Packet {
            flow,
            connection,
            bytes: segment_bytes(&segment, self.flow.data_bytes()),
            ecn: ecn(&segment),
            payload,
        };
        self.enter(packet);
    }

    #[cold]
    fn fail(&mut self) {
        self.flow.failed += 1;
        self.flow.round.leave();
        self.slot.stop_application();
        self.receiver_side.give_up();
    }
}

impl<O: Observer> ForwardPath<'_, '_, O> {
    /// Sends a packet to its first hop.
    #[inline(always)] // as `send`
    fn enter(&mut self, packet: Packet<Header>) {
        if let Dispatch::FastPath(link) = self.dispatch {
            link.carry(self.now, packet, self.flow, self.slot, self.receiver_side, self.observer);
        } else {
            self.packets.push(packet);
        }
    }

    /// Begins the connection's first transfer, if it has an end.
    fn begin_first_transfer(&mut self) {
        if self.receiver_side.is_finite() {
            self.flow.transfers.begins(self.now);
        }
    }

    /// Begins a response. Returns its number of packets; `None`: the flow has no responses.
    fn begin_response(&mut self) -> Option<u64> {
        let (bytes, _) = self.flow.connection.responses?;
        self.receiver_side.expect(self.now, bytes, self.flow);
        self.flow.transfers.begins(self.now);
        Some(self.flow.pkts(bytes))
    }

    /// Sends a frame of `bytes` in datagrams, all at once. Returns the number of datagrams.
    fn send_frame(&mut self, bytes: u64) -> u64 {
        let pkts = bytes.div_ceil(self.flow.datagram_payload_bytes());
        let Some(media) = &mut self.flow.media else { return 0 };
        let first = media.written(self.now, bytes, pkts);
        let Slot { index: slot, id: ConnectionId { flow, index: connection }, .. } = *self.slot;
        for index in 0..pkts {
            self.flow.counts.entered_pkts += 1;
            let segment = Segment { seq: first + index, sent: self.now, ..Segment::default() };
            let hop = Hop::first(Direction::Forward);
            let payload = Header { slot, hop, ahead_us: 0, arrived_ce: false, kind: Kind::Datagram, segment };
            let bytes = DATAGRAM_HEADER_BYTES + part(bytes, pkts, index) as u32;
            self.enter(Packet { flow, connection, bytes, ecn: EcnField::NotEct, payload });
        }
        pkts
    }
}

impl Connection {
    /// Returns a connection that starts at `start` and sends `size_bytes`, or without end. `random` seeds its
    /// algorithm.
    pub(crate) fn new(
        flow: &Flow,
        id: ConnectionId,
        slot: u32,
        start: Nanos,
        size_bytes: Option<u64>,
        random: u32,
    ) -> Self {
        let config = &flow.connection;
        let bytes = config.responses.map(|(bytes, _)| bytes).or(size_bytes);
        Connection {
            slot: Slot::new(slot, id, start, flow.acks_take_links),
            receiver_side: ReceiverSide::new(flow, start, bytes),
            sender: Sender::new(config.sender, random, config.algorithm.clone()),
            application: Application::new(flow.source(size_bytes, start)),
            sent_before: Sent::default(),
            clamps_before: None,
        }
    }

    /// Starts the next connection of a workload in this slot; the slot's memory is reused. All randomness of
    /// the connection derives from `seed`.
    pub(crate) fn renew(&mut self, flow: &Flow, id: ConnectionId, start: Nanos, bytes: u64, seed: u64) {
        let config = &flow.connection;
        let random = (seed >> 32) as u32;
        self.sent_before = self.sent();
        let clamps = self.clamps();
        self.clamps_before = (clamps != Clamps::default()).then(|| Box::new(clamps));
        self.sender.reset(config.sender, random, config.algorithm.clone());
        self.slot.reset(id, start);
        self.receiver_side.reset(flow, start, bytes, seed);
        self.application = Application::new(flow.source(Some(bytes), start));
    }

    /// Number of data packets that have been sent from this slot.
    pub(crate) fn sent(&self) -> Sent {
        let stats = self.sender.stats();
        Sent {
            pkts: self.sent_before.pkts + stats.sent_pkts + self.application.datagrams,
            retransmitted_pkts: self.sent_before.retransmitted_pkts + stats.retransmitted_pkts,
        }
    }

    /// Decisions of the algorithm that were outside their bounds, of all connections in this slot.
    pub(crate) fn clamps(&self) -> Clamps {
        let mut clamps = self.clamps_before.as_deref().copied().unwrap_or_default();
        if let Some(control) = self.sender.control() {
            clamps += control.clamps();
        }
        clamps
    }

    /// Returns whether the connection's transfer is complete and acknowledged. False once the connection has
    /// been closed.
    pub(crate) fn is_done(&self) -> bool {
        !self.slot.is_over() && self.receiver_side.is_complete() && self.sender.is_idle()
    }

    /// Ends the connection: packets that are still on their way to it are ignored. A timer of its receiver
    /// may still fire.
    pub(crate) fn close(&mut self) {
        self.slot.close();
        self.application.stage = Stage::Stopped;
    }

    /// The time of the connection's next event.
    #[inline]
    pub(crate) fn next_event(&self) -> Nanos {
        let sender = self.sender.next_timer().unwrap_or(NEVER);
        sender.min(self.slot.next_event())
    }

    /// Runs every event that is due at `now`. Packets for a first hop are added to `packets`.
    #[inline]
    pub(crate) fn run<O: Observer>(
        &mut self,
        now: Nanos,
        flow: &mut Flow,
        dispatch: &mut Dispatch<'_>,
        packets: &mut Vec<Packet<Header>>,
        observer: &mut O,
    ) {
        let sender = &mut self.sender;
        let (slot, receiver_side) = (&mut self.slot, &mut self.receiver_side);
        let mut path = ForwardPath { now, dispatch, flow, slot, receiver_side, packets, observer };
        if path.slot.next_application_event <= now {
            let next = self.application.run(now, sender, &mut path);
            path.slot.next_application_event = next.min(path.slot.request);
        }
        while let Some((_, ack)) = path.slot.acks.pop(now) {
            if O::ON {
                path.observer.ack(now, path.slot.id, &observe::ack(&ack));
            }
            sender.on_ack(now, &ack, &mut path);
            if ack.syn {
                let wakes = now.saturating_add(WAKE_UP_NS);
                let next = &mut path.slot.next_application_event;
                *next = self.application.wake(wakes).min(*next);
            }
        }
        if sender.next_timer().is_some_and(|at| at <= now) {
            sender.on_timer(now, &mut path);
        }
        let ForwardPath { slot, receiver_side, flow, packets, observer, .. } = path;
        receiver_side.run_due_timer(slot, now, flow, observer);
        receiver_side.send_acks(slot, now, flow, packets);
        if O::ON && !slot.is_over() && !flow.has_datagrams {
            observer.sender(now, slot.id, || observe::sender(sender));
        }
    }
}

impl Application {
    fn new(source: Source) -> Self {
        Application { stage: Stage::Waiting, source, unsent_bytes: 0, datagrams: 0 }
    }

    /// Wakes the application of an established connection. Returns the time when the application goes on.
    fn wake(&mut self, at: Nanos) -> Nanos {
        if self.stage != Stage::Connecting {
            return NEVER;
        }
        self.stage = Stage::Waking(at);
        at
    }

    /// Starts, stops, takes a request or writes, whatever is due. Returns the time of the next such event,
    /// requests left out.
    #[cold]
    fn run<O: Observer>(
        &mut self,
        now: Nanos,
        sender: &mut Sender<HostView>,
        path: &mut ForwardPath<'_, '_, O>,
    ) -> Nanos {
        let stop = path.flow.connection.stop;
        match self.stage {
            Stage::Stopped => {
                // the request that follows a last response has no effect
                path.slot.request = NEVER;
                return NEVER;
            }
            Stage::Waiting => {
                self.stage = Stage::Open;
                path.begin_first_transfer();
                if !path.flow.has_datagrams {
                    self.stage = Stage::Connecting;
                    sender.connect(now, path);
                    return stop;
                }
            }
            _ if stop <= now => {
                self.stage = Stage::Stopped;
                path.flow.round.leave();
                sender.stop();
                path.slot.request = NEVER;
                return NEVER;
            }
            Stage::Connecting => return stop,
            Stage::Waking(at) if now < at => return stop.min(at),
            Stage::Waking(_) => self.stage = Stage::Open,
            Stage::Open => {}
        }
        if path.slot.request <= now {
            path.slot.request = NEVER;
            if let Some(pkts) = path.begin_response() {
                sender.write(now, pkts, path);
            }
        }
        self.write(now, sender, path);
        stop.min(self.source.next_event())
    }

    /// Writes the data that the source offers.
    fn write<O: Observer>(
        &mut self,
        now: Nanos,
        sender: &mut Sender<HostView>,
        path: &mut ForwardPath<'_, '_, O>,
    ) {
        while let Some(offer) = self.source.poll(now) {
            match offer {
                Offer::Endless => sender.write(now, u64::MAX, path),
                Offer::Pause => sender.stop(),
                Offer::Frame(bytes) if path.flow.has_datagrams => self.datagrams += path.send_frame(bytes),
                Offer::Frame(bytes) => {
                    let pkts = path.flow.pkts(bytes);
                    if let Some(media) = &mut path.flow.media {
                        media.written(now, bytes, pkts);
                    }
                    sender.write(now, pkts, path);
                }
                Offer::Bytes(bytes) => {
                    let pkts = self.whole_pkts(bytes, path.flow.mss_bytes());
                    if self.unsent_bytes > 0 {
                        sender.write_with_part(now, pkts, path);
                    } else {
                        sender.write(now, pkts, path);
                    }
                }
            }
        }
    }

    /// Returns the whole packets of the data that has been written. The rest waits for more bytes, unless
    /// there will be none.
    fn whole_pkts(&mut self, bytes: u64, mss_bytes: u64) -> u64 {
        let bytes = self.unsent_bytes + bytes;
        let pkts = if self.source.is_finished() { bytes.div_ceil(mss_bytes) } else { bytes / mss_bytes };
        self.unsent_bytes = bytes.saturating_sub(pkts * mss_bytes);
        pkts
    }
}
