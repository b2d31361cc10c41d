//! One connection: its sender, its receiver, and the ACKs between them.

use std::collections::VecDeque;

use fairpace_netem::{Ecn, Fate, Line, Link, Nanos, Offer, Packet, Passed, Sent, Source};
use fairpace_results::observer::{ConnectionId, Observer};
use fairpace_tcp::{Ack, AckWire, MSS_BYTES, Receiver, Segment, Sender, Wire};

use crate::acks::Acks;
use crate::entry::{Entry, Way, pkts};
use crate::host_view::HostView;
use crate::observe;
use crate::parcel::{Leaving, Outbox, Parcel, ack_bytes, arriving, ecn, segment_bytes};
use crate::queue::NEVER;
use crate::route::Route;

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Open,
    Stopped,
}

/// In this order, so that when it next has something to do is a question to few cache lines.
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub(crate) end: End,
    pub(crate) sender: Sender<HostView>,
    application: Application,
    /// What earlier connections of a workload in this place have sent.
    sent_before: Sent,
}

/// What the sending host's application does.
struct Application {
    stage: Stage,
    source: Source,
    /// Bytes that it has given and that do not fill a packet yet.
    unsent_bytes: u64,
}

/// The receiving end, and what is on its way from there.
#[repr(C)]
pub(crate) struct End {
    /// When the sender's application next has something to do: the flow starts, stops, has news, or gets a request.
    news: Nanos,
    /// When the receiver's timer fires.
    receiver_wakes: Nanos,
    /// About to leave the receiver for the links on the way back, with the time. Without such links there is none.
    leaving: Option<Box<Acks>>,
    /// About to reach the sender, with the time when it gets round to them.
    acks: Acks,
    /// The connection that has the place, or had it last.
    id: ConnectionId,
    slot: u32,
    is_over: bool,
    /// When the next request reaches the sender.
    request: Nanos,
    transfer: Transfer,
    receiver: Receiver,
    route: Route,
    under_way: WaitingRoom,
}

/// What the receiving application waits for: an answer, or all that a finite flow sends.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    /// Its last byte is in the packet before this one; `u64::MAX`: it has none.
    end_pkt: u64,
    began: Nanos,
    bytes: u64,
    /// It is the first, and its time counts the handshake.
    connects: bool,
    is_done: bool,
}

/// ACKs that are on links, by number: what travels is only the number. Those of connections that are over stay until they are off the
/// links, so that an onlooker is told what passes him.
#[derive(Debug, Default)]
struct WaitingRoom {
    first: u64,
    acks: VecDeque<UnderWay>,
}

#[derive(Debug)]
struct UnderWay {
    ack: Ack,
    /// On links: more than one if a line has doubled it, none when it may be forgotten.
    copies: u32,
    has_arrived: bool,
}

impl WaitingRoom {
    fn put(&mut self, ack: Ack) -> u64 {
        self.acks.push_back(UnderWay { ack, copies: 1, has_arrived: false });
        self.first + self.acks.len() as u64 - 1
    }

    fn get(&mut self, number: u64) -> Option<&mut UnderWay> {
        self.acks.get_mut(number.checked_sub(self.first)? as usize)
    }

    /// A copy is off the links.
    fn leaves(&mut self, number: u64) {
        if let Some(under_way) = self.get(number) {
            under_way.copies = under_way.copies.saturating_sub(1);
        }
        while self.acks.front().is_some_and(|under_way| under_way.copies == 0) {
            self.acks.pop_front();
            self.first += 1;
        }
    }
}

/// The network as a sender sees it.
pub(crate) struct Uplink<'a, T> {
    pub(crate) now: Nanos,
    pub(crate) link: &'a mut Link<Parcel>,
    pub(crate) line: &'a mut Line,
    pub(crate) entry: &'a mut Entry,
    pub(crate) end: &'a mut End,
    pub(crate) outbox: &'a mut Outbox,
    pub(crate) observer: &'a mut T,
}

