//! The receiving end of a connection: its TCP receiver, the transfer that its application waits for, and the
//! path of its ACKs.

use fairpace_netem::{Direction, EcnField, Hop, Nanos, OwnPath, Packet};
use fairpace_results::observer::{ConnectionId, Observer};
use fairpace_tcp::{Ack, AckWire, Receiver, Segment};

use crate::ack_queue::{AckQueue, AcksInTransit};
use crate::event_queue::NEVER;
use crate::flow::Flow;
use crate::header::{Header, Kind, ack_bytes};

/// The receiving end. Its fields are in the order in which events read them, see
/// docs/decisions/0004-repr-c-field-order.md.
#[repr(C)]
pub(crate) struct ReceiverSide {
    /// When the sending application next has something to do: it starts, stops, writes, or gets a request.
    pub(crate) next_application_event: Nanos,
    /// When the receiver's timer fires.
    receiver_timer: Nanos,
    /// ACKs that will leave the receiver for the links of the reverse route. `None` if it has none.
    leaving: Option<Box<AckQueue>>,
    /// ACKs that will reach the sender, with the time when its host processes them.
    pub(crate) acks: AckQueue,
    /// The connection that uses the slot, or used it last.
    pub(crate) id: ConnectionId,
    pub(crate) slot: u32,
    is_over: bool,
    /// When the next request reaches the sender.
    pub(crate) request: Nanos,
    transfer: Transfer,
    receiver: Receiver,
    path: OwnPath,
    in_transit: AcksInTransit,
}

/// What the receiving application waits for: a response, or all that a flow of finite size sends.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    /// Its last byte is in the packet before this one; `u64::MAX`: it has no end.
    end_pkt: u64,
    began: Nanos,
    bytes: u64,
    /// It is the connection's first, so its time includes the handshake.
    connects: bool,
    is_done: bool,
}

impl Transfer {
    /// The first transfer of a connection; without `bytes` it has no end.
    fn first(flow: &Flow, began: Nanos, bytes: Option<u64>) -> Self {
        let end_pkt = bytes.map_or(u64::MAX, |bytes| flow.pkts(bytes));
        Transfer { end_pkt, began, bytes: bytes.unwrap_or(0), connects: true, is_done: false }
    }
}

/// The path of a receiver's ACKs.
struct ReturnPath<'a> {
    path: &'a mut OwnPath,
    acks: &'a mut AckQueue,
    /// Where ACKs wait for the links of the reverse route, if it has any.
    leaving: Option<&'a mut AckQueue>,
}

impl AckWire for ReturnPath<'_> {
    #[inline(always)] // see docs/decisions/0005-segments-in-registers.md
    fn send(&mut self, at: Nanos, ack: Ack) {
        if let Some(leaving) = &mut self.leaving {
            leaving.push(at, &ack);
        } else if let Some(at) = self.path.ack_arrival(at) {
            self.acks.push(at, &ack);
        }
    }
}

impl ReceiverSide {
    /// The receiving end of connection `id`, which starts at `start` and transfers `bytes`, or without end.
    pub(crate) fn new(flow: &Flow, id: ConnectionId, slot: u32, start: Nanos, bytes: Option<u64>) -> Self {
        ReceiverSide {
            next_application_event: start,
            receiver_timer: NEVER,
            leaving: flow.acks_take_links.then(Box::default),
            acks: AckQueue::default(),
            id,
            slot,
            is_over: false,
            request: NEVER,
            transfer: Transfer::first(flow, start, bytes),
            receiver: Receiver::new(flow.connection.receiver.clone()),
            path: flow.connection.path.clone(),
            in_transit: AcksInTransit::default(),
        }
    }

    /// Prepares the slot for the next connection of a workload; its memory is reused.
    pub(crate) fn reset(&mut self, flow: &Flow, id: ConnectionId, start: Nanos, bytes: u64, seed: u64) {
        self.receiver.reset(flow.connection.receiver.clone());
        self.receiver_timer = NEVER;
        self.path = flow.connection.path.clone();
        self.path.reseed(seed);
        self.discard_acks();
        self.transfer = Transfer::first(flow, start, Some(bytes));
        (self.next_application_event, self.request, self.id, self.is_over) = (start, NEVER, id, false);
    }

