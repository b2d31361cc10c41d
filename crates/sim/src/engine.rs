//! The loop over events, and the way of a packet through the network.

use fairpace_netem::{
    Agenda, Delay, Detour, Duplicate, Fate, Line, Link, Nanos, Packet, Random, SECOND, Scatter, Schedule,
    Sent, Stop, build,
};
use fairpace_results::observer::{ConnectionId, LinkEvent, Observer};
use fairpace_results::{FlowSeries, Monitor, Run};
use fairpace_scenario::Scenario;

use crate::cost::Stopwatch;
use crate::entry::Entry;
use crate::flow::{Flow, pass, pass_for_nobody};
use crate::parcel::{Outbox, Parcel, arriving};
use crate::queue::{NEVER, Queue};
use crate::windows::Windows;
use crate::{Error, network, observe, record};

/// Events between two looks at the wall clock: a few milliseconds.
const EVENTS_PER_LOOK: u32 = 1 << 14;
/// Wall-clock time between two reports to the monitor.
const REPORT_EVERY_S: f64 = 0.1;

/// The element whose events are the points of the time series and the edges of the window; links follow, then holders, then workloads, then connections.
const CLOCK: usize = 0;
const FIRST_LINK: usize = 1;

pub(crate) struct Engine<'t, T> {
    pub(crate) queue: Queue,
    pub(crate) links: Vec<Link<Parcel>>,
    /// Behind each link. One that takes no time holds nothing.
    pub(crate) lines: Vec<Line>,
    /// Whether a link's packets are dealt with when they come, see [`network::Plan`].
    prompt: Vec<bool>,
    /// Where packets are between links and hosts.
    holders: Vec<Holder>,
    /// Behind each link that is not prompt, the holder that is its line.
    line_holders: Vec<Option<usize>>,
    /// Which packets arrive twice, on each of those.
    duplicates: Vec<Duplicate>,
    pub(crate) entries: Vec<Entry>,
    /// Entries that are workloads.
    workloads: Vec<usize>,
    /// Connections: one per entry that is not a workload, in their order, then those of workloads.
    pub(crate) flows: Vec<Flow>,
    /// The entry of each connection, and the first link of each entry: what every event asks for, close together.
    entry_of: Vec<u32>,
    pub(crate) first_links: Vec<u32>,
    pub(crate) series: Vec<FlowSeries>,
    /// Points of the time series that have been taken.
    pub(crate) points: Vec<Nanos>,
    schedule: Schedule,
    agenda: Agenda,
    first_holder: usize,
    first_workload: usize,
    pub(crate) first_flow: usize,
    /// What a sender or receiver has just sent.
    pub(crate) outbox: Outbox,
    /// If flows are run a window at a time.
    pub(crate) windows: Option<Windows>,
    pub(crate) observer: &'t mut T,
}

/// Packets on a line, and what is at its end.
pub(crate) struct Holder {
    pub(crate) place: Place,
    pub(crate) then: Then,
}

pub(crate) enum Place {
    Line(Delay<Parcel>),
    /// A line on which packets overtake each other.
    Scatter(Scatter<Parcel>),
    Detour(Detour<Parcel>),
}

/// Where what leaves a holder goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// Into the link of its place on the route.
    Enter,
    /// On from the link of its place on the route.
    Advance,
    /// To the receiver.
    Deliver,
}

impl Place {
    fn next_event(&self) -> Nanos {
        match self {
            Place::Line(delay) => delay.next_event(),
            Place::Scatter(scatter) => scatter.next_event(),
            Place::Detour(detour) => detour.next_event(),
        }
        .unwrap_or(NEVER)
    }

    fn poll(&mut self, now: Nanos) -> Option<Packet<Parcel>> {
        match self {
            Place::Line(delay) => delay.poll(now),
            Place::Scatter(scatter) => scatter.poll(now),
            Place::Detour(detour) => detour.poll(now),
        }
        .map(|departed| departed.packet)
    }

    fn len(&self) -> usize {
        match self {
            Place::Line(delay) => delay.len(),
            Place::Scatter(scatter) => scatter.len(),
            Place::Detour(detour) => detour.len(),
        }
    }
}

