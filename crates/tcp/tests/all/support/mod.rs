//! What the tests of the sender share: a control that does nothing but record, a script of ACKs, and a path.
#![allow(non_snake_case)] // bytes per second are _Bps, as in the contract

use std::cell::RefCell;
use std::rc::Rc;

use fairpace_cc::{Clamps, Decision, Event, Kind, Observation, Phase, View};
use fairpace_tcp::{Ack, Block, Control, Ecn, Segment, Sender, Sending};

pub(crate) type Nanos = u64;
/// A millisecond.
pub(crate) const MS: Nanos = 1_000_000;

/// Everything that a control got.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) acks: Vec<View>,
    pub(crate) events: Vec<(Event, View)>,
}

/// What a [`Fixed`] control does.
#[derive(Debug, Clone)]
pub(crate) struct FixedParams {
    pub(crate) kind: Kind,
    pub(crate) cwnd: u32,
    /// `fairpace_cc::NO_RATE`: not paced.
    pub(crate) rate_Bps: u64,
    pub(crate) tracks_sends: bool,
    pub(crate) log: Rc<RefCell<Log>>,
}

/// Keeps cwnd and rate, halves ssthresh on REDUCE, and records what it gets.
#[derive(Debug, Clone)]
pub(crate) struct Fixed {
    params: FixedParams,
    /// cwnd when it started, before it set its own.
    pub(crate) first_cwnd: u32,
}

impl Control for Fixed {
    type Params = FixedParams;

    fn kind(params: &FixedParams) -> Kind {
        params.kind
    }
    fn tracks_sends(params: &FixedParams) -> bool {
        params.tracks_sends
    }
    fn start(params: &FixedParams, view: &View, d: &mut Decision) -> Self {
        d.cwnd_pkts = params.cwnd;
        d.pacing_rate_Bps = params.rate_Bps;
        Fixed { params: params.clone(), first_cwnd: view.cwnd_pkts }
    }
    fn on_ack(&mut self, view: &View, _: &mut Decision) {
        self.params.log.borrow_mut().acks.push(*view);
    }
    fn on_event(&mut self, event: Event, view: &View, d: &mut Decision) {
        self.params.log.borrow_mut().events.push((event, *view));
        match event {
            Event::Reduce if self.params.kind == Kind::GrowsCwnd => {
                d.ssthresh_pkts = (view.cwnd_pkts / 2).max(2)
            }
            Event::Undo => d.cwnd_pkts = view.cwnd_pkts.max(view.prior_cwnd_pkts),
            _ => {}
        }
    }
    fn clamps(&self) -> Clamps {
        Clamps::default()
    }
    fn observe(&self) -> Observation {
        Observation { bw_Bps: 0, min_rtt_us: None, pacing_gain_256: 0, cwnd_gain_256: 0, phase: Phase::Fixed }
    }
}

/// A sender under a script: the test determines when which ACK arrives, and checks what is sent.
pub(crate) struct Script {
    pub(crate) sender: Sender<Fixed>,
    pub(crate) log: Rc<RefCell<Log>>,
    pub(crate) now: Nanos,
    pub(crate) rtt: Nanos,
    sent: Vec<Segment>,
}

impl Script {
    /// A connection with an RTT of 100 ms, established at 100 ms, with `written_pkts` packets written and a
    /// window of `cwnd`.
    pub(crate) fn new(kind: Kind, cwnd: u32, written_pkts: u64) -> Script {
        Script::paced(kind, cwnd, written_pkts, fairpace_cc::NO_RATE)
    }

    pub(crate) fn paced(kind: Kind, cwnd: u32, written_pkts: u64, rate_Bps: u64) -> Script {
        Script::with(
            FixedParams { kind, cwnd, rate_Bps, tracks_sends: false, log: Default::default() },
            written_pkts,
        )
    }

    /// A constant cwnd of a control that tracks sends.
    pub(crate) fn tracking(cwnd: u32, written_pkts: u64) -> Script {
        let (kind, rate_Bps) = (Kind::OwnsCwnd, fairpace_cc::NO_RATE);
        Script::with(
            FixedParams { kind, cwnd, rate_Bps, tracks_sends: true, log: Default::default() },
            written_pkts,
        )
    }

