//! The bottleneck in real time: reads packets from one TUN device, takes them through the elements of
//! `fairpace-netem`, and writes them to the other device when they are due.
//!
//! An element's times follow from the time when a packet was read, never from the time when the emulator
//! polled the element: a late write delays one packet and leaves the link's rate as it is.

use crate::Error;
use crate::clock::Clock;
use crate::flows::{self, FIRST_PORT};
use crate::lateness::{Recorder, Tolerance};
use crate::namespace::Device;
use crate::observed;
use crate::packet::{self, ETHERNET_HEADER_BYTES};
use crate::poller::{self, Poller};
use crate::pool::Pool;
use crate::sequence::SequenceSpace;
use fairpace_netem::{
    Content, Direction, EcnField, Element, Fate, FlowMeter, Hop, Nanos, Network, Packet, Payload, Pushed,
    Schedule, build,
};
use fairpace_results::observer::{ConnectionId, Observer};
use fairpace_scenario::{Ecn, Flow, Scenario};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Most packets read from one device before due packets are written. This bounds the lateness that a burst
/// causes: a read takes about 1.7 us.
const BATCH: usize = 32;
/// Number of buffers beyond the content of links and delay lines, for packets that wait in the devices.
const SPARE_PACKETS: u64 = 1 << 16;
/// Most memory for packets in flight, bytes. Only the used part of it is touched.
const MAX_POOL_BYTES: u64 = 4 << 30;

/// The payload of the emulator's packets: a buffer and the next hop.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BufferHandle {
    /// Time when the emulator read the packet.
    read: Nanos,
    hop: Hop,
    slot: u32,
    length: u16,
    content: Content,
}

impl BufferHandle {
    fn is_data(&self) -> bool {
        matches!(self.content, Content::Data { .. })
    }
}

impl Payload for BufferHandle {
    fn segment_length(flow: &Flow) -> u64 {
        flow.sending.mss_bytes().into() // a packet's place is in bytes
    }

    fn content(&self) -> Content {
        self.content
    }
}

/// The measurements of an emulator.
pub(crate) struct EmulatorRecord {
    pub(crate) network: Network<BufferHandle>,
    /// Meters of RTTs; goodput is measured at the receiving application.
    pub(crate) flows: Vec<FlowMeter>,
    pub(crate) recorder: Recorder,
    /// Number of data packets written to the receivers.
    pub(crate) data_packets: u64,
    /// Number of packets that belong to no flow; they are discarded.
    pub(crate) foreign_packets: u64,
    pub(crate) real_time: bool,
}

/// The devices of both sides.
#[derive(Clone, Copy)]
pub(crate) struct Devices<'a> {
    pub(crate) sender: &'a Device,
    pub(crate) receiver: &'a Device,
}

/// The network between two devices.
pub(crate) struct Emulator<'a, O> {
    devices: Devices<'a>,
    observer: O,
    clock: Clock,
    end: Nanos,
    pool: Pool,
    network: Network<BufferHandle>,
    /// Time before which no element has an event.
    due: Nanos,
    /// Packets that have been read and not yet pushed, in order.
    arrived: Vec<Packet<BufferHandle>>,
    meters: Vec<FlowMeter>,
    /// The sequence space of each flow.
    sequences: Vec<SequenceSpace>,
    /// The flows whose packets are ECT(1).
    l4s: Vec<bool>,
    /// Payload of a full segment of each flow, bytes.
    mss_bytes: Vec<u64>,
    recorder: Recorder,
    poller: Poller,
    data_packets: u64,
    foreign_packets: u64,
}

