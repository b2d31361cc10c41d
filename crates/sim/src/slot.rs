//! The slot of a connection, which each of its events reads first: its identity, the times of its next
//! events, and the ACKs on their way to its sender.

use std::mem::offset_of;

use fairpace_netem::{Nanos, Packet};
use fairpace_results::observer::ConnectionId;

use crate::ack_queue::AckQueue;
use crate::event_queue::NEVER;
use crate::header::Header;

/// The part of a slot that both ends of its connection read and write. Its fields are in the order in which
/// events read them, see docs/decisions/0004-repr-c-field-order.md.
#[repr(C)]
pub(crate) struct Slot {
    /// Time of the sending application's next event: it starts, stops, writes, or gets a request.
    pub(crate) next_application_event: Nanos,
    /// Time when the receiver's timer fires.
    pub(crate) receiver_timer: Nanos,
    /// ACKs that will leave the receiver for the links of the reverse route. `None` if this route has no
    /// links.
    pub(crate) leaving: Option<Box<AckQueue>>,
    /// ACKs that will reach the sender, with the time when its host processes them.
    pub(crate) acks: AckQueue,
    /// The connection that uses the slot, or used it last.
    pub(crate) id: ConnectionId,
    /// The index of the slot.
    pub(crate) index: u32,
    is_over: bool,
    /// Time when the next request reaches the sender.
    pub(crate) request: Nanos,
}

// What `next_event` reads is in the first cache line, and all of a slot in two.
const _: () = assert!(offset_of!(Slot, acks) + size_of::<Nanos>() <= 64);
const _: () = assert!(size_of::<Slot>() <= 2 * 64);

impl Slot {
    /// Returns the slot of this index for connection `id`, which starts at `start`. With `acks_take_links`
    /// the reverse route has links.
    pub(crate) fn new(index: u32, id: ConnectionId, start: Nanos, acks_take_links: bool) -> Self {
        Slot {
            next_application_event: start,
            receiver_timer: NEVER,
            leaving: acks_take_links.then(Box::default),
            acks: AckQueue::default(),
            id,
            index,
            is_over: false,
            request: NEVER,
        }
    }

    /// Prepares the slot for the next connection of a workload; the slot's memory is reused.
    pub(crate) fn reset(&mut self, id: ConnectionId, start: Nanos) {
        self.receiver_timer = NEVER;
        self.discard_acks();
        (self.next_application_event, self.request, self.id, self.is_over) = (start, NEVER, id, false);
    }

    /// Ends the connection: packets that are still on their way to it are ignored.
    pub(crate) fn close(&mut self) {
        self.is_over = true;
        self.discard_acks();
        self.stop_application();
    }

    /// Removes the events of the sending application.
    pub(crate) fn stop_application(&mut self) {
        (self.next_application_event, self.request) = (NEVER, NEVER);
    }

    fn discard_acks(&mut self) {
        self.acks.clear();
        self.leaving.iter_mut().for_each(|leaving| leaving.clear());
    }

    /// Returns whether the connection has been closed.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns whether the packet belongs to the connection that uses the slot. If not, the packet's
    /// connection is over.
    #[inline]
    pub(crate) fn expects(&self, packet: &Packet<Header>) -> bool {
        self.id.index == packet.connection && !self.is_over
    }

    /// The time of the next event of the connection: all events but the timers of its sender.
    #[inline]
    pub(crate) fn next_event(&self) -> Nanos {
        let leaving = self.leaving.as_ref().map_or(NEVER, |leaving| leaving.next_event());
        self.acks.next_event().min(leaving).min(self.receiver_timer).min(self.next_application_event)
    }

    /// Schedules a request that will reach the sending application at `at`.
    pub(crate) fn will_request(&mut self, at: Nanos) {
        self.request = at;
        self.next_application_event = self.next_application_event.min(at);
    }
}
