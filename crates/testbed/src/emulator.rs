//! The bottleneck in real time: reads packets from one TUN device, carries them through the elements of
//! `fairpace-netem`, and writes them to the other when they are due.
//!
//! Which elements a packet passes is in `ways.rs`. An element's times follow from when a packet was read, never from when the
//! emulator got round to the element: a late write makes one packet late and leaves the link's rate as it is.

use crate::Error;
use crate::clock::Clock;
use crate::flows::FIRST_PORT;
use crate::lateness::{Recorder, Tolerance};
use crate::namespace::Device;
use crate::packet::{self, ETHERNET_HEADER_BYTES};
use crate::pool::{MTU, Pool};
use crate::waiter::{self, Waiter};
use crate::ways::{Stop, Ways};
use fairpace_netem::{Ecn, Fate, FlowMeter, Link, Nanos, Packet, Schedule};
use fairpace_scenario::{Flow, Scenario};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Packets read from one device before what is due is written: bounds the lateness that a burst causes (a
/// read takes about 1.7 us).
const BATCH: usize = 32;
/// Packets that are under way on both devices' account beyond what the links and delays hold.
const SPARE_PACKETS: u64 = 1 << 16;
/// Memory for packets in flight at most. It is touched only as far as it is used.
const MAX_POOL_BYTES: u64 = 4 << 30;

/// What the elements carry.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Load {
    /// When the emulator read the packet.
    read: Nanos,
    /// Its next stop.
    next: u32,
    slot: u32,
    length: u16,
    data: bool,
}

/// Where something is due next.
#[derive(Debug, Clone, Copy)]
enum Element {
    Link(usize),
    Detour(usize),
    Delay(usize),
    Scatter(usize),
}

/// What a run of the emulator leaves.
pub(crate) struct Emulated {
    pub(crate) links: Vec<Link<Load>>,
    /// RTTs; goodput is measured at the receiving application.
    pub(crate) flows: Vec<FlowMeter>,
    pub(crate) recorder: Recorder,
    /// Data packets written to the receivers.
    pub(crate) data_packets: u64,
    /// Packets that belong to no flow; they go nowhere.
    pub(crate) foreign_packets: u64,
    pub(crate) real_time: bool,
}

/// The path between two devices.
pub(crate) struct Emulator<'a> {
    sender: &'a Device,
    receiver: &'a Device,
    clock: Clock,
    end: Nanos,
    pool: Pool,
    ways: Ways,
    /// Nothing happens in the elements before then.
    due: Nanos,
    /// Read and not yet on their way, in order.
    arrived: Vec<Packet<Load>>,
    meters: Vec<FlowMeter>,
    recorder: Recorder,
    waiter: Waiter,
    data_packets: u64,
    foreign_packets: u64,
}

impl<'a> Emulator<'a> {
    /// The path of `scenario`.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the packets in flight would not fit into memory.
    pub(crate) fn new(
        scenario: &Scenario,
        devices: (&'a Device, &'a Device),
        clock: Clock,
        schedule: Schedule,
        tolerance: Tolerance,
    ) -> Result<Self, Error> {
        let fastest_bps = scenario.links.iter().map(fairpace_scenario::Link::fastest_bps).max().unwrap_or(0);
        let recorder = Recorder::new(tolerance)
            .ok_or_else(|| Error::Emulator { what: "its lateness histogram cannot be made".into() })?;
        Ok(Emulator {
            sender: devices.0,
            receiver: devices.1,
            clock,
            end: schedule.end,
            pool: Pool::new(pool_packets(scenario)?),
            ways: Ways::new(scenario, schedule)?,
            due: Nanos::MAX,
            arrived: Vec::with_capacity(2 * BATCH),
            meters: vec![FlowMeter::new(schedule, scenario.flows.len()); scenario.flows.len()],
            recorder,
            waiter: Waiter::new(clock, fastest_bps),
            data_packets: 0,
            foreign_packets: 0,
        })
    }