impl<T: Observer> Wire for Uplink<'_, T> {
    // called, it would load two fields at once that have just been stored one by one, and for that the processor waits until all that
    // was stored before is in the cache: an eighth of the time with 500 flows
    #[inline(always)]
    fn send(&mut self, segment: Segment) {
        self.entry.counts.entered_pkts += 1;
        if self.entry.way == Way::InWindow {
            self.outbox.leaving.push(Leaving { segment, exit: NEVER });
            return;
        }
        let ahead_us = Parcel::ahead_us(&segment, self.now);
        let payload = Parcel { slot: self.end.slot, hop: 0, is_ack: false, ahead_us, segment };
        let ConnectionId { flow, index: connection } = self.end.id;
        let packet = Packet { flow, connection, bytes: segment_bytes(&segment), ecn: ecn(&segment), payload };
        if self.entry.way == Way::AtOnce {
            let Uplink { now, link, line, entry, end, observer, .. } = self;
            pass(*now, packet, link, line, entry, end, *observer);
        } else {
            self.outbox.packets.push(packet);
        }
    }
}

/// A packet takes its last link, whose queue tells at once what becomes of it: so the receiver is run at once too, at the time of
/// arrival. Nothing can come in between, as the line keeps the order.
#[inline]
pub(crate) fn pass<T: Observer>(
    now: Nanos,
    mut packet: Packet<Parcel>,
    link: &mut Link<Parcel>,
    line: &mut Line,
    entry: &mut Entry,
    end: &mut End,
    observer: &mut T,
) {
    let passed = link.pass(now, &mut packet);
    if T::ON {
        let index = entry.forward[usize::from(packet.payload.hop)];
        observe::passed(observer, now, index, &packet, passed.as_ref());
    }
    match passed {
        // behind a link that is down for good: it counts as done with, and nobody ever sees it
        Some(Passed { at: NEVER, .. }) => entry.counts.arrived_pkts += 1,
        Some(Passed { at, fate: Fate::Delivered, .. }) => {
            end.receive(line.exit(at), arriving(&packet), packet.payload.left(), entry, observer);
        }
        _ => entry.counts.dropped_pkts += 1,
    }
}

/// The same for a packet whose connection is over.
#[cold]
pub(crate) fn pass_for_nobody<T: Observer>(
    now: Nanos,
    mut packet: Packet<Parcel>,
    link: &mut Link<Parcel>,
    entry: &mut Entry,
    observer: &mut T,
) {
    let passed = link.pass(now, &mut packet);
    if T::ON {
        let index = entry.forward[usize::from(packet.payload.hop)];
        observe::passed(observer, now, index, &packet, passed.as_ref());
    }
    match passed {
        Some(Passed { fate: Fate::Delivered, .. }) => entry.counts.arrived_pkts += 1,
        _ => entry.counts.dropped_pkts += 1,
    }
}

/// The way back as a receiver sees it.
struct Downlink<'a> {
    route: &'a mut Route,
    acks: &'a mut Acks,
    /// With links on the way back, what leaves for them.
    leaving: Option<&'a mut Acks>,
}

impl AckWire for Downlink<'_> {
    #[inline(always)] // for the same reason
    fn send(&mut self, at: Nanos, ack: Ack) {
        if let Some(leaving) = &mut self.leaving {
            leaving.push(at, &ack);
        } else if let Some(at) = self.route.return_ack(at) {
            self.acks.push(at, &ack);
        }
    }
}

impl Flow {
    /// A connection in this place that will start at `start`, to send `size_bytes`. `seed` tells the connections of a workload apart;
    /// `random` seeds the algorithm.
    pub(crate) fn new(
        entry: &Entry,
        id: ConnectionId,
        slot: u32,
        start: Nanos,
        size_bytes: Option<u64>,
        random: u32,
    ) -> Self {
        let template = &entry.connection;
        let sender =
            Sender::new(fairpace_tcp::SenderConfig { random, ..template.sender }, template.setup.clone());
        let bytes = template.responses.map(|(bytes, _)| bytes).or(size_bytes);
        Flow {
            end: End {
                news: start,
                receiver_wakes: NEVER,
                leaving: (!entry.back.is_empty()).then(Box::default),
                acks: Acks::default(),
                id,
                slot,
                is_over: false,
                request: NEVER,
                transfer: Transfer {
                    end_pkt: bytes.map_or(u64::MAX, pkts),
                    began: start,
                    bytes: bytes.unwrap_or(0),
                    connects: true,
                    is_done: false,
                },
                receiver: Receiver::new(template.receiver.clone()),
                route: template.route.clone(),
                under_way: WaitingRoom::default(),
            },
            sender,
            application: Application::new(entry.source(size_bytes, start)),
            sent_before: Sent::default(),
        }
    }

