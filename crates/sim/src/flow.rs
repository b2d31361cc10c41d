//! One flow: its sender, its receiver, and the ACKs between them.

use std::collections::VecDeque;

use fairpace_cc::{Algorithm, Params};
use fairpace_path::build::nanos;
use fairpace_path::{Ecn, FlowMeter, Link, Nanos, Offer, Packet, Schedule, Source};
use fairpace_scenario::{self as scenario, Scenario, View};
use fairpace_tcp::{
    Ack, AckWire, HEADER_BYTES, MSS_BYTES, Receiver, ReceiverConfig, SYN_BYTES, Segment, Sender,
    SenderConfig, Window, Wire,
};

use crate::Error;
use crate::build;
use crate::host_view::{HostView, Setup};
use crate::queue::NEVER;
use crate::route::Route;

/// Where a flow is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Open,
    Stopped,
}

pub(crate) struct Flow {
    pub(crate) sender: Sender<HostView>,
    pub(crate) meter: FlowMeter,
    receiver: Receiver,
    /// On their way to the sender, with the time of arrival.
    acks: VecDeque<(Nanos, Ack)>,
    route: Route,
    /// Its detour behind the last link, by index.
    pub(crate) detour: Option<usize>,
    index: u32,
    stop: Nanos,
    stage: Stage,
    /// When the flow starts, stops, or its application has news, whichever is next.
    life: Nanos,
    source: Source,
    /// Bytes that the application has given and that do not fill a packet yet.
    unsent_bytes: u64,
    /// The application's last byte is in this packet; the first is 1. `u64::MAX`: it has no last byte.
    last_pkt: u64,
    /// When the receiving application had all of it.
    pub(crate) completed: Option<Nanos>,
    /// Retransmissions that the meter knows of.
    metered_resent: u64,
    /// Packets of any kind that entered the path, reached the receiver, were dropped.
    pub(crate) entered_pkts: u64,
    pub(crate) arrived_pkts: u64,
    pub(crate) dropped_pkts: u64,
    /// Of those that arrived, data.
    pub(crate) data_pkts: u64,
}

/// The first link as a flow's sender sees it.
struct Uplink<'a> {
    link: &'a mut Link<Segment>,
    now: Nanos,
    flow: u32,
    entered: &'a mut u64,
    dropped: &'a mut u64,
}

impl Wire for Uplink<'_> {
    #[inline]
    fn send(&mut self, segment: Segment) {
        let bytes = if segment.seq == Segment::SYN { SYN_BYTES } else { MSS_BYTES + HEADER_BYTES };
        *self.entered += 1;
        if self
            .link
            .push(self.now, Packet { flow: self.flow, bytes, ecn: Ecn::NotCapable, payload: segment })
            .is_err()
        {
            *self.dropped += 1;
        }
    }
}

/// The way back as a flow's receiver sees it.
struct Downlink<'a> {
    route: &'a mut Route,
    acks: &'a mut VecDeque<(Nanos, Ack)>,
    /// When the sender gets round to the first ACK of those sent.
    first: Nanos,
}

impl AckWire for Downlink<'_> {
    #[inline]
    fn send(&mut self, at: Nanos, ack: Ack) {
        if let Some(at) = self.route.return_ack(at) {
            self.acks.push_back((at, ack));
            self.first = self.first.min(at);
        }
    }
}

impl Flow {
    /// `random` seeds the flow's own generator; `detour` is the flow's, by index.
    pub(crate) fn new(
        scenario: &Scenario,
        index: u32,
        random: u32,
        detour: Option<usize>,
        schedule: Schedule,
    ) -> Result<Self, Error> {
        let flow = &scenario.flows[index as usize];
        let window = match flow.receiving.window {
            scenario::Window::Ample => Window::Ample,
            scenario::Window::Fixed(bytes) => Window::Fixed(bytes),
            scenario::Window::Autotuned(bytes) => Window::Autotuned(bytes),
        };
        let config = SenderConfig { random, ..SenderConfig::default() };
        Ok(Flow {
            sender: Sender::new(
                config,
                Setup { params: params(flow)?, as_kernel: flow.view == View::Kernel },
            ),
            meter: FlowMeter::new(schedule),
            receiver: Receiver::new(ReceiverConfig { window, ..ReceiverConfig::linux(nanos(flow.rtt)) }),
            acks: VecDeque::new(),
            route: Route::new(scenario, index),
            detour,
            index,
            stop: flow.stop.map_or(NEVER, nanos),
            stage: Stage::Waiting,
            life: nanos(flow.start),
            source: build::source(flow, nanos(flow.start)),
            unsent_bytes: 0,
            last_pkt: flow.traffic.size_bytes.map_or(u64::MAX, |n| n.div_ceil(u64::from(MSS_BYTES))),
            completed: None,
            metered_resent: 0,
            entered_pkts: 0,
            arrived_pkts: 0,
            dropped_pkts: 0,
            data_pkts: 0,
        })
    }

    /// When the flow next has something to do.
    #[inline]
    pub(crate) fn next_event(&self) -> Nanos {
        let ack = self.acks.front().map_or(NEVER, |(at, _)| *at);
        let sender = self.sender.next_timer().unwrap_or(NEVER);
        let receiver = self.receiver.next_timer().unwrap_or(NEVER);
        self.life.min(ack).min(sender).min(receiver)
    }

