//! The bottleneck in real time: reads packets from one TUN device, carries them through the elements of
//! `fairpace-path`, and writes them to the other when they are due.
//!
//! Forward: a delay of half the flow's RTT, then the links in order. Backward: the other half. An element's
//! times follow from when a packet was read, never from when the emulator got round to the element: a late
//! write makes one packet late and leaves the link's rate as it is.

use crate::Error;
use crate::clock::{Clock, nanos};
use crate::flows::FIRST_PORT;
use crate::lateness::{Recorder, Tolerance};
use crate::namespace::Device;
use crate::packet::{self, ETHERNET_HEADER_BYTES};
use crate::pool::{MTU, Pool};
use crate::waiter::{self, Waiter};
use fairpace_path::{Delay, Detour, Ecn, Fate, FlowMeter, Line, Link, Nanos, Packet, Schedule, build};
use fairpace_scenario::Scenario;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};

/// Packets read from one device before what is due is written: bounds the lateness that a burst causes (a
/// read takes about 1.7 us).
const BATCH: usize = 32;
/// Packets that are under way on both devices' account beyond what the links and delays hold.
const SPARE_PACKETS: u64 = 1 << 16;
/// Memory for packets in flight at most. It is touched only as far as it is used.
const MAX_POOL_BYTES: u64 = 4 << 30;

/// What the elements carry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// When the emulator read the packet.
    read: Nanos,
    slot: u32,
    length: u16,
    data: bool,
}

