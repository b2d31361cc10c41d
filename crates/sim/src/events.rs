//! Events of connections, workloads and elements, and the path of a packet from hop to hop.

use fairpace_netem::{EcnField, Fate, Nanos, Packet, Pushed};
use fairpace_results::observer::{self, ConnectionId, LinkEvent, Observer};

use crate::connection::{Connection, Dispatch};
use crate::header::{Header, arriving};
use crate::observe;
use crate::simulation::{FIRST_ELEMENT, NO_LINK, Simulation};

impl<O: Observer> Simulation<O> {
    /// Runs every event that is due for the connection in this slot, and sends its packets to their first
    /// hop.
    #[inline]
    pub(crate) fn run_connection(&mut self, slot: usize, now: Nanos) {
        let connection = &mut self.connections[slot];
        let index = self.flow_of[slot] as usize;
        let (flow, first) = (&mut self.flows[index], self.first_links[index].index);
        let link = match first {
            NO_LINK => None,
            _ => self.fast_path.link(&mut self.network, first as usize),
        };
        let mut dispatch = link.map_or(Dispatch::PerHop, Dispatch::FastPath);
        connection.run(now, flow, &mut dispatch, &mut self.packets, &mut self.observer);
        if connection.is_done()
            && let Some(workload) = &mut flow.workload
        {
            connection.close();
            workload.free.push(slot as u32);
        }
        self.queue.set(self.first_connection + slot, connection.next_event());
        if !self.packets.is_empty() {
            self.send_all(now);
        }
        if !self.barriers.is_empty() {
            self.pass_barrier(index, now);
        }
    }

    fn send_all(&mut self, now: Nanos) {
        let mut packets = std::mem::take(&mut self.packets);
        for packet in packets.drain(..) {
            self.advance(now, packet);
        }
        self.packets = packets;
    }

    /// Starts the next connection of a workload, in a free slot or a new one.
    pub(crate) fn run_workload(&mut self, workload: usize, now: Nanos) {
        let index = self.workloads[workload];
        let flow = &mut self.flows[index];
        let Some(arrivals) = &mut flow.workload else { return };
        let (bytes, seed) = arrivals.take(flow.connection.stop);
        let (next, free) = (arrivals.next, arrivals.free.pop());
        let id = ConnectionId { flow: flow.index, index: (arrivals.arrived - 1) as u32 };
        let slot = match free {
            Some(slot) => slot as usize,
            None => {
                let slot = self.connections.len();
                self.flow_of.push(index as u32);
                self.connections.push(Connection::new(flow, id, slot as u32, now, Some(bytes), 0));
                self.queue.grow(self.first_connection + self.connections.len());
                slot
            }
        };
        self.connections[slot].renew(&self.flows[index], id, now, bytes, seed);
        self.run_connection(slot, now);
        self.queue.set(self.first_workload + workload, next);
    }

    /// Takes on all packets that leave an element by `now`.
    pub(crate) fn run_element(&mut self, element: usize, now: Nanos) {
        while let Some(departed) = self.network.elements[element].poll(now) {
            let packet = departed.packet;
            if O::ON && element < self.network.link_count() {
                let (left, arrived_ce) = (self.observed(&packet), packet.payload.arrived_ce);
                observe::leaves(
                    &mut self.observer,
                    departed.at,
                    element as u32,
                    arrived_ce,
                    departed.fate,
                    &left,
                );
            }
            match departed.fate {
                Fate::Delivered => self.advance(now, packet),
                Fate::Lost | Fate::Dropped => self.discard(&packet),
            }
        }
        self.schedule_element(element);
    }

    #[inline]
    fn schedule_element(&mut self, element: usize) {
        self.queue.set(FIRST_ELEMENT + element, self.network.elements[element].next_event());
    }