    /// Carries packets until the end of the run, or until `stop` is set. Call it on a thread of its own: it
    /// changes the thread's priority.
    ///
    /// # Errors
    /// [`Error::Emulator`] if a device fails or the buffers run out.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> Result<Emulated, Error> {
        let real_time = waiter::prioritise_emulator();
        let mut readable = [false; 2];
        while !stop.load(Ordering::Relaxed) {
            let mut more = [false; 2];
            if readable[0] {
                more[0] = self.read_sender()?;
            }
            if readable[1] {
                more[1] = self.read_receiver()?;
            }
            self.let_in()?;
            let now = self.clock.now();
            let due = self.advance(now.min(self.end))?;
            if now >= self.end {
                break;
            }
            readable = match more {
                [false, false] => self
                    .waiter
                    .wait([self.sender, self.receiver], due.min(self.end))
                    .map_err(|e| Error::Emulator { what: format!("it could not wait: {e}") })?,
                _ => [true; 2],
            };
        }
        for link in &mut self.ways.links {
            link.finish(self.end);
        }
        for meter in &mut self.meters {
            meter.finish(self.end);
        }
        Ok(Emulated {
            links: self.ways.links,
            flows: self.meters,
            recorder: self.recorder,
            data_packets: self.data_packets,
            foreign_packets: self.foreign_packets,
            real_time,
        })
    }

    /// Reads a batch from the senders; true if there may be more.
    fn read_sender(&mut self) -> Result<bool, Error> {
        for _ in 0..BATCH {
            let Some(length) = read(self.sender, &mut self.pool)? else { return Ok(false) };
            self.accept(length, |header| header.source_port, Ways::data);
        }
        Ok(true)
    }

    /// Reads a batch from the receivers; true if there may be more.
    fn read_receiver(&mut self) -> Result<bool, Error> {
        for _ in 0..BATCH {
            let Some(length) = read(self.receiver, &mut self.pool)? else { return Ok(false) };
            self.accept(length, |header| header.destination_port, Ways::acks);
        }
        Ok(true)
    }

    /// Takes the packet of `length` bytes that has just been read, if it belongs to a flow.
    fn accept(&mut self, length: u16, port: fn(packet::Header) -> u16, way: fn(&Ways, u32) -> u32) {
        let now = self.clock.now();
        let header = self.pool.peek().and_then(|bytes| packet::parse(&bytes[..usize::from(length)]));
        let known = header.and_then(|h| Some((h, u32::from(port(h).checked_sub(FIRST_PORT)?))));
        let Some((header, flow)) = known.filter(|(_, flow)| *flow < self.ways.flows()) else {
            self.foreign_packets += 1;
            return;
        };
        let Some(slot) = self.pool.take() else { return };
        let next = way(&self.ways, flow);
        let payload = Load { read: now, next, slot, length, data: header.payload_bytes > 0 };
        let bytes = u32::from(length) + ETHERNET_HEADER_BYTES;
        // a flow is one connection here: its port
        self.arrived.push(Packet { flow, connection: 0, bytes, ecn: header.ecn, payload });
    }

    /// Sends what has been read on its way, each after what was due before: elements want their times in order.
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

    /// Does everything that is due by `now`, in order, and says when something is due next.
    fn advance(&mut self, now: Nanos) -> Result<Nanos, Error> {
        while self.due <= now {
            match self.next() {
                Some((at, element)) if at <= now => self.step(at, element)?,
                next => self.due = next.map_or(Nanos::MAX, |(at, _)| at),
            }
        }
        Ok(self.due)
    }

    /// The earliest event. Of simultaneous ones a detour's, then the last link's comes first: an element is polled before
    /// something is pushed into it.
    fn next(&self) -> Option<(Nanos, Element)> {
        let Ways { links, detours, delays, scatters, .. } = &self.ways;
        let detours = detours.iter().enumerate().map(|(i, d)| (d.next_event(), Element::Detour(i)));
        let links = links.iter().enumerate().rev().map(|(i, l)| (l.next_event(), Element::Link(i)));
        let delays = delays.iter().enumerate().map(|(i, d)| (d.next_event(), Element::Delay(i)));
        let scatters = scatters.iter().enumerate().map(|(i, s)| (s.next_event(), Element::Scatter(i)));
        let due = detours
            .chain(links)
            .chain(delays)
            .chain(scatters)
            .filter_map(|(at, element)| Some((at?, element)));
        due.min_by_key(|(at, _)| *at)
    }

    /// Lets go on what leaves an element.
    fn step(&mut self, at: Nanos, element: Element) -> Result<(), Error> {
        let left = match element {
            Element::Link(link) => self.ways.links[link].poll(at),
            Element::Detour(detour) => self.ways.detours[detour].poll(at),
            Element::Delay(delay) => self.ways.delays[delay].poll(at),
            Element::Scatter(scatter) => self.ways.scatters[scatter].poll(at),
        };
        let Some(left) = left else { return Ok(()) };
        if left.fate == Fate::Delivered {
            return self.go_on(left.at, left.packet);
        }
        self.pool.put(left.packet.payload.slot);
        Ok(())
    }

    /// Takes a packet to its next stop.
    fn go_on(&mut self, at: Nanos, mut packet: Packet<Load>) -> Result<(), Error> {
        loop {
            let stop = self.ways.stop(packet.payload.next);
            packet.payload.next += 1;
            match stop {
                Stop::Link(link) => {
                    let link = &mut self.ways.links[link];
                    if let Err(dropped) = link.push(at, packet) {
                        self.pool.put(dropped.payload.slot);
                    }
                    self.due = self.due.min(link.next_event().unwrap_or(Nanos::MAX));
                    return Ok(());
                }
                Stop::Delay(delay) => {
                    self.due = self.due.min(self.ways.delays[delay].push(at, packet));
                    return Ok(());
                }
                Stop::Scatter(scatter) => {
                    self.due = self.due.min(self.ways.scatters[scatter].push(at, packet));
                    return Ok(());
                }
                Stop::Duplicate(link) => {
                    if self.ways.doubles(link) {
                        self.ways.links[link].duplicated(at);
                        let twin = self.twin(packet)?;
                        self.go_on(at, twin)?;
                    }
                }
                Stop::Detour(detour) => {
                    let detour = &mut self.ways.detours[detour];
                    if packet.payload.data && detour.keeps(at, packet) {
                        self.due = self.due.min(detour.next_event().unwrap_or(Nanos::MAX));
                        return Ok(());
                    }
                }
                Stop::Loss(loss) => {
                    if self.ways.loses(loss) {
                        self.pool.put(packet.payload.slot);
                        return Ok(());
                    }
                }
                Stop::Receiver => return self.deliver(at, packet),
                Stop::Sender => return self.write(self.sender, at, packet),
            }
        }
    }

    /// The same packet once more, in a buffer of its own.
    fn twin(&mut self, mut packet: Packet<Load>) -> Result<Packet<Load>, Error> {
        packet.payload.slot = self.pool.copy(packet.payload.slot).ok_or_else(out_of_buffers)?;
        Ok(packet)
    }

    fn deliver(&mut self, at: Nanos, packet: Packet<Load>) -> Result<(), Error> {
        if packet.payload.data {
            self.data_packets += 1;
            let rtt = at - packet.payload.read + self.ways.back_ns(packet.flow);
            self.meters[packet.flow as usize].data(at, rtt);
        }
        self.write(self.receiver, at, packet)
    }

    /// Writes a packet that was due at `at`.
    fn write(&mut self, device: &Device, at: Nanos, packet: Packet<Load>) -> Result<(), Error> {
        let Packet { ecn, payload: load, .. } = packet;
        self.recorder.record(at, self.clock.now());
        let bytes = self.pool.get(load.slot, load.length);
        if ecn == Ecn::Marked {
            packet::mark(bytes);
        }
        let written = device.tun.send(bytes);
        self.pool.put(load.slot);
        match written {
            Ok(_) => Ok(()),
            Err(e) => Err(Error::Emulator { what: format!("writing to a TUN device failed: {e}") }),
        }
    }
}