    /// Does everything that is due at `now`; packets go into `link`.
    #[inline]
    pub(crate) fn run(&mut self, now: Nanos, link: &mut Link<Segment>) {
        let mut uplink = Uplink {
            link,
            now,
            flow: self.index,
            entered: &mut self.entered_pkts,
            dropped: &mut self.dropped_pkts,
        };
        if self.life <= now {
            let unsent = &mut self.unsent_bytes;
            live(now, (&mut self.stage, self.stop), &mut self.source, &mut self.sender, unsent, &mut uplink);
            self.life = match self.stage {
                Stage::Open => self.stop.min(self.source.next_event()),
                _ => NEVER,
            };
        }
        while let Some((_, ack)) = self.acks.front().filter(|(at, _)| *at <= now) {
            self.sender.on_ack(now, ack, &mut uplink);
            self.acks.pop_front();
        }
        if self.sender.next_timer().is_some_and(|at| at <= now) {
            self.sender.on_timer(now, &mut uplink);
        }
        if self.receiver.next_timer().is_some_and(|at| at <= now) {
            self.run_receiver(now);
        }
        let resent = self.sender.stats().resent_pkts;
        if resent > self.metered_resent {
            self.meter.retransmitted(now, resent - self.metered_resent);
            self.metered_resent = resent;
        }
    }

    /// A packet left the last link, or its detour, at `now`. The receiver is run at once, at the time of arrival:
    /// nothing can come in between, as the line keeps the order. Returns when the flow must run, if that is news.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Nanos, segment: Segment) -> Nanos {
        let at = self.route.forward(now);
        let mut next = NEVER;
        while let Some(due) = self.receiver.next_timer().filter(|due| *due < at) {
            next = next.min(self.run_receiver(due));
        }
        self.arrived_pkts += 1;
        let mut back = Downlink { route: &mut self.route, acks: &mut self.acks, first: next };
        let available = self.receiver.on_segment(at, segment, &mut back);
        next = back.first;
        if segment.seq != Segment::SYN {
            self.data_pkts += 1;
            let rtt_ns = at.saturating_sub(segment.sent) + self.route.back_ns(at);
            self.meter.data(at, rtt_ns);
            self.read(at, available);
        }
        next.min(self.receiver.next_timer().unwrap_or(NEVER))
    }

    /// The receiver's timer fires; returns when the sender gets round to an ACK that it sends.
    fn run_receiver(&mut self, now: Nanos) -> Nanos {
        let mut back = Downlink { route: &mut self.route, acks: &mut self.acks, first: NEVER };
        let available = self.receiver.on_timer(now, &mut back);
        let first = back.first;
        self.read(now, available);
        first
    }

    /// The receiving application has so many packets more.
    #[inline]
    fn read(&mut self, now: Nanos, pkts: u64) {
        self.meter.goodput(now, pkts * u64::from(MSS_BYTES));
        if self.receiver.next() == self.last_pkt && self.completed.is_none() {
            self.completed = Some(now);
        }
    }
}

/// What happens to a flow a few times in its life: it starts, its application has news, it stops.
#[cold]
fn live(
    now: Nanos,
    (stage, stop): (&mut Stage, Nanos),
    source: &mut Source,
    sender: &mut Sender<HostView>,
    unsent_bytes: &mut u64,
    wire: &mut impl Wire,
) {
    match stage {
        Stage::Waiting => {
            *stage = Stage::Open;
            sender.connect(now, wire);
        }
        Stage::Open if stop <= now => {
            *stage = Stage::Stopped;
            sender.stop();
            return;
        }
        _ => {}
    }
    while let Some(offer) = source.poll(now) {
        match offer {
            Offer::Endless => sender.supply(now, u64::MAX, wire),
            Offer::Pause => sender.stop(),
            Offer::Bytes(bytes) => {
                // whole packets; what does not fill one waits for more, unless there will be no more
                let (bytes, mss) = (*unsent_bytes + bytes, u64::from(MSS_BYTES));
                let pkts = if source.is_finished() { bytes.div_ceil(mss) } else { bytes / mss };
                *unsent_bytes = bytes.saturating_sub(pkts * mss);
                sender.supply(now, pkts, wire);
            }
        }
    }
}

/// The algorithm of a flow with its parameters.
fn params(flow: &scenario::Flow) -> Result<Params, Error> {
    if flow.cc.starts_with("kernel:") {
        let known = Algorithm::all().map(Algorithm::name).collect();
        return Err(Error::KernelOnly { flow: flow.name.clone(), cc: flow.cc.clone(), known });
    }
    let algorithm = Algorithm::by_name(&flow.cc)
        .map_err(|reason| Error::UnknownAlgorithm { flow: flow.name.clone(), reason })?;
    let mut params = Params::defaults(algorithm);
    for (name, value) in &flow.set {
        params
            .set(name, value)
            .map_err(|reason| Error::Parameter { flow: flow.name.clone(), reason: Box::new(reason) })?;
    }
    Ok(params)
}