    /// Takes a packet to its next hop, and on through hops that let it pass at once.
    fn advance(&mut self, now: Nanos, mut packet: Packet<Header>) {
        while let Some(element) = self.network.element_at(packet.flow, packet.payload.hop) {
            if self.fast_path.has(element) {
                return self.carry(element, now, packet);
            }
            packet.payload.hop.index += 1;
            if O::ON {
                packet.payload.arrived_ce = packet.ecn == EcnField::Ce;
            }
            let observed = (O::ON && element < self.network.link_count()).then(|| self.observed(&packet));
            let event = match self.network.push(element, now, packet) {
                Pushed::Passed => continue,
                Pushed::Duplicated => {
                    self.count_duplicate(&packet);
                    self.advance(now, packet);
                    continue;
                }
                Pushed::Held => LinkEvent::Enqueued,
                Pushed::Dropped => {
                    self.discard(&packet);
                    LinkEvent::Refused
                }
            };
            if let Some(observed) = &observed {
                self.observer.packet(now, element as u32, event, observed);
            }
            return self.schedule_element(element);
        }
        if packet.payload.is_ack() { self.deliver_ack(now, packet) } else { self.deliver(now, packet) }
    }

    /// Takes a packet over a link with a fast path, to its receiver.
    fn carry(&mut self, link: usize, now: Nanos, packet: Packet<Header>) {
        let flow = &mut self.flows[packet.flow as usize];
        let index = packet.payload.slot as usize;
        let Connection { slot, receiver_side, .. } = &mut self.connections[index];
        let Some(mut link) = self.fast_path.link(&mut self.network, link) else { return };
        if slot.expects(&packet) {
            link.carry(now, packet, flow, slot, receiver_side, &mut self.observer);
            self.queue.set_earlier(self.first_connection + index, slot.next_event());
        } else {
            link.carry_stray(now, packet, flow, &mut self.observer);
        }
    }

    /// Delivers a packet that comes out of the last hop of its data.
    fn deliver(&mut self, now: Nanos, packet: Packet<Header>) {
        let index = packet.payload.slot as usize;
        let flow = &mut self.flows[packet.flow as usize];
        let Connection { slot, receiver_side, .. } = &mut self.connections[index];
        if !slot.expects(&packet) {
            flow.counts.arrived_pkts += 1; // its connection is over
            return;
        }
        let (segment, left) = (arriving(&packet), packet.payload.left());
        receiver_side.receive(slot, now, segment, left, flow, &mut self.observer);
        self.queue.set_earlier(self.first_connection + index, slot.next_event());
        if !self.barriers.is_empty() {
            self.pass_barrier(packet.flow as usize, now);
        }
    }

    /// Delivers an ACK that comes out of its last hop.
    fn deliver_ack(&mut self, now: Nanos, packet: Packet<Header>) {
        let Header { slot: index, segment, .. } = packet.payload;
        let index = index as usize;
        self.flows[packet.flow as usize].counts.arrived_pkts += 1;
        let Connection { slot, receiver_side, .. } = &mut self.connections[index];
        if !slot.expects(&packet) {
            receiver_side.ack_gone(segment.seq);
            return;
        }
        receiver_side.ack_arrives(slot, now, segment.seq);
        self.queue.set_earlier(self.first_connection + index, slot.next_event());
    }

    /// Removes a packet that was dropped or lost.
    fn discard(&mut self, packet: &Packet<Header>) {
        self.flows[packet.flow as usize].counts.dropped_pkts += 1;
        let Header { slot, segment, .. } = packet.payload;
        if packet.payload.is_ack() {
            self.connections[slot as usize].receiver_side.ack_gone(segment.seq);
        }
    }

    /// Counts a packet that was duplicated.
    #[cold]
    fn count_duplicate(&mut self, packet: &Packet<Header>) {
        self.flows[packet.flow as usize].counts.entered_pkts += 1;
        let Header { slot, segment, .. } = packet.payload;
        if packet.payload.is_ack() {
            self.connections[slot as usize].receiver_side.ack_duplicated(segment.seq);
        }
    }

    /// Returns a packet as an observer gets it.
    fn observed(&self, packet: &Packet<Header>) -> observer::Packet {
        let Header { slot, segment, .. } = packet.payload;
        let receiver_side = &self.connections[slot as usize].receiver_side;
        let ack = if packet.payload.is_ack() { receiver_side.ack_in_transit(segment.seq) } else { None };
        observe::packet(packet, ack)
    }
}