    /// The next connection of a workload takes this place, and its memory.
    pub(crate) fn renew(&mut self, entry: &Entry, id: ConnectionId, start: Nanos, bytes: u64, seed: u64) {
        let template = &entry.connection;
        let random = (seed >> 32) as u32;
        self.sent_before = self.sent();
        self.sender.reset(fairpace_tcp::SenderConfig { random, ..template.sender }, template.setup.clone());
        let end = &mut self.end;
        end.receiver.reset(template.receiver.clone());
        end.receiver_wakes = NEVER;
        end.route = template.route.clone();
        end.route.reseed(seed);
        end.acks.clear();
        end.leaving.iter_mut().for_each(|leaving| leaving.clear());
        end.transfer = Transfer { end_pkt: pkts(bytes), began: start, bytes, connects: true, is_done: false };
        (end.news, end.request, end.id, end.is_over) = (start, NEVER, id, false);
        self.application = Application::new(entry.source(Some(bytes), start));
    }

    /// What has been sent from this place.
    pub(crate) fn sent(&self) -> Sent {
        let stats = self.sender.stats();
        Sent {
            pkts: self.sent_before.pkts + stats.sent_pkts,
            again_pkts: self.sent_before.again_pkts + stats.retransmitted_pkts,
        }
    }

    /// Nothing of this connection matters any more: its transfer is done and acknowledged. Once it is closed this is not asked again,
    /// though a timer of its receiver may still fire.
    pub(crate) fn is_done(&self) -> bool {
        !self.end.is_over && self.end.transfer.is_done && self.sender.is_idle()
    }

    /// What is still on its way to here will find nobody.
    pub(crate) fn close(&mut self) {
        self.end.is_over = true;
        self.end.acks.clear();
        self.end.leaving.iter_mut().for_each(|leaving| leaving.clear());
        (self.end.news, self.end.request) = (NEVER, NEVER);
        self.application.stage = Stage::Stopped;
    }

    /// When the flow next has something to do.
    #[inline]
    pub(crate) fn next_event(&self) -> Nanos {
        let sender = self.sender.next_timer().unwrap_or(NEVER);
        sender.min(self.end.next_event())
    }

    /// Does everything that is due at `now`.
    #[inline]
    pub(crate) fn run<T: Observer>(
        &mut self,
        now: Nanos,
        link: &mut Link<Parcel>,
        line: &mut Line,
        entry: &mut Entry,
        outbox: &mut Outbox,
        observer: &mut T,
    ) {
        let sender = &mut self.sender;
        let mut uplink = Uplink { now, link, line, entry, end: &mut self.end, outbox, observer };
        if uplink.end.news <= now {
            let next = self.application.live(now, sender, &mut uplink);
            uplink.end.news = next.min(uplink.end.request);
        }
        while let Some((_, ack)) = uplink.end.acks.pop(now) {
            if T::ON {
                uplink.observer.ack(now, uplink.end.id, &observe::ack(&ack));
            }
            sender.on_ack(now, &ack, &mut uplink);
        }
        if sender.next_timer().is_some_and(|at| at <= now) {
            sender.on_timer(now, &mut uplink);
        }
        let Uplink { end, entry, outbox, observer, .. } = uplink;
        if end.receiver_wakes <= now {
            end.run_receiver(now, entry, observer);
        }
        if end.leaving.is_some() {
            end.send_acks(now, entry, &mut outbox.packets);
        }
        if T::ON && !end.is_over {
            observer.sender(now, end.id, || observe::sender(sender));
        }
    }
}