    /// Ends the connection: packets that are still on their way to it are ignored.
    pub(crate) fn close(&mut self) {
        self.is_over = true;
        self.discard_acks();
        (self.next_application_event, self.request) = (NEVER, NEVER);
    }

    /// The connection has failed: its applications have nothing more to do.
    pub(crate) fn give_up(&mut self) {
        self.transfer.is_done = true;
        (self.next_application_event, self.request) = (NEVER, NEVER);
    }

    fn discard_acks(&mut self) {
        self.acks.clear();
        self.leaving.iter_mut().for_each(|leaving| leaving.clear());
    }

    /// Has the connection been closed?
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Has the last byte of the current transfer arrived?
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.transfer.is_done
    }

    /// Does the current transfer have an end?
    pub(crate) fn is_finite(&self) -> bool {
        self.transfer.end_pkt != u64::MAX
    }

    /// When something happens here next.
    #[inline]
    pub(crate) fn next_event(&self) -> Nanos {
        let leaving = self.leaving.as_ref().map_or(NEVER, |leaving| leaving.next_event());
        self.acks.next_event().min(leaving).min(self.receiver_timer).min(self.next_application_event)
    }

    /// A segment that left its host at `left` comes out of the last hop at `now`.
    #[inline]
    pub(crate) fn receive<O: Observer>(
        &mut self,
        now: Nanos,
        segment: Segment,
        left: Nanos,
        flow: &mut Flow,
        observer: &mut O,
    ) {
        let at = self.path.arrival(now);
        if flow.has_datagrams {
            return self.receive_datagram(at, segment.seq, left, flow);
        }
        while self.receiver_timer < at {
            self.run_timer(self.receiver_timer, flow, observer);
        }
        flow.counts.arrived_pkts += 1;
        let leaving = self.leaving.as_deref_mut();
        let mut back = ReturnPath { path: &mut self.path, acks: &mut self.acks, leaving };
        let available = self.receiver.on_segment(at, segment, &mut back);
        self.receiver_timer = self.receiver.next_timer().unwrap_or(NEVER);
        // Packets of a workload's connection that arrive after its last byte are not measured: soon there is
        // no receiver for them.
        let is_late = self.transfer.is_done && flow.workload.is_some();
        if is_late {
            return;
        }
        if segment.is_data() {
            flow.counts.data_pkts += u64::from(at <= flow.run_ends);
            let back_ns = flow.back_links_ns + self.path.return_delay_ns(at);
            flow.meter.data(at, at.saturating_sub(left) + back_ns);
            if let Some(media) = &mut flow.media {
                media.packet(at, at.saturating_sub(left));
            }
        }
        // Also after a packet that is no data: it flushes what GRO holds.
        self.read(at, available, flow, observer);
    }

    /// The part of a frame with this number, which left its host at `left`, arrives at `at`. Nothing
    /// acknowledges it.
    fn receive_datagram(&mut self, at: Nanos, number: u64, left: Nanos, flow: &mut Flow) {
        let delay_ns = at.saturating_sub(left);
        flow.counts.arrived_pkts += 1;
        flow.counts.data_pkts += u64::from(at <= flow.run_ends);
        flow.meter.data(at, delay_ns + flow.back_links_ns + self.path.return_delay_ns(at));
        let Some(media) = &mut flow.media else { return };
        media.packet(at, delay_ns);
        if let Some(bytes) = media.arrives(at, number) {
            flow.meter.goodput(at, bytes);
        }
    }

    /// Runs the receiver's timer if it is due.
    #[inline]
    pub(crate) fn run_due_timer<O: Observer>(&mut self, now: Nanos, flow: &mut Flow, observer: &mut O) {
        if self.receiver_timer <= now {
            self.run_timer(now, flow, observer);
        }
    }

    fn run_timer<O: Observer>(&mut self, now: Nanos, flow: &mut Flow, observer: &mut O) {
        let leaving = self.leaving.as_deref_mut();
        let mut back = ReturnPath { path: &mut self.path, acks: &mut self.acks, leaving };
        let available = self.receiver.on_timer(now, &mut back);
        self.receiver_timer = self.receiver.next_timer().unwrap_or(NEVER);
        self.read(now, available, flow, observer);
    }

    /// The application reads `pkts` packets.
    #[inline]
    fn read<O: Observer>(&mut self, now: Nanos, pkts: u64, flow: &mut Flow, observer: &mut O) {
        if pkts > 0 {
            flow.meter.goodput(now, pkts * flow.mss_bytes());
            if let Some(media) = &mut flow.media {
                media.delivered(now, self.receiver.rcv_nxt());
            }
        }
        if self.receiver.rcv_nxt() >= self.transfer.end_pkt && !self.transfer.is_done {
            self.complete(now, flow, observer);
        }
    }

    #[cold]
    fn complete<O: Observer>(&mut self, now: Nanos, flow: &mut Flow, observer: &mut O) {
        let Transfer { began, bytes, connects, .. } = self.transfer;
        self.transfer.is_done = true;
        if now > flow.run_ends {
            return;
        }
        flow.completed(began, now, bytes, connects);
        if O::ON {
            observer.completed(now, self.id, bytes, now - began);
        }
        if let Some((_, think)) = flow.connection.responses {
            let back_ns = flow.back_links_ns + self.path.return_delay_ns(now);
            self.request = now.saturating_add(think).saturating_add(back_ns);
            self.next_application_event = self.next_application_event.min(self.request);
        }
    }

    /// The sender begins a response of `bytes`.
    pub(crate) fn expect(&mut self, now: Nanos, bytes: u64, flow: &Flow) {
        let end_pkt = self.transfer.end_pkt + flow.pkts(bytes);
        self.transfer = Transfer { end_pkt, began: now, bytes, connects: false, is_done: false };
    }

    /// Sends the ACKs that are due to their first link, if the reverse route has links.
    #[inline]
    pub(crate) fn send_acks(&mut self, now: Nanos, flow: &mut Flow, packets: &mut Vec<Packet<Header>>) {
        if self.leaving.is_some() {
            self.send_acks_to_links(now, flow, packets);
        }
    }

    fn send_acks_to_links(&mut self, now: Nanos, flow: &mut Flow, packets: &mut Vec<Packet<Header>>) {
        while let Some((at, ack)) = self.leaving.as_mut().and_then(|leaving| leaving.pop(now)) {
            let segment = Segment { seq: self.in_transit.insert(ack), sent: at, ..Segment::default() };
            let hop = Hop::first(Direction::Back);
            let kind = if ack.syn { Kind::SynAck } else { Kind::Ack };
            let payload = Header { slot: self.slot, hop, ahead_us: 0, arrived_ce: false, kind, segment };
            let ConnectionId { flow: index, index: connection } = self.id;
            flow.counts.entered_pkts += 1;
            let receiver = &flow.connection.receiver;
            let bytes = ack_bytes(&ack, receiver.ecn.is_accurate() && receiver.accecn_option);
            packets.push(Packet { flow: index, connection, bytes, ecn: EcnField::NotEct, payload });
        }
    }

    /// An ACK has left the last hop of the reverse route.
    pub(crate) fn ack_arrives(&mut self, now: Nanos, number: u64) {
        // only the first copy of an ACK has an effect
        if let Some(ack) = self.in_transit.arrive(number)
            && let Some(at) = self.path.ack_arrival(now)
        {
            self.acks.push(at, &ack);
        }
        self.in_transit.remove(number);
    }

    /// An ACK was dropped on a link, or arrived when its connection was over.
    pub(crate) fn ack_gone(&mut self, number: u64) {
        self.in_transit.remove(number);
    }

    /// An ACK was duplicated.
    pub(crate) fn ack_duplicated(&mut self, number: u64) {
        self.in_transit.duplicate(number);
    }

    /// The ACK of this number, while it is on links.
    pub(crate) fn ack_in_transit(&self, number: u64) -> Option<&Ack> {
        self.in_transit.get(number)
    }

    /// Does the packet belong to the connection that uses the slot? If not, its connection is over.
    #[inline]
    pub(crate) fn expects(&self, packet: &Packet<Header>) -> bool {
        self.id.index == packet.connection && !self.is_over
    }
}