impl<'a, O: Observer> Emulator<'a, O> {
    /// Returns the emulator of `scenario`.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the packets in flight would not fit into memory, [`Error::Network`].
    pub(crate) fn new(
        scenario: &Scenario,
        devices: Devices<'a>,
        clock: Clock,
        schedule: Schedule,
        tolerance: Tolerance,
        wake_early: bool,
        observer: O,
    ) -> Result<Self, Error> {
        let fastest_bps = scenario.links.iter().map(fairpace_scenario::Link::fastest_bps).max().unwrap_or(0);
        let recorder = Recorder::new(tolerance)
            .ok_or_else(|| Error::Emulator { what: "its lateness histogram cannot be made".into() })?;
        let network: Network<BufferHandle> = build::network(scenario, schedule)?;
        Ok(Emulator {
            devices,
            observer,
            clock,
            end: schedule.end,
            pool: Pool::new(pool_packets(scenario)?, usize::from(flows::largest_mtu(&scenario.flows))),
            network: network.with_own_paths(),
            due: Nanos::MAX,
            arrived: Vec::with_capacity(2 * BATCH),
            meters: vec![FlowMeter::new(schedule, scenario.flows.len()); scenario.flows.len()],
            sequences: vec![SequenceSpace::default(); scenario.flows.len()],
            l4s: scenario.flows.iter().map(|flow| flow.sending.ecn == Ecn::L4s).collect(),
            mss_bytes: scenario.flows.iter().map(|flow| flow.sending.mss_bytes().into()).collect(),
            recorder,
            poller: Poller::new(clock, fastest_bps, wake_early),
            data_packets: 0,
            foreign_packets: 0,
        })
    }