impl Application {
    fn new(source: Source) -> Self {
        Application { stage: Stage::Waiting, source, unsent_bytes: 0 }
    }

    /// What happens to a flow a few times in its life: it starts, its application has news, a request comes, it stops. Returns when
    /// the next of that is, but for requests.
    #[cold]
    fn live<T: Observer>(
        &mut self,
        now: Nanos,
        sender: &mut Sender<HostView>,
        uplink: &mut Uplink<'_, T>,
    ) -> Nanos {
        let stop = uplink.entry.connection.stop;
        match self.stage {
            Stage::Stopped => {
                // a request that a last answer made: nobody is there
                uplink.end.request = NEVER;
                return NEVER;
            }
            Stage::Waiting => {
                self.stage = Stage::Open;
                if uplink.end.transfer.end_pkt != u64::MAX {
                    uplink.entry.transfers.begins(now);
                }
                sender.connect(now, uplink);
            }
            Stage::Open if stop <= now => {
                self.stage = Stage::Stopped;
                sender.stop();
                uplink.end.request = NEVER;
                return NEVER;
            }
            _ => {}
        }
        if uplink.end.request <= now {
            uplink.end.request = NEVER;
            if let Some((bytes, _)) = uplink.entry.connection.responses {
                uplink.end.expect(now, bytes);
                uplink.entry.transfers.begins(now);
                sender.write(now, pkts(bytes), uplink);
            }
        }
        while let Some(offer) = self.source.poll(now) {
            match offer {
                Offer::Endless => sender.write(now, u64::MAX, uplink),
                Offer::Pause => sender.stop(),
                Offer::Bytes(bytes) => {
                    // whole packets; what does not fill one waits for more, unless there will be no more
                    let (bytes, mss) = (self.unsent_bytes + bytes, u64::from(MSS_BYTES));
                    let pkts = if self.source.is_finished() { bytes.div_ceil(mss) } else { bytes / mss };
                    self.unsent_bytes = bytes.saturating_sub(pkts * mss);
                    sender.write(now, pkts, uplink);
                }
            }
        }
        stop.min(self.source.next_event())
    }
}

impl End {
    #[inline]
    pub(crate) fn next_event(&self) -> Nanos {
        let leaving = self.leaving.as_ref().map_or(NEVER, |leaving| leaving.next_event());
        self.acks.next_event().min(leaving).min(self.receiver_wakes).min(self.news)
    }

    /// A segment that left its host at `left` reaches the end of the last link's line at `now`.
    #[inline]
    pub(crate) fn receive<T: Observer>(
        &mut self,
        now: Nanos,
        segment: Segment,
        left: Nanos,
        entry: &mut Entry,
        observer: &mut T,
    ) {
        let at = self.route.forward(now);
        while self.receiver_wakes < at {
            self.run_receiver(self.receiver_wakes, entry, observer);
        }
        entry.counts.arrived_pkts += 1;
        let leaving = self.leaving.as_deref_mut();
        let mut back = Downlink { route: &mut self.route, acks: &mut self.acks, leaving };
        let available = self.receiver.on_segment(at, segment, &mut back);
        self.receiver_wakes = self.receiver.next_timer().unwrap_or(NEVER);
        // what comes for a flow of a workload after its last byte finds it gone, sooner or later: it is not measured
        let is_late = self.transfer.is_done && entry.workload.is_some();
        if is_late {
            return;
        }
        if segment.seq != Segment::SYN {
            entry.counts.data_pkts += u64::from(at <= entry.run_ends);
            let back_ns = entry.back_lines_ns + self.route.back_ns(at);
            entry.meter.data(at, at.saturating_sub(left) + back_ns);
        }
        // a copy of a SYN ends what GRO holds, too
        self.read(at, available, entry, observer);
    }