impl<'t, T: Observer> Engine<'t, T> {
    /// `patient`: no link is prompt. That changes nothing but the time it takes.
    pub(crate) fn new(scenario: &Scenario, observer: &'t mut T, patient: bool) -> Result<Self, Error> {
        for (what, empty) in [("links", scenario.links.is_empty()), ("flows", scenario.flows.is_empty())] {
            if empty {
                return Err(Error::Empty { what });
            }
        }
        let schedule = build::schedule(scenario);
        let mut plan = network::plan(scenario, schedule, patient)?;
        let windows = if T::ON || patient { None } else { plan.run_in_windows(scenario).map(Windows::new) };
        let network::Plan { links, lines, prompt, holders, line_holders, duplicates, entries } = plan;
        let workloads: Vec<usize> = (0..entries.len()).filter(|i| entries[*i].workload.is_some()).collect();
        let first_holder = FIRST_LINK + links.len();
        let first_workload = first_holder + holders.len();
        let first_flow = first_workload + workloads.len();
        let mut random = Random::new(scenario.seed);
        let mut flows = Vec::new();
        for entry in &entries {
            let random = random.next_u32();
            if entry.workload.is_none() {
                let id = ConnectionId { flow: entry.index, index: 0 };
                let (slot, template) = (flows.len() as u32, &entry.connection);
                flows.push(Flow::new(entry, id, slot, template.start, template.size_bytes, random));
            }
        }
        let mut queue = Queue::new(first_flow + flows.len());
        let agenda = Agenda::new(schedule);
        queue.set(CLOCK, agenda.next_event());
        for (i, entry) in workloads.iter().enumerate() {
            queue.set(first_workload + i, entries[*entry].workload.as_ref().map_or(NEVER, |w| w.next));
        }
        for (i, flow) in flows.iter().enumerate() {
            queue.set(first_flow + i, flow.next_event());
        }
        let series = vec![FlowSeries::default(); entries.len()];
        let (points, outbox) = (Vec::new(), Outbox::default());
        let entry_of = flows.iter().map(|flow| flow.end.id().flow).collect();
        let first_links = entries.iter().map(|entry| entry.forward[0]).collect();
        Ok(Engine {
            queue,
            links,
            lines,
            prompt,
            holders,
            line_holders,
            duplicates,
            entries,
            workloads,
            flows,
            entry_of,
            first_links,
            series,
            points,
            schedule,
            agenda,
            first_holder,
            first_workload,
            first_flow,
            outbox,
            windows,
            observer,
        })
    }

    pub(crate) fn run(mut self, scenario: &Scenario, monitor: &mut dyn Monitor) -> Result<Run, Error> {
        let stopwatch = Stopwatch::start();
        let seconds = |t: Nanos| t as f64 / SECOND as f64;
        let total_s = seconds(self.schedule.end);
        let mut reported_s = 0.0;
        while let Some(now) = self.run_some(EVENTS_PER_LOOK) {
            if monitor.stop() {
                return Err(Error::Stopped { at_s: seconds(now), total_s });
            }
            if stopwatch.wall_s() - reported_s >= REPORT_EVERY_S {
                reported_s = stopwatch.wall_s();
                monitor.progress(seconds(now), total_s);
            }
        }
        monitor.progress(total_s, total_s);
        for link in &mut self.links {
            link.finish(self.schedule.end);
        }
        for entry in &mut self.entries {
            entry.meter.finish(self.schedule.end);
        }
        Ok(record::conclude(self, scenario, &stopwatch))
    }

    /// Runs so many events, or a window more; `None` when the run is over, else the time reached.
    pub(crate) fn run_some(&mut self, events: u32) -> Option<Nanos> {
        let (mut now, mut done) = (0, 0);
        while done < events {
            let (at, who) = self.queue.first();
            if at > self.schedule.end {
                return None;
            }
            now = at;
            done += 1;
            if who < self.first_flow {
                self.run_other(who, now);
            } else if self.windows.is_some() {
                done += self.run_window(now);
            } else {
                self.run_flow(who - self.first_flow, now);
            }
        }
        Some(now)
    }

    /// When stock is taken next, or the run is over: no window goes beyond.
    pub(crate) fn next_stop(&self) -> Nanos {
        self.agenda.next_event().min(self.schedule.end.saturating_add(1))
    }

    fn run_other(&mut self, who: usize, now: Nanos) {
        if who >= self.first_workload {
            self.spawn(self.workloads[who - self.first_workload], now);
            let next = self.entries[self.workloads[who - self.first_workload]].workload.as_ref();
            self.queue.set(who, next.map_or(NEVER, |w| w.next));
        } else if who >= self.first_holder {
            self.run_holder(who - self.first_holder, now);
        } else if who >= FIRST_LINK {
            self.run_link(who - FIRST_LINK, now);
        } else {
            self.take_stock(now);
        }
    }

    #[inline]
    fn run_flow(&mut self, slot: usize, now: Nanos) {
        let flow = &mut self.flows[slot];
        let i = self.entry_of[slot] as usize;
        let (entry, first) = (&mut self.entries[i], self.first_links[i] as usize);
        flow.run(now, &mut self.links[first], &mut self.lines[first], entry, &mut self.outbox, self.observer);
        if flow.is_done()
            && let Some(workload) = &mut entry.workload
        {
            flow.close();
            workload.free.push(slot as u32);
        }
        self.queue.set(self.first_flow + slot, flow.next_event());
        if !self.outbox.packets.is_empty() {
            self.send_all(now);
        }
    }