    /// The first with something switched.
    pub(crate) fn switched(kind: Kind, cwnd: u32, written_pkts: u64, config: Sending) -> Script {
        let rate_Bps = fairpace_cc::NO_RATE;
        let params = FixedParams { kind, cwnd, rate_Bps, tracks_sends: false, log: Default::default() };
        Script::configured(params, written_pkts, config, u32::MAX)
    }

    fn with(params: FixedParams, written_pkts: u64) -> Script {
        Script::configured(params, written_pkts, Sending::default(), u32::MAX)
    }

    /// Under any configuration; the receiver agrees to ECN and offers a window.
    pub(crate) fn configured(
        params: FixedParams,
        written_pkts: u64,
        config: Sending,
        rwnd_pkts: u32,
    ) -> Script {
        let log = params.log.clone();
        let mut script =
            Script { sender: Sender::new(config, 0, params), log, now: 0, rtt: 100 * MS, sent: Vec::new() };
        script.sender.connect(0, &mut script.sent);
        assert_eq!(script.sent(), [Segment::SYN]);
        script.sender.write(0, written_pkts, &mut script.sent);
        script.now = script.rtt;
        let answer = Ack { syn: true, ece: config.ecn != Ecn::Off, rwnd_pkts, ..Ack::default() };
        script.sender.on_ack(script.now, &answer, &mut script.sent);
        script
    }

    /// The packets sent since the last call.
    pub(crate) fn sent(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.sent).into_iter().map(|s| s.seq).collect()
    }

    /// The same with everything that they carry.
    pub(crate) fn segments(&mut self) -> Vec<Segment> {
        std::mem::take(&mut self.sent)
    }

    /// At `ms` an ACK arrives that echoes a congestion mark; what is sent in answer.
    pub(crate) fn ack_marked(&mut self, ms: u64, next: u64, sacks: &[(u64, u64)]) -> Vec<Segment> {
        let echo_ms = (ms - self.rtt / MS) as u32;
        self.give(ms, Ack { next, echo_ms, ece: true, ..Ack::default() }, sacks);
        self.segments()
    }

    /// At `ms` an ACK for everything below `next` arrives, with SACK blocks; returns what is sent in answer.
    /// The timestamp that it echoes is an RTT old.
    pub(crate) fn ack(&mut self, ms: u64, next: u64, sacks: &[(u64, u64)]) -> Vec<u64> {
        let echo_ms = (ms - self.rtt / MS) as u32;
        self.ack_echo(ms, next, sacks, echo_ms)
    }

    /// The same with a timestamp echo of the test's choice.
    pub(crate) fn ack_echo(&mut self, ms: u64, next: u64, sacks: &[(u64, u64)], echo_ms: u32) -> Vec<u64> {
        self.give(ms, Ack { next, echo_ms, ..Ack::default() }, sacks);
        self.sent()
    }

    /// At `ms` an ACK arrives.
    pub(crate) fn give(&mut self, ms: u64, mut ack: Ack, sacks: &[(u64, u64)]) {
        assert!(self.sent.is_empty(), "look at what was sent first: {:?}", self.sent);
        self.now = ms * MS;
        assert!(self.sender.next_timer().is_none_or(|t| t >= self.now), "a timer was due before {ms} ms");
        for (to, (start, end)) in ack.blocks.iter_mut().zip(sacks) {
            *to = Block { start: *start, end: *end };
        }
        self.sender.on_ack(self.now, &ack, &mut self.sent);
    }

    /// Lets the next timer fire; returns when, in microseconds, and what is sent.
    pub(crate) fn timer(&mut self) -> (u64, Vec<u64>) {
        self.now = self.sender.next_timer().expect("a timer is armed");
        self.sender.on_timer(self.now, &mut self.sent);
        (self.now / 1000, self.sent())
    }

    pub(crate) fn last_ack(&self) -> View {
        *self.log.borrow().acks.last().expect("the control saw an ACK")
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.log.borrow().events.iter().map(|(e, _)| *e).collect()
    }

    /// The recovery states that the control got.
    pub(crate) fn states(&self) -> Vec<fairpace_cc::CaState> {
        let log = self.log.borrow();
        log.events.iter().filter(|(e, _)| *e == Event::CaState).map(|(_, v)| v.ca_state).collect()
    }
}

/// `from..to` as a vector, to compare with what was sent.
pub(crate) fn range(from: u64, to: u64) -> Vec<u64> {
    (from..to).collect()
}
