//! The receiving end of a connection: its TCP receiver, the transfer that its application waits for, and the
//! path of its ACKs.

use fairpace_netem::{Direction, EcnField, Hop, Nanos, OwnPath, Packet};
use fairpace_results::observer::{ConnectionId, Observer};
use fairpace_tcp::{Ack, AckWire, Receiver, Segment};

use crate::ack_queue::AcksInTransit;
use crate::event_queue::NEVER;
use crate::flow::Flow;
use crate::header::{Header, Kind, ack_bytes};
use crate::round::Round;
use crate::slot::Slot;

/// The receiving end. Its fields are in the order in which events read them, see
/// docs/decisions/0004-repr-c-field-order.md.
#[repr(C)]
pub(crate) struct ReceiverSide {
    transfer: Transfer,
    receiver: Receiver,
    path: OwnPath,
    in_transit: AcksInTransit,
}

/// The transfer that the receiving application waits for: a response, or all data of a flow of finite size.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    /// End of the transfer: its last byte is in the packet before this one; `u64::MAX`: without end.
    end_pkt: u64,
    began: Nanos,
    bytes: u64,
    /// True for the connection's first transfer, whose time includes the handshake.
    connects: bool,
    is_done: bool,
}

impl Transfer {
    /// Returns the first transfer of a connection; without `bytes` it has no end.
    fn first(flow: &Flow, began: Nanos, bytes: Option<u64>) -> Self {
        let end_pkt = bytes.map_or(u64::MAX, |bytes| flow.pkts(bytes));
        Transfer { end_pkt, began, bytes: bytes.unwrap_or(0), connects: true, is_done: false }
    }
}

/// The path of a receiver's ACKs.
struct ReturnPath<'a> {
    path: &'a mut OwnPath,
    slot: &'a mut Slot,
}

impl AckWire for ReturnPath<'_> {
    #[inline(always)] // see docs/decisions/0005-segments-in-registers.md
    fn send(&mut self, at: Nanos, ack: Ack) {
        if let Some(leaving) = &mut self.slot.leaving {
            leaving.push(at, &ack);
        } else if let Some(at) = self.path.ack_arrival(at) {
            self.slot.acks.push(at, &ack);
        }
    }
}

impl ReceiverSide {
    /// Returns the receiving end of a connection that starts at `start` and transfers `bytes`, or without
    /// end.
    pub(crate) fn new(flow: &Flow, start: Nanos, bytes: Option<u64>) -> Self {
        ReceiverSide {
            transfer: Transfer::first(flow, start, bytes),
            receiver: Receiver::new(flow.connection.receiver.clone()),
            path: flow.connection.path.clone(),
            in_transit: AcksInTransit::default(),
        }
    }

    /// Resets to the receiving end of the next connection of a workload; the memory is reused.
    pub(crate) fn reset(&mut self, flow: &Flow, start: Nanos, bytes: u64, seed: u64) {
        self.receiver.reset(flow.connection.receiver.clone());
        self.path = flow.connection.path.clone();
        self.path.reseed(seed);
        self.transfer = Transfer::first(flow, start, Some(bytes));
    }

    /// Ends the wait of the application of a connection that has failed.
    pub(crate) fn give_up(&mut self) {
        self.transfer.is_done = true;
    }