/// Reads one packet into the pool's next buffer; `None` if there is none.
fn read(device: &Device, pool: &mut Pool) -> Result<Option<u16>, Error> {
    let Some(buffer) = pool.peek() else {
        return Err(out_of_buffers());
    };
    match device.tun.recv(buffer) {
        // A buffer is one MTU, so the length fits.
        Ok(length) => Ok(Some(length as u16)),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(e) => Err(Error::Emulator { what: format!("reading from a TUN device failed: {e}") }),
    }
}

fn out_of_buffers() -> Error {
    Error::Emulator { what: "more packets were in flight than its buffers hold".into() }
}

/// Buffers for twice what the links' queues hold, and for four bandwidth-delay products, as data and as many
/// ACKs: in slow start senders put up to twice the link's rate on the path before the first loss comes back.
pub(crate) fn pool_packets(scenario: &Scenario) -> Result<u32, Error> {
    let rate_bps = scenario.links.iter().map(fairpace_scenario::Link::fastest_bps).max().unwrap_or(0);
    let longest_ns = scenario.flows.iter().map(|flow| longest_rtt(flow).as_nanos()).max().unwrap_or(0);
    let longest_ns = longest_ns + scenario.links.iter().map(|l| l.line.jitter.as_nanos()).sum::<u128>();
    let queues: u128 = scenario.links.iter().map(|l| u128::from(l.buffer.bytes())).sum();
    let bytes = 2 * (2 * queues + 4 * u128::from(rate_bps) / 8 * longest_ns / 1_000_000_000);
    let packets = bytes / MTU as u128 + u128::from(SPARE_PACKETS);
    let needed = packets * MTU as u128;
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

/// The longest RTT that a flow ever has, without queueing: with all that can happen to its ACKs.
fn longest_rtt(flow: &Flow) -> Duration {
    let most = |now: Duration, steps: &[(Duration, Duration)]| {
        steps.iter().map(|(_, later)| *later).fold(now, Duration::max)
    };
    let held = most(flow.receiving.ack_delay, &flow.receiving.ack_delay_at);
    let parts = [most(flow.rtt, &flow.rtt_at), held, flow.ack_jitter, flow.ack_aggregation];
    parts.into_iter().fold(Duration::ZERO, Duration::saturating_add)
}