    /// Carries packets until the end of the run, or until `stop` is set. It changes the priority of the
    /// calling thread, which should be its own.
    ///
    /// # Errors
    /// [`Error::Emulator`] if a device fails or there are no more buffers.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> Result<EmulatorRecord, Error> {
        let real_time = poller::prioritise_emulator();
        let mut readable = [false; 2];
        while !stop.load(Ordering::Relaxed) {
            let mut more = [false; 2];
            if readable[0] {
                more[0] = self.read(Direction::Forward)?;
            }
            if readable[1] {
                more[1] = self.read(Direction::Back)?;
            }
            self.let_in()?;
            let now = self.clock.now();
            let due = self.advance(now.min(self.end))?;
            if now >= self.end {
                break;
            }
            readable = match more {
                [false, false] => self
                    .poller
                    .wait([self.devices.sender, self.devices.receiver], due.min(self.end))
                    .map_err(|e| Error::Emulator { what: format!("it could not wait: {e}") })?,
                _ => [true; 2],
            };
        }
        self.network.links_mut().for_each(|link| link.finish(self.end));
        for meter in &mut self.meters {
            meter.finish(self.end);
        }
        Ok(EmulatorRecord {
            network: self.network,
            flows: self.meters,
            recorder: self.recorder,
            data_packets: self.data_packets,
            foreign_packets: self.foreign_packets,
            real_time,
        })
    }

    /// Reads a batch from the senders, or from the receivers. True: there may be more packets.
    fn read(&mut self, direction: Direction) -> Result<bool, Error> {
        let device = match direction {
            Direction::Forward => self.devices.sender,
            Direction::Back => self.devices.receiver,
        };
        for _ in 0..BATCH {
            let Some(length) = read(device, &mut self.pool)? else { return Ok(false) };
            self.accept(length, direction);
        }
        Ok(true)
    }

    /// Takes the packet of `length` bytes that has just been read, if it belongs to a flow.
    fn accept(&mut self, length: u16, direction: Direction) {
        let port = |header: packet::Header| match direction {
            Direction::Forward => header.source_port,
            Direction::Back => header.destination_port,
        };
        let now = self.clock.now();
        let header = self.pool.peek().and_then(|bytes| packet::parse(&bytes[..usize::from(length)]));
        let known = header.and_then(|h| Some((h, u32::from(port(h).checked_sub(FIRST_PORT)?))));
        let Some((header, flow)) = known.filter(|(_, flow)| (*flow as usize) < self.meters.len()) else {
            self.foreign_packets += 1;
            return;
        };
        let Some(slot) = self.pool.take() else { return };
        let hop = Hop::first(direction);
        let content = self.sequences[flow as usize].content(&header, direction);
        if O::ON && direction == Direction::Forward {
            self.observe_sent(now, flow, &header, content);
        }
        let payload = BufferHandle { read: now, hop, slot, length, content };
        let bytes = u32::from(length) + ETHERNET_HEADER_BYTES;
        let ecn = match header.ecn {
            // as the sending host would: Linux before 7.0 has no ECT(1)
            EcnField::Ect0 if direction == Direction::Forward && self.l4s[flow as usize] => {
                packet::set_ecn(self.pool.get(slot, length), EcnField::Ect1);
                EcnField::Ect1
            }
            field => field,
        };
        // a flow is one connection here, known by its port
        self.arrived.push(Packet { flow, connection: 0, bytes, ecn, payload });
    }

    /// Pushes the packets that have been read, each after the events due before it: times of elements must
    /// not go back.
    fn let_in(&mut self) -> Result<(), Error> {
        let mut arrived = std::mem::take(&mut self.arrived);
        for packet in arrived.drain(..) {
            let at = packet.payload.read;
            if at < self.end {
                self.advance(at)?;
                self.go_on(at, packet)?;
            }
        }
        self.arrived = arrived;
        Ok(())
    }

    /// Processes all events up to `now`, in order, and returns the time of the next.
    fn advance(&mut self, now: Nanos) -> Result<Nanos, Error> {
        while self.due <= now {
            match self.next() {
                Some((at, element)) if at <= now => self.step(at, element)?,
                next => self.due = next.map_or(Nanos::MAX, |(at, _)| at),
            }
        }
        Ok(self.due)
    }

    /// Returns the earliest event. Of simultaneous events, those of links come first, from the last link to
    /// the first: a packet that leaves a queue at t makes room for a packet that arrives at t. Among other
    /// elements the order has no effect.
    fn next(&self) -> Option<(Nanos, usize)> {
        let links = (0..self.network.link_count()).rev();
        let others = self.network.link_count()..self.network.elements.len();
        let due = links.chain(others).map(|element| (self.network.elements[element].next_event(), element));
        due.min_by_key(|(at, _)| *at).filter(|(at, _)| *at < Nanos::MAX)
    }

    /// Processes the next packet that leaves an element.
    fn step(&mut self, at: Nanos, element: usize) -> Result<(), Error> {
        let Some(departed) = self.network.elements[element].poll(at) else { return Ok(()) };
        if departed.fate == Fate::Delivered {
            return self.go_on(departed.at, departed.packet);
        }
        self.pool.put(departed.packet.payload.slot);
        Ok(())
    }

    /// Takes a packet to its next hop, and on through hops that let it pass at once.
    fn go_on(&mut self, at: Nanos, mut packet: Packet<BufferHandle>) -> Result<(), Error> {
        while let Some(element) = self.network.element_at(packet.flow, packet.payload.hop) {
            packet.payload.hop.index += 1;
            // pure ACKs and the SYN are not reordered; the simulator has no forward ACKs, but may delay a SYN
            if !packet.payload.is_data() && matches!(self.network.elements[element], Element::Reordering(_)) {
                continue;
            }
            match self.network.push(element, at, packet) {
                Pushed::Passed => {}
                Pushed::Duplicated => {
                    let copy = self.copy(packet)?;
                    self.go_on(at, copy)?;
                }
                Pushed::Dropped => {
                    self.pool.put(packet.payload.slot);
                    self.note_due(element);
                    return Ok(());
                }
                Pushed::Held => {
                    self.note_due(element);
                    return Ok(());
                }
            }
        }
        match packet.payload.hop.direction {
            Direction::Forward => self.deliver(at, packet),
            Direction::Back => {
                if O::ON {
                    self.observe_ack(at, packet);
                }
                self.write(self.devices.sender, at, packet)
            }
        }
    }

    fn observe_sent(&mut self, now: Nanos, flow: u32, header: &packet::Header, content: Content) {
        let space = &self.sequences[flow as usize];
        if let Some(content) = observed::sent(header, content, space, self.mss_bytes[flow as usize]) {
            self.observer.sent(now, ConnectionId { flow, index: 0 }, &content);
        }
    }

    fn observe_ack(&mut self, at: Nanos, packet: Packet<BufferHandle>) {
        let bytes = self.pool.get(packet.payload.slot, packet.payload.length);
        let space = &self.sequences[packet.flow as usize];
        if let Some(ack) = observed::ack(bytes, space, self.mss_bytes[packet.flow as usize]) {
            self.observer.ack(at, ConnectionId { flow: packet.flow, index: 0 }, &ack);
        }
    }

    fn note_due(&mut self, element: usize) {
        self.due = self.due.min(self.network.elements[element].next_event());
    }

    /// Returns a copy of a packet, in a buffer of its own.
    fn copy(&mut self, mut packet: Packet<BufferHandle>) -> Result<Packet<BufferHandle>, Error> {
        packet.payload.slot = self.pool.copy(packet.payload.slot).ok_or_else(out_of_buffers)?;
        Ok(packet)
    }

    fn deliver(&mut self, at: Nanos, packet: Packet<BufferHandle>) -> Result<(), Error> {
        if packet.payload.is_data() {
            self.data_packets += 1;
            let flow = packet.flow as usize;
            let path = &self.network.paths[flow];
            let back_ns = path.back_links_ns + path.own.return_delay_ns(at);
            self.meters[flow].data(at, at - packet.payload.read + back_ns);
        }
        self.write(self.devices.receiver, at, packet)
    }

    /// Writes a packet that was due at `at`.
    fn write(&mut self, device: &Device, at: Nanos, packet: Packet<BufferHandle>) -> Result<(), Error> {
        let Packet { ecn, payload: load, .. } = packet;
        self.recorder.record(at, self.clock.now());
        let bytes = self.pool.get(load.slot, load.length);
        if ecn == EcnField::Ce {
            packet::set_ecn(bytes, ecn);
        }
        let written = device.tun.send(bytes);
        self.pool.put(load.slot);
        match written {
            Ok(_) => Ok(()),
            Err(e) => Err(Error::Emulator { what: format!("writing to a TUN device failed: {e}") }),
        }
    }
}

