//! One flow: its sender, its receiver, and the ACKs between them.

use std::collections::VecDeque;

use fairpace_cc::{Algorithm, Params};
use fairpace_path::{FlowMeter, Link, Loss, Nanos, Offer, Packet, Schedule, Source};
use fairpace_scenario::{self as scenario, Scenario, View};
use fairpace_tcp::{
    Ack, HEADER_BYTES, MSS_BYTES, Receiver, ReceiverConfig, SYN_BYTES, Segment, Sender, SenderConfig, Wire,
};

use crate::Error;
use crate::build;
use crate::host_view::{HostView, Setup};
use crate::queue::NEVER;

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
    ack_loss: Loss,
    index: u32,
    rtt_ns: Nanos,
    /// The part of it from the last link to the receiver.
    forward_ns: Nanos,
    start: Nanos,
    stop: Nanos,
    stage: Stage,
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
        if self.link.push(self.now, Packet { flow: self.flow, bytes, payload: segment }).is_err() {
            *self.dropped += 1;
        }
    }
}

pub(crate) fn nanos(time: std::time::Duration) -> Nanos {
    Nanos::try_from(time.as_nanos()).unwrap_or(NEVER)
}

impl Flow {
    /// `random` seeds the flow's own generator.
    pub(crate) fn new(
        scenario: &Scenario,
        index: u32,
        random: u32,
        schedule: Schedule,
    ) -> Result<Self, Error> {
        let flow = &scenario.flows[index as usize];
        let rtt_ns = nanos(flow.rtt);
        let config = SenderConfig { random, ..SenderConfig::default() };
        Ok(Flow {
            sender: Sender::new(
                config,
                Setup { params: params(flow)?, as_kernel: flow.view == View::Kernel },
            ),
            meter: FlowMeter::new(schedule),
            receiver: Receiver::new(ReceiverConfig::linux(rtt_ns)),
            acks: VecDeque::new(),
            ack_loss: build::ack_loss(scenario, index),
            index,
            rtt_ns,
            forward_ns: rtt_ns / 2,
            start: nanos(flow.start),
            stop: flow.stop.map_or(NEVER, nanos),
            stage: Stage::Waiting,
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
        let life = match self.stage {
            Stage::Waiting => return self.start,
            Stage::Open => self.stop.min(self.source.next_event()),
            Stage::Stopped => NEVER,
        };
        let ack = self.acks.front().map_or(NEVER, |(at, _)| *at);
        let sender = self.sender.next_timer().unwrap_or(NEVER);
        let receiver = self.receiver.next_timer().unwrap_or(NEVER);
        life.min(ack).min(sender).min(receiver)
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
        match self.stage {
            Stage::Waiting if self.start <= now => {
                self.stage = Stage::Open;
                self.sender.connect(now, &mut uplink);
            }
            Stage::Open if self.stop <= now => {
                self.stage = Stage::Stopped;
                self.sender.stop();
            }
            _ => {}
        }
        if self.stage == Stage::Open && self.source.next_event() <= now {
            while let Some(offer) = self.source.poll(now) {
                let unsent = (&mut self.unsent_bytes, self.source.is_finished());
                supply(&mut self.sender, unsent, now, offer, &mut uplink);
            }
        }
        while let Some((_, ack)) = self.acks.front().filter(|(at, _)| *at <= now) {
            self.sender.on_ack(now, ack, &mut uplink);
            self.acks.pop_front();
        }
        if self.sender.next_timer().is_some_and(|at| at <= now) {
            self.sender.on_timer(now, &mut uplink);
        }
        if self.receiver.on_timer(now) {
            self.return_ack(now);
        }
        let resent = self.sender.stats().resent_pkts;
        if resent > self.metered_resent {
            self.meter.retransmitted(now, resent - self.metered_resent);
            self.metered_resent = resent;
        }
    }

    /// A packet left the last link at `now`. The receiver is run at once, at the time of arrival: nothing can
    /// come in between, as the delay is constant. Returns when the flow must run, if that is news.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Nanos, segment: Segment) -> Nanos {
        let at = now + self.forward_ns;
        let mut next = NEVER;
        if let Some(due) = self.receiver.next_timer().filter(|due| *due < at)
            && self.receiver.on_timer(due)
        {
            next = self.return_ack(due);
        }
        self.arrived_pkts += 1;
        let received = self.receiver.on_segment(at, segment);
        if segment.seq != Segment::SYN {
            self.data_pkts += 1;
            let rtt_ns = self.rtt_ns + now.saturating_sub(segment.sent);
            self.meter.data(at, rtt_ns);
            self.meter.goodput(at, received.in_order_pkts * u64::from(MSS_BYTES));
            if self.receiver.next() == self.last_pkt && self.completed.is_none() {
                self.completed = Some(at);
            }
        }
        match received.ack {
            true => next.min(self.return_ack(at)),
            false => next.min(self.receiver.next_timer().unwrap_or(NEVER)),
        }
    }

    /// An ACK leaves the receiver; returns when the sender has it, if it ever has.
    #[inline]
    fn return_ack(&mut self, sent: Nanos) -> Nanos {
        let ack = self.receiver.ack();
        if self.ack_loss.takes() {
            return NEVER;
        }
        let at = sent + self.rtt_ns - self.forward_ns;
        self.acks.push_back((at, ack));
        at
    }
}

/// Tells the sender what its application has: whole packets, the rest when it is the `last`.
#[cold]
fn supply(
    sender: &mut Sender<HostView>,
    (unsent_bytes, last): (&mut u64, bool),
    now: Nanos,
    offer: Offer,
    wire: &mut impl Wire,
) {
    match offer {
        Offer::Endless => sender.supply(now, u64::MAX, wire),
        Offer::Pause => sender.stop(),
        Offer::Bytes(bytes) => {
            let (bytes, mss) = (*unsent_bytes + bytes, u64::from(MSS_BYTES));
            let pkts = if last { bytes.div_ceil(mss) } else { bytes / mss };
            *unsent_bytes = bytes.saturating_sub(pkts * mss);
            sender.supply(now, pkts, wire);
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