    /// The receiver's timer fires.
    fn run_receiver<T: Observer>(&mut self, now: Nanos, entry: &mut Entry, observer: &mut T) {
        let leaving = self.leaving.as_deref_mut();
        let mut back = Downlink { route: &mut self.route, acks: &mut self.acks, leaving };
        let available = self.receiver.on_timer(now, &mut back);
        self.receiver_wakes = self.receiver.next_timer().unwrap_or(NEVER);
        self.read(now, available, entry, observer);
    }

    /// The receiving application has so many packets more.
    #[inline]
    fn read<T: Observer>(&mut self, now: Nanos, pkts: u64, entry: &mut Entry, observer: &mut T) {
        if pkts > 0 {
            entry.meter.goodput(now, pkts * u64::from(MSS_BYTES));
        }
        if self.receiver.rcv_nxt() >= self.transfer.end_pkt && !self.transfer.is_done {
            self.complete(now, entry, observer);
        }
    }

    #[cold]
    fn complete<T: Observer>(&mut self, now: Nanos, entry: &mut Entry, observer: &mut T) {
        let Transfer { began, bytes, connects, .. } = self.transfer;
        self.transfer.is_done = true;
        if now > entry.run_ends {
            return;
        }
        entry.completed(began, now, bytes, connects);
        if T::ON {
            observer.completed(now, self.id, bytes, now - began);
        }
        if let Some((_, think)) = entry.connection.responses {
            let back_ns = entry.back_lines_ns + self.route.back_ns(now);
            self.request = now.saturating_add(think).saturating_add(back_ns);
            self.news = self.news.min(self.request);
        }
    }

    /// The sender begins an answer.
    fn expect(&mut self, now: Nanos, bytes: u64) {
        let end_pkt = self.transfer.end_pkt + pkts(bytes);
        self.transfer = Transfer { end_pkt, began: now, bytes, connects: false, is_done: false };
    }

    /// ACKs leave the receiver for their first link.
    fn send_acks(&mut self, now: Nanos, entry: &mut Entry, outbox: &mut Vec<Packet<Parcel>>) {
        while let Some((at, ack)) = self.leaving.as_mut().and_then(|leaving| leaving.pop(now)) {
            let segment = Segment { seq: self.under_way.put(ack), sent: at, ..Segment::default() };
            let payload = Parcel { slot: self.slot, hop: 0, is_ack: true, ahead_us: 0, segment };
            let ConnectionId { flow, index: connection } = self.id;
            entry.counts.entered_pkts += 1;
            outbox.push(Packet { flow, connection, bytes: ack_bytes(&ack), ecn: Ecn::NotCapable, payload });
        }
    }

    /// An ACK has left the last link on its way back.
    pub(crate) fn ack_arrives(&mut self, now: Nanos, number: u64) {
        // a second copy of it says nothing
        if let Some(under_way) = self.under_way.get(number)
            && !std::mem::replace(&mut under_way.has_arrived, true)
            && let Some(at) = self.route.return_ack(now)
        {
            self.acks.push(at, &under_way.ack);
        }
        self.under_way.leaves(number);
    }

    /// An ACK was lost on a link, or found that its connection is over.
    pub(crate) fn ack_gone(&mut self, number: u64) {
        self.under_way.leaves(number);
    }

    /// A line has made a second one of an ACK.
    pub(crate) fn ack_doubled(&mut self, number: u64) {
        if let Some(under_way) = self.under_way.get(number) {
            under_way.copies += 1;
        }
    }

    /// Is somebody here whom this packet is for? Else its connection is over.
    #[inline]
    pub(crate) fn expects(&self, packet: &Packet<Parcel>) -> bool {
        self.id.index == packet.connection && !self.is_over
    }

    /// The connection that has the place, or had it last.
    pub(crate) fn id(&self) -> ConnectionId {
        self.id
    }

    /// The ACK of this number, while it is on links.
    pub(crate) fn ack_under_way(&self, number: u64) -> Option<&Ack> {
        let place = number.checked_sub(self.under_way.first)? as usize;
        self.under_way.acks.get(place).map(|under_way| &under_way.ack)
    }
}