    /// What hosts have sent goes on its way.
    fn send_all(&mut self, now: Nanos) {
        let mut packets = std::mem::take(&mut self.outbox.packets);
        for packet in packets.drain(..) {
            let entry = &self.entries[packet.flow as usize];
            match entry.access.filter(|_| !packet.payload.is_ack) {
                Some(holder) => self.hold(holder, now, packet),
                None => self.enter(now, packet),
            }
        }
        self.outbox.packets = packets;
    }

    /// A packet comes to the link of its place on its route.
    fn enter(&mut self, now: Nanos, packet: Packet<Parcel>) {
        let Parcel { slot, hop, is_ack, .. } = packet.payload;
        let entry = &mut self.entries[packet.flow as usize];
        let route = if is_ack { &entry.back } else { &entry.forward };
        let i = route[usize::from(hop)] as usize;
        if self.prompt[i] && !is_ack {
            let end = &mut self.flows[slot as usize].end;
            if end.expects(&packet) {
                pass(now, packet, &mut self.links[i], &mut self.lines[i], entry, end, self.observer);
                let next = end.next_event();
                self.queue.set_earlier(self.first_flow + slot as usize, next);
            } else {
                pass_for_nobody(now, packet, &mut self.links[i], entry, self.observer);
            }
            return;
        }
        let told = T::ON.then(|| self.told(&packet));
        match self.links[i].push(now, packet) {
            Ok(_) => {
                if let Some(told) = &told {
                    self.observer.packet(now, i as u32, LinkEvent::Enqueued, told);
                }
            }
            Err(packet) => {
                if let Some(told) = &told {
                    self.observer.packet(now, i as u32, LinkEvent::Refused, told);
                }
                self.gone(&packet);
            }
        }
        self.queue.set(FIRST_LINK + i, self.links[i].next_event().unwrap_or(NEVER));
    }

    fn run_link(&mut self, i: usize, now: Nanos) {
        while let Some(departed) = self.links[i].poll(now) {
            let packet = departed.packet;
            if T::ON {
                let told = self.told(&packet);
                let what = match departed.fate {
                    Fate::Delivered => LinkEvent::Departed,
                    Fate::Lost => LinkEvent::Lost,
                    Fate::Dropped => LinkEvent::Dropped,
                };
                self.observer.packet(departed.at, i as u32, what, &told);
            }
            if departed.fate != Fate::Delivered {
                self.gone(&packet);
            } else if let Some(holder) = self.line_holders[i] {
                if self.duplicates[i].doubles() {
                    self.links[i].duplicated(now);
                    self.entries[packet.flow as usize].counts.entered_pkts += 1;
                    let Parcel { slot, is_ack, segment, .. } = packet.payload;
                    if is_ack {
                        self.flows[slot as usize].end.ack_doubled(segment.seq);
                    }
                    self.hold(holder, now, packet);
                }
                self.hold(holder, now, packet);
            } else {
                self.advance(now, packet);
            }
        }
        self.queue.set(FIRST_LINK + i, self.links[i].next_event().unwrap_or(NEVER));
    }

    fn run_holder(&mut self, i: usize, now: Nanos) {
        while let Some(packet) = self.holders[i].place.poll(now) {
            match self.holders[i].then {
                Then::Enter => self.enter(now, packet),
                Then::Advance => self.advance(now, packet),
                Then::Deliver => self.deliver(now, packet),
            }
        }
        self.queue.set(self.first_holder + i, self.holders[i].place.next_event());
    }

    fn hold(&mut self, i: usize, now: Nanos, packet: Packet<Parcel>) {
        match &mut self.holders[i].place {
            Place::Line(delay) => {
                delay.push(now, packet);
            }
            Place::Scatter(scatter) => {
                scatter.push(now, packet);
            }
            Place::Detour(_) => debug_assert!(false, "a detour is not a line"),
        }
        self.queue.set(self.first_holder + i, self.holders[i].place.next_event());
    }

    /// A packet has left the line of the link of its place on its route.
    fn advance(&mut self, now: Nanos, mut packet: Packet<Parcel>) {
        let entry = &self.entries[packet.flow as usize];
        let route = if packet.payload.is_ack { &entry.back } else { &entry.forward };
        packet.payload.hop += 1;
        if usize::from(packet.payload.hop) < route.len() {
            self.enter(now, packet);
        } else if packet.payload.is_ack {
            self.deliver_ack(now, packet);
        } else if let Some(i) = entry.detour {
            let Place::Detour(detour) = &mut self.holders[i].place else { return };
            let keeps = detour.keeps(now, packet);
            self.queue.set(self.first_holder + i, self.holders[i].place.next_event());
            if !keeps {
                self.deliver(now, packet);
            }
        } else {
            self.deliver(now, packet);
        }
    }