/// Where something is due next.
#[derive(Debug, Clone, Copy)]
enum Stage {
    Link(usize),
    Detour(usize),
    Forward(usize),
    Backward(usize),
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
    /// Forward and backward delay of each distinct RTT.
    forward: Vec<Delay<Load>>,
    backward: Vec<Delay<Load>>,
    /// Each flow's index into the two above.
    line_of_flow: Vec<u32>,
    /// Each flow's part of the RTT that a packet does not spend between its read and its write.
    return_ns: Vec<Nanos>,
    links: Vec<Link<Load>>,
    /// Behind the links; and each flow's, if it has one.
    detours: Vec<Detour<Load>>,
    detour_of_flow: Vec<Option<usize>>,
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
        let mut rtts: Vec<Nanos> = scenario.flows.iter().map(|f| nanos(f.rtt)).collect();
        let of_flow = rtts.clone();
        rtts.sort_unstable();
        rtts.dedup();
        let flows = scenario.flows.len();
        let fastest_bps = scenario.links.iter().map(fairpace_scenario::Link::fastest_bps).max().unwrap_or(0);
        let recorder = Recorder::new(tolerance)
            .ok_or_else(|| Error::Emulator { what: "its lateness histogram cannot be made".into() })?;
        let (detours, detour_of_flow) = build::detours(scenario);
        Ok(Emulator {
            sender: devices.0,
            receiver: devices.1,
            clock,
            end: schedule.end,
            pool: Pool::new(pool_packets(scenario)?),
            forward: rtts.iter().map(|rtt| Delay::new(Line::new(rtt / 2))).collect(),
            backward: rtts.iter().map(|rtt| Delay::new(Line::new(rtt - rtt / 2))).collect(),
            line_of_flow: of_flow.iter().map(|rtt| rtts.partition_point(|r| r < rtt) as u32).collect(),
            return_ns: of_flow.iter().map(|rtt| rtt - rtt / 2).collect(),
            detours,
            detour_of_flow,
            links: (0..)
                .zip(&scenario.links)
                .map(|(i, asked)| {
                    build::link(scenario, i, schedule)
                        .map_err(|reason| Error::Link { link: asked.name.clone(), what: reason.to_string() })
                })
                .collect::<Result<_, _>>()?,
            meters: vec![FlowMeter::new(schedule); flows],
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
        for link in &mut self.links {
            link.finish(self.end);
        }
        for meter in &mut self.meters {
            meter.finish(self.end);
        }
        Ok(Emulated {
            links: self.links,
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
            let now = self.clock.now();
            if let Some(packet) = self.accept(length, now, |header| header.source_port) {
                let line = self.line_of_flow[packet.flow as usize] as usize;
                self.forward[line].push(now, packet);
            }
        }
        Ok(true)
    }

    /// Reads a batch from the receivers; true if there may be more.
    fn read_receiver(&mut self) -> Result<bool, Error> {
        for _ in 0..BATCH {
            let Some(length) = read(self.receiver, &mut self.pool)? else { return Ok(false) };
            let now = self.clock.now();
            if let Some(packet) = self.accept(length, now, |header| header.destination_port) {
                let line = self.line_of_flow[packet.flow as usize] as usize;
                self.backward[line].push(now, packet);
            }
        }
        Ok(true)
    }

    /// Takes the packet of `length` bytes that has just been read, if it belongs to a flow.
    fn accept(&mut self, length: u16, now: Nanos, port: fn(packet::Header) -> u16) -> Option<Packet<Load>> {
        let header = self.pool.peek().and_then(|bytes| packet::parse(&bytes[..usize::from(length)]));
        let known = header.and_then(|h| Some((h, u32::from(port(h).checked_sub(FIRST_PORT)?))));
        let Some((header, flow)) = known.filter(|(_, flow)| (*flow as usize) < self.line_of_flow.len())
        else {
            self.foreign_packets += 1;
            return None;
        };
        let slot = self.pool.take()?;
        let load = Load { read: now, slot, length, data: header.payload_bytes > 0 };
        Some(Packet {
            flow,
            bytes: u32::from(length) + ETHERNET_HEADER_BYTES,
            ecn: Ecn::NotCapable,
            payload: load,
        })
    }

    /// Does everything that is due by `now`, in order, and says when something is due next.
    fn advance(&mut self, now: Nanos) -> Result<Nanos, Error> {
        loop {
            match self.next() {
                Some((at, stage)) if at <= now => self.step(at, stage)?,
                Some((at, _)) => return Ok(at),
                None => return Ok(Nanos::MAX),
            }
        }
    }

    /// The earliest event. Of simultaneous ones a detour's, then the last link's comes first: an element is polled before
    /// something is pushed into it.
    fn next(&self) -> Option<(Nanos, Stage)> {
        let links = self.links.iter().enumerate().rev().map(|(i, l)| (l.next_event(), Stage::Link(i)));
        let detours = self.detours.iter().enumerate().map(|(i, d)| (d.next_event(), Stage::Detour(i)));
        let forward = self.forward.iter().enumerate().map(|(i, d)| (d.next_event(), Stage::Forward(i)));
        let backward = self.backward.iter().enumerate().map(|(i, d)| (d.next_event(), Stage::Backward(i)));
        let due =
            detours.chain(links).chain(forward).chain(backward).filter_map(|(at, stage)| Some((at?, stage)));
        due.min_by_key(|(at, _)| *at)
    }

    fn step(&mut self, at: Nanos, stage: Stage) -> Result<(), Error> {
        match stage {
            Stage::Forward(line) => {
                if let Some(left) = self.forward[line].poll(at) {
                    self.enter_link(0, left.at, left.packet)?;
                }
            }
            Stage::Link(link) => match self.links[link].poll(at) {
                Some(left) if left.fate != Fate::Delivered => self.pool.put(left.packet.payload.slot),
                Some(left) => self.enter_link(link + 1, left.at, left.packet)?,
                None => {}
            },
            Stage::Detour(way) => {
                if let Some(left) = self.detours[way].poll(at) {
                    self.deliver(left.at, left.packet)?;
                }
            }
            Stage::Backward(line) => {
                if let Some(left) = self.backward[line].poll(at) {
                    self.write(self.sender, left.at, left.packet.payload)?;
                }
            }
        }
        Ok(())
    }

    /// Hands a packet to a link, or to the receiver behind the last one.
    fn enter_link(&mut self, link: usize, at: Nanos, packet: Packet<Load>) -> Result<(), Error> {
        let Some(link) = self.links.get_mut(link) else { return self.leave_links(at, packet) };
        if let Err(dropped) = link.push(at, packet) {
            self.pool.put(dropped.payload.slot);
        }
        Ok(())
    }

    fn leave_links(&mut self, at: Nanos, packet: Packet<Load>) -> Result<(), Error> {
        let detour = self.detour_of_flow[packet.flow as usize].filter(|_| packet.payload.data);
        match detour {
            Some(way) if self.detours[way].keeps(at, packet) => Ok(()),
            _ => self.deliver(at, packet),
        }
    }

    fn deliver(&mut self, at: Nanos, packet: Packet<Load>) -> Result<(), Error> {
        let flow = packet.flow as usize;
        if packet.payload.data {
            self.data_packets += 1;
            self.meters[flow].data(at, at - packet.payload.read + self.return_ns[flow]);
        }
        self.write(self.receiver, at, packet.payload)
    }

    /// Writes a packet that was due at `at`.
    fn write(&mut self, device: &Device, at: Nanos, load: Load) -> Result<(), Error> {
        self.recorder.record(at, self.clock.now());
        let written = device.tun.send(self.pool.get(load.slot, load.length));
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
        return Err(Error::Emulator { what: "more packets were in flight than its buffers hold".into() });
    };
    match device.tun.recv(buffer) {
        // A buffer is one MTU, so the length fits.
        Ok(length) => Ok(Some(length as u16)),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(e) => Err(Error::Emulator { what: format!("reading from a TUN device failed: {e}") }),
    }
}

/// Buffers for twice what the links' queues hold, and for four bandwidth-delay products, as data and as many
/// ACKs: in slow start senders put up to twice the link's rate on the path before the first loss comes back.
pub(crate) fn pool_packets(scenario: &Scenario) -> Result<u32, Error> {
    let rate_bps = scenario.links.iter().map(fairpace_scenario::Link::fastest_bps).max().unwrap_or(0);
    let longest_ns = scenario.flows.iter().map(|f| f.rtt.as_nanos()).max().unwrap_or(0);
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