    /// Returns whether the last byte of the current transfer has arrived.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.transfer.is_done
    }

    /// Returns whether the current transfer has an end.
    pub(crate) fn is_finite(&self) -> bool {
        self.transfer.end_pkt != u64::MAX
    }

    /// Receives a segment that left its host at `left` and comes out of the last hop at `now`.
    #[inline]
    pub(crate) fn receive<O: Observer>(
        &mut self,
        slot: &mut Slot,
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
        while slot.receiver_timer < at {
            self.run_timer(slot, slot.receiver_timer, flow, observer);
        }
        flow.counts.arrived_pkts += 1;
        let mut back = ReturnPath { path: &mut self.path, slot };
        let available = self.receiver.on_segment(at, segment, &mut back);
        slot.receiver_timer = self.receiver.next_timer().unwrap_or(NEVER);
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
        self.read(slot, at, available, flow, observer);
    }

    /// Receives the part of a frame with this number, which left its host at `left` and arrives at `at`. No
    /// ACK follows.
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
    pub(crate) fn run_due_timer<O: Observer>(
        &mut self,
        slot: &mut Slot,
        now: Nanos,
        flow: &mut Flow,
        observer: &mut O,
    ) {
        if slot.receiver_timer <= now {
            self.run_timer(slot, now, flow, observer);
        }
    }

    fn run_timer<O: Observer>(&mut self, slot: &mut Slot, now: Nanos, flow: &mut Flow, observer: &mut O) {
        let mut back = ReturnPath { path: &mut self.path, slot };
        let available = self.receiver.on_timer(now, &mut back);
        slot.receiver_timer = self.receiver.next_timer().unwrap_or(NEVER);
        self.read(slot, now, available, flow, observer);
    }

    /// Records that the application reads `pkts` packets.
    #[inline]
    fn read<O: Observer>(
        &mut self,
        slot: &mut Slot,
        now: Nanos,
        pkts: u64,
        flow: &mut Flow,
        observer: &mut O,
    ) {
        if pkts > 0 {
            flow.meter.goodput(now, pkts * flow.mss_bytes());
            if let Some(media) = &mut flow.media {
                media.delivered(now, self.receiver.rcv_nxt());
            }
        }
        if self.receiver.rcv_nxt() >= self.transfer.end_pkt && !self.transfer.is_done {
            self.complete(slot, now, flow, observer);
        }
    }

    #[cold]
    fn complete<O: Observer>(&mut self, slot: &mut Slot, now: Nanos, flow: &mut Flow, observer: &mut O) {
        let Transfer { began, bytes, connects, .. } = self.transfer;
        self.transfer.is_done = true;
        if now > flow.run_ends {
            return;
        }
        flow.completed(began, now, bytes, connects);
        if O::ON {
            observer.completed(now, slot.id, bytes, now - began);
        }
        match flow.round {
            Round::Running => flow.round = Round::Arrived(now),
            _ => self.request_next(slot, now, flow),
        }
    }

    /// Sends the next request, if the flow answers requests: it reaches the sender after the think time and
    /// half a round trip.
    pub(crate) fn request_next(&self, slot: &mut Slot, now: Nanos, flow: &Flow) {
        let Some((_, think)) = flow.connection.responses else { return };
        let back_ns = flow.back_links_ns + self.path.return_delay_ns(now);
        slot.will_request(now.saturating_add(think).saturating_add(back_ns));
    }

    /// Records that the sender begins a response of `bytes`.
    pub(crate) fn expect(&mut self, now: Nanos, bytes: u64, flow: &Flow) {
        let end_pkt = self.transfer.end_pkt + flow.pkts(bytes);
        self.transfer = Transfer { end_pkt, began: now, bytes, connects: false, is_done: false };
    }

    /// Sends the ACKs that are due to their first link, if the reverse route has links.
    #[inline]
    pub(crate) fn send_acks(
        &mut self,
        slot: &mut Slot,
        now: Nanos,
        flow: &mut Flow,
        packets: &mut Vec<Packet<Header>>,
    ) {
        if slot.leaving.is_some() {
            self.send_acks_to_links(slot, now, flow, packets);
        }
    }

    fn send_acks_to_links(
        &mut self,
        slot: &mut Slot,
        now: Nanos,
        flow: &mut Flow,
        packets: &mut Vec<Packet<Header>>,
    ) {
        while let Some((at, ack)) = slot.leaving.as_mut().and_then(|leaving| leaving.pop(now)) {
            let segment = Segment { seq: self.in_transit.insert(ack), sent: at, ..Segment::default() };
            let hop = Hop::first(Direction::Back);
            let kind = if ack.syn { Kind::SynAck } else { Kind::Ack };
            let payload = Header { slot: slot.index, hop, ahead_us: 0, arrived_ce: false, kind, segment };
            let ConnectionId { flow: index, index: connection } = slot.id;
            flow.counts.entered_pkts += 1;
            let receiver = &flow.connection.receiver;
            let bytes = ack_bytes(&ack, receiver.ecn.is_accurate() && receiver.accecn_option);
            packets.push(Packet { flow: index, connection, bytes, ecn: EcnField::NotEct, payload });
        }
    }

    /// Records that an ACK has left the last hop of the reverse route.
    pub(crate) fn ack_arrives(&mut self, slot: &mut Slot, now: Nanos, number: u64) {
        // only the first copy of an ACK has an effect
        if let Some(ack) = self.in_transit.arrive(number)
            && let Some(at) = self.path.ack_arrival(now)
        {
            slot.acks.push(at, &ack);
        }
        self.in_transit.remove(number);
    }

    /// Records that an ACK was dropped on a link, or arrived when its connection was over.
    pub(crate) fn ack_gone(&mut self, number: u64) {
        self.in_transit.remove(number);
    }

    /// Records that an ACK was duplicated.
    pub(crate) fn ack_duplicated(&mut self, number: u64) {
        self.in_transit.duplicate(number);
    }

    /// The ACK of this number, while it is on links.
    pub(crate) fn ack_in_transit(&self, number: u64) -> Option<&Ack> {
        self.in_transit.get(number)
    }
}