    /// A packet goes to its receiver.
    fn deliver(&mut self, now: Nanos, packet: Packet<Parcel>) {
        let slot = packet.payload.slot;
        let entry = &mut self.entries[packet.flow as usize];
        let end = &mut self.flows[slot as usize].end;
        if !end.expects(&packet) {
            entry.counts.arrived_pkts += 1; // its connection is over
            return;
        }
        end.receive(now, arriving(&packet), packet.payload.left(), entry, self.observer);
        let next = end.next_event();
        self.queue.set_earlier(self.first_flow + slot as usize, next);
    }

    fn deliver_ack(&mut self, now: Nanos, packet: Packet<Parcel>) {
        let Parcel { slot, segment, .. } = packet.payload;
        self.entries[packet.flow as usize].counts.arrived_pkts += 1;
        let end = &mut self.flows[slot as usize].end;
        if !end.expects(&packet) {
            end.ack_gone(segment.seq);
            return;
        }
        end.ack_arrives(now, segment.seq);
        let next = end.next_event();
        self.queue.set_earlier(self.first_flow + slot as usize, next);
    }

    /// A packet was dropped or lost.
    fn gone(&mut self, packet: &Packet<Parcel>) {
        self.entries[packet.flow as usize].counts.dropped_pkts += 1;
        let Parcel { slot, is_ack, segment, .. } = packet.payload;
        if is_ack {
            self.flows[slot as usize].end.ack_gone(segment.seq);
        }
    }

    /// A packet as an onlooker is told of it.
    fn told(&self, packet: &Packet<Parcel>) -> fairpace_results::observer::Packet {
        let Parcel { slot, is_ack, segment, .. } = packet.payload;
        let end = &self.flows[slot as usize].end;
        let ack = if is_ack { end.ack_under_way(segment.seq) } else { None };
        observe::packet(packet, ack)
    }

    /// A flow of a workload arrives.
    fn spawn(&mut self, i: usize, now: Nanos) {
        let entry = &mut self.entries[i];
        let Some(workload) = &mut entry.workload else { return };
        let (bytes, seed) = workload.take(entry.connection.stop);
        let id = ConnectionId { flow: entry.index, index: (workload.arrived - 1) as u32 };
        let slot = match workload.free.pop() {
            Some(slot) => slot as usize,
            None => {
                let slot = self.flows.len();
                self.entry_of.push(i as u32);
                self.flows.push(Flow::new(entry, id, slot as u32, now, Some(bytes), 0));
                self.queue.grow(self.first_flow + self.flows.len());
                slot
            }
        };
        self.flows[slot].renew(&self.entries[i], id, now, bytes, seed);
        self.run_flow(slot, now);
    }

    #[cold]
    fn take_stock(&mut self, now: Nanos) {
        while let Some(Stop { opens_window, closes_window, ends_interval, .. }) = self.agenda.take(now) {
            if opens_window || closes_window {
                self.count_sent(now);
            }
            if ends_interval {
                self.take_point(now);
            }
        }
        self.queue.set(CLOCK, self.agenda.next_event());
    }

    fn take_point(&mut self, now: Nanos) {
        let mut flows = self.flows.iter();
        for (entry, series) in self.entries.iter().zip(&mut self.series) {
            let flow = if entry.workload.is_none() { flows.next() } else { None };
            record::sample(series, flow);
        }
        self.points.push(now);
        for link in &mut self.links {
            link.settle(now);
        }
        self.check_conservation();
    }

    /// Tells the meters what has been sent by an edge of the window.
    fn count_sent(&mut self, now: Nanos) {
        let mut sent = vec![Sent::default(); self.entries.len()];
        for flow in &self.flows {
            let (sent, more) = (&mut sent[flow.end.id().flow as usize], flow.sent());
            sent.pkts += more.pkts;
            sent.again_pkts += more.again_pkts;
        }
        for (entry, sent) in self.entries.iter_mut().zip(sent) {
            entry.meter.sent(now, sent);
        }
    }

    /// What entered the network has arrived, was dropped, or is in it.
    fn check_conservation(&self) {
        if cfg!(debug_assertions) {
            let total = |count: fn(&Entry) -> u64| self.entries.iter().map(count).sum::<u64>();
            let links = self.links.iter().map(|l| l.len() as u64).sum::<u64>();
            let inside = links + self.holders.iter().map(|h| h.place.len() as u64).sum::<u64>();
            let gone = total(|e| e.counts.arrived_pkts) + total(|e| e.counts.dropped_pkts);
            let entered = total(|e| e.counts.entered_pkts);
            assert_eq!(entered, gone + inside, "a packet was lost or invented");
        }
    }
}