/// Reads one packet into the pool's next buffer; `None` if no packet waits.
fn read(device: &Device, pool: &mut Pool) -> Result<Option<u16>, Error> {
    let Some(buffer) = pool.peek() else {
        return Err(out_of_buffers());
    };
    match device.tun.recv(buffer) {
        // A buffer is the MTU of the devices, so the length fits.
        Ok(length) => Ok(Some(length as u16)),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(e) => Err(Error::Emulator { what: format!("reading from a TUN device failed: {e}") }),
    }
}

fn out_of_buffers() -> Error {
    Error::Emulator { what: "more packets were in flight than its buffers hold".into() }
}

/// Returns the number of buffers: twice the content of the links' queues, and four bandwidth-delay products,
/// as data and as ACKs. In slow start senders send up to twice the link's rate before they detect the first
/// loss.
pub(crate) fn pool_packets(scenario: &Scenario) -> Result<u32, Error> {
    let rate_bps = scenario.links.iter().map(fairpace_scenario::Link::fastest_bps).max().unwrap_or(0);
    let longest_ns = scenario.flows.iter().map(|flow| longest_rtt(flow).as_nanos()).max().unwrap_or(0);
    let longest_ns = longest_ns
        + scenario.links.iter().map(|l| l.line.jitter_shape.most(l.line.jitter).as_nanos()).sum::<u128>();
    let queues: u128 = scenario.links.iter().map(|l| u128::from(l.buffer.bytes())).sum();
    let bytes = 2 * (2 * queues + 4 * u128::from(rate_bps) / 8 * longest_ns / 1_000_000_000);
    let smallest = scenario.flows.iter().map(|flow| flow.sending.mtu_bytes).min().unwrap_or(1).max(1);
    let packets = bytes / u128::from(smallest) + u128::from(SPARE_PACKETS);
    let needed = packets * u128::from(flows::largest_mtu(&scenario.flows));
    if needed > u128::from(MAX_POOL_BYTES) {
        return Err(Error::TooLarge {
            what: format!(
                "its buffers and delays may hold {} MB of packets, the emulator {} MB",
                needed / 1_000_000,
                MAX_POOL_BYTES / 1_000_000
            ),
        });
    }
    Ok(packets as u32)
}

/// Returns the longest RTT of a flow without queueing, with all impairments of its ACKs.
pub(crate) fn longest_rtt(flow: &Flow) -> Duration {
    let most = |now: Duration, steps: &[(Duration, Duration)]| {
        steps.iter().map(|(_, later)| *later).fold(now, Duration::max)
    };
    let held = most(flow.receiving.ack_delay, &flow.receiving.ack_delay_at);
    let jitter = flow.ack_jitter_shape.most(flow.ack_jitter);
    let parts = [most(flow.rtt, &flow.rtt_at), held, jitter, flow.ack_aggregation];
    parts.into_iter().fold(Duration::ZERO, Duration::saturating_add)
}
